"""Pooling: the legacy functions on images HWC, and those of the s8 and s16 API."""

from .base import Function
from .extents import Array

_SQUARE: tuple[str, ...] = (
    "dim_im_in",
    "ch_im_in",
    "dim_kernel",
    "padding",
    "stride",
    "dim_im_out",
)
_NONSQUARE: tuple[str, ...] = (
    "dim_im_in_x",
    "dim_im_in_y",
    "ch_im_in",
    "dim_kernel_x",
    "dim_kernel_y",
)
_NONSQUARE += ("padding_x", "padding_y", "stride_x", "stride_y", "dim_im_out_x", "dim_im_out_y")
_NONSQUARE += ("out_lshift",)

_DESTROYS = "Cores with the DSP extension pool each row of Im_in in place first, and so destroy it."


def _square(name: str, op: str, scratch: int) -> Function:
    return Function(
        name=name,
        op=op,
        type="q7",
        params=_SQUARE,
        inputs=(Array("Im_in", "int8", ("dim_im_in", "dim_im_in", "ch_im_in")),),
        output=Array("Im_out", "int8", ("dim_im_out", "dim_im_out", "ch_im_in")),
        fixed={"out_lshift": 0},
        scratch=(scratch, "dim_im_out", "ch_im_in"),
        note=_DESTROYS,
    )


_WINDOWS: tuple[str, ...] = ("batches", "input_h", "input_w", "channels", "filter_h", "filter_w")
_WINDOWS += ("stride_h", "stride_w", "pad_h", "pad_w", "output_h", "output_w", "act_min", "act_max")


def _affine(name: str, op: str, type: str, scratch: int) -> Function:
    """scratch: bytes for each channel, as arm_avgpool_*_get_buffer_size has it on DSP cores."""
    dtype = {"s8": "int8", "s16": "int16"}[type]
    return Function(
        name=f"{name}_{type}",
        op=op,
        type=type,
        params=_WINDOWS,
        inputs=(Array("input", dtype, ("batches", "input_h", "input_w", "channels")),),
        output=Array("output", dtype, ("batches", "output_h", "output_w", "channels")),
        scratch=(scratch, "channels"),
        note="Arm passes these in structs. Padding never counts. From CMSIS 5.9.0 on.",
    )


FUNCTIONS = (
    _square("arm_maxpool_q7_HWC", "maxpool", 0),
    _square("arm_avepool_q7_HWC", "avepool", 2),
    Function(
        name="arm_avepool_q7_HWC_nonsquare",
        op="avepool_nonsquare",
        type="q7",
        params=_NONSQUARE,
        inputs=(Array("Im_in", "int8", ("dim_im_in_y", "dim_im_in_x", "ch_im_in")),),
        output=Array("Im_out", "int8", ("dim_im_out_y", "dim_im_out_x", "ch_im_in")),
        note="Not CMSIS: the keyword-spotting project's own. sum * 2^out_lshift / count, wrapping.",
    ),
    *(_affine("arm_max_pool", "max_pool", type, 0) for type in ("s8", "s16")),
    *(_affine("arm_avgpool", "avgpool", type, 4) for type in ("s8", "s16")),
)
