"""Loop counts of the products of matrices that several functions share."""

from __future__ import annotations

from .counts import Counts


def matrices_s8(c: Counts, path: str, times: float, lhs: int, rhs: int, n: int, bias: int) -> None:
    """Count arm_nn_mat_mult_nt_t_s8: lhs x n with rhs x n, in blocks of 2 x 2 (Helium: 4 x 1)."""
    c.add("products", times)
    if path == "mve":
        quads, rest = lhs // 4, lhs % 4
        c.add("any quads", times * (quads > 0))
        c.add("quads", times * quads)
        c.vectors("quad rows", times * quads * rhs, n, 16)
        c.add("quad biases", times * bias * quads * rhs)
        c.add("any singles", times * (rest > 0))
        c.add("singles", times * rest)
        c.vectors("single rows", times * rest * rhs, n, 16)
        c.add("single biases", times * bias * rest * rhs)
        c.add("single quads", times * rest * (rhs // 4))
        c.add("any single tails", times * rest * (rhs % 4 > 0))
        c.add("single tails", times * rest * (rhs % 4))
        return
    steps = (16, 4) if path == "dsp" else ()
    c.add("any sums", times * (rhs > 1))
    c.loop("sums", times * (rhs // 2), n)
    c.add("biases", times * bias * (rhs // 2))
    c.add("any pairs", times * (rhs // 2) * (lhs > 1))
    c.loop("pairs", times * (rhs // 2) * (lhs // 2), n, *steps)
    c.loop("odd pixels", times * (rhs // 2) * (lhs % 2), n, *steps)
    c.add("any odd rows", times * (rhs % 2))
    c.loop("odd rows", times * (rhs % 2) * lhs, n)
    c.add("odd biases", times * bias * (rhs % 2) * lhs)


def columns(
    c: Counts, path: str, times: int, pixels: int, channels: int, n: int, bias: int
) -> None:
    """Count products of two columns of patches and two channels at a time (not with Helium)."""
    steps = (4,) if path == "dsp" else ()
    pairs, odd = times * (pixels // 2), times * (pixels % 2)
    for name, entered in (
        ("blocks", pairs * (channels // 2)),
        ("channel", pairs * (channels % 2)),
        ("column", odd * channels),
    ):
        c.loop(name, entered, n, *steps)
        c.add(f"biased {name}", bias * entered)
    c.add("column pairs", pairs)
    c.add("any blocks", pairs * (channels > 1))
    c.add("odd columns", odd)


def vector_s8(
    c: Counts, path: str, times: float, rows: int, n: int, bias: int = 0, offset: bool = False
) -> None:
    """Count arm_nn_vec_mat_mult_t_s8 and related functions: rows x n with a vector, several rows at
    a time.

    offset: true if an offset is added to each weight.
    """
    blocks = {"mve": 4, "dsp": 2, "scalar": 3}[path]
    c.add("vectors", times)
    c.add("vectors offset", times * offset)
    for name, entered in c.in_blocks(times, rows, blocks):
        if path == "mve":
            c.vectors(name, entered, n, 16)
            added = -(-n // 16)
        elif path == "dsp":
            c.count_unrolled(name, entered, n // 4)
            c.count_unrolled(f"{name} tail", entered, n % 4)
            c.add(f"{name} tail offsets", offset * entered * (n % 4))
            added = n // 4
        else:
            c.loop(name, entered, n)
            added = n
        c.add(f"{name} biased", bias * entered)
        c.add(f"{name} offset", offset * entered)
        c.add(f"{name} offsets", offset * entered * added)


def count_fours(c: Counts, name: str, times: float, rows: int) -> None:
    """Count results that are narrowed four at a time, and the remainder one by one."""
    c.add(f"{name} by 4", times * (rows // 4))
    c.add(f"{name} any tails", times * (rows % 4 > 0))
    c.add(f"{name} tails", times * (rows % 4))
