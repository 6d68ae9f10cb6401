"""The steps that make a quantized network more accurate, in the order in which they are taken."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Callable

import numpy as np

from ..ir.float_graph import FloatGraph
from ..operators import Conv, Dense
from ..runtime.evaluate import iterate_tensors
from .adaptive_rounding import round_layer
from .avgpool_to_conv import replace_average_pools
from .bias_correction import Values, correct_bias
from .coordinate_descent import Goal, descend_layer
from .cross_layer_equalization import STRENGTHS, equalize_channels
from .high_bias_absorption import SHARES as ABSORBED
from .high_bias_absorption import absorb_high_biases
from .im2col import make_window_rows
from .outlier_channel_splitting import SHARES as SPLIT
from .outlier_channel_splitting import WAYS, split_channels

#: Rows that a layer is rounded by at most, and bytes of them.
_ROWS, _BYTES = 1 << 15, 1 << 28

#: Wrapper of an iterable that stops at the deadline.
Turns = Callable[[Iterable[Any]], Iterable[Any]]


@dataclass(frozen=True)
class SeenRanges:
    """Statistics of a network before its formats are assigned.

    ends: tensor -> the lowest and the highest value [2, n] of each element of its last axis. fixed:
    layers whose formats are given, which stay as they are. powers: whether scales are powers of
    two.
    """

    ends: Mapping[str, np.ndarray]
    fixed: frozenset[str]
    powers: bool

    @property
    def largest(self) -> dict[str, np.ndarray]:
        """Tensor -> the largest magnitude of each element of its last axis."""
        return {name: np.abs(ends).max(0) for name, ends in self.ends.items()}


@dataclass(frozen=True)
class Before:
    """A step before formats are assigned: networks that compute the same as the one given.

    candidates(graph, seen) yields a label and a network each. least: by how many decibels these
    have to be better, where they cost something. rescales: whether they have other scales, which
    may want ranges of another kind.
    """

    candidates: Callable[[FloatGraph, SeenRanges], Iterator[tuple[str, FloatGraph]]]
    least: float = 0.0
    rescales: bool = False


@dataclass(frozen=True)
class After:
    """A step with formats held fixed: networks of other weights and biases, which lie on the grids
    of the formats. candidates(graph, held) yields a label and a network each."""

    candidates: Callable[[FloatGraph, StepInputs], Iterator[tuple[str, FloatGraph]]]
    least: float = 0.0


@dataclass(frozen=True)
class Assigning:
    """A step that chooses formats, which the loop over steps does itself.

    least: as Before has it. A range that cuts off what a few samples reach costs more on other
    samples than it seems to.
    """

    least: float = 0.0


@dataclass(frozen=True)
class StepInputs:
    """Context of a step with fixed formats.

    formats: theirs. graph: the network of real weights. real: its values. measure: runs a network
    of parameters on the grids on the same data, exactly, and gives its real values. turns: wraps
    loops over layers. goal: the scores, and what lowers networks towards them.
    """

    formats: Any
    graph: FloatGraph
    real: Values
    measure: Callable[[FloatGraph], Values]
    turns: Turns
    goal: Goal


def observe_inputs(
    graph: FloatGraph, x: np.ndarray, fixed: Iterable[str], powers: bool
) -> SeenRanges:
    """Return what is known on inputs x."""
    ends = {}
    for name, values in iterate_tensors(graph, x):
        if values.ndim > 1:
            rows = values.reshape(-1, values.shape[-1])
            ends[name] = np.stack([rows.min(0), rows.max(0)]).astype(np.float64)
    return SeenRanges(ends, frozenset(fixed), powers)


def _replace_averages(graph: FloatGraph, seen: SeenRanges) -> Iterator[tuple[str, FloatGraph]]:
    changed = replace_average_pools(graph, seen.fixed)
    pairs = zip(graph.nodes, changed.nodes)
    names = [n.name for o, n in pairs if type(n.operator) is not type(o.operator)]
    if names:
        yield f"convolutions compute {', '.join(names)}", changed


def _equalize(graph: FloatGraph, seen: SeenRanges) -> Iterator[tuple[str, FloatGraph]]:
    for strength in STRENGTHS:
        for fill in (False, True) if seen.powers else (False,):
            label = f"by {strength.name}" + (", to powers of two" if fill else "")
            yield label, equalize_channels(graph, seen.largest, strength, fill, seen.fixed)


def _absorb(graph: FloatGraph, seen: SeenRanges) -> Iterator[tuple[str, FloatGraph]]:
    centred: list[str] = []
    for label, share in ABSORBED.items():
        changed, layers = absorb_high_biases(graph, seen.ends, share, seen.fixed)
        if layers != centred:  # or there is no activation, and so no share
            yield f"{label}: {', '.join(layers)}", changed
        if not share:
            centred = layers


def _split_outliers(graph: FloatGraph, seen: SeenRanges) -> Iterator[tuple[str, FloatGraph]]:
    for way in WAYS:
        fewer = 0
        for share in SPLIT:
            changed, added = split_channels(
                graph, seen.largest, way, share, seen.powers, seen.fixed
            )
            if added > fewer:
                fewer = added
                yield f"{added} more channels share {way.name}", changed


def _round(graph: FloatGraph, held: StepInputs) -> Iterator[tuple[str, FloatGraph]]:
    yield "near the real weights", _round_layers(graph, held, refit=False)
    yield "near the real sums", _round_layers(graph, held, refit=True)


def _round_layers(graph: FloatGraph, held: StepInputs, refit: bool) -> FloatGraph:
    """Return each layer in turn, on what the layers before it make of the data now."""
    for name in held.turns(_list_layers(graph)):
        source = graph.node(name).inputs[0]
        node = held.graph.node(name)
        operator = node.operator
        assert isinstance(operator, (Conv, Dense))
        most = min(_ROWS, _BYTES // (8 * operator.weights[0].size * _list_groups(operator)))
        device, real = (
            make_window_rows(operator, values(source), most)
            for values in (held.measure(graph), held.real)
        )
        near = round_layer(operator, held.formats.grid(node), device, real if refit else device)
        graph = graph.with_operators({name: near})
    return graph


def _correct(graph: FloatGraph, held: StepInputs) -> Iterator[tuple[str, FloatGraph]]:
    for name in held.turns(_list_layers(graph)):
        grid = held.formats.grid(graph.node(name))
        graph = correct_bias(graph, name, grid, held.real, held.measure)
    yield "", graph


def _descend(graph: FloatGraph, held: StepInputs) -> Iterator[tuple[str, FloatGraph]]:
    for name in reversed(_list_layers(graph)):
        graph = descend_layer(
            graph, name, held.formats.grid(graph.node(name)), held.goal, held.turns
        )
    yield "", graph


def _list_layers(graph: FloatGraph) -> list[str]:
    return [node.name for node in graph.nodes if isinstance(node.operator, (Conv, Dense))]


def _list_groups(operator: Any) -> int:
    return operator.groups if isinstance(operator, Conv) else 1


#: Name -> step, in the order in which they are taken.
STEPS: Mapping[str, Any] = {
    "average": Before(_replace_averages, rescales=True),
    "formats": Assigning(least=0.5),
    "equalize": Before(_equalize, rescales=True),
    "absorb": Before(_absorb, least=0.5),
    "split": Before(_split_outliers, least=2.0),
    "search": Assigning(),
    "round": After(_round),
    "correct": After(_correct),
    "descend": After(_descend),
}

#: Effort -> its steps.
EFFORTS: Mapping[str, tuple[str, ...]] = {"fast": (), "best": tuple(STEPS)}
