"""Operators on integers (QLinearConv and its kin) as the pairs that they stand for."""

from __future__ import annotations

from dataclasses import replace

from ....errors import ModelError
from ..reading import Model, Node

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

_CONCAT = "com.microsoft.QLinearConcat"


def plain(model: Model) -> list[Node]:
    """Return the nodes of a file, with pairs instead of operators on integers."""
    found: list[Node] = []
    for number, node in enumerate(model.nodes):
        if node.op in _FORMS:
            found += _expanded(node, f"integers{number}")
        elif node.op == _CONCAT:
            found += _concat(node, f"integers{number}")
        else:
            renamed = node.op.replace("com.microsoft.", "")
            pair = renamed in ("QuantizeLinear", "DequantizeLinear")
            found.append(replace(node, op=renamed) if pair else node)
    return found


def _at(node: Node, index: int) -> str:
    return node.inputs[index] if 0 <= index < len(node.inputs) else ""


def _pair(op: str, name: str, inputs: tuple[str, ...], output: str, axis: int = 0) -> Node:
    return Node(op, name, inputs, (output,), {"axis": axis})


def _expanded(node: Node, stem: str) -> list[Node]:
    op, tensors, ends, bias = _FORMS[node.op]
    if node.attributes.get("channels_last", 0):
        raise ModelError(f"{node}: its channels are last, which is not supported")
    nodes, inputs = [], []
    matrix_axis = 1 if op in ("Gemm", "MatMul") and not node.attributes.get("transB", 0) else 0
    for number, places in enumerate(tensors):
        names = tuple(_at(node, place) for place in places)
        inputs.append(f"{stem}/{number}")
        nodes.append(_pair("DequantizeLinear", node.name, names, inputs[-1], matrix_axis))
    if _at(node, bias):
        inputs.append(_at(node, bias))
    real = replace(node, op=op, inputs=tuple(inputs), outputs=(f"{stem}/real",))
    names = (f"{stem}/real", *(_at(node, place) for place in ends))
    return [*nodes, real, _pair("QuantizeLinear", node.name, names, node.outputs[0])]


def _concat(node: Node, stem: str) -> list[Node]:
    """Return scale and zero point of the output, then three inputs for each tensor."""
    nodes, inputs = [], []
    for first in range(2, len(node.inputs) - 2, 3):
        inputs.append(f"{stem}/{first}")
        names = node.inputs[first : first + 3]
        nodes.append(_pair("DequantizeLinear", node.name, names, inputs[-1]))
    real = replace(node, op="Concat", inputs=tuple(inputs), outputs=(f"{stem}/real",))
    names = (f"{stem}/real", *node.inputs[:2])
    return [*nodes, real, _pair("QuantizeLinear", node.name, names, node.outputs[0])]
