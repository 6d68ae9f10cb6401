"""Lowering of activations, softmax and element-wise operators to calls of the s8 and
s16 functions.
"""

from __future__ import annotations

import math

import numpy as np

from ..errors import Error, ModelError
from ..functions.s8_elementwise import LEFT_SHIFTS
from ..functions.scaling import (
    add_scaling,
    compute_rsqrt_factor,
    log_softmax_scaling,
    scale_leaky_relu,
    scale_logistic,
    scale_logistic_s16,
    scale_softmax,
    scale_softmax_s16,
    sub_scaling,
)
from ..functions.softmax_tables import make_exp_lut, make_one_by_one_lut
from ..functions.tflm_float import bits
from ..functions.tflm_tables import make_elu_table
from ..ir.formats import Format, affine_format, quantize_symmetric
from ..operators import (
    Affine,
    Clip,
    Curve,
    Elementwise,
    PRelu,
    Relu,
    Shape,
    Sigmoid,
    Softmax,
    Tanh,
)
from ..operators.curve import X, elu
from ..quantizer.affine_rules import Rescale
from .expand_s8 import INVERSE_ROOT
from .s8_context import SUFFIXES, S8Site
from .s8_data_movement import name_sides, pad_to_four_axes

_SUMS = {"add": ("arm_elementwise_add", add_scaling), "subtract": ("tflm_sub", sub_scaling)}
_CHOICES = ("maximum", "minimum")
_CURVES = {Sigmoid: "tflm_logistic", Tanh: "tflm_tanh"}

#: Functions of one number with an operator of TensorFlow Lite Micro.
_ABSOLUTE, _ELU = X.of("abs"), elu()

#: The least shift of the function of inverse roots.
_LEAST_ROOT_SHIFT = -11

#: Arguments of a pooling with one element in each window.
_PIXEL = ("batches", "filter_h", "filter_w", "stride_h", "stride_w", "input_h", "output_h")
_PIXEL_PADS = {"pad_h": 0, "pad_w": 0}


def rectify(site: S8Site, operator: Relu | Clip) -> None:
    """Append an activation that no call clamps: the maximum of one element, with a clamp."""
    if isinstance(operator, Relu) and operator.slope:
        _leaky(site, operator)
        return
    site.same_formats()
    shape = site.shapes[0]
    channels = shape[-1] if shape else 1
    pixels = math.prod(shape) // channels
    sides = {"input_w": pixels, "output_w": pixels, "channels": channels}
    params = {**dict.fromkeys(_PIXEL, 1), **_PIXEL_PADS, **sides, **site.clamp()}
    site.call(site.choose([(f"arm_max_pool_{site.suffix}", True)]), params)


def _leaky(site: S8Site, operator: Relu) -> None:
    if operator.limit is not None:
        raise ModelError(
            f"it has both a negative slope and the limit {operator.limit:g}; functions have "
            "one of them"
        )
    if operator.slope < 0:
        raise ModelError(f"its negative slope is {operator.slope:g}, which no function computes")
    source, output = site.formats
    params = {"input_zero_point": source.zero_point, "output_zero_point": output.zero_point}
    pairs = scale_leaky_relu(source.scale, output.scale, operator.slope)
    for name, pair in zip(("identity", "alpha"), map(site.check_multiplier, pairs)):
        params.update({f"{name}_multiplier": pair[0], f"{name}_shift": pair[1]})
    site.call(f"tflm_leaky_relu_{site.suffix}", {"length": math.prod(site.shapes[0]), **params})


def prelu(site: S8Site, operator: PRelu) -> None:
    """Append a PRELU of constant slopes of 8 bits, with one scale."""
    shape = site.shapes[0]
    given = operator.slope.shape
    slopes = operator.slope.reshape((*[1] * (len(shape) - len(given)), *given))
    first = next((axis for axis, side in enumerate(slopes.shape) if side > 1), len(shape))
    inner = shape[first:]
    whole = np.broadcast_to(slopes.reshape(slopes.shape[first:]), inner).ravel()
    scale = float(np.float32(max(float(np.abs(whole).max()) / 127, 2.0**-20)))
    source, output = site.formats
    pairs = [site.make_scaling(source.scale * own / output.scale) for own in (1.0, scale)]
    params = {"outer": math.prod(shape[:first]), "inner": whole.size, "alpha_zero_point": 0}
    params.update(input_zero_point=source.zero_point, output_zero_point=output.zero_point)
    for name, pair in zip(("identity", "alpha"), pairs):
        params.update({f"{name}_multiplier": pair[0], f"{name}_shift": pair[1]})
    codes = quantize_symmetric(whole, np.array(scale), 127).astype(np.int8)
    site.call(f"tflm_prelu_{site.suffix}", params, codes)


