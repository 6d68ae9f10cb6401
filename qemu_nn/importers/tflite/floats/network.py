"""Conversion of a .tflite file of floats to a float network, operator by operator."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Optional

import numpy as np

from ....errors import ModelError
from ....ir.float_graph import FloatGraph
from ....operators import Reshape, Transpose
from ...tensor import Tensor
from ..parser import TfliteModel, TfliteOperator
from .activation import ACTIVATIONS
from .arithmetic import ARITHMETIC
from .building import FloatBuilder, FloatCall, FloatConverter
from .integers import fold_integers
from .loops import cut_rows, join_rows, unroll
from .recurrent import RECURRENT
from .shaping import SHAPING
from .windows import WINDOWS

#: Operator -> the function that adds its meaning to a float network.
FLOAT_CONVERTERS: dict[str, FloatConverter] = {
    **WINDOWS,
    **RECURRENT,
    **ARITHMETIC,
    **ACTIVATIONS,
    **SHAPING,
}

#: Maximum graphs of a file that are looked at for layers of floats.
_MOST_GRAPHS = 64

#: Operator -> what converts it for rows of a loop.
_ROWS = {"SLICE": cut_rows, "CONCATENATION": join_rows}

#: Reason of a report against an operator after one that is not supported.
UNSEEN = "not looked at, because it reads the output of an operator that does not run"

#: Types of tensors that a float network computes.
_TYPES = frozenset(("FLOAT32", "FLOAT16", "INT32", "INT64", "BOOL"))


def is_float(model: TfliteModel, device: Iterable[str]) -> bool:
    """True if a file holds a float network: no tensor that it computes is quantized.

    device: operators that the device's float functions compute. A file of these alone runs as on
    the device, and is no float network.
    """
    computed = {
        *model.inputs,
        *(index for each in model.operators for index in (*each.inputs, *each.outputs)),
    } - {-1}
    kinds = set()
    for index in computed:
        with suppress(ModelError):  # a tensor that cannot be read; its readers name it
            kinds.add(model.describe(index))
    if not all(kind.endswith("=") or kind in _TYPES for kind in kinds):
        return False
    names = {operator.name for operator in model.operators}
    for number in range(1, min(model.graphs, _MOST_GRAPHS)):
        with suppress(ModelError):  # a damaged graph; its caller names it
            names.update(operator.name for operator in model.subgraph(number).operators)
    return "FLOAT32" in kinds and bool(names & FLOAT_CONVERTERS.keys()) and not names <= {*device}


def convert_float(
    model: TfliteModel, input: Optional[str] = None, output: Optional[str] = None
) -> FloatGraph:
    """Return the float network of a file between two tensors, named or the file's own ends."""
    try:
        builder = FloatBuilder(model)
        if output is not None:
            builder.outputs = (_find_tensor(model, output),)
        starts = _start(builder, input)
        _convert_all(builder)
        return _finish(builder, starts)
    except ModelError as error:
        raise ModelError(f"{model.name}: {error}") from None


def _convert_all(builder: FloatBuilder) -> None:
    for operator in _list_needed(builder):
        try:
            _convert(builder, operator)
        except ModelError as error:
            raise ModelError(f"{operator}: {error}") from None


def _find_tensor(model: TfliteModel, name: str) -> int:
    """Return the index of a tensor that is an input or an output of an operator."""
    ends = {index for each in model.operators for index in (*each.inputs, *each.outputs)}
    named = [index for index in sorted(ends - {-1}) if model.tensor(index).name == name]
    if not named:
        ends_of_file = [model.tensor(index).name for index in (*model.inputs, *model.outputs)]
        have = ", ".join(map(repr, ends_of_file[:5]))
        raise ModelError(f"it has no tensor {name!r}; its inputs and outputs are {have}")
    return named[0]


def _start(builder: FloatBuilder, name: Optional[str] = None) -> list[Tensor]:
    """Return the network's inputs, or the named one."""
    if name is not None:
        return [builder.start(_find_tensor(builder.model, name))]
    read = {index for operator in _list_needed(builder) for index in operator.inputs}
    given = dict.fromkeys(builder.model.inputs)
    inputs = [index for index in given if index in read or index in builder.outputs]
    if not inputs:
        raise ModelError(
            "its outputs need no input; a network must have one: choose a part with input= and "
            "output="
        )
    return [builder.start(index) for index in inputs]


def examine_floats(model: TfliteModel) -> tuple[dict[int, str], str]:
    """Return the reasons against operators of a float network by their numbers, and the reason
    against the file as a whole, or ""."""
    builder = FloatBuilder(model)
    try:
        starts = _start(builder)
    except ModelError as error:
        return {}, str(error)
    reasons: dict[int, str] = {}
    unknown: set[int] = set()
    for operator in _list_needed(builder):
        try:
            if not unknown.isdisjoint(operator.inputs):
                raise ModelError(UNSEEN)
            _convert(builder, operator)
        except ModelError as error:
            reasons[operator.index] = str(error)
            unknown.update(operator.outputs)
    if reasons:
        return reasons, ""
    try:
        _finish(builder, starts)
    except ModelError as error:
        return {}, str(error)
    return {}, ""


