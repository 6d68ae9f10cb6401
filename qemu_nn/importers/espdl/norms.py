"""Normalizations, and updates of slices."""

from __future__ import annotations

import math

import numpy as np

from ...errors import ModelError
from ...functions.esp_dl_norms import UPDATES
from ...functions.tflm_float import bits
from ..arguments import SUFFIXES
from .call import Converter, EspCall
from .model import EspConstant, EspValue


def normalize_layer(call: EspCall) -> None:
    """Convert LayerNormalization with constant scale and bias."""
    call.expect(1, 3)
    x = call.operand(0)
    params, size = _find_rows(call, x)
    output = call.result(x.shape, 0, x.dtype)
    ones = EspConstant("", x.dtype, (size,), (0,), "", np.ones(size, x.dtype))
    scale = _read_row(call, 1, size, x.dtype) if call.has(1) else ones
    bias = _read_row(call, 2, size, x.dtype) if call.has(2) else None
    params.update(input_exponent=x.exponent, scale_exponent=scale.exponent)
    params.update(bias_exponent=bias.exponent if bias else 0, output_exponent=output.exponent)
    name = f"esp_dl_layer_norm_{SUFFIXES[x.dtype]}"
    call.put(name, params, [x], output, scale.data, bias.data if bias else np.zeros_like(ones.data))


def normalize_rms(call: EspCall) -> None:
    """Convert RMSNormalization, whose scale is constant floats."""
    call.expect(2)
    x = call.operand(0)
    params, size = _find_rows(call, x)
    output = call.result(x.shape, 0, x.dtype)
    scale = _read_row(call, 1, size, "float32")
    if not np.isfinite(scale.data).all():
        raise ModelError(f"its scale {scale} must be finite")
    params.update(input_exponent=x.exponent, output_exponent=output.exponent)
    call.put(f"esp_dl_rms_norm_{SUFFIXES[x.dtype]}", params, [x], output, scale.data)


def _find_rows(call: EspCall, x: EspValue) -> tuple[dict[str, int], int]:
    """Return rows, elements of a row and epsilon as arguments, and the elements."""
    axis = call.axis(call.integer("axis", -1), len(x.shape))
    size = math.prod(x.shape[axis:])
    epsilon = bits(call.number("epsilon", 1e-5))
    return {"outer": x.size // size, "size": size, "epsilon_bits": epsilon}, size


def _read_row(call: EspCall, index: int, size: int, dtype: str) -> EspConstant:
    found = call.constant(index, dtype)
    if found.data.size != size:
        raise ModelError(f"its input {index}, {found}, must have {size} elements")
    return found


def normalize_lp(call: EspCall) -> None:
    """Convert LpNormalization along an axis."""
    call.expect(1)
    x, p = call.operand(0), call.integer("p", 2)
    if p not in (1, 2):
        raise ModelError(f"its p is {p}; it must be 1 or 2")
    axis = call.axis(call.integer("axis", -1), len(x.shape))
    output = call.result(x.shape, 0, x.dtype)
    params = {"outer": math.prod(x.shape[:axis]), "size": x.shape[axis], "p": p}
    params.update(inner=math.prod(x.shape[axis + 1 :]), output_exponent=output.exponent)
    call.put(f"esp_dl_lp_norm_{SUFFIXES[x.dtype]}", params, [x], output)


def scatter(call: EspCall) -> None:
    """Convert ScatterND with constant indices. The device does not look at exponents."""
    call.expect(3)
    x, updates = call.operand(0), call.operand(2)
    places = call.constant(1, "int64")
    depth = places.shape[-1] if places.shape else 0
    slices, slice_ = math.prod(places.shape[:-1]), math.prod(x.shape[depth:])
    if not 0 < depth <= len(x.shape) or not slices or updates.size != slices * slice_:
        raise ModelError(
            f"its data, indices and updates are {x}, {places} and {updates}; indices must have "
            "one number for each leading axis of the data, and updates a slice for each index"
        )
    if updates.dtype != x.dtype:
        raise ModelError(f"its updates {updates} must have the type of its data, {x}")
    rows = places.data.reshape(slices, depth)
    if (rows < 0).any() or (rows >= np.array(x.shape[:depth])).any():
        raise ModelError("an index is outside of its data; indices must be from 0 on")
    steps = [math.prod(x.shape[at + 1 :]) for at in range(depth)]
    kind = call.text("reduction", "none")
    if kind not in UPDATES:
        raise ModelError(f"its reduction is {kind!r}; have: {', '.join(UPDATES)}")
    _put_scatter(call, x, updates, rows @ np.array(steps), slice_, UPDATES[kind])


def reverse(call: EspCall) -> None:
    """Convert ReverseSequence of constant lengths along the first two axes."""
    call.expect(2)
    x, lengths = call.operand(0), call.numbers(1)
    time, batch = call.integer("time_axis", 0), call.integer("batch_axis", 1)
    if sorted((time, batch)) != [0, 1] or len(x.shape) < 2:
        raise ModelError(
            f"its time axis is {time} and its batch axis {batch} of {x}; the device swaps right "
            "elements only if these are the first two axes"
        )
    if len(lengths) != x.shape[batch] or any(not 0 <= n <= x.shape[time] for n in lengths):
        raise ModelError(f"its lengths are {lengths[:9]}; they must be one for each batch of {x}")
    slice_ = math.prod(x.shape[2:])
    offsets = np.arange(x.size // slice_).reshape(x.shape[:2])
    turned = offsets if time else offsets.T
    for row, length in zip(turned, lengths):
        row[:length] = row[:length][::-1].copy()
    _put_scatter(call, x, x, slice_ * offsets.ravel(), slice_, UPDATES["none"])


def _put_scatter(
    call: EspCall, x: EspValue, updates: EspValue, offsets: np.ndarray, slice_: int, kind: int
) -> None:
    output = call.result(x.shape, 0, x.dtype)
    params = {"block_size": x.size, "slices": offsets.size, "slice": slice_, "kind": kind}
    function = f"esp_dl_scatter_{SUFFIXES[x.dtype]}"
    call.put(function, params, [x, updates], output, offsets.astype(np.int32))


NORMS: dict[str, Converter] = {
    "LayerNormalization": normalize_layer,
    "RMSNormalization": normalize_rms,
    "LpNormalization": normalize_lp,
    "ScatterND": scatter,
    "ReverseSequence": reverse,
}
