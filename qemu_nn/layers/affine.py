"""Fully connected layers of the s8 and s16 API.

Arm passes most of these arguments in structs; here they are keywords of the same names.
"""

from .affine_rows import rows as _rows
from .base import Array, Function, stack


def _fully_connected(name: str, op: str, per_channel: bool) -> Function:
    rows = _rows("output_c") if per_channel else ()
    own = ("input_offset", "filter_offset", "output_offset", "act_min", "act_max")
    one: tuple[str, ...] = () if per_channel else ("multiplier", "shift")
    return Function(
        name=name,
        op=op,
        type="s8",
        params=("batches", "input_c", "output_c", *own, *one),
        inputs=(Array("input", "int8", ("batches", "input_c")),),
        weights=Array("filter", "int8", ("output_c", "input_c")),
        bias=stack("int32", *rows) if rows else Array("bias", "int32", ("output_c",), True),
        stack=rows,
        output=Array("output", "int8", ("batches", "output_c")),
        fixed={"multiplier": 0, "shift": 0} if per_channel else {},
        macs=("batches", "output_c", "input_c"),
    )


FUNCTIONS = (
    _fully_connected("arm_fully_connected_s8", "fully_connected", False),
    _fully_connected("arm_fully_connected_per_channel_s8", "fully_connected_per_channel", True),
)
