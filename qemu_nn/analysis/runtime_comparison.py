"""Comparison of a network's layers on a device and in another runtime: place and size of
differences.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Optional

import numpy as np

from .charts import BarChart, Chart, Charted, join_svg
from .page import fill_page
from .result import TableResult
from .table import Cell, Said, Table, verdict

#: Sides of a map in cells, pixels of a cell, layers with a map.
_SIDE, _PIXELS, _MAPS = 48, 5, 40


@dataclass(frozen=True, eq=False)
class LayerDifference:
    """One layer on the device and in the second runtime.

    Attributes
    ----------
    layer, function : str
        The layer, and the function that computes it on the device.
    elements, differing : int
        Elements of all samples, and how many differ.
    largest : float
        The largest difference: the device's value minus the other one, without its sign.
    inputs_same : bool
        True if all inputs of the layer are the same, so that a difference begins here.
    where : ndarray of float, shape of the layer
        The largest difference of each element over all samples.
    compared : bool
        False if the other runtime does not show this tensor.
    """

    layer: str
    function: str
    elements: int
    differing: int
    largest: float
    inputs_same: bool
    where: np.ndarray
    compared: bool = True

    @property
    def share(self) -> float:
        """Share of the elements that differ, 0..1."""
        return self.differing / self.elements if self.elements else 0.0


@dataclass(frozen=True, eq=False)
class RuntimeComparison(Charted, TableResult):
    """A network on a device and the same file in another runtime; compare_runtime() returns it.

    Attributes
    ----------
    network, runtime, profile : str
        The network, the other runtime, and whose arithmetic the device has.
    samples : int
        How many samples were computed.
    layers : tuple of LayerDifference
        All layers, in the order in which the device computes them.
    outputs : tuple of str
        The layers that are outputs of the network.
    """

    network: str
    runtime: str
    profile: str
    samples: int
    layers: tuple[LayerDifference, ...]
    outputs: tuple[str, ...]

    @property
    def same(self) -> bool:
        """True if all compared elements are the same."""
        return not any(layer.differing for layer in self.layers)

    @property
    def origins(self) -> tuple[LayerDifference, ...]:
        """The layers that differ although their inputs are the same."""
        return tuple(layer for layer in self.layers if layer.differing and layer.inputs_same)

    def table(self) -> Table:
        """Return a row for each layer.

        Returns
        -------
        Table
            Elements, how many differ and by how much; None if the second runtime does not show
            the tensor.
        """
        columns = ("layer", "function", "elements", "differ", "share", "largest", "begins_here")
        return Table(columns, tuple(map(_row, self.layers)))

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(self.verdict)}</p>{join_svg(self.charts())}{self.table().html()}"

    @property
    def verdict(self) -> str:
        """Sentence with the number of differing elements, and the first layer."""
        compared = [layer for layer in self.layers if layer.compared]
        total = sum(layer.elements for layer in compared)
        wrong = sum(layer.differing for layer in compared)
        head = f"{self.network}: the device ({self.profile}) and {self.runtime}"
        if not compared:
            return f"{head} have no tensor in common"
        if self.same:
            return f"{head} give the same {total:,} elements of {len(compared)} layers"
        names = ", ".join(layer.layer for layer in self.origins[:3]) or "no layer that is shown"
        more = f" and {len(self.origins) - 3} more" if len(self.origins) > 3 else ""
        return f"{head} differ in {wrong:,} of {total:,} elements; this begins at {names}{more}"

    def charts(self) -> list[Chart]:
        """Return the share of each layer that differs.

        Returns
        -------
        list of chart
            svg() draws it; layers that the second runtime does not show are left out.
        """
        layers = [layer for layer in self.layers if layer.compared]
        names = tuple(layer.layer for layer in layers)
        shares = tuple(100 * layer.share for layer in layers)
        return [BarChart("Elements that differ, %", names, shares)]

    def text(self) -> str:
        """Return the table for a terminal.

        Returns
        -------
        str
            The table, and a sentence below it.
        """
        return f"{self.table().text()}\n\n{self.verdict}"

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as numbers, texts, lists and dictionaries.

        Returns
        -------
        dict
            The names and figures, and the list of layers.
        """
        names = ("network", "runtime", "profile", "samples", "same")
        facts = {name: getattr(self, name) for name in names}
        return {**facts, "layers": self.table().records()}

    def html(self) -> str:
        """Return a page with the differing share of each layer, and maps of the differences.

        Returns
        -------
        str
            HTML without other files.

        Raises
        ------
        Error
            jinja2 is missing.
        """
        differing = [layer for layer in self.layers if layer.differing][:_MAPS]
        maps = [(layer, heat_map(layer.where)) for layer in differing]
        return fill_page("runtimes.html", result=self, maps=maps)


