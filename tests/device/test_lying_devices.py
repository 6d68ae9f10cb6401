"""Devices that lie, and lines that change bytes: a sentence in bounded time, no traceback."""

import os
import time

import numpy as np
import pytest
from fake_devices import FakeDevice

import qemu_nn
from qemu_nn.api import validate as validation
from qemu_nn.api.golden import example
from qemu_nn.device import client, protocol, transports
from qemu_nn.device.line_faults import line_fault
from qemu_nn.device.transports import Command
from qemu_nn.errors import Error

NETWORK, IMAGES, _ = example()


@pytest.fixture
def validated(monkeypatch):
    """Return a function that compares a fake device with the emulator."""

    def validate(timeout=5, layers=True, **how):
        monkeypatch.setattr(validation, "connect", lambda _: FakeDevice(NETWORK, **how))
        return qemu_nn.validate(NETWORK, IMAGES[:2], "tcp:fake:1", timeout=timeout, layers=layers)

    return validate


def test_a_device_that_tells_the_truth_is_the_same(validated):
    found = validated()
    assert found.same
    assert (len(found.layers), found.samples) == (len(NETWORK.graph.nodes), 2)


@pytest.mark.parametrize("limit", [1, 3, None])
def test_random_inputs_are_as_many_as_the_limit(monkeypatch, limit):
    monkeypatch.setattr(validation, "connect", lambda _: FakeDevice(NETWORK))
    found = qemu_nn.validate(NETWORK, qemu_nn.Dataset(None, limit=limit), on="tcp:fake:1")
    assert found.samples == (limit or 4)


# ---- descriptions ----


@pytest.mark.parametrize("size", [0, -1, 1.5, 10.0, True, None, "10", 1e400, 10**12, [10]])
@pytest.mark.parametrize("key", ["inputs", "outputs"])
def test_a_size_that_no_device_has_is_refused(validated, key, size):
    with pytest.raises(Error, match="does not tell its network"):
        validated(said={key: [["x", size]]})


@pytest.mark.parametrize(
    "said",
    [
        {"outputs": [["softmax", 11]]},
        {"outputs": [["softmax", 2**32 - 1]]},
        {"outputs": [["softmax", 10], ["more", 10]]},
        {"inputs": [["image", 65]]},
        {"outputs": []},
    ],
)
def test_sizes_of_another_network_are_refused(validated, said):
    with pytest.raises(Error, match="inputs or outputs are not those of 'digits'"):
        validated(said=said)


@pytest.mark.parametrize("said", [{"outputs": [["a"]]}, {"outputs": 5}, {"cmsis": 5}, {"core": []}])
def test_a_description_of_another_form_is_refused(validated, said):
    with pytest.raises(Error, match="does not tell its network"):
        validated(said=said)


@pytest.mark.parametrize("counts", [b"bogus\x1b[31m", b"macs", b"layer", b"Cycles"])
def test_an_unknown_counter_is_refused(validated, counts):
    with pytest.raises(Error, match=r"counts '.*', but a device counts cycles or instructions"):
        validated(hello=lambda fields, _: (fields, counts))


@pytest.mark.parametrize("length", [0, 1 << 32, 1 << 16])
def test_a_description_of_another_length_is_refused(validated, length):
    def hello(fields, counts):
        return [*fields[:2], min(length, 2**32 - 1), 0], counts

    with pytest.raises(Error, match=r"does not tell its network|bytes instead of"):
        validated(hello=hello)


# ---- stops ----


def test_the_same_stop_for_ever_is_refused(validated):
    first = []

    def again(fields):
        first.append(dict(fields))
        return dict(first[0], run=fields["run"])

    with pytest.raises(Error, match="the device is at stop 1 instead of 2"):
        validated(report=again)


def test_the_same_layer_for_ever_is_refused(validated):
    def again(fields):
        layer = {"layer": b"conv1", "size": 512, "state": protocol.AT_LAYER}
        return {**fields, **layer}

    with pytest.raises(Error, match="reported layer 'conv1' twice"):
        validated(report=again)


