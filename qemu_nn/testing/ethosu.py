"""Comparison of programs of the Ethos-U with recorded bytes.

`python -m qemu_nn.testing.ethosu FOLDER`: the folder has an `index.tsv`, and perhaps another one in
`tosa`, with one row for each file and configuration: name, config, file, io (inputs in_0.. and
outputs out_0..), mode (samples or sequence; a single sample without it).
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
from ..importers import read_model
from ..ir.tensors import Tensor
from ..runtime.session import Session
from ..targets import Target


@dataclass
class Count:
    """Counts of one configuration: files that are equal, differ, and are refused."""

    equal: int = 0
    differ: int = 0
    refused: int = 0
    elements: int = 0
    reasons: list[str] = field(default_factory=list)


def compute(
    path: Path, inputs: list[np.ndarray], sequence: bool
) -> list[tuple[np.ndarray, Tensor]]:
    """Return the outputs of a file for samples, or for the steps of a sequence."""
    graph = read_model(path).graph
    assert graph is not None
    session = Session(graph, Target("cortex-m55", cmsis="7.0.0").profile())
    given, sizes = [], [tensor.shape for tensor in graph.inputs]
    for values, shape in zip(inputs, sizes):
        lead = (1, len(values)) if graph.states else (-1,)
        given.append(np.ascontiguousarray(values.reshape(*lead, *shape)))
    given = [_quantize(values, tensor) for values, tensor in zip(given, graph.inputs)]
    if graph.states and not sequence:
        given = [values.reshape(-1, 1, *values.shape[2:]) for values in given]
    results = session.run(given[0] if len(given) == 1 else given)
    return [(results[name], graph.tensors[name]) for name in graph.outputs]


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
    outputs = compute(folder / row["file"], inputs, row.get("mode") == "sequence")
    differ = 0
    for (codes, tensor), want in zip(outputs, wanted):
        got = _dequantize(codes, tensor, want.dtype)
        if got.dtype.itemsize != want.dtype.itemsize or got.size != want.size:
            raise Error(f"it computes {got.dtype} {list(got.shape)}, not {want.dtype} {want.shape}")
        differ += int(
            np.count_nonzero(got.reshape(-1).view(_bits(got)) != want.reshape(-1).view(_bits(want)))
        )
    return differ, sum(each.size for each in wanted)


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
            f"{count.elements} elements"
        )
        total.update(bad=count.differ + count.refused, files=count.equal)
    return int(total["bad"] > 0 or not total["files"])


if __name__ == "__main__":
    sys.exit(main())
