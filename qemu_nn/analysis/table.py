"""A small table: columns and rows, as text for a terminal, as CSV and as JSON."""

from __future__ import annotations

import csv
import html
import io
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional, Union

from ..errors import printable, shorten_middle
from ..io.files import write_bytes, write_text
from ..io.optional_deps import require
from ..io.terminal import terminal_width
from .short_names import shorten_names

Cell = Union[str, int, float, None]


class Said(str):
    """A text for people, and the value that programs read instead of it in JSON."""

    __slots__ = ("value",)
    value: Any

    def __new__(cls, text: str, value: Any) -> Said:
        """Make a text with a value."""
        said = super().__new__(cls, text)
        said.value = value
        return said

    def __reduce__(self) -> tuple[Any, ...]:
        return Said, (str(self), self.value)


def verdict(true: bool) -> Said:
    """Return yes or no, in JSON true or false."""
    return Said("yes" if true else "no", bool(true))


def shape_cell(shape: Sequence[int]) -> Said:
    """Return a shape such as 8x8x1, in JSON a list."""
    return Said("x".join(map(str, shape)), list(shape))


def values_of(cells: Mapping[str, Cell]) -> dict[str, Any]:
    """Return cells by name as programs read them in JSON."""
    return {name: cell.value if isinstance(cell, Said) else cell for name, cell in cells.items()}


#: First characters of a spreadsheet formula, and blanks that it skips.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")

#: Gap between two columns; least characters of a shortened word in a narrow terminal.
_GAP, _SHORTEST = "  ", 16

#: Rows of a table in a notebook.
_ROWS = 200

#: Columns of layers' names, which differ in the middle, and their displayed length.
_LAYERS, _LONGEST = ("layer", "since"), 40


