"""Constant integer expressions of C, with the values that a 32-bit compiler computes."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Iterator
from typing import Callable, Optional

_TOKEN = re.compile(
    r"\s*(?:(?P<number>0[xX][0-9a-fA-F]+|[0-9]+)(?P<suffix>[uUlL]*)"
    r"|(?P<name>[A-Za-z_]\w*)|(?P<sign><<|>>|[-+*/()]))"
)
_MOST_TOKENS = 1000
_LONGEST = 10000

#: Text of a macro by its name, or None.
Lookup = Callable[[str], Optional[str]]


class NotConstantError(ValueError):
    """Text that is not a constant integer expression; the message completes a sentence."""


def evaluate(text: str, lookup: Lookup) -> int:
    """Return the value of an expression of integers, macros, + - * / << >> and parentheses.

    Macros are replaced by their text, as in C. Overflow of a 32-bit int is refused, as is mixing
    unsigned with negative numbers.
    """
    tokens: list[str] = []
    unsigned = False
    for token, is_unsigned in _expand(text, lookup, frozenset()):
        tokens.append(token)
        unsigned |= is_unsigned
        if len(tokens) > _MOST_TOKENS:
            raise NotConstantError("is too long")
    try:
        tree = ast.parse(" ".join(tokens), mode="eval").body
        return _compute(tree, (0, 2**32 - 1) if unsigned else (-(2**31), 2**31 - 1))
    except (SyntaxError, MemoryError, RecursionError):
        raise NotConstantError("is not an expression of integers") from None


def _expand(text: str, lookup: Lookup, active: frozenset[str]) -> Iterator[tuple[str, bool]]:
    """Yield the tokens of a text in decimal, with macros replaced, and true for unsigned ones."""
    text = text.rstrip()
    if len(text) > _LONGEST:
        raise NotConstantError("is too long")
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise NotConstantError(f"contains {text[position:].split()[0][:20]!r}")
        position = match.end()
        if match["number"]:
            yield _number(match["number"], match["suffix"])
        elif match["name"]:
            body = lookup(match["name"])
            if body is None or match["name"] in active:
                raise NotConstantError(f"names {match['name']}, which has no value")
            yield from _expand(body, lookup, active | {match["name"]})
        else:
            yield match["sign"], False


def _number(digits: str, suffix: str) -> tuple[str, bool]:
    """Return a number in decimal, and true if it is unsigned in C."""
    hexadecimal, octal = digits[1:2] in ("x", "X"), digits[0] == "0"
    if len(digits) > 20:
        raise NotConstantError("contains a number with too many digits")
    try:
        value = int(digits, 16 if hexadecimal else 8 if octal else 10)
    except ValueError:
        raise NotConstantError(f"contains {digits!r}, which is not octal") from None
    unsigned = "u" in suffix.lower() or (value >= 2**31 and (hexadecimal or octal))
    if value > (2**32 - 1 if unsigned else 2**31):  # 2^31 is legal after the minus of -2147483648
        raise NotConstantError(f"contains {digits}, which does not fit into 32 bits")
    return str(value), unsigned


def _divide(a: int, b: int) -> int:
    """Division of C: toward zero."""
    if b == 0:
        raise NotConstantError("divides by zero")
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _shift(shift: Callable[[int, int], int]) -> Callable[[int, int], int]:
    def check_shift(a: int, b: int) -> int:
        if not 0 <= b < 32:
            raise NotConstantError(f"shifts by {b}")
        return shift(a, b)

    return check_shift


_OPERATORS: dict[type, Callable[..., int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: _divide,
    ast.LShift: _shift(operator.lshift),
    ast.RShift: _shift(operator.rshift),
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
}


def _compute(tree: ast.expr, limits: tuple[int, int]) -> int:
    if isinstance(tree, ast.Constant) and type(tree.value) is int:
        return tree.value
    if isinstance(tree, ast.UnaryOp):
        operands = [tree.operand]
    elif isinstance(tree, ast.BinOp):
        operands = [tree.left, tree.right]
    else:
        raise NotConstantError("is not an expression of integers")
    assert isinstance(tree, (ast.UnaryOp, ast.BinOp))
    operation = _OPERATORS.get(type(tree.op))
    if operation is None:
        raise NotConstantError("contains an operator that is not supported")
    value = operation(*(_compute(operand, limits) for operand in operands))
    if not limits[0] <= value <= limits[1]:
        raise NotConstantError(f"leaves the range {limits[0]}..{limits[1]} of 32-bit numbers")
    return value
