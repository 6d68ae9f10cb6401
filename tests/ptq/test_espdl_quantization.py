"""Networks of ESP-DL from float networks: formats, calls, and the files that they are saved as."""

import numpy as np
import pytest

import qemu_nn
from qemu_nn.api import golden as pipeline
from qemu_nn.errors import ModelError
from qemu_nn.importers.espdl.container import open_model
from qemu_nn.importers.espdl.model import EspModel
from qemu_nn.ir.float_graph import FloatGraph, FloatNode
from qemu_nn.operators import (
    Clip,
    Concat,
    Conv,
    Dense,
    Elementwise,
    Pool,
    PRelu,
    Relu,
    Reshape,
    Resize,
    Sigmoid,
    Softmax,
    Transpose,
)
from qemu_nn.operators.curve import gelu

CHIPS = ("esp32", "esp32s3", "esp32p4")
ORDERS = {"esp32": "c", "esp32s3": "esp32s3", "esp32p4": "esp32p4"}


def make_network(extra=(), outputs=("scores",)):
    """Return a float network with every operator that is lowered."""
    rng = np.random.default_rng(3)

    def filters(*shape):
        return rng.normal(size=shape) / np.sqrt(np.prod(shape[1:]))

    nodes = [
        ("conv", Conv(filters(18, 3, 3, 3), rng.normal(size=18), (2, 2), (1, 1, 0, 0)), ("x",)),
        ("relu", Relu(), ("conv",)),
        (
            "own",
            Conv(filters(18, 3, 3, 1), None, pads=(2, 2, 2, 2), dilation=(2, 2), groups=18),
            ("relu",),
        ),
        ("pairs", Conv(filters(18, 1, 1, 9), rng.normal(size=18), groups=2), ("own",)),
        ("six", Relu(limit=6.0), ("pairs",)),
        ("gate", Sigmoid(), ("own",)),
        ("product", Elementwise("multiply"), ("six", "gate")),
        ("sum", Elementwise("add"), ("product", "relu")),
        ("less", Elementwise("subtract"), ("sum", "relu")),
        ("leaky", Relu(slope=0.1), ("less",)),
        ("curve", gelu(), ("leaky",)),
        ("clip", Clip(-1.5, 1.0), ("leaky",)),
        ("rectified", Relu(), ("sum",)),
        ("joined", Concat(2), ("curve", "clip", "rectified")),
        ("most", Pool("max", (2, 2), (2, 2)), ("joined",)),
        ("mean", Pool("average", (2, 2), (1, 1), (1, 1, 1, 1), count_pads=True), ("most",)),
        ("flat", Reshape((5 * 5 * 54,)), ("mean",)),
        ("hidden", Dense(filters(33, 5 * 5 * 54), rng.normal(size=33)), ("flat",)),
        ("positive", Relu(), ("hidden",)),
        ("scores", Dense(filters(7, 33), rng.normal(size=7)), ("positive",)),
        *extra,
    ]
    nodes = tuple(FloatNode(*node) for node in nodes)
    return pipeline.FloatNetwork(FloatGraph("net", "x", (16, 16, 3), "NHWC", nodes, outputs))


X = np.random.default_rng(4).normal(size=(24, 16, 16, 3)).astype(np.float32)


@pytest.fixture(scope="module")
def networks():
    """Return the quantized network of each chip."""
    float_network = make_network()
    return {
        chip: qemu_nn.quantize(float_network, X, scheme="power2", target=chip) for chip in CHIPS
    }


@pytest.mark.parametrize("chip", CHIPS)
def test_scores_are_near_those_of_the_float_network(networks, chip):
    wanted = np.asarray(make_network().predict(X), np.float64)
    found = np.asarray(networks[chip].session(chip).predict(X), np.float64)
    assert found.shape == wanted.shape
    noise = np.square(found - wanted).mean() / np.square(wanted).mean()
    assert 10 * np.log10(1 / noise) > 18


def test_a_note_names_a_bias_that_the_sums_of_an_esp32_s3_do_not_hold():
    node = FloatNode("y", Dense(np.full((2, 3), 1e-3), np.array([0.1, -9.0])), ("x",))
    network = pipeline.FloatNetwork(FloatGraph("net", "x", (3,), None, (node,), ("y",)))
    x = np.random.default_rng(2).normal(size=(20, 3)).astype(np.float32)
    said = {
        chip: qemu_nn.quantize(network, x, scheme="power2", target=chip).notes
        for chip in ("esp32", "esp32s3")
    }
    assert not any("is limited" in note for note in said["esp32"])
    (note,) = [note for note in said["esp32s3"] if "is limited" in note]
    limit = float(note.partition("limited to ")[2].partition(",")[0])
    assert note.startswith(f"y: a bias of 9 is limited to {limit:.4g}, the most of 20 bits with ")
    assert f"and loses {9 - limit:.4g}; so are 1 of 2 biases" in note


