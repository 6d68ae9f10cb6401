"""Exported networks at the end of a link, compared with the emulator.

A program of this PC is the device.
"""

import json
import shutil
import socket
import threading
from pathlib import Path

import affine_networks
import exported
import links
import networks
import numpy as np
import pytest
from click.testing import CliRunner
from recorded_files import PTE

import qemu_nn
from qemu_nn.api import validate as validation
from qemu_nn.api.golden import example
from qemu_nn.api.network import Network
from qemu_nn.cli.main import main
from qemu_nn.device import client, transports
from qemu_nn.device.transports import Command
from qemu_nn.errors import Error

pytestmark = [exported.needs("pc"), pytest.mark.compiles]

NETWORK, IMAGES, LABELS = example()
LAYERS = [node.name for node in NETWORK.graph.nodes]


@pytest.fixture(scope="module")
def export(tmp_path_factory):
    folder = tmp_path_factory.mktemp("link") / "digits"
    links.built(folder, NETWORK)
    return folder


@pytest.fixture(scope="module")
def digits(export):
    return export / "build" / "link"


@pytest.fixture
def line(monkeypatch):
    """Return a function that puts a transport of the test's between the client and every device."""

    def put(make):
        monkeypatch.setattr(validation, "connect", make)

    return put


def on(program):
    return f"command:{program}"


def test_a_data_set_of_digits_is_the_same_layer_by_layer(digits):
    found = qemu_nn.validate(NETWORK, IMAGES, on(digits))
    assert found.same
    assert found.samples == len(IMAGES)
    assert [layer.layer for layer in found.layers] == LAYERS
    sizes = {node.name: node.output.nbytes * len(IMAGES) for node in NETWORK.graph.nodes}
    assert {layer.layer: layer.elements for layer in found.layers} == sizes
    assert (found.restarts, found.functions) == (0, "stand-in")


def test_outputs_alone_are_compared_on_request(digits):
    found = qemu_nn.validate(NETWORK, IMAGES[:5], on(digits), layers=False)
    assert [(layer.layer, layer.elements) for layer in found.layers] == [("softmax", 50)]
    assert found.same


def test_a_network_whose_file_has_another_order_of_axes_draws_its_own_inputs(tmp_path):
    network = qemu_nn.load(PTE.file("conv2d_3x3_m4", tmp_path))
    assert network.graph.input.logical != network.graph.input.shape
    links.built(tmp_path / "link", network)
    assert qemu_nn.validate(network, None, on(tmp_path / "link" / "build" / "link")).same


def test_nothing_is_said_of_inputs_that_are_random(digits, caplog):
    caplog.set_level("INFO")
    assert qemu_nn.validate(NETWORK, on=on(digits)).samples == 4
    assert not caplog.records
    qemu_nn.validate(NETWORK, IMAGES[:4], on(digits))
    assert caplog.records


def test_a_wrong_weight_is_found_in_its_layer_and_in_no_other(export, tmp_path):
    folder = shutil.copytree(export, tmp_path / "copy")
    exported.flip(folder, "conv2_wt")
    found = qemu_nn.validate(NETWORK, IMAGES[:6], on(links.make(folder)))
    wrong = [layer for layer in found.layers if not layer.same]
    assert [layer.layer for layer in wrong] == ["conv2"]
    first = wrong[0].first
    assert first.difference.cause.startswith("its inputs were right")
    want = NETWORK.session().run(IMAGES[first.sample : first.sample + 1], trace=True)["conv2"][0]
    assert want[first.difference.position] == first.difference.want != first.difference.got
    assert "DIFFERS: 1 of 8 layers, first conv2" in found.text()
    alone = qemu_nn.validate(NETWORK, IMAGES, on(folder / "build" / "link"), layers=False)
    assert alone.first.layer == "softmax"
    assert "or one before it" in alone.first.first.difference.cause


def test_another_release_is_recognized_as_the_cause(tmp_path):
    """Check firmware that truncates but reports rounding to nearest."""
    program = links.built(tmp_path / "net", NETWORK, target=qemu_nn.Target(rounding="truncate"))
    source = tmp_path / "net" / "link" / "link_network.c"
    text = source.read_text().replace('"', "").replace("truncate", "nearest")
    assert "nearest" in text
    joined = source.read_text().replace('"\n    "', "").replace("truncate", "nearest")
    source.write_text(joined)
    found = qemu_nn.validate(NETWORK, IMAGES[:3], on(links.make(tmp_path / "net")))
    assert found.first.layer == "conv1"
    cause = found.first.first.difference.cause
    assert cause == "these are exactly the bits of rounding mode truncate instead of nearest"
    assert program.exists()


