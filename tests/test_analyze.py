"""Analysis: the figures of a run, exactly where they can be counted by hand."""

import json
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

import qemu_nn
from qemu_nn import pipeline
from qemu_nn.analysis.errors import errors_of
from qemu_nn.cli import main
from qemu_nn.errors import Error
from qemu_nn.float_graph import FloatGraph, FloatNode
from qemu_nn.operators import Clip, Conv, Dense, Elementwise, Pool, Relu, Reshape, Sigmoid, Softmax
from qemu_nn.runtime.accumulate import accumulators, shifted

RNG = np.random.default_rng(2)


def dense(weights, bias=None, *, data, formats=None, activation=None, bits=8, **how):
    """A quantized network of one fully connected layer, perhaps with an activation."""
    weights = np.array(weights, float)
    nodes = [
        FloatNode("fc", Dense(weights, None if bias is None else np.array(bias, float)), ("x",))
    ]
    if activation is not None:
        nodes.append(FloatNode("act", activation, ("fc",)))
    graph = FloatGraph("net", "x", weights.shape[1:], None, tuple(nodes), (nodes[-1].name,))
    network = pipeline.FloatNetwork(graph)
    return qemu_nn.quantize(network, np.array(data, float), formats=formats, bits=bits, **how)


def images(bits=8):
    """A quantized network with every kind of call."""
    nodes = (
        FloatNode(
            "conv",
            Conv(RNG.normal(size=(4, 3, 3, 3)), RNG.normal(size=4), (1, 1), (1,) * 4),
            ("x",),
        ),
        FloatNode("clip", Clip(-1.0, 2.0), ("conv",)),
        FloatNode("deep", Conv(RNG.normal(size=(4, 3, 3, 1)), pads=(1,) * 4, groups=4), ("clip",)),
        FloatNode("sum", Elementwise("add"), ("deep", "clip")),
        FloatNode("six", Relu(limit=1.5), ("sum",)),
        FloatNode("pool", Pool("average", (6, 6)), ("six",)),
        FloatNode("flat", Reshape((4,)), ("pool",)),
        FloatNode("fc", Dense(RNG.normal(size=(8, 4)), RNG.normal(size=8)), ("flat",)),
        FloatNode("gate", Sigmoid(), ("fc",)),
    )
    graph = FloatGraph("net", "x", (6, 6, 3), "NHWC", nodes, ("gate",))
    x = RNG.normal(size=(20, 6, 6, 3))
    return qemu_nn.quantize(pipeline.FloatNetwork(graph), x, bits=bits), x


def layer(report, name):
    return next(each for each in report.layers if each.name == name)


@pytest.mark.parametrize("bits", [8, 16])
def test_every_layer_of_the_float_network_is_compared_whole_and_alone(bits):
    network, x = images(bits)
    report = qemu_nn.analyze(network, x)
    assert [each.name for each in report.layers] == (
        ["conv", "clip", "deep", "sum", "six", "pool", "fc", "gate"]
    )
    assert report.samples == 20
    for each in report.layers:
        if each.name != "conv":  # whose values the clip behind it cuts off, so they may saturate
            assert each.whole.sqnr > (15 if bits == 8 else 60), each.name
            assert each.single.sqnr > (18 if bits == 8 else 60), each.name
            assert each.single.cosine > 0.99
        assert each.saturated == 0, each.name
    first = report.layers[0]
    assert first.whole == first.single


def test_the_layer_alone_is_better_than_behind_a_bad_one():
    network, x = images()
    coarse = qemu_nn.quantize(
        pipeline.FloatNetwork(network.reference), x, formats={"conv": {"weights": 1}}
    )
    report = qemu_nn.analyze(coarse, x)
    assert layer(report, "deep").single.sqnr > layer(report, "deep").whole.sqnr + 6


