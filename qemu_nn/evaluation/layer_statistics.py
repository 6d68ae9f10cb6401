"""Statistics of every layer, from a network and its float reference run side by side."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Optional, Union

import numpy as np

from ..analysis.layer_figures import Gathered, LayerFigures, WeightFigures, measure_weights
from ..analysis.predictions import Choices
from ..analysis.report import Report
from ..analysis.table import Said
from ..errors import Error
from ..ir.float_graph import FloatGraph
from ..ir.formats import Format
from ..ir.graph import Graph, Node, Tensor
from ..ir.input_summary import InputTally
from ..lowering.float_semantics import find_meanings, iterate_counterparts, make_foreign_error
from ..quantizer.rules import find_kept_range
from ..runtime.compiled_run import CompiledRun
from ..runtime.evaluate import fix_sum_order, iterate_tensors
from ..runtime.input_checks import Gauge
from ..runtime.per_layer import Calls
from ..runtime.samples import naming_samples
from ..runtime.session import Session
from ..runtime.unbounded import Unlimited
from ..runtime.unbounded_s8 import has_wide_sums
from ..targets import Profile
from .block_reader import BlockSource, take_batch_rows

Arrays = Mapping[str, np.ndarray]

#: Most bytes of a float64 tensor in one pass. Larger ones need fresh pages, which cost more than
#: the arithmetic.
_PART = 1 << 19


@dataclass
class Found:
    """The figures of some samples: of each tensor, of the classes chosen, of the inputs.

    inputs: of the float network, if it has one input.
    """

    figures: dict[str, Gathered]
    choices: Optional[Choices]
    gauges: list[Gauge]
    samples: int = 0
    inputs: InputTally = field(default_factory=InputTally)


def merge_figures(found: Found, more: Found) -> Found:
    """Return the figures of neighbouring samples together."""
    for name, figures in found.figures.items():
        figures.merge(more.figures[name])
    for gauge, other in zip(found.gauges, more.gauges):
        gauge.merge(other)
    if found.choices is not None and more.choices is not None:
        found.choices.merge(more.choices)
    found.samples += more.samples
    found.inputs.merge(more.inputs)
    return found


@dataclass(frozen=True)
class Blockwise:
    """Figures of a block, some samples at a time."""

    run: LayerRun
    source: BlockSource
    size: int

    def __call__(self, block: Any) -> Found:
        """Return the figures of a block."""
        batch, name = self.source.read(block)
        found = self.run.nothing()
        for start in range(0, len(batch), self.size):
            with naming_samples(name, start):
                self.run.add(found, *take_batch_rows(batch, slice(start, start + self.size)))
        return found


@dataclass
class LayerRun:
    """Plan of a measurement.

    compiled: the network that an NPU runs instead of the graph.
    """

    graph: Graph
    reference: FloatGraph
    profile: Profile
    compiled: Optional[Graph] = None

    def __post_init__(self) -> None:
        names = set(self.reference.shapes)
        self.tensors = self.graph.tensors
        self.starts = {tensor.name for tensor in self.graph.inputs}
        self.meanings = find_meanings(self.graph, self.reference)
        self.kept = {
            name: find_kept_range(self.reference, name)
            for name, tensor in self.tensors.items()
            if name in names and tensor.spelled is not None  # others stand for themselves
        }
        if not {*self.kept} <= {*self.starts, *self.meanings}:
            raise make_foreign_error(self.graph)
        if not self.kept:
            raise Error(
                f"cannot compare {self.graph.name} with floats: none of its tensors is quantized"
            )
        scores = self.tensors[self.graph.outputs[-1]]
        size = math.prod(scores.shape)
        one_vector = max(scores.shape, default=1) == size > 1 and scores.name in names
        self.classes = size if one_vector else None
        self.ordered = fix_sum_order(self.reference)
        self.session: Union[Session, CompiledRun] = (
            Session(self.graph, self.profile)
            if self.compiled is None
            else CompiledRun(self.compiled, self.graph, self.profile)
        )
        self.calls = Calls(self.graph, self.profile)
        nodes = (node for node in self.graph.nodes if node.name in self.kept)
        self.unlimited = {n.name: Unlimited(self.graph, n, self.profile) for n in nodes}

    def __reduce__(self) -> tuple[type[LayerRun], tuple[Any, ...]]:
        """Pickle the arguments; the receiver plans again."""
        return LayerRun, (self.graph, self.reference, self.profile, self.compiled)

    def nothing(self) -> Found:
        """Return the figures of no samples."""
        figures = {n: Gathered(self.tensors[n].format, kept) for n, kept in self.kept.items()}
        choices = None if self.classes is None else Choices(self.classes)
        return Found(figures, choices, [Gauge(tensor) for tensor in self.graph.inputs])

    def add(self, found: Found, x: Any, labels: Optional[np.ndarray]) -> None:
        """Add samples, and labels, if any."""
        real: Arrays = dict(iterate_tensors(self.ordered, x))
        if not isinstance(x, Mapping):
            found.inputs.add(x)
        device = {
            t.name: t.format.quantize(real[t.name]).reshape(-1, *t.shape) for t in self.graph.inputs
        }
        for gauge in found.gauges:
            gauge.add(device[gauge.tensor.name], real[gauge.tensor.name])
        device.update(
            self.session.run(device if len(device) > 1 else next(iter(device.values())), trace=True)
        )
        for name in self.starts & set(found.figures):
            codes, figures = device[name], found.figures[name]
            exact = real[name].reshape(codes.shape)
            for part in _split_samples(len(codes), math.prod(codes.shape[1:])):
                figures.add(exact[part], codes[part])
                figures.add_unsaturated(np.rint(figures.format.scale_unrounded(exact[part])))
        single = {name: device[name] for name in self.starts}
        for node in self.graph.nodes:
            inputs = [self.round_input(real, name, single) for name in node.inputs]
            same = all(x is device[name] for x, name in zip(inputs, node.inputs))
            single[node.name] = device[node.name] if same else self.calls.run(node, inputs)
            if node.name in found.figures:
                self._compare(found.figures[node.name], node, real, device, single[node.name])
        found.samples += len(device[self.graph.input.name])
        if found.choices is not None:
            name = self.graph.outputs[-1]
            found.choices.add(device[name], real[name], labels)
        elif labels is not None:
            raise Error(
                f"{self.graph.name} does not end in scores of classes: leave the labels "
                "out, or give a network that classifies"
            )

    def round_input(self, real: Arrays, name: str, single: Arrays) -> np.ndarray:
        """Return the input of a call run alone: the float tensor, or the input of a call in the
        same layer.
        """
        if name not in real or name in self.starts:
            return single[name]
        tensor = self.tensors[name]
        return tensor.format.quantize(real[name]).reshape(-1, *tensor.shape)

    def _compare(
        self, figures: Gathered, node: Node, real: Arrays, device: Arrays, single: np.ndarray
    ) -> None:
        got, inputs = device[node.name], [device[name] for name in node.inputs]
        exact, single = (each.reshape(got.shape) for each in (real[node.name], single))
        same = single is device[node.name]
        for part in _split_samples(
            len(got), *(math.prod(each.shape[1:]) for each in (got, *inputs))
        ):
            figures.add(exact[part], got[part], None if same else single[part])
            self._count_saturation(figures, node, [each[part] for each in inputs])

    def _count_saturation(self, figures: Gathered, node: Node, inputs: list[np.ndarray]) -> None:
        call = self.unlimited[node.name]
        sums = call.compute_accumulators(inputs[0])
        if sums is not None and not has_wide_sums(self.graph, node):
            figures.add_sums(sums)
        outputs = call.compute_unsaturated(inputs, sums)
        if outputs is not None:
            meaning = self.meanings[node.name]  # an activation in the same call saturates nothing
            ends = figures.format.scale_unrounded(np.array([meaning.low, meaning.high]))
            figures.add_unsaturated(outputs, ends)

    def report(self, found: Found) -> Report:
        """Return all figures."""
        weights = tuple(self._pair_weights())
        formats = {(w.layer, w.role): w.format for w in weights}
        nodes = {node.name: node for node in self.graph.nodes}
        layers = tuple(
            self._measure_layer(each, name, nodes.get(name), formats)
            for name, each in found.figures.items()
        )
        return Report(
            self.graph.name,
            str(self.profile),
            found.samples,
            layers,
            weights,
            **(found.choices.figures() if found.choices else {}),
        )

    def _measure_layer(
        self,
        figures: Gathered,
        name: str,
        node: Optional[Node],
        formats: Mapping[tuple[str, str], str],
    ) -> LayerFigures:
        params = node.params if node and node.weights else {}
        source: Optional[Tensor] = self.tensors[node.inputs[0]] if node else None
        dead, channels = figures.count_dead_channels()
        return LayerFigures(
            name=name,
            operator=str(self.meanings[name]) if node else "Input",
            function=node.function.name if node else None,
            format=_spell_format(figures.format),
            weight_format=formats.get((name, "weights")),
            bias_format=formats.get((name, "bias")),
            bias_shift=params.get("bias_shift"),
            out_shift=params.get("out_shift"),
            input_frac=source.frac if source else None,
            low=figures.real.low,
            high=figures.real.high,
            saturated=figures.saturated,
            lost=figures.lost,
            elements=figures.elements,
            sums=figures.sums,
            whole=figures.whole.errors(),
            single=figures.single.errors(),
            crowded=figures.compute_crowded_share(),
            dead=dead,
            channels=channels,
            bars=figures.make_bars(),
            steps=tuple((figures.steps / max(figures.steps.sum(), 1)).tolist()),
            step=figures.format.scale,
            beyond=figures.compute_share_beyond(),
            inputs=node.inputs if node else (),
            by_channel=figures.figures_by_channel(),
        )

    def _pair_weights(self) -> Iterator[WeightFigures]:
        """Yield the arrays of every layer with the matching float arrays."""
        for c in iterate_counterparts(self.graph, self.meanings):
            scales = np.ravel(c.scale).tolist()
            form = Said(c.format, {"scale": scales if len(scales) > 1 else scales[0]})
            yield measure_weights(c.layer, c.role, c.real, c.integers, c.scale, form, c.matters)


def _spell_format(form: Format) -> Said:
    """Return a format in words, in JSON fraction bits, or a scale and a zero point."""
    scaled = {"scale": form.scale, "zero_point": form.zero_point}
    return Said(str(form), scaled if form.frac is None else {"frac": form.frac})


def _split_samples(samples: int, *sizes: int) -> Iterator[slice]:
    """Split samples into parts with tensors that fit in the cache."""
    step = max(_PART // (8 * max(1, *sizes)), 1)
    return (slice(start, start + step) for start in range(0, samples, step))