@pytest.mark.parametrize("size", [0, 1, 511, 2**32 - 1])
def test_a_layer_of_another_size_is_refused(validated, size):
    with pytest.raises(Error, match=f"layer 'conv1' of {size} bytes, but the network's has 512"):
        validated(report=lambda fields: {**fields, "size": size})


def test_an_unknown_layer_is_refused(validated):
    with pytest.raises(Error, match=r"layer '\\x1b\[31m' of .* but the network has no such layer"):
        validated(report=lambda fields: {**fields, "layer": b"\x1b[31m"})


def test_a_run_that_ends_early_names_the_missing_layer(validated):
    with pytest.raises(Error, match="did not report layer 'conv1'"):
        validated(report=lambda fields: {**fields, "state": protocol.ENDED, "layer": b""})


def test_a_device_that_stops_unasked_is_refused(validated):
    with pytest.raises(Error, match="stops at layers, although the host did not ask"):
        validated(layers=False)


def test_a_program_that_never_stops_printing_waits_for_its_reader():
    program = Command(["yes"])
    try:
        assert program.read(5)
        for _ in range(1000):
            if program._received.full():
                break
            transports.threading.Event().wait(0.01)
        assert program._received.qsize() == program._received.maxsize
    finally:
        program.close()


# ---- lines ----


def parity(odd):
    """Return what a line of 7 bits with a parity makes of bytes for a reader of 8 bits."""
    return lambda sent: bytes(
        byte & 127 | (bin(byte & 127).count("1") % 2 ^ odd) << 7 for byte in sent
    )


LINES = {
    "7 bits": (lambda sent: bytes(byte & 127 for byte in sent), "all have 7 bits: set 8 data bits"),
    "even": (parity(0), "all have the same parity: set 8 data bits and no parity"),
    "odd": (parity(1), "all have the same parity: set 8 data bits and no parity"),
    "onlcr": (lambda sent: sent.replace(b"\n", b"\r\n"), "sends CR LF for LF: switch newline"),
    "icrnl": (lambda sent: sent.replace(b"\r", b"\n"), "changes CR or LF: switch newline"),
    "ixon": (lambda sent: sent.translate(None, b"\x11\x13"), "removes the bytes 0x11 or 0x13"),
    "text": (
        lambda _: b"Hello, I am\r\nanother program\r\n",
        "they are text, such as 'Hello, I am",
    ),
    "speed": (
        lambda sent: bytes(byte * 7 + 3 & 255 for byte in sent),
        "check the baud rate, then data bits",
    ),
}

#: Sentences on requests, if they differ from those on answers.
REQUESTS = {"onlcr": "changes CR or LF: switch newline"}

#: Bytes that each line changes in an answer.
CHANGED = {"onlcr": b"\n", "icrnl": b"\r", "ixon": b"\x11"}


@pytest.mark.parametrize("line", LINES)
def test_bytes_without_a_valid_frame_say_what_the_line_does(validated, monkeypatch, line):
    change, sentence = LINES[line]
    session = CHANGED.get(line, b"\xa5") + b"\x7f"
    monkeypatch.setattr(os, "urandom", lambda count: session[:count])
    with pytest.raises(Error, match=sentence) as raised:
        validated(sent=change, timeout=0.3)
    assert "bytes came, but no valid frame within 0.3 seconds" in str(raised.value)


@pytest.mark.parametrize("line", sorted({*LINES} - {"text", "odd", "speed"}))
def test_the_device_tells_what_the_line_does_to_requests(validated, monkeypatch, line):
    session = CHANGED.get(line, b"\xa5") + b"\x7f"
    monkeypatch.setattr(os, "urandom", lambda count: session[:count])
    change, sentence = LINES[line]
    with pytest.raises(Error, match=REQUESTS.get(line, sentence)) as raised:
        validated(heard=change, timeout=0.3)
    assert "bytes reached it, but no valid frame within 0.3 seconds" in str(raised.value)


