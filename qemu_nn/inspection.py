"""Where the stages meet to say what quantization cost: float and exact runs, side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Callable, Optional

import numpy as np

from .analysis.advice import advise
from .analysis.layer_figures import Gathered, LayerFigures, WeightFigures, weight_figures
from .analysis.report import Report
from .data import batches
from .errors import Error
from .float_graph import FloatGraph
from .formats import q_format, quantize
from .graph import Graph, Node
from .layers import layouts
from .lower import device_part, prepare
from .operators import Conv, Dense
from .pipeline import Network
from .runtime.accumulate import accumulators, shifted
from .runtime.evaluate import each_tensor
from .runtime.session import Session
from .runtime.single import Calls
from .targets import DEFAULT_CMSIS, DEFAULT_CORE, DEFAULT_ROUNDING, profile

Arrays = Mapping[str, np.ndarray]


def analyze(
    network: Network,
    data: Any,
    *,
    target: str = DEFAULT_CORE,
    cmsis: str = DEFAULT_CMSIS,
    rounding: str = DEFAULT_ROUNDING,
    layout: Optional[str] = None,
    threads: int = 1,
    progress: Optional[Callable[[Iterable], Iterable]] = None,
) -> Report:
    """What quantization cost and where: the network's exact run against its float reference.

    network: as quantize() makes it. data: float inputs as data.batches() takes them, of the
    network or of the file it came from; with labels, accuracies and confusion are reported.
    Raises Error for a network without a reference, for data that do not fit, and as a session.
    """
    reference, graph = network.reference, network.graph
    if reference is None:
        raise Error(
            f"{graph.name} has no float reference to compare with: quantize it from a float model"
        )
    wanted = profile(target, cmsis, rounding)
    session = Session(graph, wanted, threads=threads)
    run = _Run(graph, reference, Calls(graph, wanted, threads))
    source = batches(data, reference.shape, reference.layout, layout)
    for batch in progress(source) if progress else source:
        real = dict(each_tensor(reference, batch.x))
        start = graph.input
        x = quantize(real[start.name], start.frac or 0, start.dtype)
        x = x.reshape(len(x), *start.shape)
        run.add(real, {start.name: x, **session.run(x, trace=True)}, batch.y)
    if not run.samples:
        raise Error("there are no data to analyze with")
    return run.report(str(wanted))


@dataclass
class _Run:
    """Everything gathered while batches come in."""

    graph: Graph
    reference: FloatGraph
    calls: Calls
    samples: int = 0
    figures: dict[str, Gathered] = field(default_factory=dict)
    chosen: list[tuple[np.ndarray, np.ndarray, Optional[np.ndarray]]] = field(default_factory=list)

    def add(self, real: Arrays, device: Arrays, labels: Optional[np.ndarray]) -> None:
        """One batch: real and integer values of every tensor, and labels if there are any."""
        single: dict[str, np.ndarray] = {}
        tensors = {self.graph.input.name: self.graph.input}
        for node in self.graph.nodes:
            fed = []
            for name in node.inputs:
                tensor = tensors[name]
                if name in real:
                    values = quantize(real[name], tensor.frac or 0, tensor.dtype)
                    fed.append(values.reshape(len(values), *tensor.shape))
                else:  # a part of a layer that is several calls
                    fed.append(single[name])
            single[node.name] = self.calls.run(node, fed)
            tensors[node.name] = node.output
            if node.name in real:
                self._compare(node, real, device, single[node.name])
        self._choose(real, device, labels)

    def _compare(self, node: Node, real: Arrays, device: Arrays, single: np.ndarray) -> None:
        name, output = node.name, node.output
        start = Gathered(output.frac or 0, output.dtype)
        figures = self.figures.setdefault(name, start)
        exact = real[name].reshape(device[name].shape)
        figures.add(exact, device[name], single.reshape(exact.shape))
        sums = accumulators(self.graph, node, device[node.inputs[0]])
        if sums is not None:
            readers = {n.function.op for n in self.graph.nodes if name in n.inputs}
            below, above = readers - {"relu", "offset"}, readers - {"offset"}
            end = name in self.graph.outputs
            figures.add_sums(sums, shifted(node, sums), bool(below) or end, bool(above) or end)

    def _choose(self, real: Arrays, device: Arrays, labels: Optional[np.ndarray]) -> None:
        name = self.graph.outputs[-1]
        scores = device[name].reshape(len(device[name]), -1)
        self.samples += len(scores)
        if scores.shape[1] > 1 and name in real:
            best = real[name].reshape(len(scores), -1).argmax(1)
            self.chosen.append((scores.argmax(1), best, labels))

    def report(self, profile: str) -> Report:
        """All figures."""
        weights = tuple(self._weights())
        formats = {(w.layer, w.role): w.format for w in weights}
        layers = tuple(
            self._layer(node, formats) for node in self.graph.nodes if node.name in self.figures
        )
        return Report(
            self.graph.name,
            profile,
            self.samples,
            layers,
            weights,
            advise(layers, weights, self._softmax_frac()),
            **self._classes(),
        )

    def _layer(self, node: Node, formats: Mapping[tuple[str, str], str]) -> LayerFigures:
        found, name = self.figures[node.name], node.name
        alive = found.alive if found.alive is not None else np.ones(1, bool)
        return LayerFigures(
            name,
            node.function.name,
            q_format(found.dtype, found.frac),
            formats.get((name, "weights")),
            formats.get((name, "bias")),
            node.params.get("bias_shift"),
            node.params.get("out_shift") if node.weights else None,
            found.real.low,
            found.real.high,
            found.saturated,
            found.elements,
            found.sums,
            found.whole.errors(),
            found.single.errors(),
            int(np.count_nonzero(~alive)),
            alive.size,
            found.bars(),
        )

    def _softmax_frac(self) -> Optional[int]:
        tensors = {node.name: node.output for node in self.graph.nodes}
        tensors[self.graph.input.name] = self.graph.input
        found = [tensors[n.inputs[0]].frac for n in self.graph.nodes if n.function.op == "softmax"]
        return found[0] if found else None

    def _weights(self) -> Iterable[WeightFigures]:
        """The arrays of every layer, next to the real ones that they stand for."""
        bits = 8 * np.dtype(self.graph.input.dtype).itemsize
        prepared, _ = prepare(device_part(self.reference), bits)
        real = {node.name: node.operator for node in prepared.nodes}
        fracs = {self.graph.input.name: self.graph.input.frac or 0}
        for node in self.graph.nodes:
            fracs[node.name] = node.output.frac or 0
            operator = real.get(node.name)
            if node.weights is None or not isinstance(operator, (Conv, Dense)):
                continue
            product = node.params["out_shift"] + fracs[node.name]
            integers = _natural(node, self.graph.arrays[node.weights])
            frac = product - fracs[node.inputs[0]]
            same = integers.reshape(operator.weights.shape)
            yield weight_figures(node.name, "weights", operator.weights, same, frac)
            if operator.bias is not None and node.bias is not None:
                bias = self.graph.arrays[node.bias]
                frac = product - node.params["bias_shift"]
                yield weight_figures(node.name, "bias", operator.bias, bias, frac)

    def _classes(self) -> dict[str, Any]:
        """Agreement, accuracies and confusion, as far as they are known."""
        if not self.chosen:
            return {}
        got, best = (np.concatenate([each[i] for each in self.chosen]) for i in (0, 1))
        known: dict[str, Any] = {"agreement": float(np.mean(got == best))}
        labels = [each[2] for each in self.chosen if each[2] is not None]
        if len(labels) != len(self.chosen):
            return known
        y = np.concatenate(labels)
        size = int(np.prod(self.graph.node(self.graph.outputs[-1]).output.shape))
        if y.min() < 0 or y.max() >= size:
            raise Error(f"labels must be classes 0..{size - 1} of the network")
        confusion = np.zeros((size, size), np.int64)
        np.add.at(confusion, (y, got), 1)
        accuracies = {"accuracy": got == y, "float_accuracy": best == y}
        known.update({name: float(np.mean(right)) for name, right in accuracies.items()})
        return {**known, "confusion": confusion}


def _natural(node: Node, array: np.ndarray) -> np.ndarray:
    """Weights of a call in the order that its operator has them in."""
    if node.function.interleave is not None:
        rows, columns = node.params["num_of_rows"], node.params["dim_vec"]
        return layouts.unpack(array, rows, columns, node.function.interleave)
    if node.function.op == "depthwise":
        return np.moveaxis(array, 2, 0)
    return array
