"""Analysis of affine networks, next to their float network or to what their integers stand for."""

import json
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner
from flat_options import grouped
from paths import SHARED

import qemu_nn
from qemu_nn.api import golden as pipeline
from qemu_nn.cli.main import main
from qemu_nn.errors import Error
from qemu_nn.functions import FUNCTIONS
from qemu_nn.ir.float_graph import FloatGraph, FloatNode
from qemu_nn.ir.graph import Graph, Node, Tensor
from qemu_nn.lowering.dequantize import dequantize_graph
from qemu_nn.operators import Clip, Conv, Dense, Elementwise, Pool, Relu, Reshape, Softmax
from qemu_nn.runtime.evaluate import evaluate, iterate_tensors
from qemu_nn.runtime.unbounded import Unlimited

RNG = np.random.default_rng(31)

NODES = (
    ("conv", Conv(RNG.normal(size=(4, 3, 3, 3)), RNG.normal(size=4), pads=(2, 1, 1, 2)), ("x",)),
    ("clip", Clip(-3.0, 5.0), ("conv",)),
    ("deep", Conv(RNG.normal(size=(8, 3, 3, 1)), groups=4, dilation=(2, 1)), ("clip",)),
    ("wide", Conv(RNG.normal(size=(6, 1, 1, 4)) / 2, groups=2), ("deep",)),
    ("relu", Relu(), ("wide",)),
    ("pixel", Conv(RNG.normal(size=(6, 1, 1, 6)), stride=(2, 2)), ("relu",)),
    ("skip", Pool("max", (1, 1), (2, 2)), ("relu",)),
    ("sum", Elementwise("add"), ("pixel", "skip")),
    ("less", Elementwise("subtract"), ("sum", "skip")),
    ("square", Elementwise("multiply"), ("less", "skip")),
    ("six", Relu(limit=6.0), ("square",)),
    ("pool", Pool("average", (2, 2), (1, 1)), ("six",)),
    ("flat", Reshape((24,)), ("pool",)),
    ("fc", Dense(RNG.normal(size=(8, 24)), RNG.normal(size=8)), ("flat",)),
    ("softmax", Softmax(), ("fc",)),
)
CALLS = ["clip", "deep", "relu", "pixel", "skip", "sum", "less", "six", "pool", "fc", "softmax"]
X = RNG.normal(size=(30, 8, 7, 3))


def network(nodes=NODES, shape=(8, 7, 3)):
    nodes = tuple(FloatNode(*node) for node in nodes)
    layout = "NHWC" if len(shape) == 3 else None
    return pipeline.FloatNetwork(FloatGraph("net", "x", shape, layout, nodes, (nodes[-1].name,)))


@pytest.fixture(scope="module")
def quantized():
    given = {"clip": {"output": (-4.0, 6.0)}}  # the clip's limits lie inside
    return qemu_nn.quantize(network(), X, scheme="affine", options={"formats": given})


def layer(report, name):
    return next(each for each in report.layers if each.name == name)


def test_every_call_is_compared_whole_and_alone(quantized):
    report = qemu_nn.analyze(quantized, X)
    assert [each.name for each in report.layers] == ["x", *CALLS]
    for each in report.layers:
        assert each.single.sqnr > 25, each.name
        assert each.whole.sqnr > 15, each.name
    assert layer(report, "relu").operator == "Conv+Relu"
    assert layer(report, "six").operator == "Elementwise+Relu"
    assert layer(report, "six").function == "arm_elementwise_mul_s8"
    assert layer(report, "skip").operator == "Pool"
    assert layer(report, "softmax").format == "0.003906*(q+128)"
    assert report.profile == "CMSIS 7.0.0, dsp, double"
    assert report.advice == ()


