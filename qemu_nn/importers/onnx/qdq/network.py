"""Node by node from a quantized .onnx file to a network of integers, and the host's steps in floats
around it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, Union

import numpy as np

from ....errors import Error, ModelError
from ....ir.float_graph import TENSOR_LIMIT
from ....ir.graph import Graph
from ....ir.model_file import ModelFile
from ....operators import Shape
from ..call import OnnxCall
from ..folding import FOLDS
from ..network import CONVERTERS as FLOATS
from ..reading import Model, OnnxNode
from ..unread import expect_read
from .building import ANY, Builder
from .choosing import CHOOSING
from .constants import fold
from .conv1d import of_lines
from .convolve import CONVOLUTIONS
from .dense import DENSE
from .elementwise import ELEMENTWISE
from .float32 import IN_FLOATS
from .hosting import After, Before, hosted
from .lookup_activation import CURVES
from .normalizing import NORMALIZING
from .operators import plain
from .pairs import DEQUANTIZE, QUANTIZE, QUANTIZE_CLIP, dequantize, quantize
from .reducing import REDUCING, SEARCHING
from .shaping import SHAPING
from .site import Converter, Site
from .symbols import Fixed, Int, Outside, Pending, Real, Refused, Value
from .windows import POOLS, WINDOWS

#: Operator -> what makes its calls.
CONVERTERS: dict[str, Converter] = {
    **{name: of_lines(each) for name, each in {**CONVOLUTIONS, **POOLS}.items()},
    **{**WINDOWS, **DENSE},
    **{**ELEMENTWISE, **CURVES, **CHOOSING, **SHAPING, **REDUCING, **SEARCHING, **NORMALIZING},
}

#: Operators that work on integers as they are.
_MOVES = {*SHAPING, "MaxPool", "GlobalMaxPool"}

#: Operators that the device computes although no QuantizeLinear follows, as they do not round.
_EXACT = {*_MOVES, *SEARCHING}

#: Operators that files apply to integers as they are.
_ON_INTEGERS = {*_EXACT, "Clip", "Relu", "Resize"}

#: Operators that choose scales while they run.
_DYNAMIC = {"DynamicQuantizeLinear", "ConvInteger", "MatMulInteger"}

_DYNAMICALLY = (
    "dynamic quantization chooses scales for each input, which the device's functions cannot: "
    "quantize the file statically, with quantize_static and calibration data"
)

#: Most names of tensors in one note, and most reasons of a refusal.
_NAMED = 6

#: Note on every quantized network.
_NOTE = (
    "its integers are those of CMSIS-NN's arithmetic, which rounds in other places than ONNX "
    "Runtime: given the same inputs, a layer may be one step away from it"
)


def is_quantized(model: Model) -> bool:
    """True if a file holds integers: pairs of QuantizeLinear and DequantizeLinear, or QLinear..."""
    names = {node.op.rpartition(".")[2] for node in model.nodes}
    return bool(names & {QUANTIZE, DEQUANTIZE, "QGemm", *_DYNAMIC}) or any(
        name.startswith("QLinear") for name in names
    )


def convert(model: Model) -> ModelFile:
    """Return the network of a quantized file between its first and its last integers, the host's
    steps around it, and notes.
    """
    try:
        return _Network(plain(model)).file()
    except Error as error:
        raise ModelError(f"{model.name}: {error}") from None


class _Network:
    """A network of a file under construction.

    before, after: the host's parts. refused: reasons, and the nodes or outputs that have them.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.builder = Builder(model)
        self.before, self.after = Before(model), After(model)
        self.refused: dict[str, list[str]] = {}
        for name in model.inputs:
            shape = _shape(self.builder, model, name)
            self.builder.values[name] = Outside(self.before.start(name, shape), True)
        self._quantized = _quantized_later(model.nodes)
        for node in model.nodes:
            if node.op in _RECURRENT and self._is_inside(node):
                self._refuse(_STEPS, node)
            elif node.op not in _KNOWN and node.op.rpartition(".")[2] not in _DYNAMIC:
                self._refuse(_UNKNOWN, node)

    def _is_inside(self, node: OnnxNode) -> bool:
        """True if a node is computed from integers, and integers from it."""
        own = set(node.inputs)
        for each in reversed(self.model.nodes):
            if not own.isdisjoint(each.outputs):
                if each.op in (QUANTIZE, QUANTIZE_CLIP):
                    return not self._quantized.isdisjoint(node.outputs)
                own.update(each.inputs)
        return False

    def file(self) -> ModelFile:
        """Return all of it; ModelError with every reason where something has no meaning."""
        refused = {name for names in self.refused.values() for name in names}
        for node in (node for node in self.model.nodes if str(node) not in refused):
            try:
                self._convert(node)
            except Error as error:
                self._refuse(str(error), node)
        found = {name: self._output(name) for name in self.model.outputs}
        outputs = {name: value for name, value in found.items() if value is not None}
        if self.refused:
            raise ModelError(_reasons(self.refused))
        builder, after = self.builder, None
        if any(isinstance(value, Outside) for value in outputs.values()):
            after = self.after.graph(builder, outputs)
            ends = list(self.after.starts)
        else:
            ends = [builder.end(value, name) for name, value in outputs.items()]  # type: ignore[arg-type]
        before = self.before.graph(builder.sources)
        graph = Graph(
            name=Path(self.model.name).stem,
            inputs=tuple(builder.inputs),
            nodes=tuple(builder.nodes),
            outputs=tuple(dict.fromkeys(ends)),
            arrays=builder.arrays,
        )
        said = [f"{what}: {_some(names)}" for what, names in builder.notes.items()]
        notes = (_NOTE, *hosted(before, after), *said)
        return ModelFile(graph, notes=notes, before=before, after=after)

    def _refuse(self, reason: str, node: OnnxNode) -> None:
        named = self.refused.setdefault(reason, [])
        if str(node) not in named:
            named.append(str(node))
        outputs = filter(None, node.outputs)
        self.builder.values.update(dict.fromkeys(outputs, Refused()))

    def _convert(self, node: OnnxNode) -> None:
        if not node.outputs:
            raise ModelError("it has no outputs; it must have at least one")
        builder = self.builder
        inputs: tuple[Any, ...] = tuple(builder.value(n) if n else None for n in node.inputs)
        if any(isinstance(value, Refused) for value in inputs):
            builder.values.update(dict.fromkeys(filter(None, node.outputs), Refused()))
            return
        call = OnnxCall(node, inputs, builder)  # type: ignore[arg-type]
        if node.op in (QUANTIZE, QUANTIZE_CLIP):
            builder.values[node.outputs[0]] = quantize(builder, call)
        elif node.op == DEQUANTIZE:
            builder.values[node.outputs[0]] = dequantize(builder, call)
        elif not any(isinstance(v, (Int, Real, Pending, Outside)) for v in inputs):
            builder.values[node.outputs[0]] = fold(call)
        else:
            builder.values.update(self._computed(call))
            return
        expect_read(call)

    def _computed(self, call: OnnxCall) -> dict[str, Value]:
        """Return the outputs of a node that reads what is computed."""
        values: list[Any] = [value for value in call.inputs if not isinstance(value, _CONSTANTS)]
        outside = [value.before for value in values if isinstance(value, Outside)]
        if call.node.op.rpartition(".")[2] in _DYNAMIC:
            raise ModelError(_DYNAMICALLY)
        if call.node.op == "Shape" and not outside:
            return {call.node.outputs[0]: self._shape_of(call)}
        table: Any = call.inputs[0]
        if call.node.op == "Gather" and isinstance(table, _CONSTANTS) and any(outside):
            return self._on_device(call)
        if outside and all(outside) and len(outside) == len(values):
            return self._before(call)
        if any(outside):
            raise ModelError(
                "it reads floats of the file's input; put a QuantizeLinear and "
                "DequantizeLinear before it"
            )
        later = not self._quantized.isdisjoint(call.node.outputs)
        if not outside and (later or any(map(_pending, values)) or call.node.op not in FLOATS):
            return self._on_device(call)
        integers = call.node.op in _ON_INTEGERS and all(isinstance(v, Int) for v in values)
        if not outside and (integers or call.node.op in _EXACT):
            try:
                return self._on_device(call)
            except ModelError:  # such as a Transpose that moves the batch
                if call.node.op not in FLOATS:
                    raise
        if outside or call.node.op not in CONVERTERS:
            return self.after.convert(call, self.builder)
        try:
            return self.after.convert(call, self.builder)
        except ModelError:  # of which the host has fewer forms than the device
            return self._on_device(replace(call, asked=set()))

    def _before(self, call: OnnxCall) -> dict[str, Value]:
        """Return the outputs of a node of the host; of one that the host has not, and that moves
        numbers, those of the device.
        """
        first: Any = call.inputs[0]
        try:
            return self.before.convert(call)
        except ModelError:
            if call.node.op not in SHAPING or not isinstance(first, Outside):
                raise
        start = Pending(lambda form, *_: self.builder.start(first, form, ""), first.tensor.sample)
        inputs: Any = (start, *call.inputs[1:])
        return self._on_device(replace(call, inputs=inputs, asked=set()))

    def _shape_of(self, call: OnnxCall) -> np.ndarray:
        """Return the shape of a tensor of the device."""
        whole = [self.builder.batch, *Site(call, self.builder).shape()]
        piece = slice(call.integer("start", 0), call.integer("end", len(whole)))
        expect_read(call)
        return np.array(whole[piece], np.int64)

    def _on_device(self, call: OnnxCall) -> dict[str, Value]:
        node = call.node
        if node.op not in CONVERTERS:
            raise ModelError(_STEPS if node.op in _RECURRENT else _UNKNOWN)
        inputs: tuple[Any, ...] = call.inputs
        values = [value for value in inputs if isinstance(value, Int)]
        if values and node.op not in _ON_INTEGERS:
            raise ModelError(
                "it computes with quantized integers directly; put a DequantizeLinear before it"
            )
        if len({value.format for value in values}) > 1:
            raise ModelError(
                "its inputs are integers of different scales or zero points; they must have "
                "one format"
            )
        made = CONVERTERS[node.op](Site(call, self.builder))
        expect_read(call)
        several = made if isinstance(made, tuple) else (made,)
        named = zip(node.outputs, several)
        return {name: _held(node.op, name, call.inputs[0], each) for name, each in named if name}

    def _output(self, name: str) -> Union[Int, Outside, None]:
        """Return an output of the file; None for one that is refused."""
        try:
            value = self.builder.value(name)
        except ModelError as error:
            self.refused.setdefault(str(error), []).append(f"the output {name!r}")
            return None
        value = value.integers if isinstance(value, Real) else value
        if isinstance(value, Pending) and value.real is not None:
            value = value.real()
            self.builder.note(IN_FLOATS, name)
        if isinstance(value, Int) or (isinstance(value, Outside) and not value.before):
            return value
        if not isinstance(value, Refused):
            self.refused.setdefault(_NO_OUTPUT, []).append(f"the output {name!r}")
        return None


