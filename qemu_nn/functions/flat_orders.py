"""C signatures of s8 functions without structs, of November 2019 to September 2020."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Optional

from ..releases import place_of
from .c_signature import Order
from .shapes import Extent

#: The last states with flat arguments: of convolutions, and of the other functions.
_CONVOLUTIONS, _OTHERS = "8a4db53f", "f7e96efd"

_ROW = dict.fromkeys(("input_h", "filter_h", "output_h", "stride_h", "dilation_h"), "1")
_CHANNELS: Mapping[str, Extent] = {"output_c": ("input_c", "ch_mult")}

_IMAGE = "input input_w input_h input_c"
_QUANTIZED = "bias output shift multiplier"
_INPUT_LAST = "output_offset input_offset act_min act_max"
_WINDOW = "filter_w filter_h pad_w pad_h stride_w stride_h"
_DEPTHWISE = f"{_QUANTIZED} output_w output_h {_INPUT_LAST} dilation_w dilation_h bufferA"
_POOL = "input_h input_w output_h output_w stride_h stride_w filter_h filter_w pad_h pad_w"

#: Names of sides, which C has as uint16_t in most functions.
_SIDES = tuple(
    f"{name}_{axis}"
    for name in ("input", "output", "filter", "pad", "stride", "dilation")
    for axis in "hwc"
)


def _order(
    names: str,
    implied: Mapping[str, str] = {},
    derived: Mapping[str, Extent] = {},
    side: str = "const uint16_t",
    writes_inputs: bool = False,
    **types: str,
) -> Order:
    """Return an order; side: the C type of sides."""
    sides = dict.fromkeys((*_SIDES, "batches", "channels", "ch_mult"), side)
    return Order(
        tuple(names.split()),
        types={**sides, **types},
        implied=implied,
        derived=derived,
        writes_inputs=writes_inputs,
    )


_DENSE_CONVOLUTION = {"filter_c": "input_c", "dilation_h": "1", "dilation_w": "1"}
_SAME = {"batches": "1", "ch_mult": "1"}

#: Function -> last state with this order, and the order.
_FLAT: Mapping[str, tuple[str, Order]] = {
    "arm_convolve_s8": (
        _CONVOLUTIONS,
        _order(
            f"{_IMAGE} batches filter output_c {_WINDOW} {_QUANTIZED} {_INPUT_LAST} "
            "output_w output_h bufferA",
            _DENSE_CONVOLUTION,
        ),
    ),
    "arm_convolve_1x1_s8_fast": (
        _CONVOLUTIONS,
        _order(
            f"{_IMAGE} batches filter output_c pad_w pad_h stride_w stride_h {_QUANTIZED} "
            f"{_INPUT_LAST} output_w output_h bufferA",
            {**_DENSE_CONVOLUTION, "filter_h": "1", "filter_w": "1"},
        ),
    ),
    "arm_convolve_1_x_n_s8": (
        _CONVOLUTIONS,
        _order(
            "input input_w input_c batches filter output_c filter_w pad_w stride_w "
            f"{_QUANTIZED} {_INPUT_LAST} output_w bufferA",
            {**_DENSE_CONVOLUTION, **_ROW, "pad_h": "0"},
        ),
    ),
    "arm_depthwise_conv_s8": (
        _OTHERS,
        _order(
            f"{_IMAGE} filter output_c ch_mult {_WINDOW} {_DEPTHWISE}",
            {"batches": "1"},
            _CHANNELS,
        ),
    ),
    "arm_depthwise_conv_s8_opt": (
        _OTHERS,
        _order(f"{_IMAGE} filter output_c {_WINDOW} {_DEPTHWISE}", _SAME, _CHANNELS),
    ),
    "arm_depthwise_conv_3x3_s8": (
        _OTHERS,
        _order(
            f"{_IMAGE} filter output_c pad_w pad_h stride_w stride_h {_DEPTHWISE}",
            {**_SAME, "filter_h": "3", "filter_w": "3"},
            _CHANNELS,
            side="const int32_t",
        ),
    ),
    "arm_fully_connected_s8": (
        _OTHERS,
        _order(
            "input filter input_c output_c batches input_offset filter_offset multiplier shift "
            "output_offset bias output act_min act_max vec_buffer"
        ),
    ),
    "arm_avgpool_s8": (
        _OTHERS,
        _order(
            f"{_POOL} act_min act_max channels input bufferA output",
            {"batches": "1"},
            side="const int",
            writes_inputs=True,
            act_min="const int",
            act_max="const int",
        ),
    ),
    "arm_max_pool_s8": (
        _OTHERS,
        _order(
            f"{_POOL} act_min act_max channels input bufferA output",
            {"batches": "1"},
            writes_inputs=True,
            act_min="const int8_t",
            act_max="const int8_t",
        ),
    ),
}


def find_flat_order(name: str, cmsis: str) -> Optional[Order]:
    """Return the order of a function in a state with flat arguments; None if it has structs."""
    last, order = _FLAT.get(name, (_CONVOLUTIONS, None))
    return order if place_of(cmsis) <= place_of(last) else None
