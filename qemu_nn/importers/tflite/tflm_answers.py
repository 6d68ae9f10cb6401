"""Recorded answers of TensorFlow Lite Micro: the types of operands that each operator runs with.

`tflm_answers.tsv.bz2` has the answers of its Python wheel of 23 October 2026 to a grid of files,
with the error texts; `.ci/record-tflm-answers` writes it. A line is an operator, the text ("" if it
runs), and signatures of operands.
"""

from __future__ import annotations

import bz2
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import groupby
from pathlib import Path
from types import MappingProxyType
from typing import Optional

from ...errors import ModelError
from .checked import library
from .parser import TfliteModel, TfliteOperator

#: Operator of the line that lists all operators of the framework, by their names.
OPERATORS = "*"

#: Error texts for a builtin and for a custom operator that the framework lacks.
_UNKNOWN = "Didn't find op for builtin opcode '{}'"
_CUSTOM = "Failed to get registration from op code CUSTOM"

#: Custom operators of accelerators, which builds with their drivers have -> the reason.
ACCELERATORS = {
    "edgetpu-custom-op": "it holds commands for Google's Edge TPU; give the file that "
    "edgetpu_compiler read",
}

#: Custom operators that builds with a driver have; the recorded build has none.
_OF_DRIVERS = ("ethos-u",)

#: Start of the sentence that quotes the framework.
_REFUSES = "TensorFlow Lite Micro refuses it"


@cache
def _table() -> Mapping[str, Mapping[str, str]]:
    """Return operator -> signature -> error text."""
    found: dict[str, dict[str, str]] = {}
    path = Path(__file__).with_name("tflm_answers.tsv.bz2")
    for line in bz2.decompress(path.read_bytes()).decode().splitlines():
        name, words, signatures = line.split("\t")
        found.setdefault(name, {}).update(dict.fromkeys(signatures.split(" "), words))
    return MappingProxyType(found)


@cache
def supported() -> frozenset[str]:
    """Return the names of the framework's operators, builtin and custom."""
    return frozenset(_table()[OPERATORS])


def list_answers(operator: str) -> Mapping[str, str]:
    """Return the recorded answers of an operator: signature -> error text, "" if it runs."""
    return _table().get(operator, {})


def describe(model: TfliteModel, operator: TfliteOperator) -> str:
    """Return the signature of an operator's operands: "INT8,INT32=>INT8".

    "=" follows the type of a constant, "~" that of an integer tensor without scales; "-" is a
    missing operand. Equal neighbors count once.
    """
    return _sign(*_list_operands(model, operator))


def _list_operands(model: TfliteModel, operator: TfliteOperator) -> tuple[list[str], list[str]]:
    """Return the descriptions of inputs and outputs."""
    inputs, outputs = (
        ["-" if index < 0 else model.describe(index) for index in each]
        for each in (operator.inputs, operator.outputs)
    )
    return inputs, outputs


def _sign(inputs: Iterable[str], outputs: Iterable[str]) -> str:
    ends = ([operand for operand, _ in groupby(each)] for each in (inputs, outputs))
    return ">".join(map(",".join, ends))


def find_answer(model: TfliteModel, operator: TfliteOperator) -> Optional[str]:
    """Return the framework's error text for an operator; "" if it runs, None if unknown.

    If operands lack scales, a text for one of these holds, or a text for all with scales.
    """
    if operator.name in (*ACCELERATORS, *_OF_DRIVERS):
        return None
    if operator.name not in supported():
        known_name = operator.name in vars(library("BuiltinOperator"))
        return _UNKNOWN.format(operator.name) if known_name else _CUSTOM
    known = list_answers(operator.name)
    try:
        ends = _list_operands(model, operator)
    except ModelError:  # a damaged tensor: its own error names it
        return None
    answer = known.get(_sign(*ends))
    if answer is None:
        texts = [known.get(signature) for signature in _add_scales(*ends)]
        answer = next(filter(None, texts), None)
    return answer


def _add_scales(inputs: list[str], outputs: list[str]) -> Iterator[str]:
    """Yield the signatures with scales for all operands but one, and for all."""
    whole, count = [*inputs, *outputs], len(inputs)
    for at, operand in enumerate([*whole, "~"]):
        if "~" in operand:
            rest = [each if i == at else each.replace("~", "") for i, each in enumerate(whole)]
            yield _sign(rest[:count], rest[count:])


def check_operators(model: TfliteModel, operators: Iterable[TfliteOperator]) -> None:
    """Raise ModelError for an operator whose operands the framework refuses."""
    for operator in operators:
        said = explain_refusal(model, operator)
        if said:
            raise ModelError(f"{operator}: {said}")


def explain_refusal(model: TfliteModel, operator: TfliteOperator) -> str:
    """Return the error for an operator whose operands the framework refuses, else ""."""
    words = find_answer(model, operator)
    if not words:
        return ""
    if operator.name not in supported():
        return refuse(explain_missing(operator), words)
    given = describe(model, operator).replace("=", " (constant)").replace("~", " without scales")
    inputs, _, outputs = given.replace(",", ", ").partition(">")
    return refuse(f"it computes {outputs or 'nothing'} from {inputs or 'nothing'}", words)


def explain_missing(operator: TfliteOperator) -> str:
    """Return the reason why an operator is not supported."""
    return ACCELERATORS.get(operator.name, "the operator is not supported")


def quote_answer(model: TfliteModel, operator: TfliteOperator, reason: str) -> str:
    """Return a reason against an operator, and what the framework is known to do with it."""
    if _REFUSES in reason:
        return reason
    words = find_answer(model, operator)
    if words == "":
        return f"{reason}. TensorFlow Lite Micro does not refuse these types"
    return refuse(reason, words) if words else reason


def refuse(reason: str, words: str) -> str:
    """Return a reason with the framework's error text."""
    return f"{reason}. {_REFUSES}: {words}"
