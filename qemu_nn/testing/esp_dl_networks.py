"""Comparison of .espdl networks with what ESP-DL computed of them, tensor by tensor."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..errors import DeviceWarning, Error
from ..importers.espdl import load_with_values
from ..importers.espdl.model import EspModel
from ..ir.graph import Graph
from ..runtime.session import Session
from ..targets import Target

#: Recorded build of ESP-DL -> the chip with its arithmetic.
BUILDS = {"c": "esp32", "even": "esp32p4", "esp32s3": "esp32s3"}

#: End of a file with recorded tensors, next to the network.
_GOLDEN = "_golden.npz"

#: Operators that the build "even" computes in another way than the kernels of the ESP32-P4.
_NOT_EVEN = ("PRelu",)


@dataclass(frozen=True)
class NetworkOutcome:
    """The comparison of one tensor of a network: "equal", "different" or "refused", and why."""

    network: str
    device: str
    tensor: str
    outcome: str
    why: str = ""


def compare_networks(folder: Path) -> Iterator[NetworkOutcome]:
    """Yield the outcome of each known tensor of the .espdl networks of a folder.

    Parameters
    ----------
    folder : Path
        A folder with .espdl files. `NAME_golden.npz` next to a file has recorded tensors; outputs
        that the exporter stored in the file are compared where its target is known.
    """
    for path in sorted(folder.rglob("*.espdl")):
        place, goldens = path.with_name(f"{path.stem}{_GOLDEN}"), {}
        if place.exists():
            with np.load(place) as stored:
                goldens = {name: stored[name] for name in stored.files}
        try:
            network = _Network(path)
        except Error as error:
            yield NetworkOutcome(path.stem, "any chip", "", "refused", str(error))
            continue
        yield from network.compare(goldens)


class _Network:
    """A network, and the sessions that compute it."""

    def __init__(self, path: Path) -> None:
        self._name = path.stem
        graph, values, model = load_with_values(path)
        self._graph: Graph = graph
        self._model: EspModel = model
        self._places = {name: value.name for name, value in values.items()}

    def compare(self, goldens: Mapping[str, np.ndarray]) -> Iterator[NetworkOutcome]:
        """Yield the outcomes of recorded tensors, and of the outputs in the file."""
        sets = dict.fromkeys(key.partition("/")[0] for key in goldens if "/in/" in key)
        for build, chip in BUILDS.items():
            unlike = self._find_after(_NOT_EVEN) if build == "even" else set()
            for name in sets:
                wanted = _select(goldens, f"{name}/{build}/")
                inputs = _select(goldens, f"{name}/in/")
                for tensor, outcome in self._compare(chip, inputs, wanted):
                    if tensor in unlike:
                        outcome = "refused", "after a PRelu, this build is that of no chip"
                    yield NetworkOutcome(
                        self._name, f"{chip}/{build}", f"{name} {tensor}", *outcome
                    )
        vectors = self._model.read_test_vectors()
        meta = json.loads(str(goldens["meta"])) if "meta" in goldens else {}
        target = self._model.target or meta.get("target")
        if target and vectors.inputs:
            chip = "esp32" if target == "c" else target
            for tensor, outcome in self._compare(chip, vectors.inputs, vectors.outputs):
                yield NetworkOutcome(self._name, f"{chip}/in the file", tensor, *outcome)

    def _compare(
        self, chip: str, inputs: Mapping[str, np.ndarray], wanted: Mapping[str, np.ndarray]
    ) -> Iterator[tuple[str, tuple[str, str]]]:
        """Yield wanted tensors with outcome and reason."""
        if not wanted:
            return
        try:
            got = self._run(chip, inputs)
        except Error as error:
            yield from ((name, ("refused", str(error))) for name in wanted)
            return
        for name, expected in wanted.items():
            found = got[self._places[name]].ravel()
            same = found.dtype == expected.dtype and found.tobytes() == expected.tobytes()
            yield name, ("equal", "") if same else ("different", _tell(found, expected.ravel()))

    def _run(self, chip: str, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return every tensor of a run from reset."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeviceWarning)
            session = Session(self._graph, Target(chip).esp_dl_profile(), trace=True)
        axes = (1, 1) if self._graph.states else (1,)
        x = {t.name: inputs[t.name].reshape(*axes, *t.shape) for t in self._graph.inputs}
        found = session.run(x, trace=True)
        return {**x, **found}

    def _find_after(self, operators: tuple[str, ...]) -> set[str]:
        """Return the tensors that depend on these operators."""
        found: set[str] = set()
        for node in self._model.nodes:
            if node.operator in operators or found & {*node.inputs}:
                found.update(node.outputs)
        return found


def _select(goldens: Mapping[str, np.ndarray], start: str) -> dict[str, np.ndarray]:
    """Return the arrays below a place, by their names there."""
    return {
        key[len(start) :].removeprefix("t/"): array
        for key, array in goldens.items()
        if key.startswith(start)
    }


def _tell(got: np.ndarray, expected: np.ndarray) -> str:
    if got.size != expected.size:
        return f"{got.size} elements instead of {expected.size}"
    at = np.flatnonzero(got != expected)
    return f"{at.size} elements, the first {at[0]}: {got[at[0]]} instead of {expected[at[0]]}"