@pytest.mark.parametrize("rounding", ["double", "single"])
def test_what_is_said_to_be_unsaturated_is_the_device_s_to_within_its_roundings(
    quantized, rounding
):
    graph, session = quantized.graph, quantized.session(target=qemu_nn.Target(rounding=rounding))
    integers = graph.input.format.quantize(X)
    trace = {graph.input.name: integers, **session.run(integers, trace=True)}
    seen = []
    for node in graph.nodes:
        inputs = [trace[name] for name in node.inputs]
        call = Unlimited(graph, node, session.profile)
        exact = call.compute_unsaturated(inputs, call.compute_accumulators(inputs[0]))
        if exact is not None:
            got = trace[node.name].astype(float)
            clamped = np.clip(exact, node.params["act_min"], node.params["act_max"])
            assert np.abs(clamped.reshape(got.shape) - got).max() <= 1, node.name
            seen.append(node.name)
    assert seen == [n for n in CALLS if n not in ("skip", "pool", "softmax")]


def test_sums_are_those_of_integers_by_hand():
    x = np.array([[1.0, -1.0], [0.5, 0.25]])
    nodes = [("fc", Dense(np.array([[1.0, -0.5], [0.25, 1.0]]), np.array([0.5, -0.5])), ("x",))]
    made = qemu_nn.quantize(network(nodes, (2,)), x, scheme="affine")
    (node,) = made.graph.nodes
    weights = made.graph.arrays[node.weights].astype(int).reshape(2, 2)
    bias = made.graph.arrays[node.bias].astype(int)[0]
    start = made.graph.input
    q = start.format.quantize(x).astype(int) - start.zero_point
    sums = q @ weights.T + bias
    found = layer(qemu_nn.analyze(made, x), "fc")
    assert found.sums == (sums.min(), sums.max())
    assert (found.wraps, found.bias_shift, found.out_shift) == (False, None, None)


def test_what_an_activation_of_the_same_call_cuts_off_is_not_saturated():
    x = RNG.uniform(-1, 1, (200, 4))
    nodes = [("fc", Dense(RNG.normal(size=(3, 4))), ("x",)), ("act", Relu(limit=0.5), ("fc",))]
    made = qemu_nn.quantize(network(nodes, (4,)), x, scheme="affine")
    act = layer(qemu_nn.analyze(made, x), "act")
    assert (act.saturated, act.lost) == (0, 0)
    assert (act.high, act.low) == (0.5, 0.0)


def test_a_range_that_is_too_narrow_is_told():
    x, weights = RNG.uniform(-1, 1, (200, 4)), RNG.normal(size=(3, 4))
    nodes = [("fc", Dense(weights), ("x",))]
    how = {"formats": {"fc": {"output": (-0.25, 0.25)}}, "scheme": "affine"}
    report = qemu_nn.analyze(qemu_nn.quantize(network(nodes, (4,)), x, **grouped(**how)), x)
    assert layer(report, "fc").lost > 100
    assert "saturate in 0.001961*(q+1)" in report.advice[0]
    real = x @ weights.T
    wider = f'formats={{"fc": {{"output": ({real.min():.4g}, {real.max():.4g})}}}}'
    assert wider in report.advice[0]
    assert len(report.advice) == 1


def test_weights_are_next_to_the_real_ones(quantized):
    figures = qemu_nn.analyze(quantized, X).weights
    assert [(each.layer, each.role) for each in figures] == [
        *(("clip", "weights"), ("clip", "bias"), ("deep", "weights"), ("relu", "weights")),
        *(("pixel", "weights"), ("fc", "weights"), ("fc", "bias")),
    ]
    for each in figures:
        assert each.errors.sqnr > 35, (each.layer, each.role)
        assert each.saturated == 0, (each.layer, each.role)
    assert {each.bits for each in figures if each.role == "weights"} == {8}
    assert ".." in figures[0].format
    assert ".." in figures[-2].format


def test_weights_that_saturate_are_told():
    weights = np.concatenate([np.ones((3, 50)) / 50, [[30.0] + [0.02] * 49]])
    x = RNG.uniform(-1, 1, (100, 50))
    nodes = [("fc", Dense(weights), ("x",))]
    how = {"scheme": "affine", "weight_method": 50}
    report = qemu_nn.analyze(qemu_nn.quantize(network(nodes, (50,)), x, **grouped(**how)), x)
    saturated = [each.saturated for each in report.weights if each.role == "weights"]
    assert saturated == [1]


