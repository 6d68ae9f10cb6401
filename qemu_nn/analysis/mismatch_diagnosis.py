"""Diagnosis of known causes for a device's difference from a golden."""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import permutations
from typing import Callable

import numpy as np

from ..targets import Profile, core_words, cores_of, list_comparable
from .golden_set import Entry, Goldens

#: Names of the axes of an image; other shapes have numbered axes.
_AXES = {3: "HWC"}


def find_likely_cause(
    goldens: Goldens,
    entry: Entry,
    want: np.ndarray,
    got: np.ndarray,
    twins: Mapping[int, str],
    search: Callable[[], str] = str,
) -> str:
    """Return a sentence, or "" without a known cause.

    want: the golden in its shape. got: the dump, flat, same dtype, different. twins: CRC-32 -> name
    of a golden of the same input. search: returns the fault of the layer's call, "" if unknown.
    """
    return next(_list_causes(goldens, entry, want, got, twins, search), "")


def _list_causes(
    goldens: Goldens,
    entry: Entry,
    want: np.ndarray,
    got: np.ndarray,
    twins: Mapping[int, str],
    search: Callable[[], str],
) -> Iterator[str]:
    """Yield all that fit, the surest first."""
    flat = want.ravel()
    crc = zlib.crc32(got.tobytes())
    own = goldens.profile
    matching = [p for p in list_comparable(own) if entry.others.get(str(p)) == crc]
    if matching:
        yield f"these are exactly the bits of {_list_changes(goldens, matching)}"
    fault = search()
    if fault:
        yield fault
    if got.size > 1 and (got == got[0]).all():
        yield f"every element is {got[0]}: the buffer was never written, or was read too early"
    if np.array_equal(got, np.maximum(flat, 0)):
        yield "ReLU has already been applied: read the buffer before that call"
    if crc in twins:
        yield f"these are the bytes of {twins[crc]}: another buffer, or read at another moment"
    yield from _list_layouts(want, got)
    if got.dtype.itemsize > 1 and np.array_equal(got.byteswap(), flat):
        yield f"byte order: each {8 * got.dtype.itemsize}-bit element has its bytes swapped"
    if got.size > 1 and np.array_equal(got[1:], flat[:-1]):
        yield "everything is shifted by one element: it starts one element too early"
    if got.size > 1 and np.array_equal(got[:-1], flat[1:]):
        yield "everything is shifted by one element: it starts one element too late"
    if got.dtype.kind in "iu":
        yield from _diagnose_rounding(flat, got, own.rounding)


def _list_changes(goldens: Goldens, matching: Iterable[Profile]) -> str:
    """Return the fewest changes of the goldens' device that lead to one of these profiles.

    Equivalent cores are named together.
    """
    own, alike = goldens.profile, defaultdict(list)
    if own.espressif:
        return " or ".join(f"{other} instead of {own}" for other in matching)
    for other in matching:
        alike[other.cmsis, other.path == own.path, other.rounding].append(other)
    changes = []
    for group in alike.values():
        cores = core_words(cores_of({other.path for other in group}))
        spelled = (
            ("cmsis", f"CMSIS {group[0].cmsis} instead of {own.cmsis}"),
            ("path", f"{cores} instead of {goldens.core}"),
            ("rounding", f"rounding mode {group[0].rounding} instead of {own.rounding}"),
        )
        changes.append([s for axis, s in spelled if getattr(group[0], axis) != getattr(own, axis)])
    fewest = min(map(len, changes))
    return " or ".join(" and ".join(change) for change in changes if len(change) == fewest)


def _list_layouts(want: np.ndarray, got: np.ndarray) -> Iterator[str]:
    """Yield the same elements with permuted axes; axes of one element have no order."""
    if not 2 <= want.ndim <= 4:
        return
    names = _AXES.get(want.ndim, "0123"[: want.ndim])
    for order in permutations(range(want.ndim)):
        if np.array_equal(got, want.transpose(order).ravel()):
            layout = "".join(names[axis] for axis in order)
            yield f"transposed: it is laid out as {layout} instead of {names}"


def _diagnose_rounding(want: np.ndarray, got: np.ndarray, rounding: str) -> Iterator[str]:
    """Yield nearest is never below truncation, and at most one above it."""
    if got.dtype.kind == "f" or got.dtype.itemsize == 8:
        return  # this kind of layer rounds nothing
    steps = got.astype(np.int64) - want
    off = steps[steps != 0]
    if off.size < 2 or np.abs(off).max() != 1:
        return
    if (off == -1).all() and rounding == "nearest":
        yield "rounding mode: it was truncated (ARM_NN_TRUNCATE) instead of rounded to nearest"
    elif (off == 1).all() and rounding == "truncate":
        yield "rounding mode: it was rounded to nearest instead of truncated (ARM_NN_TRUNCATE)"
    else:
        yield "rounding mode: every difference is +1 or -1 (nearest against truncate)"
