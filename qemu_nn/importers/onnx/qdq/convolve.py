"""Convolutions of quantized files, forwards and transposed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Optional

import numpy as np

from ....errors import ModelError
from ....functions.s8_transpose import pad_after
from ....ir.formats import Format
from ....operators import Shape
from ..call import OnnxCall
from .float32 import floated
from .layers import (
    Weights,
    bordered,
    centred,
    fitting,
    made_of,
    real_weights,
    stays_float,
    weights_of,
)
from .padding import geometry
from .shaping import sliced
from .site import Converter, Site
from .symbols import LAST, Fixed, Int, Pending

_DENSE = "the groups of these 16-bit convolutions become one filter with zeros between them"

_TRANSPOSED = (
    "the groups of these transposed convolutions become one filter with zeros between them"
)

_CENTRED = (
    "the zero points of these transposed 16-bit convolutions are channels of their inputs, as "
    "CMSIS-NN's functions of 16 bits have none"
)


def convolve(site: Site) -> Pending:
    """Convert Conv of an image, in any number of groups."""
    if stays_float(site.call.optional(1)):
        return _in_floats(site, "executorch_convolution_f32")
    call, x, held = site.call, site.image(0), weights_of(site.call, 1, 0)
    depth, *size = x.shape
    if held.data.ndim != 4 or depth != held.data.shape[1] * call.integer("group", 1):
        raise ModelError(
            f"its weights are {list(held.data.shape)} and its input {[1, *x.shape]}; they must "
            "be [out, in / groups, height, width] and [N, in, H, W]"
        )
    count, own, *kernel = held.data.shape
    _check_kernel(call, kernel)
    if count % (depth // own):
        raise ModelError(
            f"its {count} filters are in {depth // own} groups; the groups must divide the filters"
        )
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


def _check_kernel(call: OnnxCall, kernel: list[int]) -> None:
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
    """Convert ConvTranspose of an image, in any number of groups."""
    if stays_float(site.call.optional(1)):
        return _in_floats(site, "executorch_transpose_convolution_f32")
    x, held = site.image(0), weights_of(site.call, 1, 1)
    if held.data.ndim != 4 or held.data.shape[0] != x.shape[0]:
        raise ModelError(
            f"its weights are {list(held.data.shape)} and its input {[1, *x.shape]}; they must "
            "be [in, out / groups, height, width] and [N, in, H, W]"
        )
    _check_kernel(site.call, list(held.data.shape[2:]))
    filters = _spaced(site.call, _of_groups(site, held.data.transpose(1, 2, 3, 0)))
    count, *kernel, _ = filters.shape
    places = _places(site, x.shape, kernel)
    filters, places = _reaching(filters, places)
    if held.scale.size > 1:  # of a channel of each group
        held = replace(held, scale=np.tile(held.scale, count // held.scale.size))
    weights: Weights = made_of(site, x, held, filters, _bias(site))
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
        return _cropped(site, own, params, taken, Int(name, shape, LAST, form), filters, rows)

    return Pending(emit, shape, clamps=True)


def _cropped(
    site: Site,
    function: str,
    params: dict[str, int],
    x: Int,
    made: Int,
    filters: np.ndarray,
    rows: np.ndarray,
) -> Int:
    """Return a transposed convolution. Where the device cannot leave out rows or columns, a slice
    after it does: CMSIS-NN leaves out whole strides of rows, and fewer than a filter has.
    """
    fronts = (_rows_in_front(params), params["pad_w"])
    fronts = (fronts[0], fronts[1] if fronts[1] < params["filter_w"] else 0)
    starts = [params[f"pad_{axis}"] - front for axis, front in zip("hw", fronts)]
    whole = [start + side for start, side in zip(starts, made.shape[1:])]
    whole[0] = max(whole[0], params["input_h"] * params["stride_h"] - fronts[0])
    if x.kind == "s16" or tuple(whole) == made.shape[1:]:
        params = {**params, **pad_after(params)}
        return site.builder.call(function, params, [x], made, filters, rows)
    for axis, side, front in zip("hw", whole, fronts):
        params = {**params, f"output_{axis}": side, f"pad_{axis}": front}
    params = {**params, **pad_after(params)}
    larger = replace(made, name=f"{made.name}/whole", shape=(made.shape[0], *whole))
    larger = site.builder.call(function, params, [x], larger, filters, rows)
    spans = [(start, 1, side) for start, side in zip((0, *starts), made.shape)]
    return sliced(site, larger, spans, made.name)


def _rows_in_front(params: dict[str, int]) -> int:
    """Return how many of the rows in front every release leaves out."""
    rows = params["pad_h"] - params["pad_h"] % params["stride_h"]
    return rows if rows < params["filter_h"] else 0


def _in_floats(site: Site, function: str) -> Pending:
    """Return a convolution with weights that the file holds as floats."""
    call, shape, weights = site.call, site.shape(), real_weights(site.call)
    transposed, groups = "transpose" in function, call.integer("group", 1)
    if weights.ndim != 4 or len(shape) != 3 or groups < 1:
        raise ModelError(
            f"its weights are {list(weights.shape)} and its input {[1, *shape]}; both must have "
            "4 axes"
        )
    depth, own, *kernel = weights.shape if transposed else weights.shape[1::-1] + weights.shape[2:]
    depth, count = (depth, own * groups) if transposed else (depth * groups, own)
    if depth != shape[0] or count % groups or depth % groups:
        raise ModelError(
            f"its weights are {list(weights.shape)} and its input {[1, *shape]}; their channels "
            "must agree, and groups divide them"
        )
    _check_kernel(call, kernel)
    if transposed:
        steps = call.integers("dilations") or [1, 1]
        reach = [(side - 1) * step + 1 for side, step in zip(kernel, steps)]
        places = _places(site, shape, reach)
        for axis, side, each in zip("hw", kernel, steps):
            places.update({f"filter_{axis}": side, f"dilation_{axis}": each})
    else:
        places = geometry(call, shape[1:], kernel)
    made = (count, places["output_h"], places["output_w"])
    channels = {"input_c": depth, "output_c": count, "filter_c": weights.shape[1], "batches": 1}
    given: Any = _bias(site)
    bias = given.real if isinstance(given, Fixed) else np.zeros(count) if given is None else given
    if not isinstance(bias, np.ndarray) or bias.size != count:
        raise ModelError(f"its bias must be {count} constants")
    floats, builder = site.floats(0), site.builder

    def real() -> Int:
        x = builder.ordered(floats(), range(3))
        y = Int(call.node.outputs[0], made, (0, 1, 2), x.format)
        arrays = (weights.astype(np.float32), bias.reshape(-1).astype(np.float32))
        return builder.call(function, {**places, **channels}, [x], y, *arrays)

    return floated(site, made, real)


def _of_groups(site: Site, filters: np.ndarray) -> np.ndarray:
    """Return filters [out / groups, h, w, in] of groups as filters [out, h, w, in]."""
    groups = site.call.integer("group", 1)
    own, height, width, depth = filters.shape
    if groups < 1 or depth % groups:
        raise ModelError(f"its {groups} groups do not divide {depth} channels")
    if groups == 1:
        return filters
    site.builder.note(_TRANSPOSED, site.call.node.outputs[0])
    parts = filters.reshape(own, height, width, groups, depth // groups)
    whole = np.zeros((groups, own, height, width, groups, depth // groups), filters.dtype)
    for group in range(groups):
        whole[group, :, :, :, group] = parts[:, :, :, group]
    return whole.reshape(groups * own, height, width, depth)


def _spaced(call: OnnxCall, filters: np.ndarray) -> np.ndarray:
    """Return filters with the zeros between their taps that dilations are."""
    steps = call.integers("dilations") or [1, 1]
    if len(steps) != 2 or min(steps) < 1:
        raise ModelError(f"its dilations are {steps}; it must have one for each of two axes")
    count, height, width, depth = filters.shape
    reach = ((height - 1) * steps[0] + 1, (width - 1) * steps[1] + 1)
    whole = np.zeros((count, *reach, depth), filters.dtype)
    whole[:, :: steps[0], :: steps[1]] = filters
    return whole


def _reaching(filters: np.ndarray, places: dict[str, int]) -> tuple[np.ndarray, dict[str, int]]:
    """Return filters with zeros at their ends that reach all of the output."""
    lacks = []
    for axis in "hw":
        reach = (places[f"input_{axis}"] - 1) * places[f"stride_{axis}"] + places[f"filter_{axis}"]
        lacks.append(max(places[f"output_{axis}"] + places[f"pad_{axis}"] - reach, 0))
    more = {f"filter_{axis}": places[f"filter_{axis}"] + n for axis, n in zip("hw", lacks)}
    spread = np.pad(filters, [(0, 0), *((0, n) for n in lacks), (0, 0)])
    return spread, {**places, **more}


def _places(site: Site, shape: Shape, kernel: Sequence[int]) -> dict[str, int]:
    """Return sides, strides and pads of a transposed convolution."""
    call = site.call
    strides = call.integers("strides") or [1, 1]
    more = call.integers("output_padding") or [0, 0]
    if len(strides) != 2 or len(more) != 2 or min(strides) < 1 or min(more) < 0:
        raise ModelError(f"its strides {strides} or output_padding {more} are not of two axes")
    wanted = _wanted(call, shape[1:], strides)
    pads = _crops(call, wanted, shape[1:], kernel, strides, more)
    places: dict[str, int] = {}
    for axis, name in enumerate("hw"):
        size = shape[1 + axis]
        out = (size - 1) * strides[axis] + kernel[axis] - pads[axis] - pads[axis + 2] + more[axis]
        if "output_shape" in call.node.attributes and wanted is not None:
            out = wanted[axis]
        places.update({f"input_{name}": size, f"output_{name}": out})
        places.update({f"filter_{name}": kernel[axis], f"stride_{name}": strides[axis]})
        places.update({f"pad_{name}": pads[axis], f"dilation_{name}": 1})
    if min(places["output_h"], places["output_w"]) < 1:
        raise ModelError(
            f"its windows end before the image {list(shape)} begins; its output must have at "
            "least one pixel"
        )
    return places


def _wanted(call: OnnxCall, size: Sequence[int], strides: Sequence[int]) -> Optional[list[int]]:
    """Return height and width of the output, where the file says these and not the pads."""
    wanted = call.integers("output_shape")
    if wanted is None and call.text("auto_pad", "NOTSET").startswith("SAME"):
        return [n * stride for n, stride in zip(size, strides)]
    if wanted is not None and len(wanted) not in (2, 4):
        raise ModelError(f"its output_shape is {wanted}; it must have two axes")
    return None if wanted is None else wanted[-2:]


def _crops(
    call: OnnxCall,
    wanted: Optional[Sequence[int]],
    size: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int],
    more: Sequence[int],
) -> list[int]:
    """Return the rows above, columns on the left, rows below and columns on the right that are
    left out.
    """
    pads = call.integers("pads") or [0] * 4
    if wanted is None:
        if len(pads) != 4 or min(pads) < 0:
            raise ModelError(f"its pads are {pads}; they must be four numbers of 0 or more")
        return pads if call.text("auto_pad", "NOTSET") == "NOTSET" else [0] * 4
    found = [0] * 4
    for axis, out in enumerate(wanted):
        total = max((size[axis] - 1) * strides[axis] + more[axis] + kernel[axis] - out, 0)
        upper = call.text("auto_pad", "NOTSET") == "SAME_UPPER"
        after = total - total // 2 if upper else total // 2
        found[axis], found[axis + 2] = total - after, after
    return found


CONVOLUTIONS: dict[str, Converter] = {"Conv": convolve, "ConvTranspose": transpose_conv}
