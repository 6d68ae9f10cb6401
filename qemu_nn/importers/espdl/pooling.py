"""Pools, sums along axes, resizing and softmax."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from ...errors import ModelError
from ...functions.tflm_float import bits
from ..arguments import SUFFIXES, groups
from .call import Converter, EspCall
from .model import EspValue

#: Operator -> name of its function.
_REDUCTIONS = {
    **{f"Reduce{kind}": kind.lower() for kind in ("Mean", "Sum", "Max", "Min", "Prod", "L1", "L2")},
    "ReduceSumSquare": "sum_square",
    "ReduceLogSum": "log_sum",
    "ReduceLogSumExp": "log_sum_exp",
}

#: Most groups of axes, alternately kept and reduced, that the device has code for.
_GROUPS = 4


def max_pool(call: EspCall) -> None:
    """Convert MaxPool of images or rows.

    The device does not look at exponents, dilations and ceil_mode.
    """
    call.expect(1)
    x = call.operand(0)
    params, counts = _find_windows(call, x)
    low, high = (-128, 127) if x.dtype == "int8" else (-32768, 32767)
    output = call.result((x.shape[0], *counts, x.shape[-1]), 0, x.dtype)
    params.update(act_min=low, act_max=high)
    call.put(f"arm_max_pool_{SUFFIXES[x.dtype]}", params, [x], output)


def average_pool(call: EspCall) -> None:
    """Convert AveragePool. Cells outside of the image count, whatever count_include_pad says."""
    call.expect(1)
    x = call.operand(0)
    _put_average(call, x, *_find_windows(call, x))


def global_average_pool(call: EspCall) -> None:
    """Convert GlobalAveragePool: one window."""
    call.expect(1)
    x = call.operand(0)
    sides = list(x.shape[1:-1])
    _put_average(call, x, *_make_windows(x, sides, [1] * len(sides), [0] * 2 * len(sides)))


def _put_average(call: EspCall, x: EspValue, params: dict[str, int], counts: list[int]) -> None:
    output = call.result((x.shape[0], *counts, x.shape[-1]), 0, x.dtype)
    params["right_shift"] = output.exponent - x.exponent
    call.put(f"esp_dl_average_pool_{SUFFIXES[x.dtype]}", params, [x], output)


def _find_windows(call: EspCall, x: EspValue) -> tuple[dict[str, int], list[int]]:
    """Return the arguments of a pool, and the sides of its output."""
    axes = len(x.shape) - 2
    taps = call.integers("kernel_shape", axes, (), 1)
    strides = call.integers("strides", axes, [1] * axes, 1)
    return _make_windows(x, taps, strides, call.integers("pads", 2 * axes, [0] * 2 * axes, 0))


def _make_windows(
    x: EspValue, taps: list[int], strides: list[int], pads: list[int]
) -> tuple[dict[str, int], list[int]]:
    axes = len(x.shape) - 2
    if axes not in (1, 2):
        raise ModelError(f"its input is {x}; it must have 3 or 4 axes")
    counts = [
        (side + before + after - tap) // stride + 1
        for side, tap, stride, before, after in zip(
            x.shape[1:], taps, strides, pads[:axes], pads[axes:]
        )
    ]
    params = {"batches": x.shape[0], "channels": x.shape[-1]}
    for name, numbers, missing in (
        ("input", x.shape[1:-1], 1),
        ("filter", taps, 1),
        ("output", counts, 1),
        ("stride", strides, 1),
        ("pad", pads[:axes], 0),
    ):
        params.update(zip((f"{name}_h", f"{name}_w"), [*[missing] * (2 - axes), *numbers]))
    return params, counts


def reduce(call: EspCall, kind: str) -> None:
    """Convert a reduction along constant axes; kind: a value of _REDUCTIONS."""
    call.expect(1, 2)
    x = call.operand(0)
    rank = len(x.shape)
    axes = {call.axis(axis, rank) for axis in call.numbers(1)} if call.has(1) else set()
    if not axes and not call.integer("noop_with_empty_axes", 0):
        axes = set(range(rank))
    turns = 1 + sum((at in axes) != (at + 1 in axes) for at in range(rank - 1))
    if not axes or turns > _GROUPS:
        raise ModelError(
            f"it reduces axes {sorted(axes)} of {rank}; the device writes no output for these"
        )
    kept = [1 if at in axes else side for at, side in enumerate(x.shape)]
    shape = [side for at, side in enumerate(kept) if at not in axes]
    shape = kept if call.integer("keepdims", 1) else shape
    output = call.result(shape or [1], 0, x.dtype)
    params = groups(x.shape, axes)
    if kind in ("mean", "sum", "l1"):
        params["right_shift"] = output.exponent - x.exponent
    elif kind == "sum_square":
        params["right_shift"] = output.exponent - 2 * x.exponent
    elif kind not in ("max", "min"):
        params.update(input_exponent=x.exponent, output_exponent=output.exponent)
    call.put(f"esp_dl_reduce_{kind}_{SUFFIXES[x.dtype]}", params, [x], output)


def resize(call: EspCall) -> None:
    """Convert Resize of images or rows by constant scales or to constant sizes."""
    call.expect(1, 4)
    x, mode = call.operand(0, "int8"), call.text("mode", "nearest")
    axes = len(x.shape) - 2
    if axes not in (1, 2) or mode not in ("nearest", "linear"):
        raise ModelError(f"it resizes {x} by mode {mode!r}; have: nearest, linear of 3 or 4 axes")
    sides, scales = _find_scales(call, x)
    output = call.result((x.shape[0], *sides, x.shape[-1]), 0, x.dtype)
    corners = call.text("coordinate_transformation_mode", "half_pixel") == "align_corners"
    params = {"batches": x.shape[0], "channels": x.shape[-1]}
    missing = [1] * (2 - axes)
    for name, numbers in (("input", x.shape[1:-1]), ("output", sides)):
        params.update(zip((f"{name}_h", f"{name}_w"), [*missing, *numbers]))
    params.update(zip(("inverse_h_bits", "inverse_w_bits"), [bits(1.0)] * (2 - axes)))
    for axis, before, after, scale in zip("hw"[2 - axes :], x.shape[1:], sides, scales):
        params[f"inverse_{axis}_bits"] = bits(_find_inverse(scale, before, after, corners))
    params.update(input_exponent=x.exponent, output_exponent=output.exponent)
    if mode == "linear":
        params.update(align_corners=int(corners), axes=axes)
    call.put(f"esp_dl_resize_{mode}_s8", params, [x], output)


def _find_inverse(scale: float, before: int, after: int, corners: bool) -> float:
    """Return pixels of the input for one of the output, as a float32."""
    if corners and before == 1:
        return 0.0
    scale = float(np.float32(after - 1) / np.float32(before - 1)) if corners else scale
    if not scale > 0:
        raise ModelError(f"it resizes {before} to {after} pixels; its scale must be above 0")
    return float(np.float32(1) / np.float32(scale))


def _find_scales(call: EspCall, x: EspValue) -> tuple[list[int], list[float]]:
    """Return the sides of the output, and their scales; the file has channels before them."""
    rank, inner = len(x.shape), x.shape[1:-1]
    if call.has(3) and call.constant(3).data.size:
        sides = call.numbers(3)[2:]
        if len(sides) != rank - 2:
            raise ModelError(
                f"it has {len(sides) + 2} sizes; it must have one for each of {rank} axes"
            )
        return sides, [float(np.float32(a) / np.float32(b)) for a, b in zip(sides, inner)]
    scales = call.constant(2, "float32").data if call.has(2) else np.empty(0, np.float32)
    if scales.size != rank or not (np.isfinite(scales).all() and (abs(scales) < 2**16).all()):
        raise ModelError(
            f"it has {scales.size} scales; it must have a finite one for each of {rank} axes"
        )
    sides = [int(np.float32(side) * scale) for side, scale in zip(inner, scales[2:])]
    return sides, scales[2:].tolist()


def softmax(call: EspCall, kind: str) -> None:
    """Convert Softmax and LogSoftmax of integers to floats."""
    call.expect(1)
    x = call.operand(0)
    axis = call.axis(call.integer("axis", -1), len(x.shape))
    output = call.result(x.shape, 0, "float32")
    params = {"outer": math.prod(x.shape[:axis]), "size": x.shape[axis]}
    params.update(inner=math.prod(x.shape[axis + 1 :]), input_exponent=x.exponent)
    call.put(f"esp_dl_{kind}_{SUFFIXES[x.dtype]}_f32", params, [x], output)


POOLING: dict[str, Converter] = {
    "MaxPool": max_pool,
    "AveragePool": average_pool,
    "GlobalAveragePool": global_average_pool,
    **{operator: partial(reduce, kind=kind) for operator, kind in _REDUCTIONS.items()},
    "Resize": resize,
    "Softmax": partial(softmax, kind="softmax"),
    "LogSoftmax": partial(softmax, kind="log_softmax"),
}
