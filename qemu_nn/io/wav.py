"""Sound from WAV files."""

from __future__ import annotations

import wave
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Union

import numpy as np

from ..errors import Error
from . import files

#: Endings of sound files.
SOUNDS = (".wav", ".wave")

#: Command that converts a file to the required format.
_WAY_OUT = "convert it: ffmpeg -i {0} -ac 1 -ar {1} -c:a pcm_s16le converted.wav"


def read_wav(path: Union[str, Path], rate: int) -> np.ndarray:
    """Return the samples of a mono WAV file of 16 bits, int16 [T].

    Raises Error for any other file, OSError for an unreadable one. rate: the required samples per
    second.
    """
    with _open_wav(path, rate) as sound:
        count = sound.getnframes()
        data = sound.readframes(count)
    if len(data) != 2 * count:
        raise Error(
            f"{path} is cut short: its header says {count} samples, but it has "
            f"{len(data) // 2}; {_way_out(path, rate)}"
        )
    return np.frombuffer(data, np.int16)


def read_wav_length(path: Union[str, Path], rate: int) -> int:
    """Return the number of samples declared by such a file; errors as in read_wav()."""
    with _open_wav(path, rate) as sound:
        return sound.getnframes()


@contextmanager
def _open_wav(path: Union[str, Path], rate: int) -> Iterator[wave.Wave_read]:
    """Yield a WAV file of the wanted form."""
    with files.open_regular(path) as file:
        try:
            with wave.open(file) as sound:
                channels, width, own = sound.getparams()[:3]
                if (channels, width, own) != (1, 2, rate):
                    has = f"{channels} channels of {8 * width} bits at {own} Hz"
                    raise Error(
                        f"{path} has {has}, but must have 1 channel of 16 bits at {rate} "
                        f"Hz; {_way_out(path, rate)}"
                    )
                yield sound
        except (wave.Error, EOFError, RuntimeError) as error:
            raise Error(
                f"{path} is not a WAV file of PCM samples ({error}); {_way_out(path, rate)}"
            ) from None


def _way_out(path: Union[str, Path], rate: int) -> str:
    return _WAY_OUT.format(Path(path).name, rate)
