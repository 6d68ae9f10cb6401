"""Why a dump differs from its golden, where that can be recognized."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations

import numpy as np

from ..targets import Profile, all_profiles
from .golden_set import Entry

#: Names of the axes of an image; other shapes have numbered axes.
_AXES = {3: "HWC"}


def likely_cause(
    entry: Entry, want: np.ndarray, got: np.ndarray, profile: Profile, twins: Mapping[int, str]
) -> str:
    """A sentence, or "" where nothing is recognized.

    want: the golden in its shape; got: the dump, flat, same dtype, different. profile: whose
    bits the golden has. twins: CRC-32 -> name of a golden of the same input.
    """
    return next(_causes(entry, want, got, profile, twins), "")


def _causes(
    entry: Entry, want: np.ndarray, got: np.ndarray, profile: Profile, twins: Mapping[int, str]
) -> Iterator[str]:
    """All that fit, the surest first."""
    flat = want.ravel()
    crc = zlib.crc32(got.tobytes())
    matching = [p for p in all_profiles() if entry.others.get(str(p)) == crc]
    if matching:
        yield f"the layer computes exactly this with {_changes(profile, matching)}"
    if got.size > 1 and (got == got[0]).all():
        yield f"every element is {got[0]}: the buffer was never written, or the dump came too early"
    if np.array_equal(got, np.maximum(flat, 0)):
        yield "ReLU has already been applied: dump the buffer before that call"
    if crc in twins:
        yield f"this is the content of {twins[crc]}: another buffer, or dumped at another moment"
    yield from _layouts(want, got)
    if got.dtype.itemsize > 1 and np.array_equal(got.byteswap(), flat):
        yield f"byte order: each {8 * got.dtype.itemsize}-bit element has its bytes swapped"
    if got.size > 1 and np.array_equal(got[1:], flat[:-1]):
        yield "everything is shifted by one element: the dump starts one element too early"
    if got.size > 1 and np.array_equal(got[:-1], flat[1:]):
        yield "everything is shifted by one element: the dump starts one element too late"
    yield from _rounding(flat, got, profile.rounding)


def _changes(profile: Profile, matching: Sequence[Profile]) -> str:
    """What to change in the golden's profile to get one of these: the fewest changes there are."""
    changes = [
        [f"{axis} {value} instead of {old}" for axis, value, old in _axes(other, profile)]
        for other in matching
    ]
    fewest = min(map(len, changes))
    return " or ".join(" and ".join(change) for change in changes if len(change) == fewest)


def _axes(other: Profile, profile: Profile) -> Iterator[tuple[str, str, str]]:
    """Where two profiles differ: axis, value, value of the second."""
    for name, axis in (("cmsis", "CMSIS"), ("path", "core path"), ("rounding", "rounding mode")):
        value, old = getattr(other, name), getattr(profile, name)
        if value != old:
            yield axis, value, old


def _layouts(want: np.ndarray, got: np.ndarray) -> Iterator[str]:
    """The same elements with the axes in another order; axes of one element have no order."""
    if not 2 <= want.ndim <= 4:
        return
    names = _AXES.get(want.ndim, "0123"[: want.ndim])
    for order in permutations(range(want.ndim)):
        if np.array_equal(got, want.transpose(order).ravel()):
            layout = "".join(names[axis] for axis in order)
            yield f"transposed: the dump is laid out as {layout}, the golden as {names}"


def _rounding(want: np.ndarray, got: np.ndarray, rounding: str) -> Iterator[str]:
    """Nearest is never below truncation, and at most one above it."""
    steps = got.astype(np.int64) - want
    off = steps[steps != 0]
    if off.size < 2 or np.abs(off).max() != 1:
        return
    if (off == -1).all() and rounding == "nearest":
        yield "rounding mode: the device truncates (ARM_NN_TRUNCATE), the golden rounds to nearest"
    elif (off == 1).all() and rounding == "truncate":
        yield "rounding mode: the device rounds to nearest, the golden truncates (ARM_NN_TRUNCATE)"
    else:
        yield "rounding mode: every difference is +1 or -1 (nearest against truncate)"
