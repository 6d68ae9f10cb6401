"""A quantized network as a PyTorch module whose values are the device's, to train it."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Callable, Optional, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from ..errors import DeviceWarning, Error
from ..ir.float_graph import FloatGraph, FloatNode
from ..ir.formats import Format, power_of_two
from ..ir.graph import Graph
from ..ptq.pipeline import make_reference
from ..quantizer.affine_rules import find_fixed_formats, get_affine_rule
from ..quantizer.assign import Formats
from ..quantizer.grid import Grid
from ..quantizer.rules import find_format_groups, get_rule
from ..runtime.session import Session
from ..targets import Profile
from ..training import operators
from ..training.nodes import make_free_name, pass_held_value, round_whole
from .delower import Layer, Recovered
from .network import Network

Result = TypeVar("Result")

#: So many octaves steps move at most, which is further than any device goes along.
_MOST = 60.0


class TrainableLayer(nn.Module):  # type: ignore[misc]
    """`weight` and `bias` in floats, and `octaves`: by how much the steps of the weights
    have grown, as binary logarithms."""

    def __init__(self, node: FloatNode, own: Layer, grid: Grid, octaves: tuple[int, ...]) -> None:
        super().__init__()
        operator: Any = node.operator
        steps = _spread(grid.weights, operator.weights.shape)
        real = (
            _near(operator.weights, own.weights, steps),
            _near(operator.bias, own.bias, grid.biases),
        )
        self.weight, self.bias = (nn.Parameter(torch.from_numpy(each)) for each in real)
        self.octaves = nn.Parameter(torch.zeros(octaves))
        zeros = np.asarray(operator.weights) == 0  # of groups, dilation, and pruned ones
        self.register_buffer("kept", torch.from_numpy(np.where(zeros, own.weights != 0, True)))

    def reals(self) -> tuple[np.ndarray, np.ndarray]:
        """Return weights and bias before they are rounded."""
        weights, bias = self.weight * self.kept, self.bias
        return weights.detach().double().numpy(), bias.detach().double().numpy()

    def integers(self, grid: Grid) -> Layer:
        """Return the device's, on a grid."""
        weight, bias = self.reals()
        steps = _spread(grid.weights, weight.shape)
        weights = np.clip(np.rint(weight / steps), *grid.weight_limits)
        biases = np.clip(np.rint(bias / grid.biases), *grid.bias_limits)
        return Layer(weights.astype(np.int64), biases.astype(np.int64))

    def values(self, own: Layer, grid: Grid, factor: Tensor) -> tuple[Tensor, Tensor]:
        """Return weights and biases as floats of the device, with gradients.

        factor: by which steps have grown, with a gradient to `octaves`.
        """
        steps = operators.as_tensor(_spread(grid.weights, own.weights.shape))
        step = steps * factor / factor.detach()
        low, high = (steps * (end + half) for end, half in zip(grid.weight_limits, (-0.5, 0.5)))
        exact = operators.as_tensor(own.weights) * steps
        weight = pass_held_value(self.weight.float() * self.kept, step, exact, low, high)
        biases = operators.as_tensor(np.broadcast_to(grid.biases, own.bias.shape))
        low, high = (biases * (end + half) for end, half in zip(grid.bias_limits, (-0.5, 0.5)))
        bias = pass_held_value(
            self.bias.float(), biases, operators.as_tensor(own.bias) * biases, low, high
        )
        return weight, bias


