"""Charts of figures: inline SVG for notebooks and pages, and the same drawn by matplotlib."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Optional, Union

import numpy as np

from ..errors import printable
from ..io.optional_deps import require
from .short_names import shorten_names
from .table import Table

#: Colours that can be told apart on white and on black.
_BLUE, _PALE, _RED = "#4c83d6", "#8fb3e8", "#d9603b"

#: Width of a chart and of the names at its left; height of a bar and of a cell, pixels.
_WIDTH, _NAMES, _BAR = 720, 190, 18

#: Characters of a name; bars, rows and columns that a chart shows at most.
_LONGEST, _MOST = 26, 64

#: Costs of a curve of quantize(), in the order of preference.
_COSTS = ("flash", "ram", "cycles")

#: Place of the plotted area of a chart with two axes: left, top, width, height.
_AREA = (70.0, 42.0, 630.0, 200.0)


@dataclass(frozen=True)
class BarChart:
    """A bar for each name; a value that is not finite has none.

    ranges: least and most of each, drawn as a thin line. seconds: values of a second, paler bar.
    legend: the names of both.
    """

    title: str
    names: tuple[str, ...]
    values: tuple[float, ...]
    ranges: tuple[tuple[float, float], ...] = ()
    seconds: tuple[float, ...] = ()
    legend: tuple[str, str] = ("", "")

    def svg(self) -> str:
        """Return the chart as SVG."""
        most = self._find_most()
        full = _WIDTH - _NAMES - 90
        parts, names = [], _shorten(self.names[:_MOST])
        for row, (name, value) in enumerate(zip(names, self.values)):
            y = 30 + row * (_BAR + 4)
            parts.append(_text(_NAMES - 8, y + 13, name, "end"))
            bars = [(value, _BLUE)]
            if self.seconds:
                bars.append((self.seconds[row], _PALE))
            for at, (length, colour) in enumerate(bars):
                height = _BAR / len(bars)
                parts.append(
                    _rect(_NAMES, y + at * height, _scale(length, most) * full, height, colour)
                )
            if self.ranges:
                low, high = (_scale(end, most) * full for end in self.ranges[row])
                parts.append(_line(_NAMES + low, y + _BAR / 2, _NAMES + high, y + _BAR / 2))
            parts.append(_text(_WIDTH - 84, y + 13, _number(value)))
        notes = _tell_rest(len(self.names))
        if self.seconds:
            notes = f"dark: {self.legend[0]}; pale: {self.legend[1]}. {notes}"
        return _draw_svg(self.title, parts, 34 + len(names) * (_BAR + 4), notes)

    def draw(self, axes: Any) -> None:
        """Draw the chart into the axes of matplotlib."""
        places = np.arange(len(self.values))
        half = 0.4 if self.seconds else 0.8
        shown = [value if math.isfinite(value) else 0.0 for value in self.values]
        axes.barh(places, shown, half, color=_BLUE, label=self.legend[0] or None)
        if self.seconds:
            paler = [value if math.isfinite(value) else 0.0 for value in self.seconds]
            axes.barh(places + half, paler, half, color=_PALE, label=self.legend[1])
            axes.legend()
        if self.ranges:
            low, high = np.array(self.ranges).T
            axes.hlines(places, low, high, color="black", linewidth=1)
        axes.set_yticks(places, _shorten(self.names))
        axes.invert_yaxis()
        axes.set_title(self.title)

    def _find_most(self) -> float:
        ends = (end for pair in self.ranges for end in pair)
        every = [n for n in (*self.values, *self.seconds, *ends) if math.isfinite(n)]
        return max(every, default=1.0) or 1.0


@dataclass(frozen=True)
class GridChart:
    """A cell for each row and column, darker for larger values; a row or column has a name each.

    diagonal: cells off the diagonal are errors, in another colour. wide: cells show no numbers.
    """

    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: np.ndarray
    diagonal: bool = False
    wide: bool = False

    def svg(self) -> str:
        """Return the chart as SVG."""
        values = np.asarray(self.values, np.float64)[:_MOST, :_MOST]
        most = float(values.max(initial=0)) or 1.0
        names = _shorten(self.rows[:_MOST])
        cell = min(40.0, (_WIDTH - _NAMES) / max(values.shape[1], 1))
        height = _BAR if self.wide else cell
        parts = [
            _text(_NAMES + (x + 0.5) * cell, 44, name, "middle")
            for x, name in enumerate(_shorten(self.columns[:_MOST], max(2, int(cell / 7))))
        ]
        for y, name in enumerate(names):
            top = 52 + y * height
            parts.append(_text(_NAMES - 8, top + height / 2 + 4, name, "end"))
            for x, value in enumerate(values[y]):
                if value:
                    colour = _RED if self.diagonal and x != y else _BLUE
                    left, share = _NAMES + x * cell, 0.15 + 0.85 * value / most
                    parts.append(_rect(left, top, cell - 1, height - 1, colour, share))
                    if not self.wide and cell >= 18:
                        middle = (left + cell / 2, top + height / 2 + 4)
                        parts.append(_text(*middle, _number(value), "middle"))
        notes = _tell_rest(max(len(self.rows), len(self.columns)))
        return _draw_svg(self.title, parts, 60 + len(names) * height, notes)

    def draw(self, axes: Any) -> None:
        """Draw the chart into the axes of matplotlib."""
        axes.imshow(self.values, cmap="Blues", aspect="auto" if self.wide else "equal")
        axes.set_xticks(range(len(self.columns)), _shorten(self.columns, 8))
        axes.set_yticks(range(len(self.rows)), _shorten(self.rows))
        axes.set_title(self.title)


@dataclass(frozen=True)
class LineChart:
    """A line through points in the order of x; names: of x and of y."""

    title: str
    names: tuple[str, str]
    x: tuple[float, ...]
    y: tuple[float, ...]

    def svg(self) -> str:
        """Return the chart as SVG."""
        left, top, width, height = _AREA
        ends = [(min(axis), max(axis)) for axis in (self.x, self.y)]
        points = [
            (left + _share(x, ends[0]) * width, top + (1 - _share(y, ends[1])) * height)
            for x, y in zip(self.x, self.y)
        ]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts = [f'<polyline points="{path}" fill="none" stroke="{_BLUE}" stroke-width="2"/>']
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{_BLUE}"/>' for x, y in points]
        parts += _frame(self.names, ends)
        return _draw_svg(self.title, parts, top + height + 45)

    def draw(self, axes: Any) -> None:
        """Draw the chart into the axes of matplotlib."""
        axes.plot(self.x, self.y, marker="o", color=_BLUE)
        axes.set_xlabel(self.names[0])
        axes.set_ylabel(self.names[1])
        axes.set_title(self.title)


@dataclass(frozen=True)
class Block:
    """Bytes start to end of a memory, in use from one moment to another, both included."""

    name: str
    first: int
    last: int
    start: int
    end: int


@dataclass(frozen=True)
class MemoryChart:
    """Blocks of a memory over the moments of a run; most: the bytes of the whole."""

    title: str
    moments: tuple[str, ...]
    blocks: tuple[Block, ...]
    most: int

    def svg(self) -> str:
        """Return the chart as SVG; each block shows its name where a mouse points at it."""
        left, top, width, height = _AREA
        step, scale = width / max(len(self.moments), 1), height / max(self.most, 1)
        parts = []
        for number, block in enumerate(self.blocks):
            x, y = left + block.first * step, top + height - block.end * scale
            tall, wide = (block.end - block.start) * scale, (block.last - block.first + 1) * step
            last = self.moments[min(block.last, len(self.moments) - 1)]
            told = (
                f"{block.name}: bytes {block.start:,} to {block.end:,}, "
                f"from {self.moments[block.first]} to {last}"
            )
            shape = _rect(
                x, y, max(wide - 1, 0.5), max(tall - 0.5, 0.5), (_BLUE, _PALE)[number % 2]
            )
            parts.append(f"<g><title>{_escape(told)}</title>{shape}</g>")
        parts += _frame(("call", "bytes"), [(0, len(self.moments) - 1), (0, self.most)])
        return _draw_svg(self.title, parts, top + height + 45)

    def draw(self, axes: Any) -> None:
        """Draw the chart into the axes of matplotlib."""
        for number, block in enumerate(self.blocks):
            length, size = block.last - block.first + 1, block.end - block.start
            colour = (_BLUE, _PALE)[number % 2]
            axes.bar(
                block.first,
                size,
                length,
                block.start,
                align="edge",
                color=colour,
                edgecolor="white",
            )
        axes.set_xlabel("call")
        axes.set_ylabel("bytes")
        axes.set_title(self.title)


Chart = Union[BarChart, GridChart, LineChart, MemoryChart]


class Charted:
    """Result that has charts."""

    def charts(self) -> list[Chart]:
        """Return the charts of the result; svg() draws each."""
        raise NotImplementedError

    def plot(self) -> Any:
        """Draw charts() by matplotlib.

        Returns
        -------
        matplotlib.figure.Figure
            A new figure of pyplot.

        Raises
        ------
        Error
            There are no charts, or matplotlib is missing.
        """
        return plot_charts(self.charts())


def chart_curves(table: Table) -> list[LineChart]:
    """Return the charts of a curve: of quantize(), accuracy, or else dB, against each cost that
    changes; of fine_tune(), what unseen samples give after each epoch.
    """
    if "epoch" in table.columns:
        return [_chart_epochs(table)]
    rows = table.records()
    costs = [name for name in _COSTS if len({row[name] for row in rows}) > 1]
    return [_chart_cost(table, cost) for cost in costs or _COSTS[:1]]


def _chart_cost(table: Table, cost: str) -> LineChart:
    """Return accuracy, or else dB, against a cost."""
    rows = table.records()
    what = "accuracy" if "accuracy" in table.columns else "snr"
    points = [(float(row[cost]), float(row[what])) for row in rows if row[cost] is not None]
    points = sorted(point for point in points if math.isfinite(point[1]))
    words, unit = {
        "accuracy": ("Share of correct classes", "accuracy"),
        "snr": ("Signal to noise of the scores, dB", "dB"),
    }[what]
    title = f"{words}, against {cost}"
    return LineChart(title, (cost, unit), *(tuple(axis) for axis in zip(*points)))


def _chart_epochs(table: Table) -> LineChart:
    rows = table.records()
    name = "unseen_right" if rows[0]["unseen_right"] is not None else "unseen_loss"
    points = [(float(row["epoch"]), float(row[name])) for row in rows if row[name] is not None]
    words = {"unseen_right": "Share of correct classes", "unseen_loss": "Loss"}[name]
    title = f"{words} of unseen samples after each epoch"
    return LineChart(title, ("epoch", name), *(tuple(axis) for axis in zip(*points)))


def join_svg(charts: Iterable[Chart]) -> str:
    """Return charts as HTML, one below the other."""
    return "".join(f"<div>{chart.svg()}</div>" for chart in charts)


def plot_charts(charts: Sequence[Chart]) -> Any:
    """Draw charts by matplotlib, one below the other.

    Returns
    -------
    matplotlib.figure.Figure
        A new figure of pyplot.

    Raises
    ------
    Error
        matplotlib is missing.
    """
    pyplot: Any = require("matplotlib.pyplot", "plot", "a plot")
    heights = [_find_height(chart) for chart in charts]
    figure, axes = pyplot.subplots(
        len(charts),
        squeeze=False,
        figsize=(9, sum(heights)),
        layout="constrained",
        gridspec_kw={"height_ratios": heights},
    )
    for chart, own in zip(charts, axes[:, 0]):
        chart.draw(own)
    return figure


def _find_height(chart: Chart) -> float:
    """Return the height of a chart in inches."""
    if isinstance(chart, BarChart):
        return 1 + 0.25 * len(chart.names)
    return 1 + 0.3 * len(chart.rows) if isinstance(chart, GridChart) else 4.0


def _shorten(names: Sequence[str], longest: int = _LONGEST) -> list[str]:
    short = shorten_names(names, longest)
    return [short[name] for name in names]


def _scale(value: float, most: float) -> float:
    return min(max(value / most, 0.0), 1.0) if math.isfinite(value) else 0.0


def _share(value: float, ends: tuple[float, float]) -> float:
    return (value - ends[0]) / (ends[1] - ends[0]) if ends[1] > ends[0] else 0.5


def _number(value: float) -> str:
    if not math.isfinite(value):
        return "exact" if value > 0 else "–"
    return f"{value:,.0f}" if value == int(value) else f"{value:,.4g}"


def _escape(text: str) -> str:
    return html.escape(printable(text))


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{_escape(text)}</text>'


def _rect(
    x: float, y: float, width: float, height: float, colour: str, opacity: Optional[float] = None
) -> str:
    size = f'width="{max(width, 0):.1f}" height="{max(height, 0):.1f}"'
    shade = "" if opacity is None else f' opacity="{opacity:.2f}"'
    return f'<rect x="{x:.1f}" y="{y:.1f}" {size} fill="{colour}"{shade}/>'


def _line(x: float, y: float, to_x: float, to_y: float) -> str:
    ends = f'x1="{x:.1f}" y1="{y:.1f}" x2="{to_x:.1f}" y2="{to_y:.1f}"'
    return f'<line {ends} stroke="currentColor" stroke-width="1.5"/>'


def _frame(names: Sequence[str], ends: Sequence[tuple[float, float]]) -> Iterator[str]:
    """Yield the axes of a chart with their ends and names."""
    left, top, width, height = _AREA
    bottom, right = top + height, left + width
    yield _line(left, top, left, bottom)
    yield _line(left, bottom, right, bottom)
    (x_low, x_high), (y_low, y_high) = ends
    yield _text(left, bottom + 16, _number(x_low))
    yield _text(right, bottom + 16, _number(x_high), "end")
    yield _text(left - 6, bottom, _number(y_low), "end")
    yield _text(left - 6, top + 10, _number(y_high), "end")
    yield _text(left + width / 2, bottom + 32, names[0], "middle")
    yield _text(left, top - 4, names[1])


def _tell_rest(count: int) -> str:
    return f"The first {_MOST} of {count:,}." if count > _MOST else ""


def _draw_svg(title: str, parts: Iterable[str], height: float, note: str = "") -> str:
    """Return SVG with a title, which screen readers say, and a line below the chart."""
    below = [_text(0, height + 14, note)] if note else []
    size = height + (20 if note else 0)
    return (
        f'<svg role="img" aria-label="{_escape(title)}" '
        f'viewBox="0 0 {_WIDTH} {size:.0f}" width="{_WIDTH}" style="max-width:100%;height:auto" '
        f'font-family="system-ui, sans-serif" font-size="12" fill="currentColor">'
        f'<text x="0" y="16" font-weight="600">{_escape(title)}</text>'
        f"{''.join((*parts, *below))}</svg>"
    )
