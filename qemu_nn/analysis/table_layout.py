"""Tables of layers that fit a terminal: numbered, with short names and few columns."""

from __future__ import annotations

from ..errors import shorten_middle
from ..io.terminal import terminal_width
from .short_names import shorten_names
from .table import Cell, Table, spell

#: Characters of a line; longest name of a layer, and least length of shortened names.
WIDTH, _LONGEST, _SHORTEST = 120, 40, 12

#: Column -> its name here, and the most characters of a cell.
_COLUMNS = {
    "function": ("operator", 26),
    "operator": ("operator", 26),
    "reads": ("reads", 20),
    "output": ("output", 20),
    "format": ("format", 22),
    "macs": ("macs", 13),
    "weight_bytes": ("weights", 11),
    "parameters": ("parameters", 13),
    "instructions": ("instructions", 13),
    "least": ("cycles from", 13),
    "cycles": ("usual", 13),
    "most": ("to", 13),
    "share": ("share", 6),
    "milliseconds": ("ms", 9),
    "place": ("on", 6),
    "operations": ("NPU operations", 14),
    "vela_cycles": ("vela's cycles", 13),
    "reason": ("reason", 40),
}


def narrow_table(layers: Table) -> Table:
    """Return a table of layers in 120 columns: the first column numbered and shortened, and
    _COLUMNS.
    """
    columns = [name for name in layers.columns if name in _COLUMNS]
    rest = Table(
        tuple(_COLUMNS[name][0] for name in columns),
        tuple(
            tuple(_format_cell(name, value) for name, value in zip(columns, row))
            for row in layers.part(*columns).rows
        ),
    )
    names = [str(row[0]) for row in layers.rows]
    others = max(map(len, rest.text().splitlines())) + len(f"{len(names)}") + 2 * 2
    width = min(WIDTH, terminal_width() or WIDTH)
    short = shorten_names(names, max(_SHORTEST, min(_LONGEST, width - others)))
    rows = ((i, short[name], *row) for i, (name, row) in enumerate(zip(names, rest.rows)))
    return Table(("#", "layer", *rest.columns), tuple(rows))


def _format_cell(column: str, value: Cell) -> Cell:
    if isinstance(value, str):
        text = value[len("arm_") :] if value.startswith("arm_") else value
        return shorten_middle(spell(text), _COLUMNS[column][1])
    return value
