"""Broadcasts, fills, and outputs that are known before a network runs, such as shapes."""

from __future__ import annotations

from dataclasses import replace
from typing import Optional

import numpy as np

from ...errors import ModelError
from .call import SUFFIXES, Converter, TfliteCall, adopt_format
from .shaping import EVERY, check_shape, check_type, read_pair
from .values import TfliteValue

#: The size of an axis in the input, 1 or the output's size, and in the output.
_Pair = tuple[int, int]


def _group_axes(x: TfliteValue, output: TfliteValue) -> list[_Pair]:
    """Merge the axes of a broadcast into groups that are alternately kept and repeated."""
    groups: list[_Pair] = []
    missing = len(output.shape) - len(x.shape)
    for inner, outer in zip((*[1] * missing, *x.shape), output.shape):
        if outer == 1:
            continue
        if groups and (groups[-1][0] == 1) == (inner == 1):
            inner, outer = inner * groups[-1][0], outer * groups.pop()[1]
        groups.append((inner, outer))
    return groups


def _broadcast(call: TfliteCall, x: TfliteValue, output: TfliteValue) -> None:
    """Add calls that repeat a tensor along axes of size 1."""
    missing = len(output.shape) - len(x.shape)
    if missing < 0 or any(a not in (1, b) for a, b in zip(x.shape, output.shape[missing:])):
        raise ModelError(f"its input {list(x.shape)} does not broadcast to {list(output.shape)}")
    x = adopt_format(call, x, output)
    groups = _group_axes(x, output)
    function = f"tflm_broadcast_{SUFFIXES[x.dtype]}"
    if len(groups) > 4:  # five alternating groups: a second call repeats the first of these
        first = groups.index(next(pair for pair in groups if pair[0] == 1))
        own = [(a, 1 if i == first else b) for i, (a, b) in enumerate(groups)]
        shape = tuple(b for _, b in own)
        like = replace(output, shape=shape)
        inner = _group_axes(replace(x, shape=tuple(a for a, _ in own)), like)
        x = call.add_part("broadcast", like, function, _broadcast_params(inner), [x])
        groups = _group_axes(x, replace(output, shape=tuple(b for _, b in groups)))
    call.put(function, _broadcast_params(groups), [x], output)


def _broadcast_params(groups: list[_Pair]) -> dict[str, int]:
    whole = [(1, 1)] * (4 - len(groups)) + groups
    names = ("input", "output")
    return {
        f"{n}_{axis}": pair[i] for axis, pair in zip("nhwc", whole) for i, n in enumerate(names)
    }


def broadcast(call: TfliteCall) -> None:
    """Convert BROADCAST_TO."""
    x, output = read_pair(call, 2, EVERY)
    call.check_counts(2, 2)
    if len(output.shape) > 5:
        raise ModelError(f"its output has {len(output.shape)} axes; up to 5 are supported")
    check_shape(output, call.integers(1))
    _broadcast(call, x, output)


def fill(call: TfliteCall) -> None:
    """Convert FILL."""
    call.check_counts(2, 2)
    types = check_type(call, 1, ("INT8", "INT32", "FLOAT32"))
    x, output = call.value(1, *types), call.output(0, *types)
    if x.shape:
        raise ModelError(f"its value is {list(x.shape)}; it must be a scalar")
    check_shape(output, call.integers(0))
    _broadcast(call, x, output)


def _put_constant(call: TfliteCall, output: TfliteValue, numbers: np.ndarray) -> None:
    """Add the call that copies a known output."""
    values = numbers.astype(output.dtype).reshape(-1)
    call.put(f"tflm_constant_{SUFFIXES[output.dtype]}", {"length": output.size}, [], output, values)


def zeros(call: TfliteCall) -> None:
    """Convert ZEROS_LIKE: every element is the integer 0, for every zero point."""
    call.check_counts(1, 1)
    types = check_type(call, 0, ("INT8", "INT32", "INT64", "FLOAT32"))
    output = call.output(0, *types)
    check_shape(output, call.tensor(0).shape)
    _put_constant(call, output, np.zeros(output.size))


def shape(call: TfliteCall) -> None:
    """Convert SHAPE to a constant, because the input's shape is known."""
    call.check_counts(1, 1)
    output, sides = call.output(0, "INT32"), call.tensor(0).shape
    if output.dtype != "int32":
        raise ModelError(f"its output is {output.dtype}; TensorFlow Lite Micro requires int32")
    check_shape(output, (len(sides),))
    _put_constant(call, output, np.array(sides))


def _known_elements(call: TfliteCall, index: int) -> Optional[np.ndarray]:
    """Return the elements of a known input; None if they may depend on the network's input."""
    tensor = call.tensor(index)
    if tensor.data is not None:
        return tensor.data
    name = call.value(index, "INT32", "INT64").name
    makers = [node for node in call.builder.nodes if node.name == name]
    known = bool(makers) and makers[0].function.op == "constant"
    return call.builder.arrays[makers[0].weights or ""] if known else None


def broadcast_args(call: TfliteCall) -> None:
    """Convert BROADCAST_ARGS of two known shapes."""
    call.check_counts(2, 2)
    types = check_type(call, 0, ("INT32", "INT64"))
    output = call.output(0, *types)
    check_type(call, 1, (call.tensor(0).type,))
    shapes = [_known_elements(call, index) for index in range(2)]
    sides: list[int] = []
    for known in shapes:
        if known is None or known.ndim > 1 or known.size > output.size:
            raise ModelError(
                "its shapes are computed; both must be known before the network runs, and no "
                "longer than its output"
            )
    whole = [[1] * (output.size - s.size) + s.ravel().tolist() for s in shapes if s is not None]
    for one, other in zip(*whole):
        if one != other and 1 not in (one, other):
            raise ModelError(f"its shapes {whole[0]} and {whole[1]} do not broadcast")
        sides.append(other if one == 1 else one)
    _put_constant(call, output, np.array(sides))


FILLING: dict[str, Converter] = {
    "BROADCAST_TO": broadcast,
    "BROADCAST_ARGS": broadcast_args,
    "FILL": fill,
    "SHAPE": shape,
    "ZEROS_LIKE": zeros,
}
