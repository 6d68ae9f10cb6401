"""Comparison of programs of the Ethos-U with recorded bytes.

`python -m qemu_nn.testing.ethosu FOLDER`: the folder has an `index.tsv`, and perhaps another one in
`tosa`, with one row for each file and configuration: name, config, file, io (inputs in_0.. and
outputs out_0..), mode (samples or sequence; a single sample without it). A column tosa names the
TOSA file that vela compiled. Then io also has the tensors of its operators, node_NAME, and vela's
record NAME_debug.xml is next to the compiled file. `.ci/record-tosa` writes such a folder.
"""

from __future__ import annotations

import argparse
import csv
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional

import numpy as np

from ..errors import DeviceWarning, Error
from ..ethosu.record import find_record
from ..importers import read_model
from ..importers.tosa import read_tosa
from ..importers.tosa_names import list_names, name_by_tosa
from ..ir.graph import Graph
from ..ir.tensors import Tensor
from ..runtime.npu import list_programs
from ..runtime.session import Session
from ..targets import Target

#: Start of the names of recorded tensors of operators.
_NODE = "node_"


@dataclass
class Count:
    """Counts of one configuration: files that are equal, differ, and are refused."""

    equal: int = 0
    differ: int = 0
    refused: int = 0
    elements: int = 0
    nodes: Counter[str] = field(default_factory=Counter)
    reasons: list[str] = field(default_factory=list)


def compute(
    graph: Graph, inputs: list[np.ndarray], sequence: bool, trace: bool = False
) -> dict[str, np.ndarray]:
    """Return the outputs of a network for samples, or for the steps of a sequence.

    trace: also the tensors of operations.
    """
    profile = Target("cortex-m55", cmsis="7.0.0").profile()
    session = Session(graph, profile, trace=trace)
    given, sizes = [], [tensor.shape for tensor in graph.inputs]
    for values, shape in zip(inputs, sizes):
        lead = (1, len(values)) if graph.states else (-1,)
        given.append(np.ascontiguousarray(values.reshape(*lead, *shape)))
    given = [_quantize(values, tensor) for values, tensor in zip(given, graph.inputs)]
    if graph.states and not sequence:
        given = [values.reshape(-1, 1, *values.shape[2:]) for values in given]
    return session.run(given[0] if len(given) == 1 else given, trace=trace)


def _quantize(values: np.ndarray, tensor: Tensor) -> np.ndarray:
    """Return floats as QUANTIZE computes them; integers as they are."""
    if values.dtype != np.float32 or tensor.dtype == "float32":
        return values.view(tensor.dtype)
    limits, scale = np.iinfo(tensor.dtype), np.float32(tensor.scale or 1)
    codes = np.trunc(values / scale + np.copysign(np.float32(0.5), values)) + tensor.zero_point
    clipped: np.ndarray = np.clip(codes, limits.min, limits.max).astype(tensor.dtype)
    return clipped


def _dequantize(values: np.ndarray, tensor: Tensor, dtype: np.dtype[Any]) -> np.ndarray:
    """Return integers as DEQUANTIZE computes them, if floats are recorded."""
    if dtype != np.float32 or values.dtype == np.float32:
        return values
    return (tensor.scale * (values.astype(float) - tensor.zero_point)).astype(np.float32)


def count_differences(row: dict[str, str], folder: Path) -> tuple[int, int]:
    """Return differing elements of a row's file, and all."""
    recorded = np.load(folder / row["io"])
    names = [[f"{kind}_{at}" for at in range(len(recorded.files))] for kind in ("in", "out")]
    inputs, wanted = ([recorded[n] for n in each if n in recorded.files] for each in names)
    graph = _read(folder / row["file"])
    results = compute(graph, inputs, row.get("mode") == "sequence")
    differ = 0
    for name, want in zip(graph.outputs, wanted):
        got = _dequantize(results[name], graph.tensors[name], want.dtype)
        differ += _count(got, want)
    return differ, sum(each.size for each in wanted)


def _read(path: Path) -> Graph:
    graph = read_model(path).graph
    assert graph is not None
    return graph


