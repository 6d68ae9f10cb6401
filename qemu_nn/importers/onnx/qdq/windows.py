"""Pooling and resizing of quantized files."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from ....errors import ModelError
from ....ir.formats import Format
from ..call import OnnxCall
from ..resizing import WAYS, find_places, read_sizes
from .float32 import floated, quantized, step
from .layers import Weights, padded
from .operators import COUNTS_OUTSIDE
from .padding import geometry
from .shaping import picked
from .site import Converter, Site, moved, once
from .symbols import LAST, Int, Pending


def pool(site: Site, kind: str, whole: bool = False) -> Pending:
    """Convert MaxPool and AveragePool; whole: one window over the image."""
    shape = site.shape()
    if len(shape) != 3:
        raise ModelError(f"its input is {[1, *shape]}; it must be an image [N, C, H, W]")
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


def _windows(call: OnnxCall, size: Sequence[int]) -> dict[str, int]:
    kernel = call.integers("kernel_shape") or []
    if len(kernel) != 2:
        raise ModelError("its windows must have two axes")
    if set(call.integers("dilations") or [1]) != {1}:
        raise ModelError("its windows are dilated; pooling with dilations is not supported")
    places = geometry(call, size, kernel, bool(call.integer("ceil_mode", 0)))
    if call.text("auto_pad", "NOTSET").startswith("SAME"):
        for axis in "hw":
            reach = (places[f"output_{axis}"] - 1) * places[f"stride_{axis}"]
            if reach + places[f"filter_{axis}"] < places[f"input_{axis}"]:
                raise ModelError(
                    "its auto_pad needs a negative padding, which ONNX Runtime refuses; "
                    "give pads instead"
                )
    return places


def _called(site: Site, function: str, x: Int, places: Mapping[str, int], made: Int) -> Int:
    if x.kind == "f32":
        function = {"arm_max_pool": "tflm_max_pool", "arm_avgpool": "tflm_average_pool"}[function]
        params = {"batches": 1, "channels": x.shape[0], **places, "activation": 0}
        return site.builder.call(f"{function}_f32", params, [x], made)
    low, high = x.format.limits
    params = {"batches": 1, "channels": x.shape[0], **places, "act_min": low, "act_max": high}
    return site.builder.call(f"{function}_{x.kind}", params, [x], made)


def _averages(site: Site, places: dict[str, int]) -> Pending:
    """Return averages of windows; those that count a border are of an image with it."""
    depth, floats = site.shape()[0], site.floats(0)
    shape = (depth, places["output_h"], places["output_w"])
    site.call.ignore(COUNTS_OUTSIDE)
    bordered = bool(site.call.integer("count_include_pad", 0))

    def real() -> Int:
        x, windows = site.builder.ordered(floats(), LAST), places
        if bordered:
            x, windows = _padded(site, x, places)
        made = Int(f"{x.name}/pool", shape, LAST, x.format)
        return _called(site, "arm_avgpool", x, windows, made)

    if isinstance(site.call.value(0), Pending):
        return floated(site, shape, real)
    x, windows = site.image(0), places
    if bordered:
        x, windows = _padded(site, x, places)

    def emit(form: Format, name: str, ends: tuple[float, float]) -> Int:
        if x.format.scale > form.scale:  # where a second rounding would be more than a step
            if _inside(windows):
                return _average(site, x, windows, form, name)
            return quantized(site.builder, floating(), form, name)
        same = x.format == form
        made = Int(name if same else f"{name}/pool", shape, LAST, x.format)
        return site.builder.rescaled(_called(site, "arm_avgpool", x, windows, made), form, name)

    floating = once(real)
    return Pending(emit, shape, real=floating)


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
    call, made = site.call, dict(places, pad_h=0, pad_w=0)
    pads = call.integers("pads") or [0] * 4
    if len(pads) != 4 or min(pads) < 0:
        raise ModelError(f"its pads are {pads}; they must be four numbers of 0 or more")
    automatic = call.text("auto_pad", "NOTSET").startswith("SAME")
    reaching = automatic or bool(call.integer(COUNTS_OUTSIDE, 0))
    before, after = [], []
    for i, axis in enumerate("hw"):
        reach = (places[f"output_{axis}"] - 1) * places[f"stride_{axis}"] + places[f"filter_{axis}"]
        needed = max(reach - places[f"input_{axis}"] - places[f"pad_{axis}"], 0)
        more = 0 if automatic else pads[i + 2]
        before.append(places[f"pad_{axis}"])
        after.append(max(more, needed) if reaching else more)
        made[f"input_{axis}"] += before[-1] + after[-1]
    return padded(site.builder, x, before, after), made


def resize(site: Site) -> Pending:
    """Resize of an image: to the nearest, or bilinear."""
    call, shape = site.call, site.shape()
    if len(shape) != 3:
        raise ModelError(f"its input is {[1, *shape]}; it must be an image [N, C, H, W]")
    mode = call.text("mode", "nearest")
    way = call.text("coordinate_transformation_mode", "half_pixel")
    call.ignore("cubic_coeff_a", "extrapolation_value")  # of other modes
    call.has(1)  # as is the region of interest
    to, scales = read_sizes(call, [site.builder.batch, *shape])
    if mode == "nearest":
        places = [find_places(call, way, *each) for each in zip(shape[1:], to, scales)]
        return _picked_pixels(site, places)
    call.ignore("nearest_mode")
    even = all(side * scale == out for side, scale, out in zip(shape[1:], scales, to))
    if mode != "linear" or way not in WAYS or not even:
        raise ModelError(
            f"it resizes {list(shape[1:])} to {to} by {mode!r} and {way!r}, for which there is no "
            "function"
        )
    return _bilinear(site, way, to)


def _picked_pixels(site: Site, places: list[list[int]]) -> Pending:
    """Return an image of rows and columns of another one."""
    depth, *size = site.shape()
    to = [len(each) for each in places]
    shape = (depth, to[0], to[1])
    params = {"batches": 1, "input_h": size[0], "input_w": size[1], "channels": depth}
    params.update(output_h=to[0], output_w=to[1], align_corners=0, half_pixel_centers=0)
    floors = [[n * side // out for n in range(out)] for side, out in zip(size, to)]

    def put(x: Int, name: str) -> Int:
        x = site.builder.ordered(x, LAST)
        if places == floors and x.kind != "f32":
            made = Int(name, shape, LAST, x.format, x.element)
            return site.builder.call(f"tflm_resize_nearest_{x.kind}", params, [x], made)
        for axis, each in enumerate(places, 1):
            if each != list(range(x.shape[axis])):
                x = picked(site, x, axis, each, f"{name}/axis{axis}")
        return x

    return moved(site, shape, put)


def _bilinear(site: Site, way: str, to: list[int]) -> Pending:
    """Return an image of pixels between those of another one."""
    depth, *size = site.shape()
    params = {"batches": 1, "input_h": size[0], "input_w": size[1], "channels": depth}
    params.update(output_h=to[0], output_w=to[1], align_corners=int(way == "align_corners"))
    params["half_pixel_centers"] = int("half_pixel" in way)
    shape, floats = (depth, to[0], to[1]), site.floats(0)

    def real() -> Int:
        x = site.builder.ordered(floats(), LAST)
        return step(site.builder, "resize_bilinear", [x], params, shape)

    if isinstance(site.call.value(0), Pending) or site.integers(0).kind == "s16":
        return floated(site, shape, real)
    x = site.image(0)

    def emit(form: Format, name: str, ends: tuple[float, float]) -> Int:
        same = x.format == form
        made = Int(name if same else f"{name}/resized", shape, LAST, x.format)
        made = site.builder.call(f"tflm_resize_bilinear_{x.kind}", params, [x], made)
        return site.builder.rescaled(made, form, name)

    return Pending(emit, shape, real=once(real))


POOLS: dict[str, Converter] = {
    "MaxPool": partial(pool, kind="max"),
    "AveragePool": partial(pool, kind="average"),
    "GlobalAveragePool": partial(pool, kind="average", whole=True),
    "GlobalMaxPool": partial(pool, kind="max", whole=True),
}

WINDOWS: dict[str, Converter] = {"Resize": resize}