def test_a_rectifier_is_fused_into_the_layer_before_alone(networks):
    calls = {node.name: node for node in networks["esp32s3"].graph.nodes}
    assert calls["hidden"].params["rectified"] == calls["conv"].params["rectified"] == 1
    assert "positive" not in calls
    assert "relu" not in calls
    assert calls["rectified"].function.name == "esp_dl_relu_s8"
    assert calls["six"].function.name == calls["curve"].function.name == "esp_dl_lut_s8"
    assert calls["own"].function.name == "esp_dl_depthwise_conv_s8"


@pytest.mark.parametrize("chip", CHIPS)
def test_a_saved_file_is_the_same_network_on_every_chip(networks, chip, tmp_path):
    path = tmp_path / "net.espdl"
    networks[chip].save(path)
    assert EspModel(open_model(path.read_bytes(), None)).target == ORDERS[chip]
    again = qemu_nn.load(path)
    again.save(tmp_path / "again.espdl")
    assert (tmp_path / "again.espdl").read_bytes() == path.read_bytes()
    codes = networks[chip].graph.inputs[0].format.quantize(X)
    for target in CHIPS:
        one, two = (net.session(target).run(codes) for net in (networks[chip], again))
        assert np.array_equal(one["scores"], two["scores"])


def test_weights_are_in_the_order_of_the_chip(networks, tmp_path):
    data = {}
    for chip in CHIPS:
        networks[chip].save(tmp_path / f"{chip}.espdl")
        model = EspModel(open_model((tmp_path / f"{chip}.espdl").read_bytes(), None))
        data[chip] = {name: each.data for name, each in model.constants.items()}
    blocks, plain = data["esp32s3"]["hidden/weights"], data["esp32"]["hidden/weights"]
    assert np.array_equal(data["esp32p4"]["hidden/weights"], blocks)
    rows = plain.reshape(33, 1350)
    assert np.array_equal(blocks[: 16 * 1350].reshape(1350, 16).T, rows[:16])
    assert np.array_equal(blocks[32 * 1350 :], rows[32])
    assert not np.array_equal(blocks, plain)


def test_biases_of_an_esp32s3_have_20_bits():
    rng = np.random.default_rng(1)
    layer = Dense(rng.normal(size=(4, 9)) * 1e-3, np.array([0.5, 300.0, -300.0, 1.0]))
    graph = FloatGraph("net", "x", (9,), None, (FloatNode("y", layer, ("x",)),), ("y",))
    biases = {}
    for chip in CHIPS:
        x = rng.normal(size=(30, 9)).astype(np.float32)
        made = qemu_nn.quantize(pipeline.FloatNetwork(graph), x, scheme="power2", target=chip)
        biases[chip] = made.graph.arrays["y_bias"].astype(np.int64)
    assert biases["esp32"].max() > 2**19
    assert (biases["esp32s3"].max(), biases["esp32s3"].min()) == (2**19 - 1, -(2**19))


def test_a_softmax_at_the_end_is_left_out():
    network = make_network([("y", Softmax(), ("scores",))], ("y",))
    made = qemu_nn.quantize(network, X, scheme="power2", target="esp32s3")
    assert made.graph.outputs == ("scores",)
    assert any("y: it is left out" in note for note in made.notes)


