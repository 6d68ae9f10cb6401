"""Analysis: the figures of a run, exactly where they can be counted by hand."""

import json
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner
from flat_options import grouped
from thread_client import Client

import qemu_nn
from qemu_nn.analysis.errors import measure_errors
from qemu_nn.api import golden as pipeline
from qemu_nn.cli.main import main
from qemu_nn.errors import Error
from qemu_nn.evaluation import block_reader
from qemu_nn.ir.float_graph import FloatGraph, FloatNode
from qemu_nn.ir.formats import quantize
from qemu_nn.operators import Clip, Conv, Dense, Elementwise, Pool, Relu, Reshape, Sigmoid, Softmax
from qemu_nn.quantizer.rules import find_kept_range
from qemu_nn.runtime.unbounded import Unlimited

RNG = np.random.default_rng(2)
GOOD = RNG.uniform(-1, 1, size=(200, 4))
PLAIN = RNG.uniform(-1, 1, size=(3, 4))


def dense(weights, bias=None, *, data, formats=None, activation=None, bits=8, **how):
    """Return a quantized network of one fully connected layer, with an optional activation."""
    weights = np.array(weights, float)
    nodes = [
        FloatNode("fc", Dense(weights, None if bias is None else np.array(bias, float)), ("x",))
    ]
    if activation is not None:
        nodes.append(FloatNode("act", activation, ("fc",)))
    graph = FloatGraph("net", "x", weights.shape[1:], None, tuple(nodes), (nodes[-1].name,))
    network = pipeline.FloatNetwork(graph)
    how = {"method": "minmax", "formats": formats, "bits": bits, **how}
    return qemu_nn.quantize(network, np.array(data, float), **grouped(**how))


def images(bits=8):
    """Return a quantized network with every kind of call."""
    nodes = (
        FloatNode(
            "conv",
            Conv(RNG.normal(size=(4, 3, 3, 3)), RNG.normal(size=4), (1, 1), (1,) * 4),
            ("x",),
        ),
        FloatNode("clip", Clip(-1.0, 2.0), ("conv",)),
        FloatNode("deep", Conv(RNG.normal(size=(4, 3, 3, 1)), pads=(1,) * 4, groups=4), ("clip",)),
        FloatNode("pixel", Conv(RNG.normal(size=(4, 1, 1, 4)) / 2), ("deep",)),
        FloatNode("sum", Elementwise("add"), ("pixel", "clip")),
        FloatNode("square", Elementwise("multiply"), ("sum", "clip")),
        FloatNode("six", Relu(limit=1.5), ("square",)),
        FloatNode("pool", Pool("average", (6, 6)), ("six",)),
        FloatNode("flat", Reshape((4,)), ("pool",)),
        FloatNode("fc", Dense(RNG.normal(size=(8, 4)), RNG.normal(size=8)), ("flat",)),
        FloatNode("gate", Sigmoid(), ("fc",)),
    )
    graph = FloatGraph("net", "x", (6, 6, 3), "NHWC", nodes, ("gate",))
    x = RNG.normal(size=(20, 6, 6, 3))
    return qemu_nn.quantize(pipeline.FloatNetwork(graph), x, bits=bits, scheme="power2"), x


def layer(report, name):
    return next(each for each in report.layers if each.name == name)


@pytest.mark.parametrize("bits", [8, 16])
def test_every_layer_of_the_float_network_is_compared_whole_and_alone(bits):
    network, x = images(bits)
    report = qemu_nn.analyze(network, x)
    assert [each.name for each in report.layers] == (
        ["x", "conv", "clip", "deep", "pixel", "sum", "square", "six", "pool", "fc", "gate"]
    )
    assert report.samples == 20
    for each in report.layers:
        if each.name not in ("conv", "square"):  # what saturates there, the next layer cuts off
            assert each.whole.sqnr > (15 if bits == 8 else 60), each.name
            assert each.single.sqnr > (18 if bits == 8 else 60), each.name
            assert each.single.cosine > 0.99
        assert each.lost == 0, each.name
    assert all(each.whole == each.single for each in report.layers[:2])


