"""What moves numbers and does not compute."""

from __future__ import annotations

from ...errors import ModelError
from .call import Call, Converter, same_format


def reshape(call: Call) -> None:
    """RESHAPE, SQUEEZE, EXPAND_DIMS: the same numbers in another shape, which need no call."""
    call.counts(1, 2)
    x, output = call.value(), call.output()
    same_format(x, output)
    if x.size != output.size:
        raise ModelError(f"it can not make {list(output.shape)} of {list(x.shape)}")
    call.builder.alias(call.operator.outputs[0], output, x)


SHAPING: dict[str, Converter] = dict.fromkeys(("RESHAPE", "SQUEEZE", "EXPAND_DIMS"), reshape)
