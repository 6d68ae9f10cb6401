"""The only place where stages meet: load, save, a network that runs, goldens of it.

What only goldens and reports need is imported by the functions that make them: a program that
loads a network and runs it starts without.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Callable, Optional, Union

import numpy as np

from . import __version__
from .arrays import read_npz
from .devices import profile_for
from .errors import Error, ModelError
from .float_graph import FloatGraph
from .graph import Graph
from .importers import FLOAT_FORMATS, QUANTIZED_FORMATS, load_float, load_integers
from .package import load_package, model_hash, save_package
from .runtime import interrupt
from .runtime.evaluate import evaluate
from .runtime.rivals import rivals
from .runtime.session import Session, State
from .targets import DEFAULT_CORE, Profile

if TYPE_CHECKING:
    from .analysis.compare import Comparison
    from .analysis.summary import Summary
    from .firmware.golden import GoldenSet
    from .firmware.sample import Golden


@dataclass(frozen=True)
class Network:
    """A quantized network, ready to be planned for a device.

    reference: the float network it was quantized from, channels last, whose tensors have the names
    of the layers that compute them; None if it did not come from one. notes: what had to give
    way when it was quantized.
    """

    graph: Graph
    reference: Optional[FloatGraph] = None
    notes: tuple[str, ...] = ()

    def session(
        self,
        target: str = DEFAULT_CORE,
        cmsis: Optional[str] = None,
        rounding: Optional[str] = None,
        variant: Optional[str] = None,
        threads: int = 1,
    ) -> Session:
        """Plan the network for a core ("cortex-m4"), a CMSIS release and a rounding; see profile().

        variant: the row of the kernel table to run wherever a layer has one of that name;
        threads: samples computed at a time. Raises Error with the choices for unknown names, and
        the layer's constraint where the device could not run it.
        """
        return Session(self.graph, self.profile(target, cmsis, rounding), variant, threads)

    def profile(
        self,
        target: str = DEFAULT_CORE,
        cmsis: Optional[str] = None,
        rounding: Optional[str] = None,
    ) -> Profile:
        """A device's profile; cmsis: by default the newest release with the network's functions,
        rounding: by default as Arm ships that one ("nearest", "double").
        """
        return profile_for(self.graph.ops, target, cmsis, rounding)

    def save(self, path: Union[str, Path]) -> None:
        """Write the network, with its reference, as the project's own single file (.qnz)."""
        save_package(self.graph, path, self.reference)


@dataclass(frozen=True)
class FloatNetwork:
    """A float network, as a file of its framework holds it."""

    graph: FloatGraph

    def evaluate(self, x: np.ndarray, trace: bool = False) -> dict[str, np.ndarray]:
        """Float arrays by the source file's own tensor names: the outputs, or all if traced.

        x: [N, *shape], in the file's own layout. Raises Error for another shape and for NaN.
        """
        return evaluate(self.graph, x, trace)

    def save(self, path: Union[str, Path]) -> None:
        """Write the network as the project's own single file (.qnz)."""
        save_package(None, path, self.graph)


def load(
    path: Union[str, Path],
    *,
    input: Optional[str] = None,
    output: Optional[str] = None,
    weights: Union[str, Path, None] = None,
) -> Union[Network, FloatNetwork]:
    """A network from a file.

    Quantized: .qnz, .tflite, or network.json (or its folder) as firmware is described. Float:
    .onnx, .h5, .hdf5, .keras, .pb, and .prototxt with `weights` beside it; input, output: tensors
    of the file between which the network is cut out. Raises ModelError with a sentence for
    anything else.
    """
    path = Path(path)
    if path.is_dir():
        path = path / "network.json"
    if not path.exists():
        raise ModelError(f"there is no file {path}")
    if path.suffix.lower() in FLOAT_FORMATS:
        beside = None if weights is None else Path(weights)
        return FloatNetwork(load_float(path, input, output, beside))
    if input or output or weights:
        raise Error(f"{path} is a whole network: input, output and weights are for float models")
    if path.suffix.lower() in QUANTIZED_FORMATS:
        return Network(load_integers(path))
    if path.suffix == ".qnz":
        found = load_package(path)
        if found.graph is None:
            assert found.reference is not None  # a file holds one of them
            return FloatNetwork(found.reference)
        return Network(found.graph, found.reference)
    if path.suffix == ".json":
        from .importers import device

        return Network(device.load(path))
    have = ", ".join([".qnz", "network.json", *QUANTIZED_FORMATS, *FLOAT_FORMATS])
    raise ModelError(f"{path} is not a model this version reads; have: {have}")


