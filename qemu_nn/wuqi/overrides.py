"""Overrides: the fractions and signs that a user gives, usr_param_dict of §4.3.1 of the manual."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Optional

import numpy as np

from ..errors import Error
from .format_groups import FormatGroup
from .layers import Layer, get_tensor_name_list

#: Keys of a layer that are no overrides, or that parameter() reads.
_PASSED = ("weight", "bias", "quant_weight", "quant_bias", "frac_weight", "frac_bias")


class Overrides:
    """The user's fractions and signs; weights, biases and further parameters of the kit are
    ignored.

    Raises Error for unknown tensors, and for values that are not integers.
    """

    def __init__(self, user: Mapping[str, Any], layer_list: Sequence[Layer]) -> None:
        self._user = user
        all_names = get_tensor_name_list(layer_list)
        features = get_tensor_name_list(layer_list, feature_only=True)
        passed = {f"{layer.name}_{role}" for layer in layer_list for role in _PASSED}
        for key, value in user.items():
            name, _, end = str(key).rpartition("_")
            if key in passed or (end == "signed" and name in all_names):
                continue
            if end != "frac" or name not in all_names:
                ends = end in ("frac", "signed")
                what = (
                    "there is no such tensor" if ends else "a key is TENSOR_frac or TENSOR_signed"
                )
                raise Error(f"usr_param_dict: {key!r}: {what}; have: {', '.join(all_names)}")
            array = np.asarray(value)
            if array.dtype.kind not in "iu" or (array.ndim and name in features):
                raise Error(f"usr_param_dict: {key} is {value!r}, but must be an integer")

    def feature(self, group: FormatGroup) -> Optional[int]:
        """Return the given fraction of a format group. Raises Error if the group cannot have it."""
        given = {int(self._user[f"{n}_frac"]) for n in group.tensors if f"{n}_frac" in self._user}
        names = ", ".join(group.tensors)
        if len(given) > 1:
            raise Error(
                f"usr_param_dict: {names} share one fraction, but have different ones: give "
                "them the same"
            )
        frac = given.pop() if given else None
        if frac is not None and group.fixed not in (None, frac):
            raise Error(
                f"usr_param_dict: the fraction bits of {names} are {frac}, but the hardware fixes "
                f"{group.fixed}: leave them out"
            )
        return frac

    def parameter(self, layer: Layer, role: str, channels: int) -> Optional[np.ndarray]:
        """Return the fractions [C] of weights or bias, under either name that the manual has for
        them.
        """
        for key in (f"{layer.name}_{role}_frac", f"{layer.name}_frac_{role}"):
            if key in self._user:
                value = np.asarray(self._user[key])
                if value.dtype.kind not in "iu" or value.size not in (1, channels):
                    raise Error(
                        f"usr_param_dict: {key} must be an integer, or one for each channel"
                    )
                return np.broadcast_to(value.ravel(), (channels,)).astype(np.int64)
        return None

    def is_signed(self, name: str) -> Optional[bool]:
        """True if the user made a tensor signed; None without an entry."""
        value = self._user.get(f"{name}_signed")
        return None if value is None else bool(value)
