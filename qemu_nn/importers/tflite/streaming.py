"""CIRCULAR_BUFFER, and what a network gives out in Invokes that end at one.

A buffer takes a slot in each Invoke that reaches it and lets every cycles_max-th go on. So what
stands behind buffers is computed in every period-th Invoke, their cycles_max multiplied.
"""

from __future__ import annotations

import math
import struct
from dataclasses import replace

import numpy as np

from ...errors import ModelError
from ...io import optional_deps
from ...ir.graph import Tensor
from .building import Builder
from .call import SUFFIXES, Call, Converter, same_format
from .invoke_period import Pace
from .shaping import of_types
from .values import Value

#: Slots of the buffers whose files do not say cycles_max and which let every Invoke go on.
_ALWAYS = (5, 13, 25)

#: Cycles at most, so that their product stays a number of 32 bits.
_MOST = 2**31 - 1


def _cycles(call: Call, pace: Pace, shape: tuple[int, ...]) -> int:
    """cycles_max; where the file does not say it, as the kernel guesses it by the shape."""
    said = _said(call)
    if said > 0:
        return said
    pace.unsaid += 1
    if shape[1] in _ALWAYS or (pace.unsaid == 5 and shape[2:] == (2, 96)):
        pace.unsaid = 0
        return 1
    return 2


def _said(call: Call) -> int:
    """cycles_max of the file, the first of its options; 0 if there is none."""
    data = call.operator.table.numbers("CustomOptions").tobytes()
    if not data:
        return 0
    flexbuffers = optional_deps.require(
        "flatbuffers.flexbuffers", "tflite", "reading .tflite files"
    )
    try:
        root = flexbuffers.GetRoot(data)
        options = root.AsMap.Values if root.IsMap else root.AsVector
        return int(options[0].AsInt)
    except (struct.error, ValueError, IndexError, TypeError, RecursionError):
        raise ModelError("its options are damaged") from None


def circular_buffer(call: Call) -> None:
    """CIRCULAR_BUFFER: the last inputs, side by side."""
    call.counts(1, 1)
    x, pace = call.value(0, *of_types(call, 0, ("INT8",))), call.builder.pace
    tensor = call.builder.model.tensor(call.operator.outputs[0])
    output = call.builder.constant(tensor) if tensor.variable else call.output()
    same_format(x, output)
    slots = output.shape[1] if len(output.shape) == 4 else 0
    if slots < 1 or x.shape != (output.shape[0], 1, *output.shape[2:]) or output.shape[0] != 1:
        raise ModelError(f"it makes {list(output.shape)} of {list(x.shape)}")
    if not tensor.variable:
        call.warn(
            f"its output {tensor.name[:60]!r} is not marked as a variable: its slots stay only "
            "where nothing else is put into their memory"
        )
    depth = math.prod(output.shape[2:])
    reset = np.full(slots * depth, output.zero, np.int8) if tensor.variable else None
    kept = call.memory("slots", (slots, depth), "int8", reset)
    calls = call.memory("calls", (1,), "int32")
    period = pace.period(len(call.builder.nodes))
    params = {"slots": slots, "depth": depth, "period": period}
    call.put("tflm_circular_buffer_s8", params, [x, kept, calls], output)
    period *= _cycles(call, pace, output.shape)
    if period > _MOST:
        raise ModelError(f"it lets one of {period} Invokes go on")
    if period > 1:
        pace.bounds.append((len(call.builder.nodes), period))


def hold(builder: Builder, names: tuple[str, ...]) -> None:
    """Let outputs behind buffers be what they were, in the Invokes that do not get there."""
    states = {state.name for state in builder.states}
    for at, node in enumerate(list(builder.nodes)):
        period = builder.pace.period(at)
        if period == 1 or node.function.op == "circular_buffer":
            continue
        if states & {*node.inputs}:
            raise ModelError(
                f"{node.name[:60]!r} keeps a state behind a CIRCULAR_BUFFER that lets one of "
                f"{period} Invokes go on, which is not supported"
            )
        if node.name in names:
            _hold(builder, node.output, period)


def _hold(builder: Builder, tensor: Tensor, period: int) -> None:
    """Give the name of an output to what is held of it."""
    scale, zero = tensor.scale or 1.0, tensor.zero_point or 0
    output = Value(tensor.name, (1, *tensor.shape), tensor.dtype, scale, zero)
    reached, kept = (
        replace(output, name=builder.part(tensor.name, part)) for part in ("reached", "kept")
    )
    calls = Value(builder.part(tensor.name, "calls"), (1,), "int32", 1.0, 0)
    builder.rename(tensor.name, reached)
    builder.keep(kept)
    builder.keep(calls)
    params = {"length": output.size, "period": period}
    builder.call(f"tflm_hold_{SUFFIXES[tensor.dtype]}", params, [reached, kept, calls], output)


STREAMING: dict[str, Converter] = {"CIRCULAR_BUFFER": circular_buffer}
