"""Charts of the pages, drawn from committed figures: `python docs/charts.py` writes docs/charts."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from html import escape
from pathlib import Path

DOCS = Path(__file__).parent
BASELINE = DOCS.parent / "benchmarks" / "baselines" / "xeon_amx.json"

#: A row of a chart: its name, and a value for each series (None: no bar).
Row = tuple[str, list["float | None"]]

LEFT, WIDTH, BAR, GAP, TOP = 220, 440, 13, 12, 46
COLORS = ("#0969da", "#bf8700", "#1a7f37", "#8250df")


@dataclass(frozen=True)
class Chart:
    """A grouped bar chart: a title, the names of its series, a unit, and rows."""

    title: str
    series: list[str]
    unit: str
    rows: list[Row]

    def svg(self) -> str:
        """Return the chart as SVG, in colors that light and dark pages can show."""
        most = max(value for _, values in self.rows for value in values if value is not None)
        parts, y = self._head(), TOP
        for name, values in self.rows:
            middle = y + len(values) * BAR / 2 + 4
            parts.append(
                f'<text x="{LEFT - 8}" y="{middle:g}" text-anchor="end">{escape(name)}</text>'
            )
            for color, value in zip(COLORS, values):
                if value is not None:
                    parts.append(_bar(y, WIDTH * value / most, color, f"{value:g}{self.unit}"))
                y += BAR
            y += GAP
        size = f'viewBox="0 0 {LEFT + WIDTH + 70} {y}"'
        style = 'font-family="system-ui, sans-serif" font-size="12" fill="#6e7781"'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style} role="img">'
        return "\n".join([head, *parts, "</svg>", ""])

    def _head(self) -> list[str]:
        """Return the title and the legend."""
        parts = [f"<title>{escape(self.title)}</title>"]
        parts.append(f'<text x="0" y="14" font-size="14">{escape(self.title)}</text>')
        for number, (name, color) in enumerate(zip(self.series, COLORS)):
            x = LEFT + number * 130
            parts.append(f'<rect x="{x}" y="24" width="11" height="11" fill="{color}"/>')
            parts.append(f'<text x="{x + 16}" y="34">{escape(name)}</text>')
        return parts


def _bar(y: int, length: float, color: str, label: str) -> str:
    """Return a bar with its label to the right."""
    size = f'y="{y}" width="{length:.1f}" height="{BAR - 2}"'
    text = f'<text x="{LEFT + length + 6:.1f}" y="{y + BAR - 3}">{label}</text>'
    return f'<rect x="{LEFT}" {size} fill="{color}"/>{text}'


def table(page: str, first_cell: str) -> list[list[str]]:
    """Return the rows of the table of a page whose heading begins with a cell."""
    text = (DOCS / page).read_text(encoding="utf-8")
    lines = text[text.index(f"| {first_cell} |") :].split("\n\n", 1)[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def number(cell: str) -> float | None:
    """Return the first number of a cell of a table; None if there is none."""
    found = re.search(r"-?\d+(?:\.\d+)?", cell)
    return float(found[0]) if found else None


def benchmarks() -> Chart:
    """Return the time of other runtimes divided by the time of this package."""
    networks: dict[str, dict[str, float]] = {}
    for record in json.loads(BASELINE.read_text(encoding="utf-8"))["networks"]:
        if record["batch"] == record["threads"] == 1:
            networks.setdefault(record["network"], {})[record["runtime"]] = record["times_ours"]
    peers = ["LiteRT", "ONNX Runtime"]
    rows = [
        (name, [round(times[peer], 1) for peer in peers])
        for name, times in networks.items()
        if all(peer in times for peer in peers)
    ]
    title = "Time of other runtimes / time of qemu_nn, one sample, one thread"
    return Chart(title, peers, "x", rows)


def cycles() -> Chart:
    """Return how many functions have instruction counts within an error, by core."""
    figures = [[number(cell) for cell in row[1:]] for row in table("cycles.md", "function")[1:]]
    limits = (0.1, 0.5, 1.0, 3.0, 100.0)
    rows: list[Row] = []
    for low, high in zip((-1.0, *limits), limits):
        name = f"{max(low, 0):g} to {high:g} %" if high < 100 else f"more than {low:g} %"
        counts = [
            sum(row[core] is not None and low < row[core] <= high for row in figures)
            for core in range(3)
        ]
        rows.append((name, [float(count) for count in counts]))
    title = "Functions by the error of their estimated instructions (9 of 10 unseen calls)"
    return Chart(title, ["Cortex-M3", "Cortex-M4", "Cortex-M55"], "", rows)


def quantizing() -> Chart:
    """Return the signal-to-noise ratio of quantizers on the same networks."""
    rows = [
        (name, [number(cell) for cell in cells[:4]])
        for name, *cells in table("quantizing.md", "network | ONNX Runtime")
    ]
    series = ["ONNX Runtime", "torchao", "effort fast", "effort best"]
    return Chart("Signal-to-noise ratio of the scores, int8", series, " dB", rows)


CHARTS = {"benchmarks": benchmarks, "cycles": cycles, "quantizing": quantizing}


def write(folder: Path) -> None:
    """Write every chart to a folder."""
    folder.mkdir(exist_ok=True)
    for name, draw in CHARTS.items():
        (folder / f"{name}.svg").write_text(draw().svg(), encoding="utf-8")


if __name__ == "__main__":
    write(DOCS / "charts")
