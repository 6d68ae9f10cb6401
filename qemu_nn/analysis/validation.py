"""Comparison of a device with the emulator: results and times of its layers."""

from __future__ import annotations

import html
from dataclasses import asdict, dataclass
from typing import Any, Optional

from ..errors import printable
from .compare import ArrayDifference, spell_position
from .page import fill_page
from .result import TableResult
from .summary import format_facts
from .table import Cell, Table

_COLUMNS = ("layer", "function", "verdict", "elements", "differing", "counted", "estimated")


@dataclass(frozen=True)
class First:
    """The first element of a layer that differs.

    Attributes
    ----------
    sample : int
        The sample, counted from 0.
    step : int or None
        Its time step, of a recurrent network.
    difference : Difference
        The element, both values, how many elements of this result differ, and the likely cause.
    """

    sample: int
    step: Optional[int]
    difference: ArrayDifference

    def text(self) -> str:
        """Return the element in words.

        Returns
        -------
        str
            Sample, position, and both values.
        """
        d = self.difference
        step = "" if self.step is None else f", time step {self.step}"
        return (
            f"sample {self.sample}{step}: index={d.index} {spell_position(d.position)} "
            f"got={d.got} want={d.want}, {d.differing} elements differ, by {d.largest} at most"
        )


@dataclass(frozen=True)
class LayerCheck:
    """Result of a device in one layer, over all samples.

    Attributes
    ----------
    layer, function : str
        The layer, and the C function that computes it.
    elements, differing : int
        Elements that were compared, and those that differ.
    counted : float or None
        Mean of what the device counted while the layer ran; None where it has no counter.
    estimate : int or None
        What estimate() says of the same; None where nothing is known.
    first : First or None
        The first element that differs.
    """

    layer: str
    function: str
    elements: int
    differing: int
    counted: Optional[float] = None
    estimate: Optional[int] = None
    first: Optional[First] = None

    @property
    def same(self) -> bool:
        """True if all elements are equal."""
        return self.first is None


@dataclass(frozen=True, eq=False)
class Validation(TableResult):
    """Comparison of a device with the emulator; validate() returns it.

    Attributes
    ----------
    network, profile, device : str
        What was run, whose arithmetic it has, and where the device is.
    functions : str
        The device's functions: "CMSIS-NN", or "stand-in" for those that an export brings along.
    samples, steps : int
        Samples that were sent, and time steps of each; 1 if the network is not recurrent.
    layers : tuple of LayerCheck
        What was compared, in program order: all layers, or the outputs alone.
    counts : str
        What the device counts: "cycles", "instructions", or "".
    clock : int
        Hz of the device; 0 if it does not say.
    repeated, restarts : int
        Requests that were sent again, and how often the device was reset meanwhile.
    """

    network: str
    profile: str
    device: str
    functions: str
    samples: int
    steps: int
    layers: tuple[LayerCheck, ...]
    counts: str = ""
    clock: int = 0
    repeated: int = 0
    restarts: int = 0

    @property
    def same(self) -> bool:
        """True if every result of the device is bit-exact."""
        return all(layer.same for layer in self.layers)

    @property
    def first(self) -> Optional[LayerCheck]:
        """First layer in program order that differs; None if all are equal."""
        return next((layer for layer in self.layers if not layer.same), None)

    @property
    def verdict(self) -> str:
        """One sentence: same, or the layer that differs first."""
        if self.first is None:
            elements = sum(layer.elements for layer in self.layers)
            return f"same: {elements:,} elements of {self._count(len(self.layers))}, to the bit"
        wrong = sum(not layer.same for layer in self.layers)
        return f"DIFFERS: {wrong} of {self._count(len(self.layers))}, first {self.first.layer}"

    @staticmethod
    def _count(layers: int) -> str:
        return f"{layers} layer" + "s" * (layers != 1)

    @property
    def facts(self) -> dict[str, Cell]:
        """Facts of the whole run, by name."""
        facts: dict[str, Cell] = {
            "network": self.network,
            "profile": self.profile,
            "device": self.device,
            "functions": self.functions,
            "samples": self.samples,
        }
        if self.steps > 1:
            facts["time_steps"] = self.steps
        counted = [layer.counted for layer in self.layers if layer.counted is not None]
        if counted:
            facts[self.counts] = f"{sum(counted):,.0f} for an input"
            if self.clock and self.counts == "cycles":
                time = 1e3 * sum(counted) / self.clock
                facts["time"] = f"{time:.3g} ms at {self.clock / 1e6:g} MHz"
        for name in ("repeated", "restarts"):
            if getattr(self, name):
                facts[name] = getattr(self, name)
        facts["verdict"] = self.verdict
        return facts

    def __repr__(self) -> str:
        return f"Validation\n{format_facts(self.facts)}"

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(format_facts(self.facts))}</pre>{self.table().html()}"

    def table(self) -> Table:
        """Return a row for each layer.

        Returns
        -------
        Table
            Verdict, elements, and what the device counted next to the estimate, where there is any.
        """
        timed = any(layer.counted is not None for layer in self.layers)
        rows = tuple(_row(layer) for layer in self.layers)
        table = Table(_COLUMNS, rows)
        return table if timed else table.part(*_COLUMNS[:-2])

    def text(self) -> str:
        """Return the whole for a terminal.

        Returns
        -------
        str
            The table, each layer's first difference with its likely cause, and the facts.
        """
        parts = [self.table().text()]
        for layer, sentence, cause in self._findings():
            parts.append(f"{printable(layer)}: {sentence}\n  likely cause: {cause}")
        return "\n\n".join([*parts, format_facts(self.facts), *self._notes()])

    def to_dict(self) -> dict[str, Any]:
        """Return the validation as numbers, texts, lists and dictionaries.

        Returns
        -------
        dict
            The attributes by name, and "same".
        """
        return {"same": self.same, **asdict(self)}

    def html(self) -> str:
        """Return the validation as one self-contained page.

        Returns
        -------
        str
            HTML.

        Raises
        ------
        Error
            jinja2 is missing.
        """
        return fill_page(
            "validation.html", result=self, findings=self._findings(), notes=self._notes()
        )

    def _findings(self) -> list[tuple[str, str, str]]:
        """Return layer, first difference and likely cause of each that differs."""
        firsts = [(layer.layer, layer.first) for layer in self.layers if layer.first is not None]
        return [(name, first.text(), first.difference.cause) for name, first in firsts]

    def _notes(self) -> list[str]:
        """Return notes on the figures."""
        timed = any(layer.counted is not None and layer.estimate for layer in self.layers)
        if timed and self.functions == "stand-in":
            return [
                "note: the device ran the functions of kernels/, which stand in for Arm's; the "
                "estimate is of Arm's"
            ]
        return []


def _row(layer: LayerCheck) -> tuple[Cell, ...]:
    own = (layer.layer, layer.function, "same" if layer.same else "DIFFERS")
    counted = None if layer.counted is None else round(layer.counted)
    return (*own, layer.elements, layer.differing, counted, layer.estimate)
