"""Ways to a device: a socket, a serial port or pseudo terminal, a program's standard streams."""

from __future__ import annotations

import os
import queue
import select
import shlex
import socket
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from ..errors import Error
from ..io.optional_deps import require

#: Bytes that are read at once.
_MOST = 1 << 16

#: Most unread pieces of a program's output; then the program waits.
_PIECES = 64

#: Default baud rate of a serial port.
_BAUD = 115200

#: Time-outs in seconds: for a host that does not answer, for one that does not accept data, and for
#: a program that does not end.
_CONNECT, _SEND, _END = 10, 10, 2


class Closed(Exception):
    """End of the connection; the text gives the known reason."""


class Transport(Protocol):
    """A stream of bytes to a device and back."""

    @property
    def errors(self) -> int:
        """Bytes with a wrong parity or stop bit so far; 0 if the line does not tell."""

    def read(self, timeout: float) -> bytes:
        """Return the received bytes, at least one, or none after this many seconds.
        Raises Closed.
        """

    def write(self, content: bytes) -> None:
        """Send all of it. Raises Closed."""

    def close(self) -> None:
        """Let go of the device."""


class Socket:
    """A connected socket."""

    errors = 0

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        if connected.family != getattr(socket, "AF_UNIX", None):
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def read(self, timeout: float) -> bytes:
        """See Transport."""
        self._socket.settimeout(timeout)
        try:
            received = self._socket.recv(_MOST)
        except socket.timeout:
            return b""
        except OSError as error:
            raise Closed(f"the connection broke: {error.strerror or error}") from None
        if not received:
            raise Closed("the device closed the connection")
        return received

    def write(self, content: bytes) -> None:
        """See Transport."""
        self._socket.settimeout(_SEND)
        try:
            self._socket.sendall(content)
        except OSError as error:
            raise Closed(f"the connection broke: {error.strerror or error}") from None

    def close(self) -> None:
        """See Transport."""
        self._socket.close()


class Marks:
    """Reader of a POSIX terminal's marks: 255 0 X is a byte X with an error, 255 255 a byte 255."""

    def __init__(self) -> None:
        self.errors = 0
        self._mark = b""

    def feed(self, received: bytes) -> bytes:
        """Return the bytes without marks, and count those with errors."""
        found = bytearray()
        for byte in received:
            if self._mark == b"\xff\0":
                self.errors += 1
                self._mark = b""
            elif self._mark and byte == 0:
                self._mark += b"\0"
                continue
            elif not self._mark and byte == 0xFF:
                self._mark = b"\xff"
                continue
            self._mark = b""
            found.append(byte)
        return bytes(found)


class Serial:
    """A serial port, by pyserial; port: a serial.Serial. On POSIX the system marks errors."""

    def __init__(self, port: Any) -> None:
        self._port = port
        self._marks = _switch_marks_on(port) if os.name == "posix" else None

    @property
    def errors(self) -> int:
        """See Transport."""
        return self._marks.errors if self._marks else 0

    def read(self, timeout: float) -> bytes:
        """See Transport."""
        try:
            if self._marks is not None:
                return self._read_marked(self._marks, timeout)
            self._port.timeout = timeout
            first = self._port.read(1)
            return bytes(first + self._port.read(min(self._port.in_waiting, _MOST)))
        except OSError as error:  # of which pyserial's errors are
            raise Closed(f"the serial port is gone: {error}") from None

    def _read_marked(self, marks: Marks, timeout: float) -> bytes:
        """Read without pyserial, which switches marks off."""
        end = time.monotonic() + timeout
        while select.select([self._port.fileno()], [], [], max(0.0, end - time.monotonic()))[0]:
            received = os.read(self._port.fileno(), _MOST)
            if not received:
                raise Closed("the serial port is gone: its other end is closed")
            content = marks.feed(received)
            if content:
                return content
        return b""

    def write(self, content: bytes) -> None:
        """See Transport."""
        try:
            self._port.write(content)
            self._port.flush()  # so that silence is the device's
        except OSError as error:
            raise Closed(f"the serial port is gone: {error}") from None

    def close(self) -> None:
        """See Transport."""
        self._port.close()


