"""Common parts of the functions with weights of the s8 and s16 API."""

from collections.abc import Mapping
from random import Random
from typing import Callable

import numpy as np

from .base import Function
from .c_signature import Member, Order, Struct, order
from .layouts import unpack_nibbles
from .random_params import SIZES, Draw, Drawn, draw_activation, draw_output_offset, get_limits
from .shapes import Array, Extent, Half, get_extent, vector

#: C argument -> its values; further arguments are in SIZES.
_RANGES = {
    "batches": (1, 3),
    "bias_is_int32": (0, 1),
    "input_offset": (-127, 128),
    "filter_offset": (-127, 128),
    "multiplier": (2**30, 2**31 - 1),
    "shift": (-12, 1),
    "is_per_channel": (0, 1),
}

#: Members of C's structs.
RANGE: dict[str, Member] = {"activation.min": "act_min", "activation.max": "act_max"}
OFFSETS: dict[str, Member] = {"input_offset": "input_offset", "output_offset": "output_offset"}
_SCALES: dict[str, Member] = {"multiplier": "multiplier", "shift": "shift"}

PER_CHANNEL = Struct("cmsis_nn_per_channel_quant_params", _SCALES, "(int32_t *)")
PER_TENSOR = Struct("cmsis_nn_per_tensor_quant_params", _SCALES)

#: Sums of all rows of a matrix of weights.
SUMS: tuple[Extent, ...] = (
    *("input_c", "output_c", "filter"),
    *("input_offset", "filter_offset", "bias"),
)

_ARRAYS = "quant_params input_dims input filter_dims {weights} bias_dims {bias} output_dims output"


def rows(extent: Extent, dtype: str = "int32", narrow: str = "") -> tuple[Array, ...]:
    """Return bias of this type, which is optional in C, and multiplier and shift of every output
    channel.
    """
    return (
        Array("bias", dtype, (extent,), optional=True, narrow=narrow),
        vector("multiplier", "int32", extent),
        vector("shift", "int32", extent),
    )


def make_filter(type: str, axes: tuple[Extent, ...]) -> Array:
    """Return the weights, packed if they have 4 bits."""
    if type == "s4":
        return Array("filter_packed_s4", "int8", (Half(axes),))
    return Array("filter", "int8", axes)


def unpack_weights(filter: Array, params: Mapping[str, int], weights: np.ndarray) -> np.ndarray:
    """Return the weights of a filter as float64, in the shape of its axes."""
    axes = filter.axes
    if isinstance(axes[0], Half):
        axes = axes[0].parts
        weights = unpack_nibbles(weights, get_extent(axes, params))
    shape = tuple(get_extent(axis, params) for axis in axes)
    return weights.astype(np.float64).reshape(shape)


def make_weighted_order(
    params: str,
    structs: Mapping[str, Struct],
    filter: Array,
    bias: str = "bias",
    more: str = "",
    **own: object,
) -> Order:
    """Return the order; params: the argument with offsets and windows; more: arguments before
    `ctx`.
    """
    arrays = _ARRAYS.format(weights=filter.name, bias=bias)
    return order(f"ctx {more} {params} {arrays}", structs, **own)


def draw_weighted(own: Callable[[Random, Function], Drawn]) -> Draw:
    """Return offsets, scales and a range, and the results of `own`."""

    def draw(rng: Random, function: Function) -> Drawn:
        p = {
            name: rng.randint(*_RANGES[name]) if name in _RANGES else rng.choice(SIZES)
            for name in function.params
        }
        p.update(own(rng, function))
        if rng.randrange(2) and "filter_offset" in p:
            p["filter_offset"] = 0
        if "output_offset" in p:
            p["output_offset"] = draw_output_offset(rng, *get_limits(function.output.dtype))
        return {**p, **draw_activation(rng, function)}

    return draw
