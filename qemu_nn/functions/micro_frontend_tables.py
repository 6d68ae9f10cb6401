"""Tables of the micro frontend, computed in float32 as its library does: window, filter bank,
gains.
"""

from __future__ import annotations

import math

import numpy as np

from .tflm_signal_tables import compute_cosine_sine

#: Fraction bits of windows and of a filter bank's weights.
BITS = 12

#: Weights of a channel begin at a multiple of _ALIGNMENT frequencies, and are a multiple of _BLOCK.
_ALIGNMENT, _BLOCK = 2, 4

#: Bits of a noise estimate; the curve of gains has one piece for each.
_NOISE_BITS = 32

#: 2^0.5 as border of mantissas, 2^0.5 - 1, ln 2 in two parts, and the series of R, last term first.
_ROOT, _UNSPLIT = 1.4142132, 0.41421294
_LN2_HIGH, _LN2_LOW = 6.9313812256e-01, 9.0580006145e-06
_SERIES = (
    *(1.4798198640e-01, 1.5313838422e-01, 1.8183572590e-01, 2.2222198546e-01),
    *(2.8571429849e-01, 4.0000000596e-01, 6.6666668653e-01),
)

_real = np.float32


def make_hann_window(size: int) -> np.ndarray:
    """Return a Hann window, int16 [size]."""
    step = _real(math.pi) * _real(2) / _real(size)
    angles = step * (np.arange(size, dtype=_real) + _real(0.5))
    cosines = np.array([compute_cosine_sine(float(angle))[0] for angle in angles], _real)
    curve = _real(0.5) - _real(0.5) * cosines
    return _round_to_int16(curve)


def _round_to_int16(curve: np.ndarray) -> np.ndarray:
    integers: np.ndarray = np.floor(curve * _real(2**BITS) + _real(0.5)).astype(np.int16)
    return integers


def make_filter_bank(
    rate: int, fft_length: int, channels: int, lowest: float, highest: float
) -> tuple[dict[str, np.ndarray], int, int]:
    """Return arrays of the filter bank by their C names, the first used frequency, and the end.

    Channel c uses the weights of its own frequencies and the unweights of the previous ones.
    """
    low, high = _convert_to_mel(_real(lowest)), _convert_to_mel(_real(highest))
    spacing = (high - low) / _real(channels + 1)
    centers = low + spacing * np.arange(1, channels + 2, dtype=_real)
    hertz = _real(0.5) * _real(rate) / _real(fft_length // 2)
    first = start = int(_real(1.5) + _real(lowest) / hertz)  # never the mean
    mels = _convert_to_mel(np.arange(fft_length // 2 + 2, dtype=_real) * hertz)
    zeros = [0.0] * _BLOCK
    weights: list[float] = []
    unweights: list[float] = []
    bounds: list[tuple[int, int, int]] = []
    for channel, center in enumerate(centers):
        end = max(start, int(np.searchsorted(mels, center, side="right")))
        if end == start:
            bounds.append((0, -1, _BLOCK))
            continue
        aligned = start // _ALIGNMENT * _ALIGNMENT
        own = (center - mels[start:end]) / (center - (centers[channel - 1] if channel else low))
        padded = -(-(end - aligned) // _BLOCK) * _BLOCK
        before, after = [0.0] * (start - aligned), [0.0] * (aligned + padded - end)
        bounds.append((aligned, len(weights), padded))
        weights += [*before, *own, *after]
        unweights += [*before, *(_real(1) - own), *after]
        start = end
    if any(at < 0 for _, at, _ in bounds):  # channels without a frequency take zeros in front
        weights, unweights = zeros + weights, zeros + unweights
        bounds = [(from_, at + _BLOCK if at >= 0 else 0, width) for from_, at, width in bounds]
    starts, weight_starts, widths = (np.array(column, np.int16) for column in zip(*bounds))
    arrays = {
        "weights": _round_to_int16(np.array(weights, _real)),
        "unweights": _round_to_int16(np.array(unweights, _real)),
        "frequency_starts": starts,
        "weight_starts": weight_starts,
        "widths": widths,
    }
    return arrays, first, start


def _convert_to_mel(frequency: np.ndarray) -> np.ndarray:
    curve: np.ndarray = _real(1127) * _compute_log1p(np.asarray(frequency / _real(700)))
    return curve


def _compute_log1p(x: np.ndarray) -> np.ndarray:
    """Return the natural logarithm of 1 + x, x >= 0, with the last bit of devices' libraries.

    They use the float32 arithmetic of fdlibm, which is not always rounded to nearest. With 1 + x =
    2^k * (1 + f), s = f / (2 + f) and h = f^2 / 2, it computes k ln 2 + f - (h - s (h + R(s^2))).
    """
    total = _real(1) + x
    exponent = np.where(x < _real(_UNSPLIT), 0, np.frexp(total / _real(_ROOT))[1])
    lost = np.where(total >= 2, _real(1) - (total - x), x - (total - _real(1))) / total
    unsplit = x < _real(_UNSPLIT)
    f = np.where(unsplit, x, np.ldexp(total, -exponent) - _real(1))
    half, s = _real(0.5) * f * f, f / (_real(2) + f)
    square, rest = s * s, _real(0)
    for factor in _SERIES:
        rest = square * (_real(factor) + rest)
    k = exponent.astype(_real)
    low = s * (half + rest)
    near = f - (half - low)
    far = k * _real(_LN2_HIGH) - ((half - (low + (k * _real(_LN2_LOW) + lost))) - f)
    curve: np.ndarray = np.where(unsplit, near, far)
    return curve


def make_gain_table(strength: float, offset: float, gain_bits: int, noise_bits: int) -> np.ndarray:
    """Return the curve of gains over the noise, int16 [125]; noise_bits: fraction bits of the
    noise.
    """

    def gain(noise: int) -> int:
        real = _real(noise) / _real(2**noise_bits) + _real(offset)
        power = _real(math.pow(float(real), -float(_real(strength))))
        found = _real(2**gain_bits) * power
        return 2**15 - 1 if found > 2**15 - 1 else int(found + _real(0.5))

    table = [gain(0), gain(1)]
    for bits in range(2, _NOISE_BITS + 1):
        low = 1 << (bits - 1)
        y0, y1, y2 = (gain(noise) for noise in (low, low + low // 2, 2 * low))
        slope = 4 * (y1 - y0) - (y2 - y0)
        table += [y0, slope, y2 - y0 - slope, 0]
    return np.array(table[:-1]).astype(np.int16)