def test_accuracy_agreement_and_confusion(quantized):
    labels = np.arange(30) % 8
    report = qemu_nn.analyze(quantized, (X, labels))
    exact = quantized.reference
    best = dict(iterate_tensors(exact, X))["softmax"].argmax(1)
    assert report.agreement > 0.85
    assert report.float_accuracy == np.mean(best == labels)
    assert report.confusion.sum() == 30


def test_json_has_numbers_alone_and_the_page_the_formats(quantized):
    report = qemu_nn.analyze(quantized, X)
    document = json.loads(report.json())
    form = {"scale": 0.00390625, "zero_point": -128}
    assert [row["format"] for row in document["layers"]][-1] == form
    assert "Infinity" not in report.json()
    pytest.importorskip("jinja2", reason="jinja2 is not installed")
    assert "0.003906*(q+128)" in report.html()


def test_the_verb_takes_it(quantized, tmp_path):
    quantized.save(tmp_path / "net.qnz")
    np.save(tmp_path / "x.npy", X)
    arguments = ["analyze", str(tmp_path / "net.qnz"), "-d", str(tmp_path / "x.npy"), "--csv"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    assert '"relu","arm_convolve_wrapper_s8","' in result.output


# ---- without a float network ----


def alone(quantized):
    """Return the network in the form of a file of integers."""
    return replace(quantized, reference=None)


def test_integers_stand_for_weights_within_half_a_step_of_the_real_ones(quantized):
    made = dequantize_graph(quantized.graph)
    layers = {"clip": "conv", "deep": "deep", "relu": "wide", "pixel": "pixel", "fc": "fc"}
    found = {each.name.split("/")[0]: each for each in made.nodes if each.name.endswith("/1")}
    found.update({each.name: each for each in made.nodes if each.name not in found})
    for name, source in layers.items():
        operator = found[name].operator
        real = quantized.reference.node(source).operator
        steps = np.abs(real.weights).reshape(len(real.weights), -1).max(1) / 127
        steps = steps.max() if isinstance(real, Dense) else steps
        limit = np.broadcast_to(0.501 * steps, len(real.weights))
        error = np.abs(operator.weights - real.weights).reshape(len(limit), -1).max(1)
        assert (error <= limit).all(), name
        if isinstance(real, Conv):
            assert operator.pads[:2] == real.pads[:2]
            for field in ("stride", "dilation", "groups"):
                assert getattr(operator, field) == getattr(real, field), (name, field)


def test_what_integers_stand_for_is_close_to_the_float_network(quantized):
    made, exact = dequantize_graph(quantized.graph), quantized.reference
    real = dict(iterate_tensors(exact, X))
    for name, values in iterate_tensors(made, X):
        if name in real:
            error = np.sum((values.reshape(real[name].shape) - real[name]) ** 2)
            assert 10 * np.log10(np.sum(real[name] ** 2) / error) > 25 if error else True, name


def test_the_same_layers_are_reported_with_exact_weights(quantized):
    with_it, without = (qemu_nn.analyze(each, X) for each in (quantized, alone(quantized)))
    assert [each.name for each in without.layers] == [each.name for each in with_it.layers]
    whole = " ".join(each.operator for each in without.layers[1:-1])
    assert whole == (
        "Conv+Clip Conv Conv+Relu Conv Pool Elementwise Elementwise Elementwise+Relu Pool Dense"
    )
    for a, b in zip(without.layers, with_it.layers):
        assert (a.sums, a.elements, a.format) == (b.sums, b.elements, b.format)
        assert a.single.sqnr > 25
    assert all(each.errors.sqnr > 150 for each in without.weights)


def test_a_limit_of_six_is_seen_although_the_format_ends_there():
    nodes = [
        ("fc", Dense(np.eye(4) * 3), ("x",)),
        ("six", Relu(limit=6.0), ("fc",)),
        ("two", Dense(np.eye(4)), ("six",)),
        ("half", Clip(-0.5, 1.0), ("two",)),
        ("end", Dense(np.eye(4)), ("half",)),
    ]
    given = {"half": {"output": (-1.0, 2.0)}}
    x = RNG.uniform(-4, 4, (100, 4))
    made = qemu_nn.quantize(network(nodes, (4,)), x, scheme="affine", options={"formats": given})
    operators = {n.name: n.operator for n in dequantize_graph(made.graph).nodes}
    assert operators["six"] == Relu(limit=6.0)
    assert operators["half"].low == pytest.approx(-0.5, abs=0.01)
    assert operators["half"].high == pytest.approx(1.0, abs=0.01)


def call(name, shape, inputs, params, output=(0.05, 3), arrays=(None, None)):
    held = Tensor(name.rpartition(":")[0], shape, "int8", None, *output)
    return Node(FUNCTIONS[name.rpartition(":")[2]], params, inputs, held, *arrays)


def named(stem, sides, names="nhwc"):
    return {f"{stem}_{name}": side for name, side in zip(names, sides)}


SUM = {f"input_{i}_{n}": v for i in (1, 2) for n, v in (("offset", -3), ("mult", 1 << 30))}
SUM.update(input_1_shift=0, input_2_shift=0, left_shift=20, out_offset=3, out_mult=1 << 30)
SUM.update(out_shift=-18, act_min=-128, act_max=127)


def of_calls(*nodes, shape=(2, 3, 4), arrays=None):
    start = Tensor("x", shape, "int8", None, 0.05, 3)
    return Graph("calls", (start,), nodes, (nodes[-1].name,), arrays or {})


def test_operands_may_be_constant_or_smaller():
    values = RNG.integers(-25, 25, 24).astype(np.int8)
    graph = of_calls(
        call("c:tflm_constant_s8", (2, 3, 4), (), {"length": 24}, arrays=("values", None)),
        call("sum:arm_elementwise_add_s8", (2, 3, 4), ("x", "c"), {**SUM, "block_size": 24}),
        call(
            "one:arm_max_pool_s8",
            (1, 1, 4),
            ("sum",),
            {
                **dict.fromkeys(("batches", "stride_h", "stride_w", "output_h", "output_w"), 1),
                **{"input_h": 2, "input_w": 3, "channels": 4, "filter_h": 2, "filter_w": 3},
                **{"pad_h": 0, "pad_w": 0, "act_min": -128, "act_max": 127},
            },
        ),
        call(
            "many:tflm_broadcast_s8",
            (2, 3, 4),
            ("one",),
            {**named("input", (1, 1, 1, 4)), **named("output", (1, 2, 3, 4))},
        ),
        call("less:tflm_sub_s8", (2, 3, 4), ("sum", "many"), {**SUM, "block_size": 24}),
        arrays={"values": values},
    )
    made = dequantize_graph(graph)
    assert made.node("sum").inputs == ("x", "c/value")
    assert made.node("less").inputs == ("sum", "one")
    x = RNG.uniform(-1, 1, size=(20, 2, 3, 4))
    report = qemu_nn.analyze(pipeline.Network(graph), x)
    assert [each.name for each in report.layers] == ["x", "sum", "one", "less"]
    assert [each.whole.sqnr > 28 for each in report.layers] == [True] * 4


def test_reshaped_inputs_take_the_shape_that_the_function_has():
    graph = of_calls(
        call(
            "joined:tflm_concatenation_s8",
            (2, 3, 8),
            ("x", "x"),
            {"outer": 6, "inner1": 4, "inner2": 4},
        ),
        call(
            "padded:arm_pad_s8",
            (3, 3, 8),
            ("joined",),
            {
                **named("input", (1, 2, 3, 8)),
                **named("pre", (0, 1, 0, 0)),
                **named("post", (0, 0, 0, 0)),
                "pad_value": 23,
            },
        ),
        call(
            "turned:arm_transpose_s8",
            (8, 9),
            ("padded",),
            {
                "num_dims": 2,
                **named("input", (9, 8, 1, 1)),
                **named("output", (8, 9, 1, 1)),
                **named("perm", (1, 0, 2, 3), "0123"),
            },
        ),
    )
    x = RNG.normal(size=(5, 2, 3, 4))
    report = qemu_nn.analyze(pipeline.Network(graph), x)
    assert [each.name for each in report.layers] == ["x", "joined", "padded", "turned"]
    padded, turned = (layer(report, name).whole.sqnr for name in ("padded", "turned"))
    assert padded == pytest.approx(turned)
    assert dequantize_graph(graph).node("padded/1").operator.value == pytest.approx(1.0)
    assert report.layers[-1].whole.sqnr > 30


def test_a_network_without_a_reference_takes_its_own_integers_too():
    sides = {"outer": 6, "inner1": 4, "inner2": 4}
    joined = call("joined:tflm_concatenation_s8", (2, 3, 8), ("x", "x"), sides)
    made = pipeline.Network(of_calls(joined))
    q = RNG.integers(-128, 128, (5, 2, 3, 4), np.int8)
    real = made.graph.input.format.dequantize(q)
    assert qemu_nn.analyze(made, q).json() == qemu_nn.analyze(made, real).json()
    wide = qemu_nn.Dataset(q.astype(np.int64), codes=False)
    assert qemu_nn.analyze(made, wide).json() != qemu_nn.analyze(made, q).json()


def test_what_has_no_meaning_in_real_numbers_is_refused_by_name():
    sides = {**named("input", (4, 6, 1, 1), "xyzw"), "output_y": 6, "offset": 0}
    graph = of_calls(call("joined:arm_concatenation_s8_y", (2, 3, 4), ("x", "x"), sides))
    with pytest.raises(Error, match="joined: arm_concatenation_s8_y has no float meaning"):
        qemu_nn.analyze(pipeline.Network(graph), np.zeros((1, 2, 3, 4)))


def test_a_cube_of_a_file_is_in_the_file_s_own_layout():
    sides = {"outer": 16, "inner1": 4, "inner2": 4}
    joined = call("joined:tflm_concatenation_s8", (4, 4, 8), ("x", "x"), sides)
    made = pipeline.Network(of_calls(joined, shape=(4, 4, 4)))
    x = RNG.normal(size=(3, 4, 4, 4))
    assert (
        qemu_nn.analyze(made, x).json()
        == qemu_nn.analyze(made, qemu_nn.Dataset(x, layout="NHWC")).json()
    )


@pytest.mark.parametrize("case", ["same", "valid", "one", "wide", "without_bias", "relu6"])
def test_a_transposed_convolution_means_what_the_device_rounds(case, tmp_path):
    from tflite_cases import CASES, inputs

    made = qemu_nn.load(CASES[f"transpose_conv_{case}"]().save(tmp_path))
    x, (node,) = inputs(case, made.graph.input), made.graph.nodes
    real = evaluate(dequantize_graph(made.graph), made.graph.input.format.dequantize(x))["output"]
    placed = np.clip(node.output.format.scale_unrounded(real), -128, 127)
    assert np.abs(placed - made.session().run(x)["output"]).max() < 0.52
    assert qemu_nn.analyze(made, x).layers[1].name == "output"


FILES = sorted((SHARED / "models_tflite").glob("*.tflite"))


@pytest.mark.skipif(not FILES, reason="the published .tflite files are not here")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_published_file_is_analyzed_without_a_float_network(path):
    made = qemu_nn.load(path)
    start = made.graph.input
    stored = np.load(path.with_name(f"{path.stem}_golden.npz"))["inputs"]
    x = start.format.dequantize(stored.reshape(-1, *start.shape)) / 16  # noise: 1/16 of the range
    report = qemu_nn.analyze(made, x)
    first, *layers = report.layers
    assert [each.name for each in layers] == [node.name for node in made.graph.nodes]
    assert first.single.sqnr > 20
    saturated = {each.name for each in report.layers if each.saturated}  # by noise, not by data
    within = [
        each
        for each, node in zip(layers, made.graph.nodes)
        if saturated.isdisjoint((node.name, *node.inputs))
    ]
    assert len(within) >= len(layers) / 2
    assert [each.name for each in within if each.single.sqnr <= 20] == []
    assert all(each.errors.sqnr > 150 for each in report.weights)
