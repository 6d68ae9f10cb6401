"""Recurrent operators, whose sequences have the batch on their second axis."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ...errors import ModelError
from ...operators import Concat, Lstm, Operator, Reshape, Shape
from ..recurrent import Cell, add_lstm, add_steps, last_step
from ..tensor import Tensor
from .call import Converter, OnnxCall

#: Operator -> its gates, and the places in the file of those gates in this package's order.
_GATES = {"LSTM": (0, 2, 3, 1), "GRU": (0, 1, 2), "RNN": (0,)}

#: Operator -> the activations of one direction that are supported.
_ACTIVATIONS = {
    "LSTM": (["Sigmoid", "Tanh", "Tanh"],),
    "GRU": (["Sigmoid", "Tanh"],),
    "RNN": (["Tanh"], ["Relu"]),
}

_DIRECTIONS = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}


def recurrent(call: OnnxCall, kind: str) -> None:
    """Convert LSTM, GRU and RNN over a whole sequence from a state of zeros."""
    x, steps = _sequence(call)
    directions = _DIRECTIONS.get(call.text("direction", "forward"))
    if directions is None:
        raise ModelError(f"its direction is {call.text('direction', 'forward')!r}")
    activation = _check_attributes(call, kind, len(directions))
    _check_start(call, steps)
    add = _adder(call)
    arrays = _arrays(call, kind, len(directions))
    units = arrays[1].shape[-1]
    reset_after = bool(call.integer("linear_before_reset", 0)) if kind == "GRU" else True
    made = []
    for number, backwards in enumerate(directions):
        weights, again, bias, more = _split(kind, *(array[number] for array in arrays))
        named = partial(_named, add, "" if len(directions) == 1 else f"direction{number}/")
        if kind == "LSTM":
            lstm = Lstm(weights, again, bias + more)
            made.append(add_lstm(named, x.name, lstm, steps, backwards))
        else:
            cell = Cell(weights, again, bias, more, reset_after, activation)
            made.append(add_steps(named, x.name, cell, steps, backwards))
    _put_outputs(call, add, made, directions, (steps, units))


def _sequence(call: OnnxCall) -> tuple[Tensor, int]:
    """Return the sequence of one sample, [steps, inputs], and the number of steps."""
    x, last = call.tensor(), bool(call.integer("layout", 0))
    batch = 0 if last else 1
    if len(x.shape) != 3 or x.shape[batch] != 1 or x.batched != last:
        raise ModelError(
            f"its sequence {list(x.shape)} must be [steps, 1, inputs], as a Transpose of "
            "[1, steps, inputs] gives it"
        )
    steps = x.shape[1 - batch]
    if x.batched:
        return x, steps
    return call.reshape(x, (steps, x.shape[2]), part="sequence", batched=False), steps


def _check_attributes(call: OnnxCall, kind: str, directions: int) -> str:
    """Return the activation of a simple layer; raise ModelError for variants of layers."""
    call.integer("hidden_size", 0)  # the arrays have it
    call.ignore("activation_alpha", "activation_beta", "output_sequence")
    given: Any = call.node.attributes.get("activations")
    call.ignore("activations")
    if isinstance(given, list):
        given = [name.decode() if isinstance(name, bytes) else name for name in given]
    allowed = [activations * directions for activations in _ACTIVATIONS[kind]]
    if given is not None and given not in allowed:
        raise ModelError(f"its activations are {given}; have: {allowed}")
    if call.number("clip", 0.0) or call.integer("input_forget", 0):
        raise ModelError("it has clip or input_forget, which are not supported")
    return str(given[0]).lower() if given else "tanh"


def _check_start(call: OnnxCall, steps: int) -> None:
    if call.has(4) and (call.array(4) != steps).any():
        raise ModelError("its sequences have lengths of their own (sequence_lens)")
    for index in (5, 6):
        if call.has(index) and call.array(index).any():
            raise ModelError("its initial state is not zero")
    if call.has(7) and call.floats(7).any():
        raise ModelError("it has peepholes, which are not supported")


def _arrays(
    call: OnnxCall, kind: str, directions: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    weights, again = call.floats(1), call.floats(2)
    gates = len(_GATES[kind])
    if weights.ndim != 3 or again.ndim != 3 or again.shape[1] != gates * again.shape[2]:
        raise ModelError(f"its weights are {list(weights.shape)} and {list(again.shape)}")
    shape = (directions, 2 * again.shape[1])
    bias = call.floats(3) if call.has(3) else np.zeros(shape, np.float32)
    fits = len(weights) == len(again) == directions and weights.shape[1] == again.shape[1]
    if not fits or bias.shape != shape:
        raise ModelError(
            f"its arrays {[list(a.shape) for a in (weights, again, bias)]} do not fit "
            f"{directions} directions of {gates} gates"
        )
    return weights, again, bias


def _split(
    kind: str, weights: np.ndarray, again: np.ndarray, bias: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the arrays of one direction with the gates on their first axis, in order."""
    order, units = list(_GATES[kind]), again.shape[-1]
    both = bias.astype(np.float64).reshape(2, len(order), units)[:, order]
    first, second = (a.reshape(len(order), units, -1)[order] for a in (weights, again))
    return first, second, both[0], both[1]


def _adder(call: OnnxCall) -> Any:
    """Return a function that adds an operator on tensors by name."""

    def add(part: str, operator: Operator, *names: str) -> str:
        inputs = tuple(call.builder.tensor(name) for name in names)
        name = call.builder.part(call.node.outputs[0] or call.node.outputs[1], part)
        return call.builder.add(name, operator, inputs, False).name

    return add


def _named(add: Any, prefix: str, part: str, *given: Any) -> str:
    made: str = add(f"{prefix}{part}", *given)
    return made


def _put_outputs(
    call: OnnxCall,
    add: Any,
    made: list[str],
    directions: tuple[bool, ...],
    size: tuple[int, int],
) -> None:
    """Add the outputs: all states, and the last ones."""
    (steps, units), count, last = size, len(made), bool(call.integer("layout", 0))
    outputs = (*call.node.outputs, "", "")[:3]
    if outputs[0]:
        whole = made[0] if count == 1 else add("both", Concat(1), *made)
        shape: Shape = (1, steps, count, units) if last else (steps, count, 1, units)
        _finish(call, outputs[0], whole, shape, last)
    if outputs[1]:
        ends = [
            last_step(partial(_named, add, f"end{at}/"), name, steps, units, backwards)
            for at, (name, backwards) in enumerate(zip(made, directions))
        ]
        whole = ends[0] if count == 1 else add("ends", Concat(0), *ends)
        shape = (1, count, units) if last else (count, 1, units)
        _finish(call, outputs[1], whole, shape, last)


def _finish(call: OnnxCall, name: str, source: str, shape: tuple[int, ...], batched: bool) -> None:
    operator = Reshape(shape[1:] if batched else shape)
    call.builder.add(name, operator, (call.builder.tensor(source),), batched)


RECURRENT: dict[str, Converter] = {kind: partial(recurrent, kind=kind) for kind in _GATES}
