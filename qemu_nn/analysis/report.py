"""Report of quantization errors by layer, as a table, CSV, JSON or page."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from importlib import resources
from typing import Any, Optional

import numpy as np

from ..io.version import __version__
from .charts import (
    BarChart,
    Chart,
    Charted,
    GridChart,
    MemoryChart,
    chart_curves,
    join_svg,
)
from .errors import Errors
from .layer_figures import MOST_STEPS, LayerFigures, WeightFigures
from .page import load_templates, show_chart
from .result import TableResult
from .short_names import shorten_names
from .summary import format_facts
from .table import Cell, Said, Table

#: Characters of a layer's name on the page.
_LONGEST = 40

#: Columns of the table of layers: function of each, and its errors.
_HOW = ("function", "format", "weights", "bias", "bias_shift", "out_shift", "sum_min", "sum_max")
_COST = (
    *("min", "max", "saturated_%", "lost_%"),
    *("sqnr_whole_db", "cosine_whole", "max_error_whole", "mean_error_whole"),
    *("sqnr_single_db", "cosine_single", "max_error_single", "mean_error_single"),
)
_COLUMNS = ("layer", *_HOW, *_COST)
_CHANNELS = ("layer", "channel", "min", "max", "sqnr_whole_db", "outlier", "output_db")
_SENSITIVITY = ("layer", "output_db", "channel", "channel_output_db")
_WEIGHTS = ("layer", "array", "format", "min", "max", "saturated", "bits_used", "sqnr_db")


@dataclass(frozen=True, eq=False)
class Report(Charted, TableResult):
    """Quantization errors, layer by layer; analyze() returns it.

    Attributes
    ----------
    network, profile : str
        What was run, and whose arithmetic.
    samples : int
        Samples of the data.
    layers : tuple of LayerFigures
        Figures of every layer: range, saturation, and errors in dB, run whole and layer by layer.
    weights : tuple of WeightFigures
        Figures of every array of weights or bias.
    advice : tuple of str
        Sentences on what to try.
    agreement : float or None
        The share of samples, 0..1, whose largest score is that of the float network.
    accuracy, float_accuracy : float or None
        Accuracies of the device and of the float network, 0..1, where labels are known.
    confusion : ndarray of int, shape (classes, classes), or None
        Samples by label and class that the device chooses.
    costs : mapping of str to int
        Bytes of weights (weight_bytes) and of memory (activation_bytes), and multiply-accumulates
        (macs), where they are known.
    files : mapping of str to str
        The files of the network and of the data, where they were files.
    notes : tuple of str
        The class number of each label, where labels are names.
    reference : str
        What was compared with: "float", or "dequantized" where a network of integers alone was
        compared with the floats that these stand for.
    curve : Table or None
        What each change of a layer's width, or each epoch of a training, gave, if the network keeps
        it.
    sensitivity : mapping of str to (float, tuple of float)
        Layer -> the ratio of signal to noise at the outputs in dB if this layer alone errs, and if
        one of its channels does; if analyze() was asked for it.
    cycles : chart or None
        Cycles of each layer with their ranges, where the device has instruction counts.
    memory : chart or None
        The arena over time; None where the firmware has buffers of its own.
    """

    network: str
    profile: str
    samples: int
    layers: tuple[LayerFigures, ...]
    weights: tuple[WeightFigures, ...]
    advice: tuple[str, ...] = ()
    agreement: Optional[float] = None
    accuracy: Optional[float] = None
    float_accuracy: Optional[float] = None
    confusion: Optional[np.ndarray] = None
    costs: Mapping[str, int] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    reference: str = "float"
    curve: Optional[Table] = None
    sensitivity: Mapping[str, tuple[float, tuple[float, ...]]] = field(default_factory=dict)
    cycles: Optional[BarChart] = None
    memory: Optional[MemoryChart] = None

    def __repr__(self) -> str:
        return f"Report\n{format_facts(self.facts)}"

    def _repr_html_(self) -> str:
        shown = f"<pre>{html.escape(repr(self))}</pre>{join_svg(self.charts())}"
        return f"{shown}{self.table().html()}"

    @property
    def facts(self) -> dict[str, Cell]:
        """The figures that matter most, by name."""
        facts: dict[str, Cell] = {
            "network": self.network,
            "profile": self.profile,
            "samples": self.samples,
            "output_sqnr": f"{_format_decibels(self.layers[-1].whole.sqnr)} dB",
        }
        for name, value in (
            ("top-1_agreement", self.agreement),
            ("accuracy", self.accuracy),
            (f"{self.reference}_accuracy", self.float_accuracy),
        ):
            if value is not None:
                facts[name] = Said(f"{100 * value:.2f} %", value)
        facts.update(self.costs)
        return facts

    def table(self) -> Table:
        """Return a row for each layer.

        Returns
        -------
        Table
            Formats, shifts, ranges and errors; text(), csv() and html() print it.
        """
        return Table(_COLUMNS, tuple(_make_layer_row(layer) for layer in self.layers))

    def charts(self) -> list[Chart]:
        """Return the ratio of each layer, its errors in steps of its format, and confusions.

        Returns
        -------
        list of chart
            svg() draws each; confusions where labels are known, the curves of a network
            that has one, cycles, and the arena over time.
        """
        names = tuple(layer.name for layer in self.layers)
        whole, single = (
            tuple(getattr(layer, run).sqnr for layer in self.layers) for run in ("whole", "single")
        )
        legend = ("run whole", "the layer alone")
        charts: list[Chart] = [
            BarChart("Signal to quantization noise, dB", names, whole, (), single, legend),
            self._chart_errors(names),
        ]
        if self.confusion is not None:
            classes = tuple(map(str, range(len(self.confusion))))
            title = "Confusions: label by row, choice by column"
            charts.append(GridChart(title, classes, classes, self.confusion, diagonal=True))
        charts += [] if self.curve is None else chart_curves(self.curve)
        return [*charts, *(chart for chart in (self.cycles, self.memory) if chart is not None)]

    def _chart_errors(self, names: tuple[str, ...]) -> GridChart:
        """Return the shares of errors of each layer."""
        steps = [str(step) for step in range(-MOST_STEPS, MOST_STEPS + 1)]
        steps[0], steps[-1] = f"≤{steps[0]}", f"≥{steps[-1]}"
        shares = np.array([layer.steps for layer in self.layers])
        title = "Errors in steps of the layer's format, share of its elements"
        return GridChart(title, names, tuple(steps), shares, wide=True)

    def weights_table(self) -> Table:
        """Return a row for each array of weights or bias.

        Returns
        -------
        Table
            Formats, ranges and errors.
        """
        rows = tuple(
            (
                *(
                    w.layer,
                    w.role,
                    w.format,
                    _shorten(w.low),
                    _shorten(w.high),
                    w.saturated,
                    w.bits,
                ),
                _shorten(w.errors.sqnr),
            )
            for w in self.weights
        )
        return Table(_WEIGHTS, rows)

    def channels_table(self) -> Table:
        """Return a row for each channel of each layer.

        Returns
        -------
        Table
            Range of the float values, the ratio in dB, 1 for a channel that reaches so much further
            than the others of its layer that these have few codes, and the ratio at the outputs if
            this channel alone errs (empty without sensitivity=True).
        """
        rows = []
        for layer in self.layers:
            found, outliers = layer.by_channel, {*layer.outliers}
            alone = self.sensitivity.get(layer.name, (0.0, ()))[1]
            for channel, (low, high, ratio) in enumerate(zip(found.low, found.high, found.sqnr)):
                figures = (_shorten(low), _shorten(high), _shorten(ratio))
                last = _shorten(alone[channel]) if alone else None
                rows.append((layer.name, channel, *figures, int(channel in outliers), last))
        return Table(_CHANNELS, tuple(rows))

    def sensitivity_table(self) -> Table:
        """Return a row for each layer before the outputs, the most sensitive first.

        Returns
        -------
        Table
            The ratio at the outputs in dB if this layer alone errs, its most sensitive channel, and
            the ratio if this channel alone errs; no rows without sensitivity=True.
        """
        rows = []
        for name, (whole, channels) in sorted(self.sensitivity.items(), key=lambda row: row[1][0]):
            worst = int(np.argmin(channels))
            where = worst if math.isfinite(channels[worst]) else None
            rows.append((name, _shorten(whole), where, _shorten(channels[worst])))
        return Table(_SENSITIVITY, tuple(rows))

    def text(self) -> str:
        """Return the whole report for a terminal.

        Returns
        -------
        str
            Tables, facts and advice.
        """
        layers = self.table()
        parts = [layers.part("layer", *columns).text() for columns in (_HOW, _COST)]
        parts += [self.weights_table().text()]
        parts += [self.sensitivity_table().text()] if self.sensitivity else []
        parts += [format_facts(self.facts)]
        parts += ["\n".join(f"note: {line}" for line in self.notes)] if self.notes else []
        parts += ["\n".join(f"advice: {line}" for line in self.advice)] if self.advice else []
        return "\n\n".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """Return the whole report as numbers, texts, lists and dictionaries.

        Returns
        -------
        dict
            Figures, layers, weights, channels, advice, confusion; None where unknown.
        """
        return {
            "network": self.network,
            "profile": self.profile,
            "samples": self.samples,
            "agreement": self.agreement,
            "accuracy": self.accuracy,
            "float_accuracy": self.float_accuracy,
            "layers": self.table().records(),
            "weights": self.weights_table().records(),
            "channels": self.channels_table().records(),
            "sensitivity": self.sensitivity_table().records(),
            "notes": list(self.notes),
            "advice": list(self.advice),
            "confusion": None if self.confusion is None else self.confusion.tolist(),
        }

    def html(self) -> str:
        """Return the whole report as one self-contained page.

        Returns
        -------
        str
            HTML.

        Raises
        ------
        Error
            jinja2 is missing.
        """
        jinja2 = load_templates()
        text = resources.files(__package__).joinpath("templates/report.html").read_text("utf-8")
        environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
        environment.filters.update(number=_format_figure, decibels=_format_decibels)
        template = environment.from_string(text)
        names = shorten_names([layer.name for layer in self.layers], _LONGEST)
        return str(
            template.render(
                report=self,
                most=_find_scale(self.layers),
                errors=show_chart(self._chart_errors(tuple(names))),
                curves=[] if self.curve is None else [*map(show_chart, chart_curves(self.curve))],
                cycles=show_chart(self.cycles),
                memory=show_chart(self.memory),
                short=names,
                has=_find_present(self.layers),
                advice=[_link_layer(line, self.layers) for line in self.advice],
                made=f"qemu_nn {__version__}, {date.today().isoformat()}",
            )
        )


def _find_present(layers: Sequence[LayerFigures]) -> dict[str, bool]:
    """Return the optional columns that are not empty."""
    names = ("weight_format", "bias_format", "bias_shift", "out_shift", "sums")
    return {name: any(getattr(layer, name) is not None for layer in layers) for name in names}


def _link_layer(line: str, layers: Sequence[LayerFigures]) -> tuple[str, str, Optional[int]]:
    """Return the layer at the start of a sentence, the rest of it, and the layer's number."""
    starts = [(f"{layer.name}:", f"{layer.name} ") for layer in layers]
    found = [number for number, start in enumerate(starts) if line.startswith(start)]
    if not found:
        return "", line, None
    number = max(found, key=lambda i: len(layers[i].name))
    name = layers[number].name
    return name, line[len(name) :], number


