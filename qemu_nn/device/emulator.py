"""Build of an export for a board, and its execution by QEMU with the serial port as a socket."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from ..errors import Error
from .transports import Closed, Socket

#: Programs that build and run an export, and their Debian packages.
_TOOLS = {
    "make": "make",
    "arm-none-eabi-gcc": "gcc-arm-none-eabi libnewlib-arm-none-eabi",
    "qemu-system-arm": "qemu-system-arm",
}

#: Seconds until a hanging program is killed, and until QEMU has opened its serial port; interval of
#: the checks.
_END, _START, _WAIT = 2, 60, 0.5

#: 2^6 ns for each instruction: the device's clock counts instructions (link/board.c).
_SHIFT = 6


def build(folder: Path, board: str, variables: Sequence[str] = ()) -> Path:
    """Build an export's end of the link for a board; returns the program.

    variables: of make's, CFLAGS=-Os. Raises Error where a tool is missing, or the program does
    not fit the board's memory.
    """
    missing = [tool for tool in _TOOLS if shutil.which(tool) is None]
    if missing:
        packages = " ".join(_TOOLS[tool] for tool in missing)
        raise Error(
            f"an emulated board needs {', '.join(missing)}, not found here (Debian: apt "
            f"install {packages})"
        )
    command = ["make", "-C", str(folder), f"link-{board}", *variables]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        raise Error(f"the export does not build for {board}: {_find_complaint(done.stderr)}")
    return folder / "build" / f"link_{board}.elf"


def _find_complaint(text: str) -> str:
    """Return the line with the cause of a failure: the first error, or else the last line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()] or ["make says nothing"]
    wrong = [line for line in lines if "error" in line or "overflowed" in line]
    return wrong[0] if wrong else lines[-1]


class Emulator(Socket):
    """Transport to the serial port of a program on an emulated board.

    board: QEMU's arguments that select it.
    """

    def __init__(self, program: Path, board: Sequence[str]) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            self._process = subprocess.Popen(
                make_command(program, board, f"tcp:127.0.0.1:{port},nodelay=on"),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
            )
            connection = self._accept_connection(server)
        super().__init__(connection)

    def _accept_connection(self, server: socket.socket) -> socket.socket:
        """Return the connection that QEMU opens after it has created the board."""
        server.settimeout(_WAIT)
        end = time.monotonic() + _START
        while time.monotonic() < end and self._process.poll() is None:
            with suppress(OSError):
                return server.accept()[0]
        self._stop()
        raise Error(f"QEMU does not start: {self._describe_exit()}")

    def read(self, timeout: float) -> bytes:
        """See Transport."""
        try:
            return super().read(timeout)
        except Closed:
            self._stop()
            raise Closed(f"the emulated board stopped: {self._describe_exit()}") from None

    def close(self) -> None:
        """See Transport."""
        super().close()
        self._stop()
        if self._process.stderr:
            self._process.stderr.close()

    def _stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(_END)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _describe_exit(self) -> str:
        said = self._process.stderr.read() if self._process.stderr else b""
        lines = said.decode("utf-8", "replace").strip().splitlines()
        return lines[0] if lines else f"exit status {self._process.returncode}"


def make_command(program: Path, board: Sequence[str], serial: str) -> list[str]:
    """Return the command that runs a program on a board, with its serial port on a QEMU character
    device.
    """
    how = ["-display", "none", "-monitor", "none", "-semihosting", "-icount", f"shift={_SHIFT}"]
    return ["qemu-system-arm", *board, *how, "-kernel", str(program), "-serial", serial]
