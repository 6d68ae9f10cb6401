"""Decision whether integers of a user are a network's codes or floats, and their conversion."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Optional

import numpy as np

from ..errors import Error
from ..io.selection import Indices
from ..io.sources import Source
from ..ir.formats import limits
from ..ir.preprocessing import Preprocessing

#: Samples whose values are looked at together.
_PIECE = 1024

LOGGER = logging.getLogger(__name__)

_SPELLINGS = "say codes=True for codes, or codes=False for floats"


@dataclass(frozen=True)
class Meaning:
    """The input that integers are for, and what the user says of them.

    dtype: of the network's input. codes: what integers are; None leaves it to their type.
    preprocessing: what raw samples become.
    """

    dtype: str
    codes: Optional[bool] = None
    preprocessing: Optional[Preprocessing] = None

    def decide(self, source: Source) -> Source:
        """Return samples in a type that says what they are, and log what was taken.

        Codes have the input's own type. Raises Error for what could be codes and floats.
        """
        if not source.whole or (source.dtype.kind not in "iu" and not self.codes):
            return source
        found = self._choose(source)
        codes = found.dtype == self.dtype and (self.codes or not self._raw)
        words = f"codes of {self.dtype}" if codes else "floats"
        LOGGER.info("%s are %s, taken as %s", source.label, source.dtype, words)
        return found

    @property
    def _raw(self) -> bool:
        """True if integers may be raw samples, which the preprocessing changes."""
        return self.preprocessing is not None and self.preprocessing.changes

    def _choose(self, source: Source) -> Source:
        if self.codes is True:
            return _as_codes(source, self.dtype)
        own = source.dtype == self.dtype
        steps, raw = self.preprocessing, self._raw
        if self.codes is False:
            return _Cast(source, _wider(self.dtype)) if own and not raw else source
        if own and raw and steps is not None and steps.dtype is None:
            raise Error(
                f"{source.label} are {self.dtype}, the type of the input's codes and of raw "
                f"samples for the preprocessing ({steps.spelled}): {_SPELLINGS}"
            )
        if not own and not raw and _are_within(source, self.dtype):
            low, high = limits(self.dtype)
            raise Error(
                f"{source.label} are {source.dtype}, all in {low}..{high}: codes of the "
                f"{self.dtype} input, or floats; {_SPELLINGS}"
            )
        return source


@dataclass(frozen=True, eq=False)
class _Cast(Source):
    """Samples in another type, which holds all of them."""

    source: Source
    dtype: np.dtype

    @property
    def whole(self) -> tuple[int, ...]:
        """Shape of all samples together."""
        whole: tuple[int, ...] = self.source.whole
        return whole

    def take(self, which: Indices) -> np.ndarray:
        """Return the samples with these numbers."""
        return self.source.take(which).astype(self.dtype)

    def name(self, number: int) -> str:
        """Return the name of a sample in error messages."""
        return self.source.name(number)


def _as_codes(source: Source, dtype: str) -> Source:
    if source.dtype.kind not in "iu":
        raise Error(
            f"codes=True needs integers, but {source.label} are {source.dtype}: leave codes "
            "out, or give integers"
        )
    if source.dtype == dtype:
        return source
    if not _are_within(source, dtype):
        low, high = limits(dtype)
        raise Error(
            f"codes=True, but {source.label} have values outside {low}..{high} of {dtype}: "
            "leave codes out, or give codes"
        )
    return _Cast(source, np.dtype(dtype))


def _are_within(source: Source, dtype: str) -> bool:
    """True if all values of integers are codes of a type."""
    low, high = limits(dtype)
    kept = np.iinfo(source.dtype)
    if low <= kept.min and kept.max <= high:
        return True
    for start in range(0, max(len(source), 1), _PIECE):
        values = source.take(range(start, min(start + _PIECE, len(source))))
        if values.size and (values.min() < low or values.max() > high):
            return False
    return True


def _wider(dtype: str) -> np.dtype:
    """Return a type of integers, other than a network's, that holds its codes."""
    return np.dtype({"int8": "int16", "uint8": "int16", "int16": "int32"}.get(dtype, "int64"))
