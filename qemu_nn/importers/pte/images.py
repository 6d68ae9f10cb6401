"""The portable operators with windows, on images, and norms of layers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...errors import ModelError
from ...functions.tflm_float import bits
from ..arguments import CELL_LIMIT, SIDE_LIMIT, SUFFIXES, sides
from .building import Value
from .call import LAST, Converter, PteCall
from .program import FileTensor

_ORDER = (0, 1, 2, 3)


def _images(call: PteCall, count: int, *dtypes: str) -> tuple[FileTensor, FileTensor]:
    """Return the input, and an output of the same type, of four axes each."""
    source = call.tensor(0, *dtypes)
    output = call.tensor(count, source.dtype)
    if len(source.sizes) != 4 or len(output.sizes) != 4:
        raise ModelError(f"its input is {source} and its output {output}; both must have 4 axes")
    if source.sizes[:2] != output.sizes[:2]:
        raise ModelError(
            f"its input is {source} and its output {output}; both must have the same images and "
            "channels"
        )
    return source, output


def _ends(source: FileTensor, output: FileTensor) -> dict[str, int]:
    """Return images, sides and channels as arguments."""
    (n, c, height, width), (_, _, out_h, out_w) = source.sizes, output.sizes
    return {
        **{"batches": n, "channels": c, "input_h": height, "input_w": width},
        **{"output_h": out_h, "output_w": out_w},
    }


# ---- pooling ----


def max_pool(call: PteCall) -> None:
    """Convert max_pool2d_with_indices without readers of its indices."""
    call.expect(9)
    source, output = _images(call, 6, "int8", "float32")
    call.same_order(source, output)
    gaps = call.pair(4, "dilation", 1)
    step = call.pair(2 if call.integers(2) else 1, "stride", 1)
    window = {**call.pair(1, "filter", 1), **step, **call.pair(3, "pad", 0)}
    x = call.read_moved("channels_last", source, LAST)
    call.builder.forget(call.tensor(7, "int64"))
    params = {**_ends(source, output), **window}
    if any(window[f"filter_{a}"] > 1 and gaps[f"dilation_{a}"] > 1 for a in "hw"):
        _convert_gapped_pool(call, x, {**params, **gaps}, output)
    elif source.dtype == "int8":
        params.update(act_min=-128, act_max=127)
        call.put_moved("arm_max_pool_s8", params, [x], output, LAST)
    else:
        call.put_moved("tflm_max_pool_f32", {**params, "activation": 0}, [x], output, LAST)


def _convert_gapped_pool(call: PteCall, x: Value, p: dict[str, int], output: FileTensor) -> None:
    """Convert maximum pooling with gaps between window cells, cell by cell."""
    if x.dtype != "int8" or p["filter_h"] * p["filter_w"] > CELL_LIMIT:
        raise ModelError(
            f"its windows are dilated, which is supported for int8 and up to {CELL_LIMIT} "
            "cells only"
        )
    pre, post = [0, 0, 0, 0], [0, 0, 0, 0]
    for at, axis in enumerate("hw", 1):
        reach = (p[f"output_{axis}"] - 1) * p[f"stride_{axis}"] + 1
        reach += (p[f"filter_{axis}"] - 1) * p[f"dilation_{axis}"]
        pre[at] = p[f"pad_{axis}"]
        post[at] = max(reach - x.shape[at] - pre[at], 0)
    wide = tuple(a + n + b for a, n, b in zip(pre, x.shape, post))
    padding = {"pad_value": -128, **sides("input", x.shape)}
    padding.update({**sides("pre", pre), **sides("post", post)})
    x = call.part("padded", "arm_pad_s8", padding, [x], Value("", x.dtype, wide))
    shape = tuple(output.sizes[axis] for axis in LAST)
    like = Value("", x.dtype, shape)
    pairs = {**sides("input1", shape), **sides("input2", shape)}
    cells = [(ky, kx) for ky in range(p["filter_h"]) for kx in range(p["filter_w"])]
    largest = None
    for number, (ky, kx) in enumerate(cells):
        begins = (0, ky * p["dilation_h"], kx * p["dilation_w"], 0)
        steps = (1, p["stride_h"], p["stride_w"], 1)
        params = dict(zip(("input_0", "begin_0", "stride_0", "output_0"), (1, 0, 1, 1)))
        for at, numbers in enumerate(zip(wide, begins, steps, shape), 1):
            names = (f"input_{at}", f"begin_{at}", f"stride_{at}", f"output_{at}")
            params.update(zip(names, numbers))
        cell = call.part(f"cell{number}", "tflm_slice_s8", params, [x], like)
        if largest is None:
            largest = cell
        elif number < len(cells) - 1:
            inputs = [largest, cell]
            largest = call.part(f"largest{number}", "arm_maximum_s8", pairs, inputs, like)
        else:
            call.put_moved("arm_maximum_s8", pairs, [largest, cell], output, LAST)


def adaptive_pool(call: PteCall) -> None:
    """Convert _adaptive_avg_pool2d, of float32."""
    call.expect(4)
    source, output = call.tensor(0, "float32"), call.tensor(2, "float32")
    call.in_order(source, output)
    _put_averages(call, source, output)


def _put_averages(call: PteCall, source: FileTensor, output: FileTensor) -> None:
    """Append averages of windows that share out each side."""
    rank = len(source.sizes)
    if rank not in (3, 4) or source.sizes[:-2] != output.sizes[:-2]:
        raise ModelError(f"it makes {output} of {source}")
    params = {"planes": math.prod(source.sizes[:-2])}
    for name, tensor in (("input", source), ("output", output)):
        params.update(zip((f"{name}_h", f"{name}_w"), tensor.sizes[-2:]))
    call.put("executorch_adaptive_average_f32", params, [call.value(0)], output)


def average_pool(call: PteCall) -> None:
    """Convert avg_pool2d of float32, whose windows lie side by side and cover the image.

    Windows with another stride never make an output of this size. ExecuTorch's Arm backend leaves
    averages with a stride above 3 to the core.
    """
    call.expect(9)
    source, output = call.tensor(0, "float32"), call.tensor(7, "float32")
    call.in_order(source, output)
    sides = [*call.pair(1, "filter", 1).values()]
    covered = [count * side for count, side in zip(output.sizes[-2:], sides)]
    own = call.argument(6) in (None, math.prod(sides)) and not any(call.integers(3, 2))
    if covered != list(source.sizes[-2:]) or not own:
        raise ModelError(
            f"it makes {output} of {source} by windows of {sides}; these must lie side by side, "
            "without padding, and cover the image"
        )
    _put_averages(call, source, output)


# ---- other sizes ----


def _compute_ratios(call: PteCall, source: FileTensor, output: FileTensor, at: int) -> list[float]:
    """Return the size of each axis as a multiple of the input's."""
    factors, sizes = call.argument(at), call.argument(1)
    if isinstance(factors, list) and len(factors) == 2 and sizes is None:
        ratios = [float(factor) for factor in factors]
    elif factors is None and isinstance(sizes, list):
        pairs = zip(call.integers(1, 2), source.sizes[2:])
        ratios = [wanted / side for wanted, side in pairs]
    else:
        raise ModelError("it must have two sizes or two factors")
    if not all(0 < ratio <= SIDE_LIMIT for ratio in ratios) or max(output.sizes[2:]) > SIDE_LIMIT:
        raise ModelError(
            f"it resizes {source} to {output}, {ratios} times as large; factors must be "
            f"positive, and sides at most {SIDE_LIMIT}"
        )
    return ratios


