"""Weights and biases of networks of the NPU."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..functions import Function


def draw_npu_arrays(
    rng: np.random.Generator, function: Function, params: Mapping[str, int]
) -> dict[str, np.ndarray]:
    """Return weights and bias of a call, by role; its sums fit 32 bits."""
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
