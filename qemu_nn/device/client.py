"""Client of a device over the link: repeats each request until its answer."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Optional

from ..errors import Error
from . import protocol
from .line_faults import line_fault, request_fault
from .protocol import Frame, Hello, Malformed, RunReport
from .transports import Closed, Transport

#: Default seconds that a device may take for an answer.
TIMEOUT = 10.0

#: Seconds of silence until a request is repeated; doubled each time.
_PATIENCE = 0.25

#: Bytes kept to recognize faults of a line.
_REMEMBERED = 1 << 12

#: Bytes that a device can address.
_MEMORY = 1 << 32

#: Most bytes of a description.
_LONGEST = 1 << 16


_DAMAGED = bytes([protocol.DAMAGED])

#: Reasons for a device that receives nothing, or no valid frame.
_NOBODY = (
    "it is another program, port or baud rate, it hangs, or the line changes bytes (parity, 7 "
    "bits, newlines, XON/XOFF)"
)


class Restarted(Exception):
    """Reset of the device, which has lost the session."""


class LayerRefused(Error):
    """A layer's function on the device that returned an error."""


@dataclass(frozen=True)
class Described:
    """The network of a device.

    model: its hash. core, path, cmsis, rounding, kernels, tflm: its profile. functions: "stand-in",
    or "CMSIS-NN" for Arm's own. inputs, outputs: names and bytes. layers: those that the device
    reports, None for all. esp_nn, esp_dl: on a chip of the ESP32 family, the library's release.
    """

    network: str
    model: str
    core: str
    path: str
    cmsis: str
    rounding: str
    kernels: str
    tflm: str
    functions: str
    inputs: tuple[tuple[str, int], ...]
    outputs: tuple[tuple[str, int], ...]
    layers: Optional[tuple[str, ...]] = None
    esp_nn: str = ""
    esp_dl: str = ""