def nearest(call: PteCall) -> None:
    """Convert upsample_nearest2d: each output is the input at the integer part of its position."""
    call.expect(5)
    source, output = _images(call, 3, "int8", "float32")
    call.same_order(source, output)
    x, suffix = call.value(0), SUFFIXES[source.dtype]
    ratios = _compute_ratios(call, source, output, 2)
    for axis, ratio in zip((2, 3), ratios):
        count, side = output.sizes[axis], source.sizes[axis]
        found = np.floor(np.arange(count, dtype=np.float32) * np.float32(1.0 / ratio))
        places = np.minimum(found, side - 1).astype(np.int32)
        index = Value(f"{call.name}/places{axis}", "int32", (count,))
        call.builder.call("tflm_constant_s32", {"length": count}, [], index, places)
        at = source.order.index(axis)
        shape = (*x.shape[:at], count, *x.shape[at + 1 :])
        params = {"batches": 1, "outer": math.prod(x.shape[:at]), "side": side, "count": count}
        params.update(inner=math.prod(x.shape[at + 1 :]), depth=1, step_0=1)
        params.update({f"step_{i}": 0 for i in range(1, 5)})
        if axis == 3:
            call.put(f"tflm_gather_{suffix}", params, [x, index], output)
        else:
            like = Value("", x.dtype, shape)
            x = call.part("rows", f"tflm_gather_{suffix}", params, [x, index], like)


