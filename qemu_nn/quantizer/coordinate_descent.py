"""Coordinate descent: moves of weights and biases by single codes that improve the
device's scores.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Callable

import numpy as np

from ..ir.float_graph import FloatGraph
from ..ir.graph import Graph
from ..operators import Conv, Dense
from ..runtime.calls_after import CallsAfter, plan_calls_after
from ..runtime.session import Session
from ..targets import Profile
from .fusion import find_clamps
from .grid import Grid
from .im2col import Weighted, make_weight_matrix, replace_weight_matrix

#: Bytes of a layer's outputs that are tried at a time. Limit of products for moving all weights of
#: a layer; beyond it only its biases move.
_BYTES, _WORK = 1 << 26, 1 << 37
#: Standard errors that the gain of a move must exceed: below, moves fit these samples alone.
_LEAST = 1.0
#: Moves of a bias, in parts of a step of the output.
_SHARES = 0.5 ** np.arange(5)


@dataclass(frozen=True)
class Goal:
    """Float inputs [N, ...], and the wanted scores [N, values] by tensor.

    lower: lowers a network, or a part of it, to calls for `profile`, in fixed formats.
    """

    x: np.ndarray
    scores: Mapping[str, np.ndarray]
    lower: Callable[[FloatGraph], Graph]
    profile: Profile

    def trace_integers(self, graph: Graph) -> dict[str, np.ndarray]:
        """Return the integers of all tensors."""
        codes = graph.input.format.quantize(self.x)
        traced = Session(graph, self.profile).run(codes, trace=True)
        return {graph.input.name: codes, **traced}

    def errors(self, graph: Graph, got: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the squared errors of the given integer scores [K * N, ...], as shares of the
        signal [K, N].
        """
        total = np.zeros((1, 1))
        for name in [name for name in self.scores if name in got]:
            real = self.scores[name]
            values = graph.tensors[name].format.dequantize(got[name]).reshape(-1, *real.shape)
            signal = float(np.sum(np.square(real, dtype=np.float64))) or 1.0
            total = total + np.square(values - real).sum(2) / signal
        return total


@dataclass(frozen=True)
class Cut:
    """Calls of a network, cut at one of its layers.

    part: the layer, with the activations that only clamp it and write the tensor `last`. codes:
    inputs of the layer. whole: all calls. after: calls that depend on the layer, up to the scores.
    traced: integers of further
    tensors that these read.
    """

    goal: Goal
    part: FloatGraph
    codes: np.ndarray
    whole: Graph
    after: CallsAfter
    traced: Mapping[str, np.ndarray]

    @property
    def last(self) -> str:
        """Tensor written by the layer and its activations."""
        return self.part.outputs[0]

    def outputs(self, layer: Weighted) -> np.ndarray:
        """Return the layer's integers [N, ...] for different weights."""
        graph = self.goal.lower(self.part.with_operators({self.part.nodes[0].name: layer}))
        result: np.ndarray = Session(graph, self.goal.profile).run(self.codes)[self.last]
        return result

    def errors(self, outputs: np.ndarray) -> np.ndarray:
        """Return the errors of the scores [K, N] for such outputs [K, N, ...]."""
        got = self.after.run(outputs.reshape(-1, *outputs.shape[2:]), self.traced)
        return self.goal.errors(self.whole, got)


def cut_network(graph: FloatGraph, name: str, goal: Goal) -> Cut:
    """Return a network, whose parameters are on their grids, cut at a layer."""
    names, last = [name], find_clamps(graph)[name].tensor
    while names[-1] != last:
        names.append(graph.readers(names[-1])[0].name)
    source = graph.node(name).inputs[0]
    shape = graph.shapes[source]
    nodes = tuple(graph.node(each) for each in names)
    layout = "NHWC" if len(shape) == 3 else None
    part = FloatGraph(graph.name, source, shape, layout, nodes, (last,))
    whole = goal.lower(graph)
    traced = goal.trace_integers(whole)
    while source not in traced:  # nothing moves
        source = graph.node(source).inputs[0]
    after = plan_calls_after(whole, last, goal.scores, goal.profile)
    codes = traced[source].reshape(-1, *shape)
    others = {name: traced[name] for name in after.others}
    return Cut(goal, part, codes, whole, after, others)


@dataclass(frozen=True)
class _Codes:
    """Integers of a layer [out, taps + 1] with the bias last, their steps, and the least and the
    largest integer of each tap [taps + 1].
    """

    integers: np.ndarray
    steps: np.ndarray
    low: np.ndarray
    high: np.ndarray

    def move_column(self, column: int, moves: np.ndarray) -> _Codes:
        """Move the weights of a column by [out] or [1], within the grid."""
        integers, low, high = self.integers.copy(), self.low[column], self.high[column]
        integers[:, column] = np.clip(integers[:, column] + moves, low, high)
        return replace(self, integers=integers)

    def layer(self, like: Weighted) -> Weighted:
        """Return the layer with their floats."""
        values = self.integers * self.steps
        return replace_weight_matrix(like, values[:, :-1], values[:, -1])