def make_gated(bits):
    """Return a float network with slopes, operands that broadcast, a softmax inside, and of 8 bits
    images that are resized.
    """
    rng = np.random.default_rng(7)

    def filters(*shape):
        return rng.normal(size=shape) / np.sqrt(np.prod(shape[1:]))

    nodes = [
        ("conv", Conv(filters(16, 3, 3, 3), rng.normal(size=16), (2, 2), (1, 1, 0, 0)), ("x",)),
        ("bent", PRelu(rng.uniform(-0.5, 1.5, 16)), ("conv",)),
        ("mean", Pool("average", (8, 8), (1, 1)), ("bent",)),
        ("narrow", Conv(filters(16, 1, 1, 16), rng.normal(size=16)), ("mean",)),
        ("gate", Sigmoid(), ("narrow",)),
        ("gated", Elementwise("multiply"), ("bent", "gate")),
        ("shifted", Elementwise("add"), ("narrow", "gated")),
        ("own", Conv(filters(16, 3, 3, 1), rng.normal(size=16), groups=16), ("shifted",)),
        ("six", Relu(limit=6.0), ("own",)),
        ("leaky", Relu(slope=0.2), ("own",)),
        ("joined", Concat(2), ("six", "leaky")),
        ("soft", Softmax(axis=2), ("joined",)),
        ("wide", Resize("nearest", (12, 12)), ("soft",)),
        ("wider", Resize("bilinear", (17, 20), half_pixel=True), ("wide",)),
        ("corners", Resize("bilinear", (6, 6), align_corners=True), ("wider",)),
        ("flat", Reshape((6 * 6 * 32,)), ("corners",)),
        ("scores", Dense(filters(9, 6 * 6 * 32), rng.normal(size=9)), ("flat",)),
    ]
    if bits == 16:
        nodes = [node for node in nodes if not isinstance(node[1], Resize)]
        nodes[-2] = ("flat", nodes[-2][1], ("soft",))
    nodes = tuple(FloatNode(*node) for node in nodes)
    graph = FloatGraph("net", "x", (16, 16, 3), "NHWC", nodes, ("scores", "soft"))
    return pipeline.FloatNetwork(graph)


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("chip", CHIPS)
def test_gates_slopes_and_softmax_inside(chip, bits, tmp_path):
    network = make_gated(bits)
    made = qemu_nn.quantize(network, X[:6], scheme="power2", target=chip, bits=bits)
    assert made.graph.inputs[0].dtype == f"int{bits}"
    wanted, found = network.predict(X), made.session(chip).predict(X)
    for name, least in (("scores", 38 if bits == 8 else 80), ("soft", 26 if bits == 8 else 70)):
        noise = np.square(found[name] - wanted[name]).mean() / np.square(wanted[name]).mean()
        assert 10 * np.log10(1 / noise) > least, name
    path = tmp_path / "net.espdl"
    made.save(path)
    again = qemu_nn.load(path)
    again.save(tmp_path / "again.espdl")
    assert (tmp_path / "again.espdl").read_bytes() == path.read_bytes()
    codes = made.graph.inputs[0].format.quantize(X[:4])
    for target in CHIPS:
        one, two = (net.session(target).run(codes) for net in (made, again))
        for name in ("scores", "soft"):
            assert np.array_equal(one[name], two[name])


def test_what_esp_dl_cannot_compute_is_named():
    def refused(operator, why, shape=(8, 8, 4), inputs=("x",), bits=8):
        node = FloatNode("y", operator, inputs)
        graph = FloatGraph("net", "x", shape, "NHWC", (node,), ("y",))
        x = np.random.default_rng(2).normal(size=(4, *shape)).astype(np.float32)
        with pytest.raises(ModelError, match=why):
            qemu_nn.quantize(
                pipeline.FloatNetwork(graph), x, scheme="power2", target="esp32s3", bits=bits
            )

    refused(Transpose((1, 0, 2)), "Transpose 'y': there is no function for it in ESP-DL")
    refused(Elementwise("maximum"), "the maximum of two tensors", inputs=("x", "x"))
    refused(Resize("nearest", (16, 16)), "resized images of 16 bits", bits=16)
    refused(Resize("nearest", (5, 5), half_pixel=True), "takes the pixel at floor")
    refused(Resize("bilinear", (16, 16)), "ESP-DL centers pixels")
    refused(PRelu(np.ones((8, 1, 1))), "ESP-DL has one for each channel")
    refused(PRelu(np.array([1.0, 2.0, 3.0, 200.0])), "it must be below 128")


def test_a_network_of_other_functions_is_no_espdl_file(tmp_path):
    layer = Dense(np.ones((4, 9)))
    graph = FloatGraph("net", "x", (9,), None, (FloatNode("y", layer, ("x",)),), ("y",))
    x = np.ones((3, 9), np.float32)
    made = qemu_nn.quantize(pipeline.FloatNetwork(graph), x, scheme="affine", target="esp32s3")
    with pytest.raises(ModelError, match=r"does not call ESP-DL.*scheme='power2'"):
        made.save(tmp_path / "net.espdl")
    assert not (tmp_path / "net.espdl").exists()
