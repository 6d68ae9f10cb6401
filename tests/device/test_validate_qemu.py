"""Exported networks on emulated boards are compared over the boards' serial ports."""

import shutil
import socket

import exported
import links
import pytest

import qemu_nn
from qemu_nn.api import validate as validation
from qemu_nn.api.golden import example
from qemu_nn.device import emulator
from qemu_nn.device.emulator import Emulator
from qemu_nn.errors import Error
from qemu_nn.firmware.boards import BOARDS

pytestmark = [exported.needs("m4"), pytest.mark.compiles]

NETWORK, IMAGES, _ = example()


@pytest.fixture(scope="module")
def export(tmp_path_factory):
    folder = tmp_path_factory.mktemp("link") / "digits"
    exported.write(folder, NETWORK)
    return folder


def on_board(monkeypatch, folder, wrap=lambda transport: transport, board="m4"):
    """Let any place be an emulated board that runs an export."""
    program = links.make(folder, f"link-{board}", f"link_{board}.elf")
    monkeypatch.setattr(
        validation, "connect", lambda where: wrap(Emulator(program, BOARDS[board].emulator))
    )
    return "tcp:the:board"


def test_a_data_set_of_digits_is_the_same_and_counted(monkeypatch, export):
    found = qemu_nn.validate(NETWORK, IMAGES[:40], on_board(monkeypatch, export))
    assert (found.same, found.samples, found.counts) == (True, 40, "instructions")
    counts = {layer.layer: layer.counted for layer in found.layers}
    assert counts["conv2"] > counts["fc"] > counts["softmax"] > 100
    assert {layer.layer for layer in found.layers if layer.estimate} == set(counts)
    assert "stand in for Arm's" in found.text()


def test_a_damaged_line_and_a_wrong_weight(monkeypatch, export):
    exported.flip(export, "fc_wt")
    line = links.noise(1, 900), links.noise(2, 900)
    where = on_board(monkeypatch, export, lambda transport: links.Line(transport, *line))
    found = qemu_nn.validate(NETWORK, IMAGES[:4], where, timeout=120)
    assert [layer.layer for layer in found.layers if not layer.same] == ["fc"]
    assert found.first.first.difference.cause.startswith("its inputs were right")
    assert found.repeated > 0


def test_faults_of_three_layers_are_named(monkeypatch, tmp_path):
    folder = tmp_path / "faulty"
    exported.write(folder, NETWORK)
    header, code = folder / "parameter.h", folder / "network.c"
    text = header.read_text()
    for right, wrong in (
        ("CONV1_PADDING 1", "CONV1_PADDING 0"),
        ("2_OUT_RSHIFT 9", "2_OUT_RSHIFT 8"),
    ):
        assert right in text
        text = text.replace(right, wrong)
    header.write_text(text)
    text = code.read_text()
    assert "fc_bias," in text
    code.write_text(text.replace("FC_OUT_RSHIFT, fc_bias,", "FC_OUT_RSHIFT, conv2_bias,"))
    found = qemu_nn.validate(NETWORK, IMAGES[:4], on_board(monkeypatch, folder))
    causes = {x.layer: x.first.difference.cause for x in found.layers if x.first}
    assert causes == {
        "conv1": "the padding is absent: 0 on all sides; explains 512 of 512 bytes",
        "conv2": "out_shift is 8 instead of 9; explains 256 of 256 bytes",
        "fc": "the bias is that of conv2; explains 10 of 10 bytes",
    }


def test_a_reset_of_the_board_in_the_middle(monkeypatch, export):
    """Reset the board by the emulator's monitor while a run is stopped at a layer."""
    asked = []

    class WithMonitor(Emulator):
        def __init__(self, *arguments):
            server = socket.create_server(("127.0.0.1", 0))
            port = server.getsockname()[1]
            command = emulator.make_command

            def monitored(*how):
                words = command(*how)
                words[words.index("-monitor") + 1] = f"tcp:127.0.0.1:{port}"
                return words

            monkeypatch.setattr(emulator, "make_command", monitored)
            super().__init__(*arguments)
            self._monitor, _ = server.accept()
            server.close()

        def write(self, content):
            asked.append(content)
            if len(asked) in (12, 40):
                self._monitor.sendall(b"system_reset\n")
            super().write(content)

        def close(self):
            self._monitor.close()
            super().close()

    program = links.make(export, "link-m4", "link_m4.elf")
    board = BOARDS["m4"].emulator
    monkeypatch.setattr(validation, "connect", lambda where: WithMonitor(program, board))
    found = qemu_nn.validate(NETWORK, IMAGES[:4], "tcp:the:board", timeout=60)
    assert found.restarts >= 1
    assert found.samples == 4


def test_a_board_of_another_core_in_one_call():
    found = qemu_nn.validate(
        NETWORK, IMAGES[:2], "qemu:m0", layers=False, make=["CFLAGS=-Os -Wall -Werror"]
    )
    assert found.same
    assert "m0" in found.profile


def test_the_example_of_semihosting(tmp_path):
    """Validate over the console, without SysTick, whose interrupt would end the wait for a
    character.
    """
    folder = exported.write(tmp_path / "net", NETWORK)
    shutil.copy(folder / "link" / "examples" / "semihosting.c", folder / "link" / "board.c")
    rules = folder / "link" / "link.mk"
    rules.write_text(rules.read_text().replace("-DLINK_SYSTICK", ""))
    program = links.make(folder, "link-m4", "link_m4.elf")
    board = " ".join(BOARDS["m4"].emulator)
    console = "-chardev stdio,id=c,signal=off -semihosting-config enable=on,chardev=c"
    how = f"{board} -display none -monitor none {console} -kernel {program}"
    where = f"command:qemu-system-arm {how}"
    found = qemu_nn.validate(NETWORK, IMAGES[:1], where, layers=False, timeout=120)
    assert found.same


def test_an_emulator_that_does_not_start_is_a_sentence(tmp_path):
    with pytest.raises(Error, match=r"QEMU does not start: .*machine"):
        Emulator(tmp_path / "none.elf", ("-M", "no_such_board"))


def test_a_missing_tool_is_named(monkeypatch, export):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(
        Error, match="needs make, arm-none-eabi-gcc, qemu-system-arm, not found here"
    ):
        emulator.build(export, "m4")


def test_a_program_that_does_not_build_is_a_sentence(export, tmp_path):
    (tmp_path / "Makefile").write_text("link-m4:\n\techo 'x.c:1: error: wrong' >&2; false\n")
    with pytest.raises(Error, match=r"does not build for m4: x.c:1: error: wrong"):
        emulator.build(tmp_path, "m4")