def load_quantized(path: Union[str, Path]) -> Network:
    """A quantized network from a file, as load() reads it; Error for a float one."""
    network = load(path)
    if not isinstance(network, Network):
        raise Error(f"{path} is a float network; quantize it first")
    return network


def golden(
    network: Network,
    x: np.ndarray,
    folder: Path,
    target: str = DEFAULT_CORE,
    cmsis: Optional[str] = None,
    rounding: Optional[str] = None,
    threads: int = 1,
    progress: Optional[Callable[[Iterable], Iterable]] = None,
    state: State = None,
) -> GoldenSet:
    """Write what the device must compute for each input, layer by layer, as files and as C.

    x: [N, *input shape], or [N, T, *input shape] for a recurrent network, which starts from
    `state` (zero if not given). folder: new, empty, or an earlier golden set, which is replaced.
    progress: wraps the iteration over inputs, as tqdm does. Raises Error as a session does, and
    where the folder holds something else or can not be written; then nothing is left behind.
    """
    from .firmware.golden import About, write

    wanted = network.profile(target, cmsis, rounding)
    session = Session(network.graph, wanted, threads=threads)
    x = np.asarray(x)
    if x.size == 0 or x.ndim == 0:
        raise Error("there are no inputs to make goldens of")
    about = About(network.graph.name, model_hash(network.graph), __version__, target, wanted)
    samples = _samples({wanted: session, **rivals(network.graph, wanted)}, x, state, threads)
    turns = progress(range(len(x))) if progress else range(len(x))
    return write(folder, about, (each for _, each in zip(turns, samples)))


def compare(golden: Path, dump: Path) -> Comparison:
    """Hold dumps of a device against a golden set; see analysis/dumps.py for names and forms.

    Raises Error where the golden set is damaged, a dump can not be read, or none has the name of
    a golden.
    """
    from .analysis.compare import compare

    return compare(golden, dump)


def _samples(
    sessions: Mapping[Profile, Session], x: np.ndarray, state: State, threads: int
) -> Iterator[Iterator[Golden]]:
    """The goldens of each input under the first profile; profiles are computed side by side."""
    from .firmware.sample import sample

    graph = next(iter(sessions.values())).graph
    starts = _starts(graph, state, len(x))
    with interrupt.pool(threads) as pool:
        for i in range(len(x)):
            one = slice(i, i + 1)
            start = {name: values[one] for name, values in starts.items()}
            run = partial(Session.run, x=x[one], state=start or None, trace=True)
            traces = [
                {layer: values[0] for layer, values in results.items()}
                for results in pool.map(run, sessions.values())
            ]
            rivals = dict(zip(map(str, sessions), traces))
            yield sample(graph, x[i], {n: v[0] for n, v in start.items()}, traces[0], rivals)


def _starts(graph: Graph, state: State, samples: int) -> dict[str, np.ndarray]:
    """State -> [N, *state shape], what each input starts from; empty if it is not recurrent."""
    if state is None:
        return {t.name: np.zeros((samples, *t.shape), t.dtype) for t in graph.states}
    if not graph.states:
        raise Error(f"{graph.name} is not recurrent and takes no state")
    if not isinstance(state, Mapping):
        state = {graph.states[0].name: state}
    starts = {name: np.asarray(values) for name, values in state.items()}
    for name, values in starts.items():
        if values.ndim == 0 or len(values) != samples:
            raise Error(f"state {name!r} must hold {samples} samples, as the input does")
    return starts


def describe(
    network: Network,
    target: str = DEFAULT_CORE,
    cmsis: Optional[str] = None,
    rounding: Optional[str] = None,
    variant: Optional[str] = None,
) -> Summary:
    """The network on a device: layers, formats, costs and the kernel rows that run.

    Its memory is that of the exported firmware. Arguments and errors are those of
    Network.session().
    """
    from .analysis.summary import summarize
    from .firmware.memory import buffers

    return summarize(
        network.session(target, cmsis, rounding, variant).plan,
        buffers(network.graph, network.profile(target, cmsis, rounding)),
    )


def example() -> tuple[Network, np.ndarray, np.ndarray]:
    """The network that comes with the package, images int8 [N, 8, 8, 1] and their labels [N]."""
    folder = Path(__file__).parent / "demo"
    images = read_npz(folder / "digits.npz")
    return load_quantized(folder / "digits.qnz"), images["x"], images["y"]
