"""Checks of network files on a device, and tables of the operators in each."""

from __future__ import annotations

import html
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Optional

from .junit import Case, junit
from .table import Cell, Said, Table, json_text, verdict

if TYPE_CHECKING:
    from ..importers.tflite.support_report import SupportReport

_COLUMNS = ("file", "operators", "runs", "arena_bytes", "weight_bytes", "reason", "warnings")


@dataclass(frozen=True)
class ModelCheck:
    """One file on a device.

    Attributes
    ----------
    file : str
        Its path.
    operators : int or None
        Operators of a .tflite file, calls of another one; None if it cannot be read.
    reasons : tuple of str
        Why it does not run, in sentences; none if it runs.
    warnings : tuple of str
        What the device does that nobody would expect, in sentences.
    arena_bytes, weight_bytes : int or None
        RAM and flash, as describe() has them; None where it does not run. The arena is that of
        TensorFlow Lite Micro for networks of s8 and s16 functions, else all activations.
    on_core : tuple of str or None
        Where vela compiled the file for an Ethos-U: the operators that stay on the core, and why;
        none if the network runs wholly on the NPU. None of other files.
    """

    file: str
    operators: Optional[int] = None
    reasons: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    arena_bytes: Optional[int] = None
    weight_bytes: Optional[int] = None
    on_core: Optional[tuple[str, ...]] = None

    @property
    def runs(self) -> bool:
        """True if the device runs the file."""
        return not self.reasons


@dataclass(frozen=True, eq=False)
class Checks:
    """Files on a device; check() returns it.

    Attributes
    ----------
    models : tuple of ModelCheck
        One for each file, in order.
    """

    models: tuple[ModelCheck, ...]

    def __repr__(self) -> str:
        return f"Checks: {self._summary}"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(repr(self))}</pre>{self.table().html()}"

    @property
    def run(self) -> bool:
        """True if the device runs all files."""
        return all(model.runs for model in self.models)

    @property
    def _summary(self) -> str:
        text = f"{sum(model.runs for model in self.models)} of {len(self.models)} networks run"
        if any(model.on_core is not None for model in self.models):
            whole = sum(model.on_core == () for model in self.models)
            text += f", {whole} of them wholly on the NPU"
        return text

    def table(self) -> Table:
        """Return a row for each file.

        Returns
        -------
        Table
            File, operators, whether it runs, bytes of RAM and flash, reasons, warnings; for an
            Ethos-U also the operators that stay on the core.
        """
        more = any(model.on_core is not None for model in self.models)
        rows = tuple(
            (
                *(model.file, model.operators, verdict(model.runs)),
                *(model.arena_bytes, model.weight_bytes),
                *("; ".join(part) or None for part in (model.reasons, model.warnings)),
                *(("; ".join(model.on_core or ()) or None,) if more else ()),
            )
            for model in self.models
        )
        return Table((*_COLUMNS, *(("on_core",) if more else ())), rows)

    def junit(self) -> str:
        """Return the checks as JUnit XML for CI servers.

        Returns
        -------
        str
            A test case for each file.
        """
        return junit([("check", self.cases())])

    def cases(self) -> list[Case]:
        """Return a test case for each file.

        Returns
        -------
        list of junit.Case
            A file that does not run fails, with the reasons.
        """
        return [Case(model.file, "\n".join(model.reasons)) for model in self.models]

    def text(self) -> str:
        """Return all for a terminal.

        Returns
        -------
        str
            The table, then for each file its reasons and warnings, and how many run.
        """
        folder = os.path.commonpath([os.path.dirname(model.file) for model in self.models])
        models = [replace(m, file=os.path.relpath(m.file, folder or ".")) for m in self.models]
        parts = [Checks(tuple(models)).table().part(*_COLUMNS[:5]).text()]
        for model in models:
            lines = [*model.reasons, *(f"warning: {warning}" for warning in model.warnings)]
            lines += [f"on the core: {each}" for each in model.on_core or ()]
            if lines:
                parts.append("\n  ".join([f"{model.file}:", *lines]))
        return "\n\n".join([*parts, self._summary])

    def csv(self) -> str:
        """Return the table as CSV.

        Returns
        -------
        str
            A line for each file, after one with the names of the columns.
        """
        return self.table().csv()

    def json(self) -> str:
        """Return all as JSON.

        Returns
        -------
        str
            A list with an object for each file; reasons and warnings are lists.
        """
        return json_text(self.to_list())

    def to_list(self) -> list[dict[str, Any]]:
        """Return what json() holds.

        Returns
        -------
        list of dict
            One for each file; reasons and warnings are lists.
        """
        lists = (
            {
                **{"reasons": m.reasons, "warnings": m.warnings},
                **({} if m.on_core is None else {"on_core": m.on_core}),
            }
            for m in self.models
        )
        facts = self.table().part(*_COLUMNS[:5]).records()
        return [{**row, **more} for row, more in zip(facts, lists)]


class OperatorTable:
    """The operators of a .tflite file that cannot be loaded."""

    def __init__(self, examined: SupportReport) -> None:
        self._examined = examined

    def table(self) -> Table:
        """Return a row for each kind of operator, and the number of supported ones."""
        every = Counter(each.operator for each in self._examined.findings)
        failed = Counter(each.operator for each in self._examined.failed)
        rows = tuple((name, count, count - failed[name]) for name, count in sorted(every.items()))
        return Table(("operator", "count", "run"), rows)

    def text(self) -> str:
        """Return the table, and each reason with its operators."""
        examined = self._examined
        ends = f"{len(examined.failed)} of {len(examined.findings)} operators do not run"
        return "\n\n".join([self.table().text(), *examined.reasons, f"{examined.name}: {ends}"])

    def csv(self) -> str:
        """Return a line for each operator of the file."""
        return self._rows().csv()

    def json(self) -> str:
        """Return one object: the file, its faults, and every operator."""
        document: Mapping[str, object] = {
            "file": self._examined.name,
            "runs": False,
            "faults": self._examined.faults,
            "operators": self._rows().records(),
        }
        return json_text(document)

    def _rows(self) -> Table:
        rows: list[tuple[Cell, ...]] = [
            (each.index, each.operator, *_outcome(each.looked_at, each.reason), each.tflm or None)
            for each in self._examined.findings
        ]
        return Table(("number", "operator", "runs", "reason", "tflm_refuses"), tuple(rows))


def _outcome(looked_at: bool, reason: str) -> tuple[Cell, Cell]:
    """Return true if an operator runs, else the reason."""
    if not reason:
        return verdict(True), None
    return verdict(False) if looked_at else Said("not looked at", None), reason
