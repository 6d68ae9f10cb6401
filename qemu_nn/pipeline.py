"""The only place where stages meet: load, save, and a network that runs."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Optional, Union

import numpy as np

from .analysis.summary import Summary, summarize
from .arrays import read_npz
from .cmsis import buffer_size
from .errors import Error, ModelError
from .graph import Graph
from .importers import device
from .package import load_package, save_package
from .runtime.session import Session, State
from .targets import DEFAULT_CMSIS, DEFAULT_CORE, DEFAULT_ROUNDING, profile


@dataclass(frozen=True)
class Network:
    """A quantized network, ready to be planned for a device."""

    graph: Graph

    def session(
        self,
        target: str = DEFAULT_CORE,
        cmsis: str = DEFAULT_CMSIS,
        rounding: str = DEFAULT_ROUNDING,
        variant: Optional[str] = None,
        threads: int = 1,
    ) -> Session:
        """Plan the network for a core ("cortex-m4"), a CMSIS release and a rounding.

        variant: the row of the kernel table to run wherever a layer has one of that name;
        threads: samples computed at a time. Raises Error with the choices for unknown names, and
        the layer's constraint where the device could not run it.
        """
        return Session(self.graph, profile(target, cmsis, rounding), variant, threads)

    def save(self, path: Union[str, Path]) -> None:
        """Write the network as the project's own single file (.qnz)."""
        save_package(self.graph, path)


def load(path: Union[str, Path]) -> Network:
    """A network from a file: .qnz, or network.json (or its folder) as firmware is described.

    Raises ModelError with a sentence for anything that is not such a file.
    """
    path = Path(path)
    if path.is_dir():
        path = path / "network.json"
    if not path.exists():
        raise ModelError(f"there is no file {path}")
    if path.suffix == ".qnz":
        return Network(load_package(path))
    if path.suffix == ".json":
        return Network(device.load(path))
    raise ModelError(f"{path} is not a model this version reads; have: .qnz, network.json")


#: Samples that each thread computes before the next step of progress.
_PIECE = 64

_DEMO = Path(__file__).parent / "demo"


def run(
    session: Session,
    x: np.ndarray,
    state: State = None,
    trace: bool = False,
    progress: Optional[Callable[[Iterable], Iterable]] = None,
) -> dict[str, np.ndarray]:
    """Session.run() in pieces, so that a large batch can be watched and stopped.

    progress: wraps the iteration over pieces, as tqdm does.
    """
    states = state.values() if isinstance(state, Mapping) else () if state is None else (state,)
    if any(len(part) != len(x) for part in states):
        raise Error(f"state must have one row for each of the {len(x)} inputs")
    size = _PIECE * session.threads
    results: dict[str, np.ndarray] = {}
    starts = range(0, max(len(x), 1), size)
    for start in progress(starts) if progress else starts:
        piece = slice(start, start + size)
        for name, values in session.run(x[piece], _rows(state, piece), trace).items():
            if name not in results:
                results[name] = np.empty((len(x), *values.shape[1:]), values.dtype)
            results[name][piece] = values
    return results


def _rows(state: State, piece: slice) -> State:
    if isinstance(state, Mapping):
        return {name: part[piece] for name, part in state.items()}
    return None if state is None else state[piece]


def inferences_per_second(session: Session, x: np.ndarray, seconds: float = 0.5) -> float:
    """How many samples like these the session computes in a second, over at least `seconds`."""
    start, passes, spent = time.perf_counter(), 0, 0.0
    while spent < seconds:
        session.run(x)
        passes, spent = passes + 1, time.perf_counter() - start
    return passes * len(x) / spent


def describe(
    network: Network,
    target: str = DEFAULT_CORE,
    cmsis: str = DEFAULT_CMSIS,
    rounding: str = DEFAULT_ROUNDING,
    variant: Optional[str] = None,
) -> Summary:
    """The network on a device: layers, formats, costs and the kernel rows that run.

    Arguments and errors are those of Network.session().
    """
    plan = network.session(target, cmsis, rounding, variant).plan
    scratch = {
        node.name: buffer_size(node.function.name, node.params, target)
        for node in network.graph.nodes
    }
    return summarize(plan, scratch)


def example() -> tuple[Network, np.ndarray, np.ndarray]:
    """The network that comes with the package, images int8 [N, 8, 8, 1] and their labels [N]."""
    images = read_npz(_DEMO / "digits.npz")
    return load(_DEMO / "digits.qnz"), images["x"], images["y"]
