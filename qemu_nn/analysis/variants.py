"""Differences between profiles, by layer or by call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Callable, Optional, TypeVar

import numpy as np

from ..functions.tflm_builds import DIFFERENCES
from ..ir.formats import find_differing
from ..ir.graph import Build, Graph
from ..ir.original import Original
from ..targets import PATHS, RELEASES, ROUNDINGS, TFLM, Profile, all_profiles
from .compare import measure_difference, spell_position
from .kernel_table import spell_profiles
from .npu_reasons import explain
from .table import Cell, Said, Table

#: Layer (or function) -> its result for each input; None if it refuses the input.
Outputs = Mapping[str, Sequence[Optional[np.ndarray]]]

#: Key of a set of results.
K = TypeVar("K")

#: Column for networks whose calls differ between builds of TensorFlow Lite Micro.
BUILDS = "builds"

#: Columns for networks that were compiled for an NPU.
OPERATORS = ("operator", "alone", "reason")

_COLUMNS = (
    *("layer", "other_profiles", "differing", "elements"),
    *("largest", "first", "value", "other_value", "since"),
)


def add_operators(
    table: Table, original: Original, alone: Mapping[str, int], rounding: str
) -> Table:
    """Return the table with the operator of each layer, its own differences, and their reason.

    alone: layer -> differing elements if the core computes it from the NPU's inputs. rounding: of
    the core's library.
    """
    operators = {each.layer: each for each in original.operators}
    nodes = {node.name: node for node in original.graph.nodes}
    at = table.columns.index("differing")
    rows = []
    for row in table.rows:
        layer, made = str(row[0]), operators.get(str(row[0]))
        parts = alone.get(layer) if layer in alone else (row[at] if row[-1] == layer else None)
        why = (
            made.effect or explain(made.operator, nodes[layer], rounding) if made and parts else ""
        )
        rows.append((*row, made.operator if made else None, alone.get(layer), why or None))
    return Table((*table.columns, *OPERATORS), tuple(rows))


def add_builds(table: Table, graph: Graph) -> Table:
    """Return the table of a network with a column for differing builds of TensorFlow Lite Micro.

    Without differing builds, return the table unchanged.
    """
    words = {node.name: "; ".join(map(_describe_parting, node.builds)) for node in graph.nodes}
    if not any(words.values()):
        return table
    rows = tuple((*row, words.get(str(row[0])) or None) for row in table.rows)
    return Table((*table.columns, BUILDS), rows)


def format_builds(table: Table) -> str:
    """Return the table for a terminal, followed by sentences on differing builds."""
    if BUILDS not in table.columns:
        return table.text()
    said = {row["layer"]: row[BUILDS] for row in table.records() if row[BUILDS]}
    lines = (f"{layer}: {words}" for layer, words in said.items())
    return "\n".join([table.part(*_COLUMNS).text(), "", "other builds", *lines])


def _describe_parting(build: Build) -> str:
    """Return the builds with a different call, and the known facts of this call."""
    known = DIFFERENCES[build.difference]
    which = [f"{known.kernels} kernels"] if known.kernels else []
    which += [f"cores of the path {', '.join(known.paths)}"] if known.paths else []
    which += [f"from {known.since}"] if known.since != TFLM[0] else []
    which += [f"before {known.before}"] if known.before in TFLM else []
    which += [f"CMSIS-NN {' to '.join(dict.fromkeys(states))}" for states in known.cmsis]
    call = f"refused: {build.refused}" if build.function is None else build.function.name
    return f"{' '.join(which) or 'all builds'}: {known.words} ({call})"


def compare_profiles(base: Outputs, others: Mapping[Profile, Outputs], chained: bool) -> Table:
    """Return a line for each layer and group of profiles that differ from the base in the same way.

    differing: number of elements. first: the input (or call) and element of the first difference,
    with both values. since: the first layer that differs, a possible cause; chained=False: outputs
    are independent. A layer without differences has one line.
    """
    return _compare(base, others, chained, lambda group: _spell(group, others))


def compare_devices(base: Outputs, others: Mapping[str, Outputs]) -> Table:
    """Return the same for devices with names, of which each has the layers of the base."""
    return _compare(base, others, True, "; ".join)


def _compare(
    base: Outputs, others: Mapping[K, Outputs], chained: bool, spell: Callable[[list[K]], str]
) -> Table:
    """Return the table of compare_profiles(); spell: a group of keys in words."""
    since: dict[K, str] = {}
    rows: list[tuple[Cell, ...]] = []
    for layer, wanted in base.items():
        groups: dict[tuple[str, tuple[Optional[bytes], ...]], list[K]] = {}
        for key, outputs in others.items():
            if _outputs_differ(wanted, outputs.get(layer, ())):
                start = since.setdefault(key, layer) if chained else layer
                bits = tuple(None if o is None else o.tobytes() for o in outputs[layer])
                groups.setdefault((start, bits), []).append(key)
        for (start, _), keys in groups.items():
            cells = _measure_difference(wanted, others[keys[0]][layer])
            rows.append((layer, spell(keys), *cells, start))
        if not groups:
            elements = sum(want.size for want in wanted if want is not None)
            rows.append((layer, "none", 0, elements, *(None,) * 5))
    return Table(_COLUMNS, tuple(rows))


def _spell(profiles: Sequence[Profile], others: Iterable[Profile]) -> str:
    """Return profiles in words: their common property, if no further profile of the same API has
    it.
    """
    if any(p.espressif for p in others):
        rest, own = ([p for p in each if not p.espressif] for each in (profiles, others))
        arm = [f"CMSIS-NN {_spell(rest, own)}".rstrip()] if rest else []
        return "; ".join([*(str(p) for p in profiles if p.espressif), *arm])
    kinds = {p.is_affine for p in others}
    every = [p for p in all_profiles() if p.is_affine in kinds]
    releases = {p.cmsis for p in every}
    axes = {
        name: [value for value in values if any(getattr(p, name) == value for p in profiles)]
        for name, values in (("cmsis", RELEASES), ("path", PATHS), ("rounding", ROUNDINGS))
    }
    common = [p for p in every if all(getattr(p, n) in v for n, v in axes.items())]
    if len(common) != len(profiles):
        return spell_profiles(profiles)
    whole = [p for p in every if p.cmsis in axes["cmsis"]]
    narrow = {name for name in axes if {getattr(p, name) for p in whole} != set(axes[name])}
    if len(axes["cmsis"]) < len(releases):
        narrow.add("cmsis")
    return "; ".join(" or ".join(axes[name]) for name in axes if name in narrow)


def _pair_outputs(
    wanted: Sequence[Optional[np.ndarray]], got: Sequence[Optional[np.ndarray]]
) -> list[tuple[int, np.ndarray, np.ndarray]]:
    """Return pairs of results, with their number."""
    both = enumerate(zip(wanted, got))
    return [(i, want, have) for i, (want, have) in both if want is not None and have is not None]


def _outputs_differ(
    wanted: Sequence[Optional[np.ndarray]], got: Sequence[Optional[np.ndarray]]
) -> bool:
    return any(find_differing(want, have).any() for _, want, have in _pair_outputs(wanted, got))


def _measure_difference(
    wanted: Sequence[Optional[np.ndarray]], got: Sequence[Optional[np.ndarray]]
) -> tuple[Cell, ...]:
    pairs = _pair_outputs(wanted, got)
    differences = [
        (i, measure_difference(want, have.ravel()))
        for i, want, have in pairs
        if find_differing(want, have).any()
    ]
    number, first = differences[0]
    return (
        sum(d.differing for _, d in differences),
        sum(want.size for _, want, _ in pairs),
        max(d.largest for _, d in differences),
        Said(
            f"{number}: {spell_position(first.position)}",
            {"sample": number, "position": list(first.position)},
        ),
        first.want,
        first.got,
    )
