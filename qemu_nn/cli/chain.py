"""`qemu-nn run` of a chain of networks: from a WAV file to scores."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..analysis.table import Cell, Table
from ..api.chain import Chain, chain
from ..errors import Error
from ..io.arrays import read_array
from ..io.wav import SOUNDS, read_wav
from .options import say

_COLUMNS = ("output", "class", "largest", "stands_for", "at_second")

#: Most elements of an output whose largest values are listed.
_LISTED = 64


#: Options of a chain's device, and what is the default of all others.
_DEVICE = ("variant", "threads", "target")
_DEFAULTS = (None, False, 0)


def run_chain(
    model: Path, given: Sequence[str], options: dict[str, Any]
) -> tuple[Chain, dict[str, np.ndarray]]:
    """Return the chain that a file describes, and what it computes of a WAV file or an array."""
    trace = options["trace"]
    for name, value in options.items():
        if name not in (*_DEVICE, "trace", "cache") and value not in _DEFAULTS:
            raise Error(
                f"{model} is a chain of networks, which takes no "
                f"--{name.replace('_', '-')}: leave it out"
            )
    if len(given) != 1:
        raise Error(f"{model} is a chain of networks, which takes one --data: give it once")
    found = chain(model, **{name: options[name] for name in _DEVICE if name in options})
    inputs = Path(given[0])
    sound = inputs.suffix.lower() in SOUNDS
    x = read_wav(inputs, found.rate) if sound else read_array(inputs, "x")
    results = found.run(x, trace)
    if not len(results[found.stages[-1].session.graph.outputs[0]]):
        needed = round(float(found.seconds(1)[0]) * found.rate)
        raise Error(
            f"{inputs} has {len(x)} samples, but the chain needs {needed} for its first output: "
            f"give a recording of {needed / found.rate:g} seconds or more"
        )
    return found, results


def say_largest(found: Chain, results: dict[str, np.ndarray]) -> None:
    """Print of each score how large it became, and when."""
    graph = found.stages[-1].session.graph
    rows: list[tuple[Cell, ...]] = []
    for name in graph.outputs:
        tensor, values = graph.tensors[name], results[name]
        scores = values.reshape(len(values), -1)
        if scores.shape[1] > _LISTED:
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
