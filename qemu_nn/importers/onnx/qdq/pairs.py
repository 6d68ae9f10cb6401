"""QuantizeLinear and DequantizeLinear: the formats that they name, and constants in these."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ....errors import ModelError
from ....ir.formats import Format
from ..call import OnnxCall
from ..tensors import type_name
from .building import ANY, Builder
from .symbols import Fixed, Int, Outside, Pending, Real, Value

QUANTIZE, DEQUANTIZE = ("QuantizeLinear", "DequantizeLinear")

#: A QuantizeLinear and the Clip after it: the bounds of the integers are inputs 3 and 4.
QUANTIZE_CLIP = "QuantizeLinear, Clip"

_FLOAT = 1


class Element(NamedTuple):
    """A type of integers in a file: the type that holds it here, what is added for that, and its
    least and largest number.
    """

    dtype: str
    shift: int
    low: int
    high: int


#: Types of activations and weights.
_ELEMENTS = {
    "int8": Element("int8", 0, -128, 127),
    "uint8": Element("int8", -128, 0, 255),
    "int16": Element("int16", 0, -(2**15), 2**15 - 1),
    "uint16": Element("int16", -(2**15), 0, 2**16 - 1),
    "int4": Element("int8", 0, -8, 7),
    "uint4": Element("int8", 0, 0, 15),
    "int2": Element("int8", 0, -2, 1),
    "uint2": Element("int8", 0, 0, 3),
}


def quantize(builder: Builder, call: OnnxCall) -> Value:
    """Return the integers of a QuantizeLinear: of a layer, an input of the file or a constant."""
    name = call.node.outputs[0]
    value: Any = call.value(0)
    if isinstance(value, Fixed) and not value.raw:
        value = value.real.astype(np.float32)
    element = _quantized_type(builder, call)
    axis = _axis(call)
    _expect(call, "precision", (0, _FLOAT))
    _expect(call, "saturate", (1,))
    scale, zero = _scales(builder, call)
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        bounds = _bounds(call, element)
        held = _fixed_floats(value, scale, zero, axis, _known(element), bounds)
        return replace(held, raw=element)
    form = _activation(element, scale, zero)
    kept = _kept(form, _known(element).shift, _bounds(call, element))
    if isinstance(value, Outside):  # the network begins with the integers
        made = builder.start(value, form, element)
    elif isinstance(value, Pending):
        return replace(builder.emitted(value, form, name, kept), element=element)
    elif isinstance(value, Real):
        made = builder.rescaled(value.integers, form, name)
    else:
        raise ModelError("its input is quantized already; it must be floats")
    return replace(builder.kept(made, kept, name), element=element)


def _kept(form: Format, shift: int, bounds: tuple[int, int]) -> tuple[float, float]:
    """Return the real values of bounds, infinite where the type has the same bound."""
    ends = []
    for bound, limit, end in zip(bounds, form.limits, ANY):
        code = bound + shift
        ends.append(end if code == limit else form.scale * (code - form.zero_point))
    return ends[0], ends[1]


def dequantize(builder: Builder, call: OnnxCall) -> Value:
    """Return the floats of a DequantizeLinear: of integers of a layer, an input or a constant."""
    axis = _axis(call)
    _expect(call, "output_dtype", (0, _FLOAT))
    scale, zero = _scales(builder, call)
    has_zero = call.has(2)
    value: Any = call.value(0)
    source = call.node.inputs[0]
    if isinstance(value, Outside):
        element = builder.declared(source)
        value = builder.start(value, _activation(element, scale, zero), element)
        builder.values[source] = value
    if isinstance(value, Int):
        element = builder.element(call.node.inputs[2]) if has_zero else value.element
        form = _activation(element, scale, zero)
        if form != value.format:
            raise ModelError(
                f"it reads {value.format} as {form}; scale and zero point must be equal"
            )
        return Real(value)
    if isinstance(value, Fixed) and value.raw:
        return _fixed(value.data, scale, zero + shift_of(value.raw), axis, value.dtype)
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "iu":
        raise ModelError("its input must be integers, constant or of a layer")
    shift = _ELEMENTS[value.dtype.name].shift if value.dtype.name in _ELEMENTS else 0
    data, zero = value.astype(np.int64) + shift, zero + shift
    return _fixed(data, scale, zero, axis, f"int{8 * value.dtype.itemsize}")


def shift_of(element: str) -> int:
    """Return what is added to integers of a type of the file."""
    return _known(element).shift


def _axis(call: OnnxCall) -> int:
    """Return the axis of scales; refuse scales of blocks."""
    if call.integer("block_size", 0):
        raise ModelError(
            "it has a scale for each block of an axis, which no function of CMSIS-NN has: "
            "quantize with a scale for each channel or each tensor"
        )
    return call.integer("axis", 1)


def _expect(call: OnnxCall, key: str, accepted: tuple[int, ...]) -> None:
    value = call.integer(key, accepted[0])
    if value not in accepted:
        raise ModelError(f"its {key} is {value}; only {accepted[-1]} and none are supported")


def _scales(builder: Builder, call: OnnxCall) -> tuple[np.ndarray, np.ndarray]:
    """Return scales and zero points, float32 and int64, as many of both."""
    if len(call.inputs) not in (2, 3, 5):
        raise ModelError(f"it has {len(call.inputs)} inputs")
    scale = call.value(1)
    zero = call.value(2) if call.has(2) else np.zeros(1, np.uint8)
    if not isinstance(scale, np.ndarray) or not isinstance(zero, np.ndarray):
        raise ModelError("its scale and zero point must be constants")
    if scale.dtype.kind != "f" or not np.isfinite(scale).all() or not (scale > 0).all():
        raise ModelError("its scale must be positive and finite")
    if zero.size not in (1, scale.size) or zero.dtype.kind not in "iu":
        raise ModelError("its zero point must be an integer for each scale")
    scale = scale.astype(np.float32).reshape(-1)
    return scale, np.broadcast_to(zero.astype(np.int64).reshape(-1), scale.shape)


def _quantized_type(builder: Builder, call: OnnxCall) -> str:
    """Return the type of what a QuantizeLinear makes: of its zero point, or as it says."""
    said = call.integer("output_dtype", 0)
    own = builder.element(call.node.inputs[2]) if call.has(2) else ""
    if said and own and type_name(said) != own:
        raise ModelError(f"its output_dtype is {type_name(said)}, but its zero point is {own}")
    return own or (type_name(said) if said else "uint8")


def _known(element: str) -> Element:
    if element not in _ELEMENTS:
        raise ModelError(
            f"activations of {element} are not supported; have: {', '.join(_ELEMENTS)}"
        )
    return _ELEMENTS[element]


def _activation(element: str, scale: np.ndarray, zero: np.ndarray) -> Format:
    """Return the format of activations, which have one scale."""
    known = _known(element)
    if scale.size != 1:
        raise ModelError("its activations have a scale for each channel; they must have one scale")
    return Format(known.dtype, float(scale[0]), int(zero[0]) + known.shift)


def _bounds(call: OnnxCall, element: str) -> tuple[int, int]:
    """Return the least and the largest integer: of the type, within those of a Clip."""
    known = _known(element)
    ends = [known.low, known.high]
    for place, index in enumerate((3, 4)):
        if call.has(index):
            given = call.array(index)
            if given.size != 1 or given.dtype.kind not in "iu":
                raise ModelError("the bounds of the Clip after it must be integer constants")
            ends[place] = int(given.reshape(()))
    low, high = max(known.low, ends[0]), min(known.high, ends[1])
    if low > high:
        raise ModelError(
            f"the Clip after it clamps to {ends[0]} .. {ends[1]}; this range must contain "
            "integers of the type"
        )
    return low, high


def _fixed_floats(
    values: np.ndarray,
    scale: np.ndarray,
    zero: np.ndarray,
    axis: int,
    element: Element,
    bounds: tuple[int, int],
) -> Fixed:
    """Return floats of the file as integers: rounded in float32, halves to even."""
    blank = _fixed(values, scale, zero, axis, element.dtype)
    steps = values.astype(np.float32) / blank.along(scale).astype(np.float32)
    codes = np.clip(np.rint(steps).astype(np.float64) + blank.along(zero), *bounds)
    data = codes.astype(np.int64) + element.shift
    return _fixed(data, scale, zero + element.shift, axis, element.dtype)


def _fixed(data: np.ndarray, scale: np.ndarray, zero: np.ndarray, axis: int, dtype: str) -> Fixed:
    """Return a constant; ModelError if it has another number of scales than its axis elements."""
    data = np.asarray(data)
    fits = scale.size == 1 or (-data.ndim <= axis < data.ndim and data.shape[axis] == scale.size)
    if not fits:
        raise ModelError(
            f"it has {scale.size} scales and a constant of {list(data.shape)}; there must be "
            "one, or one for each index of its axis"
        )
    return Fixed(data, scale, zero, axis, dtype)
