"""Sums and products: matrices, normalization, and arithmetic of tensors and constants."""

from __future__ import annotations

from functools import partial

import numpy as np

from ...errors import ModelError
from ...operators import Affine, Dense, Elementwise, Identity, MatMul, Shape, Transpose
from ...operators.curve import X
from ..tensor import Tensor
from .activation import convert_clip
from .call import Converter, OnnxCall


def gemm(call: OnnxCall) -> None:
    """Convert Gemm: alpha * A * B + beta * C, where B and C are constants."""
    x, weights = call.tensor(), call.floats(1)
    if len(x.shape) != 2 or weights.ndim != 2:
        raise ModelError(
            f"its inputs are {list(x.shape)} and {list(weights.shape)}; their inner axes must "
            "be equal"
        )
    if call.integer("transA", 0):
        raise ModelError("its first input is transposed (transA), which mixes samples")
    weights = _scale(call, weights, call.number("alpha", 1.0))
    if not call.integer("transB", 0):
        weights = weights.T
    bias = None
    if call.has(2):
        bias, count = _scale(call, call.floats(2), call.number("beta", 1.0)), len(weights)
        if bias.shape not in ((), (1,), (count,), (1, 1), (1, count)):
            raise ModelError(f"its bias {list(bias.shape)} must have one number for each output")
        bias = np.broadcast_to(bias.reshape(-1), count)
    call.put(Dense(weights, bias), x)


def _scale(call: OnnxCall, array: np.ndarray, factor: float) -> np.ndarray:
    if factor == 1:
        return array
    call.builder.spend(array.size)
    with np.errstate(all="ignore"):
        return _finite((array * np.float64(factor)).astype(array.dtype))


def _finite(array: np.ndarray) -> np.ndarray:
    if not np.isfinite(array).all():
        raise ModelError("its constants give numbers that are not finite; they must be finite")
    return array


def matmul(call: OnnxCall) -> None:
    """Multiply the last axis by a constant matrix [in, out], or two tensors."""
    first, second = call.value(0), call.value(1)
    if isinstance(first, Tensor) and isinstance(second, Tensor):
        _multiply_tensors(call, first, second)
    elif isinstance(first, Tensor):
        call.put(Dense(_matrix(call, 1).T), first)
    else:
        assert isinstance(second, Tensor)  # constants alone are folded
        rank = len(second.sample)
        if rank < 2:
            raise ModelError(
                f"its second input is {list(second.shape)}; it must have two axes or more in a "
                "sample"
            )
        swap = Transpose((*range(rank - 2), rank - 1, rank - 2))
        product = call.put(swap, second, part="columns")
        product = call.put(Dense(_matrix(call, 0)), product, part="product")
        call.put(swap, product)


def _matrix(call: OnnxCall, index: int) -> np.ndarray:
    weights = call.floats(index)
    if weights.ndim != 2:
        raise ModelError(f"its input {index} is {list(weights.shape)}; it must be a matrix")
    return weights


def _multiply_tensors(call: OnnxCall, first: Tensor, second: Tensor) -> None:
    rank = max(len(first.shape), len(second.shape))
    if min(len(first.shape), len(second.shape)) < 2:
        raise ModelError(
            f"its inputs are {list(first.shape)} and {list(second.shape)}; both need two "
            "axes or more"
        )
    tensors = [_add_axes(call, each, (1,) * rank) for each in (first, second)]
    call.put(MatMul(), *tensors)


def batch_normalization(call: OnnxCall) -> None:
    """Convert (x - mean) / sqrt(variance + epsilon) * gamma + beta, for each channel."""
    x = call.tensor()
    call.ignore("momentum")  # which only training reads
    if call.integer("training_mode", 0) or not call.integer("spatial", 1):
        raise ModelError("it must use stored statistics of whole channels")
    if len(x.shape) < 2:
        raise ModelError(f"its input {list(x.shape)} has no channels on axis 1")
    shape = (x.shape[1], *(1 for _ in x.shape[2:]))
    arrays = [call.floats(i).astype(np.float64) for i in range(1, 5)]
    if any(array.shape != (x.shape[1],) for array in arrays):
        raise ModelError(f"its constants must have {x.shape[1]} elements, one for each channel")
    gamma, beta, mean, variance = (array.reshape(shape) for array in arrays)
    with np.errstate(all="ignore"):
        scale = gamma / np.sqrt(variance + call.number("epsilon", 1e-5))
        offset = beta - mean * scale
    scale_and_shift(call, x, scale, offset)


def chain(call: OnnxCall, kind: str) -> None:
    """Add, Mul, Sum, Max, Min of any number of inputs: tensors first, then constants."""
    values = [call.value(i) for i in range(len(call.inputs))]
    total, *others = sorted(values, key=lambda value: isinstance(value, np.ndarray))
    assert isinstance(total, Tensor)  # constants alone are folded
    if not others:
        call.reshape(total, total.shape)
    for i, other in enumerate(others, 1):
        part = str(i) if i < len(others) else ""
        if isinstance(other, Tensor):
            total = _elementwise(call, kind, total, other, part)
        else:
            total = _combine_constant(call, kind, total, other, part)


