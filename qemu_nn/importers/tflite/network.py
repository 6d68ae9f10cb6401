"""Conversion of a .tflite file to a quantized network, operator by operator."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path

from ...errors import Error, ModelError
from ...ir.graph import Graph
from .activation import ACTIVATIONS
from .arithmetic import ARITHMETIC
from .building import BARE, PLAIN, TfliteBuilder, TfliteValue
from .call import Converter, TfliteCall
from .comparison import COMPARISON
from .control import CONTROL, branches, fix_unassigned, loop
from .decode import DECODING
from .dense import DENSE
from .detection import DETECTION
from .elementwise import ELEMENTWISE
from .ethosu import ETHOSU, initialize_first
from .fill_broadcast import FILLING
from .float32 import add_float_converters
from .floats import is_float
from .gather_scatter import PLACES
from .pad_transpose import BORDERS
from .parser import TfliteModel, TfliteOperator
from .recurrent import RECURRENT
from .reducing import REDUCING
from .shaping import SHAPING
from .signal import SIGNAL
from .signal_streams import STREAMS
from .slicing import SLICING
from .streaming import STREAMING, keep_outputs
from .tflm_answers import check_operators, explain_missing, quote_answer
from .values import GraphContext
from .windows import WINDOWS

#: Operator -> the function that adds its calls to a network.
CONVERTERS: dict[str, Converter] = {
    **WINDOWS,
    **DENSE,
    **RECURRENT,
    **ARITHMETIC,
    **ACTIVATIONS,
    **ELEMENTWISE,
    **COMPARISON,
    **SHAPING,
    **SLICING,
    **REDUCING,
    **BORDERS,
    **PLACES,
    **FILLING,
    **STREAMING,
    **CONTROL,
    **DECODING,
    **DETECTION,
    **SIGNAL,
    **STREAMS,
    **ETHOSU,
}
CONVERTERS.update(add_float_converters(CONVERTERS))


#: Operators that this reader knows, but not with floats.
_QUANTIZED = (
    frozenset(("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV", "SVDF"))
    | RECURRENT.keys()
)


def holds_floats(model: TfliteModel) -> bool:
    """True if a file holds a float network, and not float operators alone that a device runs."""
    return is_float(model, CONVERTERS.keys() - _QUANTIZED)


def convert(model: TfliteModel) -> Graph:
    """Return the network of a file, from its quantized inputs to its quantized outputs."""
    try:
        return _network(model)
    except Error as error:
        raise ModelError(f"{model.name}: {error}") from None


def _network(model: TfliteModel) -> Graph:
    operators = drop_shape_operators(model)
    _check(model, operators)
    builder = TfliteBuilder(model)
    operators = initialize_first(builder, operators)
    outputs, inner = strip_dequantize(model, operators)
    starts = []
    for index in dict.fromkeys(model.inputs):
        value, inner = strip_quantize(builder, index, inner)
        starts.append(value)
    if not inner:  # the file consists of QUANTIZE and DEQUANTIZE only: convert them as calls
        builder, outputs, inner = TfliteBuilder(model), list(model.outputs), operators
        starts = [_merge_inputs(builder, [index]) for index in dict.fromkeys(model.inputs)]
    _convert(builder, inner)
    fix_unassigned(builder)
    names = builder.end(outputs)
    keep_outputs(builder, names)
    return Graph(
        name=Path(model.name).stem,
        inputs=tuple(each.tensor for each in starts),
        nodes=tuple(builder.nodes),
        outputs=names,
        arrays=builder.arrays,
        states=tuple(builder.states),
        loops=tuple(builder.loops),
    )


def _convert(builder: TfliteBuilder, operators: list[TfliteOperator]) -> None:
    for operator in operators:
        try:
            CONVERTERS[operator.name](TfliteCall(operator, builder))
        except Error as error:
            said = quote_answer(builder.model, operator, str(error))
            raise ModelError(f"{operator}: {said}") from None
    check_operators(builder.model, builder.model.operators)


def _inline(
    call: TfliteCall, number: int, given: list[TfliteValue], where: GraphContext
) -> list[TfliteValue]:
    """Add the calls of another graph of the file, and return its outputs."""
    if number in where.graphs:
        raise ModelError(f"graph {number} calls itself; recursion is not supported")
    model = call.builder.model.subgraph(number)
    where = replace(where, graphs=(*where.graphs, number))
    builder, operators = call.builder.enter_graph(model, where), drop_shape_operators(model)
    if len(given) != len(model.inputs):
        raise ModelError(f"it passes {len(given)} inputs to a graph with {len(model.inputs)}")
    for index, value in zip(model.inputs, given):
        inner = builder.declare(index, *PLAIN)
        if (inner.dtype, inner.size) != (value.dtype, value.size):
            raise ModelError(
                f"it passes {value.dtype} {list(value.shape)} to {model.tensor(index)}, "
                f"{inner.dtype} {list(inner.shape)}; both must have one type and size"
            )
        builder.set_value(index, replace(inner, name=value.name))
    _check_names(model, model.operators)
    _convert(builder, operators)
    return [builder.value(index) for index in model.outputs]


#: Operator with a shape among its inputs -> its other inputs.
_SHAPED = {"RESHAPE": slice(1), "TRANSPOSE_CONV": slice(1, None)}


def drop_shape_operators(model: TfliteModel) -> list[TfliteOperator]:
    """Return the operators except those that only compute the shape of RESHAPE or TRANSPOSE_CONV.

    The shape of their output is known. TensorFlow's converter writes these operators (SHAPE,
    STRIDED_SLICE, PACK) if the model's batch has no fixed size.
    """
    needed, found = set(model.outputs), []
    for operator in reversed(model.operators):
        kinds = {model.tensor(index).type for index in operator.outputs}
        if kinds and kinds <= {"INT32", "INT64"} and needed.isdisjoint(operator.outputs):
            continue
        found.append(operator)
        needed.update(operator.inputs[_SHAPED.get(operator.name, slice(None))])
    return found[::-1]


def _shapes_last(model: TfliteModel, operators: list[TfliteOperator]) -> list[TfliteOperator]:
    """Move operators that only compute shapes and indices last, so that errors name readers."""
    types = {
        operator.index: {model.tensor(at).type for at in operator.outputs} for operator in operators
    }
    return sorted(
        operators, key=lambda operator: set() < types[operator.index] <= {"INT32", "INT64"}
    )


def _check(model: TfliteModel, operators: list[TfliteOperator]) -> None:
    """Raise ModelError for unsupported operators, and for a file without inputs or outputs."""
    _check_names(model, _shapes_last(model, operators))
    _check_names(model, model.operators)
    if not model.inputs:
        raise ModelError("it has no inputs; it must have at least one")
    if not model.outputs:
        raise ModelError("it has no outputs; it must have at least one")


def _check_names(model: TfliteModel, operators: Iterable[TfliteOperator]) -> None:
    for operator in operators:
        if operator.name not in CONVERTERS:
            said = quote_answer(model, operator, explain_missing(operator))
            raise ModelError(f"{operator}: {said}")


def strip_dequantize(
    model: TfliteModel, operators: list[TfliteOperator]
) -> tuple[list[int], list[TfliteOperator]]:
    """Return the network's outputs before a final DEQUANTIZE, and the operators without it."""
    makers = {index: each for each in model.operators for index in each.outputs}
    outputs, cut = [], set()
    for index in model.outputs:
        maker = makers.get(index)
        real = model.tensor(index).type == "FLOAT32"
        whole = maker and maker.name == "DEQUANTIZE" and len(maker.inputs) == 1
        if real and maker and whole and len(model.tensor(maker.inputs[0]).scales):
            cut.add(maker.index)
            index = maker.inputs[0]
        outputs.append(index)
    if any(index < 0 for index in outputs):
        raise ModelError("a DEQUANTIZE has no input")
    return outputs, [each for each in operators if each.index not in cut]


