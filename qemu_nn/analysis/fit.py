"""Fit of a network's weights, memory and stack into a chip."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Optional

from ..chips import Chip
from ..errors import printable
from ..ir.tflm_memory import TflmMemory
from ..targets import core_words
from .result import TableResult
from .table import Cell, Said, Table, verdict

_KIB = 1024
_COLUMNS = ("memory", "needed", "of_chip", "left", "fits", "what")
_FITS = _COLUMNS.index("fits")


@dataclass(frozen=True)
class Fit(TableResult):
    """Memory of a network compared with a chip's; Network.fit() returns it.

    Attributes
    ----------
    network : str
        The name of the network.
    chip : chips.Chip
        The chip.
    weights : int
        Bytes of weights and biases, which lie in flash.
    buffers : mapping of str to int
        Bytes of static memory by name, scratch included, as exported firmware has them.
    stack : int
        Bytes reserved for the stack.
    tflm : ir.tflm_memory.TflmMemory or None
        Memory of the .tflite file in TensorFlow Lite Micro.
    """

    network: str
    chip: Chip
    weights: int
    buffers: Mapping[str, int]
    stack: int
    tflm: Optional[TflmMemory] = None

    @property
    def ram(self) -> int:
        """Bytes of static memory and stack."""
        return sum(self.buffers.values()) + self.stack

    @property
    def fits(self) -> bool:
        """True if all memories suffice for exported firmware; external flash always does."""
        return not any(row[_FITS] == "no" for row in self._list_exported())

    @property
    def fits_tflm(self) -> Optional[bool]:
        """True if all memories suffice for TensorFlow Lite Micro; None without a file."""
        rows = self._list_interpreted()
        return not any(row[_FITS] == "no" for row in rows) if rows else None

    def table(self) -> Table:
        """Return a row for each memory.

        Returns
        -------
        Table
            Flash, RAM, and its largest block if it has several, of exported firmware and of
            TensorFlow Lite Micro; bytes.
        """
        return Table(_COLUMNS, (*self._list_exported(), *self._list_interpreted()))

    def _list_exported(self) -> tuple[tuple[Cell, ...], ...]:
        buffers = " + ".join(f"{name} {size:,}" for name, size in self.buffers.items())
        rows = [
            ("flash", self.weights, self.chip.flash, "weights and biases; code is not counted"),
            ("RAM", self.ram, self.chip.ram, f"{buffers} + stack {self.stack:,}"),
        ]
        if self.chip.block < self.chip.ram:
            largest = max(self.buffers.values(), default=0)
            rows.append(("block", largest, self.chip.block, "the largest buffer, in one block"))
        return tuple(_row(*row) for row in rows)

    def _list_interpreted(self) -> tuple[tuple[Cell, ...], ...]:
        memory, chip = self.tflm, self.chip
        if memory is None:
            return ()
        what = f"head {memory.head:,} + tail {memory.tail:,} + stack {self.stack:,}"
        rows = [
            ("flash, TFLM", memory.file, chip.flash, "the .tflite file; code is not counted"),
            ("RAM, TFLM", memory.arena + self.stack, chip.ram, what),
        ]
        if chip.block < chip.ram:
            rows.append(("block, TFLM", memory.arena, chip.block, "the arena, in one block"))
        return tuple(_row(*row) for row in rows)

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(self._sentence())}</p>{self.table().html()}"

    def text(self) -> str:
        """Return the table for a terminal.

        Returns
        -------
        str
            A sentence, the table, and where the chip's figures come from.
        """
        chip = self.chip
        checked = f", cross-checked with {chip.cross_check}" if chip.cross_check else ""
        source = f"{chip.name}: {chip.source}{checked}"
        together = "; RAM is all blocks of the chip together" if chip.block < chip.ram else ""
        note = f"\n{chip.name}: {chip.note}" if chip.note else ""
        return f"{self._sentence()}\n\n{self.table().text()}\n\n{source}{together}{note}"

    def to_dict(self) -> dict[str, Any]:
        """Return the result as numbers, texts, lists and dictionaries.

        Returns
        -------
        dict
            Network, chip, core, verdict and the rows of the table.
        """
        names = ("core", "source", "cross_check")
        chip = {"chip": self.chip.name, **{name: getattr(self.chip, name) for name in names}}
        verdicts = {"fits": self.fits, "fits_tflm": self.fits_tflm}
        return {"network": self.network, **chip, **verdicts, "memory": self.table().records()}

    def _sentence(self) -> str:
        verb = "fits" if self.fits else "does not fit"
        about = f"{self.chip.vendor} {self.chip.name}".strip()
        told = f"{printable(self.network)} {verb} into {about}, {core_words([self.chip.core])}"
        if self.fits_tflm is None:
            return told
        also = "fits" if self.fits_tflm else "does not fit"
        return f"{told}, as exported C; in TensorFlow Lite Micro it {also}"


def _row(memory: str, needed: int, kib: int, what: str) -> tuple[Cell, ...]:
    if not kib:
        return (memory, needed, None, None, Said("outside", None), what)
    left = kib * _KIB - needed
    return (memory, needed, kib * _KIB, left, verdict(left >= 0), what)
