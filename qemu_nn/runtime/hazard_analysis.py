"""Detection of calls that read memory destroyed by another call, byte by byte."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Optional

import numpy as np

from ..kernels.table import Row


@dataclass(frozen=True)
class Span:
    """Bytes of the arena."""

    start: int
    size: int

    @property
    def slice(self) -> slice:
        """Span as an index."""
        return slice(self.start, self.start + self.size)

    def overlaps(self, other: Span) -> bool:
        """True if the two share a byte."""
        return self.start < other.start + other.size and other.start < self.start + self.size


@dataclass(frozen=True)
class Access:
    """Memory that a call accesses.

    destroys: bytes overwritten at the start of inputs[0]. scratch_bytes: used by the device's path.
    scratch: its address, None if the firmware passes NULL. device_row: the row that uses it as the
    device does.
    """

    name: str
    inputs: tuple[Span, ...]
    output: Span
    destroys: int
    scratch_bytes: int
    scratch: Optional[Span]
    device_row: Optional[Row]


@dataclass(frozen=True)
class SeenHazards:
    """Warnings, and the calls whose side effects a later call reads.

    scratch, destroyed: indices of calls whose scratch memory, or destroyed input, is read.
    unwritten: true if a call reads memory that was never written.
    """

    warnings: tuple[str, ...]
    scratch: frozenset[int]
    destroyed: frozenset[int]
    unwritten: bool


_INTACT, _NEVER_WRITTEN = -1, -2


def observe(
    accesses: Sequence[Access], entries: Sequence[Span], size: int, recurrent: bool
) -> SeenHazards:
    """Follow one pass over the calls, two if the memory lives on in the next time step."""
    ruined_by = np.full(size, _NEVER_WRITTEN, np.int32)  # index of the call, or one of the above
    as_scratch = np.zeros(size, bool)
    warnings: dict[str, None] = {}
    scratch: set[int] = set()
    destroyed: set[int] = set()
    unwritten = False
    for access in accesses:
        if access.scratch_bytes and access.scratch is None:
            warnings[
                f"{access.name} is called without scratch memory, but this core writes "
                f"{access.scratch_bytes} bytes of it: the device would fault"
            ] = None
    for turn in range(2 if recurrent else 1):
        for entry in entries if turn == 0 else entries[:1]:
            ruined_by[entry.slice] = _INTACT
        for index, access in enumerate(accesses):
            for part in access.inputs:
                for culprit in np.unique(ruined_by[part.slice]).tolist():
                    if culprit == _INTACT:
                        continue
                    if culprit == _NEVER_WRITTEN:
                        unwritten = True
                        what = "memory that nothing has written: zeros here, anything on a device"
                    elif as_scratch[part.slice][ruined_by[part.slice] == culprit].any():
                        what = f"memory that {accesses[culprit].name} has used as scratch memory"
                        scratch.add(culprit)
                    else:
                        destroyed.add(culprit)
                        what = f"an input that {accesses[culprit].name} has destroyed"
                    warnings[f"{access.name} reads {what}"] = None
            _touch(ruined_by, as_scratch, index, access)
    return SeenHazards(tuple(warnings), frozenset(scratch), frozenset(destroyed), unwritten)


def _touch(ruined_by: np.ndarray, as_scratch: np.ndarray, index: int, access: Access) -> None:
    """Apply a call to the contents of memory."""
    ruined = [(access.scratch, True)] if access.scratch else []
    if access.destroys:
        ruined.append((Span(access.inputs[0].start, access.destroys), False))
    for span, is_scratch in ruined:
        ruined_by[span.slice] = index
        as_scratch[span.slice] = is_scratch
    ruined_by[access.output.slice] = _INTACT
