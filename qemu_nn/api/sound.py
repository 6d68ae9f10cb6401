"""Sound as data: what a front end computes of WAV files, cut into inputs of a network."""

from __future__ import annotations

from functools import cached_property
from itertools import accumulate
from math import prod
from pathlib import Path
from typing import Any, Optional, Union

import numpy as np

from ..errors import Error
from ..io import files
from ..io.arguments import format_value
from ..io.listing import FileSource, list_files
from ..io.sources import LoadedPieces, MemorySource, Source
from ..io.wav import SOUNDS, read_wav, read_wav_length
from ..ir.tensors import Tensor
from .chain import Chain, chain
from .chain_json import described_by
from .micro_frontend import micro_frontend
from .sound_features import (
    FRONT_ENDS,
    EdgeImpulseMfcc,
    EdgeImpulseMfe,
    FrontEnd,
    front_end_of,
    window_of,
)

#: Name of TensorFlow's "micro frontend" with its usual parameters, and its hop: 20 ms.
MICRO_FRONTEND, _MICRO_HOP = "micro-frontend", 320


class SoundFiles(FileSource, LoadedPieces):
    """Features of WAV files, [N, *shape]: of each file one input of the network after the other."""

    _counts: list[int]
    _shape: tuple[int, ...]

    @cached_property
    def starts(self) -> list[int]:
        """The number of each file's first input, and last how many inputs there are."""
        return [0, *accumulate(self._counts)]

    @property
    def whole(self) -> tuple[int, ...]:
        """Shape of all samples together."""
        return (self.starts[-1], *self._shape)

    def __len__(self) -> int:
        return self.starts[-1]

    @property
    def labels(self) -> Optional[Source]:
        """The class of each sample."""
        numbers = self.listing.numbers
        return None if numbers is None else MemorySource(np.repeat(numbers, self._counts))

    def name(self, number: int) -> str:
        """Return what errors call a sample."""
        return f"sample {number} of the data ({self.listing.files[self.place(number)[0]]})"


class SoundSource(SoundFiles):
    """Features of WAV files, [N, *shape]: of each file one input of the network after the other.

    A shorter file is followed by silence; of a longer one a rest that fills no input is left out.
    Each file begins with a front end after reset.
    """

    def __init__(self, path: Path, front: Chain, shape: tuple[int, ...], real: bool) -> None:
        """front: what makes the features. real: give the numbers that its integers stand for."""
        super().__init__(list_files(path, SOUNDS, "WAV files"))
        graph = front.stages[-1].session.graph
        self._front, self._real, self._shape = front, real, shape
        self._tensor: Tensor = graph.tensors[graph.outputs[0]]
        self._steps, rest = divmod(prod(shape), prod(self._tensor.shape))
        if rest or not self._steps:
            raise Error(
                f"the network reads {list(shape)}, which features "
                f"{list(self._tensor.shape)} of {graph.name[:60]!r} do not fill: the front "
                "end must match the one of the training"
            )
        self._needed = round(float(front.seconds(self._steps)[-1]) * front.rate)
        self._counts = [self._inputs(file) for file in self.listing.files]

    def _inputs(self, file: Path) -> int:
        """Return how many inputs a file gives."""
        length = max(_of_file(read_wav_length, file, self._front.rate), self._needed)
        for stage in self._front.stages:
            length = (length - stage.window) // stage.hop + 1
        steps: int = length // self._steps
        return steps

    @property
    def dtype(self) -> np.dtype:
        """Type of the elements."""
        return np.dtype(np.float32 if self._real else self._tensor.dtype)

    def load(self, number: int) -> np.ndarray:
        """Return all inputs of a file."""
        x = _of_file(read_wav, self.listing.files[number], self._front.rate)
        x = np.pad(x, (0, max(0, self._needed - len(x))))
        features = self._front.run(x)[self._tensor.name]
        count = self._counts[number]
        features = features[: count * self._steps].reshape(count, *self._shape)
        if not self._real:
            return features
        known = self._tensor.spelled is not None
        return (self._tensor.format.dequantize(features) if known else features).astype(np.float32)


class WindowSource(SoundFiles):
    """Features of WAV files that a front end in floats makes, [N, *shape].

    A file is cut into windows, each a sample; the last one of a shorter rest is left out, but a
    file shorter than a window is followed by silence.
    """

    def __init__(self, path: Path, front: FrontEnd, shape: tuple[int, ...]) -> None:
        """front: what makes the features; shape: of the network's input."""
        super().__init__(list_files(path, SOUNDS, "WAV files"))
        self._front, self._shape = front, shape
        self._window = window_of(front, shape)
        self._counts = [self._inputs(file) for file in self.listing.files]

    def _inputs(self, file: Path) -> int:
        """Return how many windows a file gives."""
        length: int = _of_file(read_wav_length, file, self._front.rate)
        return max(1, length // self._window)

    @property
    def dtype(self) -> np.dtype:
        """Type of the elements."""
        return np.dtype(np.float32)

    def load(self, number: int) -> np.ndarray:
        """Return the features of all windows of a file."""
        x = _of_file(read_wav, self.listing.files[number], self._front.rate)
        count, size = self._counts[number], self._window
        x = np.pad(x, (0, max(0, count * size - len(x))))[: count * size].reshape(count, size)
        return np.stack([self._front.features(window).reshape(self._shape) for window in x])


def sound_source(path: Path, given: Any, shape: tuple[int, ...], real: bool) -> FileSource:
    """Return the features of WAV files; given: the front end, in any form that users give."""
    front = as_front_end(given)
    if isinstance(front, Chain):
        return SoundSource(path, front, shape, real)
    return WindowSource(path, front, shape)


def as_front_end(given: Any) -> Union[Chain, FrontEnd]:
    """Return a chain that makes features, or a front end in floats; Error for anything else.

    given: one of these, the chain.json that describes a chain, or the name of a front end.
    """
    if isinstance(given, (Chain, EdgeImpulseMfe, EdgeImpulseMfcc)):
        return given
    if isinstance(given, (str, Path)):
        if str(given) == MICRO_FRONTEND:
            return chain(micro_frontend(), hops=(_MICRO_HOP,))
        named = front_end_of(str(given))
        if named is not None:
            return named
    if described_by(given) is not None:
        return chain(given)
    names = ", ".join((MICRO_FRONTEND, *FRONT_ENDS))
    raise Error(
        f"no front end {format_value(given)}: it is a chain, a chain.json that describes one: "
        f"qemu_nn.chain(front, hops=(320,)) with the hop in samples, or one of {names}"
    )


def _of_file(read: Any, file: Path, rate: int) -> Any:
    """Return what a function reads of a file; Error where that cannot be read."""
    try:
        return read(file, rate)
    except OSError as error:
        raise Error(f"cannot read {file}: {files.get_reason(error)}") from None