def strip_quantize(
    builder: TfliteBuilder, index: int, operators: list[TfliteOperator]
) -> tuple[TfliteValue, list[TfliteOperator]]:
    """Return the value of a network input, and the remaining operators.

    If only QUANTIZE operators read a float input, the value is their output.
    """
    tensor = builder.model.tensor(index)
    try:
        if any(axis > 0 for axis in tensor.open_axes):
            raise ModelError(f"{tensor} has no fixed size on axis {tensor.open_axes[-1]}")
        readers = [operator for operator in operators if index in operator.inputs]
        if tensor.type == "FLOAT32" and readers and all(map(_is_quantize, readers)):
            first = [reader.outputs[0] for reader in readers]
            left = [operator for operator in operators if operator not in readers]
            return _merge_inputs(builder, first), left
        return _merge_inputs(builder, [index]), operators
    except ModelError as error:
        raise ModelError(f"the input: {error}") from None


def _is_quantize(operator: TfliteOperator) -> bool:
    return operator.name == "QUANTIZE" and len(operator.inputs) == len(operator.outputs) == 1


def _merge_inputs(builder: TfliteBuilder, indices: list[int]) -> TfliteValue:
    """Return one value for tensors that must have one format."""
    first, *others = (builder.declare(index, *BARE) for index in indices)
    for other in others:
        if (other.dtype, other.scale, other.zero) != (first.dtype, first.scale, first.zero):
            raise ModelError(
                "it is quantized in two formats; it must have one: quantize it once in the model, "
                "and requantize the result"
            )
    for index in indices:
        builder.set_value(index, first)
    return first


CONVERTERS["IF"] = partial(branches, inlined=_inline)
CONVERTERS["WHILE"] = partial(loop, inlined=_inline)
