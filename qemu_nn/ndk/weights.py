"""Weights and biases: their real numbers, the fractions a user asks for, and the integers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Optional

import numpy as np

from ..errors import Error, ModelError
from .as_float import parameter
from .layers import WEIGHTED, Layer, has_bias


def role_missing(layer: Layer, role: str) -> bool:
    """Has the layer no weights, or no bias?"""
    return layer.type not in WEIGHTED if role == "weight" else not has_bias(layer)


def real(
    layer: Layer, role: str, channels: int, param_dict: Mapping[str, Any]
) -> Optional[np.ndarray]:
    """Float weights or biases [C, ...], or None where the layer has none.

    Raises ModelError for numbers that are missing, not finite or not for so many channels.
    """
    if role_missing(layer, role):
        return None
    values = parameter(layer, role, param_dict)
    if values.shape[:1] != (channels,) or not np.isfinite(values).all():
        raise ModelError(
            f"layer {layer.name!r}: {layer.name}_{role} {list(values.shape)} must be finite "
            f"numbers for {channels} channels"
        )
    return values


def asked(layer: Layer, role: str, channels: int, user: Mapping[str, Any]) -> Optional[np.ndarray]:
    """The user's fractions [C], under either name that the manual has for them, or None."""
    for key in (f"{layer.name}_{role}_frac", f"{layer.name}_frac_{role}"):
        if key in user:
            value = np.asarray(user[key])
            if value.dtype.kind not in "iu" or value.size not in (1, channels):
                raise Error(f"usr_param_dict: {key} is an integer, or one for each channel")
            return np.broadcast_to(value.ravel(), (channels,)).astype(np.int64)
    return None


def rounded(values: np.ndarray, fracs: np.ndarray, bits: int) -> np.ndarray:
    """Integers [C, ...] of so many bits: the nearest, half way up, saturated."""
    half = 2 ** (bits - 1)
    scaled = np.ldexp(values, fracs.reshape(-1, *[1] * (values.ndim - 1)))
    return np.clip(np.floor(scaled + 0.5), -half, half - 1).astype(f"int{bits}")
