"""`qemu-nn run` of a chain of networks: from a WAV file to scores."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Optional

import numpy as np

from ..analysis.table import Cell, Table
from ..api.chain import Chain, chain
from ..errors import Error
from ..io.arrays import read_array
from ..io.wav import read_wav
from .options import say

_COLUMNS = ("output", "class", "largest", "stands_for", "at_second")

#: Most elements of an output whose largest values are listed.
_LISTED = 64


def run_chain(
    model: Path, given: Sequence[str], trace: bool, others: dict[str, Optional[Path]], **device: Any
) -> tuple[Chain, dict[str, np.ndarray]]:
    """The chain that a file describes, and what it computes of a WAV file or an array."""
    for name, path in others.items():
        if path is not None:
            raise Error(f"{model} is a chain of networks, which takes no --{name}")
    if len(given) != 1:
        raise Error(f"{model} is a chain of networks, which takes one --input")
    found, inputs = chain(model, **device), Path(given[0])
    if inputs.suffix.lower() in (".wav", ".wave"):
        x = read_wav(inputs, found.rate)
    else:
        x = read_array(inputs, "x")
    return found, found.run(x, trace)


def say_largest(found: Chain, results: dict[str, np.ndarray]) -> None:
    """Print of each score how large it became, and when."""
    graph = found.stages[-1].session.graph
    rows: list[tuple[Cell, ...]] = []
    for name in graph.outputs:
        tensor, values = graph.tensors[name], results[name]
        scores = values.reshape(len(values), -1)
        if not len(scores) or scores.shape[1] > _LISTED:
            continue
        at = scores.argmax(0)
        seconds = found.seconds(len(scores))
        for index, step in enumerate(at):
            largest = scores[step, index]
            known = tensor.scale is not None or tensor.frac is not None
            real = float(tensor.format.dequantize(largest)) if known else None
            labelled = len(graph.classes) == scores.shape[1]
            label = graph.classes[index] if labelled else str(index)
            real = None if real is None else round(real, 4)
            rows.append((name, label, _plain(largest), real, round(float(seconds[step]), 2)))
    if rows:
        say(f"\n{Table(_COLUMNS, tuple(rows)).text()}")


def _plain(number: np.generic) -> Cell:
    return float(number) if number.dtype.kind == "f" else int(number)
