"""Loop counts of convolutions of the s8, s16 and s4 functions."""

from __future__ import annotations

from .counts import Counter, Counts, Params, taps
from .patches import axes, buffer, copied, sides
from .products import columns, matrices_s8

#: Up to so many products the s16 functions add in 32 bits, CMSIS-NN's MAX_COL_COUNT.
FAST_COLUMNS = 512


def im2col(
    c: Counts, p: Params, path: str, groups: int, size: int, widened: bool = False
) -> None:
    """Count the copies of patches into the buffer; size: bytes of an element.

    widened: whether pixels are made wider rather than copied.
    """
    down, across = axes(p)
    times = p["batches"] * groups
    pixels = times * p["output_h"] * p["output_w"]
    every = pixels * p["filter_h"] * p["filter_w"]
    valid = times * down.sides()[1] * across.sides()[1]
    c.add("batches", times)
    c.add("lines", times * p["output_h"])
    c.add("pixels", pixels)
    c.add("kernel rows", pixels * p["filter_h"])
    c.add("taps", every)
    sides(c, times, down, across)
    length, pixel = p["filter_c"] * size, p["input_c"] * size
    if path == "mve":
        c.vectors("copy", valid, length, 16)
        c.vectors("pad", every - valid, length, 16)
    else:
        image = down.size * across.size * pixel
        begins = [n * image + g * length for n in range(p["batches"]) for g in range(groups)]
        copied(c, path, buffer(length, pixel, 2, begins), down, across, widened)
    if widened:
        c.loop("widen", valid, p["filter_c"], *((4,) if path == "dsp" else ()))


