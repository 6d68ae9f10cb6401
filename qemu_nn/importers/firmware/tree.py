"""Nodes of the compiler's tree, each converted once."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, Optional

from .source import Place, get_place
from .values import CType

#: Kinds that only wrap another expression.
WRAPPERS = ("UNEXPOSED_EXPR", "PAREN_EXPR")

CASTS = (
    *("CSTYLE_CAST_EXPR", "CXX_STATIC_CAST_EXPR", "CXX_REINTERPRET_CAST_EXPR"),
    *("CXX_CONST_CAST_EXPR", "CXX_FUNCTIONAL_CAST_EXPR", "CXX_DYNAMIC_CAST_EXPR"),
)

#: Kinds of children that are types, not values.
_TYPES = ("TYPE_REF", "NAMESPACE_REF", "TEMPLATE_REF", "OVERLOADED_DECL_REF")

#: Operators by their numbers in libclang.
BINARY = (
    *(
        "",
        ".*",
        "->*",
        "*",
        "/",
        "%",
        "+",
        "-",
        "<<",
        ">>",
        "<=>",
        "<",
        ">",
        "<=",
        ">=",
        "==",
        "!=",
    ),
    *("&", "^", "|", "&&", "||", "=", "*=", "/=", "%=", "+=", "-=", "<<=", ">>=", "&=", "^=", "|="),
    *(",",),
)
UNARY = ("", "x++", "x--", "++x", "--x", "&", "*", "+", "-", "~", "!", "real", "imag", "", "co")


class Node:
    """A statement, expression or declaration."""

    def __init__(self, cursor: Any, library: Any) -> None:
        self.cursor = cursor
        self.library = library
        try:
            self.kind: str = cursor.kind.name
        except ValueError:  # a kind that this libclang's bindings do not know
            self.kind = "UNKNOWN"

    @cached_property
    def children(self) -> tuple[Node, ...]:
        """All children."""
        return tuple(Node(child, self.library) for child in self.cursor.get_children())

    @cached_property
    def values(self) -> tuple[Node, ...]:
        """Children without types."""
        return tuple(child for child in self.children if child.kind not in _TYPES)

    @cached_property
    def ctype(self) -> CType:
        """Type of an expression or a variable."""
        return CType(self.cursor.type)

    @property
    def place(self) -> Place:
        """Its file and line."""
        return get_place(self.cursor)

    @cached_property
    def referenced(self) -> Optional[Any]:
        """Declaration of a name."""
        return self.cursor.referenced

    @cached_property
    def usr(self) -> str:
        """Identity of the declaration of a name, across sources."""
        found = self.referenced
        return found.get_usr() if found is not None else ""

    @cached_property
    def operator(self) -> str:
        """Operator of an expression."""
        library = self.library
        if self.kind == "UNARY_OPERATOR":
            return UNARY[library.clang_getCursorUnaryOperatorKind(self.cursor)]
        return BINARY[library.clang_getCursorBinaryOperatorKind(self.cursor)]

    @cached_property
    def constant(self) -> Any:
        """Value of a constant expression, None if it has none."""
        library = self.library
        result = library.clang_Cursor_Evaluate(self.cursor)
        if not result:
            return None
        try:
            kind = library.clang_EvalResult_getKind(result)
            if kind == 1:
                return int(library.clang_EvalResult_getAsLongLong(result))
            return float(library.clang_EvalResult_getAsDouble(result)) if kind == 2 else None
        finally:
            library.clang_EvalResult_dispose(result)

    def walk(self) -> Iterator[Node]:
        """Yield the node and all below."""
        pending = [self]
        while pending:
            node = pending.pop()
            yield node
            pending.extend(reversed(node.children))

    def strip(self) -> Node:
        """Return the node without parentheses and conversions that the compiler adds."""
        node = self
        while node.kind in WRAPPERS and len(node.values) == 1:
            node = node.values[0]
        return node


def prepare_library(clang: Any) -> Any:
    """Return libclang with the types of the functions that its bindings lack."""
    library, cursor = clang.conf.lib, clang.Cursor
    from ctypes import c_double, c_int, c_longlong, c_void_p

    for name, result, argument in (
        ("clang_getCursorUnaryOperatorKind", c_int, cursor),
        ("clang_getCursorBinaryOperatorKind", c_int, cursor),
        ("clang_Cursor_Evaluate", c_void_p, cursor),
        ("clang_EvalResult_getKind", c_int, c_void_p),
        ("clang_EvalResult_getAsLongLong", c_longlong, c_void_p),
        ("clang_EvalResult_getAsDouble", c_double, c_void_p),
        ("clang_EvalResult_dispose", None, c_void_p),
    ):
        function = getattr(library, name)
        function.restype, function.argtypes = result, [argument]
    return library
