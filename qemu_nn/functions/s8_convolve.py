"""Convolutions of the s8 and s16 API: images NHWC, a multiplier and a shift for each channel.

Arm passes most of these arguments in structs; here they are keywords of the same names.
"""

from collections.abc import Mapping
from typing import Callable

from . import s8_buffers as affine_buffers
from .base import Function
from .extents import Array, Extent, Half, stack
from .s8_channels import rows

#: Which of Arm's functions is called, as csrc/qn_params_s.h counts them.
WRAPPER, ANY, POINT, POINT_FAST, ROW, OPT, SMALL, EVEN = range(8)

DTYPES = {"s8": "int8", "s4": "int8", "s16": "int16"}

IMAGE: tuple[str, ...] = ("batches", "input_h", "input_w", "input_c", "filter_h", "filter_w")
SIDES: tuple[str, ...] = ("output_h", "output_w")
WINDOW: tuple[str, ...] = ("stride_h", "stride_w", "pad_h", "pad_w", "dilation_h", "dilation_w")
OFFSETS: tuple[str, ...] = ("input_offset", "output_offset", "act_min", "act_max")

FREE = "Padding below and to the right is what output_h and output_w imply."

#: What a 16-bit function adds to its note, and one with weights of 4 bits.
NOTES = {
    "s8": "",
    "s16": " Both offsets are ignored.",
    "s4": " Weights are nibbles, two in a byte, the first in the low half.",
}

Buffer = Callable[[Mapping[str, int], str], int]


def filter_of(type: str, axes: tuple[Extent, ...]) -> Array:
    """The weights, packed if they have 4 bits."""
    if type == "s4":
        return Array("filter_packed_s4", "int8", (Half(axes),))
    return Array("filter", "int8", axes)


def _convolve(name: str, type: str, kernel: int, buffer: Buffer) -> Function:
    wide = type == "s16"
    flag = ("bias_is_int32",) if wide else ()
    channels = rows("output_c", "int64" if wide else "int32", *flag)
    more = " bias_is_int32: bias and sums have 32 bits." if wide else ""
    return Function(
        name=name,
        op="convolve_wrapper",
        type=type,
        params=(*IMAGE, "filter_c", *SIDES, "output_c", *WINDOW, *OFFSETS, *flag),
        inputs=(Array("input", DTYPES[type], ("batches", "input_h", "input_w", "input_c")),),
        weights=filter_of(type, ("output_c", "filter_h", "filter_w", "filter_c")),
        bias=stack("int64" if wide else "int32", *channels),
        stack=channels,
        output=Array("output", DTYPES[type], ("batches", "output_h", "output_w", "output_c")),
        fixed={"kernel": kernel, **({} if wide else {"bias_is_int32": 1})},
        buffer=buffer,
        macs=("batches", "output_h", "output_w", "output_c", "filter_h", "filter_w", "filter_c"),
        note=FREE + NOTES[type] + more,
    )


def _transpose(name: str, kernel: int, buffer: Buffer) -> Function:
    channels = rows("output_c")
    pads = ("pad_offset_h", "pad_offset_w")
    return Function(
        name=name,
        op="transpose_conv_wrapper",
        type="s8",
        params=(*IMAGE, *SIDES, "output_c", *WINDOW, *pads, *OFFSETS),
        inputs=(Array("input", "int8", ("batches", "input_h", "input_w", "input_c")),),
        weights=Array("filter", "int8", ("output_c", "filter_h", "filter_w", "input_c")),
        bias=stack("int32", *channels),
        stack=channels,
        output=Array("output", "int8", ("batches", "output_h", "output_w", "output_c")),
        fixed={"kernel": kernel},
        buffer=buffer,
        macs=("batches", "input_h", "input_w", "input_c", "filter_h", "filter_w", "output_c"),
        note="Nothing looks at pad_offset_h and pad_offset_w.",
    )


FUNCTIONS = (
    _convolve("arm_convolve_wrapper_s8", "s8", WRAPPER, affine_buffers.convolve_wrapper_s8),
    _convolve("arm_convolve_s8", "s8", ANY, affine_buffers.convolve_s8),
    _convolve("arm_convolve_1x1_s8", "s8", POINT, affine_buffers.nothing),
    _convolve("arm_convolve_1x1_s8_fast", "s8", POINT_FAST, affine_buffers.nothing),
    _convolve("arm_convolve_1_x_n_s8", "s8", ROW, affine_buffers.convolve_1xn_s8),
    _convolve("arm_convolve_wrapper_s16", "s16", WRAPPER, affine_buffers.convolve_s16),
    _convolve("arm_convolve_s16", "s16", ANY, affine_buffers.convolve_s16),
    _convolve("arm_convolve_wrapper_s4", "s4", WRAPPER, affine_buffers.convolve_wrapper_s4),
    _convolve("arm_convolve_s4", "s4", ANY, affine_buffers.convolve_s4),
    _convolve("arm_convolve_even_s4", "s4", EVEN, affine_buffers.convolve_even_s4),
    _convolve("arm_convolve_1x1_s4", "s4", POINT, affine_buffers.nothing),
    _convolve("arm_convolve_1x1_s4_fast", "s4", POINT_FAST, affine_buffers.nothing),
    _convolve("arm_convolve_1_x_n_s4", "s4", ROW, affine_buffers.convolve_1xn_s4),
    _transpose("arm_transpose_conv_wrapper_s8", WRAPPER, affine_buffers.transpose_conv_wrapper),
    _transpose("arm_transpose_conv_s8", ANY, affine_buffers.transpose_conv_rows),
)