class Device:
    """A device at the other end of a transport.

    timeout: seconds that the device may take for an answer. After begin_session(), `hello`
    describes the device, and `network` its network. Raises Error if the device does not answer.
    """

    hello: Hello
    network: Described

    def __init__(self, transport: Transport, where: str, timeout: float = TIMEOUT) -> None:
        self._transport = transport
        self._where = where
        self._timeout = timeout
        self._decoder = protocol.Decoder()
        self._number = self._session = self._run = 0
        self._heard, self._frames = b"", 0  # since the pending request
        self._errors = 0  # of the line, before that
        self._damaged = b""  # what the device received of it, if that was no frame
        self.repeated = 0  # requests that were sent again

    def begin_session(self) -> None:
        """Begin a session, whatever the device was doing."""
        self._session = int.from_bytes(os.urandom(2), "little") or 1
        self._run = 0
        try:
            self.hello = protocol.parse_hello(self._request(protocol.HELLO, b"").content)
            text = self._read_memory(
                protocol.DESCRIPTION, 0, 0, min(self.hello.description, _LONGEST)
            )
            self.network = _parse_description(text)
        except Malformed as reason:
            raise Error(f"{self._where}: {reason}") from None

    def run(
        self,
        inputs: Sequence[bytes],
        first: bool,
        layers: Mapping[str, int],
        layer_done: Optional[Callable[[RunReport, bytes], Optional[bytes]]],
    ) -> tuple[RunReport, list[bytes]]:
        """Run the network once; return the last report, and its outputs.

        inputs: little-endian bytes of each. first: true restarts a recurrent network. layers: bytes
        of each layer. layer_done: called with each result; may return a replacement. Without it the
        network never stops at layers. Raises Restarted, Error; LayerRefused if a function returns
        an error.
        """
        for index, content in enumerate(inputs):
            self._write(protocol.INPUT, index, content)
        self._run = self._run % 0xFFFF + 1
        how = (protocol.STOP_AT_LAYERS if layer_done else 0) | (protocol.FIRST if first else 0)
        report = self._read_report(protocol.START, protocol.start_content(self._run, how), 1)
        seen: set[str] = set()
        while report.state != protocol.ENDED:
            if layer_done is None:
                raise Error(
                    f"{self._where}: the device stops at layers, although the host did not ask "
                    "for it: flash the export again"
                )
            self._expect(report, layers, seen)
            rest = self._read_memory(protocol.RESULT, 0, len(report.beginning), report.size)
            other = layer_done(report, report.beginning + rest)
            if other is not None:
                self._write(protocol.RESULT, 0, other)
            step = protocol.make_step_content(self._run, report.stop)
            report = self._read_report(protocol.STEP, step, report.stop + 1)
        if report.status:
            raise LayerRefused(
                f"{self._where}: layer {report.status} of the network on the device refuses "
                "its arguments: export the network for this device's release"
            )
        sizes = [size for _, size in self.network.outputs]
        return report, [
            self._read_memory(protocol.OUTPUT, at, 0, size) for at, size in enumerate(sizes)
        ]

    def _expect(self, report: RunReport, layers: Mapping[str, int], seen: set[str]) -> None:
        """Raise Error if a layer is unknown, has a different size, or occurs twice."""
        if report.layer in seen:
            raise Error(
                f"{self._where}: the device reported layer {report.layer!r} twice in a run: call "
                "link_layer_done() once after each layer"
            )
        seen.add(report.layer)
        if layers.get(report.layer) == report.size:
            return
        wanted = layers.get(report.layer)
        has = "the network has no such layer" if wanted is None else f"the network's has {wanted}"
        raise Error(
            f"{self._where}: the device has computed layer {report.layer!r} of {report.size} "
            f"bytes, but {has}"
        )

    def close(self) -> None:
        """Release the device."""
        self._transport.close()

    def _read_report(self, kind: int, content: bytes, stop: int) -> RunReport:
        """Return the report on a run at its next stop."""
        try:
            report = protocol.report_of(self._request(kind, content).content)
        except Malformed as reason:
            raise Error(f"{self._where}: {reason}") from None
        if report.run != self._run:
            raise Restarted
        if report.stop != stop:
            raise Error(f"{self._where}: the device is at stop {report.stop} instead of {stop}")
        return report

    def _write(self, what: int, index: int, content: bytes) -> None:
        most = self.hello.buffer - protocol.AROUND - 6
        for at in range(0, len(content), most):
            piece = protocol.write_content(what, index, at, content[at : at + most])
            self._request(protocol.WRITE, piece)

    def _read_memory(self, what: int, index: int, start: int, end: int) -> bytes:
        most, pieces = self.hello.buffer - protocol.AROUND, []
        for at in range(start, end, most):
            size = min(most, end - at)
            piece = self._request(
                protocol.READ, protocol.read_content(what, index, at, size)
            ).content
            if len(piece) != size:
                raise Error(f"{self._where}: the device sent {len(piece)} bytes instead of {size}")
            pieces.append(piece)
        return b"".join(pieces)

    def _request(self, kind: int, content: bytes) -> Frame:
        """Send a request until its answer arrives; return the answer."""
        self._number = (self._number + 1) % 256
        request = protocol.encode_frame(Frame(kind, self._number, self._session, content))
        end, patience = time.monotonic() + self._timeout, _PATIENCE
        self._heard, self._frames, self._damaged = b"", 0, b""
        self._errors = self._transport.errors
        try:
            while True:
                self._transport.write(request)
                for frame in self._iterate_frames(end, patience):
                    if frame.number == self._number and frame.kind >= protocol.ANSWER:
                        return self._check_report(kind, frame)
                if time.monotonic() >= end:
                    raise Error(self._make_silence_error(request))
                patience *= 2
                self.repeated += 1
        except Closed as reason:
            raise Error(f"{self._where}: {reason}") from None

    def _iterate_frames(self, end: float, patience: float) -> Iterator[Frame]:
        """Yield frames until the deadline, or until this many seconds of silence."""
        while (left := end - time.monotonic()) > 0:
            received = self._transport.read(min(left, patience))
            if not received:
                return
            self._heard = (self._heard + received)[:_REMEMBERED]
            for frame in self._decoder.feed(received):
                if frame.kind == protocol.REFUSAL and frame.content[:1] == _DAMAGED:
                    self._damaged = frame.content[1:]
                    continue
                self._frames += 1
                yield frame

    def _check_report(self, kind: int, frame: Frame) -> Frame:
        if frame.kind == kind | protocol.ANSWER:
            return frame
        reason = frame.content[0] if frame.kind == protocol.REFUSAL and frame.content else None
        if reason == protocol.STRANGER:
            raise Restarted
        words = {
            protocol.UNKNOWN: "does not know this request",
            protocol.OUTSIDE: "has no such memory",
            protocol.NOT_NOW: "cannot do this now",
        }
        raise Error(
            f"{self._where}: the device refused request {kind}: it "
            f"{words.get(reason or 0, 'says nothing that is understood')}"
        )

    def _make_silence_error(self, request: bytes) -> str:
        what = "stopped answering" if self._run else "does not answer"
        if self._frames:
            came = f"{self._frames} frames came, but none that answers"
            hint = "another program speaks on the line, or the device sends frames of its own"
        elif self._damaged:
            came = f"{len(self._damaged)} bytes reached it, but no valid frame"
            hint = request_fault(request, self._damaged)
        elif self._heard:
            came = f"{len(self._heard)} bytes came, but no valid frame"
            hint = line_fault(self._heard, self._transport.errors - self._errors)
        else:
            came = "nothing came"
            hint = "it hangs, or a layer takes longer" if self._run else _NOBODY
        return (
            f"the device at {self._where} {what}: {came} within {self._timeout:g} seconds; {hint} "
            "(a longer wait: --timeout)"
        )


def _parse_description(text: bytes) -> Described:
    """Parse the description, which is untrusted input. Raises Malformed."""
    names = ("network", "model", "core", "path", "cmsis", "rounding", "kernels", "tflm")
    try:
        said = json.loads(text.decode("ascii"))
        words = {name: _parse_word(said, name) for name in (*names, "functions")}
        inputs, outputs = (tuple(map(_block, said[key])) for key in ("inputs", "outputs"))
        layers = tuple(said["layers"]) if "layers" in said else None
        given = [name for name in ("esp_nn", "esp_dl") if name in said]
        words.update((name, _parse_word(said, name)) for name in given)
    except (ValueError, TypeError, LookupError, RecursionError):
        raise Malformed(
            "the device does not tell its network: compile it with -DNETWORK_TEST"
        ) from None
    return Described(**words, inputs=inputs, outputs=outputs, layers=layers)


def _block(said: Any) -> tuple[str, int]:
    """Return the name and the bytes of an input or an output."""
    name, size = said
    if not isinstance(name, str) or type(size) is not int or not 0 < size < _MEMORY:
        raise ValueError
    return name, size


def _parse_word(said: Mapping[str, Any], name: str) -> str:
    if not isinstance(said[name], str):
        raise ValueError
    return str(said[name])