def json_text(document: Any) -> str:
    """Return a document as JSON; numbers that JSON lacks are the texts NaN, Infinity, -Infinity."""
    return json.dumps(_plain(document), indent=2, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, Said):
        return value.value
    if isinstance(value, Mapping):
        return {str(name): _plain(entry) for name, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    return value if isinstance(value, (str, int, float, type(None))) else str(value)


@dataclass(frozen=True)
class Table:
    """Named columns and rows of cells; None is an empty cell.

    Raises ValueError if a row does not have one cell for each column.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"{len(self.columns)} columns, but {len(row)} cells: {row}")

    def part(self, *columns: str) -> Table:
        """Return some of the columns."""
        indices = [self.columns.index(name) for name in columns]
        return Table(columns, tuple(tuple(row[i] for i in indices) for row in self.rows))

    def text(self, width: Optional[int] = None) -> str:
        """Return the table aligned for a terminal: numbers to the right, in groups of three; None
        as '-'.

        Long words are shortened in the middle; long names of layers get a short name each. A table
        wider than `width`, by default the terminal's, has shorter words. Columns that still do not
        fit follow below, after a copy of the first column.
        """
        width = terminal_width() if width is None else width
        right = [self._is_numeric(i) for i in range(len(self.columns))]
        lines = [self.columns, *self._words(self.rows)]
        if width is not None:
            lines = _shorten_words(lines, right, width)
        return "\n\n".join(_align(lines, right, block) for block in _blocks(lines, width))

    def html(self) -> str:
        """Return HTML for a notebook, of a long table only the first rows."""
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.columns)
        body = "".join(
            f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>"
            for row in self._words(self.rows[:_ROWS])
        )
        more = len(self.rows) - _ROWS
        rest = f"<p>and {more:,} more</p>" if more > 0 else ""
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        return f'<div style="overflow-x:auto">{table}</div>{rest}'

    def __repr__(self) -> str:
        return f"<Table of {len(self.rows)} rows: {', '.join(self.columns)}>"

    def _repr_html_(self) -> str:
        return self.html()

    def csv(self) -> str:
        """Return a header line and a line for each row; words in quotes, None as an empty field.

        An apostrophe precedes a word that a spreadsheet would evaluate as a formula.
        """
        out = io.StringIO()
        writer = csv.writer(out, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
        for row in (self.columns, *self.rows):
            writer.writerow(map(escape_formula, row))
        return out.getvalue().rstrip("\n")

    def to_csv(self, path: Union[str, Path]) -> None:
        """Write the table as a CSV file, as csv() has it."""
        write_text(Path(path), f"{self.csv()}\n")

    def to_pandas(self) -> Any:
        """Return the table as a data frame of pandas; Error if pandas is missing."""
        pandas: Any = require("pandas", "pandas", "a data frame")
        return pandas.DataFrame(self.records(), columns=list(self.columns))

    def to_parquet(self, path: Union[str, Path]) -> None:
        """Write the table as a Parquet file; Error if pyarrow is missing."""
        arrow: Any = require("pyarrow", "parquet", "a Parquet file")
        parquet: Any = require("pyarrow.parquet", "parquet", "a Parquet file")
        columns = {name: self._typed_column(i) for i, name in enumerate(self.columns)}
        buffer = io.BytesIO()
        parquet.write_table(arrow.table(columns), buffer)
        write_bytes(Path(path), buffer.getvalue())

    def cells(self) -> list[dict[str, Cell]]:
        """Return each row as column -> cell."""
        return [dict(zip(self.columns, row)) for row in self.rows]

    def records(self) -> list[dict[str, Any]]:
        """Return each row as column -> value, as JSON has it: shapes are lists, verdicts truth
        values.
        """
        return [values_of(row) for row in self.cells()]

    def json(self) -> str:
        """Return a JSON list with an object for each row; None is null."""
        return json_text(self.records())

    def _words(self, rows: Iterable[tuple[Cell, ...]]) -> list[tuple[str, ...]]:
        """Return the displayed rows; long cells are cut before they are measured."""
        where = [i for i, name in enumerate(self.columns) if name in _LAYERS]
        names = [str(row[i]) for row in self.rows for i in where if row[i] is not None]
        short = shorten_names(names, _LONGEST) if max(map(len, names), default=0) > _LONGEST else {}

        def word(cell: Cell, number: int) -> str:
            text = short.get(cell, cell) if number in where and isinstance(cell, str) else cell
            return shorten_middle(spell(shorten_middle(text) if isinstance(text, str) else text))

        return [tuple(word(cell, i) for i, cell in enumerate(row)) for row in rows]

    def _typed_column(self, column: int) -> list[Any]:
        """Return a column's values if they are numbers, texts or lists; else its texts."""
        cells = [row[column] for row in self.rows]
        values = [cell.value if isinstance(cell, Said) else cell for cell in cells]
        kinds = {type(value) for value in values if value is not None}
        if kinds == {int, float}:
            return [None if value is None else float(value) for value in values]
        if len(kinds) <= 1 and dict not in kinds:
            return values
        return [None if cell is None else str(cell) for cell in cells]

    def _is_numeric(self, column: int) -> bool:
        cells = [row[column] for row in self.rows if row[column] is not None]
        return bool(cells) and all(isinstance(cell, (int, float)) for cell in cells)


#: The cells of a line.
_Line = tuple[str, ...]


def _widths(lines: Sequence[_Line]) -> list[int]:
    return [max(map(len, column)) for column in zip(*lines)]


def _shorten_words(lines: list[_Line], right: Sequence[bool], width: int) -> list[_Line]:
    """Return lines with words shortened until all columns fit a width; unchanged if no
    length fits.
    """
    keys = _keys(lines)
    for longest in range(_LONGEST, _SHORTEST - 1, -1):
        cells = (
            tuple(
                cell if right[i] or i in keys else shorten_middle(cell, longest)
                for i, cell in enumerate(line)
            )
            for line in lines[1:]
        )
        shorter = [lines[0], *cells]
        if sum(_widths(shorter)) + len(_GAP) * (len(right) - 1) <= width:
            return shorter
    return lines


def _blocks(lines: Sequence[_Line], width: Optional[int]) -> Iterator[list[int]]:
    """Yield groups of columns that fit a width; each group begins with the keys."""
    keys, widths = _keys(lines), _widths(lines)
    block: list[int] = []
    for column in range(len(widths)):
        used = sum(widths[i] + len(_GAP) for i in (*block, column)) - len(_GAP)
        if width is not None and used > width and len(block) > len(keys):
            yield block
            block = list(keys)
        block.append(column)
    yield block


def _keys(lines: Sequence[_Line]) -> list[int]:
    """Return the columns that name the rows."""
    return [0, 1] if lines[0][:1] == ("#",) else [0]


def _align(lines: Sequence[_Line], right: Sequence[bool], block: Sequence[int]) -> str:
    """Return some columns of lines, with a line of dashes after the first."""
    widths = _widths(lines)
    dashes = tuple("-" * width for width in widths)
    padded = (
        _GAP.join(line[i].rjust(widths[i]) if right[i] else line[i].ljust(widths[i]) for i in block)
        for line in (lines[0], dashes, *lines[1:])
    )
    return "\n".join(line.rstrip() for line in padded)


def escape_formula(cell: Cell) -> Cell:
    """Return a cell for a CSV file; an apostrophe precedes a word that begins a formula."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell


def spell(cell: Cell) -> str:
    """Return a cell for a terminal."""
    if cell is None:
        return "-"
    return printable(cell) if isinstance(cell, str) else f"{cell:,}"
