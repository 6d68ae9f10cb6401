"""A program in C: its functions, its variables, and which functions call layers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional

from ...functions import FUNCTIONS
from .source import Complaint, Sources, list_complaints, list_lost_calls
from .tree import Node, prepare_library

_FUNCTIONS = ("FUNCTION_DECL", "CXX_METHOD", "CONSTRUCTOR", "FUNCTION_TEMPLATE")
_SCOPES = ("NAMESPACE", "LINKAGE_SPEC", "UNEXPOSED_DECL", "CLASS_DECL", "STRUCT_DECL")

#: A call that may be a layer's.
_CALL = re.compile(r"\b(arm_\w+)\s*\(")

#: Further sources that are parsed for definitions.
_MOST_UNITS = 40


@dataclass(eq=False)
class Routine:
    """A function with a body.

    calls: of layers in its own text. callees: functions that it calls. lost: errors in layer calls.
    """

    name: str
    usr: str
    node: Node
    calls: tuple[Node, ...]
    callees: frozenset[str]
    lost: tuple[Complaint, ...] = ()

    @property
    def body(self) -> Node:
        """Its statements."""
        return self.node.children[-1]

    @property
    def parameters(self) -> tuple[Node, ...]:
        """Declarations of its parameters."""
        return tuple(child for child in self.node.children if child.kind == "PARM_DECL")


def is_layer(name: str) -> bool:
    """True for a function of CMSIS that computes a layer."""
    return name in FUNCTIONS and name.startswith("arm_")


@dataclass(eq=False)
class Program:
    """All sources read so far: functions with bodies, and variables, by their identity.

    complaints: file and line -> what the compiler does not understand there.
    """

    sources: Sources
    routines: dict[str, Routine] = field(default_factory=dict)
    variables: dict[str, Node] = field(default_factory=dict)
    units: list[Any] = field(default_factory=list)
    complaints: dict[str, str] = field(default_factory=dict)
    _searched: set[str] = field(default_factory=set)
    _parsed: set[Path] = field(default_factory=set)
    _texts: dict[Path, str] = field(default_factory=dict)

    def add(self, path: Path) -> None:
        """Add the definitions of a source."""
        self._parsed.add(path)
        unit = self.sources.parse(path)
        self.units.append(unit)
        library = prepare_library(self.sources.clang)
        complaints = list_complaints(unit)
        self.complaints.update({str(each.place): each.text for each in complaints})
        for cursor in _iterate_declarations(unit.cursor):
            node = Node(cursor, library)
            usr = cursor.get_usr()
            if node.kind == "VAR_DECL":
                if cursor.is_definition() or usr not in self.variables:
                    self.variables[usr] = node
            elif cursor.is_definition() and usr not in self.routines:
                self.routines[usr] = _make_routine(node, usr, complaints)

    def find_routine(self, usr: str, name: str) -> Optional[Routine]:
        """Return a function with a body, from another source if need be."""
        if usr not in self.routines:
            self._search(name)
        return self.routines.get(usr)

    def find_variable(self, usr: str, name: str) -> Optional[Node]:
        """Return the definition of a global variable, from another source if need be."""
        found = self.variables.get(usr)
        if found is None or not found.cursor.is_definition():
            self._search(name)
        return self.variables.get(usr)

    def _search(self, name: str) -> None:
        """Parse the sources that mention a name."""
        if name in self._searched or not name:
            return
        self._searched.add(name)
        word = re.compile(rf"\b{re.escape(name)}\b")
        for path in self.sources.list_siblings():
            if path in self._parsed or len(self.units) >= _MOST_UNITS:
                continue
            if path not in self._texts:
                self._texts[path] = path.read_bytes().decode("utf-8", "replace")
            if word.search(self._texts[path]):
                self.add(path)

    def add_layers(self) -> None:
        """Parse the sources next to this one that mention layer calls."""
        for path in self.sources.list_siblings():
            if path not in self._texts:
                self._texts[path] = path.read_bytes().decode("utf-8", "replace")
            names = _CALL.findall(self._texts[path])
            new = path not in self._parsed and len(self.units) < _MOST_UNITS
            if new and any(map(is_layer, names)):
                self.add(path)

    def reaching(self) -> set[str]:
        """Return the functions that call layers, themselves or by others."""
        found = {usr for usr, routine in self.routines.items() if routine.calls}
        size = -1
        while size != len(found):
            size = len(found)
            found |= {usr for usr, r in self.routines.items() if r.callees & found}
        return found


def _iterate_declarations(cursor: Any) -> Iterator[Any]:
    """Yield functions and variables of files, namespaces and classes."""
    for child in cursor.get_children():
        kind = child.kind.name
        if kind in _FUNCTIONS or kind == "VAR_DECL":
            yield child
        elif kind in _SCOPES:
            yield from _iterate_declarations(child)


def _make_routine(node: Node, usr: str, complaints: list[Complaint]) -> Routine:
    calls, callees = [], set()
    body = node.children[-1] if node.children else node
    for each in body.walk() if body.kind == "COMPOUND_STMT" else ():
        if each.kind == "CALL_EXPR":
            if is_layer(each.cursor.spelling):
                calls.append(each)
            elif each.usr:
                callees.add(each.usr)
    extent = node.cursor.extent
    file = extent.start.file
    lost: list[Complaint] = []
    if complaints and file is not None:
        ends = extent.start.offset, extent.end.offset
        lost = list_lost_calls(file.name, *ends, complaints, is_layer)
    name = node.cursor.spelling
    parent = node.cursor.semantic_parent
    if parent is not None and parent.kind.name in ("CLASS_DECL", "STRUCT_DECL"):
        name = f"{parent.spelling}::{name}"
    return Routine(name, usr, node, tuple(calls), frozenset(callees), tuple(lost))