def test_a_silent_device_may_have_another_baud_rate(validated):
    with pytest.raises(Error, match=r"nothing came .* baud rate.* the line changes bytes \(parity"):
        validated(heard=lambda _: b"", timeout=0.3)


@pytest.mark.parametrize("line", ["odd", "speed"])  # which change the zeros around a frame
def test_repeated_requests_without_zeros_reach_the_device(validated, monkeypatch, line):
    monkeypatch.setattr(client, "_PATIENCE", 0.001)
    monkeypatch.setattr(os, "urandom", lambda count: b"\xa5\x7f"[:count])
    with pytest.raises(Error, match=f"48 bytes reached it, .*; {LINES[line][1]}"):
        validated(heard=LINES[line][0], timeout=0.3)


def test_bytes_with_a_wrong_parity_or_stop_bit_are_counted(monkeypatch):
    class Wrong(FakeDevice):
        def read(self, timeout):
            self.errors += 3
            return super().read(timeout)

    wrong = Wrong(NETWORK, sent=lambda sent: bytes(byte ^ 0x5A for byte in sent))
    monkeypatch.setattr(validation, "connect", lambda _: wrong)
    with pytest.raises(Error, match="of them have a wrong parity or stop bit: set the same baud"):
        qemu_nn.validate(NETWORK, IMAGES[:2], "tcp:fake:1", timeout=0.3)


def test_marks_of_a_terminal_are_read_in_any_pieces():
    marked = b"ab\xff\xffc\xff\0d\xff\0\0e\xff\xff\xff\xff"
    for size in range(1, len(marked)):
        marks = transports.Marks()
        pieces = [marked[at : at + size] for at in range(0, len(marked), size)]
        assert b"".join(map(marks.feed, pieces)) == b"ab\xffcd\0e\xff\xff"
        assert marks.errors == 2


def test_a_serial_port_with_marks_passes_every_byte():
    pytest.importorskip("serial", reason="a serial port needs pyserial")
    pty = pytest.importorskip("pty", reason="there are no pseudo terminals")
    ours, theirs = pty.openpty()
    port = transports.connect(f"serial:{os.ttyname(theirs)}")
    try:
        content = bytes(range(256)) * 3
        os.write(ours, content)
        received = b""
        while len(received) < len(content):
            received += (piece := port.read(5))
            assert piece
        assert (received, port.errors, port.read(0.01)) == (content, 0, b"")
        port.write(b"\xff\0\n")
        assert os.read(ours, 8) == b"\xff\0\n"
    finally:
        port.close()
        os.close(ours)
        os.close(theirs)


def test_frames_that_answer_nothing_are_counted(validated):
    other = protocol.encode_frame(protocol.Frame(0x81, 99, 0, b""))
    with pytest.raises(Error, match="frames came, but none that answers"):
        validated(sent=lambda _: other, timeout=0.3)


def test_any_frame_that_a_line_changes_is_recognized():
    rng = np.random.default_rng(0)
    for line, byte in CHANGED.items():
        for _ in range(20):
            content = rng.integers(0, 256, 40, np.uint8).tobytes() + byte
            sent = protocol.encode_frame(protocol.Frame(0x85, 7, 9, content))
            found = line_fault(LINES[line][0](sent))
            lost = sum(map(sent.count, (b"\x11", b"\x13")))
            assert LINES[line][1] in found or (line == "ixon" and lost > 2), (line, sent)


def test_any_bytes_are_searched_in_bounded_time():
    rng = np.random.default_rng(1)
    pieces = [rng.integers(1, 256, 120, np.uint8).tobytes() for _ in range(30)]
    start = time.monotonic()
    assert line_fault(b"\0".join(pieces)).startswith("check the baud rate")
    assert time.monotonic() - start < 20
