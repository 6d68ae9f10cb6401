"""Faults that a C file could have, each one a change of the file's text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

#: Kind of a fault -> operator -> its replacements. clang-format puts spaces around binary operators
#: alone, so the asterisk of a pointer is none.
OPERATORS = {
    "sign": {"+": "-", "-": "+", "+=": "-=", "-=": "+="},
    "arithmetic": {"*": "+", "/": "*", "%": "/", "&": "|", "|": "&", "^": "|", "|=": "&="},
    "comparison": {"<": "<= >=", "<=": "< >", ">": ">= <=", ">=": "> <", "==": "!=", "!=": "=="},
    "shift": {"<<": ">>", ">>": "<<", "<<=": ">>=", ">>=": "<<="},
    "logic": {"&&": "||", "||": "&&"},
}

#: Operation in the name of an intrinsic -> its replacement.
INTRINSICS = {
    "unpacklo": "unpackhi",
    "unpackhi": "unpacklo",
    "min": "max",
    "max": "min",
    "add": "sub",
    "sub": "add",
    "adds": "add",
    "subs": "sub",
    "packs": "packus",
    "packus": "packs",
    "slli": "srli",
    "srli": "slli",
    "srai": "srli",
    "sllv": "srlv",
    "srlv": "sllv",
    "srav": "srlv",
    "cmpgt": "cmpeq",
    "cmpeq": "cmpgt",
    "cmplt": "cmple",
    "and": "or",
    "or": "and",
    "xor": "or",
    "andnot": "and",
    "mulhi": "mullo",
    "mulhrs": "mulhi",
}

#: Words before a bracket that make no call.
_NO_CALLS = {"if", "for", "while", "switch", "return", "sizeof", "defined", "_Alignas", "__asm__"}
#: Intrinsics whose operands may change places.
_COMMUTES = re.compile(r"_mm\d*_(add|adds|and|or|xor|min|max|mul|mullo|mulhi|madd|cmpeq)_\w+")
#: Text before the name of a function that is declared here: a type.
_IS_TYPE = re.compile(r"(?:^|[;{}\s])(?!return\b|else\b)[A-Za-z_]\w*[ *]+$")
#: First words of statements that no deletion leaves valid.
_NO_DELETION = re.compile(
    r"(const|static|enum|typedef|return|case|default|struct|extern|else|do)\b"
)
#: Assignments, increments and calls; a declaration has two words before its equals sign.
_EFFECT = re.compile(
    r"[*(]*\w+(->\w+|\.\w+|\[[^;=]*?\]|\)|\([^;=]*?\))*( [-+*/&|^<>]*= |\+\+;|--;|;)"
)


@dataclass(frozen=True)
class Mutant:
    """A change: characters start..end-1 of a file become `text`."""

    path: str
    kind: str
    start: int
    end: int
    text: str

    def applied(self, source: str) -> str:
        """Return the changed source."""
        return source[: self.start] + self.text + source[self.end :]

    def lines(self, source: str) -> tuple[str, str]:
        """Return the lines that change, before and after, without line ends."""
        first = source.rfind("\n", 0, self.start) + 1
        last = source.find("\n", self.end)
        before = source[first:last]
        after = source[first : self.start] + self.text + source[self.end : last]
        return " ".join(before.split()), " ".join(after.split())

    def line(self, source: str) -> int:
        """Return the number of the first line that changes."""
        return source.count("\n", 0, self.start) + 1


def mutants_of(path: str, source: str) -> Iterator[Mutant]:
    """Yield every mutant of a C file."""
    code = code_of(source)
    for kinds in (_operators, _unary, _constants, _bounds, _lanes, _intrinsics, _statements):
        for kind, start, end, text in kinds(code):
            yield Mutant(path, kind, start, end, text)
    for kinds in (_conditions, _arguments):
        for kind, start, end, text in kinds(code, source):
            yield Mutant(path, kind, start, end, text)


def code_of(source: str) -> str:
    """Return the source with spaces for comments, strings and directives but bodies of #define."""
    strings = r"\"((?:\\.|[^\"\\\n])*)\"|'((?:\\.|[^'\\\n])*)'"
    comments = r"/\*.*?\*/|//[^\n]*"
    directive = r"^[ \t]*#[ \t]*(?:define[ \t]+\w+(?:\([^)]*\))?|(?!define)(?:\\\n|[^\n])*)"
    code = re.sub(f"{comments}|{strings}", _blank, source, flags=re.S)
    return re.sub(directive, _blank, code, flags=re.M).replace("\\\n", " \n")


def _blank(found: re.Match[str]) -> str:
    """Return as many spaces; a string keeps its quotes."""
    spaces = re.sub(r"[^\n]", " ", found.group())
    quote = found.group()[0]
    return quote + spaces[1:-1] + quote if quote in "\"'" else spaces


Change = tuple[str, int, int, str]


def _operators(code: str) -> Iterator[Change]:
    for kind, replacements in OPERATORS.items():
        for operator, others in replacements.items():
            for found in re.finditer(rf"(?<=\s){re.escape(operator)}(?=\s)", code):
                for other in others.split():
                    yield kind, *found.span(), other


