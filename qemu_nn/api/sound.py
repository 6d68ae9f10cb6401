"""Sound as data: what a front end computes of WAV files, cut into inputs of a network."""

from __future__ import annotations

from functools import cached_property
from itertools import accumulate
from math import prod
from pathlib import Path
from typing import Any, Optional

import numpy as np

from ..errors import Error
from ..io import files
from ..io.listing import FileSource, list_files
from ..io.sources import Held, Loaded, Source
from ..io.wav import read_wav, read_wav_length
from ..ir.tensors import Tensor
from .chain import Chain, chain
from .chain_json import described_by

#: Endings of sound files.
SOUNDS = (".wav", ".wave")


class SoundSource(FileSource, Loaded):
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
                f"the network takes {list(shape)}, which cannot be made of features "
                f"{list(self._tensor.shape)} of {graph.name[:60]!r}"
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

    @cached_property
    def starts(self) -> list[int]:
        """The number of each file's first input, and last how many inputs there are."""
        return [0, *accumulate(self._counts)]

    @property
    def dtype(self) -> np.dtype:
        """Type of the elements."""
        return np.dtype(np.float32 if self._real else self._tensor.dtype)

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
        return None if numbers is None else Held(np.repeat(numbers, self._counts))

    def name(self, number: int) -> str:
        """Return what errors call a sample."""
        return f"sample {number} of the data ({self.listing.files[self.place(number)[0]]})"

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


def as_front_end(given: Any) -> Optional[Chain]:
    """Return a chain that makes features, or the chain.json that describes one."""
    if given is None or isinstance(given, Chain):
        return given
    if described_by(given) is not None:
        return chain(given)
    raise Error(
        "a front end is a chain, or a chain.json that describes one: qemu_nn.chain(front, "
        "hops=(320,)) with the hop in samples"
    )


def _of_file(read: Any, file: Path, rate: int) -> Any:
    """Return what a function reads of a file; Error where that cannot be read."""
    try:
        return read(file, rate)
    except OSError as error:
        raise Error(f"cannot read {file}: {files.get_reason(error)}") from None
