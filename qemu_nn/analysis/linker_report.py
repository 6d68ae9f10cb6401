"""Parser for the output of `make report-m4`: flash, RAM and stack of a linked program."""

from __future__ import annotations

import re

from ..errors import Error
from .table import Cell, Table

_COLUMNS = ("memory", "part", "bytes", "what")

#: "flash  code              3508  of the network, its kernels and the C library"
_LINE = re.compile(r"(flash|RAM|)\s+([a-z]+)\s+([0-9]{1,12})(?:\s{2}(.*))?")

#: Parts with sizes known without a compiler, and their names in `info`.
_KNOWN = {("flash", "weights"): "weight_bytes", ("RAM", "arena"): "activation_bytes"}


def find_report_lines(text: str, name: str, facts: dict[str, Cell]) -> Table:
    """Return the lines of such a report in the output of make.

    name: of its file. facts: of the network's summary, which the report must match. Raises Error
    without a report, and for one of a different network or core.
    """
    rows: list[tuple[Cell, ...]] = []
    sizes: dict[tuple[str, str], int] = {}
    memory = ""
    for line in text.splitlines():
        found = _LINE.fullmatch(line.rstrip())
        if found is None or not (found[1] or rows):
            continue
        memory = found[1] or memory
        part = memory, found[2]
        if part in sizes:
            raise Error(f"{name} contains two reports: give the one of this network and core")
        sizes[part] = int(found[3])
        rows.append((*part, sizes[part], found[4] or ""))
    if not {*_KNOWN, ("flash", "all"), ("RAM", "stack"), ("RAM", "all")} <= set(sizes):
        raise Error(f"{name} is not the output of `make report-m4` or the like of an export")
    for part, fact in _KNOWN.items():
        if sizes[part] != facts[fact]:
            raise Error(
                f"{name} is the report of another network or core: {sizes[part]:,} bytes of "
                f"{part[1]} in it, {facts[fact]:,} in this one"
            )
    return Table(_COLUMNS, tuple(rows))
