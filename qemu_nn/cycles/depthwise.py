"""Loop counts of depthwise convolutions of the s8 and s16 functions."""

from __future__ import annotations

from .convolve import convolve_s8
from .counts import Counts, Params
from .patches import PatchBuffer, count_copies, count_taps, count_walk, make_axes, vectors

#: Channels that Helium takes at a time, CMSIS-NN's CH_IN_BLOCK_MVE.
BLOCK = 124

#: One input channel with more outputs than this is convolved with Helium, CMSIS-NN's
#: CONVERT_DW_CONV_WITH_ONE_INPUT_CH_AND_OUTPUT_CH_ABOVE_THRESHOLD of that compiler.
_CONVOLVED_ABOVE = 1


def window(p: Params) -> tuple[int, int, int, int]:
    """Return pixels, pixels x valid kernel rows, pixels x valid taps, and the kernel's size."""
    rows, across = count_taps(p)
    pixels = p["batches"] * p["output_h"] * p["output_w"]
    valid_rows = p["batches"] * sum(rows) * p["output_w"]
    return pixels, valid_rows, p["batches"] * sum(rows) * sum(across), p["filter_h"] * p["filter_w"]


def plain(c: Counts, p: Params, channels: int, kind: str = "") -> None:
    """Count every output by itself: bounds, valid rows, valid taps."""
    pixels, rows, valid, _ = window(p)
    c.add("lines", p["batches"] * p["output_h"])
    c.add("pixels", pixels)
    c.add(f"inputs{kind}", pixels * p["input_c"])
    c.add(f"outputs{kind}", pixels * channels)
    c.add(f"output rows{kind}", rows * channels)
    c.add(f"output taps{kind}", valid * channels)
    c.add("dilated x", pixels * channels * (p["dilation_w"] > 1))
    c.add("dilated y", pixels * channels * (p["dilation_h"] > 1))
    c.add("dilated taps", valid * channels * (p["dilation_w"] > 1))
    c.add(f"biased outputs{kind}", pixels * channels * p["bias"])


