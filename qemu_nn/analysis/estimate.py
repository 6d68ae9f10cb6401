"""Estimated time of a network on a device, by layer and in total."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .charts import BarChart, Chart, Charted, join_svg
from .result import TableResult
from .summary import format_facts
from .table import Cell, Table, values_of
from .table_layout import narrow_table


@dataclass(frozen=True, eq=False)
class Estimate(Charted, TableResult):
    """Instructions and cycles of a network on a device; estimate() returns it.

    Attributes
    ----------
    facts : mapping of str to value
        Facts about the whole: instructions, cycles, milliseconds, and what they hold for.
    layers : Table
        A row for each layer; None where nothing is known of a layer's function.
    instructions, low, high : int
        Of an inference on uniformly random data, and the range whatever the data are, without
        the layers that nothing is known of.
    cycles : tuple of three int
        Least, usual and most cycles of an inference.
    """

    facts: Mapping[str, Cell]
    layers: Table
    instructions: int
    low: int
    high: int
    cycles: tuple[int, int, int]

    def __repr__(self) -> str:
        return f"Estimate\n{format_facts(self.facts)}"

    def _repr_html_(self) -> str:
        shown = f"<pre>{html.escape(repr(self))}</pre>{join_svg(self.charts())}"
        return f"{shown}{self.layers.html()}"

    def charts(self) -> list[Chart]:
        """Return the cycles of each layer whose function has counts.

        Returns
        -------
        list of chart
            svg() draws it, least and most as a line across each bar.
        """
        rows = [row for row in self.layers.records() if row["cycles"] is not None]
        names = tuple(str(row["layer"]) for row in rows)
        usual = tuple(float(row["cycles"]) for row in rows)
        ranges = tuple((float(row["least"]), float(row["most"])) for row in rows)
        return [BarChart("Cycles, least to most as a line", names, usual, ranges)]

    def text(self, full: bool = False) -> str:
        """Return the estimate for a terminal.

        Parameters
        ----------
        full : bool, default False
            Every column, however wide; without it at most 120 columns, with short names.

        Returns
        -------
        str
            The table, then a line for each fact.
        """
        table = self.layers if full else narrow_table(self.layers)
        return f"{table.text()}\n\n{format_facts(self.facts)}"

    def table(self) -> Table:
        """Return a row for each layer.

        Returns
        -------
        Table
            The layers.
        """
        return self.layers

    def to_dict(self) -> dict[str, Any]:
        """Return the estimate as numbers, texts, lists and dictionaries.

        Returns
        -------
        dict
            The facts, totals as numbers, and the list of layers.
        """
        least, usual, most = self.cycles
        cycles = {"least_cycles": least, "cycles": usual, "most_cycles": most}
        total = {"instructions": self.instructions, "low": self.low, "high": self.high, **cycles}
        return {**values_of(self.facts), **total, "layers": self.layers.records()}
