"""Lowering of transposed convolutions and products of two tensors."""

from __future__ import annotations

import math

import numpy as np

from ..errors import ModelError
from ..functions.s8_transpose import pad_after
from ..operators import ConvTranspose, MatMul, Shape, Slice
from .s8_context import S8Site
from .s8_conv_dense import make_channel_scaling, make_offsets, quantize_weights
from .s8_data_movement import append_slice, name_sides, pad_to_four_axes

#: Rows and columns of an image.
_AXES = "hw"


def convolve_transposed(site: S8Site, conv: ConvTranspose) -> None:
    """Append a transposed convolution, and slices of rows and columns that the device cannot leave
    out: CMSIS-NN leaves out whole strides of rows, and fewer than a filter has.
    """
    if min(conv.pads[:2]) < 0:
        raise ModelError(
            f"its pads {conv.pads} add rows or columns before the image's first, which no "
            "function does"
        )
    params = _make_geometry(site, conv)
    filters = _extend_filters(quantize_weights(site, conv.weights), params)
    params.update({f"filter_{axis}": n for axis, n in zip(_AXES, filters.shape[1:3])})
    rows = make_channel_scaling(site, conv.bias, len(filters))
    params.update(batches=1, input_c=site.image()[2], output_c=len(filters))
    params.update({f"dilation_{axis}": 1 for axis in _AXES})
    params.update(make_offsets(site))
    height, width, channels = site.image(-1)
    if site.wide:
        site.call("tflm_transpose_conv_s16", params, filters, rows)
        return
    function = "arm_transpose_conv_wrapper_s8"
    fronts = [_count_front(params, axis) for axis in _AXES]
    starts = [params[f"pad_{axis}"] - front for axis, front in zip(_AXES, fronts)]
    whole = [starts[0] + height, starts[1] + width]
    whole[0] = max(whole[0], params["input_h"] * params["stride_h"] - fronts[0])
    if whole == [height, width]:
        site.call(function, {**params, **pad_after(params)}, filters, rows)
        return
    for name, side, front in zip(_AXES, whole, fronts):
        params.update({f"output_{name}": side, f"pad_{name}": front})
    shape: Shape = (whole[0], whole[1], channels)
    params.update(pad_after(params))
    larger = site.call(function, params, filters, rows, part="whole", shape=shape)
    for axis, (start, side) in enumerate(zip(starts, (height, width))):
        if shape[axis] == side:
            continue
        cut = Slice(axis, start, start + side)
        own = (*shape[:axis], side, *shape[axis + 1 :])
        last = own == (height, width, channels)
        larger = append_slice(site, cut, own, "" if last else "rows", larger, shape)
        shape = own


def _make_geometry(site: S8Site, conv: ConvTranspose) -> dict[str, int]:
    """Return sides, strides and pads."""
    stems = ("input", "filter", "stride", "pad", "output")
    pairs = (site.image()[:2], conv.kernel, conv.stride, conv.pads[:2], site.image(-1)[:2])
    return {f"{n}_{a}": pair[i] for n, pair in zip(stems, pairs) for i, a in enumerate(_AXES)}


def _extend_filters(filters: np.ndarray, params: dict[str, int]) -> np.ndarray:
    """Return filters with zeros at their ends, such that they reach all of the output."""
    lacks = []
    for axis in _AXES:
        reach = (params[f"input_{axis}"] - 1) * params[f"stride_{axis}"] + params[f"filter_{axis}"]
        lacks.append(max(params[f"output_{axis}"] + params[f"pad_{axis}"] - reach, 0))
    return np.pad(filters, [(0, 0), *((0, lack) for lack in lacks), (0, 0)])


def _count_front(params: dict[str, int], axis: str) -> int:
    """Return the rows or columns before the output that every release leaves out correctly."""
    pad = params[f"pad_{axis}"]
    if axis == "h":
        pad -= pad % params["stride_h"]
    return pad if pad < params[f"filter_{axis}"] else 0


def multiply_matrices(site: S8Site, operator: MatMul) -> None:
    """Append a product of two tensors; the second one is transposed first if necessary."""
    first, second = site.shapes[:2]
    sources, (one, two, output) = site.sources, site.formats
    if not operator.transposed:
        turned = (*second[:-2], second[-1], second[-2])
        sources = (sources[0], _swap(site, turned))
        second = turned
    params = {
        **name_sides("lhs", pad_to_four_axes(first), "nhwc"),
        **name_sides("rhs", pad_to_four_axes(second), "nhwc"),
        **{"adj_x": 0, "adj_y": int(operator.transposed), "output_offset": output.zero_point},
        **{"lhs_offset": -one.zero_point, "rhs_offset": -two.zero_point},
        **site.clamp(),
    }
    pair = site.make_scaling(one.scale * two.scale / output.scale)
    params.update(zip(("multiplier", "shift"), pair))
    site.call(f"arm_batch_matmul_{site.suffix}", params, sources=sources)


def _swap(site: S8Site, turned: tuple[int, ...]) -> str:
    """Append the transposition of the second input's last two axes."""
    outer, columns, depth = math.prod(turned[:-2]), turned[-2], turned[-1]
    sides = {"input": (1, 1, 1, outer, depth, columns), "output": (1, 1, 1, outer, columns, depth)}
    sides["perm"] = (0, 1, 2, 3, 5, 4)
    params = {f"{stem}_{i}": n for stem, each in sides.items() for i, n in enumerate(each)}
    return site.call(
        f"tflm_transpose_{site.suffix}",
        params,
        part="swapped",
        shape=turned,
        sources=(site.sources[1],),
        output_format=site.formats[1],
    )
