"""Arrays of the NPU's calls, with values that hurt."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..functions import Function


def npu_arrays(
    rng: np.random.Generator, function: Function, params: Mapping[str, int]
) -> dict[str, np.ndarray]:
    """Weights and bias of a call, by role; its sums fit 32 bits."""
    found = {}
    if function.weights is not None:
        limits = np.iinfo(function.weights.dtype)
        high = params["channels_out"] - 1 if "channels_out" in params else limits.max
        low = 0 if "channels_out" in params else limits.min
        shape = function.weights.shape(params)
        values = rng.integers(low, high, shape, endpoint=True)
        found["weights"] = values.astype(function.weights.dtype)
    if function.bias is not None:
        found["bias"] = np.zeros(function.bias.shape(params), np.int64)
        found["bias"][:, 1] = 12 if function.type == "s16" else 9
    return found


def start_shift(rng: np.random.Generator, channels: int) -> np.ndarray:
    """What the sums of a convolution start from and are shifted by, [channels, 2].

    Most starts fit 32 bits and most shifts those of the hardware, but not all.
    """
    widest = rng.choice([8, 16, 20, 29, 31, 40, 61], p=[0.2, 0.2, 0.2, 0.2, 0.1, 0.05, 0.05])
    starts = rng.integers(-(2**widest), 2**widest, channels, endpoint=True)
    most = rng.choice([12, 15, 31, 63])
    shifts = rng.integers(0, most, channels, endpoint=True)
    if rng.integers(4) == 0:
        shifts[:] = shifts[0]
    return np.stack([starts, shifts], 1).astype(np.int64)
