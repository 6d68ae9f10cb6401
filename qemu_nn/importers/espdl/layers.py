"""Operators with weights: Conv, Gemm, MatMul."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...errors import ModelError
from ..arguments import SUFFIXES
from .call import Converter, EspCall
from .model import EspConstant, EspValue
from .weights import BLOCK, unpack_depthwise, unpack_filters

#: Type of elements -> type of the bias.
_BIAS = {"int8": "int32", "int16": "int64"}

#: Type of elements -> most bits by which sums of a channel are shifted to the right.
_SHIFTS = {"int8": 31, "int16": 62}


def convolve(call: EspCall) -> None:
    """Convert Conv of images or of rows, with one group or as many as channels."""
    call.expect(2, 3)
    x, filters = call.operand(0), call.constant(1)
    axes = len(x.shape) - 2
    if axes not in (1, 2) or len(filters.shape) != axes + 2:
        raise ModelError(f"its input is {x} and its filter {filters}; they must have 3 or 4 axes")
    check_type(filters, x)
    pads = call.integers("pads", 2 * axes, [0] * 2 * axes, 0)
    strides = call.integers("strides", axes, [1] * axes, 1)
    dilations = call.integers("dilations", axes, [1] * axes, 1)
    taps, ends = filters.shape[:axes], list(zip(pads[:axes], pads[axes:]))
    counts = [
        (side + sum(pad) - dilation * (tap - 1) - 1) // stride + 1
        for side, tap, pad, stride, dilation in zip(x.shape[1:], taps, ends, strides, dilations)
    ]
    group, depth = call.integer("group", 1), x.shape[-1]
    is_depthwise = group != 1
    out = filters.shape[axes] if is_depthwise else filters.shape[axes + 1]
    wanted = (depth, 1) if is_depthwise else (depth, out)
    if filters.shape[axes:] != wanted or group not in (1, depth):
        raise ModelError(
            f"its filter {filters} has {group} groups of an image of {depth} channels; ESP-DL has "
            "one group, or one of each channel with one filter"
        )
    output = call.result((x.shape[0], *counts, out), 0, x.dtype)
    missing = [1] * (2 - axes)
    params = {"batches": x.shape[0], "input_c": depth, "rectified": call.is_rectified()}
    for name, numbers in (
        ("input", x.shape[1:-1]),
        ("filter", taps),
        ("output", counts),
        ("stride", strides),
        ("dilation", dilations),
    ):
        params.update(zip((f"{name}_h", f"{name}_w"), [*missing, *numbers]))
    params.update(zip(("pad_h", "pad_w"), [*[0] * (2 - axes), *pads[:axes]]))
    if not is_depthwise:
        params["output_c"] = out
    flat = replace(filters, shape=(*missing, *filters.shape))
    unpack = unpack_depthwise if is_depthwise else unpack_filters
    kind = "depthwise_conv" if is_depthwise else "conv"
    weights = unpack(flat, call.builder.blocks)
    put_layer(call, kind, params, x, output, filters, weights)


def gemm(call: EspCall) -> None:
    """Convert Gemm: rows times constant weights."""
    call.expect(2, 3)
    if call.integer("transA", 0) not in (0, -1) or call.integer("transB", 0) not in (0, -1):
        raise ModelError(
            "its transA or transB is not 0; the device stops at this: transpose the constant"
        )
    filters = call.constant(1)
    if len(filters.shape) != 4 or filters.shape[:2] != (1, 1):
        raise ModelError(f"its weights are {filters}; they must be [1, 1, in, out]")
    multiply_rows(call, filters, call.is_rectified())


def multiply_rows(call: EspCall, filters: EspConstant, rectified: int) -> None:
    """Add the product of rows of the first input and weights [1, 1, in, out]."""
    x = call.operand(0)
    check_type(filters, x)
    depth, out = filters.shape[2:]
    if not x.shape or x.shape[-1] != depth:
        raise ModelError(f"its input is {x}; its last axis must be {depth}, as of its weights")
    output = call.result((*x.shape[:-1], out), 0, x.dtype)
    params = {"batches": x.size // depth, "input_c": depth, "output_c": out}
    params["rectified"] = rectified
    weights = unpack_filters(filters, call.builder.blocks).reshape(out, depth)
    put_layer(call, "dense", params, x, output, filters, weights)


def put_layer(
    call: EspCall,
    kind: str,
    params: dict[str, int],
    x: EspValue,
    output: EspValue,
    filters: EspConstant,
    weights: np.ndarray,
) -> None:
    """Add the call of a layer, with an exponent of all weights or one for each output channel."""
    out, suffix = output.shape[-1], SUFFIXES[x.dtype]
    bias = read_bias(call, x, out)
    if len(filters.exponents) == 1:
        params["right_shift"] = find_shift(output, x.exponent, filters.exponent)
        call.put(f"esp_dl_{kind}_{suffix}", params, [x], output, weights, bias)
        return
    if len(filters.exponents) != out:
        raise ModelError(
            f"its weights {filters} have {len(filters.exponents)} exponents; they must have one, "
            f"or one for each of {out} channels"
        )
    shifts = [find_shift(output, x.exponent, each) for each in filters.exponents]
    most = _SHIFTS[x.dtype]
    if not 0 <= min(shifts) <= max(shifts) <= most:
        raise ModelError(
            f"its sums are shifted by {min(shifts)} to {max(shifts)} bits; the shifts of channels "
            f"must be 0 to {most}"
        )
    both = np.stack([bias, np.array(shifts, bias.dtype)])
    call.put(f"esp_dl_{kind}_per_channel_{suffix}", params, [x], output, weights, both)


def matmul(call: EspCall) -> None:
    """Convert MatMul: rows times a matrix of constants, or matrices times matrices."""
    call.expect(2)
    if call.is_rectified():
        raise ModelError("its activation is Relu; a MatMul must have none")
    constant = call.builder.model.constants.get(call.node.inputs[1])
    if constant is not None and len(constant.shape) == 2:
        multiply_rows(call, replace(constant, shape=(1, 1, *constant.shape)), 0)
        return
    x, y = call.operand(0), call.operand(1)
    if len(x.shape) < 2 or len(y.shape) < 2 or x.shape[-1] != y.shape[-2]:
        raise ModelError(
            f"its inputs are {x} and {y}; the last axis of the first must equal the rows of the "
            "second"
        )
    lead = broadcast_shapes(x.shape[:-2], y.shape[:-2])
    rows, depth, out = x.shape[-2], x.shape[-1], y.shape[-1]
    output = call.result((*lead, rows, out), 0, x.dtype)
    params = {"matrices": math.prod(lead), "batches": rows, "input_c": depth, "output_c": out}
    params["right_shift"] = find_shift(output, x.exponent, y.exponent)
    right = _unpack_right(call, y)
    x = call.broadcast("left", x, (*lead, rows, depth))
    right = call.broadcast("right", right, (*lead, out, depth))
    call.put(f"esp_dl_matmul_{SUFFIXES[x.dtype]}", params, [x, right], output)


def _unpack_right(call: EspCall, y: EspValue) -> EspValue:
    """Return right operands [..., in, out] of a MatMul as [..., out, in].

    The exporter adds operators that bring a computed operand into the order of weights, so its
    elements are in blocks as those of constants are.
    """
    depth, out = y.shape[-2:]
    width, matrices = BLOCK[y.dtype], math.prod(y.shape[:-2])
    whole, shape = out // width * width, (*y.shape[:-2], out, depth)
    if call.builder.blocks is None and whole and depth > 1:
        raise ModelError(
            "the order of its right operand is unknown; name the chip that the model was "
            "exported for, such as load(path, target='esp32s3') or target='c'"
        )
    if not call.builder.blocks or not whole or depth == 1:
        return replace(y, shape=shape)
    flat = replace(y, shape=(matrices, out * depth))
    head = flat if whole == out else _take(call, "blocks", flat, 0, whole * depth)
    head = replace(head, shape=(matrices, out // width, depth, width))
    head = call.transpose("right_blocks", head, (0, 1, 3, 2))
    if whole == out:
        return replace(head, shape=shape)
    rest = _take(call, "rest", flat, whole * depth, (out - whole) * depth)
    params = {"outer": matrices, "inner1": whole * depth, "inner2": (out - whole) * depth}
    function = f"tflm_concatenation_{SUFFIXES[y.dtype]}"
    return call.part("right_order", function, params, [head, rest], replace(y, shape=shape))


def _take(call: EspCall, part: str, x: EspValue, begin: int, count: int) -> EspValue:
    """Return `count` elements of each row, from `begin` on."""
    counts = (x.shape[0], count)
    params = call.take(x.shape, (0, begin), (1, 1), counts)
    function = f"tflm_slice_{SUFFIXES[x.dtype]}"
    return call.part(part, function, params, [x], replace(x, shape=counts))


def broadcast_shapes(one: Sequence[int], two: Sequence[int]) -> tuple[int, ...]:
    """Return the shape that two shapes broadcast to."""
    rank = max(len(one), len(two))
    pairs = zip((1,) * (rank - len(one)) + tuple(one), (1,) * (rank - len(two)) + tuple(two))
    found = []
    for a, b in pairs:
        if a != b and 1 not in (a, b):
            raise ModelError(
                f"its inputs have the shapes {list(one)} and {list(two)}; they must broadcast "
                "to one"
            )
        found.append(max(a, b))
    return tuple(found)


def check_type(filters: EspConstant, x: EspValue) -> None:
    """Raise ModelError unless weights have the type of the input."""
    if filters.dtype != x.dtype or not filters.data.size:
        raise ModelError(f"its weights are {filters} and its input {x}; both must have one type")


def find_shift(output: EspValue, *exponents: int) -> int:
    """Return the exponent of an output less those of the factors."""
    return output.exponent - sum(exponents)


def read_bias(call: EspCall, x: EspValue, out: int) -> np.ndarray:
    """Return the bias, zeros without one. The device does not look at its exponent."""
    if not call.has(2):
        return np.zeros(out, _BIAS[x.dtype])
    bias = call.constant(2, _BIAS[x.dtype])
    if bias.data.size != out:
        raise ModelError(f"its bias is {bias}; it must have {out} elements")
    return bias.data


LAYERS: dict[str, Converter] = {"Conv": convolve, "Gemm": gemm, "MatMul": matmul}
