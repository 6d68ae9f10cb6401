"""Fit of a network's weights, memory and stack into a chip."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from dataclasses import dataclass

from ..chips import Chip
from ..errors import printable
from ..targets import core_words
from .table import Cell, Table

_KIB = 1024
_COLUMNS = ("memory", "needed", "of_chip", "left", "fits", "what")


@dataclass(frozen=True)
class Fit:
    """Memory that a network needs and that a chip has; Network.fit() returns it.

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
    """

    network: str
    chip: Chip
    weights: int
    buffers: Mapping[str, int]
    stack: int

    @property
    def ram(self) -> int:
        """Bytes of static memory and stack."""
        return sum(self.buffers.values()) + self.stack

    @property
    def fits(self) -> bool:
        """True if all memories suffice; external flash always does."""
        return all(row["fits"] != "no" for row in self.table.records())

    @property
    def table(self) -> Table:
        """A row for flash, one for RAM, and one for its largest block if it has several; bytes."""
        buffers = " + ".join(f"{name} {size:,}" for name, size in self.buffers.items())
        rows = [
            ("flash", self.weights, self.chip.flash, "weights and biases; code is not counted"),
            ("RAM", self.ram, self.chip.ram, f"{buffers} + stack {self.stack:,}"),
        ]
        if self.chip.block < self.chip.ram:
            largest = max(self.buffers.values(), default=0)
            rows.append(("block", largest, self.chip.block, "the largest buffer, in one block"))
        return Table(_COLUMNS, tuple(_row(*row) for row in rows))

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(self._sentence())}</p>{self.table.html()}"

    def text(self) -> str:
        """Return the table for a terminal.

        Returns
        -------
        str
            A sentence, the table, and where the chip's figures come from.
        """
        chip = self.chip
        source = f"{chip.name}: {chip.source}, held against {chip.held}"
        together = "; RAM is all blocks of the chip together" if chip.block < chip.ram else ""
        return f"{self._sentence()}\n\n{self.table.text()}\n\n{source}{together}"

    def csv(self) -> str:
        """Return the table as CSV.

        Returns
        -------
        str
            A line for each memory, after one with the names of the columns.
        """
        return self.table.csv()

    def record(self) -> dict[str, object]:
        """Return what json() holds.

        Returns
        -------
        dict of str to value
            Chip, core, verdict and the rows of the table.
        """
        names = ("core", "source", "held")
        chip = {"chip": self.chip.name, **{name: getattr(self.chip, name) for name in names}}
        return {**chip, "fits": self.fits, "memory": self.table.records()}

    def json(self) -> str:
        """Return the result as JSON.

        Returns
        -------
        str
            One object.
        """
        return json.dumps({"network": self.network, **self.record()}, indent=2)

    def _sentence(self) -> str:
        verb = "fits" if self.fits else "does not fit"
        about = f"{self.chip.maker} {self.chip.name}, {core_words([self.chip.core])}"
        return f"{printable(self.network)} {verb} into {about}"


def _row(memory: str, needed: int, kib: int, what: str) -> tuple[Cell, ...]:
    if not kib:
        return (memory, needed, None, None, "outside", what)
    left = kib * _KIB - needed
    return (memory, needed, kib * _KIB, left, "yes" if left >= 0 else "no", what)
