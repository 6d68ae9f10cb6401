"""Search for the fault of one layer: hypotheses that explain all of its bytes."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Optional

import numpy as np

from ..ir.builds import build_calls
from ..ir.formats import find_differing
from ..ir.graph import Address, Graph, Memory, Node
from ..runtime.plan import CLOBBER
from ..targets import Profile
from .fault_hypotheses import Evidence, iterate_outputs
from .layer_call import LayerCall

#: Seconds for one layer, in all samples together; and fewest for a sample.
_LIMIT, _LEAST = 1.0, 0.1

#: Differing elements from which one explanation is certain.
_CERTAIN = 4

#: Hypotheses named in a sentence; further ones are counted.
_NAMED = 4

#: Bytes of a run that identify their origin, and the byte that an export's stand-ins write to
#: scratch memory.
_RUN, _JUNK = 6, 0xA5

#: Largest share of the output that is a run, and fewest bytes of a run of unknown origin.
_MOST_RUN, _UNOWNED = 0.75, 16

_Values = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Place:
    """Memory that a run writes: what for, the tensor if there is one, its address and its bytes."""

    what: str
    tensor: str
    address: Address
    nbytes: int

    def overlaps(self, address: Address, nbytes: int) -> bool:
        """True if both share a byte."""
        start, other = self.address.offset, address.offset
        same = self.address.buffer == address.buffer
        return same and start < other + nbytes and other < start + self.nbytes


@dataclass(frozen=True)
class Found:
    """Result of the search in one sample.

    sentences: hypotheses that explain all bytes. note: what is known without one. nbytes,
    differing: bytes of the output, and how many elements differ. complete: false if the time was
    too short for all hypotheses.
    """

    sentences: tuple[str, ...] = ()
    note: str = ""
    nbytes: int = 0
    differing: int = 0
    complete: bool = True


def spell(first: Found, others: Sequence[Found] = ()) -> str:
    """Return the fault of a layer in words, "" if nothing explains its bytes.

    others: found in further samples; a fault explains the layer in all of them.
    """
    if first.note or not first.sentences:
        return first.note
    every = [first, *(other for other in others if other.nbytes and not other.note)]
    common = [each for each in first.sentences if all(each in o.sentences for o in every)]
    union = dict.fromkeys(each for found in every for each in found.sentences)
    named = common or list(union)
    share = f"explains {first.nbytes} of {first.nbytes} bytes"
    doubt = "" if first.complete else "; there was no time for all hypotheses"
    if not common:
        share, doubt = f"explains all {first.nbytes} bytes of one sample, but not of others", ""
    if len(named) > 1:
        more = f"; or {len(named) - _NAMED} more" if len(named) > _NAMED else ""
        return f"one of: {'; or '.join(named[:_NAMED])}{more}; each {share}{doubt}"
    differing = sum(found.differing for found in every)
    if differing >= _CERTAIN and common and not doubt:
        return f"{named[0]}; {share}"
    few = f", of which only {differing} differ" if differing < _CERTAIN else ""
    return f"perhaps {named[0]}; {share}{few}{doubt}"


@dataclass(frozen=True, eq=False)
class FaultSearch:
    """Facts of a network: its calls on a device, and the memory that they write.

    places: in the order of a run; empty if the memory is unknown.
    """

    network: Graph
    profile: Profile
    places: Sequence[Place] = ()
    _spent: dict[str, float] = field(default_factory=dict, repr=False)

    @cached_property
    def graph(self) -> Graph:
        """The network with the calls of the profile's build."""
        return build_calls(self.network, self.profile)

    def find(
        self, layer: str, want: np.ndarray, got: np.ndarray, values: _Values, earlier: _Values
    ) -> Found:
        """Search for the fault of a layer in one sample.

        want: right. got: wrong, flat. values: tensor -> its bytes on the device in this sample,
        without the layer's own; of states before the step. earlier: all results of the sample
        before.
        """
        start = time.monotonic()
        evidence = self._collect(layer, want, got, values, earlier)
        limit = _LIMIT - self._spent.get(layer, 0.0)
        if evidence is None or limit < _LEAST:
            return Found()
        try:
            return self._find(evidence, start + limit)
        finally:
            self._spent[layer] = self._spent.get(layer, 0.0) + time.monotonic() - start

    def _find(self, evidence: Evidence, deadline: float) -> Found:
        got = evidence.got
        right = evidence.call.compute()
        if right is not None and _same(right, got):
            return Found(note="its inputs differ, and this is what the layer computes of them")
        if right is None or not _same(right, evidence.want):
            return Found(note=self._find_run(evidence))
        found = self._search(evidence, deadline)
        note = "" if found.sentences else self._find_stale(evidence) or self._find_run(evidence)
        return Found(found.sentences, note, found.nbytes, found.differing, found.complete)

    def _search(self, evidence: Evidence, deadline: float) -> Found:
        """Return all hypotheses that give the bytes of the device."""
        found: dict[str, None] = {}
        complete = True
        for sentence, output in iterate_outputs(evidence):
            if output.size == evidence.got.size and _same(output, evidence.got):
                found[sentence] = None
            if time.monotonic() > deadline:
                complete = False
                break
        differing = int(np.count_nonzero(find_differing(evidence.got, evidence.want)))
        return Found(tuple(found), "", evidence.got.nbytes, differing, complete)

    def _collect(
        self, layer: str, want: np.ndarray, got: np.ndarray, values: _Values, earlier: _Values
    ) -> Optional[Evidence]:
        graph = self.graph
        node = next((each for each in graph.nodes if each.name == layer), None)
        if node is None:
            return None
        reads: tuple[str, ...] = ()
        if graph.memory is not None:
            inputs = _read_memory(graph, graph.memory, node, values)
        else:
            reads = node.inputs
            inputs = _read_tensors(node, values)
        if inputs is None:
            return None
        call = LayerCall(
            node.function, node.params, inputs, *_get_arrays(graph, node), self.profile
        )
        return Evidence(
            layer,
            call,
            want.ravel(),
            got,
            {name: value for name, value in values.items() if name != layer},
            earlier,
            reads,
            _find_image(graph, node, inputs[0].size if inputs else 0),
            {each.name: _get_arrays(graph, each) for each in graph.nodes if each.name != layer},
        )

    def _find_stale(self, evidence: Evidence) -> str:
        """Return what is left in the memory of a layer that did not run; "" if it ran, or unknown.

        Scratch memory has unknown bytes.
        """
        own = next((place for place in self.places if place.tensor == evidence.layer), None)
        if own is None:
            return ""
        known = np.zeros(own.nbytes, bool)
        content = np.zeros(own.nbytes, np.uint8)
        names: list[str] = []
        turns = [evidence.earlier] if evidence.earlier else []
        for values in (*turns, evidence.tensors):
            for place in self.places:
                if place is own and values is evidence.tensors:
                    break
                if not place.overlaps(own.address, own.nbytes):
                    continue
                at = place.address.offset - own.address.offset
                start, end = max(0, at), min(own.nbytes, at + place.nbytes)
                raw = values.get(place.tensor)
                known[start:end] = raw is not None
                if raw is not None:
                    content[start:end] = raw.ravel().view(np.uint8)[start - at : end - at]
                    names.append(place.what)
        got, want = (x.view(np.uint8) for x in (evidence.got, evidence.want))
        count = int(np.count_nonzero(known))
        differs = (got != want) & known
        if np.count_nonzero(differs) < _RUN or (got != content)[known].any():
            return ""
        named = " and ".join(dict.fromkeys(names[-2:]))
        doubt = "perhaps " if 2 * count < own.nbytes else ""
        share = f"explains {count} of {own.nbytes} bytes"
        rest = "" if count == own.nbytes else ", the others are scratch memory"
        return f"{doubt}the layer did not run: its memory still has {named}; {share}{rest}"

    def _find_run(self, evidence: Evidence) -> str:
        """Return which bytes are overwritten, and by whose, if the others are right."""
        got, want = (x.view(np.uint8) for x in (evidence.got, evidence.want))
        differs = np.flatnonzero(got != want)
        start, end = int(differs[0]), int(differs[-1]) + 1
        length = end - start
        if not _RUN <= length <= got.size * _MOST_RUN or 2 * differs.size < length:
            return ""
        run = got[start:end].tobytes()
        where = f"bytes {start} to {end - 1} of {got.size}"
        near = self._list_near(evidence.layer, start, end)
        if set(run) == {_JUNK}:
            return f"{where} are scratch memory, which stand-ins fill with 0x{_JUNK:02x}{near}"
        if len(set(run)) == 1:
            return f"{where} are overwritten by the byte 0x{run[0]:02x}{near}"
        owners = list(_iterate_owners(run, evidence))
        if owners:
            named = " or ".join(owners[:_NAMED])
            share = f"explains {got.size} of {got.size} bytes"
            return f"{where} are overwritten by {named}{near}; {share}"
        long = length >= _UNOWNED and 2 * length <= got.size
        return f"perhaps {where} are overwritten{near}: all others are right" if long else ""

    def _list_near(self, layer: str, start: int, end: int) -> str:
        """Return what else the map has at these bytes of a layer's output."""
        own = next((place for place in self.places if place.tensor == layer), None)
        if own is None:
            return ""
        address = Address(own.address.buffer, own.address.offset + start)
        shared = (p.what for p in self.places if p is not own and p.overlaps(address, end - start))
        names = list(dict.fromkeys(shared))
        return f", where the memory map also has {', '.join(names[:_NAMED])}" if names else ""


