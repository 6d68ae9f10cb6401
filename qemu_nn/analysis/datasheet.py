"""The data sheet of a network on a device: accuracy, memory and time on one page."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Optional

from .estimate import Estimate
from .evaluation import Evaluation
from .fit import Fit
from .npu_summary import NPU_FACTS
from .page import fill_page, show_chart
from .result import TableResult
from .short_names import shorten_names
from .summary import Summary, format_facts
from .table import Cell, Table, verdict

#: Columns of the layers: of the summary, and of the estimate, if any.
_SUMMED = ("layer", "function", "output", "format", "macs", "weight_bytes", "scratch_bytes")
_IN_USE = "bytes_in_use"
_TIMED = ("instructions", "least", "cycles", "most", "share", "milliseconds")

#: Facts of the summary and the estimate that the sheet repeats as sentences.
_SAID = ("device", "counts", "timing", "validated", "not_counted", "board", "energy", "made_of")

#: Figures that only a compiler knows.
_NOT_LINKED = (
    "flash is weights and biases alone; the code of kernels and the stack that they take depend on "
    "compiler and library: `make report-m4` of an export measures both, and --measured (in Python "
    "measured=) takes what it prints"
)

#: Most characters of a layer's name on the page, and most classes with a table.
_LONGEST, _CLASSES = 40, 40


@dataclass(frozen=True, eq=False)
class DataSheet(TableResult):
    """A network on a device, for a design review; datasheet() returns it.

    Attributes
    ----------
    network, target, profile : str
        The network, the device as it was named, and whose arithmetic it is.
    summary : Summary
        Layers, formats and costs.
    evaluation : Evaluation or None
        How well the device does on data; None without data.
    fit : Fit or None
        Flash and RAM against those of the chip; None where the target is a core.
    estimate : Estimate or None
        Instructions and cycles; None where nothing is known.
    notes : tuple of str
        Sentences on what is left out, and why.
    linked : Table or None
        Flash, RAM and stack of a program as linked and run, code included; None where no report
        of an export was given.
    """

    network: str
    target: str
    profile: str
    summary: Summary
    evaluation: Optional[Evaluation] = None
    fit: Optional[Fit] = None
    estimate: Optional[Estimate] = None
    notes: tuple[str, ...] = ()
    linked: Optional[Table] = None

    @property
    def facts(self) -> dict[str, Cell]:
        """The figures that matter most, by name."""
        whole = self.summary.facts
        facts: dict[str, Cell] = {"target": self.target}
        if self.evaluation is not None:
            facts.update(self.evaluation.main_figures())
        facts["flash"] = f"{whole['weight_bytes']:,} bytes of weights"
        facts["RAM"] = f"{whole['activation_bytes']:,} bytes"
        if self.linked is not None:
            sizes = {(row[0], row[1]): row[2] for row in self.linked.rows}
            facts["flash"] = f"{sizes['flash', 'all']:,} bytes with code"
            facts["RAM"] = f"{sizes['RAM', 'all']:,} bytes with stack"
        facts["multiply-accumulates"] = whole["macs"]
        facts.update({name: whole[name] for name in NPU_FACTS if name in whole})
        if self.estimate is not None:
            facts["cycles"] = f"{self.estimate.cycles[1]:,}"
            if "time" in self.estimate.facts:
                facts["time"] = str(self.estimate.facts["time"]).partition(" (")[0]
            if "energy" in self.estimate.facts:
                facts["energy"] = (
                    f"{str(self.estimate.facts['energy']).partition(',')[0]}, a product"
                )
        if self.fit is not None:
            facts["fits"] = verdict(self.fit.fits)
        return facts

    def __repr__(self) -> str:
        return f"DataSheet of {self.network}\n{format_facts(self.facts)}"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(repr(self))}</pre>{self.table().html()}"

    def table(self) -> Table:
        """Return a row for each layer.

        Returns
        -------
        Table
            Function, output, costs, and instructions and cycles where they are known.
        """
        columns = [name for name in (*_SUMMED, _IN_USE) if name in self.summary.layers.columns]
        times = {} if self.estimate is None else _index_by_layer(self.estimate.layers)
        known = () if self.estimate is None else self.estimate.layers.columns
        timed = [name for name in _TIMED if name in known]
        rows = tuple(
            (*(row[name] for name in columns), *(times[row["layer"]][name] for name in timed))
            for row in self.summary.layers.cells()
        )
        return Table((*columns, *timed), rows)

    def text(self) -> str:
        """Return the sheet for a terminal.

        Returns
        -------
        str
            The figures that matter most, and the notes; the page and the JSON have all.
        """
        parts = [format_facts({"network": self.network, "profile": self.profile, **self.facts})]
        return "\n\n".join([*parts, *(f"note: {note}" for note in self._notes())])

    def to_dict(self) -> dict[str, Any]:
        """Return the sheet as numbers, texts, lists and dictionaries.

        Returns
        -------
        dict
            Facts, layers, and what evaluate(), Network.fit() and estimate() and a report of an
            export say.
        """
        timed = None if self.estimate is None else self.estimate.to_dict()
        return {
            "network": self.network,
            "target": self.target,
            "profile": self.profile,
            "facts": self.summary.values(),
            "layers": self.table().records(),
            "evaluation": None if self.evaluation is None else self.evaluation.to_dict(),
            "fit": None if self.fit is None else self.fit.to_dict(),
            "linked": None if self.linked is None else self.linked.records(),
            "estimate": timed and {k: v for k, v in timed.items() if k != "layers"},
            "notes": self._notes(),
        }

    def html(self) -> str:
        """Return the sheet as one self-contained page.

        Returns
        -------
        str
            HTML.

        Raises
        ------
        Error
            jinja2 is missing.
        """
        table = self.table()
        names = shorten_names([str(row[0]) for row in table.rows], _LONGEST)
        return fill_page(
            "datasheet.html",
            sheet=self,
            table=table,
            short=names,
            charts=self._charts(table),
            cycles=show_chart(None if self.estimate is None else self.estimate.charts()[0]),
            arena=show_chart(self.summary.memory),
            notes=self._notes(),
            most_classes=_CLASSES,
        )

    def _charts(self, table: Table) -> list[tuple[str, str, list[tuple[str, int]]]]:
        """Return title, sentence, and a bar for each layer, for each cost."""
        rows = table.records()
        wanted = (
            ("weight_bytes", "Weights", "Bytes of flash."),
            (_IN_USE, "Memory", "Bytes of the arena in use while a layer runs."),
        )
        return [
            (title, sentence, [(str(row["layer"]), int(row[name] or 0)) for row in rows])
            for name, title, sentence in wanted
            if name in table.columns
        ]

    def _notes(self) -> list[str]:
        """Return the conditions of the figures, and their omissions."""
        estimated: Mapping[str, Cell] = {} if self.estimate is None else self.estimate.facts
        said = [f"{k.replace('_', ' ')}: {estimated[k]}" for k in _SAID if k in estimated]
        evaluated = [] if self.evaluation is None else list(self.evaluation.notes)
        linked = [] if self.linked is not None else [_NOT_LINKED]
        return [*evaluated, *said, *linked, *self.notes]


def _index_by_layer(table: Table) -> dict[Cell, dict[str, Cell]]:
    return {row["layer"]: row for row in table.cells()}
