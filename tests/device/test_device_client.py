"""Ways to a device that lead nowhere: sentences, and no hang."""

import re
import socket
import sys

import pytest
from click.testing import CliRunner

import qemu_nn
from qemu_nn.api.golden import example
from qemu_nn.api.validate import board_name, make_variables, validate
from qemu_nn.cli.main import main
from qemu_nn.device import transports
from qemu_nn.errors import Error

PROGRAM = "import sys\nsys.stdin.buffer.read() if {waits} else print({says!r})"


def program(tmp_path, waits=0, says=""):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM.format(waits=waits, says=says))
    return f"command:{sys.executable} {path}"


@pytest.mark.parametrize(
    ("where", "sentence"),
    [
        ("usb", "no device 'usb'; it must be qemu:BOARD, serial:PORT@BAUD"),
        ("command: ", "no device"),
        ("command:./there_is_no_such_program", "cannot start './there_is_no_such_program'"),
        ("command:'", "cannot be read"),
        ("tcp:somewhere", "it must be tcp:HOST:PORT"),
        ("tcp:localhost:99999", "it must be tcp:HOST:PORT"),
        ("serial:/dev/null@fast", "'fast' is no speed"),
        ("qemu:m5", "no emulated board 'm5'"),
    ],
)
def test_a_place_without_a_device_is_a_sentence(where, sentence):
    with pytest.raises(Error, match=sentence):
        qemu_nn.validate(example()[0], on=where)


def test_a_port_that_nobody_listens_to_is_a_sentence():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(Error, match=f"no device at tcp:127.0.0.1:{port}: "):
        transports.connect(f"tcp:127.0.0.1:{port}")


def test_a_serial_port_that_is_missing_is_a_sentence():
    pytest.importorskip("serial", reason="serial ports need pyserial")
    with pytest.raises(Error, match=r"^cannot open the serial port '/dev/there_is_none': [^:\]]+$"):
        transports.connect("serial:/dev/there_is_none@115200")


def test_a_device_that_says_nothing_is_given_up(tmp_path):
    where = program(tmp_path, waits=1)
    with pytest.raises(Error, match=r"does not answer: .* within 0.3 seconds; .*--timeout"):
        validate(example()[0], on=where, timeout=0.3)


def test_a_device_that_ends_is_a_sentence(tmp_path):
    with pytest.raises(Error, match=r"ended with exit status 0"):
        validate(example()[0], on=program(tmp_path, says="hello"), timeout=120)


def test_the_verb_exits_with_2_where_there_is_no_device(tmp_path):
    network = tmp_path / "net.qnz"
    example()[0].save(network)
    result = CliRunner().invoke(main, ["validate", str(network), "--on", "tcp:nowhere"])
    assert result.exit_code == 2
    assert "tcp:HOST:PORT" in result.output


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), "soon"])
def test_a_timeout_is_a_number_of_seconds(timeout):
    with pytest.raises(Error, match=r"timeout"):
        validate(example()[0], on="command:true", timeout=timeout)


def test_options_of_data_are_refused_without_data():
    with pytest.raises(Error, match="index= is given without data"):
        validate(example()[0], on="command:true", data=qemu_nn.Dataset(None, index="0:3"))


@pytest.mark.parametrize("name", ["m4", "cortex-m4", "Cortex-M4F", "M4"])
def test_an_emulated_board_goes_by_the_name_of_its_core(name):
    assert board_name(name) == "m4"


@pytest.mark.parametrize(
    ("name", "hint"), [("stm32f411", "have: m0"), ("m0+", "have: m0"), ("cortex-m6", "have: m0")]
)
def test_other_names_are_no_emulated_board(name, hint):
    with pytest.raises(Error, match=f"no emulated board {re.escape(repr(name))}; {hint}"):
        board_name(name)


def test_variables_of_make_are_for_emulated_boards():
    with pytest.raises(Error, match=r"make is .*, but must be a list"):
        validate(example()[0], make="CFLAGS=-Os")
    with pytest.raises(Error, match="make= contains 'CFLAGS', but must contain NAME=VALUE"):
        validate(example()[0], make=["CFLAGS"])
    with pytest.raises(Error, match="is built already"):
        validate(example()[0], on="command:true", make=["CFLAGS=-Os"])
    with pytest.raises(Error, match="must contain NAME=VALUE"):
        validate(example()[0], make=["CFLAGS=\0"])


def test_values_of_make_may_be_longer_than_names_of_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    flags = "CFLAGS=" + "-O2 " * 100
    assert make_variables("qemu:m4", [flags, "EMPTY=", "CMSIS=."]) == [
        flags,
        "EMPTY=",
        f"CMSIS={tmp_path.resolve()}",
    ]
