"""Sound from WAV files."""

from __future__ import annotations

import wave
from pathlib import Path
from typing import Union

import numpy as np

from ..errors import Error
from . import files

#: What a file must be, and who makes it so.
_WAY_OUT = "convert it: ffmpeg -i {0} -ac 1 -ar {1} -c:a pcm_s16le converted.wav"


def read_wav(path: Union[str, Path], rate: int) -> np.ndarray:
    """The samples of a mono WAV file of 16 bits, int16 [T].

    Error for any other file, OSError for one that cannot be read.

    rate: samples per second that it must have.
    """
    way_out = _WAY_OUT.format(Path(path).name, rate)
    with files.opened(path) as file:
        try:
            with wave.open(file) as sound:
                channels, width, own, count = sound.getparams()[:4]
                wanted = (channels, width, own) == (1, 2, rate)
                data = sound.readframes(count) if wanted else b""
        except (wave.Error, EOFError, RuntimeError) as error:
            raise Error(f"{path} is not a WAV file of PCM samples ({error}); {way_out}") from None
    if not wanted:
        has = f"{channels} channels of {8 * width} bits at {own} Hz"
        raise Error(f"{path} has {has}, but must have 1 of 16 bits at {rate} Hz; {way_out}")
    if len(data) != 2 * count:
        raise Error(
            f"{path} is cut short: it says that it has {count} samples, but has {len(data) // 2}; "
            f"{way_out}"
        )
    return np.frombuffer(data, np.int16)
