"""Tensors and layers of networks as short tuples, for users who look at them."""

from __future__ import annotations

from typing import NamedTuple, Optional

from ..ir.float_graph import FloatGraph
from ..ir.graph import Graph
from ..ir.tensors import Tensor


class TensorInfo(NamedTuple):
    """An input or an output of a network.

    Attributes
    ----------
    name : str
        Its name in the file.
    shape : tuple of int
        The shape of one sample.
    dtype : str
        The type of its elements: "int8".
    scale, zero_point : float and int, or None
        An integer q stands for scale * (q - zero_point); None where that is not known, and for
        floats.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    scale: Optional[float]
    zero_point: Optional[int]


class LayerInfo(NamedTuple):
    """A layer of a network and the tensor that it computes.

    Attributes
    ----------
    name : str
        The name of the layer and of its tensor.
    function : str
        The C function, or of a float network the operator.
    inputs : tuple of str
        The tensors that it reads.
    shape, dtype, scale, zero_point
        As TensorInfo has them.
    """

    name: str
    function: str
    inputs: tuple[str, ...]
    shape: tuple[int, ...]
    dtype: str
    scale: Optional[float]
    zero_point: Optional[int]


def describe_tensor(tensor: Tensor) -> TensorInfo:
    """Return a tensor of integers."""
    known = tensor.scale is not None or tensor.frac is not None
    scale, zero = (tensor.format.scale, tensor.format.zero_point) if known else (None, None)
    return TensorInfo(tensor.name, tensor.logical, tensor.dtype, scale, zero)


def describe_layers(graph: Graph) -> tuple[LayerInfo, ...]:
    """Return the calls of a quantized network."""
    return tuple(
        LayerInfo(
            node.name, node.function.name, tuple(node.inputs), *describe_tensor(node.output)[1:]
        )
        for node in graph.nodes
    )


def describe_float(graph: FloatGraph, name: str) -> TensorInfo:
    """Return a tensor of a float network."""
    return TensorInfo(name, tuple(graph.shapes[name]), "float32", None, None)


def describe_operators(graph: FloatGraph) -> tuple[LayerInfo, ...]:
    """Return the operators of a float network."""
    return tuple(
        LayerInfo(
            node.name,
            type(node.operator).__name__,
            tuple(node.inputs),
            *describe_float(graph, node.name)[1:],
        )
        for node in graph.nodes
    )
