"""Data of boards: clock, flash, cache, power; and the time to read weights from flash."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Optional

from ..chips import CHIPS
from ..errors import Error
from ..io.arguments import format_value, have
from .counts import Params


@dataclass(frozen=True)
class TimedBoard:
    """A board at the highest clock of its chip, with weights in on-chip flash.

    Attributes
    ----------
    name : str
        The vendor's name, in lower case.
    chip : str
        A chip of chips.CHIPS.
    waits : int
        Wait states of flash at the clock, with the core's highest supply voltage.
    line : int
        Bytes that flash reads at once.
    cache : int
        Bytes of cache that data come through; 0 where they come past it.
    source : str
        The document that says so.
    current : tuple of two float, optional
        Milliamperes that the chip typically takes at that clock while it runs from flash, all else
        switched off, 25 degrees: the least and the most, as prefetch and cache are set. Regulators
        of these chips are linear, so that the voltage hardly changes them.
    measured : str
        The vendor's source, and the voltage if not SUPPLY.
    """

    name: str
    chip: str
    waits: int
    line: int
    cache: int
    source: str
    current: Optional[tuple[float, float]] = None
    measured: str = ""

    @property
    def core(self) -> str:
        """Core of the board's chip."""
        return CHIPS[self.chip].core

    @property
    def clock(self) -> int:
        """MHz, the highest of the chip."""
        return CHIPS[self.chip].clock


_ROWS = (
    (
        *("nucleo-f103rb", "stm32f103c8", 2, 8, 0, "RM0008, PM0075"),
        *((27.0, 27.0), "DS5319 Rev 19, table 17"),
    ),
    (
        *("nucleo-f411re", "stm32f411", 3, 16, 128, "RM0383"),
        *((11.6, 22.5), "DS10314 Rev 8, tables 23 and 25, at 3.6 V"),
    ),
    (
        *("stm32f407g-disc1", "stm32f407", 5, 16, 128, "RM0090"),
        *((40.0, 46.0), "DS8626 Rev 12, tables 20 and 21"),
    ),
    (
        *("stm32f429i-disc1", "stm32f429", 5, 16, 128, "RM0090, DS9405"),
        *((44.0, 57.0), "DS9405 Rev 13, tables 24 and 25"),
    ),
    ("nucleo-f446re", "stm32f446", 5, 16, 128, "RM0390"),
    ("nucleo-l476rg", "stm32l476", 4, 8, 256, "RM0351"),
    ("nucleo-l4r5zi", "stm32l4r5", 5, 8, 256, "RM0432, dual bank"),
    ("nucleo-f746zg", "stm32f746", 7, 32, 4096, "RM0385"),
    ("nucleo-f767zi", "stm32f767", 7, 32, 16384, "RM0410, single bank"),
)

#: Volts that energy is computed with.
SUPPLY = 3.3

#: Name -> board.
BOARDS = {row[0]: TimedBoard(*row) for row in _ROWS}


def get_board(name: str) -> TimedBoard:
    """Return the board of a name, such as "nucleo-l4r5zi", or of the beginning of one."""
    word = "".join(name.lower().split()) if isinstance(name, str) else ""
    found = [known for known in BOARDS if word and known.startswith(word)]
    if len(found) != 1:
        raise Error(f"no board {format_value(name)}; {have(BOARDS, name)}")
    return BOARDS[found[0]]


def count_stalls(board: Optional[TimedBoard], function: str, params: Params, weights: int) -> float:
    """Return the wait cycles for a call's weights, each flash line after the other.

    Layers whose weights do not fit into the cache read them again for every two pixels; those of 1
    x 1 kernels pass two rows of weights over all pixels.
    """
    if board is None:
        return 0.0
    passes = 1.0 if weights <= board.cache else _count_passes(function, params)
    return passes * weights / board.line * board.waits


def _count_passes(function: str, params: Params) -> float:
    """Count the passes of a call over all its weights."""
    if re.match("arm_(depthwise|convolve)", function) is None:
        return float(params.get("batches", 1))
    kernel = [value for name, value in params.items() if re.match("(filter_[hw]|dim_kernel)", name)]
    if max(kernel, default=1) == 1:
        return 1.0
    sides = [v for name, v in params.items() if re.match("(output_[hw]|dim_im_out)", name)]
    pixels = sides[0] * sides[-1]
    return pixels if "depthwise" in function else -(-pixels // 2)
