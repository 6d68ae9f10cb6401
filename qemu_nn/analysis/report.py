"""What quantization cost, and where: figures as a table, as CSV, JSON, and as a page."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from importlib import resources
from typing import Any, Optional

import numpy as np

from ..extras import require
from .layer_figures import LayerFigures, WeightFigures
from .summary import facts_text
from .table import Cell, Table

_COLUMNS = (
    *("layer", "function", "format", "bias_shift", "out_shift", "min", "max", "saturated_%"),
    *("sum_min", "sum_max", "sqnr_whole_db", "sqnr_single_db", "cosine", "max_error", "mean_error"),
)
_WEIGHTS = ("layer", "array", "format", "min", "max", "saturated", "bits_used", "sqnr_db")


@dataclass(frozen=True)
class Report:
    """Figures of a run over data. agreement: share of samples whose largest score is the float
    network's; accuracies and confusion[label, class] (of the device) where labels are known.
    """

    network: str
    profile: str
    samples: int
    layers: tuple[LayerFigures, ...]
    weights: tuple[WeightFigures, ...]
    advice: tuple[str, ...]
    agreement: Optional[float] = None
    accuracy: Optional[float] = None
    float_accuracy: Optional[float] = None
    confusion: Optional[np.ndarray] = None

    @property
    def facts(self) -> dict[str, Cell]:
        """The figures that matter most, by name."""
        facts: dict[str, Cell] = {
            "network": self.network,
            "profile": self.profile,
            "samples": self.samples,
            "output_sqnr": f"{self.layers[-1].whole.sqnr:.1f} dB",
        }
        for name, value in (
            ("top-1_agreement", self.agreement),
            ("accuracy", self.accuracy),
            ("float_accuracy", self.float_accuracy),
        ):
            if value is not None:
                facts[name] = f"{100 * value:.2f} %"
        return facts

    def table(self) -> Table:
        """A row for each layer."""
        return Table(_COLUMNS, tuple(_layer_row(layer) for layer in self.layers))

    def weights_table(self) -> Table:
        """A row for each array of weights or bias."""
        rows = tuple(
            (
                *(w.layer, w.role, w.format, _short(w.low), _short(w.high), w.saturated, w.bits),
                _short(w.errors.sqnr),
            )
            for w in self.weights
        )
        return Table(_WEIGHTS, rows)

    def text(self) -> str:
        """Tables, facts and advice for a terminal."""
        parts = [self.table().text(), self.weights_table().text(), facts_text(self.facts)]
        parts += ["\n".join(f"advice: {line}" for line in self.advice)] if self.advice else []
        return "\n\n".join(parts)

    def csv(self) -> str:
        """The layers as CSV."""
        return self.table().csv()

    def json(self) -> str:
        """One object: facts, layers, weights, advice, confusion."""
        document = {
            **self.facts,
            "layers": self.table().records(),
            "weights": self.weights_table().records(),
            "advice": list(self.advice),
            "confusion": None if self.confusion is None else self.confusion.tolist(),
        }
        return json.dumps(document, indent=2)

    def html(self) -> str:
        """One page that needs nothing else. Raises Error where jinja2 is missing."""
        jinja2: Any = require("jinja2", "report", "a report as a page")
        text = resources.files(__package__).joinpath("templates/report.html").read_text("utf-8")
        environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
        environment.filters["number"] = _spelled
        template = environment.from_string(text)
        return str(template.render(report=self, most=_most(self.layers)))


def _layer_row(layer: LayerFigures) -> tuple[Cell, ...]:
    sums = layer.sums or (None, None)
    return (
        *(layer.name, layer.function, layer.format, layer.bias_shift, layer.out_shift),
        *(_short(layer.low), _short(layer.high), round(layer.saturated_share, 3), *sums),
        *(_short(layer.whole.sqnr), _short(layer.single.sqnr), round(layer.whole.cosine, 6)),
        *(_short(layer.whole.largest), _short(layer.whole.mean)),
    )


def _short(value: float) -> Cell:
    """Four digits; None for a ratio to nothing."""
    return float(f"{value:.4g}") if math.isfinite(value) else None


def _spelled(value: Optional[float]) -> str:
    if value is None or not math.isfinite(value):
        return "–"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"


def _most(layers: tuple[LayerFigures, ...]) -> float:
    """The scale of the bars: the largest ratio, in whole tens of dB."""
    ratios = [r for layer in layers for r in (layer.whole.sqnr, layer.single.sqnr)]
    return max([10 * math.ceil(r / 10) for r in ratios if math.isfinite(r) and r > 0], default=10)
