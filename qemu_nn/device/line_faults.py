"""Recognition of line faults, from bytes without a valid frame."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from .protocol import Decoder

#: Bytes that software flow control takes out of a line.
_FLOW = (b"\x11", b"\x13")

#: Longest piece with one or two lost bytes; most newlines that may be changed.
_LONGEST, _LONGEST_OF_TWO, _MOST_NEWLINES = 2048, 128, 10

#: Bytes that tell a fixed parity from chance.
_ENOUGH = 16

#: Pieces that are searched: a device may send any number of them.
_PIECES = 4

_SETTINGS = (
    "check the baud rate, then data bits, parity, newline translation and flow control, on both "
    "ends"
)


def line_fault(received: bytes, errors: int = 0) -> str:
    """Return the likely cause of bytes without a valid frame, and what to change.

    errors: how many of the bytes have a wrong parity or stop bit.
    """
    if errors:
        return (
            f"{errors} of them have a wrong parity or stop bit: set the same baud rate, 8 data "
            "bits, no parity and 1 stop bit on both ends"
        )
    pieces = [piece for piece in dict.fromkeys(received.split(b"\0")) if piece][:_PIECES]
    if _text(received):
        start = received[:40].decode("ascii").strip()
        return (
            f"they are text, such as {start!r}: another program runs there, or prints to the line"
        )
    if any(map(_valid, _without_returns(pieces))):
        return "the line sends CR LF for LF: switch newline translation off, as `stty -onlcr` does"
    if any(map(_valid, _other_newlines(pieces))):
        return "the line changes CR or LF: switch newline translation off, as `stty -icrnl` does"
    if len(received) >= _ENOUGH and max(received) < 0x80:
        return "all have 7 bits: set 8 data bits on both ends"
    if len(received) >= _ENOUGH and len(_parities(received)) == 1:
        return "all have the same parity: set 8 data bits and no parity on both ends"
    if any(map(_valid, _with_flow_bytes(pieces))):
        return "the line removes the bytes 0x11 or 0x13: switch off XON/XOFF, as `stty -ixon` does"
    return _SETTINGS


def request_fault(request: bytes, received: bytes) -> str:
    """Return the likely cause of a request that reached the device as different bytes."""
    sent = request.strip(b"\0")
    most = len(received)
    repeated = request * (2 + most // len(request))
    if _mask(sent)[:most] == received:
        return "all have 7 bits: set 8 data bits on both ends"
    if _mask(received) in _mask(repeated) and len(_parities(received)) == 1:
        return "all have the same parity: set 8 data bits and no parity on both ends"
    if sent.translate(None, b"".join(_FLOW))[:most] == received:
        return "the line removes the bytes 0x11 or 0x13: switch off XON/XOFF, as `stty -ixon` does"
    changes = ((b"\n", b"\r\n"), (b"\n", b"\r"), (b"\r", b"\n"), (b"\r", b""))
    if any(sent.replace(*change)[:most] == received for change in changes):
        return (
            "the line changes CR or LF: switch newline translation off, as `stty raw` does, on "
            "both ends"
        )
    return _SETTINGS


def _mask(values: bytes) -> bytes:
    return bytes(byte & 0x7F for byte in values)


def _parities(values: bytes) -> set[int]:
    return {bin(byte).count("1") % 2 for byte in values}


def _valid(piece: bytes) -> bool:
    return any(True for _ in Decoder().feed(b"\0" + piece + b"\0"))


def _text(received: bytes) -> bool:
    """True if the bytes are lines of ASCII, as a program prints them."""
    letters = sum(0x20 <= byte < 0x7F or byte in b"\t\r\n" for byte in received)
    return len(received) > 3 and letters == len(received)


def _without_returns(pieces: list[bytes]) -> Iterator[bytes]:
    return (piece.replace(b"\r\n", b"\n") for piece in pieces if b"\r\n" in piece)


def _other_newlines(pieces: list[bytes]) -> Iterator[bytes]:
    """Yield each piece with every choice of its newlines."""
    for piece in pieces:
        plain = piece.replace(b"\r", b"\n").split(b"\n")
        if 1 < len(plain) <= _MOST_NEWLINES + 1:
            for chosen in product((b"\r", b"\n"), repeat=len(plain) - 1):
                yield b"".join(a + b for a, b in zip(plain, (*chosen, b"")))


def _with_flow_bytes(pieces: list[bytes]) -> Iterator[bytes]:
    """Yield each piece with one byte or two of flow control at any place."""
    for piece in pieces:
        for one in _with_flow_byte(piece, _LONGEST):
            yield one
            yield from _with_flow_byte(one, _LONGEST_OF_TWO)


def _with_flow_byte(piece: bytes, longest: int) -> Iterator[bytes]:
    if len(piece) <= longest:
        for at, byte in product(range(len(piece) + 1), _FLOW):
            yield piece[:at] + byte + piece[at:]
