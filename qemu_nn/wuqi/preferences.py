"""The fraction of a tensor before the hardware's limits: the three methods of §4.3.1."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Callable

import numpy as np

from ..errors import Error
from ..ir.statistics import Statistics, make_statistics
from ..quantizer.policies import kl, mse


def minmax(statistics: Statistics, bits: int) -> int:
    """Return floor(-log2(largest magnitude / (2^(bits - 1) - 1))): nothing saturates."""
    most = 2 ** (bits - 1) - 1
    frac = math.frexp(most / statistics.largest)[1] - 1  # the quotient may be rounded
    while math.ldexp(statistics.largest, frac) > most:
        frac -= 1
    while math.ldexp(statistics.largest, frac + 1) <= most:
        frac += 1
    return frac


METHODS: dict[str, Callable[[Statistics, int], int]] = {"MINMAX": minmax, "MSE": mse, "KL": kl}


class Preferences:
    """The method of each tensor. Raises Error for unknown methods."""

    def __init__(self, methods: Mapping[str, str], bitwidth: int, bins: int) -> None:
        for name, method in methods.items():
            if method not in list(METHODS):
                raise Error(
                    f"method_dict: {name!r} has the method {method!r}; have: {', '.join(METHODS)}"
                )
        self.methods, self.bits, self.bins = methods, bitwidth, bins

    def method(self, name: str) -> str:
        """Return the method of a tensor."""
        return self.methods.get(name, "MINMAX")

    def bins_of(self, name: str) -> int:
        """Return the number of bins of a tensor's method; MINMAX has none."""
        return 0 if self.method(name) == "MINMAX" else self.bins

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
        bins = self.bins_of(name)
        fracs = [
            METHODS[self.method(name)](make_statistics(row, bins), self.bits) if row.any() else None
            for row in rows
        ]
        least = min((frac for frac in fracs if frac is not None), default=self.bits - 1)
        return np.array([least if frac is None else frac for frac in fracs], np.int64)