def table(site: S8Site, operator: Curve) -> None:
    """Append a function of TensorFlow Lite Micro, or a table of the results of all 256 integers."""
    source, output = site.formats
    length = {"length": math.prod(site.shapes[0])}
    if _ABSOLUTE.equals(operator):
        _scale_unary(site, "abs", float(np.float32(source.scale) / np.float32(output.scale)))
        return
    if site.wide and INVERSE_ROOT.equals(operator):
        _scale_unary(site, "rsqrt", compute_rsqrt_factor(source.scale, output.scale))
        return
    if site.wide:
        raise ModelError("its function has a table of 8 bits only; take bits=8")
    if _ELU.equals(operator):
        formats = (source.scale, source.zero_point, output.scale, output.zero_point)
        site.call("tflm_elu_s8", length, make_elu_table(*formats)[0])
        return
    codes = np.arange(-128, 128)
    results = operator.evaluate(source.dequantize(codes))
    known = ~np.isnan(results)
    if not known.any():
        raise ModelError("its function has no finite value for any of the input's integers")
    results = np.interp(codes, codes[known], np.clip(results[known], *output.ends))
    site.call("executorch_quantized_activation_s8", length, output.quantize(results))


def _scale_unary(site: S8Site, name: str, factor: float) -> None:
    source, output = site.formats
    multiplier, shift = site.make_scaling(factor)
    if name == "rsqrt" and shift < _LEAST_ROOT_SHIFT:
        raise ModelError(
            "its scales give a factor below 2^-12, at which the device stops; give its output "
            "a narrower range"
        )
    params = {"input_zero_point": source.zero_point, "output_zero_point": output.zero_point}
    params.update(length=math.prod(site.shapes[0]), multiplier=multiplier, shift=shift)
    site.call(f"tflm_{name}_{site.suffix}", params)


def add_constant(site: S8Site, operator: Affine) -> None:
    """Append a product with a constant tensor, or a sum; the operator has one of both."""
    scaled = bool((np.asarray(operator.scale) != 1).any())
    shape, (source, output) = site.shapes[0], site.formats
    values = np.broadcast_to(operator.scale if scaled else operator.offset, shape)
    form = affine_format(float(values.min()), float(values.max()), output.dtype)
    constant = site.call(
        f"tflm_constant_{site.suffix}",
        {"length": values.size},
        form.quantize(values).ravel(),
        part="constant",
        sources=(),
        output_format=form,
    )
    kind = "multiply" if scaled else "add"
    _combine(site, kind, (source, form), (site.sources[0], constant))


def rescale(site: S8Site, operator: Rescale) -> None:
    """Append a conversion to another format, perhaps of another type."""
    source, output = site.formats
    before = SUFFIXES[source.dtype]
    multiplier, shift = site.make_scaling(source.scale / output.scale)
    params = {"input_zero_point": source.zero_point, "output_zero_point": output.zero_point}
    params.update(length=math.prod(site.shapes[0]), multiplier=multiplier, shift=shift)
    site.call(f"tflm_requantize_{before}_{site.suffix}", params)


def curve(site: S8Site, operator: Sigmoid | Tanh) -> None:
    """Append a sigmoid or hyperbolic tangent."""
    source = site.formats[0]
    names = ("input_multiplier", "input_left_shift", "input_range_radius")
    numbers: tuple[int, ...]
    try:
        if site.wide:
            numbers = scale_logistic_s16(source.scale, isinstance(operator, Tanh))
        else:
            numbers = scale_logistic(source.scale)
    except Error as error:
        raise ModelError(str(error)) from None
    params = {"length": math.prod(site.shapes[0]), "input_zero_point": source.zero_point}
    params.update(zip(names, numbers))
    site.call(f"{_CURVES[type(operator)]}_{site.suffix}", params)


