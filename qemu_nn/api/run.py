"""Runs a quantized network on data of any size, batch after batch, into memory or files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Optional, Union

import numpy as np

from ..errors import Error
from ..evaluation.block_reader import BlockSource, Given, open_blocks
from ..firmware.golden import Names
from ..io import files
from ..io.arguments import as_callable, as_flag, as_path
from ..io.mapped import map_npy, map_npz
from ..io.npy_writer import open_growing
from ..io.stages import announce
from ..runtime.batch import PIECE
from ..runtime.cluster import iterate_blocks, open_cluster
from ..runtime.inputs import State, take_rows
from ..runtime.samples import naming_samples
from ..runtime.session import Session
from ..targets import DEFAULT_CORE, Target
from .data import Batches, Dataset, coded_batches
from .network import Network, quantized

Progress = Callable[[Iterable[Any]], Iterable[Any]]
Arrays = dict[str, np.ndarray]


def run(
    network: Union[Network, str, Path],
    data: Any,
    output: Union[str, Path, None] = None,
    *,
    target: Union[str, Target] = DEFAULT_CORE,
    variant: Optional[str] = None,
    threads: int = 1,
    state: State = None,
    trace: bool = False,
    real: bool = False,
    progress: Optional[Progress] = None,
    client: Any = None,
) -> dict[str, np.ndarray]:
    """Run a network on data of any size, and return or write what the device computes.

    Data are read, and outputs are written, batch after batch, so that memory does not grow with
    them. Session.run() is the same for an array of the network's integers.

    Parameters
    ----------
    network : Network or str or Path
        A quantized network, or its file.
    data : Dataset or source
        Samples, as a Dataset or its source. Integers of the input's own type are what the network
        gets; other numbers are real ones, or pixels, as Network.predict() takes them.
    output : str or Path, optional
        Where outputs are written: a .npz file, a .npy file for a network of one output, or a
        folder, with a .npy file for each. Files come to be whole, at the end.
    target, variant, threads
        As Network.session() takes them.
    state : ndarray or mapping of str to ndarray, shape (N, *state shape), optional
        What a recurrent network starts from, for each sample that is used.
    trace : bool, default False
        Compute the output of every layer, not of the network only.
    real : bool, default False
        Give the floats that outputs stand for, as Network.predict() does.
    progress : callable, optional
        Wraps the iteration over batches, as tqdm does.
    client : dask.distributed.Client, str or int, optional
        Compute on this cluster, on that of the scheduler at this address, or on so many processes
        of this machine, by dask.

    Returns
    -------
    dict of str to ndarray, shape (N, *output shape)
        Outputs by the names of their layers. Those that were written are mapped from their files.

    Raises
    ------
    Error
        The data do not fit the network, the device could not run it, or the output cannot be
        written; then no file is left after.

    Examples
    --------
    >>> qemu_nn.run("net.tflite", "images.npy", "scores", target="cortex-m55")
    """
    network, trace, real = quantized(network), as_flag(trace, "trace"), as_flag(real, "real")
    if real and trace:
        raise Error(
            "trace=True and real=True are given: the outputs of all layers are integers; leave "
            "one out"
        )
    session = network.session(target, variant=variant, threads=threads)
    source = coded_batches(session.host, Dataset.of(data), PIECE * session.threads)
    path = None if output is None else as_path(output, "output")
    progress = as_callable(progress, "progress")
    with open_cluster(client) as found:
        return run_batches(session, source, path, state, trace, real, progress, found)


def run_batches(
    session: Session,
    source: Batches,
    output: Optional[Path] = None,
    state: State = None,
    trace: bool = False,
    real: bool = False,
    progress: Optional[Progress] = None,
    client: Any = None,
) -> dict[str, np.ndarray]:
    """Yield the same of batches of integers, on a session, or on sessions like it of a cluster."""
    if output is not None:
        check_output(output)
    states = () if state is None else state.values() if isinstance(state, Mapping) else (state,)
    if any(np.shape(part)[:1] != (source.samples,) for part in states):
        raise Error(f"state must have one row for each of the {source.samples} inputs")

    def results() -> Iterable[Mapping[str, np.ndarray]]:
        if client is None:
            job = _Job(session, BlockSource(), state, trace, real)
            announce("runs samples")
            for batch in progress(source) if progress else source:
                yield job(Given(batch, source.numbers(batch)))
            return
        graph = session.graph
        tensors = [*graph.inputs, *(graph.tensors.values() if trace else ())]
        size = sum(tensor.nbytes for tensor in tensors)
        reading, blocks, total = open_blocks(source, None, size, True)
        job = _Job(session, reading, state, trace, real)
        yield from iterate_blocks(job, blocks, client=client, progress=progress, total=total)

    if output is None:
        return _gathered(results(), source.samples)
    names = Names()
    with open_growing(output, names.__getitem__) as append:
        for found in results():
            append(found)
    return _written(output, names.stems)


@dataclass(frozen=True)
class _Job:
    """The outputs of a block, from the rows of a state that belong to it."""

    session: Session
    source: BlockSource
    state: State
    trace: bool
    real: bool

    def __call__(self, block: Any) -> Mapping[str, np.ndarray]:
        batch, name = self.source.read(block)
        part = slice(batch.first, batch.first + len(batch))
        start: Any = None if self.state is None else take_rows(self.state, part)
        with naming_samples(name):
            found = self.session.run(batch.x, start, self.trace)
        host = self.session.host
        return host.arrange(host.scores(found)) if self.real else found


def check_output(path: Path) -> None:
    """Refuse, before any work, a path that cannot take the results."""
    if path.suffix not in ("", ".npy", ".npz") and not path.is_dir():
        raise Error(
            f"the output {path} has no known ending: name a folder, a .npy or a .npz file, such "
            f"as {path.stem}.npz"
        )
    if not path.is_dir():
        files.check_place(path)


def _gathered(found: Iterable[Mapping[str, np.ndarray]], count: Optional[int]) -> Arrays:
    """Return the outputs of all batches; count: of all samples, where it is known."""
    parts: dict[str, list[np.ndarray]] = {}
    whole: Arrays = {}
    done = 0
    for results in found:
        samples = len(next(iter(results.values())))
        for name, values in results.items():
            if count is None:
                parts.setdefault(name, []).append(values)
                continue
            if name not in whole:
                whole[name] = np.empty((count, *values.shape[1:]), values.dtype)
            whole[name][done : done + samples] = values
        done += samples
    if not done:
        raise Error("the data have no samples: give one or more")
    return whole or {name: np.concatenate(values) for name, values in parts.items()}


def _written(output: Path, stems: Mapping[str, str]) -> Arrays:
    """Return the outputs that were written, mapped; stems: the names of arrays and of their
    files.
    """
    if output.suffix == ".npz":
        return {name: array.view() for name, array in map_npz(output).items()}
    if output.suffix == ".npy":
        return {next(iter(stems)): map_npy(output).view()}
    return {name: map_npy(output / f"{stem}.npy").view() for name, stem in stems.items()}
