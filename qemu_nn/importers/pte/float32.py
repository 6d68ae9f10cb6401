"""The portable operators on float32 that remain between the integers of a program."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np

from ...errors import ModelError
from ...functions.tflm_float import bits
from ..arguments import have_same_bytes
from .building import Value
from .call import Converter, PteCall
from .portable import axis_of, clamp, clamp_bound, make_turned_arguments
from .program import FileTensor


def _drop_leading_axes(sizes: Sequence[int]) -> list[int]:
    """Return sizes without the ones in front."""
    first = next((at for at, side in enumerate(sizes) if side != 1), len(sizes))
    return list(sizes[first:])


def _operands(call: PteCall, output: FileTensor) -> list[Value]:
    """Return both operands in the shape of the output.

    The kernel takes them as they lie in memory where they have its sizes. Where it broadcasts, it
    goes through the logical axes and writes what it finds in turn, wherever the output's lie.
    """
    tensors = [call.tensor(at, "float32") for at in (0, 1)]
    call.same_order(*tensors, output)
    if all(
        _drop_leading_axes(tensor.sizes) == _drop_leading_axes(output.sizes) for tensor in tensors
    ):
        return [call.builder.read(tensor) for tensor in tensors]
    moved = [
        call.read_moved(f"in_order{at}", tensor, range(len(tensor.sizes)))
        for at, tensor in enumerate(tensors)
    ]
    return [call.broadcast(f"operand{at}", x, output.sizes) for at, x in enumerate(moved)]


def binary(call: PteCall, function: str, scaled: bool) -> None:
    """Convert add, sub, mul, div of float32; scaled: the second operand by a number."""
    call.expect(5 if scaled else 4)
    output = call.tensor(3 if scaled else 2, "float32")
    one, two = _operands(call, output)
    if scaled and call.real(2) != 1:
        factor = call.scalar("factor", call.real(2), two.shape)
        params = {"length": two.size, "activation": 0}
        two = call.part("scaled", "tflm_mul_f32", params, [factor, two], two)
    params = {"length": math.prod(output.sizes), "activation": 0}
    call.put(function, params, [one, two], output)


def _single(call: PteCall, count: int) -> tuple[Value, FileTensor]:
    """Return the input and the output of a function of each float32."""
    call.expect(count)
    x, output = call.value(0, "float32"), call.tensor(count - 2, "float32")
    call.same_order(call.tensor(0), output)
    return x, output


def unary(call: PteCall, function: str) -> None:
    """Convert a function of each float32."""
    x, output = _single(call, 3)
    call.put(function, {"length": x.size}, [x], output)


def sigmoid(call: PteCall) -> None:
    """Convert sigmoid: 1 / (1 + exp(-x)), each step rounded."""
    x, output = _single(call, 3)
    x, length = Value(x.name, x.dtype, (x.size,)), {"length": x.size}
    one = call.scalar("one", 1, x.shape)
    minus = call.part("minus", "tflm_neg_f32", length, [x], x)
    grown = call.part("exp", "tflm_exp_f32", length, [minus], x)
    ends = {**length, "activation": 0}
    below = call.part("sum", "tflm_add_f32", ends, [one, grown], x)
    call.put("tflm_div_f32", ends, [one, below], output)


def leaky_relu(call: PteCall) -> None:
    """Convert leaky_relu, of float32."""
    x, output = _single(call, 4)
    params = {"length": x.size, "alpha_bits": bits(call.real(1))}
    call.put("tflm_leaky_relu_f32", params, [x], output)


def elu(call: PteCall) -> None:
    """Convert elu: expm1(x) * (alpha * scale) for negative x, else x * scale."""
    x, output = _single(call, 6)
    alpha, scale = (np.float32(call.real(at)) for at in (1, 2))
    if call.real(3) != 1:
        raise ModelError(f"it scales its input by {call.real(3)}, which is not supported")
    x, length = Value(x.name, x.dtype, (x.size,)), {"length": x.size}
    if alpha == 1 and scale == 1:
        call.put("tflm_elu_f32", length, [x], output)
        return
    x = call.part("elu", "tflm_elu_f32", length, [x], x)
    below = {**length, "alpha_bits": bits(alpha * scale)}
    if scale == 1:
        call.put("tflm_leaky_relu_f32", below, [x], output)
        return
    x = call.part("below", "tflm_leaky_relu_f32", below, [x], x)
    x = call.part("minus", "tflm_neg_f32", length, [x], x)
    above = {**length, "alpha_bits": bits(scale)}
    x = call.part("above", "tflm_leaky_relu_f32", above, [x], x)
    call.put("tflm_neg_f32", length, [x], output)


def relu(call: PteCall) -> None:
    """Convert relu, of float32, or of the integers of int8 themselves."""
    call.expect(3)
    x, output = call.value(0, "int8", "float32"), call.tensor(1, "int8", "float32")
    call.same_order(call.tensor(0), output)
    if x.dtype != output.dtype:
        raise ModelError(
            f"its output, {output}, must have the type and elements of its input, {x.dtype}"
        )
    clamp(call, x, [0.0, None], output)


def hardtanh(call: PteCall) -> None:
    """Convert hardtanh, of float32: both limits, one after the other."""
    x, output = _single(call, 5)
    clamp_bound(call, x, [call.real(1), call.real(2)], output)


def mean(call: PteCall) -> None:
    """Convert mean.out, of float32 along axes that form one or two groups."""
    call.expect(6)
    source, output = call.tensor(0, "float32"), call.tensor(4, "float32")
    call.in_order(source, output)
    rank = len(source.sizes)
    given = [] if call.argument(1) is None else call.integers(1)
    axes = {axis % rank for axis in given} if rank and given else set(range(rank))
    sides = [1]  # of alternating groups of kept and reduced axes
    for axis, side in enumerate(source.sizes):
        if (axis in axes) == (len(sides) % 2 == 0):
            sides[-1] *= side
        else:
            sides.append(side)
    if len(sides) > 5 or any(not -rank <= axis < rank for axis in given):
        raise ModelError(f"it takes the mean along the axes {given}, which is not supported")
    names = ("kept_0", "reduced_0", "kept_1", "reduced_1", "kept_2")
    params = dict(zip(names, [*sides, 1, 1, 1, 1]))
    call.put("tflm_mean_f32", params, [call.value(0)], output)


def softmax(call: PteCall, log: bool = False) -> None:
    """Convert _softmax and _log_softmax, of float32 along the last axis."""
    call.expect(5)
    source, output = call.tensor(0, "float32"), call.tensor(3, "float32")
    call.same_order(source, output)
    rank = len(source.sizes)
    axis = axis_of(call, 1, rank)
    if not have_same_bytes(source.sizes, source.order, range(rank)):
        raise ModelError(
            f"it takes axis {axis} of {source}, whose channels are last in memory: the "
            "device's kernel writes beyond its output, or only a part of it"
        )
    inner = math.prod(source.sizes[axis + 1 :])
    size, outer = source.sizes[axis], math.prod(source.sizes[:axis])
    params = {"num_rows": outer * inner, "row_size": size}
    function = "tflm_log_softmax_f32" if log else "tflm_softmax_f32"
    params = params if log else {**params, "beta_bits": bits(1)}
    x = call.value(0)
    if inner == 1:
        call.put(function, params, [x], output)
        return
    rows = Value(x.name, x.dtype, (outer, inner, size))
    swapped = make_turned_arguments((outer, size, inner))
    x = call.part("rows", "tflm_transpose_f32", swapped, [x], rows)
    x = call.part("softmax", function, params, [x], rows)
    call.put("tflm_transpose_f32", make_turned_arguments((outer, inner, size)), [x], output)


REAL: dict[str, Converter] = {
    "aten::add.out": partial(binary, function="tflm_add_f32", scaled=True),
    "aten::sub.out": partial(binary, function="tflm_sub_f32", scaled=True),
    "aten::mul.out": partial(binary, function="tflm_mul_f32", scaled=False),
    "aten::div.out": partial(binary, function="tflm_div_f32", scaled=False),
    "aten::abs.out": partial(unary, function="tflm_abs_f32"),
    "aten::neg.out": partial(unary, function="tflm_neg_f32"),
    "aten::exp.out": partial(unary, function="tflm_exp_f32"),
    "aten::log.out": partial(unary, function="tflm_log_f32"),
    "aten::sqrt.out": partial(unary, function="tflm_sqrt_f32"),
    "aten::tanh.out": partial(unary, function="tflm_tanh_f32"),
    "aten::relu.out": relu,
    "aten::sigmoid.out": sigmoid,
    "aten::leaky_relu.out": leaky_relu,
    "aten::elu.out": elu,
    "aten::hardtanh.out": hardtanh,
    "aten::mean.out": mean,
    "aten::_softmax.out": softmax,
    "aten::_log_softmax.out": partial(softmax, log=True),
}
