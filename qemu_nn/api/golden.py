"""Goldens of a network, comparisons with dumps of a device, and the network's costs on a device.

Functions import what only goldens and reports need, so that a program that only loads and runs a
network starts faster.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Optional, Union

import numpy as np

from ..errors import Error, Refused
from ..io import files
from ..io.arguments import as_array, as_callable, as_path, format_value, one_of
from ..io.arrays import read_npz
from ..io.stages import announce
from ..io.version import __version__
from ..ir.builds import find_target
from ..ir.graph import Graph
from ..qnz.package import model_hash
from ..runtime import interrupt
from ..runtime.inputs import Inputs, State, arrange_by_name
from ..runtime.npu import list_programs
from ..runtime.samples import naming_samples
from ..runtime.session import Session, make_other_profiles
from ..targets import DEFAULT_CORE, Profile, Target
from .network import FloatNetwork as FloatNetwork
from .network import Network as Network
from .network import load as load
from .network import load_quantized as load_quantized
from .network import quantized

if TYPE_CHECKING:
    from ..analysis.compare import Comparison
    from ..analysis.summary import Summary
    from ..firmware.golden import About, Golden, GoldenSet

#: Formats of goldens, and the most inputs for which the default is a folder.
FORMATS, MOST_IN_FOLDER = ("folder", "archive"), 10


def golden(
    network: Network,
    data: Any,
    folder: Path,
    target: Union[str, Target] = DEFAULT_CORE,
    threads: int = 1,
    progress: Optional[Callable[[Iterable[Any]], Iterable[Any]]] = None,
    state: State = None,
    force: bool = False,
    format: Optional[str] = None,
) -> GoldenSet:
    """Write what the device must compute for each input, layer by layer, as files and as C.

    Parameters
    ----------
    network : Network or str or Path
        A quantized network, or its file.
    data : Dataset or source
        Inputs, as a Dataset or its source: the input's integers (N, *input shape), of a recurrent
        network (N, T, *input shape), or floats. Where the network has several inputs: a list of
        arrays, or a dictionary by their names.
    folder : Path
        New, empty, or an earlier golden set, which is replaced; of an archive the .npz file,
        whose ending may be left out.
    target : str or Target, default "cortex-m4"
        The device, as Network.session() takes it.
    threads : int, default 1
        Profiles that are computed at a time.
    progress : callable, optional
        Wraps the iteration over inputs, as tqdm does.
    state : ndarray or mapping of str to ndarray, shape (N, *state shape), optional
        What a recurrent network starts from; default: as it is after reset.
    force : bool, default False
        Replace an earlier golden set even where its files were edited.
    format : {"folder", "archive"}, optional
        "folder": a .npy file, a .bin file and a C header for each golden, and C code that checks
        them. "archive": one .npz file of all arrays, with the manifest, which compare() reads,
        too. Default: a folder for at most ten inputs, or what the ending .npz says.

    Returns
    -------
    GoldenSet
        The folder, the names of the goldens in program order, and their bytes.

    Raises
    ------
    Error
        The device could not run the network, the input or state does not fit, or the folder holds
        something else or cannot be written; then nothing is left after.
    """
    from .data import Dataset, coded

    network, progress = quantized(network), as_callable(progress, "progress")
    wanted = network.profile(target)
    session = Session(network.graph, wanted, threads=threads, trace=True, host=network.host)
    folder = as_path(folder, "the folder of goldens")
    if format is not None:
        one_of(FORMATS, format, "format of goldens")
    x = coded(session.host, Dataset.of(data))
    said = about(session, target)
    with files.naming(folder):
        return write_goldens(session, said, x, folder, progress, state, force, format)


def about(session: Session, target: Union[str, Target]) -> About:
    """Return what goldens and an export say of themselves."""
    from ..firmware.golden import About

    graph = session.graph
    core = find_target(graph, target).core
    return About(graph.name, model_hash(graph), __version__, core, session.profile)


def write_goldens(
    session: Session,
    about: About,
    x: Inputs,
    folder: Path,
    progress: Optional[Callable[[Iterable[Any]], Iterable[Any]]] = None,
    state: State = None,
    force: bool = False,
    format: Optional[str] = "folder",
    layers: Optional[Container[str]] = None,
) -> GoldenSet:
    """Return the same for a session, which is planned for traced runs.

    layers: the inputs and layers to write; default: all.
    """
    from ..firmware.golden import write, write_one

    named = arrange_by_name(session.graph, x)
    if any(part.size == 0 or part.ndim == 0 for part in named.values()):
        raise Error("there are no inputs: give one or more, of which goldens are computed")
    samples = len(named[session.graph.input.name])
    if any(len(part) != samples for part in named.values()):
        raise Error(
            f"the inputs have different numbers of samples: all must have {samples}, as the first"
        )
    sessions = {session.profile: session, **make_other_profiles(session.graph, session.profile)}
    traces = _samples(sessions, named, state, session.threads)
    announce("writes goldens")
    turns = progress(range(samples)) if progress else range(samples)
    made = (
        (each for each in sample if layers is None or each.layer in layers)
        for _, sample in zip(turns, traces)
    )
    if format is None:
        format = FORMATS[samples > MOST_IN_FOLDER or folder.suffix == ".npz"]
    if format == "folder":
        return write(folder, about, made, force)
    if folder.name in ("", ".."):
        raise Error(f"an archive of goldens needs a name, such as goldens.npz, not {folder}")
    path = folder if folder.suffix == ".npz" else folder.with_name(f"{folder.name}.npz")
    return write_one(path, about, made)


def compare(
    golden: Path,
    dump: Path,
    base: Optional[int] = None,
    network: Union[Network, str, Path, None] = None,
) -> Comparison:
    """Compare dumps of a device with a golden set, byte by byte.

    Parameters
    ----------
    golden : Path
        The folder of a golden set, or its archive.
    dump : Path
        A folder of dumps, with the names of the goldens; docs/howto/compare.md lists the forms.
        Or the log of a self-test that was built with -DQN_DUMP.
    base : {10, 16}, optional
        The base of numbers in texts; default: 16 of .hex files, 10 of .csv files, and of other
        texts what the whole text fits.
    network : Network or str or Path, optional
        The network of the goldens: of a layer that differs, its call is computed with the
        frequent faults of firmware, and the finding names the fault that explains all bytes. Not
        of a network with command streams of an NPU.

    Returns
    -------
    Comparison
        A finding for each dump, and the goldens without one; print it to read it.

    Raises
    ------
    Error
        The golden set is damaged, a dump cannot be read or fits both bases, no dump has the name
        of a golden, or the goldens are of another network.
    """
    from ..analysis.compare import compare
    from ..analysis.text_dumps import BASES

    if base not in (None, *BASES):
        raise Error(
            f"base is {format_value(base)}, but must be 10 or 16, the base of numbers in texts"
        )
    folders = as_path(golden, "the golden set"), as_path(dump, "the dumps")
    announce("compares goldens")
    graph = None if network is None else quantized(network).graph
    if graph is None or list_programs(graph):  # firmware passes no arguments to an NPU's layers
        return compare(*folders, base)
    from .faults import fault_search

    return compare(*folders, base, partial(fault_search, graph))


def _samples(
    sessions: Mapping[Profile, Session],
    x: Mapping[str, np.ndarray],
    state: State,
    threads: int,
) -> Iterator[Iterator[Golden]]:
    """Yield the goldens of each input under the first profile; profiles are computed side by
    side.
    """
    from ..firmware.golden import iterate_sample

    graph = next(iter(sessions.values())).plan.graph
    samples = len(x[graph.input.name])
    starts = _starts(graph, state, samples)
    with interrupt.open_pool(threads) as pool:
        for i in range(samples):
            one = slice(i, i + 1)
            own = {name: values[one] for name, values in x.items()}
            start = {name: values[one] for name, values in starts.items()}
            run = partial(_traced, x=own, state=start or None, wanted=next(iter(sessions)))
            with naming_samples("sample {}".format, i):
                traces = list(pool.map(run, sessions.values()))
            by_profile = dict(zip(map(str, sessions), traces))
            first = {n: v[0] for n, v in own.items()}
            yield iterate_sample(
                graph, first, {n: v[0] for n, v in start.items()}, traces[0], by_profile
            )


def _traced(session: Session, x: Inputs, state: State, wanted: Profile) -> dict[str, np.ndarray]:
    """Return what each layer computes for one input; nothing where another device stops at it."""
    try:
        results = session.run(x, state, trace=True)
    except Refused:
        if session.profile == wanted:
            raise
        return {}
    return {layer: values[0] for layer, values in results.items()}


def _starts(graph: Graph, state: State, samples: int) -> dict[str, np.ndarray]:
    """Return state -> [N, *state shape], the start of each input; empty for networks without
    states.
    """
    if state is None:
        reset = {t.name: graph.arrays.get(t.name, np.zeros(t.shape, t.dtype)) for t in graph.states}
        return {
            t.name: np.broadcast_to(reset[t.name].reshape(t.shape), (samples, *t.shape))
            for t in graph.states
        }
    if not graph.states:
        raise Error(f"{graph.name} is not recurrent and has no state: leave state out")
    if not isinstance(state, Mapping):
        state = {graph.states[0].name: state}
    starts = {name: as_array(values, f"state {name!r}") for name, values in state.items()}
    for name, values in starts.items():
        if values.ndim == 0 or len(values) != samples:
            raise Error(f"the state {name!r} must have {samples} samples, as the input has")
    return starts


def describe(
    network: Network,
    target: Union[str, Target] = DEFAULT_CORE,
    variant: Optional[str] = None,
) -> Summary:
    """Return the network on a device: layers, formats, costs and the kernel rows that run.

    Parameters
    ----------
    network : Network or str or Path
        A quantized network, or its file.
    target : str or Target, default "cortex-m4"
        The device, as Network.session() takes it.
    variant : str, optional
        As Network.session() takes it.

    Returns
    -------
    Summary
        A table of layers, and facts about the whole; its memory is that of exported firmware.

    Raises
    ------
    Error
        A name is unknown, or the device could not run the network.
    """
    from ..analysis.summary import summarize
    from ..firmware.memory import list_buffers

    network = quantized(network)
    announce("plans layers")
    plan = network.session(target, variant=variant).plan
    return summarize(plan, list_buffers(plan), network.tflm_figures, network.original)


def example() -> tuple[Network, np.ndarray, np.ndarray]:
    """Return the network that comes with the package, and data for it.

    Returns
    -------
    network : Network
        A small CNN for handwritten digits, q7.
    images : ndarray of int8, shape (N, 8, 8, 1)
        Inputs.
    labels : ndarray of int, shape (N,)
        Their classes, 0..9.

    Examples
    --------
    >>> network, images, labels = example()
    >>> network.session().run(images[:2])["softmax"].shape
    (2, 10)
    """
    folder = Path(__file__).parents[1] / "demo"
    images = read_npz(folder / "digits.npz")
    return load_quantized(folder / "digits.qnz"), images["x"], images["y"]
