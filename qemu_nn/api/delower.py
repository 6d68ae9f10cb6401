"""From a quantized network back to what it was lowered from: operators, formats, integers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import Error
from ..functions import float_semantics
from ..functions.tflm import REQUANTIZE
from ..ir.float_graph import FloatGraph
from ..ir.formats import Format
from ..ir.graph import Graph, Node
from ..lowering import take_device_part
from ..lowering.mixed import chooses_width, mix_widths
from ..lowering.s8_conv_dense import NARROW
from ..operators import Conv, Dense, Identity, Pool, Reshape, Softmax
from ..ptq.schemes import Scheme, get_scheme
from ..quantizer.affine_rules import Rescale
from ..quantizer.assign import Formats
from ..quantizer.assign_affine import AffineFormats
from ..quantizer.fusion import find_clamps
from ..runtime.unbounded import make_product_layer
from ..runtime.unbounded_s8 import is_affine
from ..targets import Profile
from .network import Network

#: Scale of weights whose multiplier is 0.
_SMALLEST = 1e-30


@dataclass(frozen=True)
class Layer:
    """Integers of a layer's weights and bias, in the shapes of its operator."""

    weights: np.ndarray
    bias: np.ndarray


@dataclass(frozen=True)
class Recovered:
    """Float network and formats that lower to a quantized network.

    graph: the device's part of the float network, with a bias in every layer; its real weights.
    layers: by their nodes in it.
    """

    graph: FloatGraph
    scheme: Scheme
    formats: Any
    layers: Mapping[str, Layer]

    def lowered(self, formats: Any, layers: Mapping[str, Layer]) -> Graph:
        """Return the calls, with these formats and integers."""
        return self.scheme.lower(on_grids(self.graph, formats, layers), formats)


def recovered(network: Network, profile: Profile) -> Recovered:
    """Return the float network, formats and integers of a network that quantize() made.

    Raises Error where they do not lower to it again.
    """
    graph, name = network.graph, network.graph.name
    if network.reference is None:
        raise Error(
            f"{name} has no float network to train: quantize one with qemu_nn.quantize(), "
            "and save the result as .qnz, which contains it"
        )
    if graph.memory is not None or graph.states or graph.loops or len(graph.inputs) > 1:
        raise Error(
            f"{name} has states, loops or several inputs; training needs a network without these"
        )
    affine = is_affine(graph)
    bits = 16 if graph.input.dtype == "int16" else 8
    scheme = get_scheme("affine" if affine else "power2", profile, {}, bits, "minmax", "minmax")
    try:
        real = _with_biases(_prepared(graph, network.reference, scheme))
        found = _recovered(graph, real, scheme, affine)
        same = _same(found.lowered(found.formats, found.layers), graph)
    except (Error, KeyError, StopIteration, ValueError):
        same = False
    if not same:
        raise Error(
            f"{name} cannot be trained: its calls are not those that quantize() makes of its float "
            f"network for {profile}; name the target and the release that it was quantized for"
        )
    return found


def on_grids(graph: FloatGraph, formats: Any, layers: Mapping[str, Layer]) -> FloatGraph:
    """Return the network with the real weights and biases that integers stand for."""
    changed = {}
    for name, own in layers.items():
        node = graph.node(name)
        operator: Any = node.operator
        grid, taps = formats.grid(node), own.weights[0].size
        rows = own.weights.astype(np.float64).reshape(*grid.weights.shape[:1], -1, taps)
        real = (rows * grid.weights).reshape(own.weights.shape)
        bias = own.bias * np.broadcast_to(grid.biases, own.bias.shape)
        changed[name] = replace(operator, weights=real, bias=bias)
    return graph.with_operators(changed)


def _prepared(graph: Graph, reference: FloatGraph, scheme: Scheme) -> FloatGraph:
    """Return the device's part of the float network in operators that have functions, with changes
    of formats where the calls change them.
    """
    ends = {each.name for each in reference.nodes if isinstance(each.operator, Softmax)}
    softmax = bool(ends & set(graph.outputs))
    calls = (node for node in graph.nodes if node.function.name.startswith(REQUANTIZE))
    changes = {call.name: _rescale(graph, call) for call in calls}
    real = take_device_part(reference).with_operators(changes)
    if all(name in real.shapes for name, change in changes.items() if change.to):
        return scheme.prepare(real, softmax)[0]
    real = get_scheme("affine", scheme.profile, {}, 8, "minmax", "minmax").prepare(real, softmax)[0]
    wide = [
        name
        for name, clamp in find_clamps(real).items()
        if chooses_width(real.node(name).operator) and graph.tensors[clamp.tensor].dtype == "int16"
    ]
    return mix_widths(real, wide)[0]


