"""The fraction of a tensor before the hardware's limits: the three methods of §4.3.1."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Callable, Union

import numpy as np

from ..errors import Error
from ..ir.statistics import Histogram, Statistics, make_histogram
from ..quantizer.policies import kl, mse

Seen = Union[Statistics, Histogram]

#: Most bins of a histogram: two of the smallest steps of 16 bits, whose square error needs no more.
_MOST = 2**17

#: Bins at 16 bits for the divergence, two steps wide. Finer ones hold so few values that it takes
#: chance for shape, and prefers formats that are much too narrow.
_COARSE = 2**15


def minmax(statistics: Seen, bits: int) -> int:
    """Return floor(-log2(largest magnitude / (2^(bits - 1) - 1))): nothing saturates."""
    most = 2 ** (bits - 1) - 1
    frac = math.frexp(most / statistics.largest)[1] - 1  # the quotient may be rounded
    while math.ldexp(statistics.largest, frac) > most:
        frac -= 1
    while math.ldexp(statistics.largest, frac + 1) <= most:
        frac += 1
    return frac


METHODS: dict[str, Callable[[Seen, int], int]] = {"MINMAX": minmax, "MSE": mse, "KL": kl}


class Preferences:
    """The method of each tensor. Raises Error for unknown methods."""

    def __init__(self, methods: Mapping[str, str], bitwidth: int, bins: int) -> None:
        for name, method in methods.items():
            if method not in list(METHODS):
                raise Error(
                    f"method_dict: {name!r} has the method {method!r}; have: {', '.join(METHODS)}"
                )
        self.methods, self.bits, self.bins = methods, bitwidth, min(bins, _MOST)

    def method(self, name: str) -> str:
        """Return the method of a tensor."""
        return self.methods.get(name, "MINMAX")

    def bins_of(self, name: str) -> int:
        """Return the number of bins of a tensor's method; MINMAX has none."""
        if self.method(name) == "MINMAX":
            return 0
        return _COARSE if self.method(name) == "KL" and self.bits == 16 else self.bins

    def feature(self, name: str, statistics: Statistics, signed: bool = True) -> int:
        """Return the fraction of a feature tensor; the bit width less 1 if it is 0 everywhere."""
        if not statistics.largest:
            return self.bits - 1
        return METHODS[self.method(name)](statistics, self.bits + (not signed))

    def channels(self, name: str, values: np.ndarray) -> np.ndarray:
        """Return the fractions of weights or biases [C, ...], by channel; a channel of zeros has
        the least.
        """
        rows = values.reshape(len(values), -1)
        bins = self.bins_of(name) or 1
        fracs = [
            METHODS[self.method(name)](make_histogram(row, bins), self.bits) if row.any() else None
            for row in rows
        ]
        least = min((frac for frac in fracs if frac is not None), default=self.bits - 1)
        return np.array([least if frac is None else frac for frac in fracs], np.int64)