def _list_needed(builder: FloatBuilder) -> list[TfliteOperator]:
    """Return the operators that the outputs need, and that do not make a known tensor."""
    needed, found = set(builder.outputs) - builder.values.keys(), []
    for operator in reversed(builder.model.operators):
        if not needed.isdisjoint(operator.outputs):
            found.append(operator)
            needed.update(set(operator.inputs) - builder.values.keys())
    return found[::-1]


def _convert(builder: FloatBuilder, operator: TfliteOperator) -> None:
    if operator.index in builder.done:
        return
    if not operator.outputs:
        raise ModelError("it has no outputs; it must have at least one")
    call = FloatCall(operator, builder)
    if operator.name == "WHILE":
        unroll(call, _convert_all)
        return
    if _makes_integers(builder, operator):
        _try_fold(call)
        return
    if (
        operator.name in _ROWS
        and operator.inputs
        and min(operator.inputs) >= 0
        and _ROWS[operator.name](call)
    ):
        return
    if operator.name not in FLOAT_CONVERTERS:
        raise ModelError("the operator is not supported in float networks")
    known = [builder.value(index) for index in operator.inputs if index in builder.values]
    if any(isinstance(value, Tensor) for value in known):
        FLOAT_CONVERTERS[operator.name](call)
    else:
        _fold(builder, operator)


def _makes_integers(builder: FloatBuilder, operator: TfliteOperator) -> bool:
    """True if an operator computes shapes, indices or a condition of these; ARG_MAX and ARG_MIN
    compute results."""
    kinds = {builder.model.tensor(index).type for index in operator.outputs}
    if kinds == {"BOOL"}:
        given = {builder.model.tensor(index).type for index in operator.inputs if index >= 0}
        held = [builder.values.get(index) for index in operator.inputs]
        return given <= {"INT32", "INT64", "BOOL"} and not any(isinstance(v, Tensor) for v in held)
    return kinds <= {"INT32", "INT64"} and operator.name not in ("ARG_MAX", "ARG_MIN")


def _try_fold(call: FloatCall) -> None:
    """Compute the integers of an operator, or record why they are unknown: a reader may need no
    more than the file's shape of its output."""
    try:
        fold_integers(call)
    except ModelError as error:
        said = f"{call.operator}: {error}"
        call.builder.unmade.update(dict.fromkeys(call.operator.outputs, said))


def _fold(builder: FloatBuilder, operator: TfliteOperator) -> None:
    """Compute the outputs of an operator of constants: those of a network of this operator."""
    inner = FloatBuilder(builder.model)
    inner.values = dict(builder.values)
    place = 1 if operator.name == "SPLIT" else 0
    index = operator.inputs[place] if place < len(operator.inputs) else -1
    start = builder.value(index) if index >= 0 else None
    if not isinstance(start, np.ndarray) or start.dtype.kind != "f":
        raise ModelError("it computes integers from constants; only floats are supported")
    inner.values[index] = Tensor("constant", start.shape, False)
    FLOAT_CONVERTERS[operator.name](FloatCall(operator, inner))
    arrays = {"constant": start[None]}
    for node in inner.nodes:
        with np.errstate(all="ignore"):
            arrays[node.name] = node.operator.evaluate(*(arrays[name] for name in node.inputs))
    for output in operator.outputs:
        made = inner.values[output]
        assert isinstance(made, Tensor)
        builder.set_constant(output, arrays[made.name].reshape(made.shape))


def _finish(builder: FloatBuilder, starts: Sequence[Tensor]) -> FloatGraph:
    """Return the network up to the file's outputs."""
    outputs = []
    for index in dict.fromkeys(builder.outputs):
        value = builder.value(index)
        if not isinstance(value, Tensor):
            raise ModelError(f"its output, {builder.model.tensor(index)}, is a constant")
        outputs.append(value.name)
    stem, layout = Path(builder.model.name).stem, _find_layout(builder, starts)
    start, *others = starts
    return FloatGraph(
        *(stem, start.name, start.sample, layout, tuple(builder.nodes), tuple(outputs)),
        others=tuple((each.name, each.sample) for each in others),
    )


def _find_layout(builder: FloatBuilder, starts: Iterable[Tensor]) -> Optional[str]:
    """Return NHWC for images; NCHW if their only readers transpose them to NHWC.

    Files that are converted from PyTorch begin with such a TRANSPOSE, or, for one channel, with a
    RESHAPE.
    """
    images = [each for each in starts if len(each.sample) == 3]
    if not images:
        return None
    return "NCHW" if all(_is_moved(builder, each) for each in images) else "NHWC"


def _is_moved(builder: FloatBuilder, start: Tensor) -> bool:
    """True if all readers of an image move its channels from the first axis to the last."""
    shape = start.sample
    moves = [Transpose((1, 2, 0)), Reshape((*shape[1:], 1)) if shape[0] == 1 else None]
    readers = [node.operator for node in builder.nodes if start.name in node.inputs]
    return bool(readers) and all(operator in moves for operator in readers)
