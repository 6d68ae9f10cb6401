"""Times whole networks, row by row of the kernel table: python -m benchmarks."""

from __future__ import annotations

import statistics
import time

import numpy as np

from qemu_nn.analysis.table import Table
from qemu_nn.errors import Error
from qemu_nn.runtime.session import Session
from qemu_nn.targets import profile

from . import networks

_REPEATS = 15
_BATCHES = (1, 32)


def microseconds(session: Session, x: np.ndarray) -> tuple[float, float]:
    """Median and best time of one inference; the first run is not counted."""
    session.run(x)
    times = []
    for _ in range(_REPEATS):
        start = time.perf_counter()
        session.run(x)
        times.append((time.perf_counter() - start) / len(x) * 1e6)
    return statistics.median(times), min(times)


def main() -> None:
    """Every network on a core with and one without the DSP extension, in each variant."""
    rows = []
    for graph in (networks.cifar10(),):
        for core in ("cortex-m3", "cortex-m4"):
            for variant in (None, "dsp"):
                try:
                    session = Session(graph, profile(core), variant)
                except Error:
                    continue  # no layer has this variant on this core
                for batch in _BATCHES:
                    x = np.random.default_rng(0).integers(-128, 128, (batch, *graph.input.shape))
                    median, best = microseconds(session, x.astype(graph.input.dtype))
                    rows.append(
                        (graph.name, core, variant or "best", batch, round(median), round(best))
                    )
    header = ("network", "core", "variant", "batch", "median_us", "best_us")
    print(Table(header, tuple(rows)).text())


if __name__ == "__main__":
    main()