@pytest.mark.parametrize("seed", range(2))
def test_lost_doubled_and_changed_bytes_change_nothing(digits, line, monkeypatch, seed):
    monkeypatch.setattr(client, "_PATIENCE", 0.03)
    there, back = links.noise(seed, 700), links.noise(seed + 9, 700)
    line(lambda where: links.Line(Command([str(digits)]), there, back))
    found = qemu_nn.validate(NETWORK, IMAGES[:5], on(digits), timeout=120)
    assert found.same
    assert found.repeated > 0


def test_a_line_of_7_bits_is_named_by_what_the_device_receives(digits, line, monkeypatch):
    monkeypatch.setattr(client.os, "urandom", lambda _: b"\xa5\x7f")

    def seven(sent):
        return bytes(byte & 127 for byte in sent)

    line(lambda where: links.Line(Command([str(digits)]), seven))
    with pytest.raises(Error, match=r"bytes reached it, but no valid frame .*: set 8 data bits"):
        qemu_nn.validate(NETWORK, IMAGES[:1], on(digits), timeout=0.5)


def test_a_reset_in_the_middle_begins_the_sample_again(digits, line):
    line(lambda where: links.Resetting(digits, {4, 9, 30}))
    found = qemu_nn.validate(NETWORK, IMAGES[:6], on(digits))
    assert found.same
    assert 1 <= found.restarts <= 3
    assert found.layers[0].elements == 6 * 512


def test_a_device_that_is_reset_again_and_again_is_given_up(digits, line):
    line(lambda where: links.Resetting(digits, range(4, 1000, 3)))
    with pytest.raises(Error, match=r"reset"):
        qemu_nn.validate(NETWORK, IMAGES[:6], on(digits))


def test_a_device_that_hangs_is_given_up(digits, line):
    passed = []

    def hangs(content):
        passed.append(content)
        return content if len(passed) < 12 else b""

    line(lambda where: links.Line(Command([str(digits)]), hangs))
    with pytest.raises(Error, match=r"(stopped answering|does not answer): .* within 5 seconds; "):
        qemu_nn.validate(NETWORK, IMAGES[:6], on(digits), timeout=5)


def test_another_network_is_told_by_its_hash(digits):
    other = Network(networks.classifier())
    with pytest.raises(Error, match=r"another network: 'digits' with the hash [0-9a-f]{12}, but"):
        qemu_nn.validate(other, on=on(digits))
    with pytest.raises(Error, match="another network"):  # whose release has no such functions
        qemu_nn.validate(Network(affine_networks.small()), on=on(digits))


def test_another_profile_than_the_exports_is_refused(digits):
    with pytest.raises(
        Error, match=r"exported for CMSIS 5.9.0, dsp, nearest, but the target is .*mve"
    ):
        qemu_nn.validate(NETWORK, on=on(digits), target="m55")
    assert qemu_nn.validate(NETWORK, IMAGES[:1], on(digits), target="m7").same


def test_firmware_that_reports_no_layers_is_a_sentence(export, tmp_path):
    folder = shutil.copytree(export, tmp_path / "copy")
    makefile = folder / "Makefile"
    makefile.write_text(makefile.read_text().replace("-DNETWORK_TEST", ""))
    source = folder / "link" / "link_network.c"
    source.write_text(
        source.read_text().replace(
            "void network_layer", "void network_layer_done();\nvoid network_layer"
        )
    )
    program = links.make(folder, "link")
    with pytest.raises(Error, match=r"did not report layer 'conv1': compile network.c with -DNETW"):
        qemu_nn.validate(NETWORK, IMAGES[:1], on(program))


@pytest.mark.parametrize("buffer", [64, 100])
def test_a_small_buffer_takes_everything_in_pieces(export, tmp_path, buffer):
    folder = shutil.copytree(export, tmp_path / "copy")
    header = folder / "link" / "link.h"
    header.write_text(header.read_text().replace("LINK_BUFFER 1024", f"LINK_BUFFER {buffer}"))
    assert qemu_nn.validate(NETWORK, IMAGES[:3], on(links.make(folder))).same