def depthwise_s8(c: Counts, params: Params, path: str) -> None:
    """Count arm_depthwise_conv_s8: four outputs of a channel at a time if there are four."""
    undilated = params["batches"] == params["dilation_h"] == params["dilation_w"] == 1
    if params["ch_mult"] % 4 == 0 and undilated:
        plain(c, params, params["input_c"] * params["ch_mult"] // 4, " by 4")
    else:
        plain(c, params, params["input_c"] * params["ch_mult"])


def depthwise_s8_opt(c: Counts, params: Params, path: str) -> None:
    """Count arm_depthwise_conv_s8_opt: patches into a buffer, then four channels at a time."""
    if path == "scalar":
        c.add("handed on", 1)
        depthwise_s8(c, params, path)
        return
    params = {**params, "batches": 1, "dilation_h": 1, "dilation_w": 1}  # it processes one sample
    if path == "mve":
        for first in range(0, params["input_c"], BLOCK):
            block_mve(c, params, min(BLOCK, params["input_c"] - first), 1)
    else:
        steps = (4,)
        count_widened_patches(c, params)
        pixels, _, _, kernel = window(params)
        c.loop("quads", pixels * (params["input_c"] // 4), kernel, 2)
        c.loop("singles", pixels * (params["input_c"] % 4), kernel, *steps)
        c.add("biased", pixels * params["bias"] * (params["input_c"] // 4))


def count_widened_patches(c: Counts, params: Params, size: int = 1) -> None:
    """Count patches that are copied row by row; rows above and below are cleared at once."""
    rows, across = count_taps(params)
    channels, batches = params["input_c"], params["batches"]
    c.add("buffered lines", batches * params["output_h"])
    c.add("buffered pixels", batches * params["output_h"] * params["output_w"])
    row_bytes = 2 * params["filter_w"] * channels
    for at, valid in enumerate(rows):
        above = min(max(params["pad_h"] - at * params["stride_h"], 0), params["filter_h"])
        for missing in (above, params["filter_h"] - valid - above):
            if missing > 0:
                c.gaps("clear", batches * params["output_w"], missing * row_bytes, "dsp")
    c.add("kernel rows", batches * sum(rows) * params["output_w"])
    beside = batches * sum(rows) * (params["output_w"] * params["filter_w"] - sum(across))
    c.gaps("clear", beside, 2 * channels, "dsp")
    c.add("beside", beside)
    valid = batches * sum(rows) * sum(across)
    if size == 1:
        c.loop("widen", valid, channels, 4)
    else:
        c.patches("copy", valid, 2 * channels, "dsp")


def block_mve(c: Counts, p: Params, channels: int, size: int, kind: str = "") -> None:
    """Count a block of channels with Helium: four pixels at a time, four channels at a time."""
    pixels, _, _, kernel = window(p)
    down, across = make_axes(p)
    c.add("channel blocks", 1)
    every = count_walk(c, p["batches"], down, across, "buffered ")
    if size == 1:
        vectors(c, every, channels)
    else:
        length = channels * size
        begins = [at * down.size * across.size * length for at in range(p["batches"])]
        count_copies(c, "mve", PatchBuffer(length, length, 4, begins), down, across)
    groups = -(-channels // 4)
    for name, times in (("quads", pixels // 4), ("singles", pixels % 4)):
        c.add(name, times)
        c.add(f"{name} tails", times * (channels % 4 > 0))
        c.loop(f"{name} groups{kind}", times * groups, kernel, 2)
        c.add(f"{name} biased", p["bias"] * times * groups)


def depthwise_3x3_s8(c: Counts, params: Params, path: str) -> None:
    """Count arm_depthwise_conv_3x3_s8: four channels at a time; windows at edges lack a column."""
    params = {**params, "dilation_h": 1, "dilation_w": 1}
    rows, _ = count_taps(params)
    pixels = params["output_h"] * params["output_w"]
    starts = [at * params["stride_w"] - params["pad_w"] for at in range(params["output_w"])]
    edges = (
        ("left", sum(at < 0 for at in starts)),
        ("right", sum(at + 3 > params["input_w"] for at in starts)),
    )
    c.add("3x3 lines", params["output_h"])
    c.add("3x3 pixels", pixels)
    for name, channels in (
        ("3x3 quads", params["input_c"] // 4),
        ("3x3 singles", params["input_c"] % 4),
    ):
        c.add(name, pixels * channels)
        c.add(f"any {name}", pixels * (channels > 0))
        c.add(f"{name} biased", pixels * channels * params["bias"])
        c.add(f"{name} rows", sum(rows) * len(starts) * channels)
        for side, beside in edges:
            c.add(f"{name} {side} taps", sum(rows) * (len(starts) - beside) * channels)
            c.add(f"any {name} {side}", params["output_h"] * beside * channels)


def depthwise_wrapper_s8(c: Counts, params: Params, path: str) -> None:
    """Count arm_depthwise_conv_wrapper_s8: the function that fits."""
    if path == "mve" and params["input_c"] == 1 and params["ch_mult"] > _CONVOLVED_ABOVE:
        _count_as_convolution(c, params, path)
        return
    single = (
        params["ch_mult"] == params["batches"] == params["dilation_h"] == params["dilation_w"] == 1
    )
    small = (
        params["filter_h"] == params["filter_w"] == 3 and max(params["pad_h"], params["pad_w"]) <= 1
    )
    if single and small and path != "mve":
        depthwise_3x3_s8(c, params, path)
    elif single:
        depthwise_s8_opt(c, params, path)
    else:
        depthwise_s8(c, params, path)


def _count_as_convolution(c: Counts, p: Params, path: str) -> None:
    """Count one input channel with Helium: weights are transposed, then arm_convolve_wrapper_s8."""
    channels, kernel = p["ch_mult"], p["filter_h"] * p["filter_w"]
    c.add("transposed", 1)
    c.loop("transposed rows", kernel, channels)
    with c.within("convolve"):
        convolve_s8(c, {**p, "filter_c": 1, "output_c": channels}, path)


def depthwise_s16(c: Counts, p: Params, path: str) -> None:
    """Count arm_depthwise_conv_s16: every output for itself."""
    plain(c, p, p["input_c"] * p["ch_mult"])


def depthwise_fast_s16(c: Counts, p: Params, path: str) -> None:
    """Count arm_depthwise_conv_fast_s16: patches into a buffer, then four channels at a time."""
    if path == "scalar":
        c.add("handed on", 1)
        depthwise_s16(c, p, path)
    elif path == "mve":
        block_mve(c, p, p["input_c"], 2)
    else:
        count_widened_patches(c, p, 2)
        pixels, _, _, kernel = window(p)
        c.loop("quads", pixels * (p["input_c"] // 4), kernel, 2)
        c.loop("singles", pixels * (p["input_c"] % 4), kernel)
        c.add("biased", pixels * p["bias"] * (p["input_c"] // 4))


def depthwise_wrapper_s16(c: Counts, p: Params, path: str) -> None:
    """Count arm_depthwise_conv_wrapper_s16: the function that fits."""
    fast = p["ch_mult"] == p["dilation_h"] == p["dilation_w"] == 1
    if fast and p["filter_h"] * p["filter_w"] < 512:
        depthwise_fast_s16(c, p, path)
    else:
        depthwise_s16(c, p, path)
