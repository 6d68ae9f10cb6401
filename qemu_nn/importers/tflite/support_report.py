"""A report on every operator of a .tflite file: supported or not, with all reasons."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

from ...errors import Error, ModelError
from ...ir.graph import Graph
from ...ir.tflm_memory import TflmFigures
from .building import BARE, TfliteBuilder
from .call import TfliteCall
from .floats import UNSEEN, examine_floats
from .network import (
    CONVERTERS,
    convert,
    drop_shape_operators,
    holds_floats,
    strip_dequantize,
    strip_quantize,
)
from .parser import TfliteModel, TfliteOperator, read
from .tflm_answers import explain_missing, explain_refusal, find_answer, quote_answer
from .tflm_memory import find_tflm_figures

#: Reason against a float network that loads.
_QUANTIZE = "it is a float network; quantize it first"


@dataclass(frozen=True)
class OperatorFinding:
    """The result for one operator.

    index: position of the operator in the file. reason: why the operator does not run, and what
    TensorFlow Lite Micro does with it; "" if it runs. tflm: error text of TensorFlow Lite Micro for
    the operator; "" if none is known. looked_at: False if the format of an input is unknown,
    because its operator does not run.
    """

    operator: str
    index: int
    reason: str = ""
    tflm: str = ""
    looked_at: bool = True


@dataclass(frozen=True)
class SupportReport:
    """The report on a file: operators, faults of the whole file, and the network if it loads, with
    the memory of its interpreter.

    A float network has no graph: no device of this package runs it. floats: True if the file holds
    one that loads.
    """

    name: str
    findings: tuple[OperatorFinding, ...]
    faults: tuple[str, ...]
    graph: Optional[Graph]
    tflm_figures: Optional[TflmFigures] = None
    floats: bool = False

    @property
    def failed(self) -> list[OperatorFinding]:
        """The operators that do not run."""
        return [finding for finding in self.findings if finding.reason]

    @property
    def groups(self) -> list[tuple[OperatorFinding, int]]:
        """Operators that do not run, grouped by reason: the first of each group, and the count."""
        found: dict[tuple[str, str], list[OperatorFinding]] = {}
        for each in self.failed:
            found.setdefault((each.operator, _generalize(each.reason)), []).append(each)
        return [(same[0], len(same)) for same in found.values()]

    @property
    def reasons(self) -> tuple[str, ...]:
        """The reasons why the file does not load, as sentences."""
        return (
            *self.faults,
            *(
                f"{first.operator} (operator {first.index}"
                f"{f' and {count - 1} more' if count > 1 else ''}): {first.reason}"
                for first, count in self.groups
            ),
        )


def _generalize(reason: str) -> str:
    """Replace tensors, sizes and formats in a reason, so that equal faults compare equal."""
    return re.sub(r"\('.*?'\)|'[^']*/[^']*'|\d+", "#", reason)


def examine(path: Path, signature: Optional[str] = None) -> SupportReport:
    """Return the report on each operator of a file, in the file's order.

    signature: the key of one of several signatures; default: the first graph.

    After an operator that does not run, the report continues with the file's description of its
    outputs. Raises ModelError if the file is damaged or no .tflite file.
    """
    model = read(path).select(signature)
    try:
        return _examine_floats(model) if holds_floats(model) else _Examination(model).result()
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from None


def _examine_floats(model: TfliteModel) -> SupportReport:
    """Return the report on a file of a float network."""
    reasons, fault = examine_floats(model)
    findings = []
    for each in model.operators:
        reason = reasons.get(each.index, "")
        tflm = find_answer(model, each) or ""
        findings.append(OperatorFinding(each.name, each.index, reason, tflm, reason != UNSEEN))
    loads = not fault and not reasons
    faults = (fault or _QUANTIZE,) if fault or loads else ()
    return SupportReport(model.name, tuple(findings), faults, None, floats=loads)


class _Examination:
    """A file under examination. unknown: tensors whose format is unknown."""

    def __init__(self, model: TfliteModel) -> None:
        self.model, self.builder = model, TfliteBuilder(model)
        self.unknown: set[int] = set()
        self.faults: list[str] = []

    def result(self) -> SupportReport:
        """Examine all operators and return the report."""
        operators = self._strip_inputs(self._strip_outputs(drop_shape_operators(self.model)))
        found = {each.index: each for each in map(self._finding, operators)}
        findings = tuple(
            found.get(each.index) or self._find_refusal(each) for each in self.model.operators
        )
        graph, memory = None, None
        if not self.faults and not any(each.reason for each in findings):
            try:
                graph = convert(self.model)
                memory = find_tflm_figures(self.model, graph)
            except ModelError as error:
                self.faults.append(str(error))
        return SupportReport(self.model.name, findings, tuple(self.faults), graph, memory)

    def _strip_outputs(self, operators: list[TfliteOperator]) -> list[TfliteOperator]:
        """Return the operators up to the network's outputs."""
        for name, indices in (("inputs", self.model.inputs), ("outputs", self.model.outputs)):
            if not indices:
                self.faults.append(f"it has no {name}; it must have at least one")
        try:
            return strip_dequantize(self.model, operators)[1]
        except ModelError as error:
            self.faults.append(str(error))
            return operators

    def _strip_inputs(self, operators: list[TfliteOperator]) -> list[TfliteOperator]:
        """Return the operators after the network's inputs."""
        for index in dict.fromkeys(self.model.inputs):
            try:
                _, operators = strip_quantize(self.builder, index, operators)
            except ModelError as error:
                self.faults.append(str(error))
                self._describe((index,))
        return operators

    def _find_refusal(self, operator: TfliteOperator) -> OperatorFinding:
        """Return the result for an operator that the network omits, or that converts."""
        reason = explain_refusal(self.model, operator)
        tflm = find_answer(self.model, operator) or ""
        return OperatorFinding(operator.name, operator.index, reason, tflm)

    def _finding(self, operator: TfliteOperator) -> OperatorFinding:
        unseen = self._explain_skip(operator) if operator.name in CONVERTERS else ""
        reason = unseen or self._reason(operator)
        if not reason:
            return self._find_refusal(operator)
        self._describe(operator.outputs)
        if unseen:
            return OperatorFinding(operator.name, operator.index, reason, looked_at=False)
        tflm = find_answer(self.model, operator) or ""
        reason = quote_answer(self.model, operator, reason)
        return OperatorFinding(operator.name, operator.index, reason, tflm)

    def _explain_skip(self, operator: TfliteOperator) -> str:
        """Return the reason for skipping an operator; "" if it can be examined."""
        if self.builder.is_full:
            return "not looked at, because the network is already too large"
        if self.unknown.isdisjoint(operator.inputs):
            return ""
        return UNSEEN

    def _reason(self, operator: TfliteOperator) -> str:
        if operator.name not in CONVERTERS:
            return explain_missing(operator)
        try:
            CONVERTERS[operator.name](TfliteCall(operator, self.builder))
        except Error as error:
            return str(error)
        return ""

    def _describe(self, indices: tuple[int, ...]) -> None:
        """Give tensors that no call computes the format of the file."""
        for index in self._list_unknown(indices):
            try:
                self.builder.set_value(index, self.builder.declare(index, *BARE))
            except ModelError:
                self.unknown.add(index)

    def _list_unknown(self, indices: tuple[int, ...]) -> Iterator[int]:
        return (index for index in indices if not self.builder.has(index))
