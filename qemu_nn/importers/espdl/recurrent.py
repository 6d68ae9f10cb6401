"""GRU and LSTM, whose states are inputs and outputs of the operator."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from ...errors import ModelError
from ..arguments import SUFFIXES
from .call import Converter, EspCall
from .model import EspValue

#: Rows of a matrix for each element of the state, and the outputs.
_KINDS = {"gru": (3, 2), "lstm": (4, 3)}


def recur(call: EspCall, kind: str) -> None:
    """Convert GRU and LSTM of one sequence. The device computes direction "reverse" forward."""
    gates, outputs = _KINDS[kind]
    call.expect(3, 4 + outputs, outputs)
    x = call.operand(0)
    batch = x.shape[1 - call.integer("layout", 0) % 2] if len(x.shape) == 3 else 0
    if batch != 1:
        raise ModelError(f"its input is {x}; the device computes one sequence of three axes")
    _check_attributes(call, kind)
    directions = 2 if call.text("direction", "forward") == "bidirectional" else 1
    width, size = call.integer("hidden_size", 0), x.shape[2]
    weights, exponents = _read_matrices(call, x, (directions, gates * width), (size, width))
    gate = call.integer("gate_exponent", -8)
    h = call.result((directions, 1, width), 1, x.dtype)
    y = call.result((x.size // size, directions, 1, width), 0, x.dtype)
    if h.exponent != y.exponent:
        raise ModelError(
            f"its outputs have exponents {y.exponent} and {h.exponent}; these must be equal"
        )
    params = {"time_steps": y.shape[0], "input_size": size, "hidden_size": width}
    params.update(directions=directions, right_shift=gate - x.exponent - exponents[0])
    params.update(state_right_shift=gate - h.exponent - exponents[1])
    params.update(gate_exponent=gate, output_exponent=y.exponent)
    bias = _read_bias(call, 2 * gates * directions * width)
    states = [_find_state(call, 5, h)]
    if kind == "lstm":
        c = call.result((directions, 1, width), 2, "int16")
        if c.exponent != gate:
            raise ModelError(
                f"its cell state has exponent {c.exponent} and its gates {gate}: the device stops"
            )
        states.append(_find_state(call, 6, c))
        if _is_read(call, c.name):
            function = f"esp_dl_lstm_cell_{SUFFIXES[x.dtype]}"
            call.put(function, params, [x, *states], c, weights, bias)
    call.put(f"esp_dl_{kind}_{SUFFIXES[x.dtype]}", params, [x, *states], y, weights, bias)
    if _is_read(call, h.name):
        _put_last(call, y, h)


def _check_attributes(call: EspCall, kind: str) -> None:
    name, wanted = {"gru": ("linear_before_reset", 1), "lstm": ("input_forget", 0)}[kind]
    found = call.integer(name, 0)
    if found != wanted:
        raise ModelError(f"its {name} is {found}; the device computes {wanted} alone")


def _read_matrices(
    call: EspCall, x: EspValue, rows: tuple[int, int], columns: tuple[int, int]
) -> tuple[np.ndarray, list[int]]:
    """Return both matrices, one after the other, and their exponents."""
    both = [call.constant(index, x.dtype) for index in (1, 2)]
    for matrix, width in zip(both, columns):
        if matrix.shape != (*rows, width):
            raise ModelError(f"its weights {matrix} must be {[*rows, width]}")
    return np.concatenate([each.data for each in both]), [each.exponent for each in both]


def _read_bias(call: EspCall, size: int) -> np.ndarray:
    if not call.has(3):
        return np.zeros(size, np.int16)
    bias = call.constant(3, "int16")
    if bias.data.size != size:
        raise ModelError(f"its bias {bias} must have {size} elements")
    return bias.data


def _find_state(call: EspCall, index: int, like: EspValue) -> EspValue:
    """Return a first state, zeros if it is missing. The device does not look at its exponent."""
    if call.has(index):
        found = call.value(index, like.dtype)
        if found.size != like.size:
            raise ModelError(f"its input {index}, {found}, must have {like.size} elements")
        return found
    made = replace(like, name=f"{call.node.outputs[0]}/state{index}")
    function = f"tflm_constant_{SUFFIXES[like.dtype]}"
    zeros = np.zeros(like.size, like.dtype)
    return call.builder.call(function, {"length": like.size}, [], made, zeros)


def _is_read(call: EspCall, name: str) -> bool:
    """True if a node reads a tensor, or the model has it as output."""
    model = call.builder.model
    inputs = (each for node in model.nodes for each in node.inputs)
    return name in {*inputs, *(value.name for value in model.outputs)}


def _put_last(call: EspCall, y: EspValue, h: EspValue) -> None:
    """Put the last state of each direction: the second one ends at the first time step."""
    steps, directions, _, width = y.shape
    suffix, flat = SUFFIXES[y.dtype], replace(y, shape=(steps * directions, width))

    def take(row: int) -> dict[str, int]:
        return call.take(flat.shape, (row, 0), (1, 1), (1, width))

    last = (steps - 1) * directions
    if directions == 1:
        call.put(f"tflm_slice_{suffix}", take(last), [flat], h)
        return
    like = replace(y, shape=(1, width))
    ends = [
        call.part(f"last{at}", f"tflm_slice_{suffix}", take(row), [flat], like)
        for at, row in enumerate((last, 1))
    ]
    params = {"outer": 1, "inner1": width, "inner2": width}
    call.put(f"tflm_concatenation_{suffix}", params, ends, h)


RECURRENT: dict[str, Converter] = {kind.upper(): partial(recur, kind=kind) for kind in _KINDS}
