"""Frames of the link to a device and their contents, as defined in docs/protocol.md."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Optional

VERSION = 1

#: Requests; an answer has the number of its request with ANSWER added, or is a REFUSAL.
HELLO, WRITE, START, STEP, READ = 1, 2, 3, 4, 5
ANSWER, REFUSAL = 0x80, 0xFF

#: Why a request is refused.
UNKNOWN, OUTSIDE, STRANGER, NOT_NOW, DAMAGED = 1, 2, 3, 4, 5

#: Memory that a request names.
DESCRIPTION, INPUT, RESULT, OUTPUT = 0, 1, 2, 3

#: State of a run.
AT_LAYER, ENDED = 1, 2

#: Mode of a run.
STOP_AT_LAYERS, FIRST = 1, 2

#: Units of a device's counter; empty without a counter.
COUNTS = ("", "cycles", "instructions")

#: The smallest buffer that a device may have, and bytes of a frame around its content.
SMALLEST, AROUND = 64, 8

_HEADER, _CHECK = struct.Struct("<BBH"), struct.Struct("<I")
_HELLO, _REPORT = struct.Struct("<BHII"), struct.Struct("<HHBHIIB")

#: Bytes of a frame that is received: a device has at most 16 bits to count them.
_LONGEST = 1 << 16


class Malformed(Exception):
    """Content of a frame that contradicts its kind; the text is a sentence."""


@dataclass(frozen=True)
class Frame:
    """One message: its kind, the number of the request, the session, and its content."""

    kind: int
    number: int
    session: int
    content: bytes = b""


@dataclass(frozen=True)
class Hello:
    """Description of a device.

    buffer: bytes of its longest frame. description: bytes of the text about its network. clock: Hz,
    0 if unknown. counts: unit of its counter, or "".
    """

    buffer: int
    description: int
    clock: int
    counts: str


@dataclass(frozen=True)
class RunReport:
    """Stop of a run.

    stop: counted from 1. state: AT_LAYER or ENDED. status: after the end, 0 or the layer that
    refused its arguments. count: of the device's counter since the previous stop. size: bytes of
    the result. beginning: first bytes of the result.
    """

    run: int
    stop: int
    state: int
    status: int
    count: int
    size: int
    layer: str
    beginning: bytes


def encode_frame(frame: Frame) -> bytes:
    """Encode a frame for the line, between two zeros."""
    plain = _HEADER.pack(frame.kind, frame.number, frame.session) + frame.content
    return b"\0" + stuff(plain + _CHECK.pack(zlib.crc32(plain))) + b"\0"


#: The name of encode_frame() in programs for earlier builds of the package.
encoded = encode_frame


def stuff(plain: bytes) -> bytes:
    """Encode bytes without zeros (COBS).

    Each block begins with its length byte, followed by up to 254 nonzero bytes. A shorter block
    represents a zero at its end, if another block follows.
    """
    blocks = []
    for piece in plain.split(b"\0"):
        while len(piece) >= 254:
            blocks.append(b"\xff" + piece[:254])
            piece = piece[254:]
        blocks.append(bytes([len(piece) + 1]) + piece)
    if len(blocks[-1]) == 1 and len(blocks) > 1 and blocks[-2][0] == 0xFF:
        blocks.pop()  # the bytes end with a whole block
    return b"".join(blocks)


def unstuff(stuffed: bytes) -> bytes:
    """Decode the bytes of stuff(). Raises Malformed for an incomplete last block."""
    plain, at = [], 0
    while at < len(stuffed):
        length = stuffed[at]
        block = stuffed[at + 1 : at + length]
        at += length
        if at > len(stuffed) or length == 0:
            raise Malformed("the last block is cut")
        plain.append(block)
        if length < 0xFF and at < len(stuffed):
            plain.append(b"\0")
    return b"".join(plain)


class Decoder:
    """Decoder of frames from a byte stream with lost, duplicated or changed bytes."""

    def __init__(self) -> None:
        self._waiting = bytearray()

    def feed(self, received: bytes) -> Iterator[Frame]:
        """Yield the frames that these bytes complete; drop invalid ones."""
        self._waiting += received
        *pieces, rest = bytes(self._waiting).split(b"\0")
        self._waiting = bytearray(rest[-2 * _LONGEST :])
        for piece in pieces:
            frame = _parse_frame(piece)
            if frame is not None:
                yield frame


def _parse_frame(piece: bytes) -> Optional[Frame]:
    try:
        plain = unstuff(piece)
    except Malformed:
        return None
    if not AROUND <= len(plain) <= _LONGEST:
        return None
    plain, check = plain[: -_CHECK.size], plain[-_CHECK.size :]
    if _CHECK.pack(zlib.crc32(plain)) != check:
        return None
    kind, number, session = _HEADER.unpack_from(plain)
    return Frame(kind, number, session, plain[_HEADER.size :])


# ---- contents ----


def write_content(what: int, index: int, offset: int, values: bytes) -> bytes:
    """Return the target of WRITE."""
    return struct.pack("<BBI", what, index, offset) + values


def read_content(what: int, index: int, offset: int, size: int) -> bytes:
    """Return the memory of READ."""
    return struct.pack("<BBIH", what, index, offset, size)


def start_content(run: int, how: int) -> bytes:
    """Return the number of the run in START, different from the previous one."""
    return struct.pack("<HB", run, how)


def make_step_content(run: int, stop: int) -> bytes:
    """Return the content of STEP: the run, and the stop from which it continues."""
    return struct.pack("<HH", run, stop)


def parse_hello(content: bytes) -> Hello:
    """Parse the answer to HELLO. Raises Malformed for a different version."""
    if len(content) < 1 or content[0] != VERSION:
        spoken = f"version {content[0]}" if content else "no version"
        raise Malformed(f"the device speaks {spoken} of the protocol, this program {VERSION}")
    if len(content) < _HELLO.size:
        raise Malformed("the device's answer is too short")
    _, buffer, description, clock = _HELLO.unpack_from(content)
    counts = content[_HELLO.size :].decode("ascii", "replace")
    if counts not in COUNTS:
        raise Malformed(f"the device counts {counts!r}, but a device counts cycles or instructions")
    if buffer < SMALLEST:
        raise Malformed(f"the device's buffer has {buffer} bytes, but {SMALLEST} are needed")
    return Hello(buffer, description, clock, counts)


def report_of(content: bytes) -> RunReport:
    """Parse the answer to START and STEP. Raises Malformed."""
    if len(content) < _REPORT.size:
        raise Malformed("the device's report is too short")
    run, stop, state, status, count, size, length = _REPORT.unpack_from(content)
    name, beginning = content[_REPORT.size :][:length], content[_REPORT.size + length :]
    if len(name) < length or len(beginning) > size or state not in (AT_LAYER, ENDED):
        raise Malformed("the device's report contradicts itself")
    layer = name.decode("ascii", "replace")
    return RunReport(run, stop, state, status, count, size, layer, beginning)
