"""network_preprocess() of exported firmware makes the integers that Python makes."""

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from exported import check, needs, write
from flat_options import grouped
from float_classifiers import SHAPE, classifier
from networks import classifier as q7_classifier

import qemu_nn
from qemu_nn import Preprocessing
from qemu_nn.api.golden import FloatNetwork, Network
from qemu_nn.firmware.preprocess import preprocess
from qemu_nn.ir.float_graph import FloatGraph, FloatNode
from qemu_nn.operators import Affine, Dense

pytestmark = pytest.mark.compiles

on_pc = needs("pc")
RNG = np.random.default_rng(31)

STEPS = Preprocessing(scale=1 / 32, mean=(4, 3), std=(2, 1.7), dtype="uint8")


def quantized(steps=STEPS, **how):
    pixels = RNG.integers(0, 256, (40, *SHAPE)).astype(np.uint8)
    raw = pixels.astype(np.int16) - 128 if steps.dtype == "int8" else pixels
    net = classifier(softmax=False)
    return qemu_nn.quantize(
        net,
        qemu_nn.Dataset(raw.astype(np.float32), preprocessing=steps),
        **grouped(**how),
    )


@pytest.fixture(scope="module")
def network():
    return quantized()


#: Name -> the network; its input is the tensor after a normalization that the host computes.
NETWORKS = {
    "power2": quantized,
    "16 bits": lambda: quantized(bits=16),
    "affine": lambda: quantized(scheme="affine"),
    "channels first": lambda: quantized(replace(STEPS, layout="NCHW")),
    "signed": lambda: quantized(replace(STEPS, dtype="int8", mean=0)),
    "one table": lambda: Network(q7_classifier(), preprocessing=Preprocessing(scale=1 / 256)),
}


def test_a_project_says_what_it_makes_of_pixels(network, tmp_path):
    folder = write(tmp_path / "a", network)
    assert (
        "network_preprocess(const uint8_t *raw, int8_t *input);"
        in (folder / "preprocess.h").read_text()
    )
    text = (folder / "preprocess.c").read_text()
    table = text.partition("codes[2][256] = {")[2].partition("};")[0]
    got = np.array(re.findall(r"-?[0-9]+", table), int)
    values = np.broadcast_to(np.arange(256, dtype=np.uint8)[:, None, None, None], (256, 8, 6, 2))
    np.testing.assert_array_equal(got.reshape(2, 256).T, network.host.codes(values)[:, 0, 0])
    plain = write(tmp_path / "b", replace(network, preprocessing=None))
    assert not (plain / "preprocess.c").exists()
    assert "preprocess" not in (plain / "main.c").read_text() + (plain / "Makefile").read_text()


@on_pc
@pytest.mark.parametrize("kind", NETWORKS)
def test_its_self_test_passes(tmp_path, kind):
    network = NETWORKS[kind]()
    status, lines = check(write(tmp_path / "a", network))
    assert (status, lines[0], lines[-1]) == (0, "PASS preprocess", "PASS: 0 failures")


@needs("m4")
@pytest.mark.parametrize("kind", ["power2", "affine", "channels first"])
def test_it_passes_on_an_emulated_device(tmp_path, kind):
    status, lines = check(write(tmp_path / "a", NETWORKS[kind]()), "m4")
    assert (status, lines[0], lines[-1]) == (0, "PASS preprocess", "PASS: 0 failures")


@on_pc
@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("preprocess.c", "codes[channel][value]", "codes[channel][value ^ 1]"),
        ("preprocess.c", "codes[channel][value]", "codes[1 - channel][value]"),
        ("preprocess.c", "raw[pixel * NETWORK_CHANNELS", "raw[(pixel ^ 1) * NETWORK_CHANNELS"),
    ],
)
def test_the_self_test_finds_what_is_wrong(network, tmp_path, file, old, new):
    folder = write(tmp_path / "a", network)
    text = (folder / file).read_text()
    assert old in text
    (folder / file).write_text(text.replace(old, new))
    status, lines = check(folder)
    assert status != 0
    assert lines[0].startswith("FAIL preprocess sum=0x")


@on_pc
def test_a_wrong_entry_of_the_table_is_found(network, tmp_path):
    folder = write(tmp_path / "a", network)
    text = (folder / "preprocess.c").read_text()
    head, start, rest = text.partition("codes[2][256] = {")
    values = rest.split(", ")
    values[7] = str(int(values[7]) ^ 1)
    (folder / "preprocess.c").write_text(head + start + ", ".join(values))
    assert check(folder)[1][0].startswith("FAIL preprocess")


def test_what_a_table_cannot_hold_is_said(tmp_path):
    folder = write(tmp_path / "a", quantized(replace(STEPS, dtype="uint16")))
    told = "There is no network_preprocess(): raw samples of uint16 have too many values"
    assert told in (folder / "network.h").read_text()
    for dtype, order, told in (
        ("float32", (), "its input is float32, of which a table has no codes"),
        ("int8", (2, 0, 1), "the host transposes the input"),
    ):
        graph = SimpleNamespace(input=SimpleNamespace(dtype=dtype, order=order))
        said = preprocess(SimpleNamespace(graph=graph, preprocessing=STEPS, front=(), before=None))
        assert (said["raw"], said["lacking"]) == ("", told)
    weights = RNG.normal(size=(3, 8))
    nodes = (
        FloatNode("each", Affine(np.ones((4, 1, 2)), RNG.normal(size=(4, 1, 2))), ("x",)),
        FloatNode("y", Dense(weights[:, :2]), ("each",)),
    )
    net = FloatNetwork(FloatGraph("each", "x", (4, 3, 2), "NHWC", nodes, ("y",)))
    x = RNG.normal(size=(9, 4, 3, 2)).astype(np.float32)
    network = replace(
        qemu_nn.quantize(net, x, scheme="power2"), preprocessing=Preprocessing(scale=1 / 255)
    )
    assert network.graph.input.name == "each"
    text = (write(tmp_path / "b", network) / "network.h").read_text()
    assert "the network's own normalization differs from pixel to pixel" in text