def _count(got: np.ndarray, want: np.ndarray) -> int:
    """Return elements with different bytes."""
    if got.dtype.itemsize != want.dtype.itemsize or got.size != want.size:
        raise Error(f"it computes {got.dtype} {list(got.shape)}, not {want.dtype} {want.shape}")
    return int(
        np.count_nonzero(got.reshape(-1).view(_bits(got)) != want.reshape(-1).view(_bits(want)))
    )


def compare_nodes(row: dict[str, str], folder: Path) -> dict[str, str]:
    """Return tensor of the TOSA file -> "equal", "inside" an operation, or how many differ."""
    recorded = np.load(folder / row["io"])
    wanted = {n[len(_NODE) :]: recorded[n] for n in recorded.files if n.startswith(_NODE)}
    inputs = [recorded[f"in_{at}"] for at in range(sum(n[:3] == "in_" for n in recorded.files))]
    path, tosa = folder / row["file"], folder / row["tosa"]
    graph, record = _read(path), find_record(path)
    if record is None:
        raise Error(f"there is no record of vela next to {path.name}")
    graph = name_by_tosa(graph, list_programs(graph), tosa, record)
    results, names = compute(graph, inputs, False, trace=True), list_names(read_tosa(tosa))
    found = {}
    for name, want in wanted.items():
        got = results.get(names[name])
        differ = 0 if got is None else _count(got, want)
        found[name] = "inside" if got is None else f"{differ} differ" if differ else "equal"
    return found


def _bits(array: np.ndarray) -> str:
    return f"u{array.dtype.itemsize}"


def list_rows(
    folder: Path, configuration: Optional[str], name: Optional[str]
) -> Iterator[dict[str, str]]:
    """Yield the rows of the index, of one configuration or of one name only."""
    for index in ("index.tsv", "tosa/index.tsv"):
        if not (folder / index).exists():
            continue
        with open(folder / index, encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file, delimiter="\t"):
                row["config"] = index.partition("index.tsv")[0] + row["config"]
                if configuration in (None, row["config"]) and name in (None, row["name"]):
                    yield row


def compare(folder: Path, configuration: Optional[str], name: Optional[str]) -> dict[str, Count]:
    """Return the counts of each configuration."""
    counts: dict[str, Count] = {}
    for row in list_rows(folder, configuration, name):
        count = counts.setdefault(row["config"], Count())
        try:
            differ, elements = count_differences(row, folder)
            if row.get("tosa"):
                _count_nodes(row, folder, count)
        except Error as error:
            count.refused += 1
            count.reasons.append(f"{row['config']} {row['name']}: {error}")
            continue
        count.elements += elements
        count.equal += not differ
        count.differ += bool(differ)
        if differ:
            count.reasons.append(f"{row['config']} {row['name']}: {differ} of {elements} differ")
    return counts


def _count_nodes(row: dict[str, str], folder: Path, count: Count) -> None:
    """Add the tensors of a row's TOSA file to the counts."""
    for name, verdict in compare_nodes(row, folder).items():
        known = verdict in ("equal", "inside")
        count.nodes[verdict if known else "differ"] += 1
        if not known:
            count.reasons.append(f"{row['config']} {row['name']}: {verdict} in {name}")


def main(arguments: Optional[list[str]] = None) -> int:
    """Print the counts, and the reason for each file that is not equal."""
    parser = argparse.ArgumentParser(prog="python -m qemu_nn.testing.ethosu", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--config", help="one configuration, such as u55-128")
    parser.add_argument("--name", help="one file")
    given = parser.parse_args(arguments)
    warnings.simplefilter("ignore", DeviceWarning)
    counts = compare(given.folder, given.config, given.name)
    for reason in (each for count in counts.values() for each in count.reasons):
        print(reason)
    total: Counter[str] = Counter()
    for config, count in counts.items():
        print(
            f"{config}: {count.equal} equal, {count.differ} differ, {count.refused} refused, "
            f"{count.elements} elements{_say_nodes(count.nodes)}"
        )
        bad = count.differ + count.refused + count.nodes["differ"]
        total.update(bad=bad, files=count.equal)
    return int(total["bad"] > 0 or not total["files"])


def _say_nodes(nodes: Counter[str]) -> str:
    kinds = f"{nodes['equal']} equal, {nodes['differ']} differ, {nodes['inside']} inside of others"
    return f"; nodes: {kinds}" if nodes else ""


if __name__ == "__main__":
    sys.exit(main())
