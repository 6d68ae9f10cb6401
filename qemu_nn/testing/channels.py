"""Parameters of channels: named generators whose channels share values or have special ones.

Fast rows find the parameters of a channel once and copy them to lanes. Independent values would
hide a lane with the parameters of another channel. A partition puts channels into classes; each
class draws one value.
"""

from __future__ import annotations

from typing import Callable

import numpy as np

#: Function from a number of channels to the class of each, from 0.
Partition = Callable[[np.random.Generator, int], np.ndarray]


def each(rng: np.random.Generator, channels: int) -> np.ndarray:
    """Put each channel into a class of its own."""
    return np.arange(channels)


def alike(rng: np.random.Generator, channels: int) -> np.ndarray:
    """Put all channels into one class."""
    return np.zeros(channels, np.int64)


def pairs(rng: np.random.Generator, channels: int) -> np.ndarray:
    """Put neighbors into one class, two by two."""
    return np.arange(channels) // 2


def groups(rng: np.random.Generator, channels: int) -> np.ndarray:
    """Put groups of neighbors into one class: parts of a vector or whole vectors."""
    classes: np.ndarray = np.arange(channels) // rng.choice([3, 4, 8, 16, 32])
    return classes


def in_turn(rng: np.random.Generator, channels: int) -> np.ndarray:
    """Repeat a few classes channel by channel, as pixel packing repeats channels."""
    return np.arange(channels) % rng.integers(2, 9)


def partition(rng: np.random.Generator, channels: int) -> np.ndarray:
    """Put each channel into one of a few classes at random."""
    return rng.integers(0, min(channels, int(rng.integers(2, 7))), channels)


def first(rng: np.random.Generator, channels: int) -> np.ndarray:
    """Put all channels but the first into one class."""
    return np.minimum(np.arange(channels), 1)


def last(rng: np.random.Generator, channels: int) -> np.ndarray:
    """Put all channels but the last into one class."""
    classes: np.ndarray = (np.arange(channels) == channels - 1) & (channels > 1) * 1
    return classes


PARTITIONS: dict[str, Partition] = {
    f.__name__: f for f in (each, alike, pairs, groups, in_turn, partition, first, last)
}

#: Classes of the multipliers and of the shifts: the same ones, or the names of both partitions.
SCALES: dict[str, tuple[str, str]] = {
    **{name: (name, name) for name in PARTITIONS},
    "one_multiplier": ("alike", "each"),
    "one_shift": ("each", "alike"),
    "unlike": ("partition", "partition"),
}

#: Multipliers at the ends of their range and of a half: none, one step, nearly one.
SPECIAL_MULTIPLIERS = (0, 0, 1, 2**30, 2**30, 2**30 + 1, 2**31 - 2, 2**31 - 1, 2**31 - 1)

#: These, and multipliers out of range, which no contract refuses in an array.
_ANY_MULTIPLIERS = (*SPECIAL_MULTIPLIERS, -1, -(2**31))

#: Shifts at the ends of a device's range, and near zero.
SPECIAL_SHIFTS = (-31, -30, -21, -20, -1, 0, 1, 2, 7, 8, 30)

#: The largest shift of sums of 64 bits.
MOST_WIDE_SHIFT = 7

#: Bias values on the edge of 32 bits.
EDGES_32 = (-(2**31), 1 - 2**31, 2**31 - 1, 2**30, -(2**30))

#: Shifts of sums of 64 bits that the hardware reads from different words.
SPECIAL_SHIFTS_64 = (0, 15, 16, 17, 31, 32, 33, 46, 47, 48, 63)


def _mix_special(
    rng: np.random.Generator, values: np.ndarray, special: tuple[int, ...], share: float
) -> np.ndarray:
    """Replace this share of the values by special ones."""
    if not share:
        return values
    others = np.array(special)[rng.integers(0, len(special), values.shape)]
    return np.where(rng.random(values.shape) < share, others, values)


def draw_scales(
    rng: np.random.Generator, name: str, channels: int, shift: int, special: float, most: int = 30
) -> tuple[np.ndarray, np.ndarray]:
    """Return multipliers and shifts near `shift`, up to `most`; special: the share of special
    values."""
    of_multiplier, of_shift = (PARTITIONS[part](rng, channels) for part in SCALES[name])
    if SCALES[name][0] == SCALES[name][1] != "partition":
        of_shift = of_multiplier
    multipliers = rng.integers(2**30, 2**31, channels)
    shifts = shift + rng.integers(-2, 3, channels)
    multipliers = _mix_special(rng, multipliers, _ANY_MULTIPLIERS, special)
    shifts = np.clip(_mix_special(rng, shifts, SPECIAL_SHIFTS, special), -31, most)
    return multipliers[of_multiplier], shifts[of_shift]


def draw_bias(rng: np.random.Generator, channels: int, spread: float, special: float) -> np.ndarray:
    """Return bias values of about the spread of the sums, of classes of their own."""
    most = max(1, min(2**31 - 1, round(spread * rng.choice([0, 1, 1, 1, 4, 64]))))
    values = _mix_special(
        rng, rng.integers(-most, most, channels, endpoint=True), EDGES_32, special
    )
    names = ("each", "each", "alike", "partition", "in_turn")
    return values[PARTITIONS[str(rng.choice(names))](rng, channels)]


def draw_starts(
    rng: np.random.Generator, name: str, channels: int, shift: int, special: float
) -> np.ndarray:
    """Return pairs of the NPU, [channels, 2]: the start of a sum of 64 bits, and its shift.

    Most starts fit 32 bits and most shifts those of the hardware, but not all.
    """
    of_start, of_shift = (PARTITIONS[part](rng, channels) for part in SCALES[name])
    shifts = np.clip(shift + rng.integers(-2, 3, channels), 0, 63)
    shifts = _mix_special(rng, shifts, SPECIAL_SHIFTS_64, special)[of_shift]
    widest = rng.choice([8, 16, 20, 29, 31, 40, 61], p=[0.2, 0.2, 0.2, 0.2, 0.1, 0.05, 0.05])
    starts = rng.integers(-(2**widest), 2**widest, channels, endpoint=True)
    return np.stack([starts[of_start], shifts], 1).astype(np.int64)


def draw_channel_sizes(rng: np.random.Generator, weights: np.ndarray, axis: int) -> np.ndarray:
    """Return weights of different sizes per channel along an axis; some channels are zeros."""
    channels = int(weights.shape[axis])
    classes = PARTITIONS[str(rng.choice(("each", "partition", "first", "in_turn")))](rng, channels)
    sizes = rng.integers(0, 7, channels)[classes]
    zeros = (rng.random(channels) < 0.1)[classes]
    shape = [1] * weights.ndim
    shape[axis] = channels
    sized = np.right_shift(weights, sizes.reshape(shape).astype(weights.dtype))
    return np.where(zeros.reshape(shape), 0, sized).astype(weights.dtype)
