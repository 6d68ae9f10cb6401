"""The portable operators on float32 that remain between the integers of a program."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from ...errors import ModelError
from ...functions.tflm_float import bits
from .building import Value
from .call import Call, Converter
from .portable import axis_of, contiguous, turned
from .program import FileTensor


def _same_order(*tensors: FileTensor) -> None:
    """Refuse what the operator's check of layouts refuses."""
    in_order = {tensor.order == tuple(range(len(tensor.order))) for tensor in tensors}
    if len(in_order) > 1:
        raise ModelError(
            "its operands' axes lie in memory in different orders: the device's kernel refuses "
            "that, and the program stops"
        )


def binary(call: Call, function: str, scaled: bool) -> None:
    """add, sub, mul, div of float32; scaled: the second operand by a number."""
    call.expect(5 if scaled else 4)
    out = 3 if scaled else 2
    if scaled and call.real(2) != 1:
        raise ModelError(f"it scales its second operand by {call.real(2)}, which is not supported")
    tensors, output = [call.tensor(at, "float32") for at in (0, 1)], call.tensor(out, "float32")
    _same_order(*tensors, output)
    inputs = [
        call.spread(f"operand{at}", call.builder.read(tensor), output.shape)
        for at, tensor in enumerate(tensors)
    ]
    size = math.prod(output.sizes)
    call.put(function, {"length": size, "activation": 0}, inputs, output)


def unary(call: Call, function: str, count: int = 3) -> None:
    """A function of each float32."""
    call.expect(count)
    x, output = call.value(0, "float32"), call.tensor(count - 2, "float32")
    call.put(function, {"length": x.size}, [x], output)


def leaky_relu(call: Call) -> None:
    """leaky_relu, of float32."""
    call.expect(4)
    x = call.value(0, "float32")
    params = {"length": x.size, "alpha_bits": bits(call.real(1))}
    call.put("tflm_leaky_relu_f32", params, [x], call.tensor(2, "float32"))


def elu(call: Call) -> None:
    """elu, of float32."""
    call.expect(6)
    if [call.real(at) for at in (1, 2, 3)] != [1, 1, 1]:
        raise ModelError("it has scales other than 1, which is not supported")
    x = call.value(0, "float32")
    call.put("tflm_elu_f32", {"length": x.size}, [x], call.tensor(4, "float32"))


def hardtanh(call: Call) -> None:
    """hardtanh, of float32: both limits, one after the other."""
    call.expect(5)
    x, output = call.value(0, "float32"), call.tensor(3, "float32")
    ends = []
    for name, at in (("low", 1), ("high", 2)):
        one = Value(f"{call.name}/{name}", "float32", (1,))
        value = np.array([call.real(at)], np.float32)
        call.builder.call("tflm_constant_f32", {"length": 1}, [], one, value)
        ends.append(call.spread(f"{name}s", one, (x.size,)))
    flat = Value(x.name, "float32", (x.size,))
    raised = call.part("raised", "tflm_maximum_f32", {"length": x.size}, [flat, ends[0]], flat)
    call.put("tflm_minimum_f32", {"length": x.size}, [raised, ends[1]], output)


def mean(call: Call) -> None:
    """mean.out, of float32 along axes that follow each other."""
    call.expect(6)
    source, output = call.tensor(0, "float32"), call.tensor(4, "float32")
    contiguous(source, output)
    rank = len(source.sizes)
    axes = sorted({axis % rank for axis in call.integers(1)})
    if not axes or axes != list(range(axes[0], axes[-1] + 1)) or axes[-1] >= rank:
        raise ModelError(f"it takes the mean along the axes {axes}, which is not supported")
    first, last = axes[0], axes[-1] + 1
    sides = (source.sizes[:first], source.sizes[first:last], source.sizes[last:])
    kept, reduced, rest = map(math.prod, sides)
    params = {"kept_0": kept, "reduced_0": reduced, "kept_1": rest, "reduced_1": 1, "kept_2": 1}
    call.put("tflm_mean_f32", params, [call.value(0)], output)


def softmax(call: Call, log: bool = False) -> None:
    """_softmax and _log_softmax, of float32 along the last axis."""
    call.expect(5)
    source, output = call.tensor(0, "float32"), call.tensor(3, "float32")
    contiguous(source, output)
    rank = len(source.sizes)
    axis = axis_of(call, 1, rank)
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
    swapped = turned((outer, size, inner))
    x = call.part("rows", "tflm_transpose_f32", swapped, [x], rows)
    x = call.part("softmax", function, params, [x], rows)
    call.put("tflm_transpose_f32", turned((outer, inner, size)), [x], output)


REAL: dict[str, Converter] = {
    "aten::add.out": partial(binary, function="tflm_add_f32", scaled=True),
    "aten::sub.out": partial(binary, function="tflm_sub_f32", scaled=True),
    "aten::mul.out": partial(binary, function="tflm_mul_f32", scaled=False),
    "aten::div.out": partial(binary, function="tflm_div_f32", scaled=False),
    "aten::abs.out": partial(unary, function="tflm_abs_f32"),
    "aten::tanh.out": partial(unary, function="tflm_tanh_f32"),
    "aten::leaky_relu.out": leaky_relu,
    "aten::elu.out": elu,
    "aten::hardtanh.out": hardtanh,
    "aten::mean.out": mean,
    "aten::_softmax.out": softmax,
    "aten::_log_softmax.out": partial(softmax, log=True),
}
