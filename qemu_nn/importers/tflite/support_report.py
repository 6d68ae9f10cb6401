"""Every operator of a .tflite file, whether it runs and why not: all reasons, not one only."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

from ...errors import Error, ModelError
from ...ir.graph import Graph
from .building import BARE, Builder
from .call import Call
from .network import CONVERTERS, convert, kept, network_outputs, start
from .parser import Model, Operator, read
from .tflm_rejections import TAKEN, refused


@dataclass(frozen=True)
class Finding:
    """What becomes of an operator, the index-th of the file.

    reason: why it does not run; "" if it does. tflm: why TensorFlow Lite Micro does not take it
    either, in its words; "" if nothing is known that it refuses. looked_at: False where it reads
    what an operator that does not run would make, in a format that nobody knows.
    """

    operator: str
    index: int
    reason: str = ""
    tflm: str = ""
    looked_at: bool = True

    @property
    def words(self) -> str:
        """Why it does not run, and what TensorFlow Lite Micro says of it."""
        if not self.looked_at:
            return self.reason
        if self.tflm:
            return f"{self.reason}. TensorFlow Lite Micro refuses it, too: {self.tflm}"
        if self.operator in TAKEN:
            return f"{self.reason}. TensorFlow Lite Micro has this operator"
        return self.reason


@dataclass(frozen=True)
class Examined:
    """A file: its operators, faults of the whole, and the network if it can be loaded."""

    name: str
    findings: tuple[Finding, ...]
    faults: tuple[str, ...]
    graph: Optional[Graph]

    @property
    def failed(self) -> list[Finding]:
        """The operators that do not run."""
        return [finding for finding in self.findings if finding.reason]

    @property
    def groups(self) -> list[tuple[Finding, int]]:
        """Operators that do not run, the first of those that have the same reason, and how many."""
        found: dict[tuple[str, str], list[Finding]] = {}
        for each in self.failed:
            found.setdefault((each.operator, _general(each.words)), []).append(each)
        return [(same[0], len(same)) for same in found.values()]

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the file cannot be loaded, in sentences."""
        return (
            *self.faults,
            *(
                f"{first.operator} (operator {first.index}"
                f"{f' and {count - 1} more' if count > 1 else ''}): {first.words}"
                for first, count in self.groups
            ),
        )


def _general(reason: str) -> str:
    """A reason without what differs between operators of a kind: tensors, sizes, formats."""
    return re.sub(r"\('.*?'\)|'[^']*/[^']*'|\d+", "#", reason)


def examined(path: Path) -> Examined:
    """What becomes of each operator of a file, in the file's order.

    After an operator that does not run, others go on with what the file says of its outputs. Raises
    ModelError for what is no such file or is damaged.
    """
    model = read(path)
    try:
        return _Examination(model).result()
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from None


class _Examination:
    """One file under examination. unknown: tensors that nothing is known of."""

    def __init__(self, model: Model) -> None:
        self.model, self.builder = model, Builder(model)
        self.unknown: set[int] = set()
        self.faults: list[str] = []

    def result(self) -> Examined:
        """All that is found."""
        operators = self._started(self._ended(kept(self.model)))
        found = {each.index: each for each in map(self._finding, operators)}
        findings = tuple(
            found.get(each.index, Finding(each.name, each.index)) for each in self.model.operators
        )
        graph = None
        if not self.faults and not any(each.reason for each in findings):
            try:
                graph = convert(self.model)
            except ModelError as error:
                self.faults.append(str(error))
        return Examined(self.model.name, findings, tuple(self.faults), graph)

    def _ended(self, operators: list[Operator]) -> list[Operator]:
        """Those up to the network's outputs."""
        for name, indices in (("inputs", self.model.inputs), ("outputs", self.model.outputs)):
            if not indices:
                self.faults.append(f"it has no {name}")
        try:
            return network_outputs(self.model, operators)[1]
        except ModelError as error:
            self.faults.append(str(error))
            return operators

    def _started(self, operators: list[Operator]) -> list[Operator]:
        """Those behind the network's inputs."""
        for index in dict.fromkeys(self.model.inputs):
            try:
                _, operators = start(self.builder, index, operators)
            except ModelError as error:
                self.faults.append(str(error))
                self._described((index,))
        return operators

    def _finding(self, operator: Operator) -> Finding:
        unseen = self._unseen(operator) if operator.name in CONVERTERS else ""
        reason, tflm = unseen or self._reason(operator), ""
        if reason:
            self._described(operator.outputs)
            tflm = "" if unseen else refused(self.model, operator)
        return Finding(operator.name, operator.index, reason, tflm, not unseen)

    def _unseen(self, operator: Operator) -> str:
        """Why an operator is not looked at."""
        if self.builder.full:
            return "not looked at, as the network is too large already"
        if self.unknown.isdisjoint(operator.inputs):
            return ""
        return "not looked at, as it reads what an operator before it does not make"

    def _reason(self, operator: Operator) -> str:
        if operator.name not in CONVERTERS:
            return "it is not supported"
        try:
            CONVERTERS[operator.name](Call(operator, self.builder))
        except Error as error:
            return str(error)
        return ""

    def _described(self, indices: tuple[int, ...]) -> None:
        """Take tensors that no call makes as the file describes them."""
        for index in self._unmade(indices):
            try:
                self.builder.make(index, self.builder.declared(index, *BARE))
            except ModelError:
                self.unknown.add(index)

    def _unmade(self, indices: tuple[int, ...]) -> Iterator[int]:
        return (index for index in indices if not self.builder.has(index))
