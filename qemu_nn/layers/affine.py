"""The s8 and s16 API with weights: images NHWC, a multiplier and a shift for each output channel.

Arm passes most of these arguments in structs; here they are keywords of the same names.
"""

from .base import Array, Function, stack, vector

_IMAGE: tuple[str, ...] = ("batches", "input_h", "input_w", "input_c", "filter_h", "filter_w")
_SIDES: tuple[str, ...] = ("output_h", "output_w")
_WINDOW: tuple[str, ...] = ("stride_h", "stride_w", "pad_h", "pad_w", "dilation_h", "dilation_w")
_OFFSETS: tuple[str, ...] = ("input_offset", "output_offset", "act_min", "act_max")

_FREE = "Padding below and to the right is what output_h and output_w imply."


def _rows(extent: object, dtype: str = "int32") -> tuple[Array, ...]:
    """Bias, which C may be without, multiplier and shift of every output channel."""
    return (
        Array("bias", dtype, (extent,), optional=True),  # type: ignore[arg-type]
        vector("multiplier", "int32", extent),  # type: ignore[arg-type]
        vector("shift", "int32", extent),  # type: ignore[arg-type]
    )


def _convolve(name: str, op: str) -> Function:
    rows = _rows("output_c")
    return Function(
        name=name,
        op=op,
        type="s8",
        params=(*_IMAGE, "filter_c", *_SIDES, "output_c", *_WINDOW, *_OFFSETS),
        inputs=(Array("input", "int8", ("batches", "input_h", "input_w", "input_c")),),
        weights=Array("filter", "int8", ("output_c", "filter_h", "filter_w", "filter_c")),
        bias=stack("int32", *rows),
        stack=rows,
        output=Array("output", "int8", ("batches", "output_h", "output_w", "output_c")),
        fixed={"bias_is_int32": 1},
        macs=("batches", "output_h", "output_w", "output_c", "filter_h", "filter_w", "filter_c"),
        note=_FREE,
    )


def _depthwise(name: str, op: str) -> Function:
    channels = ("input_c", "ch_mult")
    rows = _rows(channels)
    return Function(
        name=name,
        op=op,
        type="s8",
        params=(*_IMAGE, "ch_mult", *_SIDES, *_WINDOW, *_OFFSETS),
        inputs=(Array("input", "int8", ("batches", "input_h", "input_w", "input_c")),),
        weights=Array("filter", "int8", (1, "filter_h", "filter_w", channels)),
        bias=stack("int32", *rows),
        stack=rows,
        output=Array("output", "int8", ("batches", "output_h", "output_w", channels)),
        macs=("batches", "output_h", "output_w", channels, "filter_h", "filter_w"),
        note=_FREE + " Output channel input_c * ch_mult + k.",
    )


FUNCTIONS = (
    _convolve("arm_convolve_wrapper_s8", "convolve_wrapper"),
    _depthwise("arm_depthwise_conv_wrapper_s8", "depthwise_conv_wrapper"),
)
