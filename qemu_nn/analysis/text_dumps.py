"""Reads dumps that are text: hexadecimal bytes, decimal numbers, C arrays, tables, serial logs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, Optional

import numpy as np

from ..errors import Error, shorten_middle

BASES = (10, 16)

_SEPARATORS = re.compile(r"[\s,;{}\[\]]+")
_ADDRESS = re.compile(r"\s*(0[xX])?[0-9a-fA-F]{2,16}:(?=\s|$)")

#: Time stamp of a serial terminal before a line: 12:34:56.789 ->, [2026-01-31 12:34:56], [1.25].
_CLOCK = r"\d{1,2}:\d\d:\d\d(?:[.,]\d{1,9})?"
_STAMP = re.compile(
    rf"\s*(?:\[[^\]]*{_CLOCK}[^\]]*\]|\[\s*\d+\.\d+(?:\s+\d+\.\d+)?\](?=\s*\S)"
    rf"|(?:\d{{4}}-\d\d-\d\d[T ])?{_CLOCK}(?:Z|[+-]\d\d:?\d\d)?(?=[\s>|:-]|$))"
    r"\s*(?:->|[>|:]|-(?=\s))?"
)

#: First characters of a line that PuTTY writes at the start of a log.
_LOG_BEGINS = "=~=~"

_COMMENTS = re.compile(r"/\*.*?\*/|//[^\n]*|^[ \t]*#[^\n]*", re.DOTALL | re.MULTILINE)
_BYTES = re.compile(r"\b(u?int8_t|(?:un)?signed\s+char|char|q7_t)\b")
_SUFFIX = re.compile(r"(?<=[0-9a-fA-F])[uUlL]+$")

_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
_NUMBER = re.compile(r"[+-]?0[xX][0-9a-fA-F]+", re.ASCII)
_FLOAT = re.compile(r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[fF]?|nan|inf)", re.ASCII)


class Unlike(Exception):
    """Dump of a size or type different from the golden's; the text is a sentence."""


class _Word(NamedTuple):
    line: int
    text: str


class _Unreadable(Exception):
    """Word that is not a number of the base; its argument is the word."""


def decode_text(content: bytes) -> str:
    """Decode a text saved from a terminal, as UTF-16 if it begins with its mark."""
    encoding = "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    return content.decode(encoding, "replace")


def parse_text(
    text: str,
    dtype: np.dtype,
    count: int,
    where: str,
    base: Optional[int] = None,
    table: bool = False,
) -> bytes:
    """Return the bytes of a dump of `count` elements.

    base: 10 or 16; None decides by the whole text. table: a CSV file, which may have a first line
    of names and a first column of indices. Raises Unlike for a different number of elements. Raises
    Error for words that are not numbers, and for a text that fits both bases with different bytes.
    """
    declared = _c_array(text, where)
    if declared is not None:
        head, words = declared
        as_bytes = bool(_BYTES.search(head)) and dtype.itemsize > 1
        return _fitting(
            {10: _read_bytes if as_bytes else _read_numbers}, words, dtype, count, where
        )
    words = list(_words(text))
    if table:
        base = base or 10
        words = _remove_names(words, count, base)
    readers = {10: _read_numbers, 16: _read_hex}
    chosen = readers if base is None else {base: readers[base]}
    return _fitting(chosen, words, dtype, count, where)


def parse_hex(text: str, where: str = "the text") -> bytes:
    """Return the bytes of a hex dump, in memory order. Raises Error with the first invalid line.

    A word with 0x and more than two digits is a number, so its last two digits are the first byte.
    Addresses ("00000010: ...") are skipped.
    """
    try:
        return b"".join(_hex_bytes(word) for word in _words(text))
    except _Unreadable as unreadable:
        raise _strange(unreadable.args[0], where, [16]) from None


_Reader = Callable[[Sequence[_Word], np.dtype, int], bytes]


def _fitting(
    readers: Mapping[int, _Reader], words: Sequence[_Word], dtype: np.dtype, count: int, where: str
) -> bytes:
    """Return the result of the only reader that fits the words."""
    found: dict[int, bytes] = {}
    strange: dict[int, _Word] = {}
    unlike: list[str] = []
    for base, read in readers.items():
        try:
            found[base] = read(words, dtype, count)
        except _Unreadable as unreadable:
            strange[base] = unreadable.args[0]
        except Unlike as reason:
            unlike.append(str(reason))
    if len({*found.values()}) > 1:
        raise Error(
            f"{where} can be read as decimal and as hexadecimal numbers: give base=10 or base=16"
        )
    if found:
        return next(iter(found.values()))
    if unlike:
        raise Unlike(" or ".join(unlike))
    raise _strange(max(strange.values()), where, list(strange))


def _strange(word: _Word, where: str, bases: Sequence[int]) -> Error:
    kind = {10: "decimal", 16: "hexadecimal"}
    names = kind[bases[0]] if len(bases) == 1 else "decimal or hexadecimal"
    return Error(f"{where}, line {word.line}: {shorten_middle(word.text)!r} is not {names}")


