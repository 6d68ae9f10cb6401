"""Products, sums, normalization: with constants an Affine, of two tensors an Elementwise."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import partial

import numpy as np

from ...errors import ModelError
from ...operators import Affine, Dense, Elementwise, Gather, MatMul, Transpose
from ...operators.curve import X
from ..tensor import Tensor, Value
from .activation import convert_limits
from .building import MOST_PLACES, Converter, TensorflowCall, floats, scalar
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


def einsum(call: TensorflowCall, x: Tensor, other: Value) -> None:
    """Convert Einsum of a tensor with a constant or a tensor: a product over common axes."""
    text = call.node.text("equation", "").replace(" ", "")
    match = re.fullmatch(r"([a-zA-Z]+),([a-zA-Z]+)->([a-zA-Z]+)", text)
    first, second, out = match.groups() if match else ("", "", "")
    shapes = (x.shape, other.shape)
    unclear = [labels for labels in (first, second, out) if len({*labels}) < len(labels)]
    if not match or unclear or tuple(map(len, (first, second))) != tuple(map(len, shapes)):
        raise ModelError(f"its equation {text[:40]!r} does not fit {[*map(list, shapes)]}")
    of_batch, tensor = first[0], isinstance(other, Tensor)
    if not x.batched or out[0] != of_batch or (second[0] if tensor else of_batch) != of_batch:
        raise ModelError(f"its equation {text[:40]!r} mixes samples")
    first, second, out = first[1:], second[tensor:], out[1:]
    sizes = {**dict(zip(second, other.sample if isinstance(other, Tensor) else other.shape))}
    if any(sizes.setdefault(label, n) != n for label, n in zip(first, x.sample)):
        raise ModelError(f"its equation {text[:40]!r} does not fit {[*map(list, shapes)]}")
    shared, inner, rows, columns = (
        "".join(label for label in labels if (label in others, label in out) == where)
        for labels, others, where in (
            *((first, second, (True, True)), (first, second, (True, False))),
            *((first, second, (False, True)), (second, first, (False, True))),
        )
    )
    whole = {*shared, *rows, *columns} == {*out} and of_batch not in second
    if not whole or {*first} | {*second} != {*out} | {*inner} or (shared and not tensor):
        raise ModelError(f"its equation {text[:40]!r} is no product over common axes")
    x = _arrange(call, x, first, (shared, rows, inner), sizes, "left")
    if isinstance(other, Tensor):
        y = _arrange(call, other, second, (shared, columns, inner), sizes, "right")
        made = call.put(MatMul(True), x, y, part="product")
    else:
        places = [second.index(label) for label in columns + inner]
        count = math.prod(sizes[label] for label in columns)
        matrix = floats(other).transpose(places).reshape(count, -1)
        made = call.put(Dense(matrix), x, part="product")
    found = shared + rows + columns
    made = call.reshape(made, (1, *(sizes[label] for label in found)), part="axes")
    call.put(Transpose(tuple(found.index(label) for label in out)), made)


def _arrange(
    call: TensorflowCall,
    x: Tensor,
    labels: str,
    groups: tuple[str, str, str],
    sizes: Mapping[str, int],
    part: str,
) -> Tensor:
    """Return a tensor with its axes in groups; the last two groups are one axis each."""
    order = "".join(groups)
    x = call.put(Transpose(tuple(labels.index(label) for label in order)), x, part=part)
    outer, rows, inner = ([sizes[label] for label in group] for group in groups)
    return call.reshape(x, (1, *outer, math.prod(rows), math.prod(inner)), part=f"{part}_matrix")


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
    """Append an Affine; its arrays may have a batch axis of one element, and more elements than the
    tensor has along an axis.
    """
    arrays = []
    for array in (scale, offset):
        while array.ndim > len(x.sample) and array.shape[0] == 1:
            array = array[0]
        arrays.append(floats(array.astype(np.float64)))
        x = _repeat_elements(call, x, array.shape)
    return call.put(Affine(*arrays), x, part=part)


def _repeat_elements(call: TensorflowCall, x: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Return a tensor with axes of one element repeated to those of a constant."""
    sides = (1,) * (len(x.sample) - len(shape)) + shape
    if len(sides) != len(x.sample):
        return x
    for axis, (side, wanted) in enumerate(zip(x.sample, sides)):
        if side == 1 < wanted <= MOST_PLACES:
            x = call.put(Gather(axis, (0,) * wanted), x, part=f"axis{axis}")
    return x


ARITHMETIC: dict[str, Converter] = {
    "MatMul": ("xv", partial(matmul, flags=("transpose_a", "transpose_b"))),
    **dict.fromkeys(
        ("BatchMatMul", "BatchMatMulV2"), ("xv", partial(matmul, flags=("adj_x", "adj_y")))
    ),
    "Einsum": ("xv", einsum),
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
