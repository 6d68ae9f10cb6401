"""Functions of one tensor's numbers, element by element or row by row."""

from __future__ import annotations

from ...errors import ModelError
from ...formats import softmax_scaling, softmax_scaling_s16
from ...layers.softmax_tables import exp_lut, one_by_one_lut
from .building import Value
from .call import SUFFIXES, Call, Converter

#: What softmax makes of a type -> scale and zero point of the result, as the kernels have them.
_SOFTMAX = {
    "s8": (2.0**-8, -128),
    "u8": (2.0**-8, 0),
    "s8_s16": (2.0**-16, -32768),
    "s16": (2.0**-15, 0),
}


def _elementwise(call: Call) -> tuple[Value, Value]:
    call.counts(1, 1)
    x, output = call.value(), call.output()
    if x.size != output.size:
        raise ModelError(f"it can not make {list(output.shape)} of {list(x.shape)}")
    return x, output


def softmax(call: Call) -> None:
    """SOFTMAX of the last axis."""
    x, output = _elementwise(call)
    beta = call.options("SoftmaxOptions").number("Beta")
    kinds = dict.fromkeys(SUFFIXES[value.dtype] for value in (x, output))
    kind = "_".join(kinds)
    if kind not in _SOFTMAX:
        raise ModelError(f"it can not make {output.dtype} of {x.dtype}")
    if (output.scale, output.zero) != _SOFTMAX[kind]:
        scale, zero = _SOFTMAX[kind]
        raise ModelError(
            f"its output has the scale {output.scale:g} and the zero point {output.zero}; softmax "
            f"makes {scale:g} and {zero}"
        )
    if not beta > 0:
        raise ModelError(f"its beta is {beta}")
    rows = {"num_rows": x.size // x.shape[-1], "row_size": x.shape[-1]}
    if kind == "s16":
        mult, shift = softmax_scaling_s16(beta, x.scale)
        tables = exp_lut(), one_by_one_lut()
        call.put("arm_softmax_s16", {**rows, "mult": mult, "shift": shift}, [x], output, *tables)
        return
    mult, shift, least = softmax_scaling(beta, x.scale)
    params = {**rows, "mult": mult, "shift": shift, "diff_min": least}
    call.put(f"arm_softmax_{kind}", params, [x], output)


def dequantize(call: Call) -> None:
    """DEQUANTIZE, where it does not end the network."""
    raise ModelError(
        "it makes real numbers inside of the network; networks of integers are read, which may end "
        "with DEQUANTIZE"
    )


ACTIVATIONS: dict[str, Converter] = {"SOFTMAX": softmax, "DEQUANTIZE": dequantize}
