"""Activations, softmax and element-wise operators as calls of the s8 functions."""

from __future__ import annotations

import math

from ..errors import Error, ModelError
from ..functions.scaling import add_scaling, logistic_scaling, softmax_scaling
from ..operators import Clip, Elementwise, Relu, Shape, Sigmoid, Softmax, Tanh
from ..quantizer.affine_rules import Rescale
from .s8_data_movement import four, named
from .s8_site import S8Site

_SUMS = {"add": "arm_elementwise_add_s8", "subtract": "tflm_sub_s8"}
_CHOICES = {"maximum": "arm_maximum_s8", "minimum": "arm_minimum_s8"}
_CURVES = {Sigmoid: "tflm_logistic_s8", Tanh: "tflm_tanh_s8"}

#: Arguments of a pooling with one element in each window.
_PIXEL = ("batches", "filter_h", "filter_w", "stride_h", "stride_w", "input_h", "output_h")
_PIXEL_PADS = {"pad_h": 0, "pad_w": 0}


def rectify(site: S8Site, operator: Relu | Clip) -> None:
    """An activation that no other call clamps: the maximum of one element, which can clamp."""
    if isinstance(operator, Relu) and operator.slope:
        _leaky(site, operator)
        return
    site.same_formats()
    shape = site.shapes[0]
    channels = shape[-1] if shape else 1
    pixels = math.prod(shape) // channels
    sides = {"input_w": pixels, "output_w": pixels, "channels": channels}
    params = {**dict.fromkeys(_PIXEL, 1), **_PIXEL_PADS, **sides, **site.clamp()}
    site.call(site.choose([("arm_max_pool_s8", True)]), params)


def _leaky(site: S8Site, operator: Relu) -> None:
    if operator.limit is not None:
        raise ModelError(
            f"no function has both a slope below zero and the limit {operator.limit:g}"
        )
    if operator.slope < 0:
        raise ModelError(f"no function has the negative slope {operator.slope:g}")
    source, output = site.formats
    params = {"input_zero_point": source.zero_point, "output_zero_point": output.zero_point}
    for name, slope in (("identity", 1.0), ("alpha", operator.slope)):
        multiplier, shift = site.scaling(slope * source.scale / output.scale)
        params.update({f"{name}_multiplier": multiplier, f"{name}_shift": shift})
    site.call("tflm_leaky_relu_s8", {"length": math.prod(site.shapes[0]), **params})


def rescale(site: S8Site, operator: Rescale) -> None:
    """The same values in another format."""
    source, output = site.formats
    multiplier, shift = site.scaling(source.scale / output.scale)
    params = {"input_zero_point": source.zero_point, "output_zero_point": output.zero_point}
    params.update(length=math.prod(site.shapes[0]), multiplier=multiplier, shift=shift)
    site.call("tflm_requantize_s8_s8", params)


def curve(site: S8Site, operator: Sigmoid | Tanh) -> None:
    """Sigmoid and hyperbolic tangent."""
    source = site.formats[0]
    try:
        multiplier, shift, radius = logistic_scaling(source.scale)
    except Error as error:
        raise ModelError(str(error)) from None
    params = {"length": math.prod(site.shapes[0]), "input_zero_point": source.zero_point}
    params.update(input_multiplier=multiplier, input_left_shift=shift, input_range_radius=radius)
    site.call(_CURVES[type(operator)], params)


def softmax(site: S8Site, operator: Softmax) -> None:
    """Softmax along the last axis."""
    shape = site.shapes[0]
    if operator.log or shape[operator.axis] != math.prod(shape[operator.axis :]):
        raise ModelError(f"the softmax functions compute along the last axis of {list(shape)} only")
    row = shape[operator.axis]
    try:
        mult, shift, diff_min = softmax_scaling(1.0, site.formats[0].scale)
    except Error as error:
        raise ModelError(str(error)) from None
    sides = {"num_rows": math.prod(shape) // row, "row_size": row}
    site.call("arm_softmax_s8", {**sides, "mult": mult, "shift": shift, "diff_min": diff_min})


def elementwise(site: S8Site, operator: Elementwise) -> None:
    """Sums, products, maxima and minima of two tensors."""
    if operator.kind in _CHOICES:
        _choose(site, operator)
        return
    sources = _of_one_shape(site)
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
        params["out_mult"], params["out_shift"] = site.scaling(factor)
        site.call("arm_elementwise_mul_s8", params, sources=sources)
    else:
        params.update(add_scaling(first.scale, second.scale, output.scale))
        site.call(_SUMS[operator.kind], params, sources=sources)


def _choose(site: S8Site, operator: Elementwise) -> None:
    site.same_formats()
    first, second = (four(shape) for shape in site.shapes[:2])
    params = {**named("input1", first), **named("input2", second)}
    site.call(_CHOICES[operator.kind], params)


def _of_one_shape(site: S8Site) -> tuple[str, ...]:
    """The inputs of a function that takes equal shapes; the smaller ones are broadcast first."""
    whole = site.shapes[-1]
    return tuple(
        source if shape == whole else _broadcast(site, index, source, shape)
        for index, (source, shape) in enumerate(zip(site.sources, site.shapes), 1)
    )


def _broadcast(site: S8Site, index: int, source: str, shape: Shape) -> str:
    whole = site.shapes[-1]
    params = {**named("input", four(shape)), **named("output", four(whole))}
    own_format = site.formats[index - 1]
    return site.call(
        "tflm_broadcast_s8",
        params,
        part=f"whole{index}",
        sources=(source,),
        output_format=own_format,
    )