def test_accumulators_are_the_device_s_sums():
    for bits in (8, 16):
        network, x = images(bits)
        graph = network.graph
        integers = qemu_nn.formats.quantize(x, graph.input.frac, graph.input.dtype)
        trace = {graph.input.name: integers, **network.session().run(integers, trace=True)}
        seen = 0
        for node in graph.nodes:
            sums = accumulators(graph, node, trace[node.inputs[0]])
            if sums is not None:
                limits = np.iinfo(node.output.dtype)
                expected = np.clip(shifted(node, sums), limits.min, limits.max)
                np.testing.assert_array_equal(
                    expected.reshape(trace[node.name].shape), trace[node.name], node.name
                )
                seen += 1
        assert seen == 3


def test_saturated_outputs_and_sums_are_counted():
    data = [[1.0, 0.0], [0.5, 0.0], [-1.0, 0.0]]
    network = dense([[1.0, 0.0], [0.25, 0.0]], data=data, formats={"fc": {"output": 7}})
    x = np.array([[2.0, 0.0], [0.5, 0.0], [-4.0, 0.0]])
    report = qemu_nn.analyze(network, x)
    fc = layer(report, "fc")
    node = network.graph.node("fc")
    # x saturates to +-1 on the device, so that only the first row's results reach the ends
    sums = accumulators(network.graph, node, np.array([[127, 0], [64, 0], [-128, 0]], np.int8))
    assert fc.sums == (int(sums.min()), int(sums.max()))
    assert fc.saturated == np.count_nonzero(np.abs(shifted(node, sums) + 0.5) > 128)
    assert fc.elements == 6


def test_errors_are_the_textbook_figures():
    errors = errors_of(np.array([3.0, 4.0]), np.array([3.0, 4.5]))
    assert errors.sqnr == pytest.approx(20.0)
    assert errors.cosine == pytest.approx((9 + 18) / (5 * np.sqrt(9 + 4.5**2)))
    assert (errors.largest, errors.mean) == (0.5, 0.25)
    assert errors_of(np.ones(3), np.ones(3)).sqnr == np.inf
    assert errors_of(np.zeros(3), np.ones(3)).sqnr == -np.inf


def test_accuracies_and_confusion_are_those_of_the_labels():
    data = np.eye(3)
    network = dense(np.eye(3), data=data)
    report = qemu_nn.analyze(network, (data, np.array([0, 1, 1])))
    assert (report.agreement, report.accuracy, report.float_accuracy) == (1.0, 2 / 3, 2 / 3)
    assert report.confusion.tolist() == [[1, 0, 0], [0, 1, 1], [0, 0, 0]]
    plain = qemu_nn.analyze(network, data)
    assert (plain.agreement, plain.accuracy, plain.confusion) == (1.0, None, None)
    with pytest.raises(Error, match=r"classes 0\.\.2"):
        qemu_nn.analyze(network, (data, np.array([0, 1, 3])))


def test_weights_are_compared_in_any_order_that_the_device_has_them():
    network, x = images()
    for each in qemu_nn.analyze(network, x).weights:
        assert each.errors.sqnr > 30, (each.layer, each.role)


def test_a_stream_of_batches_gives_the_figures_of_all_at_once():
    network, x = images()
    whole = qemu_nn.analyze(network, x)
    parts = qemu_nn.analyze(network, (x[i : i + 3] for i in range(0, 20, 3)))
    assert parts.samples == whole.samples
    for a, b in zip(parts.layers, whole.layers):
        assert (a.saturated, a.sums, a.elements, a.low) == (b.saturated, b.sums, b.elements, b.low)
        assert a.whole.sqnr == pytest.approx(b.whole.sqnr)


def test_a_network_without_a_reference_is_refused():
    network, x, _ = pipeline.example()
    with pytest.raises(Error, match=r"no float reference .* quantize it from a float model"):
        qemu_nn.analyze(network, x)


# ---- advice: each on a network that has the fault, and not on one that has not ----


def advice(network, x):
    return " ".join(qemu_nn.analyze(network, np.array(x, float)).advice)


GOOD = RNG.uniform(-1, 1, size=(200, 4))
PLAIN = RNG.uniform(-1, 1, size=(3, 4))