def _row(layer: LayerDifference) -> tuple[Cell, ...]:
    names = (layer.layer, layer.function)
    if not layer.compared:
        return (*names, None, None, None, None, None)
    begins = verdict(bool(layer.differing and layer.inputs_same))
    largest = float(f"{layer.largest:.6g}")
    shown = int(largest) if largest.is_integer() else largest
    share = Said(f"{layer.share:.2%}", layer.share)
    return (*names, layer.elements, layer.differing, share, shown, begins)


def heat_map(where: np.ndarray) -> str:
    """Return an SVG image of differences: rows and columns of a tensor, the largest over channels.

    where: the largest difference of each element. A vector is broken into rows.
    """
    cells = _plane(where)
    most = float(cells.max()) or 1.0
    rects = "".join(_rects(cells / most))
    height, width = cells.shape
    size = f'width="{width * _PIXELS}" height="{height * _PIXELS}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {width} {height}" '
        f'shape-rendering="crispEdges"><rect width="{width}" height="{height}" fill="#eef1f4"/>'
        f"{rects}</svg>"
    )


def _rects(shares: np.ndarray) -> Iterator[str]:
    """Yield a square for each cell above 0; opacity is the share of the largest difference."""
    for y, x in np.argwhere(shares > 0):
        opacity = 0.25 + 0.75 * float(shares[y, x])
        yield (
            f'<rect x="{x}" y="{y}" width="1" height="1" fill="#c0392b" opacity="{opacity:.2f}"/>'
        )


def _plane(where: np.ndarray) -> np.ndarray:
    """Return at most _SIDE x _SIDE cells of a tensor, each the largest of its elements."""
    plane = where.reshape(-1, *where.shape[-3:]).max(0) if where.ndim > 3 else where
    if plane.ndim == 3:
        plane = plane.max(-1) if plane.shape[0] * plane.shape[1] > 1 else plane.reshape(-1)
    if plane.ndim < 2:
        width = max(1, min(_SIDE, plane.size), math.ceil(plane.size / _SIDE))
        rows = math.ceil(plane.size / width)
        plane = np.pad(plane.ravel(), (0, rows * width - plane.size)).reshape(rows, width)
    cells: np.ndarray = _shrunk(_shrunk(plane).T).T
    return cells


def _shrunk(plane: np.ndarray) -> np.ndarray:
    """Return at most _SIDE rows, each the largest of its neighbours."""
    step = math.ceil(len(plane) / _SIDE)
    rows = [plane[first : first + step].max(0) for first in range(0, len(plane), step)]
    shrunk: np.ndarray = np.stack(rows)
    return shrunk


@dataclass
class Running:
    """Differences of a layer, added up sample after sample."""

    elements: int = 0
    differing: int = 0
    where: Optional[np.ndarray] = None

    def add(self, own: np.ndarray, other: np.ndarray) -> None:
        """Compare a sample; own: the device's values, other: those of the second runtime."""
        theirs = other.reshape(own.shape)
        wrong = (own != theirs) & ~((own != own) & (theirs != theirs))  # two NaN count as equal
        apart = np.abs(own.astype(np.float64) - theirs.astype(np.float64))
        apart = np.where(wrong, np.nan_to_num(apart, nan=1.0, posinf=1.0), 0.0)
        self.elements += own.size
        self.differing += int(np.count_nonzero(wrong))
        self.where = apart if self.where is None else np.maximum(self.where, apart)

    def result(self, layer: str, function: str, inputs_same: bool) -> LayerDifference:
        """Return the accumulated result."""
        where = np.zeros(1) if self.where is None else self.where
        counts = (self.elements, self.differing, float(where.max(initial=0)))
        compared = self.where is not None
        return LayerDifference(layer, function, *counts, inputs_same, where, compared)
