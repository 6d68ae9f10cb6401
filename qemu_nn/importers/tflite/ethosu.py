"""The operator `ethos-u`: a command stream of Arm's Ethos-U, as vela writes it."""

from __future__ import annotations

from dataclasses import replace
from typing import Optional

import numpy as np

from ...errors import ModelError
from ...ethosu.container import read_stream
from ...ethosu.program import Place, Program, fit_fast_memory
from ...ir.graph import Graph
from .building import TfliteBuilder
from .call import SUFFIXES, Converter, TfliteCall
from .parser import TfliteModel, TfliteOperator, TfliteTensor
from .values import BARE, TfliteValue

#: Inputs before those of the network: command stream, constants, arena, fast memory.
CONTROL = 4

#: Options of the operator: a flexbuffer of the number 1.
_OPTIONS = b"\x01\x04\x01"

#: Name of the metadata with the arena offset of each tensor.
_OFFSETS = "OfflineMemoryAllocation"

#: Words before these offsets: a version, the number of graphs, the number of tensors.
_HEAD = 3


def read_offsets(model: TfliteModel) -> Optional[np.ndarray]:
    """Return the arena offset of each tensor of the first graph; None if the file has none."""
    data = model.read_metadata(_OFFSETS)
    if data is None:
        return None
    words = np.frombuffer(data[: len(data) // 4 * 4], "<i4")
    if words.size < _HEAD or not model.tensors <= int(words[2]) <= words.size - _HEAD:
        raise ModelError(f"its metadata {_OFFSETS} are damaged: there is no offset for each tensor")
    return words[_HEAD : _HEAD + model.tensors]


def _count_bytes(tensor: TfliteTensor) -> int:
    size: int = int(np.prod(tensor.shape, dtype=np.int64))
    return size * np.dtype(tensor.dtype).itemsize


def _read_constants(call: TfliteCall) -> np.ndarray:
    """Return region 0; a program without constants has none."""
    tensor = call.tensor(1)
    if tensor.data is None and _count_bytes(tensor):
        raise ModelError(f"its constants, {tensor}, must be in the file")
    if tensor.data is None:
        return np.empty(0, np.uint8)
    return np.ascontiguousarray(tensor.data).reshape(-1).view(np.uint8)


class _Memory:
    """The arena of a file: places of the operator's tensors, bytes of its regions."""

    def __init__(self, call: TfliteCall, separate: bool) -> None:
        self._call, self._separate = call, separate
        self._offsets = read_offsets(call.builder.model)
        if self._offsets is None and not separate:
            raise ModelError(f"the file lacks the metadata {_OFFSETS}, which vela writes")
        operator = call.operator
        self.ends = (*operator.inputs[CONTROL:], *operator.outputs)
        if separate and len(self.ends) > 5:
            raise ModelError(
                f"it has {len(self.ends)} inputs and outputs of their own; up to 5 fit"
            )

    def place(self, at: int) -> Place:
        """Return the place of an input or, after these, of an output."""
        tensor = self._call.builder.model.tensor(self.ends[at])
        if self._separate:
            return Place(3 + at, 0, _count_bytes(tensor))
        assert self._offsets is not None
        offset = int(self._offsets[tensor.index])
        if offset < 0:
            raise ModelError(f"{tensor} has no offset in the arena; it must have one")
        return Place(1, offset, _count_bytes(tensor))

    def regions(self) -> tuple[int, ...]:
        """Return the bytes of the regions 1 to 7."""
        arena, fast = (_count_bytes(self._call.tensor(at)) for at in (2, 3))
        if self._call.operator.inputs[2] == self._call.operator.inputs[3]:
            fast = 0  # the stream names the arena alone
        places = [self.place(at) for at in range(len(self.ends))]
        if self._separate:
            return (arena, fast, *(place.nbytes for place in places))
        return (max([arena, *(place.offset + place.nbytes for place in places)]), fast)


def _find_value(call: TfliteCall, at: int, place: Place) -> TfliteValue:
    """Return an input. One that nothing computes is a state: the arena keeps it between runs."""
    tensor = call.tensor(at)
    if call.builder.has(tensor.index) or tensor.data is not None:
        return call.value(at, *BARE)
    if place.offset not in call.builder.arena:
        call.builder.refuse_guarded()
        value = call.builder.constant(tensor, *BARE)
        call.builder.keep(value, np.full(value.shape, value.zero, value.dtype))
        call.builder.arena[place.offset] = value
    kept = call.builder.arena[place.offset]
    call.builder.set_value(tensor.index, kept)
    return kept


def _append(call: TfliteCall, values: list[TfliteValue]) -> TfliteValue:
    """Concatenate the bytes of all inputs."""
    joined: Optional[TfliteValue] = None
    for value in values:
        others = 0 if joined is None else joined.size
        size = others + value.size * np.dtype(value.dtype).itemsize
        params = {"length": value.size, "others": others}
        made = TfliteValue(value.name, (1, size), "uint8", 1.0, 0)
        name, inputs = f"ethosu_append_{SUFFIXES[value.dtype]}", [value]
        joined = call.add_part(
            "bytes", made, name, params, [*inputs, *([joined] if joined else [])]
        )
    if joined is None:
        raise ModelError("it has no inputs besides its memory; it must have at least one")
    return joined


def _take(call: TfliteCall, run: TfliteValue, offset: int, output: TfliteValue) -> None:
    params = {"length": output.size, "others": run.size, "offset": offset}
    call.builder.call(f"ethosu_take_{SUFFIXES[output.dtype]}", params, [run], output)


def _find_outputs(
    call: TfliteCall, memory: _Memory
) -> list[tuple[Optional[int], TfliteValue, Place]]:
    """Return outputs and states: index of the tensor, or None of a state; its value; its place."""
    count = len(call.operator.inputs) - CONTROL
    arena, model = call.builder.arena, call.builder.model
    found: list[tuple[Optional[int], TfliteValue, Place]] = []
    for at, index in enumerate(call.operator.outputs):
        place, tensor = memory.place(count + at), model.tensor(index)
        if tensor.variable and place.offset not in arena:
            arena[place.offset] = call.builder.constant(tensor, *BARE)
            call.builder.keep(arena[place.offset])
        if place.region == 1 and place.offset in arena:
            call.builder.set_value(index, arena[place.offset])
        else:
            found.append((index, call.output(at, *BARE), place))
    for offset, value in arena.items():
        nbytes = value.size * np.dtype(value.dtype).itemsize
        found.append((None, value, Place(1, offset, nbytes)))
    return found


def convert_program(call: TfliteCall) -> None:
    """Convert an `ethos-u` operator: one call that runs its command stream."""
    operator = call.operator
    if len(operator.inputs) < CONTROL or not operator.outputs:
        raise ModelError(
            f"it has {len(operator.inputs)} inputs and {len(operator.outputs)} outputs; it must "
            f"have at least {CONTROL + 1} and 1"
        )
    options = operator.table.numbers("CustomOptions").astype("uint8").tobytes()
    if options != _OPTIONS:
        raise ModelError(f"its options are {options[:8].hex()}; they must be {_OPTIONS.hex()}")
    _, commands = call.constant(0, "UINT8")
    stream = read_stream(commands.tobytes())
    memory = _Memory(call, stream.separate)
    count = len(operator.inputs) - CONTROL
    places = [memory.place(at) for at in range(count)]
    values = [_find_value(call, CONTROL + at, place) for at, place in enumerate(places)]
    outputs = _find_outputs(call, memory)
    made = tuple(place for _, _, place in outputs)
    program = Program(stream, _read_constants(call), memory.regions(), tuple(places), made)
    program = _grow_fast_memory(call, program)
    params = program.params
    like = TfliteValue(outputs[0][1].name, (1, params["out_bytes"]), "uint8", 1.0, 0)
    run = replace(like, name=call.builder.make_name(like.name, stream.target))
    joined = _append(call, values)
    for oddity in program.needs.oddities:
        call.warn(oddity)
    _warn_of_booleans(call, stream.target)
    call.builder.call("ethosu_program", params, [joined], run, program.commands, program.constants)
    _put_outputs(call, run, outputs)


def _grow_fast_memory(call: TfliteCall, program: Program) -> Program:
    """Return the program, with more fast memory if its stream leaves the tensor of vela."""
    said = program.regions[1]
    try:
        assert program.needs
    except ModelError:
        if not said:
            raise
        program = fit_fast_memory(program)
        call.warn(
            f"its stream uses {program.regions[1]} bytes of the fast memory, and the file says "
            f"{said}; the driver's fast memory must have as many"
        )
    return program


def _warn_of_booleans(call: TfliteCall, target: str) -> None:
    """Warn if an operator of the core reads a bool that a U85 computes."""
    model = call.builder.model
    made = {index for index in call.operator.outputs if model.tensor(index).type == "BOOL"}
    readers = [each.name for each in model.operators if made & {*each.inputs}]
    others = [name for name in readers if name != "ethos-u"]
    if others and target.startswith("ethos-u85"):
        call.warn(f"true is the byte 255 for {others[0]}, which reads it on the core")


def _put_outputs(
    call: TfliteCall, run: TfliteValue, outputs: list[tuple[Optional[int], TfliteValue, Place]]
) -> None:
    """Add the calls that take outputs from the bytes of a run, and write the states."""
    offset = 0
    for index, value, place in outputs:
        if index is not None:
            _take(call, run, offset, value)
            call.builder.set_value(index, value)
        else:
            fresh = replace(value, name=call.builder.make_name(value.name, "next"))
            _take(call, run, offset, fresh)
            written = replace(value, name=call.builder.make_name(value.name, "written"))
            params = {"length": value.size}
            function = f"tflm_assign_variable_{SUFFIXES[value.dtype]}"
            call.builder.call(function, params, [value, fresh], written)
        offset += place.nbytes


def describe_programs(graph: Graph) -> list[str]:
    """Return a note on each command stream of a network."""
    notes = []
    for node in graph.nodes:
        if node.function.name == "ethosu_program":
            p = node.params
            notes.append(
                f"{node.name} runs {p['operations']} operations on the NPU, with {p['macs']:,} "
                f"multiply-accumulates and {p['constant_bytes']:,} bytes of constants"
            )
    return notes


def initialize_first(
    builder: TfliteBuilder, operators: list[TfliteOperator]
) -> list[TfliteOperator]:
    """Return the operators with CALL_ONCE first: vela moves READ_VARIABLE before it."""
    names = [operator.name for operator in operators]
    if "ethos-u" not in names or "CALL_ONCE" not in names:
        return operators
    if "READ_VARIABLE" in names[: names.index("CALL_ONCE")]:
        builder.warn(
            "CALL_ONCE: vela has moved READ_VARIABLE before it, so the first Invoke of the device "
            "reads the zero points of the variables; here CALL_ONCE sets them first"
        )
    first = [operator for operator in operators if operator.name == "CALL_ONCE"]
    return [*first, *(operator for operator in operators if operator.name != "CALL_ONCE")]


ETHOSU: dict[str, Converter] = {"ethos-u": convert_program}