def _make_layer_row(layer: LayerFigures) -> tuple[Cell, ...]:
    return (
        *(layer.name, layer.function or "input", layer.format),
        *(layer.weight_format, layer.bias_format, layer.bias_shift, layer.out_shift),
        *(layer.sums or (None, None)),
        *(_shorten(layer.low), _shorten(layer.high)),
        *(round(layer.saturated_share, 3), round(layer.lost_share, 3)),
        *(cell for errors in (layer.whole, layer.single) for cell in _make_error_cells(errors)),
    )


def _make_error_cells(errors: Errors) -> tuple[Cell, ...]:
    """Return the ratio, the cosine, the largest and the mean error."""
    ends = (_shorten(errors.largest), _shorten(errors.mean))
    return (_shorten(errors.sqnr), round(errors.cosine, 6), *ends)


def _shorten(value: float) -> Cell:
    """Return four digits; None for a ratio to nothing."""
    return float(f"{value:.4g}") if math.isfinite(value) else None


def _format_figure(value: Optional[float]) -> str:
    """Return a figure on the page: four digits."""
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"


def _format_decibels(ratio: float) -> str:
    """Return a ratio on the page."""
    return f"{ratio:.1f}" if math.isfinite(ratio) else "exact" if ratio > 0 else "no signal"


def _find_scale(layers: tuple[LayerFigures, ...]) -> float:
    """Return the scale of the bars: the largest ratio, in whole tens of dB."""
    ratios = [r for layer in layers for r in (layer.whole.sqnr, layer.single.sqnr)]
    return max([10 * math.ceil(r / 10) for r in ratios if math.isfinite(r) and r > 0], default=10)
