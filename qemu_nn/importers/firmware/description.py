"""A network.json from layer calls: layers, buffers, input and states."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Optional

import numpy as np

from ...errors import ModelError
from .layers import Layer, read_arrays, resolve
from .machine import Machine, Recorded, are_alike
from .values import Block, Pointer

#: Words at the end of names of weights that do not belong to the layer's name.
_ENDS = re.compile(r"_?(wt|wts|weights?|kernel|filter|w|data)$", re.IGNORECASE)


@dataclass(eq=False)
class Region:
    """Bytes of a block: [start, end)."""

    block: Block
    start: int
    end: int

    def overlaps(self, other: Region) -> bool:
        """True if both share a byte."""
        return self.block is other.block and self.start < other.end and other.start < self.end


@dataclass(eq=False)
class Described:
    """A network as network.json has it, its arrays, and what could not be followed."""

    values: dict[str, Any]
    arrays: dict[str, np.ndarray]
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def describe(
    machine: Machine, name: str, function: Optional[str], inputs: Mapping[str, Sequence[int]]
) -> Described:
    """Return the network of the layer calls of one pass."""
    chosen, further = _choose_pass(machine.calls, function)
    layers = [resolve(recorded) for recorded in chosen]
    names = _Names(layers)
    found = Described({}, {}, [*machine.problems], [*machine.notes])
    entries = []
    for layer in layers:
        entries.append(_describe_layer(layer, names, found))
        found.problems += layer.problems
    found.values = {"format": 1, "name": name, "layers": entries}
    _describe_memory(machine, layers, names, found, inputs, further)
    if found.problems:
        found.values["unresolved"] = found.problems
    return found


# ---- the calls of one pass ----


def _choose_pass(
    calls: Sequence[Recorded], function: Optional[str]
) -> tuple[list[Recorded], list[Recorded]]:
    """Return the calls of one run of the network, and those of the next one, if there is one.

    It is the innermost function that makes all calls, in runs that are all alike.
    """
    if not calls:
        return [], []
    for depth in range(max(len(each.stack) for each in calls) - 1, 0, -1):
        runs: dict[tuple[str, int], list[Recorded]] = {}
        if any(len(each.stack) <= depth for each in calls):
            continue
        for each in calls:
            runs.setdefault(each.stack[depth], []).append(each)
        first, *rest = runs.values()
        alike = len({usr for usr, _ in runs}) == 1 and all(are_alike(first, run) for run in rest)
        if alike and (len(first) > 1 or not rest):
            return first, rest[0] if rest else []
    return list(calls), []


# ---- layers ----


class _Names:
    """Names of layers, of buffers and of arrays."""

    def __init__(self, layers: Sequence[Layer]) -> None:
        self._taken: set[str] = set()
        self.layers = {id(layer): self._name_layer(layer) for layer in layers}
        self._blocks: dict[int, str] = {}
        self.blocks: list[Block] = []

    def _name_layer(self, layer: Layer) -> str:
        weights = layer.function.weights
        pointer = layer.pointers.get(weights.name) if weights is not None else None
        if pointer is not None and pointer.block is not None and pointer.block.name:
            stem = _ENDS.sub("", pointer.block.name) or pointer.block.name
        else:
            words = layer.function.name.split("_")[1:]
            leave = ("nn", "q7", "q15", "s8", "s16", "HWC", "direct", "nonsquare", "elementwise")
            stem = "_".join(word for word in words if word not in leave) or "layer"
        return self.make(stem)

    def make(self, stem: str) -> str:
        """Return an unused name."""
        stem = re.sub(r"\W", "_", stem)
        name, number = stem, 1
        while name in self._taken:
            number += 1
            name = f"{stem}{number}"
        self._taken.add(name)
        return name

    def of_block(self, block: Block) -> str:
        """Return the name of a buffer."""
        if id(block) not in self._blocks:
            self._blocks[id(block)] = self.make(block.name or "buffer")
            self.blocks.append(block)
        return self._blocks[id(block)]

    def address(self, pointer: Pointer) -> dict[str, Any]:
        """Return an address as network.json has it."""
        assert pointer.block is not None
        return {"symbol": self.of_block(pointer.block), "offset": pointer.offset}


def _describe_layer(layer: Layer, names: _Names, found: Described) -> dict[str, Any]:
    name = names.layers[id(layer)]
    entry: dict[str, Any] = {"name": name, "function": layer.function.name}
    entry["where"] = str(layer.recorded.place)
    entry["params"] = dict(layer.params)
    if not layer.complete:
        return entry
    try:
        _add_arrays(layer, name, entry, found)
        reads = [(array.name, pointer) for array, pointer in layer.reads()]
    except (ValueError, KeyError, ZeroDivisionError, MemoryError):
        layer.complain("its arguments contradict each other")
        return entry
    entry["inputs"] = []
    for what, pointer in reads:
        if pointer is None or pointer.block is None:
            layer.complain(f"the input {what} is NULL or unknown")
            entry["inputs"].append(None)
        else:
            entry["inputs"].append(names.address(pointer))
    output = layer.pointers.get(layer.function.output.name)
    if output is None or output.block is None:
        layer.complain("the output is NULL or unknown")
    else:
        entry["output"] = names.address(output)
    if layer.scratch is not None:
        entry["scratch"] = names.address(layer.scratch)
    return entry


def _add_arrays(layer: Layer, name: str, entry: dict[str, Any], found: Described) -> None:
    weights, bias = read_arrays(layer)
    for key, array in (("weights", weights), ("bias", bias)):
        if array is not None:
            entry[key] = f"{name}_{key}"
            found.arrays[f"{name}_{key}"] = array


# ---- memory ----


def _describe_memory(
    machine: Machine,
    layers: Sequence[Layer],
    names: _Names,
    found: Described,
    inputs: Mapping[str, Sequence[int]],
    further: Sequence[Recorded],
) -> None:
    whole = [layer for layer in layers if layer.complete]
    open_reads = list(_list_open_reads(whole))
    written = [region for layer in whole for region in _writes(layer)]
    entry = _choose_input(machine, whole, open_reads, inputs, further)
    found.problems += _list_foreign_writes(machine, whole, names)
    states = []
    for region in _subtract(open_reads, entry):
        if any(region.overlaps(other) for other in written):
            states.append(region)
        elif region.block.data is not None:
            found.problems.append(
                f"{region.block.where}: a layer reads the constants {region.block.name} as input"
            )
        else:
            found.problems.append(
                f"{region.block.where}: a layer reads bytes {region.start} to {region.end - 1} of "
                f"{names.of_block(region.block)}, which nothing has written"
            )
    buffers = {names.of_block(block): {"bytes": _measure(block, whole)} for block in names.blocks}
    found.values["buffers"] = buffers
    if entry is None:
        have = ", ".join(dict.fromkeys(names.of_block(region.block) for region in open_reads))
        wanted = repr(next(iter(inputs))) if inputs else "an input"
        found.problems.append(f"no layer reads {wanted} first; inputs= takes: {have or 'none'}")
        return
    shape, dtype = _shape_of(entry, whole, inputs)
    if states:
        _add_recurrent(found, names, entry, dtype, states)
    else:
        place = {"symbol": names.of_block(entry.block), "offset": entry.start}
        found.values["input"] = {"buffer": place, "shape": shape, "dtype": dtype}
    outputs = _list_outputs(whole, names)
    if len(outputs) > 1:
        found.values["outputs"] = outputs


def _region(pointer: Pointer, nbytes: int) -> Optional[Region]:
    if pointer.block is None:
        return None
    return Region(pointer.block, pointer.offset, pointer.offset + nbytes)


@functools.lru_cache(maxsize=1 << 12)
def _reads(layer: Layer) -> tuple[Region, ...]:
    """Return what a layer reads; not the other parts of an output that it completes."""
    return tuple(_iterate_reads(layer))


def _iterate_reads(layer: Layer) -> Iterator[Region]:
    for array, pointer in layer.reads():
        completes = array.name == layer.function.output.name and len(layer.function.inputs) > 1
        if pointer is not None and not (completes and not array.state):
            region = _region(pointer, array.nbytes(layer.known))
            if region is not None:
                yield region


@functools.lru_cache(maxsize=1 << 12)
def _writes(layer: Layer) -> tuple[Region, ...]:
    """Return what a layer writes: its output first, and its states."""
    return tuple(_iterate_writes(layer))


def _iterate_writes(layer: Layer) -> Iterator[Region]:
    output = layer.function.output
    pointers = [(output, layer.pointers.get(output.name))]
    pointers += [(array, p) for array, p in layer.reads() if array.state]
    for array, pointer in pointers:
        region = _region(pointer, array.nbytes(layer.known)) if pointer is not None else None
        if region is not None:
            yield region


def _list_open_reads(layers: Sequence[Layer]) -> list[Region]:
    """Return what layers read before a layer has written it, merged."""
    written: dict[int, np.ndarray] = {}
    found: list[Region] = []
    for layer in layers:
        for region in _reads(layer):
            mask = _grow(written, region)
            missing = np.flatnonzero(~mask[region.start : region.end])
            for run in np.split(missing, np.flatnonzero(np.diff(missing) != 1) + 1):
                if run.size:
                    start = region.start + int(run[0])
                    found.append(Region(region.block, start, start + int(run.size)))
            mask[region.start : region.end] |= True  # it is read once
        for region in _writes(layer):
            _grow(written, region)[region.start : region.end] = True
    return found


def _grow(written: dict[int, np.ndarray], region: Region) -> np.ndarray:
    mask = written.get(id(region.block), np.zeros(0, bool))
    if mask.size < region.end:
        mask = np.concatenate([mask, np.zeros(region.end - mask.size, bool)])
        written[id(region.block)] = mask
    return mask


def _choose_input(
    machine: Machine,
    layers: Sequence[Layer],
    reads: Sequence[Region],
    inputs: Mapping[str, Sequence[int]],
    further: Sequence[Recorded],
) -> Optional[Region]:
    """Return the bytes of the input: as named, written anew before each run, or read first."""
    if inputs:
        wanted = next(iter(inputs))
        for layer in layers:
            for array, pointer in layer.reads():
                named = layer.texts.get(array.name) == wanted
                if pointer is not None and (named or _is_named(pointer, wanted)):
                    return _cut_input(_region(pointer, array.nbytes(layer.known)), reads)
        return next((region for region in reads if region.block.name == wanted), None)
    if further and layers:
        first, last = further[0].order, layers[-1].recorded.order
        between = [w for w in machine.writes if last < w.order < first]
        for write in between:
            for region in reads:
                inner = Region(write.block, write.start, write.end)
                if region.overlaps(inner):
                    start, end = max(region.start, write.start), min(region.end, write.end)
                    return Region(region.block, start, end)
    return reads[0] if reads else None


def _is_named(pointer: Pointer, name: str) -> bool:
    return pointer.block is not None and pointer.block.name == name


def _cut_input(region: Optional[Region], reads: Sequence[Region]) -> Optional[Region]:
    """Return the part of a region that a layer reads before it is written."""
    for each in reads:
        if region is not None and each.overlaps(region):
            return Region(each.block, max(each.start, region.start), min(each.end, region.end))
    return region


def _subtract(reads: Sequence[Region], entry: Optional[Region]) -> Iterator[Region]:
    """Yield the parts of regions outside of the input."""
    for region in reads:
        if entry is None or not region.overlaps(entry):
            yield region
            continue
        if region.start < entry.start:
            yield Region(region.block, region.start, entry.start)
        if entry.end < region.end:
            yield Region(region.block, entry.end, region.end)


def _list_foreign_writes(machine: Machine, layers: Sequence[Layer], names: _Names) -> Iterator[str]:
    """Yield code between layers that writes what a later layer reads: it belongs to the network."""
    told = set()
    for at, layer in enumerate(layers):
        if at == 0:
            continue
        before = layers[:at]
        for region in _reads(layer):
            made = [
                other.recorded.order
                for other in before
                if any(region.overlaps(own) for own in _writes(other))
            ]
            start = max([layers[0].recorded.order, *made])
            for write in machine.writes:
                inside = start < write.order < layer.recorded.order
                if inside and region.overlaps(Region(write.block, write.start, write.end)):
                    told.add(
                        f"{write.place}: code between the layers writes "
                        f"{names.of_block(write.block)}, which {names.layers[id(layer)]} reads"
                    )
    yield from sorted(told)


def _measure(block: Block, layers: Sequence[Layer]) -> int:
    """Return the bytes of a buffer: declared, or as far as layers use it."""
    if block.size and block.data is None:
        return block.size
    ends = [1]
    for layer in layers:
        ends += [r.end for r in (*_reads(layer), *_writes(layer)) if r.block is block]
        scratch = layer.scratch
        if scratch is not None and scratch.block is block:
            needed = max(
                layer.function.buffer_bytes(layer.known, path) for path in ("dsp", "plain")
            )
            ends.append(scratch.offset + max(1, needed))
    return max(ends)


def _shape_of(
    entry: Region, layers: Sequence[Layer], inputs: Mapping[str, Sequence[int]]
) -> tuple[list[int], str]:
    """Return shape and type of the input: as given, or as the layer that reads it has them."""
    for layer in layers:
        for array, pointer in layer.reads():
            region = _region(pointer, array.nbytes(layer.known)) if pointer is not None else None
            if region is None or not region.overlaps(entry):
                continue
            dtype = array.dtype_in(layer.known)
            count = (entry.end - entry.start) // np.dtype(dtype).itemsize
            given = list(next(iter(inputs.values()), ()) or ())
            if given:
                if int(np.prod(given)) != count:
                    raise ModelError(
                        f"inputs= gives the shape {given}, but {layer.function.name} reads {count} "
                        "elements"
                    )
                return given, dtype
            shape = list(array.shape(layer.known))
            shape = shape[1:] if len(shape) > 1 and shape[0] == 1 else shape
            return shape if int(np.prod(shape)) == count else [count], dtype
    return [entry.end - entry.start], "int8"


def _add_recurrent(
    found: Described, names: _Names, entry: Region, dtype: str, states: Sequence[Region]
) -> None:
    """Describe a recurrent network: names for the input and for each state."""
    parts: dict[str, dict[str, list[int]]] = {}
    labels = []
    for region, stem in [(entry, "input"), *((state, "state") for state in states)]:
        name = names.make(stem)
        labels.append(name)
        block = names.of_block(region.block)
        parts.setdefault(block, {})[name] = [region.start, region.end - region.start]
    for block, own in parts.items():
        found.values["buffers"][block]["parts"] = own
    found.values["recurrent"] = {"dtype": dtype, "input": labels[0], "state": labels[1:]}


def _list_outputs(layers: Sequence[Layer], names: _Names) -> list[str]:
    """Return the layers whose result nobody reads or overwrites, and the last one."""
    found = []
    for at, layer in enumerate(layers):
        later = layers[at + 1 :]
        made = list(_writes(layer))[:1]
        used = [r for other in later for r in (*_reads(other), *_writes(other))]
        if made and (not later or not any(made[0].overlaps(r) for r in used)):
            found.append(names.layers[id(layer)])
    return found
