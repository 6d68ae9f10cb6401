"""Lowering of every operator to calls of the s8 functions; one error names all unsupported ones."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Callable, Optional

import numpy as np

from ..errors import Error, ModelError
from ..ir.float_graph import FloatGraph, FloatNode
from ..ir.formats import Format
from ..ir.graph import Graph, Node, Tensor
from ..ir.tensors import CHANNELS_LAST
from ..operators import (
    Affine,
    ArgMax,
    Clip,
    Concat,
    Conv,
    ConvTranspose,
    Curve,
    Dense,
    DepthToSpace,
    Elementwise,
    Gather,
    Identity,
    Lstm,
    MatMul,
    Operator,
    Pad,
    Pool,
    PRelu,
    Reduce,
    Relu,
    Reshape,
    Resize,
    Shuffle,
    Sigmoid,
    Slice,
    Softmax,
    SpaceToDepth,
    Tanh,
    Transpose,
)
from ..quantizer.affine_rules import Rescale
from ..quantizer.assign_affine import AffineFormats
from ..quantizer.fusion import Clamp, find_clamps
from . import s8_activation_pool as unweighted
from . import s8_conv_dense as weighted
from . import s8_data_movement as data_movement
from . import s8_products as products
from . import s8_recurrent as recurrent
from . import s8_reduce as reductions
from .q7_q15 import check_wanted
from .s8_context import S8Site
from .s8_float import FLOAT_MAKERS

#: Operator -> function that appends its calls to a site.
_MAKERS: Mapping[type, Callable[[S8Site, Any], None]] = {
    Conv: weighted.convolve,
    ConvTranspose: products.convolve_transposed,
    Dense: weighted.fully_connected,
    MatMul: products.multiply_matrices,
    Lstm: recurrent.remember,
    Affine: unweighted.add_constant,
    Pool: weighted.pool,
    Relu: unweighted.rectify,
    Clip: unweighted.rectify,
    Sigmoid: unweighted.curve,
    Tanh: unweighted.curve,
    Curve: unweighted.table,
    PRelu: unweighted.prelu,
    Softmax: unweighted.softmax,
    Reduce: reductions.reduce,
    ArgMax: reductions.arg_max,
    Elementwise: unweighted.elementwise,
    Concat: data_movement.concatenate,
    Slice: data_movement.slice_axis,
    Gather: data_movement.gather,
    Resize: data_movement.resize,
    DepthToSpace: data_movement.move_blocks,
    SpaceToDepth: data_movement.move_blocks,
    Pad: data_movement.pad,
    Rescale: unweighted.rescale,
    Transpose: data_movement.transpose,
    Shuffle: data_movement.shuffle,
}

#: Operators that move no element: their output is their input.
_SAME = (Reshape, Identity)


def lower_s8(
    graph: FloatGraph,
    formats: AffineFormats,
    functions: Optional[Mapping[str, str]] = None,
    fallback: bool = False,
) -> Graph:
    """Return the s8 calls of a network, channels last, in the given formats.

    If the call before an activation can clamp for it, the activation has no call, and the call has
    the activation's name. fallback: compute operators without an integer function in float32.
    functions, errors: see lower().
    """
    wanted = dict(functions or {})
    check_wanted(graph, wanted)
    holder = {name: name for name in graph.starts}
    nodes: list[Node] = []
    arrays: dict[str, np.ndarray] = {}
    problems = []
    own = find_clamps(graph)
    for node in graph.nodes:
        if node.name not in own:  # an activation that is fused into the call before it
            continue
        clamp = own[node.name]
        holder[clamp.tensor] = clamp.tensor
        if isinstance(node.operator, _SAME) and not isinstance(node.operator, Rescale):
            holder[node.name] = holder[node.inputs[0]]
            continue
        sources = tuple(holder[name] for name in node.inputs)
        make_site = partial(_site, graph, node, clamp, sources, formats, wanted)
        try:
            site = _append_calls(make_site, node.operator, fallback)
        except ModelError as problem:
            problems.append(f"{type(node.operator).__name__} {node.name!r}: {problem}")
            continue
        except Error as problem:
            raise Error(f"{node.name}: {problem}") from None
        nodes += site.nodes
        arrays.update(site.arrays)
    if problems:
        raise ModelError(f"{graph.name} cannot run on the device: " + "; ".join(problems))
    starts = tuple(_make_start(graph, name, formats.tensors[name]) for name in graph.starts)
    outputs = tuple(dict.fromkeys(holder[name] for name in graph.outputs))
    return Graph(graph.name, starts, tuple(nodes), outputs, arrays, classes=graph.classes)


def _make_start(graph: FloatGraph, name: str, own: Format) -> Tensor:
    """Return an input of the device."""
    order = CHANNELS_LAST if name in graph.moved else ()
    shape = graph.starts[name]
    return Tensor(name, shape, own.dtype, None, own.scale, own.zero_point, order)


def _append_calls(make_site: Callable[[], S8Site], operator: Operator, fallback: bool) -> S8Site:
    """Return the calls of an operator: of integers, or else in float32 if `fallback` allows it.

    Raises ModelError that says why there are no integers, and whether float32 computes it.
    """
    kind = type(operator)
    site = make_site()
    try:
        if kind not in _MAKERS:
            raise ModelError("there is no function for it in CMSIS-NN's s8 API")
        _MAKERS[kind](site, operator)
    except ModelError as problem:
        if kind not in FLOAT_MAKERS:
            raise
        site = make_site()
        try:
            FLOAT_MAKERS[kind](site, operator)
        except ModelError as other:
            raise ModelError(f"{problem}; {other}") from None
        if not fallback:
            remedy = "; fallback='float' computes it in float32"
            raise ModelError(f"{problem}{remedy}") from None
    return site


def _site(
    graph: FloatGraph,
    node: FloatNode,
    clamp: Clamp,
    sources: tuple[str, ...],
    formats: AffineFormats,
    wanted: Mapping[str, str],
) -> S8Site:
    tensors = (*node.inputs, clamp.tensor)
    asked = {wanted[name] for name in (node.name, clamp.tensor) if name in wanted}
    return S8Site(
        clamp.tensor,
        node.operator,
        sources,
        tuple(graph.shapes[name] for name in tensors),
        asked.pop() if asked else None,
        tuple(formats.tensors[name] for name in tensors),
        clamp.ends,
        formats.weights.get(node.name),
        formats.most(node.name),
    )
