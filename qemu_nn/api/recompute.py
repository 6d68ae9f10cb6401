"""Comparison of golden sets with the current results of the network."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np

from ..analysis.compare import Comparison, compare_arrays
from ..analysis.golden_set import Entry, Goldens, load
from ..errors import Error
from ..firmware.golden import MANIFEST
from ..io.arguments import as_path
from ..runtime.session import Session
from .network import Network, quantized

#: The folder of a golden's name that holds the states before the first time step.
_START = "start"


def golden_sets(folder: Path) -> list[Path]:
    """Return the golden sets in a folder: it is one, or others lie below. Raises Error for none."""
    folder = as_path(folder, "the goldens")
    found = sorted(path.parent for path in folder.rglob(MANIFEST))
    if not found:
        raise Error(f"{folder} is no golden set: no folder in it has a {MANIFEST}")
    return found


def recompute(network: Network, golden: Path) -> Comparison:
    """Run the inputs of a golden set again, on the device that it is of, and compare all bytes.

    Parameters
    ----------
    network : Network or str or Path
        A quantized network, or its file.
    golden : Path
        The folder of a golden set.

    Returns
    -------
    Comparison
        A finding for each golden that the network still has; the others are `missing`.

    Raises
    ------
    Error
        The golden set is damaged, it is of other inputs than the network's, or the device that it
        is of cannot run the network.
    """
    goldens = load(as_path(golden, "the golden set"))
    session = Session(quantized(network).graph, goldens.profile, trace=True)
    by_input: dict[int, list[Entry]] = defaultdict(list)
    for entry in goldens.entries:
        by_input[entry.input].append(entry)
    computed: dict[str, np.ndarray] = {}
    for entries in by_input.values():
        computed.update(_computed(session, goldens, entries))
    return compare_arrays(goldens.folder, computed)


def _computed(session: Session, goldens: Goldens, entries: list[Entry]) -> dict[str, np.ndarray]:
    """Golden -> what the network computes for one input of the set."""
    graph, x, start = session.graph, defaultdict(list), {}
    inputs = {tensor.name for tensor in graph.inputs}
    for entry in entries:
        group = entry.name.split("/")[1:-1]
        if group == [_START]:
            start[entry.layer] = goldens.values(entry)[None]
        elif entry.layer in inputs:
            x[entry.layer].append(goldens.values(entry))
    if set(x) != inputs or bool(start) != bool(graph.states):
        raise Error(
            f"{goldens.folder} has no goldens of the inputs and states of {graph.name}: "
            "give the network of the goldens"
        )
    turns = {name: np.stack(values) for name, values in x.items()}  # [T, *shape]
    given = {name: v[None] if graph.states else v for name, v in turns.items()}
    results = session.run(given, start or None, trace=True)
    values = {**turns, **{n: v[0] if graph.states else v for n, v in results.items()}}
    found: dict[str, np.ndarray] = {}
    for entry in entries:
        group = entry.name.split("/")[1:-1]
        if group == [_START]:
            found[entry.name] = start[entry.layer][0]
        elif entry.layer in values:
            found[entry.name] = values[entry.layer][int(group[0][1:]) if group else 0]
    return found
