"""Common parts of layers with weights, of 8 and of 16 bits: weights and epilogue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ....errors import ModelError
from ....functions.scaling import quantize_multiplier
from ....ir.formats import Format, activation_limits
from ...arguments import sides
from ..call import OnnxCall
from .building import Builder
from .site import Site
from .symbols import Fixed, Int

#: Most parts of a weight; those of 8 bits, less a zero point of 8 bits, have up to three.
_PARTS = 3

_SHIFTED = (
    "the zero points of these 16-bit layers are part of their 64-bit biases, as CMSIS-NN's "
    "functions of 16 bits have none"
)


@dataclass(frozen=True)
class Weights:
    """Weights less their zero points, int64, the output channels first; their scales and biases.

    scales: one for each output channel. bias: in steps of the products.
    """

    data: np.ndarray
    scales: np.ndarray
    bias: np.ndarray

    def last_step(
        self, site: Site, x: Format, form: Format, name: str, ends: tuple[float, float]
    ) -> tuple[dict[str, int], np.ndarray]:
        """Return offsets and limits; and bias, multiplier and shift of each output channel, as
        rows.
        """
        pairs = [quantize_multiplier(x.scale * float(s) / form.scale) for s in self.scales]
        limits = activation_limits(*ends, form)
        if x.dtype == "int8":
            params = {"input_offset": -x.zero_point, "output_offset": form.zero_point, **limits}
            return params, np.array([narrow(self.bias), *np.array(pairs).T], np.int32)
        params = {"input_offset": 0, "output_offset": 0, "bias_is_int32": 0, **limits}
        start = self.bias - x.zero_point * self.data.reshape(len(self.data), -1).sum(1)
        if x.zero_point or form.zero_point:
            site.builder.note(_SHIFTED, name)
        if form.zero_point:
            start = start + _before_scaling(form.zero_point, pairs)
        return params, np.array([start, *np.array(pairs).T], np.int64)


def narrow(bias: np.ndarray) -> np.ndarray:
    """Return a bias in the 32 bits that functions of 8 bits take."""
    integers: np.ndarray = np.clip(bias, -(2**31), 2**31 - 1).astype(np.int32)
    return integers


def _before_scaling(zero: int, pairs: list[tuple[int, int]]) -> np.ndarray:
    """Return what becomes a zero point when it is scaled, by 16 bits of a multiplier as CMSIS-NN
    does.
    """
    factors = [np.ldexp(min((m + 2**15) >> 16, 2**15 - 1), shift - 15) for m, shift in pairs]
    if not all(factors):
        raise ModelError(
            "the scale of its output is too large: every product rounds to zero; calibrate the "
            "file again"
        )
    return np.rint(zero / np.array(factors)).astype(np.int64)


def stays_float(weights: Any) -> bool:
    """True if a layer has weights that its functions of integers cannot take."""
    if isinstance(weights, Fixed):
        return weights.dtype == "int16"
    return isinstance(weights, np.ndarray)


def real_weights(call: OnnxCall) -> np.ndarray:
    """Return the weights of a layer as floats."""
    weights: Any = call.value(1)
    return weights.real.astype(np.float32) if isinstance(weights, Fixed) else call.floats(1)


def weights_of(call: OnnxCall, index: int, axis: int) -> Fixed:
    """Return the weights less their zero points, whose scales are along an axis or one for all."""
    given: Any = call.optional(index)
    if not isinstance(given, Fixed):
        raise ModelError("its weights must be quantized constants")
    weights = given
    if weights.zero.any():
        weights = replace(weights, data=weights.symmetric, zero=np.zeros(weights.zero.shape))
    if weights.scale.size > 1 and weights.axis % weights.data.ndim != axis:
        raise ModelError(
            "its weights have a scale for each element of another axis; it must be the axis of "
            "output channels"
        )
    _parts(weights.data)
    return weights


def made_of(site: Site, x: Int, held: Fixed, data: np.ndarray, given: Any) -> Weights:
    """Return the weights [out, ...] of a layer on x, with a bias as the file has it."""
    if held.scale.size not in (1, len(data)):
        raise ModelError(f"its weights have {held.scale.size} scales for {len(data)} channels")
    scales = np.broadcast_to(held.scale.astype(np.float64).reshape(-1), len(data))
    return Weights(data, scales, site.bias(given, x.format.scale * scales))


def _parts(data: np.ndarray) -> int:
    """Number of parts in which weights fit int8."""
    low, high = (int(data.min()), int(data.max())) if data.size else (0, 0)
    parts = max(-(-high // 127), -(low // 128), 1)
    if parts > _PARTS:
        raise ModelError("its weights have more than 8 bits; the device's layers take int8")
    return parts


def fitting(site: Site, x: Int, filters: np.ndarray) -> tuple[Int, np.ndarray]:
    """Return an input and filters of int8, whose sums are those of wider filters.

    Where filters do not fit int8, each is split into parts that do, and the last axis of the input
    stands there once for each part: their sums are exact.
    """
    count, own = _parts(filters), filters.shape[-1]
    whole = x
    for number in range(1, count):
        axis = whole.order[-1]
        shape = list(whole.shape)
        shape[axis] = x.shape[axis] * (number + 1)
        made = replace(x, name=f"{x.name}/repeated", shape=tuple(shape))
        params = {"outer": x.size // own, "inner1": own * number, "inner2": own}
        whole = site.builder.call(f"tflm_concatenation_{x.kind}", params, [whole, x], made)
    parts = [filters // count + (filters % count > number) for number in range(count)]
    return whole, np.concatenate(parts, -1).astype(np.int8)


def centred(builder: Builder, x: Int, filters: np.ndarray) -> tuple[Int, np.ndarray]:
    """Return an image and filters [out, h, w, in] whose sums need no zero point.

    Channels that hold the zero point stand after the image's own; their weights take away what it
    adds to each product.
    """
    least = -filters.sum(-1)
    count = max(-(-int(np.abs(least).max(initial=0)) // 127), 1)
    parts = [least // count + (least % count > number) for number in range(count)]
    whole = padded(builder, x, [0, 0], [0, 0], count)
    return whole, np.concatenate([filters, np.stack(parts, -1)], -1)


def bordered(builder: Builder, x: Int, places: Mapping[str, int]) -> tuple[Int, dict[str, int]]:
    """Return the image with what lies next to it as numbers, and windows that need nothing from
    there.
    """
    made, before, after = dict(places), [], []
    for axis in "hw":
        side, size, front = (places[f"{what}_{axis}"] for what in ("filter", "input", "pad"))
        reach = places.get(f"dilation_{axis}", 1) * (side - 1) + 1
        reach += (places[f"output_{axis}"] - 1) * places[f"stride_{axis}"]
        before.append(front)
        after.append(max(reach - size - front, 0))
        made[f"input_{axis}"], made[f"pad_{axis}"] = size + front + after[-1], 0
    return padded(builder, x, before, after), made


def padded(builder: Builder, x: Int, before: list[int], after: list[int], channels: int = 0) -> Int:
    """Return an image with zeros above and left, below and right of it, and channels of zeros."""
    if not any(before) and not any(after) and not channels:
        return x
    depth, *size = x.shape
    shape = (depth + channels, *(b + n + a for b, n, a in zip(before, size, after)))
    params = {"pad_value": x.format.zero_point, **sides("input", x.memory)}  # bits of 0.0 are 0
    params.update(sides("pre", (0, *before, 0)))
    params.update(sides("post", (0, *after, channels)))
    made = replace(x, name=f"{x.name}/padded", shape=shape)
    return builder.call(pad_function(x), params, [x], made)


def pad_function(x: Int) -> str:
    """Return the function that pads a tensor of its type."""
    return "arm_pad_s8" if x.kind == "s8" else f"tflm_pad_{x.kind}"
