"""Lookup tables of the NPU's functions, for kernels and for training."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..functions.wuqi import CODES, LOG_ENTRIES

#: Function -> fraction bits of its input, at 8 bits and at 16; those of the outputs of sigmoid and
#: tanh are the bit width minus 1.
FRACS = {"Sigmoid": (4, 12), "TanH": (5, 13), "LogSoftmax": (4, 12), "ReLU6": (4, 12)}

_FUNCTIONS: dict[str, Any] = {"Sigmoid": lambda x: 1 / (1 + np.exp(-x)), "TanH": np.tanh}


def get_input_fraction(kind: str, bits: int) -> int:
    """Return fraction bits of the input of a layer of that type."""
    return FRACS[kind][bits == 16]


def make_code_table(kind: str, bits: int) -> np.ndarray:
    """Return floor(f(x) * 2^f_out) of Sigmoid or TanH for every code from the lowest, the largest
    at most.
    """
    half = CODES[f"s{bits}"] // 2
    x = np.arange(-half, half) * 2.0 ** -get_input_fraction(kind, bits)
    table: np.ndarray = np.minimum(np.floor(_FUNCTIONS[kind](x) * half), half - 1).astype(
        f"int{bits}"
    )
    return table


def make_distance_table(bits: int) -> np.ndarray:
    """Return floor(log(1 + e^-d) * 2^f) of LogSoftmax for every distance d of two codes, from 0."""
    frac = get_input_fraction("LogSoftmax", bits)
    distances = np.arange(LOG_ENTRIES[f"s{bits}"]) * 2.0**-frac
    table: np.ndarray = np.floor(np.log1p(np.exp(-distances)) * 2**frac).astype(f"int{bits}")
    return table
