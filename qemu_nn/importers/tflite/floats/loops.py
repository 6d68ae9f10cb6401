"""Loops with a known number of iterations, unrolled: recurrent layers as Keras writes them."""

from __future__ import annotations

from typing import Callable

import numpy as np

from ....errors import ModelError
from ...recurrent import MOST_STEPS
from ...tensor import Value
from .building import FloatBuilder, FloatCall, Held, Pieces

#: Converts the operators of a graph of the file.
Convert = Callable[[FloatBuilder], None]


def unroll(call: FloatCall, convert: Convert) -> None:
    """Convert WHILE, whose condition must depend on constants alone."""
    options, outer = call.read_options("WhileOptions"), call.builder
    graphs = [options.integer(f"{name}SubgraphIndex") for name in ("Cond", "Body")]
    condition, body = (outer.enter(number, call.operator.index) for number in graphs)
    held = [outer.held(index) for index in call.operator.inputs]
    for step in range(MOST_STEPS + 1):
        (going,) = _run(condition, held, convert, step) or (None,)
        if not isinstance(going, np.ndarray) or going.size != 1:
            raise ModelError("its condition is computed; it must depend on constants alone")
        if not going.any():
            break
        held = _run(body, held, convert, step)
    else:
        raise ModelError(
            f"it has more than {MOST_STEPS} iterations, each of which becomes operators of its own"
        )
    if len(held) != len(call.operator.outputs):
        raise ModelError(f"its graph has {len(held)} outputs; it must have as many as the loop")
    outer.values.update(zip(call.operator.outputs, held))


def _run(builder: FloatBuilder, given: list[Held], convert: Convert, step: int) -> list[Held]:
    """Add the operators of one iteration; return the outputs of its graph."""
    if len(given) != len(builder.model.inputs):
        raise ModelError(
            f"it passes {len(given)} values; its graph takes {len(builder.model.inputs)}"
        )
    builder.begin(step)
    builder.values.update(zip(builder.model.inputs, given))
    convert(builder)
    return [builder.held(index) for index in builder.model.outputs]


def cut_rows(call: FloatCall) -> bool:
    """Convert SLICE of rows of a constant, or of pieces; False for any different slice."""
    held = call.builder.held(call.operator.inputs[0])
    if not isinstance(held, (Pieces, np.ndarray)):
        return False
    begins, sizes = call.integers(1), call.integers(2)
    rows = _list_rows(held)
    whole = held.shape
    if len(begins) != len(whole) or len(sizes) != len(whole):
        return False
    if any(b or n not in (-1, side) for b, n, side in zip(begins[1:], sizes[1:], whole[1:])):
        return False
    last = len(rows) if sizes[0] == -1 else begins[0] + sizes[0]
    if not 0 <= begins[0] <= last <= len(rows):
        raise ModelError(f"it keeps rows {begins[0]} to {last} of {len(rows)}")
    kept = rows[begins[0] : last]
    call.builder.values[call.operator.outputs[0]] = Pieces(tuple(kept), whole[1:])
    return True


def join_rows(call: FloatCall) -> bool:
    """Convert CONCATENATION of rows, of which some are constant; False for any different one."""
    held = [call.builder.held(index) for index in call.operator.inputs]
    if not any(isinstance(each, Pieces) for each in held):
        return False
    options = call.read_options("ConcatenationOptions")
    kind = options.choice("FusedActivationFunction", "ActivationFunctionType")
    shapes = {each.shape[1:] for each in held}
    if options.integer("Axis", -8, 8) != 0 or len(shapes) > 1 or kind != "NONE":
        return False
    rows = [row for each in held for row in _list_rows(each)]
    if len(rows) > MOST_STEPS:
        raise ModelError(f"it joins {len(rows)} rows; up to {MOST_STEPS} are supported")
    call.builder.values[call.operator.outputs[0]] = Pieces(tuple(rows), shapes.pop())
    return True


def _list_rows(held: Held) -> list[Value]:
    """Return the rows along the first axis: tensors or constants of one row each."""
    if isinstance(held, Pieces):
        return list(held.rows)
    if isinstance(held, np.ndarray):
        return [held[at : at + 1] for at in range(len(held))]
    if held.shape[0] != 1:
        raise ModelError(f"it joins {list(held.shape)} and rows of a constant; it must be one row")
    return [held]