def convolve_s8(c: Counts, p: Params, path: str) -> None:
    """arm_convolve_s8: patches into a buffer, then two (Helium: four) columns at a time."""
    im2col(c, p, path, p["input_c"] // p["filter_c"], 1)
    convolve_patches_s8(c, p, path)


def convolve_patches_s8(c: Counts, p: Params, path: str) -> None:
    """Count what arm_convolve_s8 does with the patches."""
    groups = p["input_c"] // p["filter_c"]
    c.add("by patches", 1)
    n = p["filter_h"] * p["filter_w"] * p["filter_c"]
    pixels, channels = p["output_h"] * p["output_w"], p["output_c"] // groups
    times = p["batches"] * groups
    if path == "mve":
        matrices_s8(c, path, times * (pixels // 4), 4, channels, n, p["bias"])
        if pixels % 4:
            matrices_s8(c, path, times, pixels % 4, channels, n, p["bias"])
        return
    c.loop("widen", times * pixels, n, *((4,) if path == "dsp" else ()))
    columns(c, path, times, pixels, channels, n, p["bias"])
    if groups > 1:
        c.add("blocks of a group", times * (pixels // 2) * (channels // 2))
        c.add("column pairs of a group", times * (pixels // 2))


def convolve_1x1_s8(c: Counts, p: Params, path: str) -> None:
    """arm_convolve_1x1_s8: a product for each row of outputs."""
    c.add("by rows", 1)
    c.add("batches by rows", p["batches"])
    times = p["batches"] * p["output_h"]
    matrices_s8(c, path, times, p["output_w"], p["output_c"], p["input_c"], p["bias"])


def convolve_1x1_s8_fast(c: Counts, p: Params, path: str) -> None:
    """arm_convolve_1x1_s8_fast: one product."""
    pixels = p["batches"] * p["output_h"] * p["output_w"]
    matrices_s8(c, path, 1, pixels, p["output_c"], p["input_c"], p["bias"])


def convolve_1_x_n_s8(c: Counts, p: Params, path: str) -> None:
    """arm_convolve_1_x_n_s8: on Helium three products, left, between and right of the padding."""
    left, right = _padded(p)
    if path != "mve" or left + right > p["output_w"]:
        c.add("handed on", 1)
        convolve_s8(c, p, path)
        return
    n, batches = p["filter_w"] * p["input_c"], p["batches"]
    c.add("parts", batches)
    for length in (p["pad_w"] * p["input_c"], n, n - p["input_c"], p["pad_w"] * p["input_c"]):
        c.copies("copy", batches, length, path)
    for width in (left, p["output_w"] - left - right, right):
        matrices_s8(c, path, batches, width, p["output_c"], n, p["bias"])


def _padded(p: Params) -> tuple[int, int]:
    """Outputs that meet padding on the left and on the right."""
    stride, pad = p["stride_w"], p["pad_w"]
    total = (p["output_w"] - 1) * stride + p["filter_w"] - p["input_w"]
    right = pad + total % 2
    return -(-pad // stride), -(-right // stride) if right > 0 else 0


def _is_1x1(p: Params) -> bool:
    same = ("filter_h", "filter_w", "dilation_h", "dilation_w")
    unpadded = p["pad_h"] == p["pad_w"] == 0
    return unpadded and all(p[name] == 1 for name in same) and p["input_c"] == p["filter_c"]


def _is_1_x_n(p: Params) -> bool:
    in_a_row = p["input_h"] == p["filter_h"] == p["dilation_w"] == 1
    return in_a_row and p["stride_w"] * p["input_c"] % 4 == 0 and p["input_c"] == p["filter_c"]


def _wrapper(fast: Counter, one: Counter, row: Counter, rest: Counter) -> Counter:
    """A wrapper: the function that fits, of those for one pixel, for one row and for any kernel.

    fast: of one pixel without stride.
    """

    def count(c: Counts, p: Params, path: str) -> None:
        if _is_1x1(p):
            whole = p["stride_h"] == p["stride_w"] == 1
            (fast if whole else one)(c, p, path)
        elif _is_1_x_n(p):
            c.add("in a row", 1)
            row(c, p, path)
        else:
            rest(c, p, path)

    return count


convolve_wrapper_s8 = _wrapper(
    convolve_1x1_s8_fast, convolve_1x1_s8, convolve_1_x_n_s8, convolve_s8
)


def convolve_s16(c: Counts, p: Params, path: str) -> None:
    """arm_convolve_s16 and its wrapper: as s8, but nothing is widened."""
    im2col(c, p, path, 1, 2)
    n = p["filter_h"] * p["filter_w"] * p["filter_c"]
    pixels, channels, batches = p["output_h"] * p["output_w"], p["output_c"], p["batches"]
    wide = not p["bias_is_int32"]
    slow = max(n - FAST_COLUMNS, 0) if wide else 0
    kind = " in 64 bits" if wide else ""
    if path == "mve":
        quads, rest = batches * (pixels // 4), batches * (pixels % 4)
        c.add("products", quads + batches * (pixels % 4 > 0))
        for name, entered, lanes in (("quad", quads, 8), ("single", rest, 4)):
            rows = entered * channels
            c.vectors(f"{name}s", rows, n - slow, lanes)
            c.add(f"{name}{kind}", entered)
            c.add(f"{name} rows{kind}", rows)
            c.add(f"{name} biases{kind}", rows * p["bias"])
            c.add(f"any slow {name}s", rows * (slow > 0))
            c.add(f"slow {name}s", rows * slow)
        if not wide:
            _fours(c, "singles", rest, channels)
        return
    columns(c, path, batches, pixels, channels, n - slow, p["bias"])
    pairs, odd = batches * (pixels // 2), batches * (pixels % 2)
    c.add("slow blocks", pairs * (channels // 2) * slow)
    c.add("slow channels", pairs * (channels % 2) * slow)
    c.loop("column", odd * channels, slow, *((4,) if path == "dsp" else ()))
    c.add(f"blocks{kind}", pairs * (channels // 2))
    c.add(f"channel{kind}", pairs * (channels % 2))
    c.add(f"column{kind}", odd * channels)


def _matrices_s4(c: Counts, path: str, times: float, lhs: int, rhs: int, n: int, bias: int) -> None:
    """arm_nn_mat_mult_nt_t_s4: two weights in a byte, so that odd rows begin within one."""
    c.add("products", times)
    if path == "mve":
        rest = lhs % 4
        _rows_s4(c, "quads", times * (lhs // 4), rhs, n, 16, bias)
        c.add("any quads", times * (lhs > 3))
        for name, pixels, block in (("threes", 3, 16), ("twos", 2, 32), ("ones", 1, 32)):
            _rows_s4(c, name, times * (rest == pixels), rhs, n, block, bias)
        _fours(c, "ones", times * (rest == 1), rhs)
        return
    steps = (16, 4, 2) if path == "dsp" else (2,)
    for name, several in (("quads", rhs // 4), ("rows", rhs % 4)):
        c.add(f"any {name}", times * (several > 0))
        c.add(name, times * several)
        c.add(f"{name} with pairs", times * several * (lhs > 1))
        for pixels, entered in (("pairs", lhs // 2), ("odd", lhs % 2)):
            c.loop(f"{name} {pixels}", times * several * entered, n, *steps)
            c.add(f"{name} {pixels} biased", times * several * entered * bias)
    within = times * (rhs % 4 > 1) * (n % 2)  # the second row begins within a byte
    c.add("within", within)
    c.add("within pairs", within * (lhs // 2))
    c.add("within odd", within * (lhs % 2))


def _rows_s4(
    c: Counts, name: str, times: float, rows: int, n: int, block: int, bias: int
) -> None:
    """Rows of 4-bit weights with Helium; a row that begins within a byte takes its first alone."""
    within = times * (rows // 2) * (n % 2)
    c.add(name, times)
    c.add(f"{name} rows", times * rows)
    c.add(f"{name} within", within)
    c.add(f"{name}/{block}", times * rows * (n // block))
    c.add(f"{name}/{block} any", times * rows * (n >= block))
    if block == 32:
        c.add(f"{name}/16", times * rows * (n % 32 > 15))
    c.add(f"{name}/rest", times * rows * (n % 16 > 0) - within * (n % 16 == 1))
    c.add(f"{name} biased", times * rows * bias)


def _fours(c: Counts, name: str, times: float, rows: int) -> None:
    """Results that are made smaller four at a time, and what is left over one by one."""
    c.add(f"{name} by 4", times * (rows // 4))
    c.add(f"{name} any tails", times * (rows % 4 > 0))
    c.add(f"{name} tails", times * (rows % 4))


def convolve_s4(c: Counts, p: Params, path: str) -> None:
    """arm_convolve_s4: patches into a buffer, then four channels and two columns at a time."""
    c.add("by patches", 1)
    n = p["filter_h"] * p["filter_w"] * p["filter_c"]
    pixels, channels, batches = p["output_h"] * p["output_w"], p["output_c"], p["batches"]
    if path == "mve":
        im2col(c, p, path, 1, 1)
        _matrices_s4(c, path, batches * (pixels // 4), 4, channels, n, p["bias"])
        _matrices_s4(c, path, batches * (pixels % 4 > 0), pixels % 4, channels, n, p["bias"])
        return
    im2col(c, p, path, 1, 2, widened=True)
    pairs, odd = batches * (pixels // 2), batches * (pixels % 2)
    steps = (4, 2) if path == "dsp" else (2,)
    c.add("column pairs", pairs)
    c.add("odd columns", odd)
    c.add("any blocks", pairs * (channels > 3))
    c.add("any channel", pairs * (channels % 4 > 0))
    for name, entered in (
        ("blocks", pairs * (channels // 4)),
        ("channel", pairs * (channels % 4)),
        ("column", odd * channels),
    ):
        c.loop(name, entered, n, *steps)
        c.add(f"{name} biased", entered * p["bias"])
    c.add("channel within", pairs * (channels % 4 > 1) * (n % 2))
    c.add("column within", odd * (channels // 2) * (n % 2))


def convolve_even_s4(c: Counts, p: Params, path: str) -> None:
    """arm_convolve_even_s4, with Helium only: pixels are interleaved for a faster product."""
    with c.within("even"):
        _even_s4(c, p, path)


def _even_s4(c: Counts, p: Params, path: str) -> None:
    c.add("by pairs of weights", 1)
    im2col(c, p, path, 1, 1)
    n = p["filter_h"] * p["filter_w"] * p["filter_c"]
    pixels, channels, batches = p["output_h"] * p["output_w"], p["output_c"], p["batches"]
    c.add("interleaved", batches * pixels * (n // 32))
    c.add("any interleaved", batches * pixels * (n > 31))
    rest = pixels % 4
    kinds = (("quads", pixels // 4), *((f"last {k}", int(rest == k)) for k in (1, 2, 3)))
    for name, entered in kinds:
        _rows_s4(c, name, batches * entered, channels, n, 32, p["bias"])
    _fours(c, "last 1", batches * (rest == 1), channels)


def convolve_1x1_s4(c: Counts, p: Params, path: str) -> None:
    """arm_convolve_1x1_s4: a product for each row of outputs."""
    c.add("by rows", 1)
    c.add("batches by rows", p["batches"])
    times = p["batches"] * p["output_h"]
    _matrices_s4(c, path, times, p["output_w"], p["output_c"], p["input_c"], p["bias"])


def convolve_1x1_s4_fast(c: Counts, p: Params, path: str) -> None:
    """arm_convolve_1x1_s4_fast: one product."""
    pixels = p["batches"] * p["output_h"] * p["output_w"]
    _matrices_s4(c, path, 1, pixels, p["output_c"], p["input_c"], p["bias"])


def convolve_1_x_n_s4(c: Counts, p: Params, path: str) -> None:
    """arm_convolve_1_x_n_s4: on Helium one product between padded outputs, each on its own."""
    left, right = _padded(p)
    if path != "mve" or left + right > p["output_w"]:
        c.add("handed on", 1)
        convolve_s4(c, p, path)
        return
    width, n = p["output_w"], p["filter_w"] * p["input_c"]
    c.add("parts", p["batches"])
    middle = width - left - right
    _matrices_s4(c, path, p["batches"], middle, p["output_c"], n, p["bias"])
    _, across = taps(p)
    for at in (*range(left), *range(width - right, width)):
        c.add("edges", p["batches"])
        rows = p["batches"] * p["output_c"]
        c.vectors("edge rows", rows, across[at] * p["input_c"], 16)
        _fours(c, "edge", p["batches"], p["output_c"])
        c.add("biased edge by 4", p["batches"] * p["bias"] * (p["output_c"] // 4))
        c.add("biased edge tails", p["batches"] * p["bias"] * (p["output_c"] % 4))


def _convolve_any_s4(c: Counts, p: Params, path: str) -> None:
    """What arm_convolve_wrapper_s4 calls for kernels of several rows."""
    if path == "mve" and p["filter_h"] * p["filter_w"] * p["input_c"] % 2 == 0:
        convolve_even_s4(c, p, path)
    else:
        convolve_s4(c, p, path)


convolve_wrapper_s4 = _wrapper(
    convolve_1x1_s4_fast, convolve_1x1_s4, convolve_1_x_n_s4, _convolve_any_s4
)
