"""The micro frontend, where it differs from the Signal library, which was derived from it."""

from .base import Function
from .random_params import draw_only_length
from .shapes import vector


def _scale(what: str, output_dtype: str, size: object) -> Function:
    """Return a row of the Signal library that does not look at elements of -32768."""
    return Function(
        name=f"tflm_frontend_{what}_s16",
        op=f"signal_{what}",
        type="s16",
        params=("length",),
        inputs=(vector("input", "int16", "length"),),
        output=vector("output", output_dtype, size),  # type: ignore[arg-type]
        fixed={"skips_lowest": 1},
        draw=draw_only_length(),
        cases=({"length": 480},),
    )


FUNCTIONS = (
    _scale("auto_scale", "int16", "length"),
    _scale("scale_bits", "int32", 1),
    Function(
        name="tflm_frontend_features_s8",
        op="signal_features",
        type="s16_s8",
        params=("length",),
        inputs=(vector("input", "int16", "length"),),
        output=vector("output", "int8", "length"),
        draw=draw_only_length(),
        cases=({"length": 40},),
    ),
)
