"""The range and histogram of every tensor of a network, over the calibration data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Union

import numpy as np

from ..errors import Error
from ..ir.float_graph import FloatGraph
from ..ir.statistics import Statistics
from ..runtime.evaluate import iterate_tensors


def observe(
    graph: FloatGraph, batches: Iterable[Union[np.ndarray, Mapping[str, np.ndarray]]]
) -> dict[str, Statistics]:
    """Return tensor name -> statistics over all batches [n, *graph.shape] of float data, of several
    inputs by their names.

    Raises Error where there is no data, and where the network's values are not finite.
    """
    statistics = {name: Statistics() for name in graph.shapes}
    samples = 0
    for batch in batches:
        samples += len(next(iter(batch.values())) if isinstance(batch, Mapping) else batch)
        for name, values in iterate_tensors(graph, batch):
            try:
                statistics[name].add_samples(values)
            except Error as error:
                raise Error(f"{graph.name}: tensor {name!r}: {error}") from None
    if not samples:
        raise Error("there are no samples to calibrate with: give one or more")
    return statistics