def test_a_sound_network_gets_no_advice():
    network = dense(PLAIN, [0.5, -0.5, 0.25], data=GOOD)
    assert advice(network, GOOD) == ""


def test_saturation_is_told_with_its_share():
    network = dense(PLAIN, data=GOOD, formats={"fc": {"output": 8}})
    assert "% of its outputs saturate in Q-1.8" in advice(network, GOOD)


def test_an_accumulator_that_wraps_is_told():
    network = dense(np.ones((3, 4)), data=GOOD, bits=16)
    name = network.graph.node("fc").weights
    arrays = {**network.graph.arrays, name: np.full_like(network.graph.arrays[name], 32767)}
    wrapped = replace(network, graph=replace(network.graph, arrays=arrays))
    assert "fc: its accumulator wraps" in advice(wrapped, np.full((2, 4), 1.0))


def test_outliers_are_told():
    x = GOOD.copy()
    x[0] = 40.0
    network = dense(np.eye(4), data=np.tile(x, (20, 1))[:2000])
    many = np.concatenate([np.tile(GOOD, (10, 1)), x[:1]])
    assert "fc: a few outliers set its range" in advice(network, many)


def test_dead_and_unreached_layers_are_told():
    dead = dense(
        np.concatenate([-np.ones((2, 4)), np.ones((2, 4))]), data=np.abs(GOOD), activation=Relu()
    )
    assert "act: 2 of its 4 channels are zero" in advice(dead, np.abs(GOOD))
    assert "fc: it is 0 everywhere" in advice(dense(PLAIN, data=GOOD), np.zeros((3, 4)))


def test_a_lost_bias_is_told():
    network = dense(PLAIN * 60, [0.001, 0.002, -0.001], data=GOOD * 100)
    assert "fc: its bias is lost by its shift: 3 of 3" in advice(network, GOOD * 100)


def test_weights_of_few_bits_are_told():
    network = dense(PLAIN, data=GOOD, formats={"fc": {"weights": 2}})
    assert "fc: its weights use" in advice(network, GOOD)


def test_a_softmax_that_is_fed_fractions_is_told():
    network = dense(PLAIN, data=GOOD, activation=Softmax())
    assert "softmax reads integers with" in advice(network, GOOD)


# ---- the report ----


def test_csv_and_json_hold_the_layers():
    network, x = images()
    report = qemu_nn.analyze(network, x)
    assert report.csv().splitlines()[1].startswith('"conv","arm_convolve_HWC_q7_RGB","Q')
    document = json.loads(report.json())
    assert [row["layer"] for row in document["layers"]] == [each.name for each in report.layers]
    assert document["samples"] == 20
    assert "Infinity" not in report.json()


def test_the_verb_prints_the_table_and_writes_the_page(tmp_path):
    pytest.importorskip("jinja2", reason="jinja2 is not installed")
    network, x = images()
    network.save(tmp_path / "net.qnz")
    np.savez(tmp_path / "data.npz", x=x)
    np.save(tmp_path / "y.npy", np.zeros(20, np.int64))
    model, data, html = (str(tmp_path / name) for name in ("net.qnz", "data.npz", "r.html"))
    labels = ["--labels", str(tmp_path / "y.npy")]
    result = CliRunner().invoke(main, ["analyze", model, "-d", data, "--html", html, *labels])
    assert result.exit_code == 0, result.output
    assert "arm_convolve_HWC_q7_RGB" in result.output
    assert "accuracy" in result.output
    assert "Confusion" in (tmp_path / "r.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--html", "missing/r.html"], "no folder missing"),
        (["--target", "cortex-m9"], "no core"),
        (["-d", "none.npy"], "none.npy"),
    ],
)
def test_the_verb_refuses_in_one_sentence(tmp_path, arguments, reason):
    network, x = images()
    network.save(tmp_path / "net.qnz")
    np.save(tmp_path / "x.npy", x)
    start = ["analyze", str(tmp_path / "net.qnz"), "-d", str(tmp_path / "x.npy")]
    result = CliRunner().invoke(main, [*start, *arguments])
    assert result.exit_code == 2
    assert reason in result.output
