"""Depthwise convolutions of the s8 and s16 API; output channel input_c * ch_mult + k."""

from . import s8_buffers as affine_buffers
from .base import Function
from .extents import Array, stack
from .s8_channels import rows
from .s8_convolve import (
    ANY,
    DTYPES,
    FREE,
    IMAGE,
    NOTES,
    OFFSETS,
    OPT,
    SIDES,
    SMALL,
    WINDOW,
    WRAPPER,
    Buffer,
    filter_of,
)


def _depthwise(name: str, type: str, kernel: int, buffer: Buffer) -> Function:
    channels = ("input_c", "ch_mult")
    bias = "int64" if type == "s16" else "int32"
    of_channels = rows(channels, bias)
    return Function(
        name=name,
        op="depthwise_conv_wrapper",
        type=type,
        params=(*IMAGE, "ch_mult", *SIDES, *WINDOW, *OFFSETS),
        inputs=(Array("input", DTYPES[type], ("batches", "input_h", "input_w", "input_c")),),
        weights=filter_of(type, (1, "filter_h", "filter_w", channels)),
        bias=stack(bias, *of_channels),
        stack=of_channels,
        output=Array("output", DTYPES[type], ("batches", "output_h", "output_w", channels)),
        fixed={"kernel": kernel},
        buffer=buffer,
        macs=("batches", "output_h", "output_w", channels, "filter_h", "filter_w"),
        note=FREE + NOTES[type] + " Output channel input_c * ch_mult + k.",
    )


FUNCTIONS = (
    _depthwise("arm_depthwise_conv_wrapper_s8", "s8", WRAPPER, affine_buffers.depthwise_wrapper_s8),
    _depthwise("arm_depthwise_conv_s8", "s8", ANY, affine_buffers.nothing),
    _depthwise("arm_depthwise_conv_s8_opt", "s8", OPT, affine_buffers.depthwise_s8_opt),
    _depthwise("arm_depthwise_conv_3x3_s8", "s8", SMALL, affine_buffers.nothing),
    _depthwise(
        "arm_depthwise_conv_wrapper_s16", "s16", WRAPPER, affine_buffers.depthwise_wrapper_s16
    ),
    _depthwise("arm_depthwise_conv_s16", "s16", ANY, affine_buffers.nothing),
    _depthwise("arm_depthwise_conv_fast_s16", "s16", OPT, affine_buffers.depthwise_fast_s16),
    _depthwise("arm_depthwise_conv_wrapper_s4", "s4", WRAPPER, affine_buffers.depthwise_wrapper_s4),
    _depthwise("arm_depthwise_conv_s4", "s4", ANY, affine_buffers.nothing),
    _depthwise("arm_depthwise_conv_s4_opt", "s4", OPT, affine_buffers.depthwise_s4_opt),
)
