"""Lowering of every operator to calls of the q7 and q15 functions; one error names all unsupported
ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Callable, Optional

import numpy as np

from ..errors import Error, ModelError
from ..io.arguments import have
from ..ir.float_graph import FloatGraph
from ..ir.graph import Graph, Node, Tensor
from ..ir.tensors import CHANNELS_LAST
from ..operators import (
    Clip,
    Conv,
    Dense,
    Elementwise,
    Identity,
    Pool,
    Relu,
    Reshape,
    Sigmoid,
    Softmax,
    Tanh,
)
from ..quantizer.assign import Formats
from ..targets import Profile
from . import activation_pool, conv_dense
from .layer_context import Site

#: Operator -> function that appends its calls to a site.
_MAKERS: Mapping[type, Callable[[Site, Any], None]] = {
    Conv: conv_dense.convolve,
    Dense: conv_dense.fully_connected,
    Pool: activation_pool.pool,
    Relu: activation_pool.relu,
    Clip: activation_pool.clip,
    Sigmoid: activation_pool.table,
    Tanh: activation_pool.table,
    Softmax: activation_pool.softmax,
    Elementwise: activation_pool.elementwise,
}

#: Error for an operator without a function.
_NONE = "there is no function for it in CMSIS-NN's q7 and q15 API; scheme='affine' has one"

#: Operators that move no element: their output is their input.
_SAME = (Reshape, Identity)


def lower(
    graph: FloatGraph,
    formats: Formats,
    profile: Profile,
    functions: Optional[Mapping[str, str]] = None,
) -> Graph:
    """Return the calls of a network, channels last, in the given formats.

    functions: layer -> C name of the function to call instead of the fastest that fits. Raises
    ModelError that names every operator without a function, Error for functions that do not fit.
    """
    wanted = dict(functions or {})
    check_wanted(graph, wanted)
    holder = {name: name for name in graph.starts}
    nodes: list[Node] = []
    arrays: dict[str, np.ndarray] = {}
    problems = []
    for node in graph.nodes:
        holder[node.name] = node.name
        if isinstance(node.operator, _SAME):
            holder[node.name] = holder[node.inputs[0]]
            continue
        tensors = (*node.inputs, node.name)
        site = Site(
            node.name,
            node.operator,
            tuple(holder[name] for name in node.inputs),
            tuple(graph.shapes[name] for name in tensors),
            wanted.get(node.name),
            tuple(formats.tensors[name] for name in tensors),
            formats,
            dsp=profile.path == "dsp",
            old=profile.cmsis == "5.6.0",
        )
        kind = type(node.operator)
        try:
            if kind not in _MAKERS:
                raise ModelError(_NONE)
            _MAKERS[kind](site, node.operator)
        except ModelError as problem:
            problems.append(f"{kind.__name__} {node.name!r}: {problem}")
        except Error as problem:
            raise Error(f"{node.name}: {problem}") from None
        faults = [call.function.fault(call.params, profile) for call in site.nodes]
        problems += [f"{kind.__name__} {node.name!r}: {fault}" for fault in faults if fault]
        nodes += site.nodes
        arrays.update(site.arrays)
    if problems:
        raise ModelError(f"{graph.name} cannot run on the device: " + "; ".join(problems))
    dtype = "int8" if formats.bits == 8 else "int16"
    starts = tuple(
        Tensor(
            *(name, shape, dtype, formats.tensors[name]),
            order=CHANNELS_LAST if name in graph.moved else (),
        )
        for name, shape in graph.starts.items()
    )
    outputs = tuple(dict.fromkeys(holder[name] for name in graph.outputs))
    return Graph(graph.name, starts, tuple(nodes), outputs, arrays, classes=graph.classes)


def check_wanted(graph: FloatGraph, wanted: Mapping[str, str]) -> None:
    """Raise Error unless every layer with a chosen function exists."""
    for name in wanted:
        if name not in graph.shapes:
            choices = have([node.name for node in graph.nodes], name)
            raise Error(
                f"{graph.name} has no layer {name!r}, for which functions= names a "
                f"function; {choices}"
            )
