"""Front ends in floats that training tools compute of sound: Edge Impulse's MFE and MFCC blocks.

Both are version 4 of Edge Impulse's processing blocks. Their Python code computes them in double
precision; its device code in single precision, so that a feature may differ in its last bits there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Optional, Union

import numpy as np

from ..errors import Error
from ..io.arguments import as_count, as_number

#: Value in place of an energy of 0 before a logarithm, or of a deviation of 0; the least energy.
_NOTHING, _LEAST = 1e-10, 1e-30


@dataclass(frozen=True)
class EdgeImpulseMfe:
    """Mel energies in decibels, as Edge Impulse's block "Audio (MFE)" computes them.

    Samples are divided by 32768 and pre-emphasized with 0.98. Features are from 0 to 255/256, in
    steps of 1/256.

    Parameters
    ----------
    rate : int, default 16000
        Samples per second.
    frame_length, frame_stride : float, default 0.02 and 0.01
        Seconds of a frame, and from one frame to the next.
    filters : int, default 40
        Filters of the bank: features of a frame.
    fft_length : int, default 256
        Points of the Fourier transform, a power of two.
    low_hz, high_hz : float, default 0
        The ends of the bank; 0 for high_hz is half of the rate.
    noise_floor_db : float, default -52
        Energies below it become 0.
    seconds : float, optional
        Length of a window; default: the frames that the network takes, without a rest.

    Raises
    ------
    Error
        A parameter is out of range, or a filter would have no point of the transform.

    Examples
    --------
    >>> front = EdgeImpulseMfe(filters=32, noise_floor_db=-72)
    >>> qemu_nn.evaluate("net.tflite", Dataset("wavs", front_end=front))
    """

    rate: int = 16000
    frame_length: float = 0.02
    frame_stride: float = 0.01
    filters: int = 40
    fft_length: int = 256
    low_hz: float = 0.0
    high_hz: float = 0.0
    noise_floor_db: float = -52.0
    seconds: Optional[float] = None

    def __post_init__(self) -> None:
        _check(self)
        if self.noise_floor_db >= 0:
            raise Error(f"noise_floor_db is {self.noise_floor_db}, but must be below 0")

    @property
    def width(self) -> int:
        """Features of a frame."""
        return self.filters

    def features(self, samples: np.ndarray) -> np.ndarray:
        """Return the features of a window.

        Parameters
        ----------
        samples : ndarray of int16, shape (T,)
            The window.

        Returns
        -------
        ndarray of float32, shape (frames, filters)
            Features.
        """
        scaled = (samples / 2**15).astype(np.float32)
        power = _power(self, _emphasized(scaled, 0.98, 1))
        decibels = 10 * np.log10(np.maximum(_positive(power @ _bank(self).T), _LEAST))
        floor = self.noise_floor_db
        steps = np.rint(np.clip((decibels - floor) / (12 - floor), 0, 1) * 256)
        found: np.ndarray = (np.minimum(steps, 255) / 256).astype(np.float32)
        return found


@dataclass(frozen=True)
class EdgeImpulseMfcc:
    """Cepstral coefficients, as Edge Impulse's block "Audio (MFCC)" computes them.

    Coefficient 0 is the logarithm of a frame's energy. Mean and deviation of each coefficient over
    a sliding window of frames are normalized.

    Parameters
    ----------
    rate : int, default 16000
        Samples per second.
    frame_length, frame_stride : float, default 0.02
        Seconds of a frame, and from one frame to the next.
    filters : int, default 32
        Filters of the bank.
    coefficients : int, default 13
        Coefficients of a frame: its features.
    fft_length : int, default 256
        Points of the Fourier transform, a power of two.
    low_hz, high_hz : float, default 0
        The ends of the bank; 0 for high_hz is half of the rate.
    normalization : int, default 101
        Frames of the sliding window, an odd number; 0 for no normalization.
    pre_emphasis : float, default 0.98
        Share of an earlier sample that is taken away.
    pre_shift : int, default 1
        How many samples earlier.
    seconds : float, optional
        Length of a window; default: the frames that the network takes, without a rest.

    Raises
    ------
    Error
        A parameter is out of range, or a filter would have no point of the transform.

    Examples
    --------
    >>> front = EdgeImpulseMfcc(coefficients=10)
    >>> qemu_nn.evaluate("net.tflite", Dataset("wavs", front_end=front))
    """

    rate: int = 16000
    frame_length: float = 0.02
    frame_stride: float = 0.02
    filters: int = 32
    coefficients: int = 13
    fft_length: int = 256
    low_hz: float = 0.0
    high_hz: float = 0.0
    normalization: int = 101
    pre_emphasis: float = 0.98
    pre_shift: int = 1
    seconds: Optional[float] = None

    def __post_init__(self) -> None:
        _check(self)
        as_count(self.coefficients, "coefficients", 1, self.filters)
        as_count(self.pre_shift, "pre_shift", 1)
        if as_count(self.normalization, "normalization", 0) % 2 == 0 and self.normalization:
            raise Error(
                f"normalization is {self.normalization}, but must be an odd number of frames"
            )

    @property
    def width(self) -> int:
        """Features of a frame."""
        return self.coefficients

    def features(self, samples: np.ndarray) -> np.ndarray:
        """Return the features of a window.

        Parameters
        ----------
        samples : ndarray of int16, shape (T,)
            The window.

        Returns
        -------
        ndarray of float32, shape (frames, coefficients)
            Features.
        """
        whole = samples.astype(np.float64)
        power = _power(self, _emphasized(whole, self.pre_emphasis, self.pre_shift))
        logs = np.log(_positive(power @ _bank(self).T))
        cepstrum = logs @ _cosines(self.filters, self.coefficients)
        cepstrum[:, 0] = np.log(_positive(power.sum(1)))
        if not self.normalization:
            plain: np.ndarray = cepstrum.astype(np.float32)
            return plain
        return _normalized(cepstrum, self.normalization)


FrontEnd = Union[EdgeImpulseMfe, EdgeImpulseMfcc]

#: Name on the command line -> front end.
FRONT_ENDS = {"edge-impulse-mfe": EdgeImpulseMfe, "edge-impulse-mfcc": EdgeImpulseMfcc}


def front_end_of(text: str) -> Optional[FrontEnd]:
    """Return the front end of a text such as "edge-impulse-mfe:filters=32,fft_length=512".

    None if the text names none; Error if a parameter is unknown or is no number.
    """
    name, _, rest = text.partition(":")
    if name not in FRONT_ENDS:
        return None
    kind, given = FRONT_ENDS[name], {}
    types = {field.name: field.type for field in fields(kind)}
    for part in filter(None, rest.split(",")):
        key, _, value = part.partition("=")
        if key.strip() not in types:
            raise Error(f"{name} has no {key.strip()!r}; have: {', '.join(types)}")
        whole = types[key.strip()] == "int"
        try:
            given[key.strip()] = int(value) if whole else float(value)
        except ValueError:
            raise Error(f"{key.strip()} of {name} is {value!r}, but must be a number") from None
    made: FrontEnd = kind(**given)
    return made


def _check(front: FrontEnd) -> None:
    """Raise Error for parameters that both front ends have and that are out of range."""
    as_count(front.rate, "rate", most=1_000_000)
    as_count(front.filters, "filters", 2, 1000)
    points = as_count(front.fft_length, "fft_length", 4, 2**16)
    if points & (points - 1):
        raise Error(f"fft_length is {front.fft_length}, but must be a power of two")
    for name in ("frame_length", "frame_stride"):
        if not 0 < as_number(getattr(front, name), name) <= 10:
            raise Error(f"{name} is {getattr(front, name)!r}, but must be seconds above 0")
    low, high = as_number(front.low_hz, "low_hz"), as_number(front.high_hz, "high_hz")
    if not 0 <= low < (high or front.rate / 2) <= front.rate / 2:
        raise Error(
            f"low_hz and high_hz are {low} and {high}, but must be 0 to {front.rate // 2} Hz"
        )
    if (_bank(front) == 0).all(1).any():
        raise Error(
            f"a filter of {front.filters} has no point of a transform of {front.fft_length}: use "
            "fewer filters or a longer transform"
        )


def hop_of(front: FrontEnd) -> tuple[int, int]:
    """Return samples of a frame, and from one frame to the next."""
    return _samples(front.rate * front.frame_length), _samples(front.rate * front.frame_stride)


def window_of(front: FrontEnd, shape: Sequence[int]) -> int:
    """Return samples of a window whose features fill an input of this shape; Error if none do."""
    size, hop = hop_of(front)
    frames, rest = divmod(math.prod(shape), front.width)
    if front.seconds is None:
        window = size + (frames - 1) * hop
    else:
        window = round(front.seconds * front.rate)
    have = (window - (size - hop)) // hop
    if rest or have != frames:
        made = f"windows of {window} samples give [{have}, {front.width}]"
        raise Error(
            f"the network takes {list(shape)}, but {type(front).__name__} makes "
            f"{front.width} features of each frame, and {made}"
        )
    return window


def filter_weights(front: FrontEnd) -> tuple[np.ndarray, np.ndarray]:
    """Return the filters, [filters, fft_length / 2 + 1], and the cosines, [filters, features]."""
    return _bank(front), _cosines(front.filters, front.width)


def _samples(exact: float) -> int:
    """Round up, unless a number is very close above an integer."""
    close = 0 < exact - math.floor(exact) < 0.001
    return math.floor(exact) if close else math.ceil(exact)


def _emphasized(x: np.ndarray, share: float, shift: int) -> np.ndarray:
    """Take away a share of an earlier sample; the first ones follow the last of the window."""
    found: np.ndarray = x - x.dtype.type(share) * np.roll(x, shift)
    return found


def _power(front: FrontEnd, x: np.ndarray) -> np.ndarray:
    """Return the power spectrum of each frame, [frames, fft_length / 2 + 1]."""
    size, hop = hop_of(front)
    count = (len(x) - (size - hop)) // hop
    if count < 1:
        raise Error(f"a window of {len(x)} samples is shorter than a frame of {size}")
    frames = x.astype(np.float64)[hop * np.arange(count)[:, None] + np.arange(size)]
    spectrum = np.abs(np.fft.rfft(frames, n=front.fft_length))
    return spectrum**2 / front.fft_length


def _bank(front: FrontEnd) -> np.ndarray:
    """Return triangular filters on the mel scale, [filters, fft_length / 2 + 1]."""
    high = front.high_hz or front.rate / 2
    start, stop = (1127 * float(np.log(1 + hz / 700)) for hz in (front.low_hz, high))
    hertz = 700 * (np.exp(np.linspace(start, stop, front.filters + 2) / 1127) - 1)
    hertz[-1] -= 0.001  # so that rounding does not put the last one on the next point
    points = np.floor((front.fft_length + 1) * hertz / front.rate).astype(int)
    left, middle, right = points[:-2, None], points[1:-1, None], points[2:, None]
    at = np.arange(front.fft_length // 2 + 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        rising, falling = (at - left) / (middle - left), (right - at) / (right - middle)
    bank = np.where((left < at) & (at <= middle), rising, 0.0)
    return np.where((middle <= at) & (at < right), falling, bank)


def _cosines(filters: int, count: int) -> np.ndarray:
    """Return the orthonormal cosine transform of type 2, [filters, count]."""
    angles = np.pi / filters * (np.arange(filters)[:, None] + 0.5) * np.arange(count)
    scale = np.full(count, np.sqrt(2 / filters))
    scale[0] = np.sqrt(1 / filters)
    found: np.ndarray = np.cos(angles) * scale
    return found


def _positive(x: np.ndarray) -> np.ndarray:
    return np.where(x == 0, _NOTHING, x)


def _normalized(x: np.ndarray, window: int) -> np.ndarray:
    """Return coefficients less their mean, divided by their deviation, over a sliding window."""
    centred = x - _windows(x, window).mean(-1)
    deviation = _windows(centred, window).std(-1)
    found: np.ndarray = (centred / (deviation + _NOTHING)).astype(np.float32)
    return found


def _windows(x: np.ndarray, window: int) -> np.ndarray:
    """Return the frames around each frame, [frames, coefficients, window], mirrored at the ends."""
    half = window // 2
    padded = np.pad(x, ((half, half), (0, 0)), "symmetric")
    return np.lib.stride_tricks.sliding_window_view(padded, window, axis=0)