def softmax(site: S8Site, operator: Softmax) -> None:
    """Append the softmax, or its logarithm, along the last axis."""
    shape = site.shapes[0]
    row = shape[operator.axis]
    sides = {"num_rows": math.prod(shape) // row, "row_size": row}
    if operator.log:
        _log_softmax(site, sides)
        return
    if site.wide:
        mult, shift = scale_softmax_s16(1.0, site.formats[0].scale)
        tables = make_exp_lut(), make_one_by_one_lut()
        site.call("arm_softmax_s16", {**sides, "mult": mult, "shift": shift}, *tables)
        return
    try:
        mult, shift, diff_min = scale_softmax(1.0, site.formats[0].scale)
    except Error as error:
        raise ModelError(str(error)) from None
    site.call("arm_softmax_s8", {**sides, "mult": mult, "shift": shift, "diff_min": diff_min})


def _log_softmax(site: S8Site, sides: dict[str, int]) -> None:
    if site.wide:
        raise ModelError("the logarithm of a softmax has a function of 8 bits only; take bits=8")
    try:
        scales = log_softmax_scaling(site.formats[0].scale)
    except Error as error:
        raise ModelError(str(error)) from None
    site.call("tflm_log_softmax_s8", {**sides, **scales})


def elementwise(site: S8Site, operator: Elementwise) -> None:
    """Append a sum, product, quotient, maximum or minimum of two tensors."""
    if operator.kind in _CHOICES:
        _choose(site, operator)
        return
    sources = _broadcast_inputs(site)
    if operator.kind == "divide":
        _divide(site, sources)
        return
    _combine(site, operator.kind, site.formats[:2], sources)


def _divide(site: S8Site, sources: tuple[str, ...]) -> None:
    """Append a quotient by ExecuTorch's function, which gives 0 where TFLM's DIV stops."""
    first, second, output = site.formats
    zeros = ("zero_point_1", "zero_point_2", "output_zero_point")
    params = dict(zip(zeros, (form.zero_point for form in site.formats)))
    factor = first.scale / (second.scale * output.scale)
    params.update(length=math.prod(site.shapes[-1]), factor_bits=bits(factor))
    site.call(f"executorch_quantized_div_{site.suffix}", params, sources=sources)


def _combine(
    site: S8Site, kind: str, formats: tuple[Format, ...], sources: tuple[str, ...]
) -> None:
    """Append a sum, difference or product of two tensors of the output's shape."""
    (first, second), output = formats, site.output
    params = {
        "input_1_offset": -first.zero_point,
        "input_2_offset": -second.zero_point,
        "out_offset": output.zero_point,
        "block_size": math.prod(site.shapes[-1]),
        **site.clamp(),
    }
    if kind == "multiply":
        factor = first.scale * second.scale / output.scale
        params["out_mult"], params["out_shift"] = site.make_scaling(factor)
        site.call(f"arm_elementwise_mul_{site.suffix}", params, sources=sources)
    else:
        function, scaling = _SUMS[kind]
        left = LEFT_SHIFTS[site.suffix]
        params.update(scaling(first.scale, second.scale, output.scale, left))
        site.call(f"{function}_{site.suffix}", params, sources=sources)


def _choose(site: S8Site, operator: Elementwise) -> None:
    site.same_formats()
    if site.wide:
        params = {"length": math.prod(site.shapes[-1])}
        site.call(f"tflm_{operator.kind}_s16", params, sources=_broadcast_inputs(site))
        return
    first, second = (pad_to_four_axes(shape) for shape in site.shapes[:2])
    params = {**name_sides("input1", first), **name_sides("input2", second)}
    site.call(f"arm_{operator.kind}_s8", params)


def _broadcast_inputs(site: S8Site) -> tuple[str, ...]:
    """Return the inputs of a function of equal shapes; smaller ones are broadcast first."""
    whole = site.shapes[-1]
    return tuple(
        source if shape == whole else _broadcast(site, index, source, shape)
        for index, (source, shape) in enumerate(zip(site.sources, site.shapes), 1)
    )


def _broadcast(site: S8Site, index: int, source: str, shape: Shape) -> str:
    whole = site.shapes[-1]
    missing = len(whole) - len(shape)
    kept = [(a, b) for a, b in zip((*[1] * missing, *shape), whole) if b > 1]
    inner, outer = (pad_to_four_axes(tuple(pair[i] for pair in kept)) for i in (0, 1))
    params = {**name_sides("input", inner), **name_sides("output", outer)}
    own_format = site.formats[index - 1]
    return site.call(
        f"tflm_broadcast_{site.suffix}",
        params,
        part=f"whole{index}",
        sources=(source,),
        output_format=own_format,
    )
