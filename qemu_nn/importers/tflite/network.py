"""Operator by operator from a .tflite file to a quantized network."""

from __future__ import annotations

from pathlib import Path

from ...errors import Error, ModelError
from ...ir.graph import Graph
from .activation import ACTIVATIONS
from .arithmetic import ARITHMETIC
from .borders import BORDERS
from .building import Builder, Value
from .call import Call, Converter
from .dense import DENSE
from .filling import FILLING
from .places import PLACES
from .reading import Model, Operator
from .recurrent import RECURRENT
from .shaping import SHAPING
from .slicing import SLICING
from .streaming import STREAMING, hold
from .windows import WINDOWS

#: Operator -> what adds its calls to a network.
CONVERTERS: dict[str, Converter] = {
    **WINDOWS,
    **DENSE,
    **RECURRENT,
    **ARITHMETIC,
    **ACTIVATIONS,
    **SHAPING,
    **SLICING,
    **BORDERS,
    **PLACES,
    **FILLING,
    **STREAMING,
}

_VARIABLES = ("CALL_ONCE", "VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE")


def convert(model: Model) -> Graph:
    """The network of a file, from its quantized input to its quantized outputs."""
    try:
        return _network(model)
    except Error as error:
        raise ModelError(f"{model.name}: {error}") from None


def _network(model: Model) -> Graph:
    operators = _numbers(model)
    _check(model, operators)
    builder = Builder(model)
    outputs, operators = _outputs(model, operators)
    start, operators = _start(builder, operators)
    for operator in operators:
        try:
            CONVERTERS[operator.name](Call(operator, builder))
        except Error as error:
            raise ModelError(f"{operator}: {error}") from None
    names = builder.end(outputs)
    hold(builder, names)
    if start.name in names:
        raise ModelError("it has no operators: its output is its input")
    return Graph(
        name=Path(model.name).stem,
        input=start.tensor,
        nodes=tuple(builder.nodes),
        outputs=names,
        arrays=builder.arrays,
        states=tuple(builder.states),
    )


def _numbers(model: Model) -> list[Operator]:
    """The operators without those that only make the shape of a RESHAPE, which its output has.

    Converters leave such (SHAPE, STRIDED_SLICE, PACK) where the batch of the model is open.
    """
    needed, kept = set(model.outputs), []
    for operator in reversed(model.operators):
        kinds = {model.tensor(index).type for index in operator.outputs}
        if kinds and kinds <= {"INT32", "INT64"} and needed.isdisjoint(operator.outputs):
            continue
        kept.append(operator)
        needed.update(operator.inputs[:1] if operator.name == "RESHAPE" else operator.inputs)
    return kept[::-1]


def _shapes_last(model: Model, operators: list[Operator]) -> list[Operator]:
    """Operators that only make shapes and indices last, so that errors name their readers."""
    types = {
        operator.index: {model.tensor(at).type for at in operator.outputs} for operator in operators
    }
    return sorted(
        operators, key=lambda operator: set() < types[operator.index] <= {"INT32", "INT64"}
    )


def _check(model: Model, operators: list[Operator]) -> None:
    """Refuse operators that are not supported, and what is not a plain network."""
    for operator in _shapes_last(model, operators):
        if operator.name in _VARIABLES:
            raise ModelError(
                f"{operator}: variables that a network keeps between its runs "
                f"({', '.join(_VARIABLES)}) are not supported; export it without them, or with SVDF"
            )
        if operator.name not in CONVERTERS:
            raise ModelError(f"{operator} is not supported; have: {', '.join(sorted(CONVERTERS))}")
    if model.subgraphs > 1:
        raise ModelError(
            f"it has {model.subgraphs} subgraphs; only networks of one, without control flow, are "
            "supported"
        )
    if len(set(model.inputs)) != 1:
        names = ", ".join(repr(model.tensor(index).name[:60]) for index in model.inputs[:9])
        raise ModelError(
            f"it has {len(set(model.inputs))} inputs ({names}); only networks with one "
            "are supported: join them into one in the model"
        )
    if not model.outputs:
        raise ModelError("it has no outputs")


def _outputs(model: Model, operators: list[Operator]) -> tuple[list[int], list[Operator]]:
    """The network's outputs before they are made real numbers, and the operators up to them."""
    makers = {index: each for each in model.operators for index in each.outputs}
    outputs, cut = [], set()
    for index in model.outputs:
        maker = makers.get(index)
        real = model.tensor(index).type == "FLOAT32"
        if real and maker and maker.name == "DEQUANTIZE" and len(maker.inputs) == 1:
            cut.add(maker.index)
            index = maker.inputs[0]
        outputs.append(index)
    if any(index < 0 for index in outputs):
        raise ModelError("a DEQUANTIZE has no input")
    return outputs, [each for each in operators if each.index not in cut]


def _start(builder: Builder, operators: list[Operator]) -> tuple[Value, list[Operator]]:
    """The network's first tensor of integers, and the operators after it."""
    model = builder.model
    index = model.inputs[0]
    tensor = model.tensor(index)
    try:
        if any(axis > 0 for axis in tensor.open_axes):
            raise ModelError(f"{tensor} has no fixed size on axis {tensor.open_axes[-1]}")
        if tensor.type != "FLOAT32":
            return _begin(builder, [index]), operators
        readers = [operator for operator in operators if index in operator.inputs]
        others = [
            operator
            for operator in readers
            if operator.name != "QUANTIZE" or len(operator.outputs) != 1
        ]
        if others or not readers:
            reader = f", and {others[0]} reads them" if others else ""
            raise ModelError(
                f"{tensor} holds real numbers{reader}; only networks of integers are supported, "
                "after a QUANTIZE of the input: convert the model with full integer quantization"
            )
        start = _begin(builder, [operator.outputs[0] for operator in readers])
    except ModelError as error:
        raise ModelError(f"the input: {error}") from None
    return start, [operator for operator in operators if operator not in readers]


def _begin(builder: Builder, indices: list[int]) -> Value:
    """The value that all these tensors are."""
    first, *others = (builder.declared(index) for index in indices)
    for other in others:
        if (other.dtype, other.scale, other.zero) != (first.dtype, first.scale, first.zero):
            raise ModelError(
                "it is quantized in two ways; only networks with one input are supported"
            )
    for index in indices:
        builder.make(index, first)
    return first
