"""Operators on integers (QLinearConv and its kin) as the pairs that they stand for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Optional

from ....errors import ModelError
from ..reading import Model, OnnxNode
from .pairs import DEQUANTIZE, QUANTIZE, QUANTIZE_CLIP

#: Operator on integers -> the one on floats, and where its inputs are: pairs of a tensor, its
#: scale and zero point; then the scale and zero point of the output, and a bias.
_FORMS: dict[str, tuple[str, tuple[tuple[int, int, int], ...], tuple[int, int], int]] = {
    "QLinearConv": ("Conv", ((0, 1, 2), (3, 4, 5)), (6, 7), 8),
    "QLinearMatMul": ("MatMul", ((0, 1, 2), (3, 4, 5)), (6, 7), -1),
    "com.microsoft.QGemm": ("Gemm", ((0, 1, 2), (3, 4, 5)), (7, 8), 6),
    "com.microsoft.QLinearAdd": ("Add", ((0, 1, 2), (3, 4, 5)), (6, 7), -1),
    "com.microsoft.QLinearMul": ("Mul", ((0, 1, 2), (3, 4, 5)), (6, 7), -1),
    "com.microsoft.QLinearSigmoid": ("Sigmoid", ((0, 1, 2),), (3, 4), -1),
    "com.microsoft.QLinearLeakyRelu": ("LeakyRelu", ((0, 1, 2),), (3, 4), -1),
    "com.microsoft.QLinearSoftmax": ("Softmax", ((0, 1, 2),), (3, 4), -1),
    "com.microsoft.QLinearGlobalAveragePool": ("GlobalAveragePool", ((0, 1, 2),), (3, 4), -1),
    "com.microsoft.QLinearAveragePool": ("AveragePool", ((0, 1, 2),), (3, 4), -1),
    "com.microsoft.QLinearReduceMean": ("ReduceMean", ((0, 1, 2),), (3, 4), -1),
}

#: Inputs of a QuantizeLinear, and of a Clip.
_CLIPPED = 3

_CONCAT = "com.microsoft.QLinearConcat"


#: An attribute of averages: whether cells after the padding count.
COUNTS_OUTSIDE = "count_outside"


def plain(model: Model) -> Model:
    """Return a file with pairs instead of operators on integers, with constants instead of nodes
    that hold them, and with bounds of integers as part of their QuantizeLinear.
    """
    constants, nodes = dict(model.constants), []
    for number, node in enumerate(model.nodes):
        held = node.attributes.get("value") if node.op == "Constant" else None
        if not node.outputs:
            continue
        if hasattr(held, "data_type"):
            constants[node.outputs[0]] = held
        elif node.op in _FORMS:
            nodes += _expanded(node, f"integers{number}")
        elif node.op == _CONCAT:
            nodes += _concat(node, f"integers{number}")
        elif node.op in _IN_PAIRS and len(node.inputs) > 1:
            nodes += _paired(node, f"operands{number}")
        else:
            renamed = node.op.replace("com.microsoft.", "")
            pair = renamed in (QUANTIZE, DEQUANTIZE)
            nodes.append(replace(node, op=renamed) if pair else node)
    nodes = _bounded(_looked_up(nodes, constants), model.outputs)
    return replace(model, constants=constants, nodes=tuple(_needed(nodes, model.outputs)))


def _needed(nodes: list[OnnxNode], outputs: tuple[str, ...]) -> list[OnnxNode]:
    """Return the nodes that the outputs come from."""
    names, found = set(outputs), []
    for node in reversed(nodes):
        if not names.isdisjoint(node.outputs):
            found.append(node)
            names.update(node.inputs)
    return found[::-1]


def _looked_up(nodes: list[OnnxNode], constants: Mapping[str, Any]) -> list[OnnxNode]:
    """Return the nodes with constant integers dequantized before their rows are looked up, and not
    after it.
    """
    makers = {
        node.outputs[0]: node
        for node in nodes
        if node.op == "Gather" and node.outputs and node.inputs and node.inputs[0] in constants
    }
    found = []
    for number, node in enumerate(nodes):
        gather = makers.get(node.inputs[0]) if node.op == DEQUANTIZE and node.inputs else None
        if gather is None:
            found.append(node)
            continue
        real = f"table{number}/real"
        found.append(replace(node, inputs=(gather.inputs[0], *node.inputs[1:]), outputs=(real,)))
        inputs = (real, *gather.inputs[1:])
        found.append(replace(gather, inputs=inputs, outputs=node.outputs))
    return found


#: Operators of any number of operands, and those of two that they are in turn.
_IN_PAIRS = {"Sum": "Add", "Max": "Max", "Min": "Min"}


def _paired(node: OnnxNode, stem: str) -> list[OnnxNode]:
    """Return operators of two operands each, instead of one of several."""
    found, first = [], node.inputs[0]
    for number, second in enumerate(node.inputs[1:], 2):
        made = node.outputs[0] if number == len(node.inputs) else f"{stem}/{number}"
        op, outputs = _IN_PAIRS[node.op], (made, *node.outputs[1:])
        found.append(replace(node, op=op, inputs=(first, second), outputs=outputs))
        first = made
    return found


def _bounded(nodes: list[OnnxNode], outputs: tuple[str, ...]) -> list[OnnxNode]:
    """Return the nodes with each Clip that alone reads a QuantizeLinear as part of that."""
    readers = Counter(name for node in nodes for name in {*node.inputs}) + Counter(outputs)
    pairs = [(at, node) for at, node in enumerate(nodes) if node.op == QUANTIZE and node.outputs]
    makers = {node.outputs[0]: at for at, node in pairs}
    kept: list[Optional[OnnxNode]] = list(nodes)
    for at, node in enumerate(nodes):
        source = node.inputs[0] if node.op == "Clip" and node.inputs else ""
        if source in makers and readers[source] == 1 and len(node.inputs) <= _CLIPPED:
            maker = nodes[makers[source]]
            own = (*maker.inputs, "")[:_CLIPPED]
            bounds = (*node.inputs[1:], "", "")[:2]
            kept[makers[source]] = None
            inputs = (*own, *bounds)
            kept[at] = replace(maker, op=QUANTIZE_CLIP, inputs=inputs, outputs=node.outputs)
    return [node for node in kept if node is not None]


def _at(node: OnnxNode, index: int) -> str:
    return node.inputs[index] if 0 <= index < len(node.inputs) else ""


def _pair(op: str, name: str, inputs: tuple[str, ...], output: str, axis: int = 0) -> OnnxNode:
    return OnnxNode(op, name, inputs, (output,), {"axis": axis})


def _expanded(node: OnnxNode, stem: str) -> list[OnnxNode]:
    op, tensors, ends, bias = _FORMS[node.op]
    attributes = {key: value for key, value in node.attributes.items() if key != "channels_last"}
    if node.attributes.get("channels_last", 0):
        raise ModelError(f"{node}: its channels are last, which is not supported")
    if node.op == "com.microsoft.QLinearAveragePool":  # which counts zeros next to the border, too
        attributes[COUNTS_OUTSIDE] = attributes.get("count_include_pad", 0)
    nodes, inputs = [], []
    matrix_axis = 1 if op in ("Gemm", "MatMul") and not node.attributes.get("transB", 0) else 0
    for number, places in enumerate(tensors):
        names = tuple(_at(node, place) for place in places)
        inputs.append(f"{stem}/{number}")
        nodes.append(_pair("DequantizeLinear", node.name, names, inputs[-1], matrix_axis))
    if _at(node, bias):
        inputs.append(_at(node, bias))
    real = replace(
        node, op=op, inputs=tuple(inputs), outputs=(f"{stem}/real",), attributes=attributes
    )
    names = (f"{stem}/real", *(_at(node, place) for place in ends))
    return [*nodes, real, _pair("QuantizeLinear", node.name, names, node.outputs[0])]


def _concat(node: OnnxNode, stem: str) -> list[OnnxNode]:
    """Return scale and zero point of the output, then three inputs for each tensor."""
    nodes, inputs = [], []
    for first in range(2, len(node.inputs) - 2, 3):
        inputs.append(f"{stem}/{first}")
        names = node.inputs[first : first + 3]
        nodes.append(_pair("DequantizeLinear", node.name, names, inputs[-1]))
    real = replace(node, op="Concat", inputs=tuple(inputs), outputs=(f"{stem}/real",))
    names = (f"{stem}/real", *node.inputs[:2])
    return [*nodes, real, _pair("QuantizeLinear", node.name, names, node.outputs[0])]
