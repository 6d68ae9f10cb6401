"""Memory of TensorFlow Lite Micro's interpreter besides the tensors: the tail of its arena.

The interpreter allocates from the end of the arena downwards: its own structures, those of tensors
and nodes, options of operators, what each kernel keeps, variables, and the tensors of inputs and
outputs. Sizes are of 32-bit cores with the compiler option -fshort-enums, as arm-none-eabi has it,
and of CMSIS-NN's kernels optimized for speed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Optional

import numpy as np

from ...errors import ModelError
from ...ir.graph import Graph
from ...ir.tflm_memory import TflmFigures
from .parser import TfliteModel, TfliteOperator

#: Bytes of the allocator, the memory planner, the allocator's facade and the allocator of options.
_ALLOCATORS = (40, 36, 36, 8)

#: Bytes of the structures of a graph, a tensor at run time, a node, a tensor of an input or output,
#: and its quantization without zero points.
_GRAPH, _EVAL_TENSOR, _NODE, _TENSOR, _QUANTIZATION = 8, 12, 32, 32, 12

#: Alignment of what kernels keep, and of all structures.
_KEPT, _WORD = 16, 4

#: Operator -> bytes of its options.
_OPTIONS = {
    **dict.fromkeys(("ADD", "SUB", "CAST", "CUMSUM", "RESIZE_BILINEAR"), 2),
    **dict.fromkeys(("ARG_MAX", "ARG_MIN", "DIV", "L2_NORMALIZATION", "MIRROR_PAD", "MUL"), 1),
    **dict.fromkeys(("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_ALL", "SHAPE"), 1),
    **dict.fromkeys(("CALL_ONCE", "SOFTMAX", "SPLIT", "SPLIT_V", "LEAKY_RELU"), 4),
    **dict.fromkeys(("DEPTH_TO_SPACE", "SPACE_TO_DEPTH"), 4),
    **dict.fromkeys(("CONCATENATION", "GATHER", "IF", "PACK", "SVDF", "UNPACK", "VAR_HANDLE"), 8),
    **dict.fromkeys(("CONV_2D", "DEPTHWISE_CONV_2D"), 28),
    **dict.fromkeys(("AVERAGE_POOL_2D", "MAX_POOL_2D"), 40),
    **dict.fromkeys(("RESHAPE", "SQUEEZE"), 36),
    **{"BATCH_MATMUL": 3, "FULLY_CONNECTED": 5, "RESIZE_NEAREST_NEIGHBOR": 2, "WHILE": 8},
    **{"STRIDED_SLICE": 24, "TRANSPOSE_CONV": 16, "UNIDIRECTIONAL_SEQUENCE_LSTM": 16},
}

#: Operator -> bytes of the structure that its kernel keeps.
_STRUCTURES = {
    **dict.fromkeys(("CONV_2D", "DEPTHWISE_CONV_2D", "ADD"), 60),
    **dict.fromkeys(("AVERAGE_POOL_2D", "MAX_POOL_2D"), 36),
    **dict.fromkeys(("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_ALL"), 44),
    **dict.fromkeys(("EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL"), 32),
    **dict.fromkeys(("GREATER", "GREATER_EQUAL", "QUANTIZE", "DEQUANTIZE"), 32),
    **dict.fromkeys(("ABS", "RSQRT", "DIV", "LOG_SOFTMAX", "PRELU"), 28),
    **dict.fromkeys(("PAD", "PADV2"), 56),
    **dict.fromkeys(("LOGISTIC", "TANH", "RELU", "HARD_SWISH", "MIRROR_PAD"), 32),
    **dict.fromkeys(("IF", "WHILE", "CALL_ONCE", "VAR_HANDLE", "RELU6"), 8),
    **dict.fromkeys(("SELECT", "SELECT_V2", "SPACE_TO_BATCH_ND", "BATCH_TO_SPACE_ND"), 4),
    **{"ADD_N": 40, "BATCH_MATMUL": 48, "CONCATENATION": 24, "CUMSUM": 36, "ELU": 256},
    **{"FULLY_CONNECTED": 72, "L2_NORMALIZATION": 4, "LEAKY_RELU": 24, "MUL": 36, "SUB": 52},
    **{"SOFTMAX": 64, "SQUARED_DIFFERENCE": 112, "STRIDED_SLICE": 84, "SVDF": 40},
    **{"TFLite_Detection_PostProcess": 112, "TRANSPOSE_CONV": 76},
    **{"UNIDIRECTIONAL_SEQUENCE_LSTM": 908},
}

#: Bytes that a kernel of another custom operator keeps, such as those of the Signal library.
_CUSTOM = 16

#: Bytes of an application's table of variables, and of each variable in it.
_VARIABLES, _VARIABLE = 12, 20

#: Operator -> pieces of scratch memory, each of which has a pointer in the tail.
_SCRATCH = {
    **dict.fromkeys(("CONV_2D", "DEPTHWISE_CONV_2D", "AVERAGE_POOL_2D", "TRANSPOSE_CONV"), 1),
    **{"MEAN": 3, "SUM": 3, "REDUCE_MAX": 2, "SVDF": 2, "UNIDIRECTIONAL_SEQUENCE_LSTM": 4},
}


class _Tail:
    """Bytes taken from the end of the arena, each piece at an aligned address."""

    def __init__(self) -> None:
        self.nbytes = 0

    def take(self, nbytes: int, alignment: int = _WORD) -> None:
        self.nbytes = -(-(self.nbytes + nbytes) // alignment) * alignment


def find_tflm_figures(model: TfliteModel, graph: Graph) -> Optional[TflmFigures]:
    """Return the figures of a file; None if parts that its network does not use are damaged.

    graph: the network that the file became.
    """
    try:
        tails = tail_bytes(model, helium=False), tail_bytes(model, helium=True)
    except (ModelError, IndexError):
        return None
    return TflmFigures(
        model.nbytes,
        *tails,
        _stripped(model, dict.fromkeys(model.inputs), [each.dtype for each in graph.inputs]),
        _stripped(model, model.outputs, [graph.tensors[name].dtype for name in graph.outputs]),
    )


def _stripped(model: TfliteModel, ends: Iterable[int], dtypes: Iterable[str]) -> int:
    """Return bytes of the float inputs or outputs that the network has as integers."""
    pairs = zip(ends, dtypes)
    return sum(
        _nbytes(model, index)
        for index, dtype in pairs
        if model.tensor(index).type == "FLOAT32" != dtype.upper()
    )


def tail_bytes(model: TfliteModel, helium: bool) -> int:
    """Return bytes of the tail of the arena.

    model: the first graph of the file. helium: True if the core has Helium, whose kernels keep
    sums of weights.
    """
    graphs = [model, *(model.subgraph(number) for number in range(1, model.graphs))]
    tail = _Tail()
    for nbytes in (*_ALLOCATORS, _GRAPH * len(graphs)):
        tail.take(nbytes)
    for each in graphs:
        tail.take(_EVAL_TENSOR * each.tensors)
    for each in graphs:
        tail.take(_NODE * len(each.operators))
    _take_kernels(tail, graphs, helium)
    for each in graphs:
        for index in range(each.tensors):
            if each.tensor(index).variable:
                tail.take(_nbytes(each, index), _KEPT)
    for ends in (model.inputs, model.outputs):
        tail.take(4 * len(ends), _KEPT)
        for index in ends:
            tail.take(_TENSOR)
            if len(model.tensor(index).scales):
                tail.take(_QUANTIZATION)
                tail.take(4 + 4 * len(model.tensor(index).scales))
    return tail.nbytes


def _take_kernels(tail: _Tail, graphs: Sequence[TfliteModel], helium: bool) -> None:
    """Take the options of all operators, and what their kernels keep."""
    operators = [(each, operator) for each in graphs for operator in each.operators]
    for _, operator in operators:
        size = _OPTIONS.get(operator.name, 0)
        tail.take(size, min(_WORD, size & -size or 1))
    for _, operator in operators:
        custom = not operator.name.isupper()
        tail.take(_STRUCTURES.get(operator.name, _CUSTOM if custom else 0), _KEPT)
    variables = _variables(graphs[0])
    for nbytes in (_VARIABLES, _VARIABLE * len(variables), *variables) if variables else ():
        tail.take(nbytes, _KEPT)
    for each, operator in operators:
        for nbytes in _kept(each, operator, helium):
            tail.take(nbytes, _KEPT)
    tail.take(sum(4 * _SCRATCH.get(operator.name, 0) for _, operator in operators))


def _variables(model: TfliteModel) -> list[int]:
    """Return bytes of each variable that the first graph reads or assigns."""
    found = {}
    for operator in model.operators:
        if operator.name == "ASSIGN_VARIABLE":
            found[operator.inputs[0]] = _nbytes(model, operator.inputs[1])
        if operator.name == "READ_VARIABLE":
            found[operator.inputs[0]] = _nbytes(model, operator.outputs[0])
    return list(found.values())


def _kept(model: TfliteModel, operator: TfliteOperator, helium: bool) -> Iterable[int]:
    """Yield bytes of the arrays that a kernel keeps."""
    name, inputs = operator.name, [model.tensor(i) for i in operator.inputs if i >= 0]
    outputs = [model.tensor(index) for index in operator.outputs]
    if name in ("CONV_2D", "DEPTHWISE_CONV_2D", "TRANSPOSE_CONV"):
        yield from [4 * outputs[0].shape[-1]] * 2
    elif name == "FULLY_CONNECTED":
        if len(inputs[1].scales) > 1:
            yield from [4 * inputs[1].shape[0]] * 2
        pointwise = len(outputs[0].shape) > 2 and inputs[1].shape[-1] % 4 == 0
        if helium and inputs[0].type == "INT8" and not pointwise:
            yield 4 * inputs[1].shape[0]
    elif name == "SVDF" and helium:
        yield 4 * inputs[1].shape[0]
    elif name == "SOFTMAX" and inputs[0].type == "INT16":
        yield from [2 * 513] * 2
    elif name == "UNIDIRECTIONAL_SEQUENCE_LSTM":
        yield from [(8 if inputs[0].type == "INT16" else 4) * inputs[1].shape[0]] * 8
    elif name in ("SignalRfft", "SignalIrfft"):
        length = outputs[0].shape[-1] - 2 if name == "SignalRfft" else outputs[0].shape[-1]
        steps = 7 if name == "SignalRfft" else 5
        yield steps * length * np.dtype(outputs[0].dtype).itemsize // 2 + 300
    elif name == "SignalFilterBank":
        yield 8 * (outputs[0].shape[-1] + 1)
    elif name == "SignalFilterBankSpectralSubtraction":
        yield 4 * outputs[0].shape[-1]
    elif name in ("SignalFramer", "SignalStacker", "SignalDelay", "SignalOverlapAdd"):
        yield sum(_nbytes(model, index) for index in (*operator.inputs, *operator.outputs))


def _nbytes(model: TfliteModel, index: int) -> int:
    """Return bytes of a tensor."""
    tensor = model.tensor(index)
    return math.prod(tensor.shape) * np.dtype(tensor.dtype).itemsize
