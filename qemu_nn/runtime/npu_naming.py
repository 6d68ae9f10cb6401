"""Names of the tensors of command streams, by the compiler's record of its operations."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import count, product
from typing import Optional

import numpy as np

from ..ethosu.operations import Operation
from ..ethosu.program import TRACES_MOST
from ..ethosu.record import Recorded
from ..ethosu.tensors import StreamTensor, find_tensors, join_operations
from ..ir.graph import NpuTensor, Tensor
from ..ir.tensors import make_free_name

#: Start of the names of tensors between those of the original.
INNER = "npu_"

#: Most parts of a joined tensor that operations write without a copy.
_PARTS = 5


def assign_keys(stores: Sequence[Operation], stream: Mapping[int, str]) -> list[str]:
    """Return the key of each operation: an operation that is not listed belongs to the next."""
    keys: list[str] = []
    following = ""
    for op in reversed(stores):
        following = stream.get(op.command, following)
        keys.append(following)
    return keys[::-1]


class Naming:
    """Names of the tensors of streams: those of the original network, and of operations between.

    taken: names that are used. alone: operators without a fused operator after them, as far as the
    operations say. parts: of an operator that joins tensors, the operators that write these.
    """

    def __init__(
        self,
        layers: Mapping[int, Tensor],
        recorded: Mapping[str, Recorded],
        taken: set[str],
        alone: set[int],
        parts: Mapping[int, Sequence[int]] = {},
    ) -> None:
        self._layers, self._recorded, self._taken = layers, recorded, taken
        self._alone, self._parts = alone, parts
        self._number = count(sum(name.startswith(INNER) for name in taken))

    def name(self, stores: Sequence[Operation], keys: Sequence[str]) -> list[NpuTensor]:
        """Return the tensors of a stream in the order of their last operations; keys: of the
        recorded operations.
        """
        groups: dict[str, list[Operation]] = {}
        for op, key in zip(stores, keys):
            groups.setdefault(key, []).append(op)
        found: dict[str, NpuTensor] = {}
        used: Counter[str] = Counter()
        for tensor, candidates in self._list_candidates(groups):
            joined = None
            if tensor.name not in found and _may_use(candidates, used):
                operations = [op for key in candidates for op in groups[key]]
                owners = {self._recorded[key].operator for key in candidates}
                sides = self._recorded[candidates[0]].sides
                joined = _join(operations, sides, tensor, len(owners) == 1)
            if joined is not None:
                used.update(candidates)
                found[tensor.name] = NpuTensor(tensor, joined.pieces)
        tensors = [*found.values()]
        for key, operations in groups.items():
            if key not in used:
                tensors += self._name_inner(operations, self._recorded.get(key))
        return sorted(tensors, key=lambda each: each.pieces[-1].command)

    def _list_candidates(
        self, groups: Mapping[str, list[Operation]]
    ) -> list[tuple[Tensor, list[str]]]:
        """Return tensors of the original with the recorded operations that may write them.

        First by operators: those under the name of its output, or its last one, if no operator
        after it is fused with it. Then by names alone. An operator's operations before its last
        one write parts of its output that are not in order. Then parts of tensors that are joined.
        """
        known = [key for key in groups if key in self._recorded]
        last = {self._recorded[key].operator: key for key in known}
        by_layer, by_name = [], []
        for operator, tensor in self._layers.items():
            own = [key for key in known if self._recorded[key].operator == operator]
            exact = [key for key in own if self._recorded[key].tensor == tensor.name]
            if exact:
                by_layer.append((tensor, exact))
            elif own and operator in self._alone and not self._recorded[own[-1]].fused:
                by_layer.append((tensor, own[-1:]))
        for tensor in self._layers.values():
            exact = [key for key in known if self._recorded[key].tensor == tensor.name]
            if exact and last[self._recorded[exact[-1]].operator] in exact:
                by_name.append((tensor, exact))
        return [*by_layer, *by_name, *self._list_joins(known)]

    def _list_joins(self, known: Sequence[str]) -> Iterator[tuple[Tensor, list[str]]]:
        """Yield joined tensors with copies of parts, and with operations that write parts there."""
        owners = {key: self._recorded[key].operator for key in known}
        last = {operator: key for key, operator in owners.items()}
        for operator, sources in self._parts.items():
            tensor = self._layers.get(operator)
            own = [key for key in known if owners[key] == operator]
            direct = [last[each] for each in sources if each in last][:_PARTS]
            for chosen in product((False, True), repeat=len(direct)):
                keys = {*own, *(key for key, is_chosen in zip(direct, chosen) if is_chosen)}
                if tensor is not None and keys:
                    yield tensor, [key for key in known if key in keys]

    def _name_inner(
        self, operations: Sequence[Operation], found: Optional[Recorded]
    ) -> Iterator[NpuTensor]:
        """Yield the tensors of operations between two tensors of the original."""
        whole = join_operations(operations, found.sides) if found and min(found.sides) > 0 else None
        for each in find_tensors(operations) if whole is None else [whole]:
            first = each.operations[0]
            name = make_free_name(f"{INNER}{next(self._number):03}_{first.name}", self._taken)
            self._taken.add(name)
            yield NpuTensor(Tensor(name, each.sides, first.dtype), each.pieces)


def _may_use(candidates: Sequence[str], used: Mapping[str, int]) -> bool:
    """True if operations may write a tensor, after `used` times another one.

    Parts of a concatenation are tensors themselves; a tensor that one operation writes is one only.
    """
    most = TRACES_MOST if len(candidates) > 1 else 1
    return all(used[key] < most for key in candidates)


def _join(
    operations: Sequence[Operation],
    sides: tuple[int, int, int],
    tensor: Tensor,
    of_one_layer: bool,
) -> Optional[StreamTensor]:
    """Return the operations that write a tensor of the original; None if they write another."""
    size = math.prod(tensor.shape)
    if operations[0].element != np.dtype(tensor.dtype).itemsize:
        return None
    rows, columns, channels = (1, 1, *tensor.shape)[-3:]
    own = (rows, columns, channels) if len(tensor.shape) <= 3 else (0, 0, 0)
    first = operations[0]
    for each in (sides, own, (first.rows, first.columns, first.channels)):
        fits = math.prod(each) == size
        joined = join_operations(operations, each, of_one_layer) if fits else None
        if joined is not None:
            return joined
    return None
