"""What calibration data say of every tensor of a network."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..errors import Error
from ..ir.float_graph import FloatGraph
from ..ir.statistics import Statistics
from ..runtime.evaluate import each_tensor


def observe(graph: FloatGraph, batches: Iterable[np.ndarray]) -> dict[str, Statistics]:
    """Tensor name -> statistics over all batches [n, *graph.shape] of float data.

    Raises Error where there is no data, and where the network's values are not finite.
    """
    found = {name: Statistics() for name in graph.shapes}
    seen = 0
    for batch in batches:
        seen += len(batch)
        for name, values in each_tensor(graph, batch):
            try:
                found[name].add(values)
            except Error as error:
                raise Error(f"{graph.name}: tensor {name!r}: {error}") from None
    if not seen:
        raise Error("there is no data to calibrate with")
    return found