class Command:
    """A program on its standard streams; a thread reads them, because some systems cannot wait for
    several at a time.
    """

    errors = 0

    def __init__(self, arguments: list[str]) -> None:
        self._name = arguments[0]
        try:
            self._process = subprocess.Popen(
                arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
            )
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise Error(f"cannot start {self._name!r}: {reason}") from None
        self._received: queue.Queue[bytes] = queue.Queue(_PIECES)
        threading.Thread(target=self._pump, daemon=True).start()

    def _pump(self) -> None:
        stream: Any = self._process.stdout
        while True:
            piece = stream.read(_MOST)
            self._received.put(piece)
            if not piece:
                return

    def read(self, timeout: float) -> bytes:
        """See Transport."""
        try:
            received = self._received.get(timeout=timeout)
        except queue.Empty:
            return b""
        if not received:
            self._received.put(b"")  # for whoever reads again
            raise Closed(self._make_end_error())
        return received

    def write(self, content: bytes) -> None:
        """See Transport."""
        stream: Any = self._process.stdin
        try:
            while content:
                content = content[stream.write(content) :]
        except OSError:
            raise Closed(self._make_end_error()) from None

    def _make_end_error(self) -> str:
        try:
            status = self._process.wait(_END)
        except subprocess.TimeoutExpired:
            return f"{self._name!r} closed its standard streams"
        return f"{self._name!r} ended with exit status {status}"

    def close(self) -> None:
        """See Transport."""
        stream: Any = self._process.stdin
        with suppress(OSError):
            stream.close()
        try:
            self._process.wait(_END)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _switch_marks_on(port: Any) -> Marks:
    """Make the system mark bytes with a wrong parity or stop bit."""
    import termios

    attributes: list[Any] = termios.tcgetattr(port.fileno())
    attributes[0] |= termios.PARMRK | termios.INPCK
    attributes[0] &= ~(termios.IGNPAR | termios.IGNBRK | termios.BRKINT | termios.ISTRIP)
    termios.tcsetattr(port.fileno(), termios.TCSANOW, attributes)
    return Marks()


def connect(where: str) -> Transport:
    """Connect to a device at "serial:PORT[@BAUD]", "tcp:HOST:PORT" or "command:PROGRAM ARGUMENTS".

    Raises Error if it cannot be reached.
    """
    kind, _, place = where.partition(":")
    if kind == "serial" and place:
        return _connect_serial(place)
    if kind == "tcp" and place:
        return _connect_tcp(place)
    if kind == "command" and place.strip():
        return Command(_split_words(place))
    raise Error(
        f"no device {where!r}; it must be qemu:BOARD, serial:PORT@BAUD, tcp:HOST:PORT or "
        "command:PROGRAM"
    )


def _split_words(text: str) -> list[str]:
    if Path(text).exists():  # a path may contain spaces and backslashes
        return [text]
    try:
        return shlex.split(text)
    except ValueError as error:
        raise Error(f"the command {text!r} cannot be read: {error}") from None


def _connect_tcp(place: str) -> Socket:
    host, _, port = place.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise Error(
            f"'tcp:{place}' is no address; it must be tcp:HOST:PORT, such as tcp:10.0.0.7:5555"
        )
    try:
        return Socket(socket.create_connection((host.strip("[]"), int(port)), _CONNECT))
    except OSError as error:
        reason = error.strerror or error
        raise Error(f"no device at tcp:{place}: {reason}") from None


def _connect_serial(place: str) -> Serial:
    port, at, baud = place.rpartition("@")
    if not at:
        port, baud = place, str(_BAUD)
    if not baud.isdecimal() or not 0 < int(baud) < 10**8:
        raise Error(f"{baud!r} is no speed of a serial port; it must be serial:PORT@BAUD, in baud")
    own = {"exclusive": True} if os.name == "posix" else {}  # locks the port
    serial: Any = require("serial", "serial", "a serial port")
    try:
        return Serial(serial.Serial(port, int(baud), write_timeout=_SEND, **own))
    except (OSError, ValueError) as error:
        number = getattr(error, "errno", None)  # pyserial's words have the system's in them
        reason = os.strerror(number) if number else error
        raise Error(f"cannot open the serial port {port!r}: {reason}") from None