def _iterate_owners(run: bytes, evidence: Evidence) -> Iterator[str]:
    """Yield the tensors and arrays that contain a run of bytes."""
    for name, values in evidence.tensors.items():
        at = values.tobytes().find(run)
        if at >= 0:
            yield f"bytes {at} to {at + len(run) - 1} of {name}"
    for name, arrays in evidence.layers.items():
        for what, array in zip(("weights", "bias"), arrays):
            if array is not None and run in array.tobytes():
                yield f"the {what} of {name}"


def _get_arrays(graph: Graph, node: Node) -> tuple[Optional[np.ndarray], Optional[np.ndarray]]:
    names = (node.weights, node.bias)
    weights, bias = (None if n is None else np.ascontiguousarray(graph.arrays[n]) for n in names)
    return weights, bias


def _find_image(graph: Graph, node: Node, size: int) -> tuple[int, ...]:
    """Return height, width and channels of a call's first input; () if it is no image.

    Element-wise calls have flat outputs: the image is that of an earlier tensor of the same size.
    """
    made = {each.name: each for each in graph.nodes}
    tensors, names = graph.tensors, node.inputs
    while names:
        shape = tuple(side for side in tensors[names[0]].shape)
        shape = shape[1:] if len(shape) == 4 and shape[0] == 1 else shape
        if math.prod(shape) != size:
            return ()
        if len(shape) == 3:
            return shape
        names = made[names[0]].inputs if names[0] in made else ()
    return ()


