"""Loop counts of the functions of 4-bit weights: convolutions, depthwise ones, dense layers."""

from __future__ import annotations

from .convolve import count_padded, im2col, one_by_one, wrapper
from .counts import Counts, Params
from .depthwise import BLOCK, block_mve, count_widened_patches, plain, window
from .patches import count_taps
from .products import count_fours


def _matrices_s4(c: Counts, path: str, times: float, lhs: int, rhs: int, n: int, bias: int) -> None:
    """arm_nn_mat_mult_nt_t_s4: two weights in a byte, so that odd rows begin within one."""
    c.add("products", times)
    if path == "mve":
        rest = lhs % 4
        _rows_s4(c, "quads", times * (lhs // 4), rhs, n, 16, bias)
        c.add("any quads", times * (lhs > 3))
        for name, pixels, block in (("threes", 3, 16), ("twos", 2, 32), ("ones", 1, 32)):
            _rows_s4(c, name, times * (rest == pixels), rhs, n, block, bias)
        count_fours(c, "ones", times * (rest == 1), rhs)
        return
    steps = (16, 4, 2) if path == "dsp" else (2,)
    for name, several in c.in_blocks(times, rhs, 4, ("quads", "rows")):
        c.add(name, several)
        c.add(f"{name} with pairs", several * (lhs > 1))
        for of, entered in (("pairs", lhs // 2), ("odd", lhs % 2)):
            c.loop(f"{name} {of}", several * entered, n, *steps)
            c.add(f"{name} {of} biased", several * entered * bias)
    within = times * (rhs % 4 > 1) * (n % 2)  # the second row begins within a byte
    c.add("within", within)
    c.add("within pairs", within * (lhs // 2))
    c.add("within odd", within * (lhs % 2))


def _rows_s4(c: Counts, name: str, times: float, rows: int, n: int, block: int, bias: int) -> None:
    """Count rows of 4-bit weights with Helium; a row that begins within a byte reads its first
    weight alone.
    """
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


def convolve_s4(c: Counts, params: Params, path: str) -> None:
    """Count arm_convolve_s4: patches into a buffer, then four channels by two columns at a time."""
    c.add("by patches", 1)
    n = params["filter_h"] * params["filter_w"] * params["filter_c"]
    pixels, channels, batches = (
        params["output_h"] * params["output_w"],
        params["output_c"],
        params["batches"],
    )
    if path == "mve":
        im2col(c, params, path, 1, 1)
        _matrices_s4(c, path, batches * (pixels // 4), 4, channels, n, params["bias"])
        _matrices_s4(c, path, batches * (pixels % 4 > 0), pixels % 4, channels, n, params["bias"])
        return
    im2col(c, params, path, 1, 2, widened=True)
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
        c.add(f"{name} biased", entered * params["bias"])
    c.add("channel within", pairs * (channels % 4 > 1) * (n % 2))
    c.add("column within", odd * (channels // 2) * (n % 2))


def convolve_even_s4(c: Counts, p: Params, path: str) -> None:
    """Count arm_convolve_even_s4, with Helium only: pixels are interleaved for a faster product."""
    with c.within("even"):
        _even_s4(c, p, path)


def _even_s4(c: Counts, params: Params, path: str) -> None:
    c.add("by pairs of weights", 1)
    im2col(c, params, path, 1, 1)
    n = params["filter_h"] * params["filter_w"] * params["filter_c"]
    pixels, channels, batches = (
        params["output_h"] * params["output_w"],
        params["output_c"],
        params["batches"],
    )
    c.add("interleaved", batches * pixels * (n // 32))
    c.add("any interleaved", batches * pixels * (n > 31))
    rest = pixels % 4
    kinds = (("quads", pixels // 4), *((f"last {k}", int(rest == k)) for k in (1, 2, 3)))
    for name, entered in kinds:
        _rows_s4(c, name, batches * entered, channels, n, 32, params["bias"])
    count_fours(c, "last 1", batches * (rest == 1), channels)


convolve_1x1_s4 = one_by_one(_matrices_s4)
convolve_1x1_s4_fast = one_by_one(_matrices_s4, fast=True)


def convolve_1_x_n_s4(c: Counts, params: Params, path: str) -> None:
    """Count arm_convolve_1_x_n_s4: on Helium padded outputs alone, one product between them."""
    left, right = count_padded(params)
    if path != "mve" or left + right > params["output_w"]:
        c.add("handed on", 1)
        convolve_s4(c, params, path)
        return
    width, n = params["output_w"], params["filter_w"] * params["input_c"]
    c.add("parts", params["batches"])
    middle = width - left - right
    _matrices_s4(c, path, params["batches"], middle, params["output_c"], n, params["bias"])
    _, across = count_taps(params)
    for at in (*range(left), *range(width - right, width)):
        c.add("edges", params["batches"])
        rows = params["batches"] * params["output_c"]
        c.vectors("edge rows", rows, across[at] * params["input_c"], 16)
        count_fours(c, "edge", params["batches"], params["output_c"])
        c.add("biased edge by 4", params["batches"] * params["bias"] * (params["output_c"] // 4))
        c.add("biased edge tails", params["batches"] * params["bias"] * (params["output_c"] % 4))


def _convolve_any_s4(c: Counts, p: Params, path: str) -> None:
    """Count arm_convolve_wrapper_s4's call for kernels of several rows."""
    if path == "mve" and p["filter_h"] * p["filter_w"] * p["input_c"] % 2 == 0:
        convolve_even_s4(c, p, path)
    else:
        convolve_s4(c, p, path)


convolve_wrapper_s4 = wrapper(
    convolve_1x1_s4_fast, convolve_1x1_s4, convolve_1_x_n_s4, _convolve_any_s4
)


def depthwise_s4(c: Counts, params: Params, path: str) -> None:
    """Count arm_depthwise_conv_s4: two outputs at a time for even channels or multipliers."""
    channels, pixels = params["input_c"] * params["ch_mult"], window(params)[0]
    if params["input_c"] % 2 or (params["ch_mult"] % 2 and params["ch_mult"] > 1):
        c.add("next bytes", pixels * ((channels + 1) // 2 - 1))
    if params["input_c"] % 2:
        plain(c, params, channels, " odd")
        c.add("pixels odd", pixels)
    elif params["ch_mult"] == 1:
        plain(c, params, channels // 2, " in pairs")
    elif params["ch_mult"] % 2:
        plain(c, params, channels, " of odd multiplier")
    else:
        plain(c, params, channels // 2, " of even multiplier")


def depthwise_s4_opt(c: Counts, params: Params, path: str) -> None:
    """Count arm_depthwise_conv_s4_opt: as s8, and weights are unpacked."""
    params = {**params, "batches": 1, "dilation_h": 1, "dilation_w": 1}
    if path == "mve":
        for first in range(0, params["input_c"], BLOCK):
            block_mve(
                c,
                params,
                min(BLOCK, params["input_c"] - first),
                1,
                " odd" * (params["input_c"] % 2),
            )
        return
    count_widened_patches(c, params)
    pixels, _, _, kernel = window(params)
    odd = params["input_c"] % 2
    c.loop("quads", pixels * (params["input_c"] // 4), kernel, 2)
    c.loop("odd quads", odd * pixels * (params["input_c"] // 4), kernel, 2)
    c.loop("singles", pixels * (params["input_c"] % 4), kernel, 2)
    c.loop("odd singles", odd * pixels * (params["input_c"] % 4), kernel)
    c.add("biased", pixels * params["bias"] * (params["input_c"] // 4))


def depthwise_wrapper_s4(c: Counts, p: Params, path: str) -> None:
    """Count arm_depthwise_conv_wrapper_s4: the function that fits."""
    single = p["ch_mult"] == p["batches"] == p["dilation_h"] == p["dilation_w"] == 1
    if single:
        depthwise_s4_opt(c, p, path)
    else:
        depthwise_s4(c, p, path)


def count_dense_s4(c: Counts, p: Params, path: str) -> None:
    """Count arm_fully_connected_s4: four rows at a time, two weights in a byte."""
    rows, n, batches = p["output_c"], p["input_c"], p["batches"]
    c.add("vectors", batches)
    for name, times in c.in_blocks(batches, rows, 4, ("quads", "rows")):
        c.add(f"{name} biased", times * p["bias"])
        if path == "mve":
            c.loop(name, times, n - n % 32, 32)
            c.add(f"{name}/16", times * (n % 32 > 15))
        else:
            c.loop(name, times, n - n % 2, *((4, 2) if path == "dsp" else (2,)))
    c.add("quads odd", batches * (rows // 4) * (n % 2))
    c.add("rows odd", batches * ((rows % 4 + 1) // 2) * (n % 2))
    if path == "mve":
        c.add("quads rest", batches * (rows // 4) * (2 * (n % 16 > 0) - (n % 16 == 1)))
        c.loop("rows rest", batches * (rows % 4), n % 16 - n % 2, 4, 2)
