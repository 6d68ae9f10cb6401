"""Start of a network: its input, the choice without one, and the input's shape."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Optional

import numpy as np

from ...errors import ModelError
from ..tensor import Tensor, Value
from .building import integers
from .converters import CONVERTERS, build
from .graph import Section, cut_section, shorten_names
from .reading import TensorflowNode, get_producer
from .tensors import FLOAT_TYPES, type_name

_VARIABLES = ("Variable", "VariableV2", "VarHandleOp", "ReadVariableOp")
_PLACEHOLDERS = ("Placeholder", "PlaceholderWithDefault")


def find_inputs(nodes: Iterable[str], part: Section) -> tuple[str, ...]:
    """Return the Placeholders of floats, in the order of the graph."""
    found = {
        node.name
        for node in part.order
        if node.op == "Placeholder" and node.type("dtype") in FLOAT_TYPES
    }
    return tuple(name for name in nodes if name in found)


def refusal(part: Section) -> str:
    """Return why a part of a graph is not supported, and which part of it is."""
    bad = part.unsupported
    if not bad:
        return (
            f"the output {part.outputs[0]!r} depends on no Placeholder; choose a tensor with input="
        )
    if any(node.op in _VARIABLES for node in bad):
        return (
            "it holds variables without their values; freeze it "
            "(convert_variables_to_constants_v2) and load the result"
        )
    names = shorten_names(map(_describe_tensor, bad))
    if all(node.op == "Placeholder" for node in bad):
        why = have = f"its inputs must be floats, but it has {names}"
    else:
        why = f"these operators are not supported: {names}"
        have = f"{why}; have: {', '.join(sorted(CONVERTERS))}"
    known = _find_known(part.cuts, part.order, part.constants)
    cuts = part.cuts[part.cuts.index(known[0]) :] if known else ()
    starts = [node.name for node in cuts if node.name not in part.outputs]
    if starts:
        names = shorten_names(starts)
        return f"{why}; choose a part that begins after them, with input= one of: {names}"
    made = {node.name for node in part.order} - {*part.starts, *(node.name for node in bad)}
    ends = [name for name in bad[0].inputs if name in made and name not in part.constants]
    return f"{have}; the part before is supported, with output={ends[0]!r}" if ends else have


def start_tensor(nodes: Mapping[str, TensorflowNode], part: Section, name: str) -> Tensor:
    """Return the input with its shape, declared by the graph or inferred from earlier tensors.

    Otherwise its readers may determine its number of elements. Raises ModelError if the shape is
    unknown.
    """
    try:
        before = cut_section(nodes, [name])
    except ModelError:  # the removed part may be damaged, or have loops
        before = replace(part, order=(), constants={})
    order, constants = (*before.order, *part.order), {**before.constants, **part.constants}
    known = _find_known(before.cuts, order, constants)
    if known is None:
        found: Optional[Value] = _find_requested_sizes(order, constants).get(name)
    else:
        behind = before.order[before.order.index(known[0]) + 1 :]
        found = build(behind, [known[1]], before.constants, nodes).values.get(name)
    if not isinstance(found, Tensor):
        raise ModelError(_make_unknown_error(nodes[get_producer(name)], name))
    return found


def _find_known(
    cuts: Iterable[TensorflowNode],
    order: Sequence[TensorflowNode],
    constants: Mapping[str, np.ndarray],
) -> Optional[tuple[TensorflowNode, Tensor]]:
    """Return the first of some tensors with a shape known from the graph or from its readers."""
    for node in cuts:
        found = _read_declared(node, constants)
        if found is not None:
            return node, found
    asked = _find_requested_sizes(order, constants)
    return next(((node, asked[node.name]) for node in cuts if node.name in asked), None)


def _read_declared(node: TensorflowNode, constants: Mapping[str, np.ndarray]) -> Optional[Tensor]:
    """Return the shape declared by a Placeholder, or the constant shape of a Reshape."""
    if node.op in _PLACEHOLDERS:
        return _match_size(node.name, node.dims("shape"))
    if node.op == "Reshape" and len(node.inputs) == 2 and node.inputs[1] in constants:
        to = integers(constants[node.inputs[1]])
        return _match_size(node.name, to) if len(to) > 1 else None
    return None


def _find_requested_sizes(
    order: Iterable[TensorflowNode], constants: Mapping[str, np.ndarray]
) -> dict[str, Tensor]:
    """Return tensor -> number of elements required by a MatMul's weights, or by the shape of a
    Reshape.
    """
    found: dict[str, Tensor] = {}
    for node in order:
        if len(node.inputs) != 2 or node.inputs[1] not in constants:
            continue
        name, second = node.inputs[0], constants[node.inputs[1]]
        told = None
        if node.op == "MatMul" and second.ndim == 2:
            told = _match_size(name, (-1, second.shape[node.flag("transpose_b")]))
        elif node.op == "Reshape":
            to = _match_size(name, integers(second))
            if to is not None and to.batched and to.sample:
                told = _match_size(name, (-1, math.prod(to.sample)))
        if told is not None:
            found.setdefault(name, told)
    return found


def _match_size(name: str, dims: Sequence[int]) -> Optional[Tensor]:
    """Return a tensor of this shape, if complete; a first axis of 1 or -1 is the batch."""
    batched = tuple(dims[:1]) in ((1,), (-1,))
    shape = (1, *dims[1:]) if batched else tuple(dims)
    return Tensor(name, shape, batched) if min(shape, default=0) > 0 else None


def _make_unknown_error(node: TensorflowNode, name: str) -> str:
    dims = node.dims("shape") if node.op in _PLACEHOLDERS else ()
    open_ = ", ".join("?" if size < 0 else str(size) for size in dims)
    says = f"is [{open_}] in the graph" if dims else "is not in the graph"
    return (
        f"the shape of the input {name!r} {says}; freeze the graph for inputs of one size, or "
        "choose another input="
    )


def _describe_tensor(node: TensorflowNode) -> str:
    return f"{node} of {type_name(node.type('dtype'))}" if node.op == "Placeholder" else str(node)
