"""Comparison of a device's layers with a traced session."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Optional

import numpy as np

from ..analysis.compare import measure_difference
from ..analysis.dumps import convert_to_stored, to_stored
from ..analysis.fault_search import FaultSearch, Found, spell
from ..analysis.golden_set import Entry, Goldens
from ..analysis.mismatch_diagnosis import find_likely_cause
from ..analysis.validation import First, LayerCheck
from ..device.client import Device
from ..device.protocol import RunReport
from ..errors import Error
from ..firmware.golden import crc32, name_stems
from ..ir.formats import find_differing
from ..ir.graph import Graph
from ..runtime.plan import CLOBBER
from ..runtime.samples import naming_samples
from ..runtime.session import Session, make_other_profiles
from ..targets import Target, core_words, cores_of
from .estimate import estimate
from .faults import fault_search
from .network import Network

#: Layers whose first difference is explained: it takes a run of every other profile.
_EXPLAINED = 5

#: Further samples that confirm a fault.
_CONFIRMED = 2

#: Explanation if no cause is recognized: the layer's inputs were right.
_ALONE = "its inputs were right, so it is this layer: weights, arguments, function or compiler"
_UNKNOWN = "it is this layer or one before it: compare every layer"


@dataclass
class _Record:
    """Results of one layer so far.

    found: faults that explain its first differing samples. counts: of the device's counter.
    """

    elements: int = 0
    differing: int = 0
    first: Optional[First] = None
    found: list[Found] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)

    def confirmed(self) -> Optional[First]:
        """Return the first difference with the cause that explains all samples found."""
        first = self.first
        if first is None or not self.found or first.difference.cause != spell(self.found[0]):
            return first
        cause = spell(self.found[0], self.found[1:])
        return replace(first, difference=replace(first.difference, cause=cause))


class Findings:
    """Layers as a device computes them, sample after sample.

    layers: all of them, or the outputs alone; counts: what the device counts, or "". reported: the
    C names of the layers that the device reports, None for all.
    """

    def __init__(
        self,
        session: Session,
        layers: bool,
        counts: str,
        reported: Optional[Sequence[str]] = None,
    ) -> None:
        graph = session.graph
        inner = {at for at in range(len(graph.nodes)) for loop in graph.loops if loop.holds(at)}
        outer = [node.name for at, node in enumerate(graph.nodes) if at not in inner]
        if reported is not None:
            stems = name_stems(graph, [node.output.name for node in graph.nodes])
            outer = [name for name in outer if stems[name] in reported]
            layers = layers and bool(outer)
        self._session = session
        self._layers = layers
        self._counts = counts
        self._names = outer if layers else list(graph.outputs)
        self._records = {name: _Record() for name in self._names}
        self._others: Optional[list[Session]] = None
        self._explained = 0
        self._faults: Optional[FaultSearch] = None
        self._before: dict[str, np.ndarray] = {}
        self._by_stem: dict[str, str] = {}

    def take(self, device: Device, sample: int, x: Mapping[str, np.ndarray]) -> None:
        """Run one sample on both and compare; x: input -> [1, *shape], or [1, T, *shape].

        Raises Restarted, after which nothing of the sample counts.
        """
        graph = self._session.graph
        with naming_samples("sample {}".format, sample):
            traced = self._session.run(x, trace=True)
        trace = {name: convert_to_stored(values[0]) for name, values in traced.items()}
        self._name(graph, trace)
        steps = range(x[graph.input.name].shape[1]) if graph.states else (None,)
        taken = [
            one
            for step in steps
            for one in self._step(device, {name: x[name][0] for name in x}, trace, step)
        ]
        for layer, step, got, count in taken:
            self._keep(layer, sample, step, got, trace, x)
            if count is not None:
                self._records[layer].counts.append(count)
        last = -1 if graph.states else ...
        self._before = {name: values[last] for name, values in {**_first(x), **trace}.items()}

    def _name(self, graph: Graph, trace: Mapping[str, np.ndarray]) -> None:
        """Return the names of the layers in the export: goldens have this order."""
        if self._by_stem:
            return
        stems = name_stems(graph, trace)
        self._by_stem = {stems[name]: name for name in self._names}

    def _step(
        self,
        device: Device,
        x: Mapping[str, np.ndarray],
        trace: Mapping[str, np.ndarray],
        step: Optional[int],
    ) -> list[tuple[str, Optional[int], np.ndarray, Optional[int]]]:
        """Return one run of the device: layer, time step, result and count of each that it
        reported.
        """
        graph = self._session.graph
        at = () if step is None else step
        taken: list[tuple[str, Optional[int], np.ndarray, Optional[int]]] = []
        want = {name: np.ascontiguousarray(values[at]) for name, values in trace.items()}

        def layer_done(report: RunReport, content: bytes) -> Optional[bytes]:
            name = self._by_stem[report.layer]
            got = np.frombuffer(content, to_stored(graph.tensors[name].dtype))
            taken.append((name, step, got, report.count if self._counts else None))
            return None if _same(got, want[name]) else want[name].tobytes()

        sizes = {stem: want[name].nbytes for stem, name in self._by_stem.items()}
        inputs = [convert_to_stored(x[tensor.name][at]).tobytes() for tensor in graph.inputs]
        started = device.run(inputs, not step, sizes, layer_done if self._layers else None)
        self._check_complete(taken)
        for name, content in zip(graph.outputs, started[1]):
            got = np.frombuffer(content, to_stored(graph.tensors[name].dtype))
            if not self._layers or not _same(got, want[name]):
                taken.append((name, step, got, None))
        return taken

    def _check_complete(self, taken: list[Any]) -> None:
        if self._layers and [one[0] for one in taken] != self._names:
            missing = [name for name in self._names if name not in {one[0] for one in taken}]
            what = f"did not report layer {missing[0]!r}" if missing else "reported a layer twice"
            raise Error(
                f"the device {what}: compile network.c with -DNETWORK_TEST, or call "
                "link_layer_done() after each layer"
            )

    def _keep(
        self,
        layer: str,
        sample: int,
        step: Optional[int],
        got: np.ndarray,
        trace: Mapping[str, np.ndarray],
        x: Mapping[str, np.ndarray],
    ) -> None:
        record = self._records[layer]
        want = trace[layer] if step is None else trace[layer][step]
        record.elements += got.size
        wrong = find_differing(got, want.ravel())
        record.differing += int(np.count_nonzero(wrong))
        if not wrong.any():
            return
        if record.first is not None:
            if record.found and record.found[0].sentences and len(record.found) <= _CONFIRMED:
                self._search(layer, step, got, want, trace, x)
            return
        alone = cause = _ALONE if self._layers else _UNKNOWN
        if self._explained < _EXPLAINED:
            self._explained += 1
            cause = self._cause(layer, step, got, want, trace, x) or alone
        record.first = First(sample, step, measure_difference(want, got, cause))

    def _cause(
        self,
        layer: str,
        step: Optional[int],
        got: np.ndarray,
        want: np.ndarray,
        trace: Mapping[str, np.ndarray],
        x: Mapping[str, np.ndarray],
    ) -> str:
        """Return the diagnosis of compare(), with what the other profiles compute of this
        sample.
        """
        profile = self._session.profile
        at = () if step is None else step
        others: dict[str, int] = {}
        for other in self._rest():
            with suppress(Error):
                result = other.run(x, trace=True)[layer][0][at]
                others[str(other.profile)] = crc32(convert_to_stored(result))
        twins: dict[int, str] = {}
        for name, values in trace.items():
            if name != layer and not name.startswith(CLOBBER):
                twins.setdefault(crc32(values[at]), name)
        entry = Entry(layer, 0, layer, want.dtype.name, want.shape, crc32(want), others)
        core = core_words(cores_of([profile.path]))
        goldens = Goldens(Path(), 1, profile, core, (entry,))
        search = partial(self._search, layer, step, got, want, trace, x) if self._layers else str
        return find_likely_cause(goldens, entry, want, got, twins, search)

    def _search(
        self,
        layer: str,
        step: Optional[int],
        got: np.ndarray,
        want: np.ndarray,
        trace: Mapping[str, np.ndarray],
        x: Mapping[str, np.ndarray],
    ) -> str:
        """Return the fault of a layer whose inputs were right, "" if unknown; record it."""
        graph, profile = self._session.graph, self._session.profile
        if self._faults is None:
            self._faults = fault_search(graph, profile)
        every = {**_first(x), **trace}
        values = {name: each if step is None else each[step] for name, each in every.items()}
        before = {name: each[step - 1] for name, each in every.items()} if step else self._before
        for state in graph.states:
            reset = graph.arrays.get(state.name, np.zeros(state.shape, state.dtype))
            values[state.name] = before[state.name] if step else reset
        del values[layer]
        found = self._records[layer].found
        found.append(self._faults.find(layer, want, got, values, before))
        return spell(found[0])

    def _rest(self) -> list[Session]:
        if self._others is None:
            found = make_other_profiles(self._session.graph, self._session.profile)
            self._others = list(found.values())
        return self._others

    def layers(self, core: str) -> tuple[LayerCheck, ...]:
        """Return all layers, with the estimate of a core for each."""
        graph = self._session.graph
        functions = {node.name: node.function.name for node in graph.nodes}
        estimates = dict(self._estimates(core))
        return tuple(
            LayerCheck(
                name,
                functions[name],
                record.elements,
                record.differing,
                math.fsum(record.counts) / len(record.counts) if any(record.counts) else None,
                estimates.get(name),
                record.confirmed(),
            )
            for name, record in self._records.items()
        )

    def _estimates(self, core: str) -> Iterator[tuple[str, int]]:
        """Yield what estimate() says of each layer, where it knows."""
        profile = self._session.profile
        if not self._counts or profile.espressif:  # there are no counts of these chips
            return
        target = Target(core, profile.cmsis, profile.rounding, tflm=profile.tflm)
        with suppress(Error):
            for row in estimate(Network(self._session.graph), target).layers.records():
                name, count = row["layer"], row[self._counts]
                if isinstance(name, str) and isinstance(count, int):
                    yield name, count


def _first(x: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the inputs of the only sample of a batch."""
    return {name: convert_to_stored(values[0]) for name, values in x.items()}


def _same(got: np.ndarray, want: np.ndarray) -> bool:
    return not find_differing(got, want.ravel()).any()
