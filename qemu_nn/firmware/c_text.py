"""C text: arrays, headers, tables, comments, and lists folded to the line width."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, Callable

import numpy as np

from ..functions.prototypes import Prototype, get_c_types
from ..functions.shapes import Either, Extent, Half, Largest, Total
from ..targets import is_affine

#: Columns of a line, and array elements in a line.
_WIDTH, _PER_LINE = 100, 16

#: Space at which no line may be broken.
_HARD = "\0"

#: Arm's headers declare the same types under these guards, and C99 allows a typedef only once.
_LEGACY_TYPES = """\
#if !defined(QN_TYPES) && !defined(_ARM_MATH_H) && !defined(_ARM_MATH_TYPES_H_) && \\
    !defined(_ARM_NN_MATH_TYPES_H_)
typedef int8_t q7_t;
typedef int16_t q15_t;
typedef int32_t q31_t;
#endif
#ifndef QN_TYPES
#define QN_TYPES /* define it yourself where another header has these types already */
#endif
"""


def sanitize_comment(text: str) -> str:
    """Return untrusted text that cannot end a comment, continue a line or form a trigraph."""
    return re.sub(r"[^ -~]|[*\\?]", "_", text)[:160]


def quote_bytes(text: str) -> str:
    """Return untrusted text as the content of a C string: its bytes in UTF-8."""
    plain = (c for c in range(32, 127) if chr(c) not in '"\\?')
    known = {c: chr(c) for c in plain}
    return "".join(known.get(byte, f"\\{byte:03o}") for byte in text.encode())


def format_dimensions(shape: Sequence[int]) -> str:
    """Return a shape as C writes it: [32][32][3]."""
    return "".join(f"[{axis}]" for axis in shape)


def make_symbol(name: str) -> str:
    """Return the C identifier of a golden: x0_conv1 for "x0/conv1"."""
    return name.replace("/", "_")


def format_header(symbol: str, values: np.ndarray, comment: Sequence[str], cmsis: str) -> str:
    """Return a header that defines `static const q7_t symbol[COUNT] = {...};`, flat, with its
    guard.

    symbol: a valid identifier. comment: first lines; sanitized here. cmsis: the release, whose
    headers name the types.
    """
    guard = f"QN_GOLDEN_{symbol.upper()}_H"
    return "\n".join(
        [
            "/* " + "\n * ".join(map(sanitize_comment, comment)) + " */",
            f"#ifndef {guard}",
            f"#define {guard}",
            "",
            "#include <stdint.h>",
            *list_includes(values),
            "" if is_affine(cmsis) else _LEGACY_TYPES,
            format_definition(symbol, values, get_c_types(cmsis)),
            "",
            "#endif",
            "",
        ]
    )


def list_includes(*arrays: np.ndarray) -> list[str]:
    """Return the lines that arrays need before them: INFINITY and NAN are of math.h."""
    real = [values for values in arrays if values.dtype.kind == "f"]
    return [] if all(np.isfinite(values).all() for values in real) else ["#include <math.h>"]


def format_definition(symbol: str, values: np.ndarray, types: Mapping[str, str]) -> str:
    """Return `static const q7_t symbol[COUNT] = {...};`, flat."""
    rows = ",\n    ".join(format_lines(values))
    type = types[values.dtype.name]
    return f"static const {type} {symbol}[{values.size}] = {{\n    {rows},\n}};"


def format_lines(values: np.ndarray) -> list[str]:
    """Return the elements in memory order, several in a line, without a final comma."""
    plain = values.view(np.uint8) if values.dtype == bool else values
    spell: Callable[[Any], str] = _SPELLED.get(plain.dtype.name, str)
    flat = [spell(value) for value in plain.ravel().tolist()]
    return [", ".join(flat[i : i + _PER_LINE]) for i in range(0, len(flat), _PER_LINE)]


def _format_real(value: float) -> str:
    """Return a float constant with exactly these bits; any NaN for a NaN."""
    if math.isnan(value):
        return "NAN"
    if math.isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    digits = f"{value:.9g}"
    return f"{digits}f" if set(digits) & set(".e") else f"{digits}.0f"


def _format_int64(value: int) -> str:
    """Return a 64-bit constant. C has no constant for the least one, only a negated
    positive one.
    """
    return str(value) if value > -(2**63) else f"({value + 1} - 1)"


#: Element types -> how C spells a number of one, if not like Python.
_SPELLED = {
    "float32": _format_real,
    "int64": _format_int64,
    "uint32": lambda value: f"{value}u",
    "uint64": lambda value: f"{value}u",
}


def format_golden_table(network: str, names: Iterable[tuple[int, str, str]]) -> str:
    """Return golden_table.h from (input, name of a golden, its dtype), input by input."""
    includes, rows = [], []
    for index, group in groupby(names, key=lambda pair: pair[0]):
        condition = f"#if QN_HAS_INPUT({index})"
        includes.append(condition)
        rows.append(condition)
        for _, name, dtype in group:
            array, kind = make_symbol(name), {"f": "f", "i": "i"}.get(dtype[0], "u")
            includes.append(f'#include "{name}.h"')
            sizes = f"sizeof {array}, sizeof {array}[0], '{kind}'"
            rows.append(f'    {{"{name}", {array}, {sizes}}},')
        includes.append("#endif")
        rows.append("#endif")
    return "\n".join(
        [
            f"/* The goldens of {sanitize_comment(network)}; only golden_check.c includes this. */",
            "#ifdef QN_GOLDEN_INPUT",
            "#define QN_HAS_INPUT(index) ((index) == (QN_GOLDEN_INPUT))",
            "#else",
            "#define QN_HAS_INPUT(index) 1",
            "#endif",
            "",
            *includes,
            "",
            "static const qn_golden qn_goldens[] = {",
            *rows,
            "    {NULL, NULL, 0, 0, 'i'},",
            "};",
            "",
        ]
    )


def wrap_lines(head: str, parts: Sequence[str], tail: str, indent: int = 4) -> str:
    """Join head, parts and tail within the line's width, broken only between parts.

    If the first part does not fit after the head, all parts go below it.
    """
    hard = [text.replace(" ", _HARD) for text in parts]
    lines = _fill(f"{head.replace(' ', _HARD)}{', '.join(hard)}{tail}", indent, " " * (indent + 4))
    if len(lines.split("\n")[0]) > _WIDTH:
        below = _fill(f"{', '.join(hard)}{tail}", indent + 4, " " * (indent + 4))
        lines = f"{head}\n{below}"
    return lines.lstrip(" ").replace(_HARD, " ")


def format_signature(declared: Prototype, tail: str) -> str:
    """Return a prototype within the line's width; tail: ";" of a declaration, " {" of a
    definition.
    """
    space = "" if declared.returns.endswith("*") else " "
    head = f"{declared.returns}{space}{declared.name}("
    return wrap_lines(head, list(map(str, declared.arguments)), f"){tail}", 0)


def format_comment(text: str, indent: int = 0) -> str:
    """Return a comment, its first line without the indentation; text: harmless in a comment."""
    return _fill(f"/* {text} */", indent, f"{' ' * indent} * ").lstrip()


def _fill(text: str, indent: int, further: str) -> str:
    return textwrap.fill(
        text,
        _WIDTH,
        initial_indent=" " * indent,
        subsequent_indent=further,
        break_long_words=False,
        break_on_hyphens=False,
    )


def format_extent(value: Extent, values: Mapping[str, str]) -> str:
    """Return a number, a C argument, or an expression of several; values: C argument ->
    its C text.
    """
    if isinstance(value, str):
        return values[value]
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Either):
        yes, no = (format_extent(part, values) for part in (value.yes, value.no))
        return f"({values[value.flag]} ? {yes} : {no})"
    inside = value.parts if isinstance(value, (Total, Largest, Half)) else value
    parts = [format_extent(part, values) for part in inside]
    if isinstance(value, Total):
        return f"({' + '.join(parts)})"
    if isinstance(value, Largest):
        most = parts[0]
        for part in parts[1:]:
            most = f"({most} > {part} ? {most} : {part})"
        return most
    product = " * ".join(parts)
    return f"(({product} + 1) / 2)" if isinstance(value, Half) else product
