"""LSTM over a whole sequence of floats."""

from __future__ import annotations

import numpy as np

from ....errors import ModelError
from ....operators import Lstm
from ..recurrent import UNSUPPORTED_INPUTS
from .building import FloatCall, FloatConverter

#: First of the inputs with a gate's weights, recurrent weights and bias: input, forget, cell and
#: output gate follow each other.
_WEIGHTS, _RECURRENT, _BIAS = 1, 5, 12


def lstm(call: FloatCall) -> None:
    """Convert UNIDIRECTIONAL_SEQUENCE_LSTM, from a state of zeros."""
    call.check_counts(20, 24)
    options, x = call.read_options("UnidirectionalSequenceLSTMOptions"), call.tensor()
    for at, name in UNSUPPORTED_INPUTS.items():
        if call.has(at):
            raise ModelError(f"its input {at} is {name}; that is not supported")
    kind = options.choice("FusedActivationFunction", "ActivationFunctionType")
    if kind != "TANH" or options.number("CellClip") or options.number("ProjClip"):
        raise ModelError(f"its activation is {kind}; it must be TANH, without clips")
    major = options.flag("TimeMajor")
    if len(x.shape) != 3 or x.shape[int(major)] != 1 or x.batched == (major and x.shape[0] != 1):
        raise ModelError(f"its input is {list(x.shape)}; it must be one sequence of vectors")
    steps = x.shape[1 - major]
    weights, recurrent, bias = (
        _stack_gates(call, first) for first in (_WEIGHTS, _RECURRENT, _BIAS)
    )
    operator = Lstm(weights, recurrent, bias)
    source = call.reshape(x, (1, steps, x.shape[2]), part="sequence", batched=True) if major else x
    if not major:
        call.put(operator, source)
        return
    made = call.put(operator, source, part="hidden")
    call.reshape(made, (steps, 1, made.shape[2]))


def _stack_gates(call: FloatCall, first: int) -> np.ndarray:
    """Return the arrays of four gates, of which `first` is the first input."""
    arrays = [call.floats(first + gate) for gate in range(4)]
    if len({array.shape for array in arrays}) > 1:
        shapes = [list(array.shape) for array in arrays]
        raise ModelError(f"its inputs from {first} on are {shapes}; the gates must have one shape")
    return np.stack(arrays)


RECURRENT: dict[str, FloatConverter] = {"UNIDIRECTIONAL_SEQUENCE_LSTM": lstm}
