"""Requirements of each operator on affine formats: a scale and a zero point for each tensor.

Most functions rescale their output, so fewer tensors share a format than with powers of two.
These are the rules of TensorFlow Lite.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Optional

from ..ir.float_graph import FloatGraph
from ..ir.formats import Format
from ..operators import (
    ArgMax,
    Concat,
    Elementwise,
    Identity,
    Operator,
    Relu,
    Resize,
    Sigmoid,
    Softmax,
    Tanh,
)
from .rules import Rule, get_rule

#: Type of activations -> operators whose function writes one fixed format, which covers their
#: range.
FIXED: Mapping[str, Mapping[type, Format]] = {
    "int8": {
        Softmax: Format("int8", 1 / 256, -128),
        Sigmoid: Format("int8", 1 / 256, -128),
        Tanh: Format("int8", 1 / 128, 0),
    },
    "int16": dict.fromkeys((Softmax, Sigmoid, Tanh), Format("int16", 1 / 32768)),
    "int32": {ArgMax: Format("int32", 1.0)},
}


@dataclass(frozen=True)
class Rescale(Identity):
    """Conversion to a different format, with activations of type `to`; None: of the same type."""

    to: Optional[str] = None


def get_affine_rule(operator: Operator) -> Rule:
    """Return the rule of an operator."""
    if isinstance(operator, Elementwise):
        return Rule(same_format=operator.kind in ("maximum", "minimum"))
    if isinstance(operator, Rescale) or (isinstance(operator, Relu) and operator.slope):
        return Rule()
    if isinstance(operator, Resize):
        return Rule(same_format=True, passes=operator.kind == "nearest")
    fixed = any(type(operator) in own for own in FIXED.values())
    return Rule(fixed=True) if fixed else get_rule(operator)


def joins_tensors(operator: Operator) -> bool:
    """True if an operator reads several tensors, all in the format of its output."""
    return isinstance(operator, (Concat, Elementwise)) and get_affine_rule(operator).same_format


def infer_types(graph: FloatGraph, dtype: str = "int8") -> dict[str, str]:
    """Return tensor -> the type of its integers. dtype: the input's.

    Only a Rescale changes it, and an ArgMax, which writes indices.
    """
    found = dict.fromkeys(graph.starts, dtype)
    for node in graph.nodes:
        to = node.operator.to if isinstance(node.operator, Rescale) else None
        to = "int32" if isinstance(node.operator, ArgMax) else to
        found[node.name] = to or found[node.inputs[0]]
    return found


def find_fixed_formats(graph: FloatGraph, dtype: str = "int8") -> dict[str, Optional[Format]]:
    """Return tensor -> the format that its function fixes; None if the format is free. dtype: of
    the input.

    dtype: of the input.
    """
    own = infer_types(graph, dtype)
    fixed: dict[str, Optional[Format]] = dict.fromkeys(graph.starts)
    for node in graph.nodes:
        formats = {fixed[name] for name in node.inputs}
        same = len(formats) == 1 and get_affine_rule(node.operator).same_format
        fixed[node.name] = FIXED[own[node.name]].get(
            type(node.operator), formats.pop() if same else None
        )
    return fixed
