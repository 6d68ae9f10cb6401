"""Activations, softmax and element-wise operators as calls of the s8 API."""

from __future__ import annotations

import math

from ..errors import Error, ModelError
from ..formats import add_scaling, softmax_scaling
from ..operators import Clip, Elementwise, Relu, Sigmoid, Softmax, Tanh
from .affine_shaping import four, named
from .affine_site import AffineSite

_SUMS = {"add": "arm_elementwise_add_s8", "subtract": "tflm_sub_s8"}
_CHOICES = {"maximum": "arm_maximum_s8", "minimum": "arm_minimum_s8"}
_CURVES = {Sigmoid: "tflm_logistic_s8", Tanh: "tflm_tanh_s8"}

#: Of a pooling that has one element in each window.
_PIXEL = ("batches", "filter_h", "filter_w", "stride_h", "stride_w", "input_h", "output_h")
_PIXEL_PADS = {"pad_h": 0, "pad_w": 0}


def rectify(site: AffineSite, operator: Relu | Clip) -> None:
    """An activation that no call computes along: a maximum of one element, which clamps it."""
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


def _leaky(site: AffineSite, operator: Relu) -> None:
    if operator.limit is not None:
        raise ModelError(f"no function has a slope below zero and the limit {operator.limit:g}")
    source, output = site.formats
    mult, shift = site.scaling(source.scale / output.scale)
    slope_mult, slope_shift = site.scaling(abs(operator.slope) * source.scale / output.scale)
    if operator.slope < 0:
        raise ModelError(f"no function has the negative slope {operator.slope:g}")
    zeros = {"input_zero_point": source.zero_point, "output_zero_point": output.zero_point}
    positive = {"multiplier": mult, "shift": shift}
    negative = {"alpha_multiplier": slope_mult, "alpha_shift": slope_shift}
    site.call("tflm_leaky_relu_s8", {"length": _size(site), **zeros, **positive, **negative})


def curve(site: AffineSite, operator: Sigmoid | Tanh) -> None:
    """Sigmoid and hyperbolic tangent."""
    raise ModelError("not yet")


def softmax(site: AffineSite, operator: Softmax) -> None:
    """Softmax along the last axis."""
    shape = site.shapes[0]
    if operator.log or shape[operator.axis] != math.prod(shape[operator.axis :]):
        raise ModelError(f"softmax is computed along the last axis of {list(shape)} alone")
    row = shape[operator.axis]
    try:
        mult, shift, diff_min = softmax_scaling(1.0, site.formats[0].scale)
    except Error as error:
        raise ModelError(str(error)) from None
    sides = {"num_rows": math.prod(shape) // row, "row_size": row}
    site.call("arm_softmax_s8", {**sides, "mult": mult, "shift": shift, "diff_min": diff_min})


def elementwise(site: AffineSite, operator: Elementwise) -> None:
    """Sums, products and choices of two tensors."""
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


def _choose(site: AffineSite, operator: Elementwise) -> None:
    site.same_formats()
    first, second = (four(shape) for shape in site.shapes[:2])
    params = {**named("input1", first), **named("input2", second)}
    site.call(_CHOICES[operator.kind], params)


def _of_one_shape(site: AffineSite) -> tuple[str, ...]:
    """The inputs of a function that takes two equal shapes."""
    if site.shapes[0] != site.shapes[1]:
        raise ModelError(f"{list(site.shapes[0])} and {list(site.shapes[1])} are not of one shape")
    return site.sources


def _size(site: AffineSite) -> int:
    return math.prod(site.shapes[0])
