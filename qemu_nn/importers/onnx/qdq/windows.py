"""Pooling and resizing of quantized files."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from ....errors import ModelError
from ....ir.formats import Format
from ..call import Call
from .float32 import step, through
from .layers import Weights, padded
from .operators import COUNTS_OUTSIDE
from .padding import geometry
from .site import Converter, Site, moved
from .symbols import LAST, Int, Pending


def pool(site: Site, kind: str, whole: bool = False) -> Pending:
    """MaxPool and AveragePool; whole: one window over the image."""
    shape = site.shape()
    if len(shape) != 3:
        raise ModelError(f"it takes images, but its input is {[1, *shape]}")
    places = _whole(shape[1:]) if whole else _windows(site.call, shape[1:])
    if kind == "average":
        return _averages(site, places)
    site.call.ignore("storage_order")  # which only concerns a second output
    made = (shape[0], places["output_h"], places["output_w"])

    def put(x: Int, name: str) -> Int:
        image = site.builder.ordered(x, LAST)
        pooled = Int(name, made, LAST, x.format, x.element)
        return _called(site, "arm_max_pool", image, places, pooled)

    return moved(site, made, put)


def _whole(size: Sequence[int]) -> dict[str, int]:
    """Return one window over an image."""
    names = {"filter": size, "input": size, "output": (1, 1), "stride": (1, 1), "pad": (0, 0)}
    return {f"{n}_{axis}": pair[i] for n, pair in names.items() for i, axis in enumerate("hw")}


def _windows(call: Call, size: Sequence[int]) -> dict[str, int]:
    kernel = call.integers("kernel_shape") or []
    if len(kernel) != 2:
        raise ModelError("its windows must have two axes")
    if set(call.integers("dilations") or [1]) != {1}:
        raise ModelError("its windows have gaps, which is not supported")
    return geometry(call, size, kernel, bool(call.integer("ceil_mode", 0)))


def _called(site: Site, function: str, x: Int, places: Mapping[str, int], made: Int) -> Int:
    low, high = x.format.limits
    params = {"batches": 1, "channels": x.shape[0], **places, "act_min": low, "act_max": high}
    return site.builder.call(f"{function}_{x.kind}", params, [x], made)


def _averages(site: Site, places: dict[str, int]) -> Pending:
    """Return averages of windows; those that count a border are of an image with it."""
    x = site.image(0)
    depth = x.shape[0]
    site.call.ignore(COUNTS_OUTSIDE)
    if site.call.integer("count_include_pad", 0):
        x, places = _padded(site, x, places)
    shape = (depth, places["output_h"], places["output_w"])

    def emit(form: Format, name: str, ends: tuple[float, float]) -> Int:
        finer = x.format.scale > form.scale
        if finer and _inside(places):  # where a second rounding would be more than a step
            return _average(site, x, places, form, name)
        same = x.format == form
        made = Int(name if same else f"{name}/pool", shape, LAST, x.format)
        return site.builder.rescaled(_called(site, "arm_avgpool", x, places, made), form, name)

    return Pending(emit, shape)


def _inside(places: Mapping[str, int]) -> bool:
    """True if all windows lie in the image."""
    return all(
        places[f"pad_{axis}"] == 0
        and (places[f"output_{axis}"] - 1) * places[f"stride_{axis}"] + places[f"filter_{axis}"]
        <= places[f"input_{axis}"]
        for axis in "hw"
    )


def _average(site: Site, x: Int, places: Mapping[str, int], form: Format, name: str) -> Int:
    """Return averages in a finer format, as a convolution of each channel with ones."""
    depth, cells = x.shape[0], places["filter_h"] * places["filter_w"]
    ones = np.ones((depth, places["filter_h"], places["filter_w"], 1), np.int64)
    weights = Weights(ones, np.full(depth, 1 / cells), np.zeros(depth, np.int64))
    params, rows = weights.last_step(site, x.format, form, name, (-math.inf, math.inf))
    params = {**params, **places, "batches": 1, "input_c": depth, "ch_mult": 1}
    params.update(dilation_h=1, dilation_w=1)
    made = Int(name, (depth, places["output_h"], places["output_w"]), LAST, form)
    filters = np.ones((1, *ones.shape[1:3], depth), np.int8)
    function = f"arm_depthwise_conv_wrapper_{x.kind}"
    return site.builder.call(function, params, [x], made, filters, rows)


def _padded(site: Site, x: Int, places: dict[str, int]) -> tuple[Int, dict[str, int]]:
    """Return the image with a border of zeros, which an average counts, and windows of it."""
    pads = list(site.call.integers("pads") or [0] * 4)
    if len(pads) != 4 or min(pads) < 0:
        raise ModelError(f"its pads {pads} must be four numbers from 0 on")
    made = dict(places, pad_h=0, pad_w=0)
    outside = site.call.integer(COUNTS_OUTSIDE, 0)
    for i, axis in enumerate("hw"):
        reach = (places[f"output_{axis}"] - 1) * places[f"stride_{axis}"] + places[f"filter_{axis}"]
        needed = reach - places[f"input_{axis}"] - pads[i]
        pads[i + 2] = max(pads[i + 2], needed) if outside else pads[i + 2]
        made[f"input_{axis}"] += pads[i] + pads[i + 2]
    return padded(site.builder, x, pads[:2], pads[2:]), made


def resize(site: Site) -> Pending:
    """Resize of an image: to the nearest, or bilinear."""
    call, x = site.call, site.image(0)
    mode = call.text("mode", "nearest")
    call.ignore("cubic_coeff_a", "extrapolation_value")  # of other modes
    call.has(1)  # as is the region of interest
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
    shape, own = (depth, to[0], to[1]), "resize_nearest" if nearest else "resize_bilinear"

    def emit(form: Format, name: str, ends: tuple[float, float]) -> Int:
        if linear and x.kind == "s16":
            return through(
                site.builder,
                [x],
                form,
                name,
                lambda real: step(site.builder, own, [real], params, shape),
            )
        same = x.format == form
        made = Int(name if same else f"{name}/resized", shape, LAST, x.format)
        made = site.builder.call(f"tflm_{own}_{x.kind}", params, [x], made)
        return site.builder.rescaled(made, form, name)

    return Pending(emit, shape)


POOLS: dict[str, Converter] = {
    "MaxPool": partial(pool, kind="max"),
    "AveragePool": partial(pool, kind="average"),
    "GlobalAveragePool": partial(pool, kind="average", whole=True),
    "GlobalMaxPool": partial(pool, kind="max", whole=True),
}

WINDOWS: dict[str, Converter] = {"Resize": resize}
