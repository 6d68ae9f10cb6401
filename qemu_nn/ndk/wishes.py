"""The fractions and signs that a user asks for: usr_param_dict of §4.3.1 of the manual."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Optional

import numpy as np

from ..errors import Error
from .layers import Layer, get_tensor_name_list
from .ties import Group


class Wishes:
    """What is asked for; keys that are no fraction or sign are passed over.

    Raises Error for fractions of tensors that there are not, and for what is no integer.
    """

    def __init__(self, user: Mapping[str, Any], layer_list: Sequence[Layer]) -> None:
        self._user = user
        every = get_tensor_name_list(layer_list)
        for key, value in user.items():
            if key.endswith("_frac"):
                if key[: -len("_frac")] not in every:
                    raise Error(
                        f"usr_param_dict: {key!r}: no such tensor; have: {', '.join(every)}"
                    )
                if np.asarray(value).dtype.kind not in "iu":
                    raise Error(f"usr_param_dict: {key} is an integer, not {value!r}")

    def feature(self, group: Group) -> Optional[int]:
        """The fraction of tensors that share one. Raises Error where there can not be one."""
        given = {int(self._user[f"{n}_frac"]) for n in group.tensors if f"{n}_frac" in self._user}
        names = ", ".join(group.tensors)
        if len(given) > 1:
            raise Error(f"usr_param_dict: {names} must have one fraction")
        frac = given.pop() if given else None
        if frac is not None and group.fixed not in (None, frac):
            raise Error(
                f"usr_param_dict: the hardware fixes {group.fixed} fraction bits for {names}, "
                f"not {frac}"
            )
        return frac

    def parameter(self, layer: Layer, role: str, channels: int) -> Optional[np.ndarray]:
        """The fractions [C] of weights or bias, under either name that the manual has for them."""
        for key in (f"{layer.name}_{role}_frac", f"{layer.name}_frac_{role}"):
            if key in self._user:
                value = np.asarray(self._user[key])
                if value.dtype.kind not in "iu" or value.size not in (1, channels):
                    raise Error(f"usr_param_dict: {key} is an integer, or one for each channel")
                return np.broadcast_to(value.ravel(), (channels,)).astype(np.int64)
        return None

    def signed(self, name: str) -> Optional[bool]:
        """Is a tensor to be signed?"""
        value = self._user.get(f"{name}_signed")
        return None if value is None else bool(value)
