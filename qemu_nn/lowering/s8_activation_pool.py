"""Lowering of activations, softmax and element-wise operators to calls of the s8 and
s16 functions.
"""

from __future__ import annotations

import math

from ..errors import Error, ModelError
from ..functions.s8_elementwise import LEFT_SHIFTS
from ..functions.scaling import (
    add_scaling,
    scale_leaky_relu,
    scale_logistic,
    scale_logistic_s16,
    scale_softmax,
    scale_softmax_s16,
    sub_scaling,
)
from ..functions.softmax_tables import make_exp_lut, make_one_by_one_lut
from ..operators import Clip, Elementwise, Relu, Shape, Sigmoid, Softmax, Tanh
from ..quantizer.affine_rules import Rescale
from .s8_context import SUFFIXES, S8Site
from .s8_data_movement import name_sides, pad_to_four_axes

_SUMS = {"add": ("arm_elementwise_add", add_scaling), "subtract": ("tflm_sub", sub_scaling)}
_CHOICES = ("maximum", "minimum")
_CURVES = {Sigmoid: "tflm_logistic", Tanh: "tflm_tanh"}

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
            f"no function has both a slope below zero and the limit {operator.limit:g}"
        )
    if operator.slope < 0:
        raise ModelError(f"no function has the negative slope {operator.slope:g}")
    source, output = site.formats
    params = {"input_zero_point": source.zero_point, "output_zero_point": output.zero_point}
    pairs = scale_leaky_relu(source.scale, output.scale, operator.slope)
    for name, pair in zip(("identity", "alpha"), map(site.check_multiplier, pairs)):
        params.update({f"{name}_multiplier": pair[0], f"{name}_shift": pair[1]})
    site.call(f"tflm_leaky_relu_{site.suffix}", {"length": math.prod(site.shapes[0]), **params})


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
    """Append the softmax along the last axis."""
    shape = site.shapes[0]
    if operator.log or shape[operator.axis] != math.prod(shape[operator.axis :]):
        raise ModelError(f"the softmax functions compute along the last axis of {list(shape)} only")
    row = shape[operator.axis]
    sides = {"num_rows": math.prod(shape) // row, "row_size": row}
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


def elementwise(site: S8Site, operator: Elementwise) -> None:
    """Append a sum, product, maximum or minimum of two tensors."""
    if operator.kind in _CHOICES:
        _choose(site, operator)
        return
    sources = _broadcast_inputs(site)
    first, second, output = site.formats
    params = {
        "input_1_offset": -first.zero_point,
        "input_2_offset": -second.zero_point,
        "out_offset": output.zero_point,
        "block_size": math.prod(site.shapes[-1]),
        **site.clamp(),
    }
    if operator.kind == "multiply":
        factor = first.scale * second.scale / output.scale
        params["out_mult"], params["out_shift"] = site.make_scaling(factor)
        site.call(f"arm_elementwise_mul_{site.suffix}", params, sources=sources)
    else:
        function, scaling = _SUMS[operator.kind]
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
