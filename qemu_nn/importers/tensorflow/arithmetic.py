"""Products, sums, normalization: with constants an Affine, of two tensors an Elementwise."""

from __future__ import annotations

from functools import partial

import numpy as np

from ...errors import ModelError
from ...operators import Affine, Dense, Elementwise, MatMul
from ...operators.curve import X
from ..tensor import Tensor, Value
from .activation import convert_limits
from .building import Converter, TensorflowCall, floats, scalar
from .windows import layout_of

_ZERO, _ONE = np.array(0.0), np.array(1.0)


def matmul(call: TensorflowCall, x: Tensor, weights: Value, flags: tuple[str, str]) -> None:
    """Convert MatMul and its batch form, by a constant [in, out] or of two tensors.

    flags: of transposed operands.
    """
    if call.node.flag(flags[0]):
        raise ModelError("it transposes its computed input; only weights may be transposed")
    if isinstance(weights, Tensor):
        call.put(MatMul(call.node.flag(flags[1])), x, weights)
        return
    if floats(weights).ndim != 2 or len(x.shape) < 2:
        raise ModelError(
            f"its inputs are {list(x.shape)} and {list(weights.shape)}; the second must be "
            "a matrix with the rows of the first's last axis"
        )
    call.put(Dense(weights if call.node.flag(flags[1]) else weights.T), x)


def add(call: TensorflowCall, a: Value, b: Value) -> None:
    """Add, AddV2."""
    x, other = _tensor_first(a, b)
    if isinstance(other, Tensor):
        call.put(Elementwise("add"), x, other)
    else:
        _affine(call, x, offset=floats(other))


def add_n(call: TensorflowCall, *terms: Value) -> None:
    """Convert AddN: two at a time, from the first on."""
    tensors = [term for term in terms if isinstance(term, Tensor)]
    if len(tensors) < max(len(terms), 2):
        raise ModelError(f"it adds {len(terms)} terms; it needs two or more, none of them constant")
    total, *others = tensors
    for i, term in enumerate(others, 1):
        total = call.put(Elementwise("add"), total, term, part=f"add{i}" if i < len(others) else "")


def subtract(call: TensorflowCall, a: Value, b: Value) -> None:
    """Convert Sub, of a constant or from one."""
    if isinstance(b, np.ndarray):
        add(call, a, -floats(b))
    elif isinstance(a, np.ndarray):
        _affine(call, b, scale=-_ONE, offset=floats(a))
    else:
        call.put(Elementwise("subtract"), a, b)


def squared_difference(call: TensorflowCall, a: Value, b: Value) -> None:
    """Convert SquaredDifference."""
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        away = call.put(Elementwise("subtract"), a, b, part="away")
    else:
        x, other = _tensor_first(a, b)
        assert isinstance(other, np.ndarray)  # it is not computed
        away = _affine(call, x, offset=-floats(other), part="away")
    call.put(Elementwise("multiply"), away, away)


def negate(call: TensorflowCall, x: Tensor) -> None:
    """Convert Neg."""
    _affine(call, x, scale=-_ONE)


def multiply(call: TensorflowCall, a: Value, b: Value) -> None:
    """Convert Mul."""
    x, other = _tensor_first(a, b)
    if isinstance(other, Tensor):
        call.put(Elementwise("multiply"), x, other)
    else:
        _affine(call, x, scale=floats(other))


def divide(call: TensorflowCall, x: Value, by: Value) -> None:
    """Convert RealDiv of tensors, or of a tensor and a constant."""
    if isinstance(by, Tensor):
        if isinstance(x, Tensor):
            call.put(Elementwise("divide"), x, by)
        else:
            _affine(call, call.put(1.0 / X, by, part="inverse"), scale=floats(x))
        return
    assert isinstance(x, Tensor)  # constants alone are folded
    if not floats(by).all():
        raise ModelError("it divides by zero; its divisor must not contain 0")
    _affine(call, x, scale=1 / by.astype(np.float64))