#: Operators of which some kind of input is supported.
_KNOWN = {*CONVERTERS, *FLOATS, *FOLDS, QUANTIZE, QUANTIZE_CLIP, DEQUANTIZE}

_RECURRENT = ("LSTM", "GRU", "RNN")

_STEPS = (
    "recurrent operators run on the host alone, before the first or after the last integers: leave "
    "the operators around it unquantized, or give the float file to quantize(), which has them"
)

_UNKNOWN = "this operator is not supported in quantized files"

_CONSTANTS = (np.ndarray, Fixed, type(None))

_NO_OUTPUT = "nothing of it is computed from integers"


def _pending(value: Value) -> bool:
    return isinstance(value, Pending)


def _quantized_later(nodes: Iterable[OnnxNode]) -> set[str]:
    """Return the tensors from which a QuantizeLinear can be reached."""
    found: set[str] = set()
    for node in reversed(list(nodes)):
        if node.op in (QUANTIZE, QUANTIZE_CLIP) or not found.isdisjoint(node.outputs):
            found.update(node.inputs)
    return found


def _reasons(refused: dict[str, list[str]]) -> str:
    """Return all reasons of a refusal, each with its nodes."""
    parts = [f"{_some(nodes)}: {reason}" for reason, nodes in refused.items()]
    more = f"; and {len(parts) - _NAMED} more reasons" if len(parts) > _NAMED else ""
    return "; ".join(parts[:_NAMED]) + more


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def _shape(builder: Builder, model: Model, name: str) -> Shape:
    """Return the shape of one sample of an input, whose first axis is the batch."""
    if not model.declares(name):
        raise ModelError(f"its input {name!r} has no shape")
    dims = [dim.dim_value for dim in model.declared[name].type.tensor_type.shape.dim]
    if len(dims) < 2 or min(dims[1:]) < 1 or math.prod(dims[1:]) > TENSOR_LIMIT:
        raise ModelError(
            f"its input {name!r} has the shape {dims}: after the batch there must be fixed axes"
        )
    batch = max(dims[0], 0) or builder.batch  # which may be open
    if batch != builder.batch != 1:
        raise ModelError(f"its inputs have batches of {builder.batch} and {batch}")
    builder.batch = batch
    return tuple(dims[1:])


def _held(op: str, name: str, first: Any, made: Union[Pending, Int]) -> Value:
    """Return what an output of a node stands for."""
    if isinstance(made, Int):
        return made
    if isinstance(first, Int):  # integers, which keep their format
        return replace(made.emit(first.format, name, ANY), element=first.element)
    if isinstance(first, Real) and op in _MOVES and op != "Concat":
        return Real(made.emit(first.integers.format, name, ANY))
    return made