def test_a_recurrent_network_keeps_its_state_from_step_to_step(tmp_path, line):
    network = Network(networks.recurrent())
    program = links.built(tmp_path / "net", network)
    x = np.random.default_rng(5).integers(-128, 128, (3, 6, *network.graph.input.shape))
    x = x.astype(np.int16)
    found = qemu_nn.validate(network, x, on(program))
    assert (found.same, found.steps) == (True, 6)
    line(lambda where: links.Resetting(program, {7, 23}))
    again = qemu_nn.validate(network, x, on(program))
    assert again.same
    assert 1 <= again.restarts <= 2


def test_several_outputs_and_types(tmp_path):
    network = Network(exported.branches())
    assert qemu_nn.validate(network, on=on(links.built(tmp_path / "net", network))).same


def test_a_tflite_file_has_the_bits_of_its_export(tmp_path):
    network = qemu_nn.load(Path(qemu_nn.__file__).parent / "demo" / "digits.tflite")
    found = qemu_nn.validate(network, on=on(links.built(tmp_path / "net", network)))
    assert found.same
    assert found.profile.startswith("CMSIS 7.0.0")


def serve(program, server):
    """Give the first who connects a program's standard streams."""
    connection, _ = server.accept()
    bridge(Command([str(program)]), connection.recv, connection.sendall)


def bridge(device, read, write):
    """Carry bytes both ways until there are no more."""

    def back():
        try:
            while True:
                received = device.read(0.05)
                if received:
                    write(received)
        except (OSError, transports.Closed):
            return

    threading.Thread(target=back, daemon=True).start()
    try:
        while content := read(1 << 12):
            device.write(content)
    except OSError:
        pass
    device.close()


def test_a_device_behind_a_socket(digits):
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve, args=(digits, server), daemon=True)
        thread.start()
        where = f"tcp:127.0.0.1:{server.getsockname()[1]}"
        found = qemu_nn.validate(NETWORK, IMAGES[:3], where)
    thread.join()
    assert found.same


def test_a_device_behind_a_pseudo_terminal(digits):
    pytest.importorskip("serial", reason="serial ports need pyserial")
    pty = pytest.importorskip("pty", reason="no pseudo terminals on this system")
    import os
    import tty

    ours, theirs = pty.openpty()
    tty.setraw(theirs)
    ends = (lambda size: os.read(ours, size), lambda content: os.write(ours, content))
    device = Command([str(digits)])
    threading.Thread(target=bridge, args=(device, *ends), daemon=True).start()
    found = qemu_nn.validate(NETWORK, IMAGES[:3], f"serial:{os.ttyname(theirs)}@921600")
    assert found.same
    device.close()


def call(*arguments):
    return CliRunner().invoke(main, list(map(str, arguments)))


def test_the_verb_says_same_and_writes_what_it_found(digits, tmp_path):
    model, data, page = tmp_path / "net.qnz", tmp_path / "x.npy", tmp_path / "found.html"
    NETWORK.save(model)
    np.save(data, IMAGES[:4])
    same = call("validate", model, "-d", data, "--on", on(digits), "--html", page)
    assert (same.exit_code, same.output.split()[-1]) == (0, "bit")
    assert "same: 6,992 elements of 8 layers, to the bit" in page.read_text(encoding="utf-8")
    told = call("validate", model, "--on", on(digits), "--json").output
    found = json.loads(told[told.index("{") :])  # after a line on the inputs
    assert (found["same"], len(found["layers"])) == (True, 8)


def test_the_verb_exits_with_1_where_the_device_differs(export, tmp_path):
    folder = shutil.copytree(export, tmp_path / "copy")
    exported.flip(folder, "fc_wt")
    model, page = tmp_path / "net.qnz", tmp_path / "found.html"
    NETWORK.save(model)
    result = call("validate", model, "--on", on(links.make(folder)), "--html", page)
    assert result.exit_code == 1
    assert "DIFFERS: 1 of 8 layers, first fc" in result.output
    assert "its inputs were right" in page.read_text(encoding="utf-8")
