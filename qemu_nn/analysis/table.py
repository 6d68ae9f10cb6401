"""A small table: columns and rows, as text for a terminal, as CSV and as JSON."""

from __future__ import annotations

import csv
import html
import io
import json
from dataclasses import dataclass
from typing import Union

from ..errors import cut, printable

Cell = Union[str, int, float, None]

#: Rows of a table in a notebook.
_ROWS = 200


@dataclass(frozen=True)
class Table:
    """Named columns and rows of cells; None is a cell that has no value.

    Raises ValueError where a row does not have one cell for each column.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"{len(self.columns)} columns, but {len(row)} cells: {row}")

    def part(self, *columns: str) -> Table:
        """Some of the columns."""
        indices = [self.columns.index(name) for name in columns]
        return Table(columns, tuple(tuple(row[i] for i in indices) for row in self.rows))

    def text(self) -> str:
        """Aligned for a terminal: numbers to the right, in groups of three; None as '-'.

        Of longer words only the ends are shown.
        """
        lines = [self.columns, *map(_words, self.rows)]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.columns))]
        right = [self._is_numeric(i) for i in range(len(self.columns))]
        lines.insert(1, tuple("-" * width for width in widths))
        padded = (
            "  ".join(
                cell.rjust(width) if to_right else cell.ljust(width)
                for cell, width, to_right in zip(line, widths, right)
            )
            for line in lines
        )
        return "\n".join(line.rstrip() for line in padded)

    def html(self) -> str:
        """For a notebook; of a long table the beginning."""
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.columns)
        body = "".join(
            f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in _words(row))}</tr>"
            for row in self.rows[:_ROWS]
        )
        more = len(self.rows) - _ROWS
        rest = f"<p>and {more:,} more</p>" if more > 0 else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"

    def __repr__(self) -> str:
        return f"<Table of {len(self.rows)} rows: {', '.join(self.columns)}>"

    def _repr_html_(self) -> str:
        return self.html()

    def csv(self) -> str:
        """A header line and a line for each row; words in quotes, None is an empty field."""
        out = io.StringIO()
        writer = csv.writer(out, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(self.rows)
        return out.getvalue().rstrip("\n")

    def records(self) -> list[dict[str, Cell]]:
        """Each row as column -> cell."""
        return [dict(zip(self.columns, row)) for row in self.rows]

    def json(self) -> str:
        """A JSON list with an object for each row; None is null."""
        return json.dumps(self.records(), indent=2)

    def _is_numeric(self, column: int) -> bool:
        cells = [row[column] for row in self.rows if row[column] is not None]
        return bool(cells) and all(isinstance(cell, (int, float)) for cell in cells)


def _words(row: tuple[Cell, ...]) -> tuple[str, ...]:
    """A row as people see it; a long cell is cut before every letter of it is looked at."""
    short = (cut(cell) if isinstance(cell, str) else cell for cell in row)
    return tuple(cut(spell(cell)) for cell in short)


def spell(cell: Cell) -> str:
    """A cell for a terminal."""
    if cell is None:
        return "-"
    return printable(cell) if isinstance(cell, str) else f"{cell:,}"
