"""CIRCULAR_BUFFER, and a network's outputs in Invokes that end at one.

A buffer appends a slot in each Invoke that reaches it. Only every cycles_max-th of these Invokes
continues. Calls after several buffers therefore run once per product of their cycles_max.
"""

from __future__ import annotations

import math
import struct
from dataclasses import replace

import numpy as np

from ...errors import ModelError
from ...ir.graph import Tensor
from .building import TfliteBuilder
from .call import SUFFIXES, Converter, TfliteCall, adopt_format
from .invoke_period import InvokePeriods
from .shaping import check_type
from .values import TfliteValue

#: Numbers of slots for which the kernel assumes cycles_max 1 if the file has none.
_ALWAYS = (5, 13, 25)

#: Maximum period: the largest int32.
_MOST = 2**31 - 1


def _find_cycles(call: TfliteCall, pace: InvokePeriods, shape: tuple[int, ...]) -> int:
    """Return cycles_max; without one in the file, return the kernel's guess by the shape."""
    said = _read_cycles(call)
    if said > 0:
        return said
    pace.unsaid += 1
    if shape[1] in _ALWAYS or (pace.unsaid == 5 and shape[2:] == (2, 96)):
        pace.unsaid = 0
        return 1
    return 2


def _read_cycles(call: TfliteCall) -> int:
    """Return cycles_max of the file, the first of the options; 0 if there is none."""
    data = call.operator.table.numbers("CustomOptions").tobytes()
    if not data:
        return 0
    from flatbuffers import flexbuffers

    try:
        root = flexbuffers.GetRoot(data)
        options = root.AsMap.Values if root.IsMap else root.AsVector
        return int(options[0].AsInt)
    except (struct.error, ValueError, IndexError, TypeError, RecursionError):
        raise ModelError("its options are damaged") from None


def circular_buffer(call: TfliteCall) -> None:
    """Convert CIRCULAR_BUFFER: the concatenation of the last inputs."""
    call.check_counts(1, 1)
    x, pace = call.value(0, *check_type(call, 0, ("INT8",))), call.builder.pace
    tensor = call.builder.model.tensor(call.operator.outputs[0])
    output = call.builder.constant(tensor) if tensor.variable else call.output()
    x = adopt_format(call, x, output)
    slots = output.shape[1] if len(output.shape) == 4 else 0
    if slots < 1 or x.shape != (output.shape[0], 1, *output.shape[2:]) or output.shape[0] != 1:
        raise ModelError(
            f"its input is {list(x.shape)} and its output {list(output.shape)}; they must be "
            "[1, 1, width, channels] and [1, slots, width, channels]"
        )
    if not tensor.variable:
        call.warn(
            f"its output {tensor.name[:60]!r} is no variable: the device keeps its slots only "
            "while no other tensor uses their memory"
        )
    depth = math.prod(output.shape[2:])
    reset = np.full(slots * depth, output.zero, np.int8) if tensor.variable else None
    kept = call.add_state("slots", (slots, depth), "int8", reset)
    calls = call.add_state("calls", (1,), "int32")
    period = pace.period(len(call.builder.nodes))
    params = {"slots": slots, "depth": depth, "period": period}
    call.put("tflm_circular_buffer_s8", params, [x, kept, calls], output)
    period *= _find_cycles(call, pace, output.shape)
    if period > _MOST:
        raise ModelError(f"its calls run once in {period} Invokes; up to {_MOST} are supported")
    if period > 1:
        pace.bounds.append((len(call.builder.nodes), period))


def keep_outputs(builder: TfliteBuilder, names: tuple[str, ...]) -> None:
    """Make outputs after buffers keep their value in Invokes that end before them."""
    states = {state.name for state in builder.states}
    for at, node in enumerate(list(builder.nodes)):
        period = builder.pace.period(at)
        if period == 1 or node.function.op == "circular_buffer":
            continue
        if states & {*node.inputs}:
            raise ModelError(
                f"{node.name[:60]!r} keeps a state after a CIRCULAR_BUFFER, in one of {period} "
                "Invokes; it must be before the buffer"
            )
        if node.name in names:
            _keep_output(builder, node.output, period)


def _keep_output(builder: TfliteBuilder, tensor: Tensor, period: int) -> None:
    """Add the call that keeps an output's last value, under the output's name."""
    scale, zero = tensor.scale or 1.0, tensor.zero_point or 0
    output = TfliteValue(tensor.name, (1, *tensor.shape), tensor.dtype, scale, zero)
    reached, kept = (
        replace(output, name=builder.make_name(tensor.name, part)) for part in ("reached", "kept")
    )
    calls = TfliteValue(builder.make_name(tensor.name, "calls"), (1,), "int32", 1.0, 0)
    builder.rename(tensor.name, reached)
    builder.keep(kept)
    builder.keep(calls)
    params = {"length": output.size, "period": period}
    builder.call(f"tflm_hold_{SUFFIXES[tensor.dtype]}", params, [reached, kept, calls], output)


STREAMING: dict[str, Converter] = {"CIRCULAR_BUFFER": circular_buffer}
