"""Node by node from a quantized .onnx file to a network of integers."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Optional, Union

import numpy as np

from ....errors import Error, ModelError
from ....ir.float_graph import TENSOR_LIMIT
from ....ir.formats import Format
from ....ir.graph import Graph
from ....operators import Shape
from ..call import Call
from ..folding import FOLDS, fold
from ..reading import Model, Node
from .building import Builder
from .conv1d import of_lines
from .convolve import CONVOLUTIONS
from .dense import DENSE
from .elementwise import ELEMENTWISE
from .lookup_activation import CURVES
from .operators import plain
from .reducing import REDUCING
from .shaping import SHAPING
from .site import Converter, Site
from .symbols import Fixed, Int, Pending, Real, Value
from .windows import POOLS, WINDOWS

#: Operator -> what makes its calls.
CONVERTERS: dict[str, Converter] = {
    **{name: of_lines(each) for name, each in {**CONVOLUTIONS, **POOLS}.items()},
    **{**WINDOWS, **DENSE},
    **{**ELEMENTWISE, **CURVES, **SHAPING, **REDUCING},
}

_QUANTIZE, _DEQUANTIZE = ("QuantizeLinear", "DequantizeLinear")

#: Operators that work on integers as they are.
_MOVES = {*SHAPING, "MaxPool", "GlobalMaxPool"}

#: Element types of activations: what is added to make them int8.
_SHIFTS = {"int8": 0, "uint8": -128, "int16": 0, "uint16": -32768}

#: Operators that choose scales while they run.
_DYNAMIC = {"DynamicQuantizeLinear", "ConvInteger", "MatMulInteger"}

#: Most names of tensors in one note.
_NAMED = 6

#: Note on every quantized network.
_NOTE = (
    "its integers are those of CMSIS-NN's arithmetic, which rounds in other places than ONNX "
    "Runtime: given the same inputs, a layer may be one step away from it"
)

_ALL = (-math.inf, math.inf)


def is_quantized(model: Model) -> bool:
    """True if a file holds integers: pairs of QuantizeLinear and DequantizeLinear, or QLinear..."""
    names = {node.op.rpartition(".")[2] for node in model.nodes}
    return bool(names & {_QUANTIZE, _DEQUANTIZE, "QGemm", *_DYNAMIC}) or any(
        name.startswith("QLinear") for name in names
    )


def convert(model: Model) -> tuple[Graph, tuple[str, ...]]:
    """Return the network of a quantized file, between its first and its last integers; and notes on
    it.
    """
    try:
        return _network(model)
    except Error as error:
        raise ModelError(f"{model.name}: {error}") from None


def _network(model: Model) -> tuple[Graph, tuple[str, ...]]:
    nodes = plain(model)
    _check_names({node.op for node in nodes})
    builder = Builder(model)
    shapes = {name: _shape(builder, model, name) for name in model.inputs}
    for node in nodes:
        try:
            _convert(builder, node, shapes)
        except Error as error:
            raise ModelError(f"{node}: {error}") from None
    outputs = [_output(builder, name) for name in model.outputs]
    graph = Graph(
        name=Path(model.name).stem,
        inputs=tuple(builder.inputs),
        nodes=tuple(builder.nodes),
        outputs=tuple(dict.fromkeys(outputs)),
        arrays=builder.arrays,
    )
    said = [f"{what}: {_some(names)}" for what, names in builder.notes.items()]
    return graph, (_NOTE, *said)


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def _check_names(names: set[str]) -> None:
    """Refuse all operators that are not supported, at once."""
    unknown = sorted(names - {*CONVERTERS, *FOLDS, _QUANTIZE, _DEQUANTIZE})
    if not unknown:
        return
    why = ""
    if {name.rpartition(".")[2] for name in unknown} & _DYNAMIC:
        why = (
            ". Dynamic quantization chooses scales for each input, which the device's functions "
            "cannot: quantize the file statically, with quantize_static and calibration data"
        )
    raise ModelError(
        "it has operators that are not supported in quantized files: "
        f"{', '.join(unknown)[:400]}{why}"
    )


def _shape(builder: Builder, model: Model, name: str) -> Shape:
    """Return the shape of one sample of an input, whose first axis is the batch."""
    if not model.declares(name):
        raise ModelError(f"its input {name!r} has no shape")
    dims = [dim.dim_value for dim in model.declared[name].type.tensor_type.shape.dim]
    if len(dims) < 2 or min(dims[1:]) < 1 or math.prod(dims[1:]) > TENSOR_LIMIT:
        raise ModelError(
            f"its input {name!r} has the shape {dims}: behind the batch there must be fixed axes"
        )
    builder.batch = max(dims[0], 1)
    return tuple(dims[1:])


def _convert(builder: Builder, node: Node, shapes: dict[str, Shape]) -> None:
    if not node.inputs or not node.outputs:
        raise ModelError(f"it has {len(node.inputs)} inputs and {len(node.outputs)} outputs")
    if node.op == _QUANTIZE:
        builder.values[node.outputs[0]] = _quantize(builder, node, shapes)
    elif node.op == _DEQUANTIZE:
        builder.values[node.outputs[0]] = _dequantize(builder, node, shapes)
    else:
        _operate(builder, node)


def _operate(builder: Builder, node: Node) -> None:
    inputs: tuple[Any, ...] = tuple(builder.value(name) if name else None for name in node.inputs)
    call = Call(node, inputs, builder)  # type: ignore[arg-type]
    computed = [value for value in inputs if isinstance(value, (Int, Real, Pending))]
    if not computed and node.op in FOLDS:
        builder.values[node.outputs[0]] = fold(call)
        return
    if node.op not in CONVERTERS:
        raise ModelError("it is supported for constants alone")
    made = CONVERTERS[node.op](Site(call, builder))
    for name, each in zip(node.outputs, made if isinstance(made, tuple) else (made,)):
        if name:
            builder.values[name] = _held(node.op, name, inputs[0], each)


def _held(op: str, name: str, first: Any, made: Union[Pending, Int]) -> Value:
    """Return what an output of a node stands for."""
    if isinstance(made, Int):
        return made
    if isinstance(first, Int) and op in _MOVES:  # on integers, which keep their format
        return made.emit(first.format, name, _ALL)
    if isinstance(first, Real) and op in SHAPING and op != "Concat":
        return Real(made.emit(first.integers.format, name, _ALL))
    return made


def _format(builder: Builder, node: Node) -> tuple[np.ndarray, np.ndarray, str]:
    """Return scales, zero points and type of a pair."""
    if len(node.inputs) not in (2, 3):
        raise ModelError(f"it has {len(node.inputs)} inputs")
    scale = builder.value(node.inputs[1])
    zero: Optional[Value] = builder.value(node.inputs[2]) if node.inputs[2:] > ("",) else None
    if not isinstance(scale, np.ndarray) or not (zero is None or isinstance(zero, np.ndarray)):
        raise ModelError("its scale and zero point must be constants")
    if scale.dtype.kind != "f" or not np.isfinite(scale).all() or not (scale > 0).all():
        raise ModelError("its scale must be positive and finite")
    if zero is None:
        zero = np.zeros(scale.shape, np.uint8)
    if zero.size not in (1, scale.size) or zero.dtype.kind not in "iu":
        raise ModelError("its zero point must be an integer for each scale")
    return scale.astype(np.float32), zero.astype(np.int64), zero.dtype.name


def _tensor_format(builder: Builder, node: Node) -> Format:
    """Return the format of activations: one scale, of int8 or int16, or of uint8 or uint16 as
    these.
    """
    scale, zero, dtype = _format(builder, node)
    if dtype not in _SHIFTS:
        raise ModelError(f"activations of {dtype} are not supported; have: {', '.join(_SHIFTS)}")
    if scale.size != 1:
        raise ModelError("activations have one scale, not one for each channel")
    signed = dtype.replace("u", "")
    return Format(signed, float(scale.reshape(())), int(zero.reshape(())) + _SHIFTS[dtype])


def _quantize(builder: Builder, node: Node, shapes: dict[str, Shape]) -> Value:
    source, name = node.inputs[0], node.outputs[0]
    form = _tensor_format(builder, node)
    if source in shapes:  # the network begins with the integers
        return builder.start(source, shapes[source], form)
    value = builder.value(source)
    if isinstance(value, Pending):
        return value.emit(form, name, value.ends)
    if isinstance(value, Real):
        return builder.rescaled(value.integers, form, name)
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        scale, zero = np.array([form.scale], np.float32), np.array([form.zero_point])
        codes = np.clip(np.rint(value / scale) + zero, *form.limits)
        return Fixed(codes.astype(np.int64), scale, zero, 0, form.dtype)
    raise ModelError("it quantizes what is quantized already")


def _dequantize(builder: Builder, node: Node, shapes: dict[str, Shape]) -> Value:
    source = node.inputs[0]
    if source in shapes and source not in builder.values:
        form = _tensor_format(builder, node)
        builder.values[source] = builder.start(source, shapes[source], form)
    value = builder.value(source)
    if isinstance(value, Int):
        form = _tensor_format(builder, node)
        if form != value.format:
            raise ModelError(f"it reads {value.format} as {form}: scale or zero point differ")
        return Real(value)
    if isinstance(value, Fixed):
        return value
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "iu":
        raise ModelError("its input must be integers")
    scale, zero, _ = _format(builder, node)
    shift = -_SHIFTS.get(value.dtype.name, 0)
    axis = node.attributes.get("axis", 1)
    axis = axis if isinstance(axis, int) else 1
    if scale.size > 1 and not (
        -value.ndim <= axis < value.ndim and value.shape[axis] == scale.size
    ):
        raise ModelError(f"it has {scale.size} scales, but its constant is {list(value.shape)}")
    if zero.size == 1 and scale.size > 1:
        zero = np.full(scale.size, int(zero.reshape(())))
    data, zero = value.astype(np.int64) - shift, zero.reshape(-1) - shift
    return Fixed(data, scale.reshape(-1), zero, axis, f"int{8 * value.dtype.itemsize}")


def _output(builder: Builder, name: str) -> str:
    """Return the tensor that an output of the file is, under its name there where it can have
    that.
    """
    value = builder.value(name)
    if isinstance(value, Real):
        value = value.integers
    if isinstance(value, Pending):
        raise ModelError(f"its output {name!r} is real numbers that no QuantizeLinear reads")
    if not isinstance(value, Int):
        raise ModelError(f"its output {name!r} is a constant")
    return builder.end(value, name)