def _combine_constant(
    call: OnnxCall, kind: str, x: Tensor, constant: np.ndarray, part: str
) -> Tensor:
    if kind == "add":
        return scale_and_shift(call, x, np.ones(()), constant, part)
    if kind == "multiply":
        return scale_and_shift(call, x, constant, np.zeros(()), part)
    if constant.size != 1 or constant.ndim > len(x.shape):
        raise ModelError("its limit must be a single number")
    limit = float(constant.reshape(()))
    bounds = (limit, np.inf) if kind == "maximum" else (-np.inf, limit)
    return convert_clip(call, x, *bounds, part=part)


def subtract(call: OnnxCall) -> None:
    """Convert Sub of tensors, or of a tensor and a constant."""
    first, second = call.value(0), call.value(1)
    if isinstance(first, np.ndarray):
        scale_and_shift(call, call.tensor(1), -np.ones(()), call.floats(0))
    elif isinstance(second, np.ndarray):
        scale_and_shift(call, first, np.ones(()), -call.floats(1))
    else:
        _elementwise(call, "subtract", first, second)


def divide(call: OnnxCall) -> None:
    """Convert Div of tensors, or of a tensor and a constant."""
    first, second = call.value(0), call.value(1)
    if isinstance(first, Tensor) and isinstance(second, Tensor):
        _elementwise(call, "divide", first, second)
    elif isinstance(first, Tensor):
        with np.errstate(all="ignore"):
            factor = 1 / call.floats(1).astype(np.float64)
        scale_and_shift(call, first, factor, np.zeros(()))
    else:
        inverse = call.put(1.0 / X, call.tensor(1), part="inverse")
        scale_and_shift(call, inverse, call.floats(0), np.zeros(()))


def power(call: OnnxCall) -> None:
    """Convert Pow by a number, which is a product if the number is 2."""
    x, exponent = call.tensor(), call.array(1)
    if exponent.size != 1 or exponent.dtype.kind not in "fiu":
        raise ModelError("its exponent must be one number")
    number = float(exponent.reshape(()))
    if number == 1:
        call.put(Identity(), x)
    elif number == 2:
        call.put(Elementwise("multiply"), x, x)
    else:
        call.put(X**number, x)


def negate(call: OnnxCall) -> None:
    """Convert Neg."""
    scale_and_shift(call, call.tensor(), -np.ones(()), np.zeros(()))


def scale_and_shift(
    call: OnnxCall, x: Tensor, scale: np.ndarray, offset: np.ndarray, part: str = ""
) -> Tensor:
    """Return x * scale + offset, where both broadcast to x as they do in the file."""
    full = _broadcast(x.shape, scale.shape, offset.shape)
    x = _add_axes(call, x, full)
    if x.shape != full:
        raise ModelError(
            f"its constant would broadcast a tensor {list(x.shape)} to {list(full)}; the tensor "
            "must have the output's shape"
        )
    arrays = []
    for array in (scale, offset):
        call.builder.spend(array.size)
        array = _finite(array.astype(np.float64))
        array = array.reshape((1,) * (len(full) - array.ndim) + array.shape)
        arrays.append(array.reshape(()) if array.size == 1 else array[0] if x.batched else array)
    return call.put(Affine(*arrays), x, part=part)


def _elementwise(call: OnnxCall, kind: str, a: Tensor, b: Tensor, part: str = "") -> Tensor:
    """Return two tensors that broadcast as they do in the file."""
    full = _broadcast(a.shape, b.shape)
    a, b = _add_axes(call, a, full), _add_axes(call, b, full)
    return call.put(Elementwise(kind), a, b, part=part)


def _broadcast(*shapes: Shape) -> Shape:
    try:
        return tuple(np.broadcast_shapes(*shapes))
    except ValueError:
        raise ModelError(
            f"its inputs have the shapes {', '.join(map(str, shapes))}; they must broadcast to one"
        ) from None


def _add_axes(call: OnnxCall, x: Tensor, full: Shape) -> Tensor:
    """Return the tensor with as many axes as a shape that it broadcasts to, batched if that shape
    is.
    """
    shape, batched = (1,) * (len(full) - len(x.shape)) + x.shape, full[:1] == (1,)
    if shape == x.shape and batched == x.batched:
        return x
    return call.reshape(x, shape, part="axes", batched=batched)


ARITHMETIC: dict[str, Converter] = {
    "Gemm": gemm,
    "MatMul": matmul,
    "BatchNormalization": batch_normalization,
    "Add": partial(chain, kind="add"),
    "Sum": partial(chain, kind="add"),
    "Mul": partial(chain, kind="multiply"),
    "Max": partial(chain, kind="maximum"),
    "Min": partial(chain, kind="minimum"),
    "Sub": subtract,
    "Div": divide,
    "Neg": negate,
    "Pow": power,
}
