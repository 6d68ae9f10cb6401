"""The table of chips that users read."""

from __future__ import annotations

from dataclasses import astuple, fields

from ..chips import CHIPS, Chip
from .table import Table


def make_chip_table() -> Table:
    """Return a row for each chip; memories in KiB, the clock in MHz."""
    units = {
        "flash": "flash_kib",
        "ram": "ram_kib",
        "block": "block_kib",
        "psram": "psram_kib",
        "clock": "clock_mhz",
        "name": "chip",
    }
    columns = tuple(units.get(field.name, field.name) for field in fields(Chip))
    return Table(columns, tuple(astuple(chip) for chip in CHIPS.values()))
