"""Inputs and states of a run, checked and concatenated for C."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Callable, Union

import numpy as np

from ..errors import Error
from ..io.arguments import as_array
from ..ir.graph import Graph, Tensor

#: An array; for several inputs, arrays in their order or by their names.
Inputs = Union[np.ndarray, Sequence[np.ndarray], Mapping[str, np.ndarray]]

#: The same for states; None: their values after reset.
State = Union[np.ndarray, Mapping[str, np.ndarray], None]


def arrange_by_name(
    graph: Graph, x: Inputs, read: Callable[[Any, str], np.ndarray] = as_array
) -> dict[str, np.ndarray]:
    """Return arrays by the names of a network's inputs; read: converts the value given for one."""
    return name_arrays(graph.name, [tensor.name for tensor in graph.inputs], x, read)


def name_arrays(
    owner: str, names: Sequence[str], x: Inputs, read: Callable[[Any, str], np.ndarray]
) -> dict[str, np.ndarray]:
    """Return arrays by names; owner: of the inputs, for messages."""
    if isinstance(x, Mapping):
        if set(x) != set(names):
            raise Error(
                f"the inputs given are {_quote_names(list(x))}, but the network has "
                f"{_quote_names(names)}"
            )
        return {name: read(x[name], f"the input {name!r}") for name in names}
    if len(names) == 1:
        return {names[0]: read(x, "the input")}
    if not isinstance(x, (list, tuple)) or len(x) != len(names):
        raise Error(
            f"{owner} has {len(names)} inputs: give a list of {len(names)} arrays, or a "
            f"dictionary with the names {_quote_names(names)}"
        )
    return {name: read(part, f"the input {name!r}") for name, part in zip(names, x)}


def _quote_names(names: Sequence[object]) -> str:
    shown = ", ".join(repr(str(name)[:60]) for name in names[:9])
    return f"{shown}, ..." if len(names) > 9 else shown


def take_rows(x: Inputs, piece: slice) -> Inputs:
    """Return the same samples of all arrays."""
    if isinstance(x, Mapping):
        return {name: np.asarray(part)[piece] for name, part in x.items()}
    if isinstance(x, (list, tuple)):
        return [np.asarray(part)[piece] for part in x]
    return np.asarray(x)[piece]


def expect_dtype(what: str, array: np.ndarray, tensor: Tensor) -> None:
    """Refuse elements of another type than the tensor's."""
    if array.dtype != np.dtype(tensor.dtype):
        if tensor.spelled is None and tensor.dtype not in ("int8", "int16"):
            raise Error(
                f"{what} must be {tensor.dtype}, but is {array.dtype}: convert it with "
                f"astype({tensor.dtype!r})"
            )
        frac = "" if tensor.frac is None else f" with {tensor.frac} fraction bits"
        form = f"{tensor.dtype}{frac}" if tensor.scale is None else tensor.spelled
        raise Error(
            f"{what} must be {tensor.dtype}, but is {array.dtype}: quantize it to the network's "
            f"input format first ({form}), as predict() does"
        )


def make_shape_error(
    what: str, axes: Sequence[str], shape: tuple[int, ...], array: np.ndarray
) -> Error:
    """Make the error for an array whose shape is not [*axes, *shape]."""
    want = ", ".join([*axes, *map(str, shape)])
    has = list(array.shape)
    hint = ""
    if array.shape[1:] == shape and len(axes) == 2:
        hint = (
            f": N samples of T time steps; for one sequence of {has[0]} steps give {[1, *has]} "
            "(x[np.newaxis])"
        )
    elif array.shape == shape:
        hint = f"; for one sample give {[1] * len(axes) + has}"
    return Error(f"{what} must have the shape [{want}], but has {has}{hint}")


def pack_inputs(graph: Graph, x: Mapping[str, np.ndarray], axes: Sequence[str]) -> np.ndarray:
    """Return all inputs concatenated for C: uint8 [*axes, bytes]."""
    parts = [x[tensor.name] for tensor in graph.inputs]
    lead = parts[0].shape[: len(axes)]
    if len(lead) < len(axes):
        raise _make_input_error(graph, x, axes)
    for tensor, part in zip(graph.inputs, parts):
        if part.dtype != tensor.dtype or part.shape != lead + tensor.shape:
            raise _make_input_error(graph, x, axes)
    return _join_bytes(parts, len(axes))


def _make_input_error(graph: Graph, x: Mapping[str, np.ndarray], axes: Sequence[str]) -> Error:
    """Make the error for inputs whose types or shapes differ from the network's."""
    what = {
        tensor.name: "the input" if len(graph.inputs) == 1 else f"the input {tensor.name!r}"
        for tensor in graph.inputs
    }
    for tensor in graph.inputs:
        array = x[tensor.name]
        expect_dtype(what[tensor.name], array, tensor)
        lead = array.shape[: len(axes)]
        if len(lead) < len(axes) or array.shape != lead + tensor.shape:
            return make_shape_error(what[tensor.name], axes, tensor.shape, array)
    first = list(x[graph.input.name].shape[: len(axes)])
    others = ((name, list(array.shape[: len(axes)])) for name, array in x.items())
    name, own = next((name, own) for name, own in others if own != first)
    return Error(
        f"the input {name!r} begins with the axes {own}, but {graph.input.name!r} with {first}: "
        f"all inputs need the same {' and '.join(axes)}"
    )


def pack_reset(graph: Graph) -> np.ndarray:
    """Return all states after reset, concatenated for C: uint8 [bytes]."""
    zeros = {tensor.name: np.zeros(tensor.shape, tensor.dtype) for tensor in graph.states}
    return _join_bytes([graph.arrays.get(name, values) for name, values in zeros.items()], 0)


def pack_state(
    graph: Graph, state: Union[np.ndarray, Mapping[str, np.ndarray]], lead: tuple[int, ...]
) -> np.ndarray:
    """Return all states concatenated for C: uint8 [*lead, bytes]."""
    tensors = graph.states
    if not tensors:
        if isinstance(state, Mapping) and not state:
            return np.zeros((*lead, 0), np.uint8)
        raise Error(f"{graph.name} is not recurrent and has no state: leave state out")
    if not isinstance(state, Mapping):
        state = {tensors[0].name: state}
    if set(state) != {t.name for t in tensors}:
        names = ", ".join(t.name for t in tensors)
        raise Error(f"state has {', '.join(map(str, state))}, but must have {names}")
    parts = []
    for tensor in tensors:
        part = as_array(state[tensor.name], f"state {tensor.name!r}")
        expect_dtype(f"state {tensor.name!r}", part, tensor)
        if part.shape != (*lead, *tensor.shape):
            want, has = [*lead, *tensor.shape], list(part.shape)
            raise Error(f"state {tensor.name!r} has the shape {has}, but must have {want}")
        parts.append(part)
    return _join_bytes(parts, len(lead))


def _join_bytes(parts: Sequence[np.ndarray], axes: int) -> np.ndarray:
    """Concatenate the bytes of arrays after the axes that they share."""
    lead = parts[0].shape[:axes]
    if math.prod(lead) == 1:  # which most live data are
        joined = bytearray().join([np.ascontiguousarray(part).data for part in parts])
        return np.frombuffer(joined, np.uint8).reshape(*lead, len(joined))
    flat = [
        np.ascontiguousarray(part).reshape(*part.shape[:axes], math.prod(part.shape[axes:]))
        for part in parts
    ]
    return np.concatenate([part.view(np.uint8) for part in flat], axis=-1)
