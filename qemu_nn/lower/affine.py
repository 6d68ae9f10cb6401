"""Every operator of an affine network into calls; what cannot be is collected and told at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Callable, Optional

import numpy as np

from ..errors import Error, ModelError
from ..ir.float_graph import FloatGraph, FloatNode
from ..ir.graph import Graph, Node, Tensor
from ..operators import (
    Clip,
    Concat,
    Conv,
    Dense,
    Elementwise,
    Identity,
    Pad,
    Pool,
    Relu,
    Reshape,
    Shuffle,
    Sigmoid,
    Slice,
    Softmax,
    Tanh,
    Transpose,
)
from ..quantizer.affine_rules import Rescale
from ..quantizer.assign_affine import AffineFormats
from ..quantizer.fusion import Clamp, clamps
from . import affine_plain as plain
from . import affine_shaping as shaping
from . import affine_weighted as weighted
from .affine_site import AffineSite
from .lower import check_wanted

#: Operator -> what appends its calls to a site.
_MAKERS: Mapping[type, Callable[[AffineSite, Any], None]] = {
    Conv: weighted.convolve,
    Dense: weighted.fully_connected,
    Pool: weighted.pool,
    Relu: plain.rectify,
    Clip: plain.rectify,
    Sigmoid: plain.curve,
    Tanh: plain.curve,
    Softmax: plain.softmax,
    Elementwise: plain.elementwise,
    Concat: shaping.concatenate,
    Slice: shaping.cut,
    Pad: shaping.pad,
    Rescale: plain.rescale,
    Transpose: shaping.transpose,
    Shuffle: shaping.shuffle,
}

#: Operators that leave every element where it is: their output is their input.
_SAME = (Reshape, Identity)


def lower_affine(
    graph: FloatGraph,
    formats: AffineFormats,
    functions: Optional[Mapping[str, str]] = None,
) -> Graph:
    """The calls of a network, channels last, in the given formats.

    An activation that only clamps has no call, where the one before it can do that; the call has
    the activation's name then. functions, errors: see lower().
    """
    wanted = dict(functions or {})
    check_wanted(graph, wanted)
    holder = {graph.input: graph.input}
    nodes: list[Node] = []
    arrays: dict[str, np.ndarray] = {}
    problems = []
    own = clamps(graph)
    for node in graph.nodes:
        if node.name not in own:  # an activation that the call before it computes along
            continue
        made = own[node.name]
        holder[made.tensor] = made.tensor
        if isinstance(node.operator, _SAME) and not isinstance(node.operator, Rescale):
            holder[node.name] = holder[node.inputs[0]]
            continue
        sources = tuple(holder[name] for name in node.inputs)
        site = _site(graph, node, made, sources, formats, wanted)
        kind = type(node.operator)
        try:
            if kind not in _MAKERS:
                raise ModelError("there is no function for it in CMSIS-NN's s8 API")
            _MAKERS[kind](site, node.operator)
        except ModelError as problem:
            problems.append(f"{kind.__name__} {node.name!r}: {problem}")
        except Error as problem:
            raise Error(f"{node.name}: {problem}") from None
        nodes += site.nodes
        arrays.update(site.arrays)
    if problems:
        raise ModelError(f"{graph.name} cannot run on the device: " + "; ".join(problems))
    held = formats.tensors[graph.input]
    start = Tensor(graph.input, graph.shape, held.dtype, None, held.scale, held.zero_point)
    outputs = tuple(dict.fromkeys(holder[name] for name in graph.outputs))
    return Graph(graph.name, start, tuple(nodes), outputs, arrays, classes=graph.classes)


def _site(
    graph: FloatGraph,
    node: FloatNode,
    made: Clamp,
    sources: tuple[str, ...],
    formats: AffineFormats,
    wanted: Mapping[str, str],
) -> AffineSite:
    tensors = (*node.inputs, made.tensor)
    asked = {wanted[name] for name in (node.name, made.tensor) if name in wanted}
    return AffineSite(
        made.tensor,
        node.operator,
        sources,
        tuple(graph.shapes[name] for name in tensors),
        asked.pop() if asked else None,
        tuple(formats.tensors[name] for name in tensors),
        made.ends,
        formats.weights.get(node.name),
    )
