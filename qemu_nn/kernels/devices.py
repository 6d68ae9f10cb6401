"""Default profiles of calls and networks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Union

from ..errors import Error
from ..targets import (
    AFFINE_CMSIS,
    DEFAULT_CORE,
    LEGACY_CMSIS,
    Profile,
    Target,
    profile,
    roundings,
)
from .table import list_rows


def is_of_esp_dl(op: str) -> bool:
    """True if an op is of ESP-DL, which runs on chips of the ESP32 family alone."""
    return op.startswith("dl_")


def profile_for(
    ops: Iterable[tuple[str, str]], target: Union[str, Target, Profile] = DEFAULT_CORE
) -> Profile:
    """Return the profile of a target, by default of the release that has all ops (name, type).

    Ops of the s8 and s16 API, and of TensorFlow Lite Micro, get the release with all of them. Ops
    of ESP-DL get that library on the target's chip.
    """
    if isinstance(target, Profile):
        return target
    wanted, ops = Target.of(target), list(ops)
    if any(is_of_esp_dl(name) for name, _ in ops):
        return wanted.esp_dl_profile()
    if wanted.esp_nn is not None:
        return _check_esp(wanted, ops)
    if wanted.cmsis is None and wanted.rounding is None:
        legacy = profile(wanted.device)
        has_all = all(_has(legacy, op) for op in ops)
        affine = not any(type.startswith("q") for _, type in ops)
        wanted = replace(wanted, cmsis=LEGACY_CMSIS if has_all and not affine else AFFINE_CMSIS)
    found = wanted.profile()
    lacks = wanted.rounding is None and not all(_has(found, op) for op in ops)
    if lacks and "double" in roundings(found.cmsis):
        return replace(wanted, rounding="double").profile()
    return found


def _check_esp(wanted: Target, ops: Iterable[tuple[str, str]]) -> Profile:
    """Return the profile of a chip of the ESP32 family; raise Error for functions of q7 and q15."""
    legacy = [f"{name}_{type}" for name, type in ops if type.startswith("q")]
    if legacy:
        raise Error(
            f"the network calls {legacy[0]}, a function of CMSIS, but {wanted.device} has none of "
            "CMSIS; quantize it with scheme='affine', or choose a Cortex-M"
        )
    return wanted.profile()


def _has(wanted: Profile, op: tuple[str, str]) -> bool:
    """True if a row has the bits of a profile."""
    return any(row.claims(wanted) for row in list_rows(*op))