def test_the_layer_alone_is_better_than_behind_a_bad_one():
    network, x = images()
    coarse = qemu_nn.quantize(
        pipeline.FloatNetwork(network.reference),
        x,
        scheme="power2",
        options={"formats": {"conv": {"weights": 1}}},
    )
    report = qemu_nn.analyze(coarse, x)
    assert layer(report, "deep").single.sqnr > layer(report, "deep").whole.sqnr + 6


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("rounding", ["nearest", "truncate"])
def test_saturating_what_is_said_to_be_unsaturated_gives_the_device_s_bits(bits, rounding):
    network, x = images(bits)
    graph = network.graph
    session = network.session(target=qemu_nn.Target(rounding=rounding))
    integers = quantize(x, graph.input.frac, graph.input.dtype)
    trace = {graph.input.name: integers, **session.run(integers, trace=True)}
    seen = []
    for node in graph.nodes:
        inputs = [trace[name] for name in node.inputs]
        call = Unlimited(graph, node, session.profile)
        exact = call.compute_unsaturated(inputs, call.compute_accumulators(inputs[0]))
        if exact is not None:
            limits = np.iinfo(node.output.dtype)
            expected = np.clip(exact, limits.min, limits.max).reshape(trace[node.name].shape)
            np.testing.assert_array_equal(expected, trace[node.name], node.name)
            seen.append(node.name)
    assert seen == ["conv", "deep", "pixel", "sum", "square", "fc"]


def test_advice_is_in_the_words_of_the_side_that_the_user_is_on(tmp_path):
    network = dense([[1.0, 0.0], [0.25, 0.0]], data=np.eye(2), formats={"fc": {"output": 7}})
    x = np.array([[2.0, 0.0], [0.5, 0.0], [-4.0, 0.0]])
    assert 'formats={"x": {"output": 5}}' in " ".join(qemu_nn.analyze(network, x).advice)
    network.save(tmp_path / "net.qnz")
    np.save(tmp_path / "x.npy", x)
    how = ["analyze", str(tmp_path / "net.qnz"), "-d", str(tmp_path / "x.npy")]
    output = CliRunner().invoke(main, how).output
    assert "--format x.output=5" in output
    assert "formats=" not in output