def extreme(call: TensorflowCall, a: Value, b: Value, kind: str) -> None:
    """Convert Maximum and Minimum, of two tensors or with one number."""
    x, other = _tensor_first(a, b)
    if isinstance(other, Tensor):
        call.put(Elementwise(kind), x, other)
    elif kind == "maximum":
        convert_limits(call, x, low=scalar(other))
    else:
        convert_limits(call, x, high=scalar(other))


def bias_add(call: TensorflowCall, x: Tensor, bias: np.ndarray) -> None:
    """Convert BiasAdd: a number for each channel."""
    _affine(call, x, offset=_channels(call, x, floats(bias)))


def batch_norm(
    call: TensorflowCall,
    x: Tensor,
    gamma: np.ndarray,
    beta: np.ndarray,
    mean: np.ndarray,
    variance: np.ndarray,
) -> None:
    """Convert FusedBatchNorm and its later versions, which are equal for a constant mean."""
    if call.node.flag("is_training", default=True):
        raise ModelError(
            "is_training is set, so that every batch has its own mean; freeze for inference"
        )
    wide = (floats(array).astype(np.float64) for array in (gamma, beta, mean, variance))
    gamma, beta, mean, variance = (_channels(call, x, array) for array in wide)
    variance = variance + call.node.number("epsilon", 1e-4)
    if not (variance > 0).all():
        raise ModelError("its variance has values of 0 or below; they must be positive")
    scale = gamma / np.sqrt(variance)
    _affine(call, x, scale, beta - mean * scale)


def _tensor_first(a: Value, b: Value) -> tuple[Tensor, Value]:
    """Return two values, at least one of which is a tensor."""
    if isinstance(a, Tensor):
        return a, b
    assert isinstance(b, Tensor)
    return b, a


def _channels(call: TensorflowCall, x: Tensor, array: np.ndarray) -> np.ndarray:
    """Return a number for each channel, in a shape that broadcasts to a sample."""
    first = layout_of(call.node) == "NCHW"
    if array.ndim != 1 or not x.sample or len(array) != x.sample[0 if first else -1]:
        raise ModelError(
            f"its constant is {list(array.shape)}; it must have a number for each channel "
            f"of {list(x.shape)}"
        )
    return array.reshape(-1, *[1] * (len(x.sample) - 1)) if first else array


def _affine(
    call: TensorflowCall,
    x: Tensor,
    scale: np.ndarray = _ONE,
    offset: np.ndarray = _ZERO,
    part: str = "",
) -> Tensor:
    """Append an Affine; its arrays may have a batch axis of one element."""
    arrays = []
    for array in (scale, offset):
        while array.ndim > len(x.sample) and array.shape[0] == 1:
            array = array[0]
        arrays.append(floats(array.astype(np.float64)))
    return call.put(Affine(*arrays), x, part=part)


ARITHMETIC: dict[str, Converter] = {
    "MatMul": ("xv", partial(matmul, flags=("transpose_a", "transpose_b"))),
    **dict.fromkeys(
        ("BatchMatMul", "BatchMatMulV2"), ("xv", partial(matmul, flags=("adj_x", "adj_y")))
    ),
    **dict.fromkeys(("Add", "AddV2"), ("vv", add)),
    "AddN": ("+", add_n),
    "Sub": ("vv", subtract),
    "Neg": ("x", negate),
    "Mul": ("vv", multiply),
    **dict.fromkeys(("RealDiv", "Div"), ("vv", divide)),
    "SquaredDifference": ("vv", squared_difference),
    "Maximum": ("vv", partial(extreme, kind="maximum")),
    "Minimum": ("vv", partial(extreme, kind="minimum")),
    "BiasAdd": ("xc", bias_add),
    **dict.fromkeys(
        ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"), ("xcccc", batch_norm)
    ),
}