# ---- words ----


def _words(text: str) -> Iterator[_Word]:
    """Yield the words of a text without times, addresses and separators."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith(_LOG_BEGINS):
            continue
        plain = _without_start(_ADDRESS, _without_start(_STAMP, line))
        yield from (_Word(number, word) for word in _SEPARATORS.split(plain) if word)


def _without_start(pattern: re.Pattern[str], line: str) -> str:
    found = pattern.match(line)
    return line if found is None else line[found.end() :]


def _remove_names(words: list[_Word], count: int, base: int) -> list[_Word]:
    """Return the values of a table without a first line of names and a first column of indices."""
    if not words:
        return words
    first = [word for word in words if word.line == words[0].line]
    numeric = re.compile(r"[0-9a-fA-FxX]+") if base == 16 else _FLOAT
    if not all(numeric.fullmatch(word.text) or _NUMBER.fullmatch(word.text) for word in first):
        words = words[len(first) :]
    indices = [word.text for word in words[::2]]
    if len(words) == 2 * count and indices == [str(index) for index in range(count)]:
        return words[1::2]
    return words


def _c_array(text: str, where: str) -> Optional[tuple[str, list[_Word]]]:
    """Return the declaration and the values of a C array; None for a different text."""
    plain = _COMMENTS.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    head, brace, rest = plain.partition("{")
    if not brace or not re.search(r"\]\s*=\s*$", head):
        return None
    body, _, after = rest.rpartition("}")
    if "=" in rest or after.strip(" \t\r\n;"):
        raise Error(f"{where} contains several C arrays: write each into a file of its own")
    lines = head.count("\n")
    values = re.sub(r"\(\s*\w+\s*\)", " ", body)  # casts
    words = (_Word(lines + word.line, _SUFFIX.sub("", word.text)) for word in _words(values))
    return head, list(words)


# ---- numbers ----


def _read_hex(words: Sequence[_Word], dtype: np.dtype, count: int) -> bytes:
    """Read bytes in hexadecimal, or numbers that all have 0x, one for each element."""
    content, size = b"".join(map(_hex_bytes, words)), count * dtype.itemsize
    if len(content) == size:
        return content
    if len(words) == count and all(word.text[:2] in ("0x", "0X") for word in words):
        bits = 8 * dtype.itemsize
        values = [int(word.text, 16) for word in words]
        for value, word in zip(values, words):
            if value >> bits and (value >> (bits - 1)) + 1 << (bits - 1) not in (1 << 32, 1 << 64):
                raise _Unreadable(word)  # longer than a sign-extended element
        return b"".join((v & (1 << bits) - 1).to_bytes(dtype.itemsize, "little") for v in values)
    raise Unlike(f"it has {len(content)} bytes, but the golden has {size}")


def _hex_bytes(word: _Word) -> bytes:
    text, number = word.text, word.text[:2] in ("0x", "0X")
    digits = text[2:] if number else text
    try:
        if not digits or not digits.isascii():
            raise ValueError
        content = bytes.fromhex(
            "0" * (len(digits) % 2 if number or len(digits) == 1 else 0) + digits
        )
    except ValueError:
        raise _Unreadable(word) from None
    return content[::-1] if number else content


def _read_numbers(words: Sequence[_Word], dtype: np.dtype, count: int) -> bytes:
    """Read decimal numbers, or numbers with 0x, one for each element."""
    if dtype.kind == "f":
        values = np.array([_float(word) for word in words], dtype)
    else:
        values = _integers(words, dtype)
    if values.size != count:
        raise Unlike(f"it has {values.size} numbers, but the golden has {count} elements")
    return values.tobytes()


def _read_bytes(words: Sequence[_Word], dtype: np.dtype, count: int) -> bytes:
    """Return the bytes of larger elements, each a number."""
    return _read_numbers(words, np.dtype("uint8"), count * dtype.itemsize)


def _float(word: _Word) -> float:
    if not _FLOAT.fullmatch(word.text):
        raise _Unreadable(word)
    return float(word.text.rstrip("fF")) if "n" not in word.text else float(word.text)


def _integers(words: Sequence[_Word], dtype: np.dtype) -> np.ndarray:
    """Convert integers to a type; decimal ones may all be printed as unsigned."""
    bits = 8 * dtype.itemsize
    whole = 1 << bits
    signed = any(word.text.startswith("-") for word in words)
    decimal = range(-whole // 2, whole // 2) if signed else range(whole)
    values = []
    for word in words:
        if _INTEGER.fullmatch(word.text):
            value, allowed = int(word.text), decimal
        elif _NUMBER.fullmatch(word.text):
            value, allowed = int(word.text, 16), range(-whole // 2, whole)
        else:
            raise _Unreadable(word)
        if value not in allowed:
            raise _Unreadable(word)
        values.append(value % whole)
    return np.array(values, f"<u{dtype.itemsize}").view(dtype)