def test_saturated_outputs_and_sums_are_counted():
    network = dense([[1.0, 0.0], [0.25, 0.0]], data=np.eye(2), formats={"fc": {"output": 7}})
    report = qemu_nn.analyze(network, np.array([[2.0, 0.0], [0.5, 0.0], [-4.0, 0.0]]))
    # The input saturates to 127, 64 and -128; weights are 1.0 and 0.25 with 7 and 9 fraction bits.
    assert layer(report, "x").saturated == layer(report, "x").lost == 2
    fc = layer(report, "fc")
    shift = fc.out_shift
    one = 2 ** (7 + shift - 7)
    sums = [x * min(w, 127) + 2**shift // 2 for x in (127, 64, -128) for w in (one, one // 4)]
    assert fc.sums == (min(sums), max(sums))
    assert fc.saturated == sum(not -128 <= each >> shift <= 127 for each in sums) == 0


def test_a_step_beyond_the_format_saturates_but_is_not_lost():
    network = dense(np.eye(2), data=np.eye(2))
    fc = layer(qemu_nn.analyze(network, np.eye(2)), "x")
    assert (fc.format, fc.saturated, fc.lost, fc.elements) == ("Q0.7", 2, 0, 4)


def test_what_an_activation_behind_cuts_off_is_saturated_but_not_lost():
    data = RNG.uniform(-1, 1, size=(200, 4))
    cut = dense(PLAIN * 8, data=data, activation=Relu(limit=1.0))
    fc = layer(qemu_nn.analyze(cut, data), "fc")
    assert fc.saturated > 100
    assert fc.lost == 0
    assert "fc:" not in advice(cut, data)
    plain = dense(PLAIN * 8, data=data, formats={"fc": {"output": 7}})
    fc = layer(qemu_nn.analyze(plain, data), "fc")
    assert fc.saturated >= fc.lost > 100


def test_a_sum_of_two_tensors_that_saturates_is_counted():
    nodes = (
        FloatNode("a", Dense(np.eye(4)), ("x",)),
        FloatNode("b", Dense(np.eye(4)), ("x",)),
        FloatNode("sum", Elementwise("add"), ("a", "b")),
    )
    graph = FloatGraph("net", "x", (4,), None, nodes, ("sum",))
    x = np.full((10, 4), 0.75)
    for frac, expected in ((7, 40), (6, 0)):
        formats = {"sum": {"output": frac}}
        network = qemu_nn.quantize(
            pipeline.FloatNetwork(graph), x, scheme="power2", options={"formats": formats}
        )
        assert layer(qemu_nn.analyze(network, x), "sum").lost == expected


def test_errors_are_the_textbook_figures():
    errors = measure_errors(np.array([3.0, 4.0]), np.array([3.0, 4.5]))
    assert errors.sqnr == pytest.approx(20.0)
    assert errors.cosine == pytest.approx((9 + 18) / (5 * np.sqrt(9 + 4.5**2)))
    assert (errors.largest, errors.mean) == (0.5, 0.25)
    assert measure_errors(np.ones(3), np.ones(3)).sqnr == np.inf
    assert measure_errors(np.zeros(3), np.ones(3)).sqnr == -np.inf


def test_accuracies_and_confusion_are_those_of_the_labels():
    data = np.eye(3)
    network = dense(np.eye(3), data=data)
    report = qemu_nn.analyze(network, (data, np.array([0, 1, 1])))
    assert (report.agreement, report.accuracy, report.float_accuracy) == (1.0, 2 / 3, 2 / 3)
    assert report.confusion.tolist() == [[1, 0, 0], [0, 1, 1], [0, 0, 0]]
    plain = qemu_nn.analyze(network, data)
    assert (plain.agreement, plain.accuracy, plain.confusion) == (1.0, None, None)
    with pytest.raises(Error, match=r"labels must be 0\.\.2"):
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


def test_labels_may_come_apart_from_a_stream_of_data():
    data = np.eye(3)
    network = dense(np.eye(3), data=data)
    right = np.array([0, 1, 1])
    together = qemu_nn.analyze(network, (data, right))
    apart = qemu_nn.analyze(network, qemu_nn.Dataset((data[i : i + 2] for i in (0, 2)), right))
    np.testing.assert_array_equal(apart.confusion, together.confusion)


@pytest.mark.parametrize(
    ("labels", "reason"),
    [
        ([0, 1], r"int64 \[2\], but must be one integer for each of the 3 samples"),
        ([0, 1, 2, 0], r"int64 \[4\], but must be one integer for each of the 3 samples"),
        ([0.0, 1.5, 2.0], r"float64 \[3\], but must be one integer for each of the 3 samples"),
        ([[0], [1], [2]], r"are int64 \[3, 1\]"),
        ([0, -1, 2], "the label of sample 1 is -1"),
    ],
)
def test_labels_that_do_not_fit_are_refused(labels, reason):
    network = dense(np.eye(3), data=np.eye(3))
    with pytest.raises(Error, match=reason):
        qemu_nn.analyze(network, qemu_nn.Dataset(np.eye(3), labels))


def test_labels_of_an_image_are_refused_and_thousands_of_classes_have_no_confusion():
    conv = FloatNode("conv", Conv(np.ones((2, 1, 1, 2))), ("x",))
    graph = FloatGraph("net", "x", (4, 4, 2), "NHWC", (conv,), ("conv",))
    x = RNG.normal(size=(3, 4, 4, 2))
    network = qemu_nn.quantize(pipeline.FloatNetwork(graph), x, scheme="power2")
    assert qemu_nn.analyze(network, x).agreement is None
    with pytest.raises(Error, match="does not end in scores of classes"):
        qemu_nn.analyze(network, qemu_nn.Dataset(x, [0, 1, 0]))
    many = dense(RNG.normal(size=(1001, 2)), data=np.eye(2))
    report = qemu_nn.analyze(many, qemu_nn.Dataset(np.eye(2), [1000, 0]))
    assert report.accuracy is not None
    assert report.confusion is None


def test_histograms_hold_all_values_and_the_whole_format():
    network, x = images()
    for each in qemu_nn.analyze(network, np.concatenate([x, 5 * x])).layers:
        bars = each.bars
        assert len(bars.real) == len(bars.quantized) <= 64
        assert sum(bars.real) == pytest.approx(1)
        assert sum(bars.quantized) == pytest.approx(1)
        assert bars.low <= min(each.low, bars.limits[0] if each.low < 0 else 0)
        assert bars.high >= max(each.high, bars.limits[1])


def test_a_network_without_a_reference_is_refused():
    network, x, _ = pipeline.example()
    with pytest.raises(Error, match=r"no float reference .* quantize it from a float model"):
        qemu_nn.analyze(network, x)


def test_a_reference_of_another_network_is_refused():
    network = dense(PLAIN, data=GOOD)
    others = (dense(PLAIN[:2], data=GOOD), dense(PLAIN[:, :2], data=GOOD[:, :2]), images()[0])
    for other in others:
        with pytest.raises(Error, match="is of another network: quantize it again"):
            qemu_nn.analyze(replace(network, reference=other.reference), GOOD)
    with pytest.raises(Error, match="the data have no samples"):
        qemu_nn.analyze(network, iter(()))


def test_only_activations_right_behind_a_tensor_limit_what_of_it_counts():
    def behind(*operators, outputs=("last",)):
        names = ["conv", *(f"n{i}" for i in range(len(operators) - 1)), "last"]
        first = FloatNode("conv", Conv(np.ones((2, 1, 1, 2))), ("x",))
        more = [FloatNode(b, o, (a,)) for a, b, o in zip(names, names[1:], operators)]
        graph = FloatGraph("net", "x", (4, 4, 2), "NHWC", (first, *more), outputs)
        return find_kept_range(graph, "conv")

    infinity = float("inf")
    assert behind(Relu()) == (0, infinity)
    assert behind(Pool("max", (2, 2)), Relu(limit=6.0)) == (0, 6)
    assert behind(Clip(-1.0, 2.0), Relu()) == (0, 2)
    assert behind(Pool("average", (2, 2)), Relu()) == (-infinity, infinity)
    assert behind(Relu(slope=0.125)) == (-infinity, infinity)
    assert behind(Relu(), outputs=("last", "conv")) == (-infinity, infinity)


# ---- advice: each on a network that has the fault, and not on one that has not ----


def advice(network, x):
    return " ".join(qemu_nn.analyze(network, np.array(x, float)).advice)


def test_a_sound_network_gets_no_advice():
    network = dense(PLAIN, [0.5, -0.5, 0.25], data=GOOD)
    assert advice(network, GOOD) == ""


def test_saturation_is_told_with_its_share():
    network = dense(PLAIN, data=GOOD, formats={"fc": {"output": 8}})
    assert "fc: " in advice(network, GOOD)
    assert "% of its values saturate in Q-1.8" in advice(network, GOOD)


def test_an_accumulator_that_wraps_is_told():
    network = dense(np.ones((3, 4)), data=GOOD, bits=16)
    name = network.graph.node("fc").weights
    arrays = {**network.graph.arrays, name: np.full_like(network.graph.arrays[name], 32767)}
    wrapped = replace(network, graph=replace(network.graph, arrays=arrays))
    assert "fc: its accumulator wraps" in advice(wrapped, np.full((2, 4), 1.0))


def test_a_few_values_far_beyond_the_format_are_told():
    network = dense(np.eye(4), data=GOOD)
    far = np.tile(GOOD, (10, 1))
    far[0] = 50.0
    assert f"x: {100 / len(far):.2g} % of its values saturate" in advice(network, far)


def test_outliers_are_told_once_and_only_where_the_format_makes_room_for_them():
    x = np.tile(GOOD, (10, 1))
    x[0] = 40.0
    wide = dense(np.eye(4), data=x, activation=Relu())
    told = advice(wide, x)
    assert "fc: a few outliers set its range -0.9" in told
    assert "act: a few" not in told
    close = dense(np.eye(4), data=GOOD, activation=Relu())
    assert "outliers" not in advice(close, x)
    assert "outliers" not in advice(wide, GOOD)


def test_dead_and_unreached_layers_are_told():
    dead = dense(
        np.concatenate([-np.ones((1, 4)), np.ones((3, 4))]), data=np.abs(GOOD), activation=Relu()
    )
    assert "act: 1 of 4 channels are 0 for all data" in advice(dead, np.abs(GOOD))
    assert "channels" not in advice(dead, np.abs(GOOD)[:50])  # too few to tell
    assert "channels" not in advice(dead, GOOD)
    assert "fc: all of its values are 0" in advice(dense(PLAIN, data=GOOD), np.zeros((3, 4)))


def test_a_bias_that_is_lost_is_told_if_the_output_would_show_it():
    weights = np.vstack([PLAIN, np.zeros(4)])
    shown = dense(weights, [0.2, -0.2, 0.2, -60.0], data=GOOD, activation=Relu())
    assert "fc: its bias loses 3 of 4" in advice(shown, GOOD)
    hidden = dense(PLAIN * 60, [0.001, 0.002, -0.001], data=GOOD * 100)
    assert "bias" not in advice(hidden, GOOD * 100)


def test_weights_of_few_bits_are_told():
    network = dense(PLAIN, data=GOOD, formats={"fc": {"weights": 2}})
    assert "fc: its weights use" in advice(network, GOOD)


def test_a_softmax_that_is_fed_fractions_is_told():
    network = dense(PLAIN, data=GOOD, activation=Softmax())
    assert "act: it raises 2 to the integers" in advice(network, GOOD)
    whole = dense(PLAIN * 40, data=GOOD, activation=Softmax(), formats={"fc": {"output": 0}})
    assert "raises" not in advice(whole, GOOD)


# ---- the report ----


def test_csv_and_json_hold_the_layers():
    network, x = images()
    report = qemu_nn.analyze(network, x)
    assert report.csv().splitlines()[2].startswith('"conv","arm_convolve_HWC_q7_RGB","Q')
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
        (["--target", "cortex-m9"], "no core or chip"),
        (["-d", "none.npy"], "none.npy"),
    ],
)
def test_the_verb_refuses_in_one_sentence(tmp_path, arguments, reason):
    network, x = images()
    network.save(tmp_path / "net.qnz")
    np.save(tmp_path / "x.npy", x)
    data = [] if "-d" in arguments else ["-d", str(tmp_path / "x.npy")]
    result = CliRunner().invoke(main, ["analyze", str(tmp_path / "net.qnz"), *data, *arguments])
    assert result.exit_code == 2
    assert reason in result.output


