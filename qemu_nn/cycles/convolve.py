"""Loop counts of convolutions of the s8, s16 and s4 functions."""

from __future__ import annotations

from typing import Callable

from .counts import Counter, Counts, Params
from .patches import PatchBuffer, count_copies, count_walk, make_axes, vectors
from .products import columns, count_fours, matrices_s8

#: Most products that the s16 functions add in 32 bits, CMSIS-NN's MAX_COL_COUNT.
FAST_COLUMNS = 512


#: Loads, products and the end of an iteration of the further loops: too few recorded calls have
#: them to fit each cost.
_SLOW = {"quad": 11, "single": 5, "block": 10, "channel": 7}


def im2col(c: Counts, p: Params, path: str, groups: int, size: int, widened: bool = False) -> None:
    """Count the copies of patches into the buffer; size: bytes of an element.

    widened: true if pixels are widened, not copied.
    """
    down, across = make_axes(p)
    times = p["batches"] * groups
    c.add("batches", times)
    every = count_walk(c, times, down, across)
    length, pixel = p["filter_c"] * size, p["input_c"] * size
    if path == "mve":
        vectors(c, every, length)
    else:
        image = down.size * across.size * pixel
        begins = [n * image + g * length for n in range(p["batches"]) for g in range(groups)]
        count_copies(c, path, PatchBuffer(length, pixel, 2, begins), down, across, widened)
    if widened:
        c.loop("widen", every[0], p["filter_c"], *((4,) if path == "dsp" else ()))


def convolve_s8(c: Counts, p: Params, path: str) -> None:
    """Count arm_convolve_s8: patches into a buffer, then two (Helium: four) columns at a time."""
    im2col(c, p, path, p["input_c"] // p["filter_c"], 1)
    convolve_patches_s8(c, p, path)


def convolve_patches_s8(c: Counts, params: Params, path: str) -> None:
    """Count the work of arm_convolve_s8 on the patches."""
    groups = params["input_c"] // params["filter_c"]
    c.add("by patches", 1)
    n = params["filter_h"] * params["filter_w"] * params["filter_c"]
    pixels, channels = params["output_h"] * params["output_w"], params["output_c"] // groups
    times = params["batches"] * groups
    if path == "mve":
        matrices_s8(c, path, times * (pixels // 4), 4, channels, n, params["bias"])
        if pixels % 4:
            matrices_s8(c, path, times, pixels % 4, channels, n, params["bias"])
        return
    c.loop("widen", times * pixels, n, *((4,) if path == "dsp" else ()))
    columns(c, path, times, pixels, channels, n, params["bias"])
    if groups > 1:
        c.add("blocks of a group", times * (pixels // 2) * (channels // 2))
        c.add("column pairs of a group", times * (pixels // 2))


def one_by_one(
    product: Callable[[Counts, str, int, int, int, int, int], None], fast: bool = False
) -> Counter:
    """Count arm_convolve_1x1: a product of matrices for each row of outputs; fast: one for them
    all.
    """

    def count(c: Counts, p: Params, path: str) -> None:
        times, pixels = p["batches"] * p["output_h"], p["output_w"]
        if fast:
            times, pixels = 1, times * pixels
        else:
            c.add("by rows", 1)
            c.add("batches by rows", p["batches"])
        product(c, path, times, pixels, p["output_c"], p["input_c"], p["bias"])

    return count


convolve_1x1_s8 = one_by_one(matrices_s8)
convolve_1x1_s8_fast = one_by_one(matrices_s8, fast=True)


def convolve_1_x_n_s8(c: Counts, params: Params, path: str) -> None:
    """Count arm_convolve_1_x_n_s8: on Helium three products, left, between and right of the
    padding.
    """
    left, right = count_padded(params)
    if path != "mve" or left + right > params["output_w"]:
        c.add("handed on", 1)
        convolve_s8(c, params, path)
        return
    n, batches = params["filter_w"] * params["input_c"], params["batches"]
    c.add("parts", batches)
    for length in (
        params["pad_w"] * params["input_c"],
        n,
        n - params["input_c"],
        params["pad_w"] * params["input_c"],
    ):
        c.copies("copy", batches, length, path)
    for width in (left, params["output_w"] - left - right, right):
        matrices_s8(c, path, batches, width, params["output_c"], n, params["bias"])


def count_padded(p: Params) -> tuple[int, int]:
    """Return outputs that meet padding on the left and on the right."""
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


def wrapper(fast: Counter, one: Counter, row: Counter, rest: Counter) -> Counter:
    """Return the count of a wrapper: of its functions for one pixel, for one row or for any kernel,
    the one that fits.

    fast: for one pixel without stride.
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


convolve_wrapper_s8 = wrapper(convolve_1x1_s8_fast, convolve_1x1_s8, convolve_1_x_n_s8, convolve_s8)


def convolve_s16(c: Counts, params: Params, path: str) -> None:
    """Count arm_convolve_s16 and its wrapper: as s8, but nothing is widened."""
    im2col(c, params, path, 1, 2)
    n = params["filter_h"] * params["filter_w"] * params["filter_c"]
    pixels, channels, batches = (
        params["output_h"] * params["output_w"],
        params["output_c"],
        params["batches"],
    )
    wide = not params["bias_is_int32"]
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
            c.add(f"{name} biases{kind}", rows * params["bias"])
            c.add("slow", rows * slow * _SLOW[name])
        if not wide:
            count_fours(c, "singles", rest, channels)
        return
    columns(c, path, batches, pixels, channels, n - slow, params["bias"])
    pairs, odd = batches * (pixels // 2), batches * (pixels % 2)
    c.add("slow", pairs * (channels // 2) * slow * _SLOW["block"])
    c.add("slow", pairs * (channels % 2) * slow * _SLOW["channel"])
    c.loop("column", odd * channels, slow, *((4,) if path == "dsp" else ()))
    c.add(f"blocks{kind}", pairs * (channels // 2))
    c.add(f"channel{kind}", pairs * (channels % 2))
    c.add(f"column{kind}", odd * channels)
