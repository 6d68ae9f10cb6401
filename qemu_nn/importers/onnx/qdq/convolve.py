"""Convolutions of quantized files, forwards and transposed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ....errors import ModelError
from ....ir.formats import Format
from ..call import Call
from .layers import Weights, bordered, centred, fitting, made_of, weights_of
from .padding import geometry
from .site import Converter, Site
from .symbols import LAST, Int, Pending

_DENSE = "the groups of these 16-bit convolutions become one filter with zeros between them"

_CENTRED = (
    "the zero points of these transposed 16-bit convolutions are channels of their inputs, as "
    "CMSIS-NN's functions of 16 bits have none"
)


def convolve(site: Site) -> Pending:
    """Conv of an image, in any number of groups."""
    call, x, held = site.call, site.image(0), weights_of(site.call, 1, 0)
    depth, *size = x.shape
    if held.data.ndim != 4 or depth != held.data.shape[1] * call.integer("group", 1):
        raise ModelError(f"its weights {list(held.data.shape)} do not fit {list(x.shape)}")
    count, own, *kernel = held.data.shape
    _check_kernel(call, kernel)
    if count % (depth // own):
        raise ModelError(f"its {count} filters are no multiple of its {depth // own} groups")
    places = geometry(call, size, kernel)
    weights = made_of(site, x, held, held.data.transpose(0, 2, 3, 1), _bias(site))
    shape = (count, places["output_h"], places["output_w"])

    def emit(form: Format, name: str, ends: tuple[float, float]) -> Int:
        params, rows = weights.last_step(site, x.format, form, name, ends)
        taken, windows = x, places
        if x.kind == "s16" and x.format.zero_point:  # which has to be next to the image, too
            taken, windows = bordered(site.builder, x, places)
        function, taken, filters, more = _filters(site, taken, weights.data, name)
        params = {**params, **windows, **more, "batches": 1, "output_c": count}
        made = Int(name, shape, LAST, form)
        return site.builder.call(f"{function}_{x.kind}", params, [taken], made, filters, rows)

    return Pending(emit, shape, clamps=True)


def _check_kernel(call: Call, kernel: list[int]) -> None:
    said = call.integers("kernel_shape")
    if said is not None and said != kernel:
        raise ModelError(f"its kernel_shape is {said}, but its weights have windows of {kernel}")


def _bias(site: Site) -> Any:
    return site.call.optional(2)


def _filters(
    site: Site, x: Int, data: np.ndarray, name: str
) -> tuple[str, Int, np.ndarray, dict[str, int]]:
    """Return function, input, filters, and what they say of channels, of weights [out, h, w,
    in].
    """
    depth, count, own = x.shape[0], len(data), data.shape[3]
    taken, filters = fitting(site, x, data)
    if own == 1 and depth > 1 and count % depth == 0 and taken is x:
        filters = filters[..., 0].transpose(1, 2, 0)[None]
        more = {"input_c": depth, "ch_mult": count // depth}
        return "arm_depthwise_conv_wrapper", x, filters, more
    if x.kind == "s16" and own < depth:
        site.builder.note(_DENSE, name)
        filters = _spread(filters, taken.shape[0] // filters.shape[3])
    more = {"input_c": taken.shape[0], "filter_c": filters.shape[3]}
    return "arm_convolve_wrapper", taken, filters, more


def _spread(filters: np.ndarray, groups: int) -> np.ndarray:
    """Return the filters of groups as filters of all channels."""
    count, height, width, own = filters.shape
    whole = np.zeros((groups, count // groups, height, width, groups, own), filters.dtype)
    for group, part in enumerate(filters.reshape(groups, -1, height, width, own)):
        whole[group, :, :, :, group] = part
    return whole.reshape(count, height, width, groups * own)


def transpose_conv(site: Site) -> Pending:
    """ConvTranspose of an image, in one group."""
    x, held = site.image(0), weights_of(site.call, 1, 1)
    if held.data.ndim != 4 or held.data.shape[0] != x.shape[0]:
        raise ModelError(f"its weights {list(held.data.shape)} do not fit {list(x.shape)}")
    _, count, *kernel = held.data.shape
    _check_kernel(site.call, kernel)
    places = _places(site, x, kernel)
    weights: Weights = made_of(site, x, held, held.data.transpose(1, 2, 3, 0), _bias(site))
    shape = (count, places["output_h"], places["output_w"])
    own = "tflm_transpose_conv_s16" if x.kind == "s16" else "arm_transpose_conv_wrapper_s8"

    def emit(form: Format, name: str, ends: tuple[float, float]) -> Int:
        taken, filters, zero = x, weights.data, x.format.zero_point
        if x.kind == "s16" and zero:  # no bias can stand for it, as sums at the rim have fewer taps
            site.builder.note(_CENTRED, name)
            taken, filters, zero = *centred(site.builder, x, filters), 0
        params, rows = weights.last_step(site, replace(x.format, zero_point=zero), form, name, ends)
        taken, filters = fitting(site, taken, filters)
        params = {**params, **places, "batches": 1, "output_c": count, "input_c": taken.shape[0]}
        made = Int(name, shape, LAST, form)
        return site.builder.call(own, params, [taken], made, filters, rows)

    return Pending(emit, shape, clamps=True)


def _places(site: Site, x: Int, kernel: list[int]) -> dict[str, int]:
    """Return sides, strides and pads of a transposed convolution."""
    call = site.call
    pads = call.integers("pads") or [0] * 4
    strides = call.integers("strides") or [1, 1]
    plain = call.integer("group", 1) == 1 and call.text("auto_pad", "NOTSET") == "NOTSET"
    more = call.integers("output_padding") or [0, 0]
    if not plain or any(more) or set(call.integers("dilations") or [1]) != {1}:
        raise ModelError("it has groups, dilations, output_padding or auto_pad: not supported")
    if call.integers("output_shape") is not None or len(pads) != 4 or len(strides) != 2:
        raise ModelError("it must have two axes, and no output_shape")
    places: dict[str, int] = {}
    for axis, name in enumerate("hw"):
        size = x.shape[1 + axis]
        out = (size - 1) * strides[axis] + kernel[axis] - pads[axis] - pads[axis + 2]
        places.update({f"input_{name}": size, f"output_{name}": out, f"pad_offset_{name}": 0})
        places.update({f"filter_{name}": kernel[axis], f"stride_{name}": strides[axis]})
        places.update({f"pad_{name}": pads[axis], f"dilation_{name}": 1})
    if min(places["output_h"], places["output_w"]) < 1:
        raise ModelError(f"its windows leave nothing of {list(x.shape)}")
    return places


CONVOLUTIONS: dict[str, Converter] = {"Conv": convolve, "ConvTranspose": transpose_conv}