def _encode(layer: Weighted, grid: Grid) -> _Codes:
    weights = make_weight_matrix(layer)
    groups, out, taps = weights.shape
    steps, low, high = grid.append_bias_steps((groups, out, taps + 1))
    steps = steps.reshape(groups * out, -1)
    values = np.zeros(steps.shape)
    values[:, :-1] = weights.reshape(-1, taps)
    if layer.bias is not None:
        values[:, -1] = layer.bias
    return _Codes(np.clip(np.rint(values / steps), low, high), steps, low, high)


@dataclass(frozen=True)
class _Found:
    """Integers of a layer, its outputs [N, ...], and the errors of the scores [N]."""

    codes: _Codes
    outputs: np.ndarray
    errors: np.ndarray


def descend_layer(
    graph: FloatGraph,
    name: str,
    grid: Grid,
    goal: Goal,
    turns: Callable[[Iterable[Any]], Iterable[Any]],
) -> FloatGraph:
    """Return the network with the parameters of a layer moved where this improves the scores.

    Weights move by single codes, biases by up to a step of the output. A move stays if the device's
    scores approach the float scores by more than a standard error of the gain over samples. The
    device's calls compute everything: first the layer with moved integers, for all output channels
    at a time, because channels are independent. Then, for each changed channel, the calls after the
    layer. The scores of the whole network decide at the end.
    """
    at, layer = cut_network(graph, name, goal), graph.node(name).operator
    assert isinstance(layer, (Conv, Dense))
    codes = _encode(layer, grid)
    outputs = at.outputs(codes.layer(layer))
    now = _Found(codes, outputs, at.errors(outputs[None])[0])
    biases = codes.integers.shape[1] - 1
    weights = range(biases) if _work(graph, at, codes) < _WORK else ()
    scale = at.whole.tensors[at.last].format.scale
    sizes = np.unique(np.rint(np.outer(_SHARES, scale / codes.steps[:, -1])).clip(1), axis=0)
    for column in turns([biases, *weights]):
        for size in sizes[::-1] if column == biases else np.ones((1, 1)):
            for move in (size, -size):
                now = _apply_moves(at, layer, now, now.codes.move_column(column, move))
    result = graph.with_operators({name: now.codes.layer(layer)})
    lowered = goal.lower(result)
    before, after = (goal.errors(g, goal.trace_integers(g)).sum() for g in (at.whole, lowered))
    return result if after < before else graph


def _work(graph: FloatGraph, at: Cut, codes: _Codes) -> float:
    """Return the number of products of a pass over the weights: of the layer for each of its
    columns, and of the layers after it for each weight.
    """
    calls = {node.name for node in at.after.session.graph.nodes} if at.after.session else set()
    products = dict.fromkeys(("own", "behind"), 0.0)
    for name, clamp in find_clamps(graph).items():
        operator = graph.node(name).operator
        if isinstance(operator, (Conv, Dense)):
            where = "own" if clamp.tensor == at.last else "behind"
            if where == "own" or {name, clamp.tensor} & calls:
                products[where] += math.prod(graph.shapes[name]) * operator.weights[0].size
    columns, rows = codes.integers.shape[1], len(codes.integers)
    cost: float = 2.0 * len(at.codes) * columns * (products["own"] + rows * products["behind"])
    return cost


def _apply_moves(at: Cut, layer: Weighted, now: _Found, tried: _Codes) -> _Found:
    """Apply the moves of the channels that bring scores nearer."""
    outputs = at.outputs(tried.layer(layer))
    channels = np.flatnonzero((outputs != now.outputs).reshape(-1, outputs.shape[-1]).any(0))
    most = max(1, _BYTES // outputs.nbytes)
    gains = np.empty((len(channels), len(outputs)))
    for first in range(0, len(channels), most):
        rows = slice(first, first + most)
        mixed = [_mix_arrays(now.outputs, outputs, channel) for channel in channels[rows, None]]
        gains[rows] = now.errors - at.errors(np.stack(mixed))
    total = gains.sum(1)
    better = total > _LEAST * np.sqrt(np.square(gains).sum(1))
    if not better.any():
        return now
    best = channels[np.argmax(np.where(better, total, -np.inf))]
    sets = (np.array([best]), channels[better])  # moves that help alone may not help together
    both = np.stack([_mix_arrays(now.outputs, outputs, chosen) for chosen in sets])
    errors = at.errors(both)
    which = int(np.argmin(errors.sum(1)))
    integers = now.codes.integers.copy()
    integers[sets[which]] = tried.integers[sets[which]]
    return _Found(replace(tried, integers=integers), both[which], errors[which])


def _mix_arrays(now: np.ndarray, other: np.ndarray, channels: np.ndarray) -> np.ndarray:
    result: np.ndarray = now.copy()
    result[..., channels] = other[..., channels]
    return result
