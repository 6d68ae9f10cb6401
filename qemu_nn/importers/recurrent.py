"""Recurrent layers in operators: LSTM as one, GRU and simple ones step by step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..errors import ModelError
from ..operators import (
    Affine,
    Concat,
    Dense,
    Elementwise,
    Gather,
    Lstm,
    Relu,
    Reshape,
    Sigmoid,
    Slice,
    Tanh,
)

#: Most time steps of a layer that becomes operators of each step.
MOST_STEPS = 256

#: Function that adds an operator and returns its tensor: part of the name, operator, inputs.
Add = Callable[..., str]


@dataclass(frozen=True)
class Cell:
    """The arrays of a GRU, or of a simple recurrent layer, in one direction.

    weights [gates, units, inputs], recurrent [gates, units, units], bias and recurrent_bias [gates,
    units]. The gates of a GRU: update, reset, new. reset_after: its reset gate applies to the
    recurrent product, and not to the state. activation: of a simple layer.
    """

    weights: np.ndarray
    recurrent: np.ndarray
    bias: np.ndarray
    recurrent_bias: np.ndarray
    reset_after: bool = True
    activation: str = "tanh"


def check_steps(kind: str, steps: int) -> None:
    """Raise ModelError for a sequence too long for operators of each step."""
    if steps > MOST_STEPS:
        raise ModelError(
            f"a {kind} becomes operators of each of its {steps} time steps, and at most "
            f"{MOST_STEPS} are supported: shorten its sequence, or train an LSTM, which has a "
            "function for whole sequences"
        )


def add_lstm(add: Add, source: str, lstm: Lstm, steps: int, backwards: bool) -> str:
    """Add an LSTM in one direction; time steps are in the order of the input."""
    if not backwards:
        return add("hidden", lstm, source)
    turned = tuple(range(steps))[::-1]
    hidden = add("turned_hidden", lstm, add("turned", Gather(0, turned), source))
    return add("hidden", Gather(0, turned), hidden)


def add_steps(add: Add, source: str, cell: Cell, steps: int, backwards: bool) -> str:
    """Add the operators of all time steps, and return the states [steps, units]."""
    gates, units = cell.bias.shape
    check_steps("GRU" if gates > 1 else "recurrent layer", steps)
    bias = cell.bias + cell.recurrent_bias
    if gates > 1:  # the reset gate scales the recurrent bias of the new gate
        bias[2] = cell.bias[2]
    ahead = add("ahead", Dense(cell.weights.reshape(gates * units, -1), bias.reshape(-1)), source)
    state, states = "", []
    for step in range(steps)[:: -1 if backwards else 1]:
        row = add(f"{step}/ahead", Slice(0, step, step + 1), ahead)
        row = add(f"{step}/row", Reshape((gates * units,)), row)
        make = _add_gru_step if gates > 1 else _add_simple_step
        state = make(lambda part, *given, at=step: add(f"{at}/{part}", *given), row, state, cell)
        states.append(add(f"{step}/state", Reshape((1, units)), state))
    states = states[::-1] if backwards else states
    return add("hidden", Concat(0), *states) if steps > 1 else states[0]


def _add_simple_step(add: Add, row: str, state: str, cell: Cell) -> str:
    total = row
    if state:
        product = add("recurrent", Dense(cell.recurrent[0]), state)
        total = add("sum", Elementwise("add"), row, product)
    return add("hidden", Relu() if cell.activation == "relu" else Tanh(), total)


def _add_gru_step(add: Add, row: str, state: str, cell: Cell) -> str:
    """Add update, reset and new gate: h = n + z * (h - n)."""
    units = cell.bias.shape[1]
    ahead = [
        add(name, Slice(0, index * units, (index + 1) * units), row)
        for index, name in enumerate(("z_ahead", "r_ahead", "n_ahead"))
    ]
    again: list[str] = []
    if state:
        count = 3 if cell.reset_after else 2
        joined = Dense(
            cell.recurrent[:count].reshape(count * units, -1),
            np.concatenate([np.zeros(2 * units), cell.recurrent_bias[2]])[: count * units],
        )
        product = add("recurrent", joined, state)
        again = [
            add(f"{name}_again", Slice(0, index * units, (index + 1) * units), product)
            for index, name in enumerate(("z", "r", "n")[:count])
        ]
    sums = [
        add(f"{name}_sum", Elementwise("add"), one, two)
        for name, one, two in zip("zr", ahead, again)
    ]
    update, reset = (add(name, Sigmoid(), total) for name, total in zip("zr", sums or ahead[:2]))
    new = add("n", Tanh(), _add_new(add, ahead[2], again, reset, state, cell))
    if not state:
        keep = add("keep", Affine(np.array(-1.0), np.array(1.0)), update)
        return add("hidden", Elementwise("multiply"), new, keep)
    away = add("away", Elementwise("subtract"), state, new)
    moved = add("moved", Elementwise("multiply"), update, away)
    return add("hidden", Elementwise("add"), new, moved)


def _add_new(add: Add, ahead: str, again: list[str], reset: str, state: str, cell: Cell) -> str:
    """Add the sum of the new gate."""
    offset = cell.recurrent_bias[2]
    if not state:
        if not cell.reset_after:
            return add("n_sum", Affine(np.array(1.0), offset), ahead) if offset.any() else ahead
        if not offset.any():
            return ahead
        scaled = add("n_scaled", Affine(offset, np.array(0.0)), reset)
        return add("n_sum", Elementwise("add"), ahead, scaled)
    if cell.reset_after:
        scaled = add("n_scaled", Elementwise("multiply"), reset, again[2])
    else:
        kept = add("n_state", Elementwise("multiply"), reset, state)
        scaled = add("n_again", Dense(cell.recurrent[2], offset), kept)
    return add("n_sum", Elementwise("add"), ahead, scaled)


def last_step(add: Add, hidden: str, steps: int, units: int, backwards: bool) -> str:
    """Add the state [units] after the last time step."""
    at = 0 if backwards else steps - 1
    return add("vector", Reshape((units,)), add("last", Slice(0, at, at + 1), hidden))
