"""Convolutions, pooling and resizing of quantized files."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from ....errors import ModelError
from ....functions.scaling import quantize_multiplier
from ....ir.formats import Format, activation_limits
from ...arguments import sides
from ..call import Call
from .site import Converter, Site
from .values import LAST, Fixed, Int, Pending

_RANGE = {"act_min": -128, "act_max": 127}


def geometry(
    call: Call, size: Sequence[int], kernel: Sequence[int], ceil: bool = False
) -> dict[str, int]:
    """Strides, dilations, pads in front, and the sides of the output."""
    strides = call.integers("strides") or [1, 1]
    dilations = call.integers("dilations") or [1, 1]
    auto, pads = call.text("auto_pad", "NOTSET"), call.integers("pads") or [0, 0, 0, 0]
    if len(strides) != 2 or len(dilations) != 2 or len(pads) != 4 or min(*strides, *dilations) < 1:
        raise ModelError("its windows must have two axes")
    found: dict[str, int] = {}
    for axis, name in enumerate("hw"):
        reach = dilations[axis] * (kernel[axis] - 1) + 1
        if auto.startswith("SAME"):
            out = -(-size[axis] // strides[axis])
            total = max((out - 1) * strides[axis] + reach - size[axis], 0)
            front = total // 2 if auto == "SAME_UPPER" else total - total // 2
        else:
            front, back = pads[axis], pads[axis + 2]
            left = size[axis] + front + back - reach
            out = (-(-left // strides[axis]) if ceil else left // strides[axis]) + 1
        if front < 0 or out < 1:
            raise ModelError(f"its windows do not fit {list(size)}")
        found.update({f"stride_{name}": strides[axis], f"dilation_{name}": dilations[axis]})
        found.update({f"pad_{name}": front, f"output_{name}": out, f"input_{name}": size[axis]})
        found[f"filter_{name}"] = kernel[axis]
    return found


def offsets(x: Format, output: Format, ends: tuple[float, float]) -> dict[str, int]:
    """Offsets of input and output, and the integers that are kept."""
    return {
        **{"input_offset": -x.zero_point, "output_offset": output.zero_point},
        **activation_limits(*ends, output),
    }


def weights_of(call: Call, index: int, axis: int) -> Fixed:
    """The weights less their zero points, whose scales are along an axis or one for all."""
    weights = call.inputs[index] if index < len(call.inputs) else None
    if not isinstance(weights, Fixed):
        raise ModelError("its weights must be quantized constants")
    if weights.zero.any():
        weights = replace(weights, data=weights.symmetric, zero=np.zeros(weights.zero.shape))
    if weights.scale.size > 1 and weights.axis % weights.data.ndim != axis:
        raise ModelError("its weights have a scale for each of something other than channels")
    return weights


def bias_of(site: Site, index: int, steps: np.ndarray) -> np.ndarray:
    """The bias in steps of the products, int32."""
    given = site.call.inputs[index] if index < len(site.call.inputs) else None
    return site.bias(given, steps)


def per_channel(x: Format, weights: Fixed, output: Format, bias: np.ndarray) -> np.ndarray:
    """Bias, multiplier and shift of each output channel, as rows."""
    scales = np.broadcast_to(weights.scale.reshape(-1), bias.size)
    pairs = [quantize_multiplier(x.scale * float(s) / output.scale) for s in scales]
    return np.array([bias, *np.array(pairs).T], np.int32)


def convolve(site: Site) -> Pending:
    """Conv of an image, in any number of groups."""
    call = site.call
    x = site.image(0)
    weights = weights_of(call, 1, 0)
    depth, *size = x.shape
    if weights.data.ndim != 4 or depth != weights.data.shape[1] * call.integer("group", 1):
        raise ModelError(f"its weights {list(weights.data.shape)} do not fit {list(x.shape)}")
    count, own, *kernel = weights.data.shape
    places = geometry(call, size, kernel)
    steps = x.format.scale * weights.scale.astype(np.float64).reshape(-1)
    bias = bias_of(site, 2, np.broadcast_to(steps, count))
    single = own == 1 and depth > 1 and count % depth == 0
    shape = (count, places["output_h"], places["output_w"])

    def emit(form: Format, name: str, ends: tuple[float, float]) -> Int:
        params = {
            **{"batches": 1, "input_c": depth, "output_c": count, "filter_c": own},
            **{"ch_mult": count // depth, **places, **offsets(x.format, form, ends)},
        }
        rows = per_channel(x.format, weights, form, bias)
        made = Int(name, shape, LAST, form)
        filters, function, taken = weights.data.transpose(0, 2, 3, 1), "arm_convolve_wrapper_s8", x
        if _is_wide(weights.data):
            taken, filters = _doubled(site, x, filters)
            params.update(input_c=2 * depth, filter_c=2 * own)
        elif single:
            filters = weights.data[:, 0].transpose(1, 2, 0)[None]
            function = "arm_depthwise_conv_wrapper_s8"
        return site.builder.call(function, params, [taken], made, filters.astype(np.int8), rows)

    return Pending(emit, shape, clamps=True)


def _is_wide(data: np.ndarray) -> bool:
    """Whether weights less their zero point do not fit int8."""
    return bool(data.size) and (data.min() < -128 or data.max() > 127)


def _doubled(site: Site, x: Int, filters: np.ndarray) -> tuple[Int, np.ndarray]:
    """The channels of each group twice, and filters in two parts for both: their sums are exact."""
    whole = replace(x, name=f"{x.name}/twice", shape=(2 * x.shape[0], *x.shape[1:]))
    own = filters.shape[-1]
    params = {"outer": x.size // own, "inner1": own, "inner2": own}
    twice = site.builder.call("tflm_concatenation_s8", params, [x, x], whole)
    lower = filters // 2
    return twice, np.concatenate([lower, filters - lower], -1)


def transpose_conv(site: Site) -> Pending:
    """ConvTranspose of an image, in one group."""
    call = site.call
    x, weights = site.image(0), weights_of(site.call, 1, 1)
    pads = call.integers("pads") or [0] * 4
    more = call.integers("output_padding") or [0, 0]
    strides = call.integers("strides") or [1, 1]
    plain = call.integer("group", 1) == 1 and call.text("auto_pad", "NOTSET") == "NOTSET"
    if not plain or any(more) or set(call.integers("dilations") or [1]) != {1}:
        raise ModelError("it has groups, dilations, output_padding or auto_pad: not supported")
    if "output_shape" in call.node.attributes or len(pads) != 4 or len(strides) != 2:
        raise ModelError("it must have two axes, and no output_shape")
    if weights.data.ndim != 4 or weights.data.shape[0] != x.shape[0]:
        raise ModelError(f"its weights {list(weights.data.shape)} do not fit {list(x.shape)}")
    depth, count, *kernel = weights.data.shape
    steps = x.format.scale * weights.scale.astype(np.float64).reshape(-1)
    bias = bias_of(site, 2, np.broadcast_to(steps, count))
    places: dict[str, int] = {}
    for axis, name in enumerate("hw"):
        size = x.shape[1 + axis]
        out = (size - 1) * strides[axis] + kernel[axis] - pads[axis] - pads[axis + 2]
        places.update({f"input_{name}": size, f"output_{name}": out, f"pad_offset_{name}": 0})
        places.update({f"filter_{name}": kernel[axis], f"stride_{name}": strides[axis]})
        places.update({f"pad_{name}": pads[axis], f"dilation_{name}": 1})
    shape = (count, places["output_h"], places["output_w"])

    def emit(form: Format, name: str, ends: tuple[float, float]) -> Int:
        params = {"batches": 1, "input_c": depth, "output_c": count, **places}
        params.update(offsets(x.format, form, ends))
        rows = per_channel(x.format, weights, form, bias)
        filters, taken = weights.data.transpose(1, 2, 3, 0), x
        if _is_wide(weights.data):
            taken, filters = _doubled(site, x, filters)
            params.update(input_c=2 * depth)
        function, made = "arm_transpose_conv_wrapper_s8", Int(name, shape, LAST, form)
        return site.builder.call(function, params, [taken], made, filters.astype(np.int8), rows)

    return Pending(emit, shape, clamps=True)


def pool(site: Site, kind: str, whole: bool = False) -> Pending:
    """MaxPool and AveragePool; whole: one window over the image."""
    call, x = site.call, site.image(0)
    depth, *size = x.shape
    kernel = size if whole else call.integers("kernel_shape") or []
    if len(kernel) != 2:
        raise ModelError("its windows must have two axes")
    if whole:
        names = {"filter": size, "input": size, "output": (1, 1), "stride": (1, 1), "pad": (0, 0)}
        places = {
            f"{n}_{axis}": pair[i] for n, pair in names.items() for i, axis in enumerate("hw")
        }
    else:
        if set(call.integers("dilations") or [1]) != {1}:
            raise ModelError("its windows have gaps, which is not supported")
        if kind == "average" and call.integer("count_include_pad", 0):
            x, size = _padded(site, x), list(_padded_size(call, size))
            places = geometry(_without_pads(call), size, kernel, bool(call.integer("ceil_mode", 0)))
        else:
            places = geometry(call, size, kernel, bool(call.integer("ceil_mode", 0)))
    shape = (depth, places["output_h"], places["output_w"])

    def emit(form: Format, name: str, ends: tuple[float, float]) -> Int:
        params = {"batches": 1, "channels": depth, **places, **_RANGE}
        same = x.format == form
        made = Int(name if same else f"{name}/pool", shape, LAST, x.format)
        function = "arm_max_pool_s8" if kind == "max" else "arm_avgpool_s8"
        made = site.builder.call(function, params, [x], made)
        return site.builder.rescaled(made, form, name)

    return Pending(emit, shape)


def _padded_size(call: Call, size: Sequence[int]) -> tuple[int, int]:
    pads = call.integers("pads") or [0] * 4
    return size[0] + pads[0] + pads[2], size[1] + pads[1] + pads[3]


def _without_pads(call: Call) -> Call:
    attributes = {**call.node.attributes, "pads": [0, 0, 0, 0]}
    return replace(call, node=replace(call.node, attributes=attributes))


def _padded(site: Site, x: Int) -> Int:
    """The image with a border of zeros, which an average counts."""
    pads = site.call.integers("pads") or [0] * 4
    if not any(pads):
        return x
    if len(pads) != 4 or min(pads) < 0:
        raise ModelError(f"its pads {pads} must be four numbers from 0 on")
    height, width = _padded_size(site.call, x.shape[1:])
    wide = replace(x, name=f"{x.name}/padded", shape=(x.shape[0], height, width))
    params = {"pad_value": x.format.zero_point, **sides("input", x.memory)}
    params.update(sides("pre", (0, pads[0], pads[1], 0)))
    params.update(sides("post", (0, pads[2], pads[3], 0)))
    return site.builder.call("arm_pad_s8", params, [x], wide)


def mean(site: Site) -> Pending:
    """ReduceMean over height and width."""
    call, x = site.call, site.image(0)
    axes = sorted(axis % 4 for axis in call.integers("axes", at=1) or ())
    if axes != [2, 3]:
        raise ModelError(f"it takes the mean over the axes {axes}; only height and width can be")
    whole = pool(site, "average", whole=True)
    if call.integer("keepdims", 1):
        return whole
    shape = (x.shape[0],)

    def emit(form: Format, name: str, ends: tuple[float, float]) -> Int:
        return replace(whole.emit(form, name, ends), shape=shape, order=(0,))

    return Pending(emit, shape)


def resize(site: Site) -> Pending:
    """Resize of an image: to the nearest, or bilinear."""
    call, x = site.call, site.image(0)
    mode = call.text("mode", "nearest")
    way = call.text("coordinate_transformation_mode", "half_pixel")
    depth, *size = x.shape
    sizes = [int(n) for n in call.array(3)] if call.has(3) and call.array(3).size else None
    scales = [float(n) for n in call.array(2)] if call.has(2) and call.array(2).size else None
    if sizes is None and (scales is None or len(scales) != 4):
        raise ModelError("it must have four scales or four sizes")
    to = sizes[2:] if sizes is not None else [math.floor(n * s) for n, s in zip(size, scales[2:])]  # type: ignore[index]
    if len(to) != 2 or not all(1 <= n <= 65535 for n in to):
        raise ModelError(f"it cannot resize to {to}")
    nearest = mode == "nearest" and way == "asymmetric"
    nearest &= call.text("nearest_mode", "round_prefer_floor") == "floor"
    linear = mode == "linear" and way in ("half_pixel", "pytorch_half_pixel", "align_corners")
    if not nearest and not linear:
        raise ModelError(f"it resizes by {mode!r} and {way!r}, for which there is no function")
    params = {
        **{"batches": 1, "input_h": size[0], "input_w": size[1], "channels": depth},
        **{"output_h": to[0], "output_w": to[1], "align_corners": int(way == "align_corners")},
        "half_pixel_centers": int(linear and way != "align_corners"),
    }
    function = "tflm_resize_nearest_s8" if nearest else "tflm_resize_bilinear_s8"
    shape = (depth, to[0], to[1])

    def emit(form: Format, name: str, ends: tuple[float, float]) -> Int:
        same = x.format == form
        made = Int(name if same else f"{name}/resized", shape, LAST, x.format)
        made = site.builder.call(function, params, [x], made)
        return site.builder.rescaled(made, form, name)

    return Pending(emit, shape)


WINDOWS: dict[str, Converter] = {
    "Conv": convolve,
    "ConvTranspose": transpose_conv,
    "MaxPool": partial(pool, kind="max"),
    "AveragePool": partial(pool, kind="average"),
    "GlobalAveragePool": partial(pool, kind="average", whole=True),
    "GlobalMaxPool": partial(pool, kind="max", whole=True),
    "ReduceMean": mean,
    "Resize": resize,
}
