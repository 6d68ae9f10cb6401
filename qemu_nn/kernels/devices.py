"""Whose bits a call or a network has, where the user does not say."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Optional

from ..targets import (
    AFFINE_CMSIS,
    DEFAULT_CORE,
    DEFAULT_TFLM,
    KERNELS,
    LEGACY_CMSIS,
    Profile,
    profile,
)
from .table import rows_of


def profile_for(
    ops: Iterable[tuple[str, str]],
    core: str = DEFAULT_CORE,
    cmsis: Optional[str] = None,
    rounding: Optional[str] = None,
    kernels: str = KERNELS[0],
    tflm: str = DEFAULT_TFLM,
) -> Profile:
    """targets.profile(), by default of the release that has all these ops (name, type).

    Ops of the s8 and s16 API, and of TensorFlow Lite Micro, alone are of the release that has all
    of it.
    """
    if cmsis is None and rounding is None:
        legacy, ops = profile(core), list(ops)
        has_all = all(any(row.claims(legacy) for row in rows_of(*op)) for op in ops)
        affine = not any(type.startswith("q") for _, type in ops)
        cmsis = LEGACY_CMSIS if has_all and not affine else AFFINE_CMSIS
    return profile(core, cmsis, rounding, kernels, tflm)