def bilinear(call: PteCall) -> None:
    """Convert upsample_bilinear2d, of float32."""
    call.expect(6)
    source, output = _images(call, 4, "float32")
    call.same_order(source, output)
    align = call.flag(2)
    params = {**_ends(source, output), "align_corners": int(align)}
    ratios = _compute_ratios(call, source, output, 3)
    for axis, ratio, side, made in zip("hw", ratios, source.sizes[2:], output.sizes[2:]):
        corners = (side - 1) / (made - 1) if made > 1 else 0.0
        params[f"scale_{axis}_bits"] = bits(corners if align else 1.0 / ratio)
    x = call.read_moved("channels_last", source, LAST)
    call.put_moved("executorch_upsample_bilinear_f32", params, [x], output, LAST)


# ---- layers ----


def _pair(call: PteCall, index: int, name: str, rank: int, alone: int) -> dict[str, int]:
    """Return a number for each axis of a window; a signal is an image of one row."""
    numbers = call.integers(index)
    numbers = [alone, *numbers] if rank == 3 else numbers * (2 if len(numbers) == 1 else 1)
    if len(numbers) != 2 or min(numbers) < (0 if name == "pad" else 1):
        raise ModelError(f"its {name} is {numbers}")
    return {f"{name}_h": numbers[0], f"{name}_w": numbers[1]}


def _row(call: PteCall, index: int, count: int, otherwise: float) -> np.ndarray:
    """Return a constant of this many float32; without it, all are one number."""
    if call.argument(index) is None:
        return np.full(count, otherwise, np.float32)
    numbers = call.constant(index, "float32").reshape(-1)
    if numbers.size != count:
        raise ModelError(f"its argument {index} has {numbers.size} elements; it must have {count}")
    return numbers


def _make_image(sizes: Sequence[int]) -> tuple[int, ...]:
    return (*sizes[:2], 1, *sizes[2:]) if len(sizes) == 3 else tuple(sizes)


def convolution(call: PteCall) -> None:
    """Convert convolution, of float32: of signals and images, forwards and transposed."""
    call.expect(11)
    source, output = call.tensor(0, "float32"), call.tensor(9, "float32")
    weights, rank = call.constant(1, "float32"), len(source.sizes)
    call.same_order(source, output)
    if rank not in (3, 4) or len(output.sizes) != rank or weights.ndim != rank:
        raise ModelError(
            f"its input is {source}, its output {output} and its weights {list(weights.shape)}; "
            "all must have 3 or 4 axes"
        )
    transposed, groups = call.flag(6), call.integer(8, 1)
    (n, depth, *size), (_, count, *made) = _make_image(source.sizes), _make_image(output.sizes)
    outer, own, *kernel = _make_image(weights.shape)
    taken, rest = (count, depth) if transposed else (depth, count)
    if outer != rest or own * groups != taken:
        raise ModelError(
            f"its weights are {list(weights.shape)}, its input {source} and its output "
            f"{output}; their channels must agree"
        )
    params = {
        **{"batches": n, "input_c": depth, "output_c": count, "filter_c": own},
        **_pair(call, 3, "stride", rank, 1),
        **_pair(call, 4, "pad", rank, 0),
        **_pair(call, 5, "dilation", rank, 1),
    }
    for name, pair in (("input", size), ("output", made), ("filter", kernel)):
        params.update(zip((f"{name}_h", f"{name}_w"), pair))
    kind = "transpose_convolution" if transposed else "convolution"
    in_order = _ORDER[:rank]
    x, bias = call.read_moved("in_order", source, in_order), _row(call, 2, count, 0)
    call.put_moved(f"executorch_{kind}_f32", params, [x], output, in_order, weights, bias)


def layer_norm(call: PteCall) -> None:
    """Convert native_layer_norm, of float32, without readers of its means and deviations."""
    call.expect(9)
    source, output = call.tensor(0, "float32"), call.tensor(5, "float32")
    call.in_order(source, output)
    shape = call.integers(1)
    if not shape or list(source.sizes[-len(shape) :]) != shape:
        raise ModelError(f"it normalizes {shape} of {source}")
    size = math.prod(shape)
    params = {"num_rows": math.prod(source.sizes) // size, "row_size": size}
    params["eps_bits"] = bits(call.real(4))
    weights, bias = _row(call, 2, size, 1), _row(call, 3, size, 0)
    x = call.value(0)
    for index in (6, 7):
        call.builder.forget(call.tensor(index, "float32"))
    call.put("executorch_layer_norm_f32", params, [x], output, weights, bias)


IMAGES: dict[str, Converter] = {
    "aten::max_pool2d_with_indices.out": max_pool,
    "aten::_adaptive_avg_pool2d.out": adaptive_pool,
    "aten::avg_pool2d.out": average_pool,
    "aten::upsample_nearest2d.vec_out": nearest,
    "aten::upsample_bilinear2d.vec_out": bilinear,
    "aten::convolution.out": convolution,
    "aten::native_layer_norm.out": layer_norm,
}
