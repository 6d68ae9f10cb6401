"""Lowering of operators without an integer function to float32 between dequantize and quantize."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import ModelError
from ..functions.tflm_float import bits
from ..ir.formats import Format
from ..operators import ArgMax, Curve, Reduce, Relu, Resize, Shape, Softmax
from ..operators.curve import X, bent
from .s8_context import SUFFIXES, S8Site
from .s8_data_movement import name_sides
from .s8_reduce import group_axes, group_one_axis

#: Format of tensors of floats.
REAL = Format("float32", 1.0)

#: Functions of Curve -> functions of float32; the further ones are composed of these.
_ONE = {
    **{name: name for name in ("abs", "ceil", "cos", "exp", "floor", "log", "round", "sin")},
    **{"sqrt": "sqrt", "sigmoid": "logistic", "tanh": "tanh"},
}
_TWO = {
    **{"add": "add", "subtract": "sub", "multiply": "mul", "divide": "div"},
    **{"maximum": "maximum", "minimum": "minimum"},
}

#: The least divisor of x / |x|.
_TINY = 1e-30

#: Abramowitz and Stegun, 7.1.26: the error function within 1.5e-7.
_ERF_STEP, _ERF = 0.3275911, (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)


def _compose(name: str) -> Curve:
    """Return a function of Curve in functions that float32 has."""
    if name == "expm1":
        return X.of("exp") - 1.0
    if name == "softplus":
        return ((X.of("abs") * -1.0).of("exp") + 1.0).of("log") + X.maximum(0.0)
    if name == "sign":
        return X / X.of("abs").maximum(_TINY)
    if name == "erf":
        size = X.of("abs")
        share = 1.0 / (size * _ERF_STEP + 1.0)
        total = share * _ERF[0]
        for factor in _ERF[1:]:
            total = (total + factor) * share
        return (1.0 - total * (size * size * -1.0).of("exp")) * (X / size.maximum(_TINY))
    raise ModelError(f"its function {name!r} has no form in float32")


@dataclass
class _Floats:
    """Calls of float32 for one operator, on tensors of one shape."""

    site: S8Site
    shape: Shape
    count: int = 0
    numbers: dict[float, str] = field(default_factory=dict)

    def call(
        self, function: str, params: Mapping[str, int], *sources: str, shape: Shape = ()
    ) -> str:
        """Append a call and return its tensor of floats."""
        self.count += 1
        shape, part = shape or self.shape, f"float{self.count}"
        return self.site.call(
            function, params, part=part, shape=shape, sources=sources, output_format=REAL
        )

    def read(self, index: int = 0) -> str:
        """Append the conversion of an input to floats."""
        form, shape = self.site.formats[index], self.site.shapes[index]
        params = {"length": math.prod(shape), "zero_point": form.zero_point}
        params["scale_bits"] = bits(form.scale)
        function = f"tflm_dequantize_{SUFFIXES[form.dtype]}_f32"
        return self.call(function, params, self.site.sources[index], shape=shape)

    def write(self, source: str) -> None:
        """Append the conversion to the integers of the output."""
        form = self.site.output
        params = {"length": math.prod(self.site.shapes[-1]), "zero_point": form.zero_point}
        params["scale_bits"] = bits(form.scale)
        function = f"tflm_quantize_f32_{SUFFIXES[form.dtype]}"
        self.site.call(function, params, sources=(source,))

    def number(self, value: float) -> str:
        """Return a number as a tensor of the whole shape."""
        if value not in self.numbers:
            self.count += 1
            one = self.site.call(
                "tflm_constant_f32",
                {"length": 1},
                np.array([value], np.float32),
                part=f"number{self.count}",
                shape=(1,),
                sources=(),
                output_format=REAL,
            )
            sides = (1, 1, 1, math.prod(self.shape))
            params = {**name_sides("input", (1, 1, 1, 1)), **name_sides("output", sides)}
            self.numbers[value] = self.call("tflm_broadcast_f32", params, one)
        return self.numbers[value]

    def apply(self, curve: Curve, source: str) -> str:
        """Append the steps of a function and return its result."""
        length = {"length": math.prod(self.shape)}
        values = [source]
        for name, pair in zip(curve.steps, curve.operands):
            first = values[pair[0]] if pair[0] >= 0 else None
            if name in _ONE and first is not None:
                values.append(self.call(f"tflm_{_ONE[name]}_f32", length, first))
            elif name in _TWO:
                both = [
                    values[at] if at >= 0 else self.number(float(curve.constants[-1 - at]))
                    for at in pair
                ]
                params = (
                    length if _TWO[name] in ("maximum", "minimum") else {**length, "activation": 0}
                )
                values.append(self.call(f"tflm_{_TWO[name]}_f32", params, *both))
            elif name == "power" and first is not None and pair[1] < 0:
                exponent = float(curve.constants[-1 - pair[1]])
                values.append(self.apply((X.of("log") * exponent).of("exp"), first))
            elif first is not None and name != "power":
                values.append(self.apply(_compose(name), first))
            else:
                raise ModelError("its function has a power that float32 does not represent")
        return values[-1]


def _curve(site: S8Site, operator: Curve) -> None:
    floats = _Floats(site, site.shapes[0])
    floats.write(floats.apply(operator, floats.read()))


def _relu(site: S8Site, operator: Relu) -> None:
    _curve(site, bent(operator.slope, math.inf if operator.limit is None else operator.limit))


def _resize(site: S8Site, operator: Resize) -> None:
    height, width, channels = site.image()
    params = {"batches": 1, "input_h": height, "input_w": width, "channels": channels}
    params.update(output_h=operator.size[0], output_w=operator.size[1])
    params.update(align_corners=int(operator.align_corners))
    params.update(half_pixel_centers=int(operator.half_pixel))
    floats = _Floats(site, site.shapes[-1])
    floats.write(floats.call(f"tflm_resize_{operator.kind}_f32", params, floats.read()))


def _reduce(site: S8Site, operator: Reduce) -> None:
    floats = _Floats(site, site.shapes[-1])
    kind = operator.kind if operator.kind in ("mean", "sum") else f"reduce_{operator.kind}"
    params = group_axes(site, operator.axes)
    floats.write(floats.call(f"tflm_{kind}_f32", params, floats.read()))


def _arg_max(site: S8Site, operator: ArgMax) -> None:
    floats = _Floats(site, site.shapes[0])
    kind = "min" if operator.least else "max"
    params = group_one_axis(site.shapes[0], operator.axis)
    site.call(f"tflm_arg_{kind}_f32", params, sources=(floats.read(),))


def _log_softmax(site: S8Site, operator: Softmax) -> None:
    shape = site.shapes[0]
    row = shape[operator.axis]
    floats = _Floats(site, shape)
    params = {"num_rows": math.prod(shape) // row, "row_size": row}
    floats.write(floats.call("tflm_log_softmax_f32", params, floats.read()))


#: Operator -> function that appends its calls in float32.
FLOAT_MAKERS: Mapping[type, Callable[[S8Site, Any], None]] = {
    ArgMax: _arg_max,
    Curve: _curve,
    Reduce: _reduce,
    Relu: _relu,
    Resize: _resize,
    Softmax: _log_softmax,
}