class TrainableNetwork(nn.Module):  # type: ignore[misc]
    """A quantized network whose outputs are the device's and whose gradients are straight-through.

    qemu_nn.trainable() makes one. A forward pass rounds weights and biases to integers, lowers and
    plans the network, and runs it; every tensor has the value that its integers stand for. Its
    gradient is that of the float operator at these values, and 0 where a format saturates.

    Parameters
    ----------
    network : Network
        The quantized network.
    found : Recovered
        What recovered() finds of it for a device.
    learn_formats : bool, default True
        Whether the steps of weights and tensors have gradients, too.

    Attributes
    ----------
    profile : targets.Profile
        The device.
    octaves : torch.nn.Parameter
        By how much the steps of tensors have grown, as binary logarithms; tensors that share a
        format share one.
    inputs : str
        The tensor that forward() takes: the device's input.
    outputs : tuple of str
        The tensors that it returns: those before a softmax at the end.
    """

    def __init__(self, network: Network, found: Recovered, learn_formats: bool = True) -> None:
        super().__init__()
        self._network, self._found, self.profile = network, found, found.scheme.profile
        scheme, graph = found.scheme, found.graph
        self._graph = scheme.prepare(graph, softmax=False)[0]
        self.inputs, self.outputs = graph.input, self._graph.outputs
        self._powers = isinstance(found.formats, Formats)
        groups = _free_groups(self._graph, found.formats, self._powers)
        self._group = {name: number for number, names in enumerate(groups) for name in names}
        self.octaves = nn.Parameter(torch.zeros(len(groups)), requires_grad=learn_formats)
        self._parts: dict[str, str] = {}
        for node in graph.nodes:
            if node.name in found.layers:
                shape = _scales(found.formats, node)
                part = TrainableLayer(
                    node, found.layers[node.name], found.formats.grid(node), shape
                )
                part.octaves.requires_grad_(learn_formats)
                self._parts[node.name] = make_free_name(self, node.name)
                self.add_module(self._parts[node.name], part)
        self._legal = [each.detach().clone() for each in self._octaves()]

    def layer(self, name: str) -> TrainableLayer:
        """Return the module of a layer with weights.

        Parameters
        ----------
        name : str
            Its name in the float network.

        Returns
        -------
        torch.nn.Module
            Its `weight`, `bias` and `octaves`.

        Raises
        ------
        Error
            There is no such layer.
        """
        if name not in self._parts:
            raise Error(f"there is no layer {name!r} with weights; have: {', '.join(self._parts)}")
        part = getattr(self, self._parts[name])
        assert isinstance(part, TrainableLayer)
        return part

    def _formats(self) -> Any:
        """Return the formats of all tensors and weights as they are now."""
        grown = self._growth(self.octaves).detach().numpy()
        tensors = {name: float(grown[number]) for name, number in self._group.items()}
        weights = {
            name: self._growth(self.layer(name).octaves).detach().numpy() for name in self._parts
        }
        return (_powers if self._powers else _affine)(self._found, tensors, weights)

    def _growth(self, octaves: Tensor) -> Tensor:
        """Growth of the steps; by powers of two in that scheme."""
        octaves = octaves.clamp(-_MOST, _MOST)
        return torch.exp2(round_whole(octaves) if self._powers else octaves)

    def _integers(self) -> dict[str, Layer]:
        """Return the device's integers of every layer with weights as they are now."""
        formats, graph = self._formats(), self._found.graph
        return {n: self.layer(n).integers(formats.grid(graph.node(n))) for n in self._parts}

    def network(self) -> Network:
        """Make a quantized network of the module as it is now.

        Returns
        -------
        Network
            The calls of the network that the module was made of, with its weights and formats;
            its reference is the float network with the weights before they are rounded.
        """
        network = self._network
        assert network.reference is not None  # it was recovered from it
        graph = self._legally(self._lowered)
        real = make_reference(network.reference, self._real())
        return replace(network, graph=graph, reference=real)

    def _lowered(self) -> Graph:
        graph = self._found.lowered(self._formats(), self._integers())
        planned(graph, self.profile)  # the device accepts every call
        return graph

    def _real(self) -> FloatGraph:
        """Return the device's part of the float network, with weights before they are rounded."""
        graph, real = self._found.graph, {}
        for name in self._parts:
            own: Any = graph.node(name).operator
            weights, bias = self.layer(name).reals()
            real[name] = replace(own, weights=weights, bias=bias)
        return graph.with_operators(real)

    def _legally(self, compute: Callable[[], Result]) -> Result:
        """Return what is computed. Where the device does not take the formats, as its shifts have
        limits, steps go back to the last that it took. Error where a parameter is not finite.
        """
        for name, parameter in self.named_parameters():
            if not torch.isfinite(parameter).all():
                raise Error(f"{name} is not finite: train again, with a smaller learning rate")
        try:
            result = compute()
        except Error:
            with torch.no_grad():
                for own, old in zip(self._octaves(), self._legal):
                    own.copy_(old)
            return compute()
        self._legal = [each.detach().clone() for each in self._octaves()]
        return result

    def _trace(self, x: np.ndarray) -> tuple[Any, dict[str, Layer], dict[str, np.ndarray]]:
        """Return formats, integers of weights, and those of every tensor on inputs x."""
        formats, layers = self._formats(), self._integers()
        graph = replace(self._found, graph=self._graph).lowered(formats, layers)
        codes = graph.input.format.quantize(x)
        made = planned(graph, self.profile).run(codes, trace=True)
        return formats, layers, {graph.input.name: codes, **made}

    def _octaves(self) -> list[nn.Parameter]:
        return [self.octaves, *(self.layer(name).octaves for name in self._parts)]

    def forward(self, x: Tensor) -> Any:
        """Compute a batch.

        Parameters
        ----------
        x : floating-point torch.Tensor, shape (N, *shape of the device's input)
            Floats, channels last; they are rounded into the format of the input.

        Returns
        -------
        torch.Tensor, or dict of str to torch.Tensor
            The floats that the device's integers stand for, before a softmax at the end;
            several outputs by name.

        Raises
        ------
        Error
            The batch has another shape, or holds NaN.
        """
        values = self.values(x)
        if len(self.outputs) == 1:
            return values[self.outputs[0]]
        return {name: values[name] for name in self.outputs}

    def values(self, x: Tensor) -> dict[str, Tensor]:
        """Compute every tensor of a batch.

        Parameters
        ----------
        x : floating-point torch.Tensor, shape (N, *shape of the device's input)
            Floats, as forward() takes them.

        Returns
        -------
        dict of str to torch.Tensor
            The real values of every tensor of the float network; those that an activation limits
            in the same call are not rounded.

        Raises
        ------
        Error
            The batch has another shape, or holds NaN.
        """
        shape, known = self._graph.shape, isinstance(x, Tensor) and x.is_floating_point()
        if not known or tuple(x.shape[1:]) != shape or x.device.type != "cpu":
            sides = ", ".join(map(str, shape))
            raise Error(f"a batch must be a floating-point tensor [N, {sides}] on the CPU")
        formats, layers, made = self._legally(lambda: self._trace(x.detach().double().numpy()))
        tensors = formats_of(formats)
        values = {self.inputs: self._held(x.float(), self.inputs, tensors, made)}
        for node in self._graph.nodes:
            inputs = [values[name] for name in node.inputs]
            if node.name in layers:
                values[node.name] = self._weighted(node, inputs[0], formats, layers[node.name])
            else:
                values[node.name] = operators.compute_operator(node.operator, *inputs)
            if node.name in made:
                values[node.name] = self._held(values[node.name], node.name, tensors, made)
        return values

    def _weighted(self, node: FloatNode, x: Tensor, formats: Any, own: Layer) -> Tensor:
        part, grid = self.layer(node.name), formats.grid(node)
        factor = self._growth(part.octaves)
        return operators.replace_weights(node.operator, x, *part.values(own, grid, factor))

    def _held(
        self, x: Tensor, name: str, tensors: Mapping[str, Format], made: Mapping[str, np.ndarray]
    ) -> Tensor:
        """Return the device's values of a tensor, with gradients to the real ones and the
        format.
        """
        own = tensors[name]
        exact = operators.as_tensor(own.dequantize(made[name])).reshape(x.shape)
        step, half = torch.tensor([own.scale]), own.scale / 2
        low, high = (torch.tensor(end) for end in own.ends)
        if name in self._group:
            growth = self._growth(self.octaves[self._group[name] : self._group[name] + 1])
            step = step * growth / growth.detach()
        return pass_held_value(x, step, exact, low - half, high + half)