def _rescale(graph: Graph, call: Node) -> Rescale:
    before, after = graph.tensors[call.inputs[0]].dtype, call.output.dtype
    return Rescale(None if before == after else after)


def _with_biases(graph: FloatGraph) -> FloatGraph:
    """Return the functions all have a bias."""
    layers = {n.name: n.operator for n in graph.nodes if isinstance(n.operator, (Conv, Dense))}
    return graph.with_operators(
        {
            name: replace(layer, bias=np.zeros(len(layer.weights)))
            for name, layer in layers.items()
            if layer.bias is None
        }
    )


def _recovered(graph: Graph, real: FloatGraph, scheme: Any, affine: bool) -> Recovered:
    own = find_clamps(real) if affine else {}
    calls, functions, layers = {}, {}, {}
    for node in real.nodes:
        made = own[node.name].tensor if node.name in own else node.name
        if isinstance(node.operator, (Conv, Dense, Pool)):
            calls[node.name] = call = graph.node(made)
            functions[made] = call.function.name
        if isinstance(node.operator, (Conv, Dense)):
            layers[node.name] = _layer(graph, call, node.operator.weights.shape)
    tensors: dict[str, Format] = {real.input: graph.input.format}
    known = {node.name: node.output.format for node in graph.nodes}
    for node in real.nodes:
        made = own[node.name].tensor if node.name in own else node.name
        same = type(node.operator) in (Reshape, Identity)
        tensors[node.name] = known[made] if made in known or not same else tensors[node.inputs[0]]
    for name, clamp in own.items():  # tensors that are never written
        while name != clamp.tensor:
            tensors[name] = known.get(clamp.tensor, tensors[name])
            (reader,) = real.readers(name)
            name = reader.name
    scheme = replace(scheme, functions=functions)
    formats = (_affine if affine else _powers)(graph, real, calls, tensors)
    return Recovered(real, scheme, formats, layers)


def _layer(graph: Graph, call: Node, shape: tuple[int, ...]) -> Layer:
    operator = make_product_layer(graph, call)
    assert operator is not None  # of a call for weights
    bias = float_semantics.get_bias_row(call.function, graph.arrays[call.bias or ""])
    assert bias is not None
    return Layer(operator.weights.reshape(shape).astype(np.int64), bias.astype(np.int64))


def _powers(
    graph: Graph, real: FloatGraph, calls: Mapping[str, Node], tensors: Mapping[str, Format]
) -> Formats:
    fracs = {name: int(each.frac or 0) for name, each in tensors.items()}
    weights, biases = {}, {}
    for node in real.nodes:
        if isinstance(node.operator, (Conv, Dense)):
            shifts = calls[node.name].params
            product = fracs[node.name] + shifts["out_shift"]
            weights[node.name] = product - fracs[node.inputs[0]]
            biases[node.name] = product - shifts["bias_shift"]
    bits = 16 if graph.input.dtype == "int16" else 8
    return Formats(bits, fracs, weights, biases)


def _affine(
    graph: Graph, real: FloatGraph, calls: Mapping[str, Node], tensors: Mapping[str, Format]
) -> AffineFormats:
    """Return formats, weights' scales from multipliers: these have 31 bits, which tell all of
    float32.
    """
    weights = {}
    for node in real.nodes:
        operator = node.operator
        if isinstance(operator, (Conv, Dense)):
            call, source = calls[node.name], tensors[node.inputs[0]].scale
            bias = graph.arrays.get(call.bias or "")
            steps = (
                float_semantics.compute_factors(call.function, call.params, bias)
                * call.output.format.scale
            )
            if not call.function.stack:  # lowering multiplies scales in float32 first
                steps = steps.astype(np.float32).astype(np.float64)
            scales = np.maximum(steps / source, _SMALLEST).astype(np.float32)
            weights[node.name] = scales.reshape(-1, *[1] * (operator.weights.ndim - 1))
    narrow = frozenset(n for n, call in calls.items() if call.function.name.endswith(NARROW))
    return AffineFormats(tensors, weights, (), narrow)


def _same(first: Graph, second: Graph) -> bool:
    """True if two networks have the same calls, formats and arrays."""
    shape = (first.inputs, first.outputs, [_call(each) for each in first.nodes])
    if shape != (second.inputs, second.outputs, [_call(each) for each in second.nodes]):
        return False
    return first.arrays.keys() == second.arrays.keys() and all(
        np.array_equal(array, second.arrays[name]) for name, array in first.arrays.items()
    )


def _call(node: Node) -> tuple[Any, ...]:
    return node.function.name, dict(node.params), node.inputs, node.output, node.weights, node.bias
