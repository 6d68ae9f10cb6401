"""Initial values of arrays and structs."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from .literals import read_numbers
from .tree import Node
from .values import Block, CType

#: Most bytes of one array.
_MOST_BYTES = 256 * 2**20


class Evaluator(Protocol):
    """Evaluator of expressions, which stores values in blocks."""

    def evaluate(self, node: Node) -> Any:
        """Return the value of an expression."""

    def store(self, block: Block, offset: int, ctype: CType, value: Any) -> None:
        """Store a value of a type at an offset."""


def fill(machine: Evaluator, block: Block, offset: int, ctype: CType, values: Node) -> None:
    """Store a list of initial values: numbers as bytes, all others as cells."""
    block.zeroed = True
    if ctype.kind == "array":
        _fill_array(machine, block, offset, ctype, values)
    elif ctype.kind == "record":
        _fill_struct(machine, block, offset, ctype, values)


def _fill_array(machine: Evaluator, block: Block, offset: int, ctype: CType, values: Node) -> None:
    element = ctype.element
    if element is None or not element.size:
        return
    scalar = _find_scalar(ctype)
    if scalar.kind == "int" and offset == 0 and block.data is None:
        size = ctype.size or len(values.values) * element.size
        if size <= _MOST_BYTES:
            block.data = np.zeros(size, np.uint8)
        numbers = read_numbers(values, size // scalar.size)
        if numbers is not None and block.data is not None:
            raw = numbers.astype(f"<i{scalar.size}").view(np.uint8)
            block.data[: raw.size] = raw
            return
    items = values.values
    if element.kind == "array" and not any(x.strip().kind == "INIT_LIST_EXPR" for x in items):
        element = scalar  # without inner braces
    if element.kind == "int" and block.data is not None:
        constants = [item.constant for item in items]
        if all(isinstance(number, int) for number in constants):
            content = b"".join(
                (number & ((1 << 8 * element.size) - 1)).to_bytes(element.size, "little")
                for number in constants
            )[: block.data.size - offset]
            block.data[offset : offset + len(content)] = np.frombuffer(content, np.uint8)
            return
    at = 0
    for item in items:
        if item.ctype.kind == "void" and len(item.children) == 2:  # [index] = value
            index, item = item.children[0].constant, item.children[1]
            at = index if isinstance(index, int) else at
        _fill_one(machine, block, offset + at * element.size, element, item)
        at += 1


def _find_scalar(ctype: CType) -> CType:
    while ctype.kind == "array" and ctype.element is not None:
        ctype = ctype.element
    return ctype


def _fill_struct(machine: Evaluator, block: Block, offset: int, ctype: CType, values: Node) -> None:
    fields = list(ctype.fields.values())
    names = list(ctype.fields)
    at = 0
    for item in values.values:
        members = [child for child in item.children if child.kind == "MEMBER_REF"]
        if members and item.ctype.kind == "void":
            inner, place = ctype, offset
            for member in members:
                found = inner.fields.get(member.cursor.spelling)
                if found is None:
                    break
                place, inner = place + found[0], found[1]
            else:
                _fill_one(machine, block, place, inner, item.children[-1])
            first = members[0].cursor.spelling
            at = names.index(first) + 1 if first in names else at
        elif at < len(fields):
            _fill_one(machine, block, offset + fields[at][0], fields[at][1], item)
            at += 1


def _fill_one(machine: Evaluator, block: Block, offset: int, ctype: CType, item: Node) -> None:
    inner = item.strip()
    if inner.kind == "INIT_LIST_EXPR" and ctype.kind in ("array", "record"):
        fill(machine, block, offset, ctype, inner)
        return
    if inner.kind == "INIT_LIST_EXPR" and len(inner.values) == 1:
        _fill_one(machine, block, offset, ctype, inner.values[0])
        return
    value = ctype.convert(machine.evaluate(item))
    if ctype.kind == "int" and isinstance(value, int) and block.data is not None:
        raw = (value & ((1 << 8 * ctype.size) - 1)).to_bytes(ctype.size, "little")
        block.data[offset : offset + ctype.size] = np.frombuffer(raw, np.uint8)
        return
    was, block.is_memory = block.is_memory, False
    machine.store(block, offset, ctype, value)
    block.is_memory = was
