"""Networks in a row, each at its own rate: from sound to answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Optional, Union

import numpy as np

from ..errors import Error
from ..io.arguments import as_array, as_count, format_value
from ..io.stages import announce
from ..io.stages import count as counted
from ..ir.graph import Tensor
from ..runtime import batch
from ..runtime.inputs import expect_dtype
from ..runtime.session import Session
from ..runtime.stream import Stream
from ..targets import DEFAULT_CORE, Target
from .chain_json import RATE, described, described_by
from .network import Network, quantized

#: Most stages of a chain.
_STAGES = 64


@dataclass(frozen=True)
class Stage:
    """A network of a chain, planned.

    Attributes
    ----------
    session : runtime.session.Session
        The network on its device.
    window : int
        How many outputs of the stage before make one of its inputs.
    hop : int
        How many of them it moves on from one input to the next.
    """

    session: Session
    window: int
    hop: int


class Chain:
    """Networks in a row, planned for a device: what one computes is what the next one reads.

    chain() returns one. A network with states goes through its inputs as a device does, one Invoke
    after the other; of one without, all inputs of a run are a batch.

    Parameters
    ----------
    stages : sequence of Stage
        The networks, as they follow each other.
    unit : tuple of int
        The shape of one element of what goes in: () of samples of sound.
    rate : int
        How many of these a second has.

    Attributes
    ----------
    stages, unit, rate
        See the parameters.
    """

    def __init__(self, stages: Sequence[Stage], unit: tuple[int, ...], rate: int) -> None:
        self.stages, self.unit, self.rate = tuple(stages), unit, rate

    def __repr__(self) -> str:
        names = " -> ".join(
            f"{stage.session.graph.name[:60]} ({stage.window} every {stage.hop})"
            for stage in self.stages
        )
        return f"<Chain of {self.rate} inputs per second: {names}>"

    def run(self, x: np.ndarray, trace: bool = False) -> dict[str, np.ndarray]:
        """Run a whole recording from reset, and return what the device computes, bit for bit.

        Parameters
        ----------
        x : ndarray of the first network's integers, shape (T, *unit)
            The recording: samples of sound.
        trace : bool, default False
            Return the outputs of every stage, of each but the last as "<its number>.<name>".

        Returns
        -------
        dict of str to ndarray, shape (N, *output shape)
            Outputs of the last stage by the names of their layers; N is 0 if the recording is too
            short for one.

        Raises
        ------
        Error
            The recording has another type or shape.

        Examples
        --------
        >>> scores = chain.run(samples)["score"]
        """
        return self.stream().push(x, trace)

    def stream(self) -> ChainStream:
        """Begin to run the chain live, with samples as they come.

        Returns
        -------
        ChainStream
            Its push() takes samples, and gives what became ready with them.

        Examples
        --------
        >>> live = chain.stream()
        >>> for samples in microphone:
        ...     print(live.push(samples)["score"])
        """
        return ChainStream(self)

    def seconds(self, count: int) -> np.ndarray:
        """Return the latency of the first outputs: seconds of the recording that they need.

        Parameters
        ----------
        count : int
            How many of them.

        Returns
        -------
        ndarray of float, shape (count,)
            Seconds from the begin of the recording.

        Raises
        ------
        Error
            The count is no integer of 0 or more.
        """
        needed = np.arange(1, as_count(count, "count", least=0) + 1)
        for stage in reversed(self.stages):
            needed = (needed - 1) * stage.hop + stage.window
        return needed / self.rate


class ChainStream:
    """A chain live: Chain.stream() returns one, and several may run side by side.

    Parameters
    ----------
    chain : Chain
        The chain.
    """

    def __init__(self, chain: Chain) -> None:
        self._chain = chain
        self.reset()

    def reset(self) -> None:
        """Begin anew: nothing is waiting, and every network is as after reset."""
        units = [self._chain.unit]
        for stage in self._chain.stages:
            graph = stage.session.graph
            units.append(graph.tensors[graph.outputs[0]].shape)
        self._running = [_Running(*each) for each in zip(self._chain.stages, units)]

    def push(self, x: np.ndarray, trace: bool = False) -> dict[str, np.ndarray]:
        """Take what came in, and compute all that became ready.

        Parameters
        ----------
        x : ndarray of the first network's integers, shape (T, *unit)
            As many elements as there are: samples of sound.
        trace : bool, default False
            Return the outputs of every stage, of each but the last as "<its number>.<name>".

        Returns
        -------
        dict of str to ndarray, shape (N, *output shape)
            Outputs of the last stage, by the names of their layers, that became ready; N may be 0.

        Raises
        ------
        Error
            The array has another type or shape.

        Examples
        --------
        >>> live = chain.stream()
        >>> live.push(samples)["score"].shape
        (3, 1)
        """
        x = as_array(x, "the input")
        first, unit = self._chain.stages[0].session.graph.input, self._chain.unit
        expect_dtype("the input", x, first)
        if x.ndim == 0 or x.shape[1:] != unit:
            want = ", ".join(["T", *map(str, unit)])
            raise Error(f"the input has the shape {list(x.shape)}, but must have [{want}]")
        found: dict[str, np.ndarray] = {}
        for number, running in enumerate(self._running):
            results = running.push(x)
            x = next(iter(results.values()))
            last = number == len(self._running) - 1
            if trace or last:
                found.update((k if last else f"{number}.{k}", v) for k, v in results.items())
        return found


class _Running:
    """One stage of a stream, and what waits to be part of its next input."""

    def __init__(self, stage: Stage, unit: tuple[int, ...]) -> None:
        graph = stage.session.graph
        self._stage, self._graph = stage, graph
        self._live: Optional[Stream] = stage.session.stream() if graph.states else None
        self._waiting = np.empty((0, *unit), graph.input.dtype)
        self._skip = 0  # of the next elements: a hop that is longer than the window

    def push(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """Return the outputs of all inputs that are complete with these elements, [N, *output
        shape].
        """
        window, hop = self._stage.window, self._stage.hop
        skipped = min(self._skip, len(x))
        self._skip -= skipped
        have = np.concatenate([self._waiting, x[skipped:]])
        count = max(0, (len(have) - window) // hop + 1)
        used = count * hop
        self._waiting = have[used:].copy()
        self._skip += max(0, used - len(have))
        return self._outputs(have, count)

    def _outputs(self, have: np.ndarray, count: int) -> dict[str, np.ndarray]:
        names, tensors = self._graph.outputs, self._graph.tensors
        results = {
            name: np.empty((count, *tensors[name].shape), tensors[name].dtype) for name in names
        }
        if not count:
            return results
        windows = np.lib.stride_tricks.sliding_window_view(have, self._stage.window, axis=0)
        windows = np.moveaxis(windows[:: self._stage.hop], -1, 1)  # [N, window, *unit], not copied
        shape = self._graph.input.shape
        size = batch.PIECE * self._stage.session.threads
        announce(f"runs {self._graph.name}")
        for start in counted(range(0, count, size)):
            piece = np.ascontiguousarray(windows[start : start + size]).reshape(-1, *shape)
            if self._live is None:
                for name, values in self._stage.session.run(piece).items():
                    results[name][start : start + size] = values
                continue
            for at, one in enumerate(piece, start):
                for name, values in self._live.step(one).items():
                    results[name][at] = values
        return results


def chain(
    *stages: Union[Network, str, Path],
    hops: Optional[Sequence[int]] = None,
    rate: int = RATE,
    target: Union[str, Target] = DEFAULT_CORE,
    variant: Optional[str] = None,
    threads: int = 1,
) -> Chain:
    """Put networks in a row, each at its own rate, such as a front end and a wake word.

    An input of a network is a window over the outputs of the one before, or for the first one over
    samples of sound: as many as fit into it, byte for byte as firmware copies them.

    Parameters
    ----------
    *stages : Network, str or Path
        Quantized networks or their files, in order; or one chain.json, which describes a chain.
    hops : sequence of int
        For each network, how many outputs of the one before (for the first: samples) it moves on
        from one input to the next. A hop as long as the window takes each once.
    rate : int, default 16000
        Samples per second, which WAV files must have.
    target, variant, threads
        As Network.session() takes them.

    Returns
    -------
    Chain
        The chain, planned.

    Raises
    ------
    Error
        A network is a float one, has several inputs, or cannot read what the one before computes;
        or no hop is given for it.
    ModelError
        A file cannot be read.

    Examples
    --------
    >>> front = qemu_nn.micro_frontend()  # 30 ms of sound every 10 ms, 3 features for each score
    >>> scores = qemu_nn.chain(front, "alexa.tflite", hops=(160, 3)).run(samples)
    >>> qemu_nn.chain("audio_preprocessor_int8.tflite", "micro_speech.tflite", hops=(320, 1))
    """
    networks: Sequence[Union[Network, str, Path]] = stages
    path = described_by(stages[0]) if len(stages) == 1 else None
    if path is not None:
        if hops is not None or rate != RATE:
            raise Error(f"{path} describes its hops and its rate itself: leave hops= and rate= out")
        networks, hops, rate = described(path)
    rate = as_count(rate, "rate")
    if not 1 <= len(networks) <= _STAGES:
        raise Error(f"a chain has {len(networks)} networks, but must have 1 to {_STAGES}")
    found = [quantized(network) for network in networks]
    if not isinstance(hops, (list, tuple)) or len(hops) != len(networks):
        raise Error(
            f"hops is {format_value(hops)}, but must be a list of {len(networks)} integers: "
            "the samples that each network advances from one input to the next"
        )
    planned: list[Stage] = []
    for network, hop in zip(found, hops):
        window = _window(planned, network)
        hop = as_count(hop, f"the hop of {network.graph.name[:60]!r}")
        session = network.session(target, variant=variant, threads=threads)
        planned.append(Stage(session, window, hop))
    return Chain(planned, planned[0].session.graph.input.shape[1:], rate)


def _window(before: list[Stage], network: Network) -> int:
    """Return how many outputs of the stage before fit into a network's input."""
    graph = network.graph
    name = f"{graph.name[:60]!r}"
    if len(graph.inputs) != 1:
        raise Error(
            f"{name} has {len(graph.inputs)} inputs, but a network of a chain must have one"
        )
    if not before:
        window = graph.input.shape[0] if graph.input.shape else 1
    else:
        last = before[-1].session.graph
        if len(last.outputs) != 1:
            raise Error(
                f"{last.name[:60]!r} has {len(last.outputs)} outputs; only the last network of a "
                "chain may have several"
            )
        given = last.tensors[last.outputs[0]]
        window, rest = divmod(prod(graph.input.shape), prod(given.shape))
        if rest or not window or given.dtype != graph.input.dtype:
            raise Error(
                f"{name} reads {_shape(graph.input)}, but {last.name[:60]!r} computes "
                f"{_shape(given)}: the type must be the same and the size a multiple"
            )
    return window


def _shape(tensor: Tensor) -> str:
    return f"{tensor.dtype} {list(tensor.shape)}"
