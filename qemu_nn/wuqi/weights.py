"""Conversion of weights and biases between floats and integers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Optional

import numpy as np

from .as_float import get_parameter
from .layers import WEIGHTED, Layer, has_bias


def role_missing(layer: Layer, role: str) -> bool:
    """True if a layer has no weights, or no bias."""
    return layer.type not in WEIGHTED if role == "weight" else not has_bias(layer)


def get_float_parameter(
    layer: Layer, role: str, channels: int, param_dict: Mapping[str, Any]
) -> Optional[np.ndarray]:
    """Return float weights or biases [C, ...], or None if the layer has none."""
    if role_missing(layer, role):
        return None
    values = get_parameter(layer, role, param_dict)
    row = values.shape[:1] != (channels,) and values.size == channels
    return values.ravel() if row else values


def round_parameter(values: np.ndarray, fracs: np.ndarray, bits: int) -> np.ndarray:
    """Return integers [C, ...] of this many bits: rounded to nearest, halves up, and saturated."""
    half = 2 ** (bits - 1)
    scaled = np.ldexp(values, fracs.reshape(-1, *[1] * (values.ndim - 1)))
    integers: np.ndarray = np.clip(np.floor(scaled + 0.5), -half, half - 1).astype(f"int{bits}")
    return integers
