"""Reports of benchmarks: text, JSON and a chart."""

from __future__ import annotations

import io
import json
import math
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from ..analysis.table import Cell, Table
from ..errors import Error
from ..io.files import check_place, write_bytes
from ..io.optional_deps import require
from ..io.processor import identify_processor
from ..kernels.table import FEATURES, cpu_features
from .peers import peer_versions

#: Suffixes of image files that can be written.
PICTURES = (".png", ".svg", ".pdf")


@dataclass(frozen=True)
class BenchReport:
    """Tables by name ("networks", "kernels"), and notes on missing measurements.

    host: machine and versions of the measurement, by name.
    """

    host: Mapping[str, Cell]
    tables: Mapping[str, Table]
    notes: tuple[str, ...] = ()

    def text(self) -> str:
        """Return the host, the tables, the notes."""
        parts = [spell_host(self.host)]
        parts += [table.text() for table in self.tables.values()]
        return "\n\n".join([*parts, "\n".join(self.notes)]).rstrip()

    def json(self) -> str:
        """Return one object: host, notes, and the rows of each table."""
        tables = {name: table.records() for name, table in self.tables.items()}
        return json.dumps({"host": dict(self.host), "notes": self.notes, **tables}, indent=2)


def describe_host(version: str) -> dict[str, Cell]:
    """Return this machine, its instruction sets in use, all versions, and the date."""
    features = [name for name, feature in FEATURES.items() if cpu_features() & feature]
    return {
        "qemu_nn": version,
        "machine": platform.machine(),
        "processor": identify_processor(),
        "instruction sets": " ".join(features) or "none",
        "Python": platform.python_version(),
        **peer_versions(),
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
    }


def spell_host(facts: Mapping[str, Cell]) -> str:
    """Return the host in one line."""
    return ", ".join(f"{name}: {value}" for name, value in facts.items())


def check_picture(path: Path) -> None:
    """Raise Error, before any work, if a chart cannot be written."""
    if path.suffix not in PICTURES:
        raise Error(f"the image {path} must end in {', '.join(PICTURES)}")
    check_place(path)
    require("matplotlib", "plot", "a picture")


def draw(report: BenchReport, path: Path) -> None:
    """Draw a bar for each row of each table: microseconds with quartiles, on a log axis."""
    from matplotlib.figure import Figure

    lengths = [max(1, len(table.rows)) for table in report.tables.values()]
    figure = Figure(figsize=(9, 1.5 + 0.22 * sum(lengths)), layout="constrained")
    charts = figure.subplots(len(lengths), squeeze=False, height_ratios=lengths)[:, 0]
    for chart, (name, table) in zip(charts, report.tables.items()):
        _draw_bars(chart, name, table.records())
    figure.suptitle(spell_host(report.host), fontsize=9)
    stream = io.BytesIO()
    figure.savefig(stream, format=path.suffix[1:])
    write_bytes(path, stream.getvalue())


def _draw_bars(chart: Any, name: str, records: list[dict[str, Any]]) -> None:
    """Draw one table; bars of one runtime, or of one variant, have one colour."""
    median = "median_us" if name == "networks" else "us"
    labels, colours = [], []
    for record in records:
        if name == "networks":
            what = f"{record['network']}, batch {record['batch']}, threads {record['threads']}"
            labels.append(f"{what}: {record['runtime']}")
            colours.append(record["runtime"])
        else:
            labels.append(f"{record['shape']}: {record['row']}")
            colours.append(record["row"].rpartition(".")[2])
    times = [record[median] for record in records]
    below = [time - record["low_us"] for time, record in zip(times, records)]
    above = [record["high_us"] - time for time, record in zip(times, records)]
    kinds = list(dict.fromkeys(colours))
    chart.barh(
        range(len(times)),
        times,
        xerr=(below, above),
        color=[f"C{kinds.index(colour) % 10}" for colour in colours],
    )
    chart.set_yticks(range(len(labels)), labels, fontsize=6)
    chart.invert_yaxis()
    chart.set_xscale("log")
    chart.set_xlim(left=10.0 ** math.floor(math.log10(min(times))))
    chart.set_xlabel(f"{name}: microseconds (median, quartiles)", fontsize=8)
