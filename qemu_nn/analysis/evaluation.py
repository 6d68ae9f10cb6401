"""Evaluation of a network on data: figures as text, table, CSV and JSON."""

from __future__ import annotations

import html
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Optional

import numpy as np

from ..errors import Error
from .charts import BarChart, Chart, Charted, GridChart, join_svg
from .figures import PER_CLASS, Classified, Compared, Deviations, Reconstructed
from .result import TableResult
from .summary import format_facts
from .table import Cell, Table

#: Most classes whose figures and confusions a terminal shows.
_SHOWN = 20

#: First column of the table of confusions, which a notebook shows as a chart.
_CONFUSION = "label \\ chosen"

#: Figures of one device: the parts of figures.py that apply to the task.
Part = Any


@dataclass(frozen=True, eq=False)
class Evaluation(Charted, TableResult):
    """Evaluation of a network on data; evaluate() returns it.

    Attributes
    ----------
    network, profile : str
        What was run, and whose arithmetic; "float" for a float network.
    kind : {"classifier", "regressor", "autoencoder", "unlabelled"}
        What the outputs were taken for; of an unlabelled network without classes only the
        differences from the float reference are known.
    samples : int
        Samples of the data.
    figures : mapping of str to float
        Figures by name: shares are 0..1, those of the float reference start with "float_". Of a
        classifier "accuracy", "top_5" (the label is among the five largest scores), "agreement"
        (the largest score is the float reference's); of a regressor "mean_absolute_error",
        "mean_squared_error", "root_mean_squared_error", "mean_error", "largest_error"; of an
        autoencoder "reconstruction_error" (mean square, averaged over samples) and "auc"; with a
        float reference "sqnr_db" and "largest_difference" of its scores. A ratio to nothing is inf,
        what is not known NaN.
    classes : tuple of (str, int, float, float, float)
        Name, support, precision, recall and F1 of every class, where labels are known.
    confusion : ndarray of int, shape (classes, classes), or None
        Samples by label and class that the network chooses.
    profiles : tuple of (str, mapping of str to float)
        Other profiles and their figures, next to the one above: "identical" is the share of samples
        whose outputs are the same, to the bit.
    errors : ndarray of float, shape (samples,), or None
        Of an autoencoder: the mean square of the differences of every sample, in order.
    notes : tuple of str
        Sentences on what should be known about the data.
    """

    network: str
    profile: str
    kind: str
    samples: int
    figures: Mapping[str, float]
    classes: tuple[tuple[str, int, float, float, float], ...] = ()
    confusion: Optional[np.ndarray] = None
    profiles: tuple[tuple[str, Mapping[str, float]], ...] = ()
    errors: Optional[np.ndarray] = None
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Evaluation\n{format_facts(self._facts())}"

    def _repr_html_(self) -> str:
        tables = "".join(t.html() for t in self.tables() if t.columns[0] != _CONFUSION)
        facts = html.escape(format_facts(self._facts()))
        return f"<pre>{facts}</pre>{join_svg(self.charts())}{tables}"

    @property
    def accuracy(self) -> Optional[float]:
        """Share of samples, 0..1, whose largest score is at the label; None without labels."""
        return self.figures.get("accuracy")

    def text(self) -> str:
        """Return the evaluation for a terminal.

        Returns
        -------
        str
            A line for each figure, and tables of classes, confusions and other profiles.
        """
        parts = [format_facts(self._facts()), *(table.text() for table in self.tables())]
        parts += ["\n".join(f"note: {note}" for note in self.notes)] if self.notes else []
        return "\n\n".join(parts)

    def table(self) -> Table:
        """Return all figures, a row each.

        Returns
        -------
        Table
            What the figure is of ("network", "class 3", "profile ..."), its name, its value.
        """
        return Table(("of", "figure", "value"), tuple(self._rows()))

    def charts(self) -> list[Chart]:
        """Return the confusions of a classifier, and the F1 of each class.

        Returns
        -------
        list of chart
            svg() draws each; none without labels of classes.
        """
        if self.confusion is None:
            return []
        names = tuple(row[0] for row in self.classes)
        title = "Confusions: label by row, choice by column"
        shares = tuple(100 * row[-1] for row in self.classes)
        return [
            GridChart(title, names, names, self.confusion, diagonal=True),
            BarChart("F1 of each class, %", names, shares),
        ]

    def plot(self) -> Any:
        """Draw charts() by matplotlib.

        Returns
        -------
        matplotlib.figure.Figure
            A new figure of pyplot.

        Raises
        ------
        Error
            There are no labels of classes, or matplotlib is missing.
        """
        if not self.charts():
            raise Error(f"an evaluation of kind {self.kind!r} has no chart: give labels of classes")
        return super().plot()

    def to_dict(self) -> dict[str, Any]:
        """Return the evaluation as numbers, texts, lists and dictionaries.

        Returns
        -------
        dict
            The attributes by name; None for a figure that is not finite.
        """
        return {
            "network": self.network,
            "profile": self.profile,
            "kind": self.kind,
            "samples": self.samples,
            "figures": _finite(self.figures),
            "classes": [dict(zip(("class", *PER_CLASS), row)) for row in self.classes],
            "confusion": None if self.confusion is None else self.confusion.tolist(),
            "profiles": [{"profile": name, **_finite(own)} for name, own in self.profiles],
            "errors": None if self.errors is None else self.errors.tolist(),
            "notes": list(self.notes),
        }

    def main_figures(self) -> dict[str, Cell]:
        """Return the displayed figures of the network, by name.

        Returns
        -------
        dict of str to str
            Shares in percent, ratios in dB, others in four digits.
        """
        return {name: _format_figure(name, value) for name, value in self.figures.items()}

    def _facts(self) -> dict[str, Cell]:
        first: dict[str, Cell] = {"network": self.network, "profile": self.profile}
        return {**first, "kind": self.kind, "samples": self.samples, **self.main_figures()}

    def tables(self, classes: int = _SHOWN) -> Iterator[Table]:
        """Return tables per class, of labels by choices and per profile, unless they are too long.

        Parameters
        ----------
        classes : int, default 20
            The most classes that are shown.

        Returns
        -------
        iterator of Table
            Figures of each class, confusions, other profiles.
        """
        if 0 < len(self.classes) <= classes:
            yield Table(("class", *PER_CLASS), tuple(map(_make_class_row, self.classes)))
        if self.confusion is not None and len(self.confusion) <= classes:
            names = [row[0] for row in self.classes]
            rows = zip(names, self.confusion.tolist())
            yield Table((_CONFUSION, *names), tuple((name, *row) for name, row in rows))
        if self.profiles:
            columns = list(self.profiles[0][1])
            yield Table(
                ("profile", *columns),
                tuple(
                    (p, *(_format_figure(c, own[c]) for c in columns)) for p, own in self.profiles
                ),
            )

    def _rows(self) -> Iterator[tuple[Cell, ...]]:
        yield ("network", "samples", self.samples)
        for name, value in _finite(self.figures).items():
            yield ("network", name, value)
        for label, *values in self.classes:
            yield from ((f"class {label}", *pair) for pair in zip(PER_CLASS, values))
        for profile, own in self.profiles:
            yield from ((f"profile {profile}", *pair) for pair in _finite(own).items())