@pytest.mark.parametrize("how", [{"threads": 3}, {"client": Client(3)}])
def test_a_report_is_the_same_wherever_it_was_computed(how, monkeypatch, tmp_path):
    network, _ = images()
    x = np.random.default_rng(6).normal(size=(200, 6, 6, 3))
    x[150] *= 9  # histograms grow after the first blocks
    y = np.arange(200) % 8
    monkeypatch.setattr(block_reader, "_LEAST", 16)  # thirteen blocks
    wanted = qemu_nn.analyze(network, qemu_nn.Dataset(x, y))
    assert qemu_nn.analyze(network, qemu_nn.Dataset(x, y), **how).json() == wanted.json()
    np.savez(tmp_path / "data.npz", x=x, y=y)
    found = qemu_nn.analyze(network, tmp_path / "data.npz", **how)
    assert found.json() == wanted.json()
    for mine, other in zip(found.layers, wanted.layers):
        assert mine == other


def test_a_report_of_blocks_is_that_of_all_samples_at_once(monkeypatch):
    network, _ = images()
    x = np.random.default_rng(6).normal(size=(200, 6, 6, 3)) * 4  # some is lost
    whole = qemu_nn.analyze(network, x)
    monkeypatch.setattr(block_reader, "_LEAST", 16)
    parts = qemu_nn.analyze(network, x)
    assert whole.layers[0].lost
    for mine, other in zip(parts.layers, whole.layers):
        assert mine.bars == other.bars
        assert (mine.saturated, mine.lost, mine.elements, mine.sums, mine.dead) == (
            (other.saturated, other.lost, other.elements, other.sums, other.dead)
        )
        assert mine.whole.sqnr == pytest.approx(other.whole.sqnr, rel=1e-9)