def planned(graph: Graph, profile: Profile, variant: Optional[str] = None) -> Session:
    """Return a session for traced runs of a network, which warns of nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeviceWarning)
        return Session(graph, profile, variant, trace=True)


def formats_of(formats: Any) -> Mapping[str, Format]:
    """Return tensor -> its format."""
    if isinstance(formats, Formats):
        dtype = "int8" if formats.bits == 8 else "int16"
        return {name: power_of_two(dtype, frac) for name, frac in formats.tensors.items()}
    found: Mapping[str, Format] = formats.tensors
    return found


def _near(real: np.ndarray, codes: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Return floats where integers are the nearest to them; elsewhere what integers stand for, so
    that rounding which was chosen otherwise is not undone by the first step.
    """
    nearest = np.abs(np.asarray(real, np.float64) / steps - codes) < 0.5
    return np.where(nearest, real, codes * steps)


def _spread(steps: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Steps of a grid, for weights of an operator's shape."""
    rows = np.broadcast_to(steps.ravel(), shape[0])
    return rows.reshape(-1, *[1] * (len(shape) - 1))


def _scales(formats: Any, node: FloatNode) -> tuple[int, ...]:
    """Return the shape of the steps of a layer's weights."""
    if isinstance(formats, Formats):
        ones: tuple[int, ...] = (1,) * np.ndim(node.operator.weights)  # type: ignore[attr-defined]
        return ones
    shape: tuple[int, ...] = formats.weights[node.name].shape
    return shape


def _free_groups(graph: Any, formats: Any, powers: bool) -> list[tuple[str, ...]]:
    """Return tensors that share a format which may change: no function fixes it, and users do not
    make inputs in it.
    """
    groups = find_format_groups(graph, get_rule if powers else get_affine_rule).values()
    dtype = next(iter(formats_of(formats).values())).dtype
    fixed = {} if powers else find_fixed_formats(graph, dtype)
    free = []
    for group in {id(group): group for group in groups}.values():
        bound = group.fixed or any(fixed.get(name) for name in group.tensors)
        if not bound and graph.input not in group.tensors:
            free.append(group.tensors)
    return free


def _powers(found: Recovered, tensors: Mapping[str, float], weights: Mapping[str, Any]) -> Formats:
    start = found.formats
    fracs = {
        name: frac - round(np.log2(tensors.get(name, 1.0))) for name, frac in start.tensors.items()
    }
    own = {n: frac - round(np.log2(weights[n].item())) for n, frac in start.weights.items()}
    sources = {node.name: node.inputs[0] for node in found.graph.nodes}
    biases = {n: min(frac, fracs[sources[n]] + own[n]) for n, frac in start.biases.items()}
    formats: Formats = replace(start, tensors=fracs, weights=own, biases=biases)
    return formats


def _affine(found: Recovered, tensors: Mapping[str, float], weights: Mapping[str, Any]) -> Any:
    start = found.formats
    own = {n: (scales * weights[n]).astype(np.float32) for n, scales in start.weights.items()}
    grown = {
        name: replace(each, scale=float(np.float32(each.scale * tensors.get(name, 1.0))))
        for name, each in start.tensors.items()
    }
    return replace(start, tensors=grown, weights=own)