def _unary(code: str) -> Iterator[Change]:
    """Drop minus, complement and negation."""
    for found in re.finditer(r"(?<=[(\[,=?:&|{n] )-(?=[\w(])|(?<=[(\[])-(?=[\w(])", code):
        yield "sign", *found.span(), ""
    for found in re.finditer(r"~(?=[\w(])|!(?=[\w(])", code):
        yield "logic", *found.span(), ""


def _constants(code: str) -> Iterator[Change]:
    """Add and subtract one, but for the sizes of arrays."""
    for found in re.finditer(r"(?<![\w.])(0x[\da-fA-F]+|\d+)(?=[uUlL]*(?![\w.]))", code):
        if _is_size(code, found.start()):
            continue
        value = int(found.group(), 0)
        name = hex if found.group().startswith("0x") else str
        yield "constant", *found.span(), name(value + 1)
        if value:
            yield "constant", *found.span(), name(value - 1)


def _is_size(code: str, at: int) -> bool:
    """True if this place is in the brackets of a declaration."""
    begin = code.rfind("\n", 0, at) + 1
    return bool(re.search(r"[\w*] [*]*\w+(\[[^\]]*\])*\[[^\]]*$", code[begin:at]))


def _bounds(code: str) -> Iterator[Change]:
    for found in re.finditer(r"\bU?INT\d+_(MIN|MAX)\b", code):
        inwards = "-" if found.group(1) == "MAX" else "+"
        yield "bound", *found.span(), f"({found.group()} {inwards} 1)"


def _lanes(code: str) -> Iterator[Change]:
    """Take the neighbour of an element."""
    for found in re.finditer(r"(?<=\w\[)([^\[\]]*[a-z][^\[\]]*)(?=\])", code):
        if not _is_size(code, found.start()):
            yield "lane", *found.span(), f"({found.group()}) ^ 1"


def _intrinsics(code: str) -> Iterator[Change]:
    for found in re.finditer(r"(?<=_)(?<!\w\w\w\w\w\w\w\w\w\w\w\w\w\w)[a-z]+(?=_)", code):
        word = code.rfind("_mm", 0, found.start())
        if word >= 0 and re.fullmatch(r"_mm\d*_(maskz?_)?", code[word : found.start()]):
            other = INTRINSICS.get(found.group())
            if other:
                yield "intrinsic", *found.span(), other


def _statements(code: str) -> Iterator[Change]:
    """Delete assignments, increments, calls, break and continue."""
    for found in re.finditer(r"(?<=[;{}:)])\s+(?=[\w*(])", code):
        start = found.end()
        end = code.find(";", start) + 1
        text = code[start:end]
        if "{" in text or "}" in text or _NO_DELETION.match(text) or "\n" not in found.group():
            continue
        if _EFFECT.match(text) or text in ("break;", "continue;"):
            yield "statement", start, end, ";"


def _conditions(code: str, source: str) -> Iterator[Change]:
    """Take or skip a branch always."""
    for found in re.finditer(r"\bif (?=\()", code):
        end = _closing(code, found.end())
        if end:
            for text in ("(1)", "(0)"):
                yield "condition", found.end(), end, text


def _arguments(code: str, source: str) -> Iterator[Change]:
    """Swap two neighbouring arguments of a call, but for operands of sums and the like."""
    for found in re.finditer(r"\b([A-Za-z_]\w*)\(", code):
        end = _closing(code, found.end() - 1)
        before = code[code.rfind("\n", 0, found.start()) + 1 : found.start()]
        is_call = found.group(1) not in _NO_CALLS and not _COMMUTES.fullmatch(found.group(1))
        if not end or not is_call or _IS_TYPE.search(before):
            continue
        cuts = [found.end(), *_commas(code, found.end(), end - 1), end]
        spans = [_trimmed(code, a, b - 1) for a, b in zip(cuts, cuts[1:])]
        for (a, b), (c, d) in zip(spans, spans[1:]):
            first, second = source[a:b], source[c:d]
            if first != second:
                yield "argument", a, d, f"{second}, {first}"


def _trimmed(code: str, start: int, end: int) -> tuple[int, int]:
    """Return start and end of what these characters have between spaces."""
    text = code[start:end]
    return start + len(text) - len(text.lstrip()), end - (len(text) - len(text.rstrip()))


def _closing(code: str, opening: int) -> int:
    """Return the place after the bracket that closes the one at `opening`; 0 if none does."""
    depth = 0
    for at in range(opening, min(len(code), opening + 2000)):
        depth += (code[at] in "([{") - (code[at] in ")]}")
        if depth == 0:
            return at + 1
    return 0


def _commas(code: str, start: int, end: int) -> Iterator[int]:
    """Yield the place after each comma outside of inner brackets."""
    depth = 0
    for at in range(start, end):
        depth += (code[at] in "([{") - (code[at] in ")]}")
        if code[at] == "," and depth == 0:
            yield at + 1