def compute_part_figures(part: Part, top: Sequence[int] = ()) -> dict[str, float]:
    """Return the figures of one part by name; top: the second top-k accuracy, besides the first."""
    if isinstance(part, Classified):
        return {"accuracy": part.accuracy, **{f"top_{k}": part.within(k) for k in top}}
    if isinstance(part, Reconstructed):
        area = part.area()
        return {"reconstruction_error": part.mean, **({} if area is None else {"auc": area})}
    if isinstance(part, Deviations):
        squares = part.squares.mean
        return {
            "mean_absolute_error": part.magnitudes.mean,
            "mean_squared_error": squares,
            "root_mean_squared_error": math.sqrt(squares),
            "mean_error": part.errors.mean,
            "largest_error": part.largest,
        }
    assert isinstance(part, Compared)
    agreed = {} if part.agreement is None else {"agreement": part.agreement}
    return {**agreed, "sqnr_db": part.sqnr, "largest_difference": part.largest}


def side_by_side(
    found: Sequence[tuple[str, Evaluation, tuple[Optional[int], Optional[int]]]],
) -> Table:
    """Return a row for each of several evaluations, with their figures as columns.

    found: name, evaluation, and bytes of flash and RAM, None where they are not known.
    """
    names = dict.fromkeys(name for _, each, _ in found for name in each.figures)
    columns = ("model", "profile", "samples", *names, "flash", "ram")
    rows = []
    for model, each, memory in found:
        figures = each.main_figures()
        cells = (figures.get(name) for name in names)
        rows.append((model, each.profile, each.samples, *cells, *memory))
    return Table(columns, tuple(rows))


def tabulate_classes(part: Classified, names: Sequence[str]) -> tuple[Any, ...]:
    """Return a row for each class, with its name or number."""
    named = len(names) == part.classes
    labels = names if named else [str(number) for number in range(part.classes)]
    return tuple((name, *row) for name, row in zip(labels, part.per_class()))


def _make_class_row(row: tuple[str, int, float, float, float]) -> tuple[Cell, ...]:
    name, support, *shares = row
    return (name, support, *(f"{100 * share:.2f} %" for share in shares))


def _finite(figures: Mapping[str, float]) -> dict[str, Optional[float]]:
    return {name: value if math.isfinite(value) else None for name, value in figures.items()}


def _format_figure(name: str, value: float) -> str:
    """Format a figure: shares in percent, ratios in dB, all further ones with four digits."""
    if math.isnan(value):
        return "not known"
    if name == "sqnr_db":
        return "exact" if value == math.inf else f"{value:.2f} dB"
    if name.endswith(("accuracy", "agreement", "identical")) or "top_" in name:
        return f"{100 * value:.2f} %"
    return f"{value:.4g}"
