"""Fully connected layers and products of matrices of quantized files."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from ....errors import ModelError
from ....functions.scaling import quantize_multiplier
from ....ir.formats import Format
from ...arguments import moves, sides
from .site import Converter, Site
from .values import Emit, Fixed, Int, Pending
from .windows import offsets, per_channel


def _product(site: Site, x: Int, weights: np.ndarray, held: Fixed, given: Any) -> Emit:
    """Rows of x times a matrix [out, in]."""
    rows, columns = weights.shape
    scales, zeros = held.scale.astype(np.float64).reshape(-1), held.zero.reshape(-1)
    if len(set(zeros.tolist())) > 1 or (scales.size > 1 and zeros.any()):
        raise ModelError("its weights have a zero point for each channel")
    bias = site.bias(given, np.broadcast_to(x.format.scale * scales, rows))
    whole = Fixed(held.data, held.scale, np.zeros(1), 0)

    def emit(form: Format, name: str, ends: tuple[float, float]) -> Int:
        params = {
            **{"batches": x.size // columns, "input_c": columns, "output_c": rows},
            **{"filter_offset": -int(zeros[0]), **offsets(x.format, form, ends)},
        }
        shape = (*x.shape[:-1], rows)
        made = Int(name, shape, tuple(range(len(shape))), form)
        own = weights.astype(np.int8)
        if scales.size > 1:
            channels = per_channel(x.format, whole, form, bias)
            function = "arm_fully_connected_per_channel_s8"
            return site.builder.call(function, params, [x], made, own, channels)
        factor = quantize_multiplier(x.format.scale * float(scales[0]) / form.scale)
        params.update(zip(("multiplier", "shift"), factor))
        return site.builder.call("arm_fully_connected_s8", params, [x], made, own, bias)

    return emit


def _rows(site: Site, x: Int, columns: int) -> Int:
    if x.shape[-1:] != (columns,):
        raise ModelError(f"its weights take {columns} columns, but its input is {[1, *x.shape]}")
    return site.builder.ordered(x, range(len(x.shape)))


def gemm(site: Site) -> Pending:
    """Gemm of one row, with a constant matrix."""
    call, x = site.call, site.integers(0)
    held = call.inputs[1]
    if call.number("alpha", 1.0) != 1 or call.number("beta", 1.0) != 1 or call.integer("transA", 0):
        raise ModelError("its alpha or beta is not 1, or it transposes its first input")
    if not isinstance(held, Fixed) or held.data.ndim != 2:
        raise ModelError("its matrix must be a quantized constant")
    turned = bool(call.integer("transB", 0))
    _check_axis(held, 0 if turned else 1)
    weights = held.data if turned else held.data.T
    x = _rows(site, x, weights.shape[1])
    given: Any = call.inputs[2] if len(call.inputs) > 2 else None
    emit = _product(site, x, weights, held, given)
    return Pending(emit, (*x.shape[:-1], len(weights)), clamps=True)


def _check_axis(held: Fixed, axis: int) -> None:
    if held.scale.size > 1 and held.axis % 2 != axis:
        raise ModelError("its matrix has a scale for each of something other than outputs")


def matmul(site: Site) -> Pending:
    """MatMul with a constant matrix, which may get a bias, or of two tensors."""
    call, x = site.call, site.integers(0)
    held: Any = call.inputs[1]
    if not isinstance(held, Fixed):
        return _matrices(site, x, site.integers(1))
    if held.data.ndim != 2:
        raise ModelError(f"its constant {list(held.data.shape)} must be a matrix")
    _check_axis(held, 1)
    weights = held.data.T
    x = _rows(site, x, weights.shape[1])
    return Pending(
        _product(site, x, weights, held, None),
        (*x.shape[:-1], len(weights)),
        clamps=True,
        matrix=lambda bias: _product(site, x, weights, held, bias),
    )


def _matrices(site: Site, x: Int, y: Int) -> Pending:
    """A product of two tensors of the same outer axes."""
    fits = len(x.shape) == len(y.shape) and len(x.shape) in (2, 3)
    if not fits or x.shape[:-2] != y.shape[:-2] or x.shape[-1] != y.shape[-2]:
        raise ModelError(f"{[1, *x.shape]} and {[1, *y.shape]} cannot be multiplied here")
    plain = range(len(x.shape))
    x, y = site.builder.ordered(x, plain), site.builder.ordered(y, plain)
    outer, depth, columns = math.prod(y.shape[:-2]), y.shape[-2], y.shape[-1]
    turned = replace(y, name=f"{y.name}/swapped", shape=(*y.shape[:-2], columns, depth))
    params = moves((outer, depth, columns), (0, 2, 1))
    y = site.builder.call("tflm_transpose_s8", params, [y], turned)
    shape = (*x.shape[:-1], columns)

    def emit(form: Format, name: str, ends: tuple[float, float]) -> Int:
        factor = quantize_multiplier(x.format.scale * y.format.scale / form.scale)
        kept = offsets(x.format, form, ends)
        product = {
            **sides("lhs", x.shape),
            **sides("rhs", y.shape),
            **{"adj_x": 0, "adj_y": 0, **kept},
            **{"lhs_offset": -x.format.zero_point, "rhs_offset": -y.format.zero_point},
            **dict(zip(("multiplier", "shift"), factor)),
        }
        made = Int(name, shape, tuple(range(len(shape))), form)
        return site.builder.call("arm_batch_matmul_s8", product, [x, y], made)

    return Pending(emit, shape, clamps=True)


DENSE: dict[str, Converter] = {"Gemm": gemm, "MatMul": matmul}
