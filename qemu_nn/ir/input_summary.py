"""Summary of the real inputs of a network: what calibration saw, to compare later data with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Optional

import numpy as np

from ..errors import Error

#: Most channels with figures of their own; the values of wider inputs are one channel.
_CHANNELS = 64

#: Samples that reach further than the usual ones by this factor are wild; most that are stored.
_WILD, _STORED = 8.0, 3


@dataclass(frozen=True)
class InputSummary:
    """Figures of the inputs of a network, channels last.

    samples: their number. low, high, mean, std: of the values of each channel. error: standard
    error of each mean, from the means of the samples. usual: the median of the samples' largest
    magnitudes. wild: number and largest magnitude of samples that reach much further. rough: mean
    square difference of neighboring pixels, relative to that of independent ones; as the data are,
    and with channels first read as channels last. None if the inputs are no images of several
    channels.
    """

    samples: int
    low: tuple[float, ...]
    high: tuple[float, ...]
    mean: tuple[float, ...]
    std: tuple[float, ...]
    error: tuple[float, ...]
    usual: float
    wild: tuple[tuple[int, float], ...] = ()
    rough: Optional[tuple[float, float]] = None

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the largest value."""
        return min(self.low), max(self.high)

    @property
    def constant(self) -> bool:
        """True if all values are the same."""
        return self.ends[0] == self.ends[1]

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as JSON has them."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> InputSummary:
        """Return the summary of to_dict(); raise Error for anything else."""
        names = [field.name for field in fields(cls)]
        if sorted(values) != sorted(names):
            raise Error(f"it must have {', '.join(names)}")
        try:
            channels = {n: tuple(map(float, values[n])) for n in _PER_CHANNEL}
            wild = tuple((int(number), float(largest)) for number, largest in values["wild"])
            rough = None if values["rough"] is None else tuple(map(float, values["rough"]))
            summary = cls(
                int(values["samples"]),
                usual=float(values["usual"]),
                wild=wild,
                rough=rough,  # type: ignore[arg-type]  # of two numbers, as checked below
                **channels,
            )
        except (TypeError, ValueError, OverflowError):
            raise Error("its figures must be numbers") from None
        counts = {len(getattr(summary, name)) for name in _PER_CHANNEL}
        numbers = [v for n in _PER_CHANNEL for v in getattr(summary, n)]
        numbers += [summary.usual, *(rough or ()), *(each for pair in wild for each in pair)]
        if len(counts) > 1 or not min(counts) or (rough is not None and len(rough) != 2):
            raise Error("its lists must have a figure for each channel")
        if not np.isfinite(numbers).all() or summary.samples < 1:
            raise Error("its figures must be finite, of 1 sample or more")
        return summary


_PER_CHANNEL = ("low", "high", "mean", "std", "error")


class InputTally:
    """Sums over the real inputs of a network, added in any number of batches."""

    def __init__(self) -> None:
        self._count = 0  # of the values of a channel
        self._low = self._high = np.empty(0)
        self._sums: list[Any] = []
        self._largest: list[np.ndarray] = []

    def add(self, x: np.ndarray) -> None:
        """Add samples [N, *shape], channels last."""
        wide = x.ndim < 2 or x.shape[-1] > _CHANNELS
        rows = x.reshape(len(x), -1, 1 if wide else x.shape[-1]).astype(np.float64, copy=False)
        if not rows.size:
            return
        means = rows.mean(1)
        sums = [means.sum(0), (means**2).sum(0), np.einsum("nvc,nvc->c", rows, rows)]
        images = x.ndim == 4 and 1 < x.shape[-1] <= _CHANNELS and min(x.shape[1:3]) > 1
        sums.append(_sum_differences(x) if images else None)
        low, high = rows.min((0, 1)), rows.max((0, 1))
        largest = np.abs(rows).max((1, 2))
        self._merge(rows.shape[1] * len(x), low, high, sums, [largest])

    def merge(self, other: InputTally) -> None:
        """Add the sums of the samples after these."""
        if other._count:
            self._merge(other._count, other._low, other._high, other._sums, other._largest)

    def _merge(
        self, count: int, low: np.ndarray, high: np.ndarray, sums: Any, largest: list[np.ndarray]
    ) -> None:
        if self._count:
            low, high = np.minimum(self._low, low), np.maximum(self._high, high)
            sums = [a if a is None else a + b for a, b in zip(self._sums, sums)]
        self._count += count
        self._low, self._high, self._sums = low, high, sums
        self._largest = [*self._largest, *largest]

    def summarize(self) -> Optional[InputSummary]:
        """Return the figures; None without samples."""
        if not self._count:
            return None
        largest = np.concatenate(self._largest)
        samples, (means, squares, energy, differences) = len(largest), self._sums
        mean = means / samples
        variance = np.maximum(energy / self._count - mean**2, 0.0)
        between = np.maximum(squares / samples - mean**2, 0.0)
        rough = None
        if differences is not None and variance.any():
            now, undone = (differences / (2 * samples * variance.mean())).tolist()
            rough = (now, undone)
        high = np.quantile(largest, 0.95, method="lower")
        wild = np.argsort(-largest, kind="stable")[:_STORED]
        return InputSummary(
            samples,
            low=tuple(self._low.tolist()),
            high=tuple(self._high.tolist()),
            mean=tuple(mean.tolist()),
            std=tuple(np.sqrt(variance).tolist()),
            error=tuple(np.sqrt(between / samples).tolist()),
            usual=float(np.median(largest)),
            wild=tuple((int(i), float(largest[i])) for i in wild if largest[i] > _WILD * high > 0),
            rough=rough,
        )


def _sum_differences(x: np.ndarray) -> np.ndarray:
    """Return the mean square differences of neighbors in a row of pixels, summed over samples: of
    images as they are, and of channels first that were read as channels last.
    """
    undone = read_channels_first(x)
    steps = (np.diff(each.astype(np.float64), axis=2) for each in (x, undone))
    return np.array([float((step**2).mean((1, 2, 3)).sum()) for step in steps])


def read_channels_first(x: np.ndarray) -> np.ndarray:
    """Return images [N, H, W, C] whose memory has their channels first, channels last."""
    samples, height, width, channels = x.shape
    return np.moveaxis(x.reshape(samples, channels, height, width), 1, -1)


def read_channels_last(x: np.ndarray) -> np.ndarray:
    """Return images [N, H, W, C] whose memory stands for [N, C, H, W] of the same numbers."""
    return np.ascontiguousarray(np.moveaxis(x, -1, 1)).reshape(x.shape)
