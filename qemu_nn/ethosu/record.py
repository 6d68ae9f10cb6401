"""The record that vela writes of a compilation: which operation came from which operator.

`NAME_debug.xml` (`--enable-debug-db`) holds tables of comma-separated values; `NAME_summary_*.csv`
has figures of the whole network.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

from ..errors import ModelError
from ..io.files import read_bytes

#: Most bytes of a record.
_LIMIT = 2**28

#: End of the name of vela's file, and of that of its record.
_COMPILED, RECORD = "_vela", "_debug.xml"

_TABLE = re.compile(r'<table name="(\w+)">\s*<!\[CDATA\[\s*(.*?)\]\]>', re.DOTALL)


@dataclass(frozen=True)
class Recorded:
    """An operation as vela scheduled it.

    operator: number of the operator in the first graph of the original file, or -1. tensor: name of
    its output. sides: rows, columns and channels of the output. cycles: vela's estimate. fused:
    true if it also computes a following operator. vela writes the last three and the name for one
    graph of a file only.
    """

    operator: int
    tensor: str = ""
    sides: tuple[int, int, int] = (0, 0, 0)
    cycles: int = 0
    fused: bool = False


@dataclass(frozen=True)
class Record:
    """The record of a compilation.

    streams: of each command stream the words that start operations -> key of the operation.
    operations: key -> operation.
    """

    streams: tuple[Mapping[int, str], ...]
    operations: Mapping[str, Recorded]

    def sum_cycles(self) -> dict[int, int]:
        """Return operator of the original file -> vela's estimate of its cycles."""
        total: dict[int, int] = {}
        for each in self.operations.values():
            total[each.operator] = total.get(each.operator, 0) + each.cycles
        return total


def find_record(compiled: Path) -> Optional[Path]:
    """Return vela's record next to its file; None if there is none."""
    name = compiled.stem
    stem = name[: -len(_COMPILED)] if name.endswith(_COMPILED) else name
    path = compiled.with_name(f"{stem}{RECORD}")
    return path if path.is_file() else None


def read_record(path: Path) -> Record:
    """Read `NAME_debug.xml`; raise ModelError if it is damaged."""
    text = read_bytes(path, _LIMIT).decode("utf-8", "replace")
    try:
        tables = {
            match[1]: list(csv.DictReader(io.StringIO(match[2]))) for match in _TABLE.finditer(text)
        }
        return Record(_read_streams(tables), _read_operations(tables))
    except (KeyError, ValueError, IndexError, TypeError, csv.Error) as error:
        raise ModelError(
            f"{path.name} is no record of vela, or it is damaged: {error!r}; compile with "
            "--enable-debug-db --verbose-performance"
        ) from None


_Tables = Mapping[str, list[dict[str, str]]]


def _read_streams(tables: _Tables) -> tuple[dict[int, str], ...]:
    streams: list[dict[int, str]] = [{} for _ in tables.get("cmdstream", ())]
    for row in tables.get("queue", ()):
        words, left = divmod(int(row["offset"]), 4)
        if left or int(row["cmdstream_id"]) < 1:
            raise ValueError(f"offset {row['offset']}")
        streams[int(row["cmdstream_id"]) - 1][words] = row["scheduled_id"]
    return tuple(streams)


def _read_operators(tables: _Tables) -> dict[str, int]:
    """Return key of a source -> its number in the first graph; the numbers of each graph rise."""
    found: dict[str, int] = {}
    last = -1
    for row in tables["source"]:
        number = int(row["ext_key"])
        if number <= last:
            break
        found[row["id"]] = last = number
    return found


def _find_fused(tables: _Tables) -> set[str]:
    """Return the keys of operations that also compute another operator.

    An operation that is not in the queue is a part of the one before it in its group.
    """
    queued = {row["scheduled_id"] for row in tables.get("queue", ())}
    groups = {row["id"]: row["group_id"] for row in tables.get("group", ())}
    found: set[str] = set()
    last: dict[str, dict[str, str]] = {}
    for row in tables.get("perf", ()):
        group = groups.get(row["id"], row["id"])
        if row["id"] in queued:
            last[group] = row
        elif group in last and last[group]["source_id"] != row["source_id"]:
            found.add(last[group]["id"])
    return found


def _read_operations(tables: _Tables) -> dict[str, Recorded]:
    operators = _read_operators(tables)
    origins = {row["id"]: operators.get(row["source_id"], -1) for row in tables["optimised"]}
    rows = {row["id"]: row for row in tables.get("perf", ())}
    sides = {
        row["id"]: (
            int(row["ofm_shape_n"]) * int(row["ofm_shape_h"]),
            int(row["ofm_shape_w"]),
            int(row["ofm_shape_c"]),
        )
        for row in tables.get("perf_debug", ())
    }
    fused = _find_fused(tables)
    found = {
        row["scheduled_id"]: Recorded(origins.get(row["optimised_id"], -1))
        for row in tables.get("queue", ())
    }
    for key, row in rows.items():
        number = operators.get(row["source_id"], -1)
        size = sides.get(key, (0, 0, 0))
        found[key] = Recorded(number, row["name"], size, int(row["op_cycles"]), key in fused)
    return found


def read_summary(folder: Path, name: str) -> Optional[dict[str, str]]:
    """Return the figures of `NAME_summary_*.csv` as texts; None if there is no such file."""
    for path in sorted(folder.glob(f"{name.replace('[', '[[]')}_summary_*.csv")):
        rows = list(csv.DictReader(io.StringIO(read_bytes(path, _LIMIT).decode("utf-8"))))
        if rows:
            return {key: value for key, value in rows[-1].items() if key and value}
    return None


#: An operator in vela's text, and the reason why the NPU does not compute it.
_REFUSED = re.compile(
    r"Warning \(supported operators\) operator: (\w+), ofm: '(.*?)'\s*"
    r"Reason: (.*?)\n(?=\s*\n|Warn)",
    re.DOTALL,
)


def read_reasons(text: str) -> dict[str, tuple[str, str]]:
    """Return name of the output -> operator and reason, of operators that stay on the core."""
    return {
        match[2]: (match[1], " ".join(match[3].split()).rstrip("."))
        for match in _REFUSED.finditer(f"{text}\n\n")
    }
