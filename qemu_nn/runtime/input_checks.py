"""Check of inputs in the network's format: number of used codes, share of saturated values."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Optional

import numpy as np

from ..errors import InputWarning
from ..io.warn import warn
from ..ir.tensors import Tensor

#: Receiver of the line of an input check; the command line prints it.
LOGGER = logging.getLogger("qemu_nn.inputs")

#: Types with codes that can be counted.
_COUNTED = ("int8", "uint8", "int16")

#: Limits of the warning: number of neighbouring codes that is too few, least number of values, and
#: saturated share of data that were probably not scaled.
_HANDFUL, _LEAST, _MOST = 16, 64, 0.1

#: Values of a batch that are looked at.
_ENOUGH = 2**20


@dataclass(frozen=True)
class Sanity:
    """Statistics of inputs in a network's format.

    Attributes
    ----------
    codes_used, codes : int
        How many different integers the inputs became, and how many there are.
    saturated : float
        Share of the real inputs that lie outside the format, 0..1.
    sentence : str
        The same as a line of text.
    odd : bool
        True if the inputs were probably not scaled as the network expects.
    """

    codes_used: int
    codes: int
    saturated: float
    sentence: str
    odd: bool = False


class Gauge:
    """Looks at the inputs of one tensor, batch after batch.

    Parameters
    ----------
    tensor : ir.tensors.Tensor
        The input of the network.
    """

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor
        self.counted = tensor.dtype in _COUNTED and tensor.spelled is not None
        if self.counted:
            self._first, last = tensor.format.limits
            self._used = np.zeros(last - self._first + 1, bool)
        self._low, self._high = np.inf, -np.inf
        self._values = self._saturated = 0

    def add(self, codes: np.ndarray, real: Optional[np.ndarray] = None) -> None:
        """Look at a batch.

        Parameters
        ----------
        codes : ndarray of the input's integers, any shape
            What the network gets.
        real : ndarray of float, in as many elements, optional
            What was rounded to them; default: the codes were given as such.
        """
        if not self.counted or not codes.size:
            return
        self._used[np.subtract(codes, self._first, dtype=np.int64)] = True
        form = self.tensor.format
        values = form.dequantize(codes) if real is None else real
        self._low = min(self._low, float(values.min()))
        self._high = max(self._high, float(values.max()))
        self._values += codes.size
        if real is not None:
            steps, (least, most) = form.scale_unrounded(real), form.limits
            self._saturated += int(np.count_nonzero((steps < least - 0.5) | (steps > most + 0.5)))

    def merge(self, other: Gauge) -> None:
        """Add the counts of another gauge of the same tensor.

        Parameters
        ----------
        other : Gauge
            The other one.
        """
        if self.counted:
            self._used |= other._used
        self._low, self._high = min(self._low, other._low), max(self._high, other._high)
        self._values += other._values
        self._saturated += other._saturated

    @property
    def enough(self) -> bool:
        """True if enough values were seen for a statement."""
        return not self.counted or self._values >= _LEAST

    def sanity(self) -> Optional[Sanity]:
        """Return a description of the inputs; None if there are no values.

        Returns
        -------
        Sanity or None
            None for types without a number format, and before the first batch.
        """
        if not self.counted or not self._values:
            return None
        used, codes = np.flatnonzero(self._used), self._used.size
        share = self._saturated / self._values
        ends = "{:.4g}..{:.4g}".format(*self.tensor.format.ends)
        lie = f"inputs lie in {self._low:.4g}..{self._high:.4g}"
        held = f"{self.tensor.dtype} holds {ends}"
        told = f"{lie} ({held}): they use {len(used)} of {codes} codes, {share:.2%} saturate"
        few = used[-1] - used[0] < _HANDFUL and self._low < self._high
        odd = self._values >= _LEAST and (bool(few) or share >= _MOST)
        how = ", such as by Preprocessing(scale=1/255)" if share >= _MOST else ""
        asked = f"; were they scaled as in training{how}?"
        return Sanity(len(used), codes, share, told + (asked if odd else ""), odd)


def inspect(tensor: Tensor, codes: np.ndarray, real: Optional[np.ndarray] = None) -> Sanity:
    """Look at one batch.

    Parameters
    ----------
    tensor : ir.tensors.Tensor
        The input of the network, of 8 or 16 bits and with a number format.
    codes : ndarray of the input's integers, any shape
        What the network gets.
    real : ndarray of float, in as many elements, optional
        What was rounded to them; default: the codes were given as such.

    Returns
    -------
    Sanity
        How many codes are used, and how much saturates.
    """
    gauge = Gauge(tensor)
    gauge.add(codes, real)
    return gauge.sanity() or Sanity(0, 0, 0.0, "there are no codes to look at")


def take_few(x: Any) -> Any:
    """Return the first samples of a batch, as many as a check looks at; of several inputs a dict.

    Parameters
    ----------
    x : ndarray or mapping of str to ndarray, shape (N, ...)
        The batch.

    Returns
    -------
    ndarray or dict of str to ndarray
        At least one sample of each input.
    """
    if isinstance(x, Mapping):
        return {name: take_few(part) for name, part in x.items()}
    return x[: max(_ENOUGH // max(x[:1].size, 1), 1)]


def tell(gauge: Gauge) -> None:
    """Log the line of a check, or warn if the inputs are unusual.

    Parameters
    ----------
    gauge : Gauge
        What has looked at the inputs.
    """
    sanity = gauge.sanity()
    if sanity is None:
        return
    line = f"{gauge.tensor.name!r}: {sanity.sentence}"
    if sanity.odd:
        warn(line, InputWarning)
    else:
        LOGGER.info("%s", line)
