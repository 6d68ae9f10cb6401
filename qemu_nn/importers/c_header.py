"""Arrays and integers of firmware headers: `#define NAME {1, 2}`, `const q7_t name[2] = {1, 2};`.

The supported C is small on purpose: any further construct that could change a value is refused with
its file and line, never guessed.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Optional

import numpy as np

from ..errors import ModelError
from .c_expression import NotConstantError, evaluate
from .c_source import CSource, Definition

#: Type in C -> dtype. Plain char is missing: its sign depends on the compiler.
_DTYPES = {
    **dict.fromkeys(("q7_t", "int8_t", "signed char"), "int8"),
    **dict.fromkeys(("q15_t", "int16_t", "short"), "int16"),
    **dict.fromkeys(("q31_t", "int32_t", "int"), "int32"),
    **dict.fromkeys(("uint8_t", "unsigned char"), "uint8"),
    **{"uint16_t": "uint16", "uint32_t": "uint32"},
}

#: A flat list of decimal numbers, and numbers that need the general reader: octal and huge ones.
_FLAT = re.compile(r"\s*\{([-0-9,\s]*)\}\s*")
_NOT_FLAT = re.compile(r"(?<![0-9])0[0-9]|[0-9]{11}")
_ITEM = re.compile(r"([^,]*),")

_HEXADECIMAL = re.compile(r"\s*0[xX]\w+\s*")

#: Tokens of any list, and their legal successors ("v" is a value).
_PIECE = re.compile(r"[{},]|[^{},\s][^{},]*")
_FOLLOWS = {"": "{", "{": "{v", ",": "{v}", "v": ",}", "}": ",}"}


def read_array(path: Path, name: str, dtype: str) -> np.ndarray:
    """Return the array `name` of a header, flat, as `dtype`.

    Raises ModelError, with file and line, if there is no such array, its type or length contradicts
    the declaration, or it has elements other than integers in range.
    """
    return Header(path).array(name, dtype)


def read_integer(path: Path, name: str) -> int:
    """Return the value of an integer `#define`; ModelError with file and line if it is not one."""
    return Header(path).integer(name)


class Header:
    """A header whose values are read on demand, by the functions above."""

    def __init__(self, path: Path) -> None:
        self._source = CSource(path)
        self._values: dict[str, int] = {}

    def array(self, name: str, dtype: str) -> np.ndarray:
        """See read_array()."""
        source = self._source
        definitions = source.macros.get(name, []) + source.arrays.get(name, [])
        found = self._only(name, definitions, "#define {0} {{...}}, const q7_t {0}[] = {{...}};")
        declared = dtype if found.type is None else _DTYPES.get(found.type)
        if declared is None:
            have = ", ".join(_DTYPES)
            raise source.error(
                found.start,
                f"{name} has the type {found.type!r}, which is not supported; have: {have}",
            )
        if np.dtype(declared).itemsize != np.dtype(dtype).itemsize:
            raise source.error(found.start, f"{name} is {declared}, but the network needs {dtype}")
        kinds = np.iinfo(declared), np.iinfo(dtype)
        low, high = max(int(kind.min) for kind in kinds), min(int(kind.max) for kind in kinds)
        values = self._flat(found)
        if values is None or not (low <= values.min() and values.max() <= high):
            values = np.fromiter(self._elements(name, found, low, high), np.int64)
        self._check_lengths(name, found, len(values))
        return values.astype(dtype)

    def integer(self, name: str) -> int:
        """See read_integer()."""
        found = self._only(name, self._source.macros.get(name, []), "#define {} 12")
        return self._value(self._source.content(found), found.start)

    def _only(self, name: str, found: list[Definition], form: str) -> Definition:
        """Return the definition of a name; if it has several, they must be equal."""
        source = self._source
        if not found:
            used = re.search(rf"\b{re.escape(name)}\b", source.text)
            if used is None:
                raise ModelError(f"{source.path}: there is no {name}")
            have = form.format(name)
            raise source.error(used.start(), f"{name} must be defined in one of the forms {have}")
        for other in found[1:]:
            if self._spelling(other) != self._spelling(found[0]):
                raise source.error(other.start, f"{name} is defined twice, with different values")
        return found[0]

    def _spelling(self, definition: Definition) -> tuple[object, ...]:
        words = self._source.content(definition).split()
        return words, definition.type, definition.lengths

    def _value(self, text: str, position: int) -> int:
        """Return the integer value of a text; each spelling is computed once."""
        if text not in self._values:
            try:
                self._values[text] = evaluate(text, self._macro)
            except NotConstantError as error:
                shown = text.strip() if len(text) <= 40 else f"{text.strip()[:37]}..."
                position += len(text) - len(text.lstrip())
                raise self._source.error(position, f"{shown!r} {error}") from None
        return self._values[text]

    def _macro(self, name: str) -> Optional[str]:
        found = self._source.macros.get(name)
        return self._source.content(self._only(name, found, "")) if found else None

    def _flat(self, found: Definition) -> Optional[np.ndarray]:
        """Return the elements of a flat list of decimal numbers, fast; None if it is anything
        else.
        """
        flat = _FLAT.fullmatch(self._source.text, found.start, found.end)
        if flat is None or _NOT_FLAT.search(flat[1]):
            return None
        items = flat[1].rstrip()
        items += "" if items.endswith(",") else ","
        try:
            return np.fromiter((int(item[1]) for item in _ITEM.finditer(items)), np.int64)
        except ValueError:
            return None

    def _elements(self, name: str, found: Definition, low: int, high: int) -> Iterator[int]:
        """Yield the elements of any list in braces, in order; inner braces must make even
        groups.
        """
        source = self._source
        starts: list[int] = []  # how many elements came before each brace that is open
        groups: Counter[tuple[int, int]] = Counter()  # (depth, elements) -> how many
        before, count = "", 0
        for match in _PIECE.finditer(source.text, found.start, found.end):
            mark = match[0] if match[0] in "{}," else "v"
            if mark not in _FOLLOWS[before] or (before and not starts):
                raise source.error(match.start(), f"{name} is not a list of integers in braces")
            if mark == "{":
                starts.append(count)
            elif mark == "}":
                groups[len(starts), count - starts.pop()] += 1
            elif mark == "v":
                value = self._value(match[0], match.start())
                if _HEXADECIMAL.fullmatch(match[0]) and high < value <= 2 * high + 1:
                    value -= 2 * (high + 1)  # a bit pattern: 0xff is -1 in a q7 array
                if not low <= value <= high:
                    raise source.error(match.start(), f"{value} is not in {low}..{high} ({name})")
                count += 1
                yield value
            before = mark
        if not before or starts:
            raise source.error(found.start, f"{name} is not a list of integers in braces")
        for (depth, size), number in groups.items():
            inner = found.lengths[depth - 1 :] if depth > 1 else ()
            if size * number != count or (inner and size != self._product(inner, found)):
                raise source.error(found.start, f"{name} has inner braces of uneven length")

    def _check_lengths(self, name: str, found: Definition, count: int) -> None:
        """Check the number of elements; only the first length may be absent."""
        if not found.lengths:
            return
        size = self._product(found.lengths[1:], found)
        if found.lengths[0].strip():
            size *= self._product(found.lengths[:1], found)
        elif size > 0:
            size *= -(-count // size)
        if size != count:
            shown = name + "".join(f"[{text.strip()}]" for text in found.lengths)
            message = f"{shown} is declared with {size} elements, but has {count}"
            raise self._source.error(found.start, message)

    def _product(self, lengths: Sequence[str], found: Definition) -> int:
        return math.prod(self._value(text, found.start) for text in lengths)
