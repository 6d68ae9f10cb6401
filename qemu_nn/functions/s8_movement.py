"""What moves elements and computes nothing: reshaping, concatenation, padding, transposition."""

from .base import Function
from .extents import Array, Extent, Total, vector
from .s8_elementwise import DTYPES

_INPUT: tuple[str, ...] = ("input_n", "input_h", "input_w", "input_c")
_OUTPUT: tuple[str, ...] = ("output_n", "output_h", "output_w", "output_c")
_PRE: tuple[str, ...] = ("pre_n", "pre_h", "pre_w", "pre_c")
_POST: tuple[str, ...] = ("post_n", "post_h", "post_w", "post_c")
_PERM: tuple[str, ...] = ("perm_0", "perm_1", "perm_2", "perm_3")

#: Axes of a concatenation, the outermost first; their numbers count from the innermost.
_AXES = "wzyx"


def _concatenation(axis: str) -> Function:
    """Places of one axis of the output, which keeps all others."""
    sides: tuple[Extent, ...] = tuple(f"input_{a}" for a in _AXES)
    whole = tuple(f"output_{a}" if a == axis else f"input_{a}" for a in _AXES)
    return Function(
        name=f"arm_concatenation_s8_{axis}",
        op="concatenation",
        type="s8",
        params=(*(f"input_{a}" for a in "xyzw"), f"output_{axis}", "offset"),
        inputs=(Array("input", "int8", sides), Array("output", "int8", whole)),
        output=Array("output", "int8", whole),
        fields={f"output_{axis}": "output_side"},
        fixed={"axis": "xyzw".index(axis)},
        note=f"Places offset and following of axis {axis} of output become input; the rest stays.",
    )


def pad(name: str, type: str) -> Function:
    """An image with a border."""
    sides = tuple(Total(parts) for parts in zip(_PRE, _INPUT, _POST))
    return Function(
        name=name,
        op="pad",
        type=type,
        params=("pad_value", *_INPUT, *_PRE, *_POST),
        inputs=(Array("input", DTYPES[type], _INPUT),),
        output=Array("output", DTYPES[type], sides),
    )


def transpose(name: str, type: str) -> Function:
    """Axes in another order; those from num_dims on have one element."""
    return Function(
        name=name,
        op="transpose",
        type=type,
        params=("num_dims", *_INPUT, *_OUTPUT, *_PERM),
        inputs=(Array("input", DTYPES[type], _INPUT),),
        output=Array("output", DTYPES[type], _OUTPUT),
        note="Axis k of the output is axis perm_k of the input, for k below num_dims.",
    )


FUNCTIONS = (
    Function(
        name="arm_reshape_s8",
        op="reshape",
        type="s8",
        params=("total_size",),
        inputs=(vector("input", "int8", "total_size"),),
        output=vector("output", "int8", "total_size"),
    ),
    *(_concatenation(axis) for axis in "xyzw"),
    pad("arm_pad_s8", "s8"),
    transpose("arm_transpose_s8", "s8"),
)
