"""Loop counts of the products of matrices that several functions share."""

from __future__ import annotations

from .counts import Counts


def matrices_s8(c: Counts, path: str, times: float, lhs: int, rhs: int, n: int, bias: int) -> None:
    """arm_nn_mat_mult_nt_t_s8: lhs x n with rhs x n, in blocks of 2 x 2 (Helium: of 4 x 1)."""
    c.add("products", times)
    if path == "mve":
        quads, rest = lhs // 4, lhs % 4
        c.add("quads", times * quads)
        c.vectors("quad rows", times * quads * rhs, n, 16)
        c.add("singles", times * rest)
        c.vectors("single rows", times * rest * rhs, n, 16)
        c.add("single quads", times * rest * (rhs // 4))
        c.add("single tails", times * rest * (rhs % 4))
        c.add("biases", times * bias * rhs * (quads + rest))
        return
    steps = (16, 4) if path == "dsp" else ()
    c.loop("sums", times * (rhs // 2), n)
    c.loop("pairs", times * (rhs // 2) * (lhs // 2), n, *steps)
    c.loop("odd pixels", times * (rhs // 2) * (lhs % 2), n, *steps)
    c.loop("odd rows", times * (rhs % 2) * lhs, n)
    c.add("biases", times * bias * (rhs // 2))


def columns(
    c: Counts, path: str, times: int, pixels: int, channels: int, n: int, bias: int, kind: str = ""
) -> None:
    """Products of two columns of patches and two channels at a time (not with Helium)."""
    steps = (4,) if path == "dsp" else ()
    pairs, odd = times * (pixels // 2), times * (pixels % 2)
    c.add("column pairs", pairs)
    c.loop(f"blocks{kind}", pairs * (channels // 2), n, *steps)
    c.loop(f"channel{kind}", pairs * (channels % 2), n, *steps)
    c.add("odd columns", odd)
    c.loop("column", odd * channels, n, *steps)
    c.add("biases", bias * (pairs * ((channels + 1) // 2) + odd * channels))


def vector_s8(c: Counts, path: str, times: float, rows: int, n: int, offset: bool = False) -> None:
    """arm_nn_vec_mat_mult_t_s8 and its like: rows x n with a vector, several rows at a time.

    offset: whether weights have an offset, which each of them gets added.
    """
    blocks = {"mve": 4, "dsp": 2, "scalar": 3}[path]
    c.add("vectors", times)
    kinds = (("rows", times * (rows // blocks)), ("row", times * (rows % blocks)))
    c.add("any rows", times * (rows >= blocks))
    c.add("any row", times * (rows % blocks > 0))
    for name, entered in kinds:
        if path == "mve":
            c.vectors(name, entered, n, 16)
        elif path == "dsp":
            c.loop(name, entered, n, 32, 4)
        else:
            c.loop(name, entered, n)
        c.add(f"{name} offset", offset * entered)
        c.add(f"{name} offsets", offset * entered * (-(-n // 16) if path == "mve" else n))