def _read_tensors(node: Node, values: _Values) -> Optional[tuple[np.ndarray, ...]]:
    """Return the inputs of a call; None if one is unknown."""
    if any(name not in values for name in node.inputs):
        return None
    return tuple(np.ascontiguousarray(values[name]).ravel() for name in node.inputs)


def _read_memory(
    graph: Graph, memory: Memory, node: Node, values: _Values
) -> Optional[tuple[np.ndarray, ...]]:
    """Return the inputs of a call as the results of earlier calls left them in memory."""
    content = {name: np.zeros(size, np.uint8) for name, size in memory.buffers.items()}

    def write(address: Address, array: np.ndarray) -> None:
        raw = np.ascontiguousarray(array).ravel().view(np.uint8)
        content[address.buffer][address.offset : address.offset + raw.size] = raw

    for name, address in memory.states.items():
        if name in values:
            write(address, values[name])
    if graph.input.name not in values:
        return None
    write(memory.input, values[graph.input.name])
    for each in graph.nodes:
        call = memory.calls[each.name]
        if each.name == node.name:
            arrays = node.function.list_read_inputs(node.params)
            found = []
            for array, at in zip(arrays, call.inputs):
                end = at.offset + array.nbytes(node.params)
                found.append(np.array(content[at.buffer][at.offset : end]).view(array.dtype))
            return tuple(found)
        if each.name not in values:
            return None
        write(call.output, values[each.name])
        if CLOBBER + each.name in values:
            write(call.inputs[0], values[CLOBBER + each.name])
    return None


def _same(got: np.ndarray, want: np.ndarray) -> bool:
    return not find_differing(got, want).any()
