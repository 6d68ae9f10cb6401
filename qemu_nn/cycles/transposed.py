"""Loop counts of transposed convolutions."""

from __future__ import annotations

from .convolve import convolve_patches_s8, convolve_s8
from .counts import Counts, Params
from .patches import make_axes

#: Most input channels of a transposed convolution that is not converted to a convolution.
_REVERSED_FROM = 16


def transpose_s8(c: Counts, params: Params, path: str) -> None:
    """Count arm_transpose_conv_s8: each input adds its kernel to rows of sums; complete rows are
    written.
    """
    wide = (params["input_w"] - 1) * params["stride_w"] + max(
        params["filter_w"], params["stride_w"]
    )
    high = max(params["filter_h"], params["stride_h"])
    channels, batches, bias = params["output_c"], params["batches"], params["bias"]
    starts = [row * params["stride_h"] for row in range(params["input_h"])]
    filled = sum(max(0, params["pad_h"] - start) == 0 for start in starts) * params["stride_h"]
    c.add("batches", batches)
    c.add("sum rows", batches * filled)
    c.add("filling inputs", batches * filled // params["stride_h"])
    for times in (batches * high, batches * filled):
        c.copies("initial", times * wide * bias, 4 * channels, path)
        c.fills("cleared", times * (not bias), 4 * channels * wide, path)
    last = params["input_h"] * params["stride_h"]
    end = params["pad_h"] + params["output_h"]
    tail = range(last, last + max(params["filter_h"] - params["stride_h"], 0))
    lines = batches * (filled + sum(params["pad_h"] <= row < end for row in tail))
    outputs = lines * params["output_w"]
    c.add("output rows", lines)
    c.add("pixels", outputs)
    c.add("outputs", outputs * (-(-channels // 4) if path == "mve" else channels))
    parts = (
        ("quads", params["input_w"] // 4),
        ("pair", params["input_w"] // 2 % 2),
        ("one", params["input_w"] % 2),
    )
    for start in starts:
        above = max(0, params["pad_h"] - start)
        below = max(0, start + params["filter_h"] - (params["pad_h"] + params["output_h"]) - 1)
        rows = max(params["filter_h"] - above - below, 0)
        c.add("input rows", batches)
        for name, times in parts:
            entered = batches * times * channels
            c.add(f"{name} channels", entered)
            c.add(f"{name} rows", entered * rows)
            taps_of = entered * rows * params["filter_w"]
            if path == "mve":
                c.vectors(name, taps_of, params["input_c"], 16)
            else:
                c.loop(name, taps_of, params["input_c"], *((4,) if path == "dsp" else (2,)))


def transpose_wrapper_s8(c: Counts, params: Params, path: str) -> None:
    """Count arm_transpose_conv_wrapper_s8: many channels are upscaled and passed to
    arm_convolve_s8.
    """
    if max(params["stride_h"], params["stride_w"]) > 2 or params["input_c"] <= _REVERSED_FROM:
        transpose_s8(c, params, path)
        return
    rows = params["output_c"] * params["filter_h"]
    c.patches("reversed", rows * params["filter_w"], params["input_c"], path)
    c.add("reversed rows", rows)
    c.add("reversed channels", params["output_c"])
    window = {
        **params,
        **{
            "input_h": params["input_h"] * params["stride_h"],
            "input_w": params["input_w"] * params["stride_w"],
        },
        **{
            "pad_h": params["filter_h"] - 1 - params["pad_h"],
            "pad_w": params["filter_w"] - 1 - params["pad_w"],
        },
        **{"stride_h": 1, "stride_w": 1, "filter_c": params["input_c"]},
    }
    with c.within("convolve"):
        if params["stride_h"] == params["stride_w"] == 1:
            convolve_s8(c, window, path)
        else:
            _count_upscaled(c, window, params, path)
            convolve_patches_s8(c, window, path)


def _count_upscaled(c: Counts, window: Params, p: Params, path: str) -> None:
    """Count arm_convolve_s8 on every second pixel: patches are cleared, then copied."""
    down, across = make_axes(window)
    pixels = p["batches"] * down.out * across.out
    rows, columns = (
        sum(
            0 <= axis.at(out, tap) < axis.size and axis.at(out, tap) % stride == 0
            for out in range(axis.out)
            for tap in range(axis.kernel)
        )
        for axis, stride in ((down, p["stride_h"]), (across, p["stride_w"]))
    )
    c.add("batches", p["batches"])
    c.add("lines", p["batches"] * down.out)
    c.add("pixels", pixels)
    c.add("upscaled pixels", pixels)
    c.gaps("cleared", pixels, window["filter_c"] * down.kernel * across.kernel, path)
    c.add("upscaled rows", pixels * down.kernel)
    c.add("real rows", p["batches"] * rows * across.out)
    c.add("real row taps", p["batches"] * rows * across.out * across.kernel)
    c.patches("upscaled copy", p["batches"] * rows * columns, window["filter_c"], path)
