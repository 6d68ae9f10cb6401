"""Fully connected layers and products of matrices of quantized files."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Callable

import numpy as np

from ....errors import ModelError
from ....functions.scaling import quantize_multiplier
from ....ir.formats import Format, activation_limits
from ...arguments import moves, sides
from .float32 import constant, floated, step, through
from .layers import fitting, made_of, real_weights, stays_float
from .site import Converter, Site, once
from .symbols import Emit, Fixed, Int, Pending


def _product(site: Site, x: Int, held: Fixed, data: np.ndarray, given: Any) -> Emit:
    """Return rows of x times a matrix; data: it, or it less its zero points, as [out, in]."""
    rows, columns = data.shape
    weights = made_of(site, x, held, data, given)
    zero = 0 if held.zero.size > 1 else -int(held.zero.reshape(()))
    single = x.kind == "s8" and held.scale.size == 1

    def emit(form: Format, name: str, ends: tuple[float, float]) -> Int:
        params, channels = weights.last_step(site, x.format, form, name, ends)
        shape = (*x.shape[:-1], rows)
        made = Int(name, shape, tuple(range(len(shape))), form)
        params = {**params, "batches": x.size // columns, "output_c": rows, "filter_offset": zero}
        taken, filters = (x, data.astype(np.int8)) if single else fitting(site, x, data)
        params["input_c"] = taken.shape[-1]
        if x.kind == "s16" and held.scale.size > 1:
            function, params = "arm_convolve_wrapper_s16", _points(params)
            return site.builder.call(function, params, [taken], made, filters, channels)
        if held.scale.size > 1:
            function = "arm_fully_connected_per_channel_s8"
            return site.builder.call(function, params, [taken], made, filters, channels)
        params.update(zip(("multiplier", "shift"), map(int, channels[1:, 0])))
        function = f"arm_fully_connected_{x.kind}"
        return site.builder.call(function, params, [taken], made, filters, channels[0])

    return emit


def _points(params: dict[str, int]) -> dict[str, int]:
    """Return rows as an image of so many pixels."""
    ones = ("input_w", "output_w", "filter_h", "filter_w", "stride_h", "stride_w", "dilation_h")
    count, depth = params["batches"], params["input_c"]
    made = {**params, **dict.fromkeys((*ones, "dilation_w"), 1), "pad_h": 0, "pad_w": 0}
    return {**made, "batches": 1, "input_h": count, "output_h": count, "filter_c": depth}


def _matrix(x: Int, held: Fixed) -> np.ndarray:
    """Return a matrix with its zero point where a function takes one, and less its zero points if
    not.
    """
    if x.kind == "s8" and held.scale.size == 1 and held.zero.size == 1:
        return held.data
    return held.symmetric


def _rows(site: Site, x: Int, columns: int) -> Int:
    if x.shape[-1:] != (columns,):
        raise ModelError(f"its weights take {columns} columns, but its input is {[1, *x.shape]}")
    return site.builder.ordered(x, range(len(x.shape)))


def gemm(site: Site) -> Pending:
    """Convert Gemm of one row, with a constant matrix."""
    call = site.call
    held: Any = call.optional(1)
    if stays_float(held):
        return _in_floats(site, bool(call.integer("transB", 0)))
    x = site.integers(0)
    if call.integer("transA", 0):
        raise ModelError("it transposes its first input; the first axis must remain the batch")
    if not isinstance(held, Fixed) or held.data.ndim != 2:
        raise ModelError("its matrix is computed or of floats; it must be a quantized constant")
    turned = bool(call.integer("transB", 0))
    _check_axis(held, 0 if turned else 1)
    weights = _matrix(x, held) if turned else _matrix(x, held).T
    x = _rows(site, x, weights.shape[1])
    alpha, beta, given = call.number("alpha", 1.0), call.number("beta", 1.0), call.optional(2)
    if not alpha > 0:
        raise ModelError(f"its alpha is {alpha}; it must be above 0")
    if alpha != 1:
        held = replace(held, scale=held.scale.astype(np.float64) * alpha)
    if beta != 1 and given is not None:
        given = _times(given, beta)
    emit = _product(site, x, held, weights, given)
    return Pending(emit, (*x.shape[:-1], len(weights)), clamps=True)


def _times(bias: Any, factor: float) -> np.ndarray:
    """Return a bias times a number, as floats."""
    if not isinstance(bias, (Fixed, np.ndarray)):
        raise ModelError("its bias must be a constant")
    real = bias.real if isinstance(bias, Fixed) else bias.astype(np.float64)
    scaled: np.ndarray = real * factor
    return scaled


def _in_floats(site: Site, turned: bool) -> Pending:
    """Return rows times a matrix that the file holds as floats; turned: as [out, in]."""
    call, shape, matrix = site.call, site.shape(), real_weights(site.call)
    if call.integer("transA", 0) or matrix.ndim != 2 or matrix.shape[turned] != shape[-1]:
        raise ModelError(
            f"its matrix is {list(matrix.shape)} and its input {[1, *shape]}; its inner axis "
            "must be the last of the input"
        )
    columns = matrix.shape[1 - turned]
    given: Any = call.optional(2)
    bias = given.real if isinstance(given, Fixed) else np.zeros(1) if given is None else given
    if not isinstance(bias, np.ndarray) or bias.size not in (1, columns):
        raise ModelError(f"its bias must be {columns} constants")
    matrix = matrix * np.float32(call.number("alpha", 1.0))
    bias = np.broadcast_to(bias.reshape(-1) * np.float32(call.number("beta", 1.0)), columns)
    floats, builder, rows = site.floats(0), site.builder, math.prod(shape[:-1])
    params = dict.fromkeys(("lhs_n", "lhs_h", "rhs_n", "rhs_h"), 1)
    params.update(rows=rows, depth=shape[-1], columns=columns, adj_x=0, adj_y=int(turned))

    def real() -> Int:
        x = builder.ordered(floats(), range(len(shape)))
        other = constant(builder, replace(x, shape=matrix.shape, order=(0, 1)), matrix)
        made = step(builder, "batch_matmul", [x, other], params, (*shape[:-1], columns))
        if not bias.any():
            return made
        added = constant(builder, made, np.tile(bias, rows))
        return step(builder, "add", [made, added], {"length": made.size, "activation": 0})

    return floated(site, (*shape[:-1], columns), real)


def _check_axis(held: Fixed, axis: int) -> None:
    if held.scale.size > 1 and held.axis % 2 != axis:
        raise ModelError(
            "its matrix has a scale for each input; it must have one scale, or one for each output"
        )


def matmul(site: Site) -> Pending:
    """Convert MatMul with a constant matrix, which may get a bias, or of two tensors."""
    call = site.call
    held: Any = call.optional(1)
    if stays_float(held):
        return _in_floats(site, False)
    if not isinstance(held, Fixed):
        return _matrices(site)
    x = site.integers(0)
    if held.data.ndim != 2:
        raise ModelError(f"its constant is {list(held.data.shape)}; it must be a matrix")
    _check_axis(held, 1)
    weights = _matrix(x, held).T
    x = _rows(site, x, weights.shape[1])
    return Pending(
        _product(site, x, held, weights, None),
        (*x.shape[:-1], len(weights)),
        clamps=True,
        matrix=lambda bias: _product(site, x, held, weights, bias),
    )


def _matrices(site: Site) -> Pending:
    """Return a product of two tensors of the same outer axes."""
    one, two = site.shape(0), site.shape(1)
    fits = len(one) == len(two) and len(one) in (2, 3)
    if not fits or one[:-2] != two[:-2] or one[-1] != two[-2]:
        raise ModelError(
            f"its inputs are {[1, *one]} and {[1, *two]}; they must have equal outer axes and "
            "one inner axis"
        )
    plain = range(len(one))
    floats = [site.floats(index) for index in range(2)]

    def real() -> Int:
        left, right = (site.builder.ordered(make(), plain) for make in floats)
        return _in_real(site, left, right, True)(left, right)

    if any(isinstance(site.call.value(index), Pending) for index in range(2)):
        return floated(site, (*one[:-1], two[-1]), real)
    x, y = site.integers(0), site.integers(1)
    x, y = site.builder.ordered(x, plain), site.builder.ordered(y, plain)
    if x.kind != y.kind:
        x, y = site.builder.widened(x), site.builder.widened(y)
    shape = (*x.shape[:-1], y.shape[-1])
    shifted = x.format.zero_point or y.format.zero_point
    in_real = x.kind == "s16" and bool(shifted)
    if not in_real:
        outer, depth, columns = math.prod(y.shape[:-2]), y.shape[-2], y.shape[-1]
        turned = replace(y, name=f"{y.name}/swapped", shape=(*y.shape[:-2], columns, depth))
        params = moves((outer, depth, columns), (0, 2, 1))
        y = site.builder.call(f"tflm_transpose_{y.kind}", params, [y], turned)

    def emit(form: Format, name: str, ends: tuple[float, float]) -> Int:
        if in_real or (x.kind == "s16" and form.zero_point):
            product = _in_real(site, x, y, in_real)
            return through(site.builder, [x, y], form, name, product, ends)
        factor = quantize_multiplier(x.format.scale * y.format.scale / form.scale)
        params = {
            **sides("lhs", x.shape),
            **sides("rhs", y.shape),
            **{"adj_x": 0, "adj_y": 0, "output_offset": form.zero_point},
            **{"lhs_offset": -x.format.zero_point, "rhs_offset": -y.format.zero_point},
            **activation_limits(*ends, form),
            **dict(zip(("multiplier", "shift"), factor)),
        }
        made = Int(name, shape, tuple(range(len(shape))), form)
        return site.builder.call(f"arm_batch_matmul_{x.kind}", params, [x, y], made)

    return Pending(emit, shape, clamps=True, real=once(real))


def _in_real(site: Site, x: Int, y: Int, plain: bool) -> Callable[[Int, Int], Int]:
    """Return the product of two tensors in float32; plain: whether the right one is not
    transposed.
    """
    *outer, rows, depth = (1, 1, *x.shape)[-4:]
    columns = y.shape[-1 if plain else -2]
    params = {
        **dict(zip(("lhs_n", "lhs_h", "rhs_n", "rhs_h"), (*outer, *outer))),
        **{"rows": rows, "depth": depth, "columns": columns, "adj_x": 0, "adj_y": int(not plain)},
    }
    shape = (*x.shape[:-1], columns)
    return lambda left, right: step(site.builder, "batch_matmul", [left, right], params, shape)


DENSE: dict[str, Converter] = {"Gemm": gemm, "MatMul": matmul}
