"""A firmware header as text: comments removed, lines counted, definitions found, guards checked."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

from ..errors import ModelError
from ..io import files

_LIMIT = 64 * files.MEGABYTE
_LONGEST_HEAD = 2000

#: Text to blank first, and, last, unterminated text.
_BLANKED = re.compile(
    r'(?P<string>"[^"\\\n]*(?:\\.[^"\\\n]*)*"|\'[^\'\\\n]*(?:\\.[^\'\\\n]*)*\')'
    r"|//[^\\\n]*(?:\\\r?\n?[^\\\n]*)*|/\*.*?\*/|\\\r?\n|(?P<endless>/\*|[\"'])",
    re.DOTALL,
)
_DIRECTIVE = re.compile(r"^[^\S\n]*#[^\S\n]*(\w*)([^\n]*)", re.MULTILINE)
_MACRO = re.compile(r"\s*([A-Za-z_]\w*)(\(?)")
_NOT_DEFINED = re.compile(r"!\s*defined[\s(]*(\w+)[\s)]*")
_CPLUSPLUS = re.compile(r'\s*(?:extern\s*"C"\s*\{|\})\s*')
_LINKAGE = re.compile(r'\s*extern\s*"C"\s*')
_ATTRIBUTE = re.compile(r"__attribute__\s*\(\([\w\s(),]*?\)\)(?=\s|$)")
_HEAD = re.compile(r"\s*((?:\w+\s+)+)(\w+)\s*((?:\[[^\[\]]*\]\s*)+)")


@dataclass(frozen=True)
class Definition:
    """Definition: the text between two positions.

    Of an array also its type without qualifiers, and the text of each pair of brackets.
    """

    start: int
    end: int
    type: Optional[str] = None
    lengths: tuple[str, ...] = ()


class CSource:
    """Text of a header of at most 64 MiB, and the positions of its macros and arrays.

    Line ends inside comments and continued lines are vertical tabs in the text: blanks that count
    as lines.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.text = files.read_bytes(path, _LIMIT).decode("utf-8", "replace")
        self.text = _BLANKED.sub(self._blank, self.text)
        self.macros: dict[str, list[Definition]] = {}
        self.arrays: dict[str, list[Definition]] = {}
        directives = list(_DIRECTIVE.finditer(self.text))
        self._check_conditionals(directives)
        for match in directives:
            if match[1] == "define":
                self._note_macro(match)
        self._note_arrays(_DIRECTIVE.sub(lambda match: " " * len(match[0]), self.text))

    def error(self, position: int, message: str) -> ModelError:
        """Return an error at a position: file:line: message."""
        before = self.text[:position]
        line = before.count("\n") + before.count("\v") + 1
        return ModelError(f"{self.path}:{line}: {message}")

    def content(self, definition: Definition) -> str:
        """Return the text of a definition."""
        return self.text[definition.start : definition.end]

    def _blank(self, match: re.Match[str]) -> str:
        if match["endless"]:
            line = match.string.count("\n", 0, match.start()) + 1
            raise ModelError(f"{self.path}:{line}: this {match['endless']} has no end")
        if match["string"]:
            return '"C"' if match["string"] == '"C"' else '""'
        return " " + "\v" * match[0].count("\n")

    def _check_conditionals(self, directives: list[re.Match[str]]) -> None:
        """Refuse conditionals that could choose between two values of a name; guards
        are accepted.
        """
        open_guards = 0
        for index, match in enumerate(directives):
            if match[1] in ("if", "ifdef", "ifndef"):
                if not self._is_guard(directives[index : index + 2]):
                    raise self.error(
                        match.start(), f"#{match[1]} is supported only as an include guard"
                    )
                open_guards += 1
            elif match[1] == "endif" and open_guards:
                open_guards -= 1
            elif match[1] not in ("define", "include", "pragma", ""):
                raise self.error(match.start(), f"#{match[1]} is not supported")
        if open_guards:
            raise self.error(len(self.text), "an #endif is missing")

    def _is_guard(self, pair: list[re.Match[str]]) -> bool:
        """True if a conditional is an include guard, or hides C linkage from C."""
        if len(pair) < 2:
            return False
        opening, following = pair
        condition = opening[2].strip()
        if opening[1] == "ifdef":
            inside = self.text[opening.end() : following.start()]
            is_linkage = following[1] == "endif" and _CPLUSPLUS.fullmatch(inside)
            return condition == "__cplusplus" and bool(is_linkage)
        if opening[1] == "if":
            negated = _NOT_DEFINED.fullmatch(condition)
            condition = negated[1] if negated else ""
        return following[1] == "define" and following[2].split()[:1] == [condition] != [""]

    def _note_macro(self, match: re.Match[str]) -> None:
        name = _MACRO.match(match[2])
        if name is None:
            raise self.error(match.start(), "#define without a name")
        if not name[2]:  # a macro with arguments has no value of its own
            definition = Definition(match.start(2) + name.end(), match.end())
            self.macros.setdefault(name[1], []).append(definition)

    def _note_arrays(self, code: str) -> None:
        """Yield every statement at file scope of the form `type name[...] = ...;`."""
        depth, start, equals = 0, 0, -1
        for match in re.finditer(r"[{};=]", code):
            mark, position = match[0], match.start()
            if mark == "=":
                equals = position if depth == 0 and equals < 0 else equals
                continue
            if mark == "{" and depth == 0 and _LINKAGE.fullmatch(code, start, position):
                start = match.end()
                continue
            depth = max(0, depth + {"{": 1, "}": -1, ";": 0}[mark])
            if depth == 0 and mark == ";" and equals >= 0:
                self._note_array(code, start, equals, position)
            if depth == 0 and (mark == ";" or equals < 0):
                start, equals = match.end(), -1

    def _note_array(self, code: str, start: int, equals: int, end: int) -> None:
        head = code[start:equals].strip()
        found = _HEAD.fullmatch(_ATTRIBUTE.sub(" ", head)) if len(head) <= _LONGEST_HEAD else None
        if found:
            words = [w for w in found[1].split() if w not in ("static", "const", "extern")]
            lengths = tuple(re.findall(r"\[([^\[\]]*)\]", found[3]))
            definition = Definition(equals + 1, end, " ".join(words), lengths)
            self.arrays.setdefault(found[2], []).append(definition)
