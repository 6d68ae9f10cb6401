"""Quantizing whole networks: from data to bits, by every method, on every device."""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from flat_options import grouped

import qemu_nn
from qemu_nn.api import golden as pipeline
from qemu_nn.cli.main import main
from qemu_nn.errors import Error, ModelError
from qemu_nn.ir.float_graph import FloatGraph, FloatNode
from qemu_nn.ir.formats import quantize as to_integers
from qemu_nn.operators import Affine, Conv, Dense, Pool, Relu, Reshape, Softmax

RNG = np.random.default_rng(11)
SHAPE = (2, 8, 8)


def network(softmax=False, mean=0.0):
    """Return a small classifier as an ONNX file describes it: channels first."""
    nodes = [
        FloatNode("norm", Affine(np.array(2.0), np.array(mean)), ("x",)),
        FloatNode("conv", Conv(RNG.normal(size=(6, 3, 3, 2)) / 4, layout="NCHW"), ("norm",)),
        FloatNode("relu", Relu(), ("conv",)),
        FloatNode("pool", Pool("max", (2, 2), (2, 2), layout="NCHW"), ("relu",)),
        FloatNode("flat", Reshape((54,)), ("pool",)),
        FloatNode("scores", Dense(RNG.normal(size=(5, 54)) / 7, RNG.normal(size=5)), ("flat",)),
    ]
    if softmax:
        nodes.append(FloatNode("softmax", Softmax(), ("scores",)))
    return pipeline.FloatNetwork(
        FloatGraph("net", "x", SHAPE, "NCHW", tuple(nodes), (nodes[-1].name,))
    )


@pytest.fixture
def data():
    return RNG.normal(size=(200, *SHAPE)).astype(np.float32)


def scores(quantized, x):
    """Return the device's result, as floats."""
    start, name = quantized.graph.input, quantized.graph.outputs[0]
    integers = to_integers(np.moveaxis(x, 1, -1), start.frac, start.dtype)
    result = quantized.session().run(integers)[name]
    return np.ldexp(result.astype(float), -quantized.graph.node(name).output.frac)


def noise(network, quantized, x):
    """Signal to noise of the scores in dB."""
    exact = network.evaluate(x, trace=True)["scores"]
    return 10 * np.log10(np.mean(exact**2) / np.mean((scores(quantized, x) - exact) ** 2))


@pytest.mark.parametrize(
    ("method", "bits", "least"),
    [("minmax", 8, 25), ("mse", 8, 25), (99.9, 8, 25), ("minmax", 16, 65), ("mse", 16, 65)],
)
def test_a_quantized_network_is_close_to_the_float_one(data, bits, least, method):
    net = network()
    quantized = qemu_nn.quantize(net, data, bits=bits, method=method, scheme="power2")
    assert quantized.graph.input.name == "x"
    assert [node.name for node in quantized.graph.nodes] == ["conv", "relu", "pool", "scores"]
    assert noise(net, quantized, data) > least


@pytest.mark.parametrize("target", ["cortex-m0", "cortex-m3", "cortex-m7", "cortex-m55"])
def test_every_core_gets_a_network_that_it_can_run(data, target):
    quantized = qemu_nn.quantize(network(), data, target=target, scheme="power2")
    quantized.session(target=target)


def test_sources_of_data_are_interchangeable(data, tmp_path):
    net = network()
    np.savez(tmp_path / "calib.npz", x=data)
    expected = qemu_nn.quantize(net, data, scheme="power2").graph
    for source in (str(tmp_path / "calib.npz"), (data[i : i + 7] for i in range(0, 200, 7))):
        graph = qemu_nn.quantize(net, source, scheme="power2").graph
        assert [n.params for n in graph.nodes] == [n.params for n in expected.nodes]
        for name, array in expected.arrays.items():
            np.testing.assert_array_equal(graph.arrays[name], array)


def test_what_the_host_computes_is_told_and_the_device_gets_the_rest(data):
    quantized = qemu_nn.quantize(network(mean=0.5), data, scheme="power2")
    assert quantized.graph.input.name == "x"  # without padding it folds
    padded = network(mean=0.5)
    nodes = list(padded.graph.nodes)
    conv = Conv(RNG.normal(size=(6, 3, 3, 2)), pads=(1, 1, 1, 1), layout="NCHW")
    nodes[1] = FloatNode("conv", conv, ("norm",))
    nodes[4] = FloatNode("flat", Reshape((96,)), ("pool",))
    nodes[5] = FloatNode("scores", Dense(RNG.normal(size=(5, 96))), ("flat",))
    quantized = qemu_nn.quantize(
        pipeline.FloatNetwork(padded.graph.with_nodes(nodes)), data, scheme="power2"
    )
    assert quantized.graph.input.name == "norm"
    assert quantized.notes[0].startswith("the device's input is norm")


def test_a_softmax_is_kept_or_left_out(data):
    net = network(softmax=True)
    assert qemu_nn.quantize(net, data, scheme="power2").graph.outputs == ("softmax",)
    without = qemu_nn.quantize(net, data, scheme="power2", options={"softmax": False})
    assert without.graph.outputs == ("scores",)
    assert without.notes == ("softmax: it is left out; the output is scores",)


def test_given_formats_and_functions_are_obeyed(data):
    given = {"conv": {"output": 3, "weights": 6}, "x": {"output": 4}}
    functions = {"scores": "arm_fully_connected_q7"}
    graph = qemu_nn.quantize(
        network(), data, scheme="power2", options={"formats": given, "functions": functions}
    ).graph
    assert (graph.input.frac, graph.node("pool").output.frac) == (4, 3)
    assert graph.node("conv").params["out_shift"] == 4 + 6 - 3
    assert graph.node("scores").function.name == "arm_fully_connected_q7"


def labelled(net, data):
    return net.evaluate(data, trace=True)["scores"].argmax(1)


def test_a_search_is_not_worse_than_minmax_and_recovers_what_outliers_cost(data):
    net = network()
    y = labelled(net, data)
    spoiled = data.copy()
    spoiled[0] *= 100  # one image decides every range
    rest, labels = data[1:], y[1:]
    plain = qemu_nn.quantize(net, (spoiled, y), scheme="power2")
    found = qemu_nn.quantize(
        net,
        (spoiled, y),
        method="search",
        threads=2,
        scheme="power2",
        effort={"level": "fast", "search_range": 5},
    )
    before, after = (np.mean(scores(q, rest).argmax(1) == labels) for q in (plain, found))
    assert after > before + 0.1


def test_a_search_without_labels_comes_closer_to_the_float_scores(data):
    net = network()
    spoiled = data.copy()
    spoiled[0] *= 3
    plain, found = (
        qemu_nn.quantize(net, spoiled, method=m, scheme="power2") for m in ("minmax", "search")
    )
    exact = net.evaluate(spoiled)["scores"]

    def error(quantized):
        squares = np.sum((scores(quantized, spoiled) - exact) ** 2, 1) / np.sum(exact**2, 1)
        return np.mean(squares)

    assert error(found) < error(plain)


def test_a_search_is_resumed_only_for_the_same_data(data, tmp_path):
    net, state = network(), tmp_path / "search.json"
    how = {"method": "search", "resume": state}
    first = qemu_nn.quantize(net, data, **grouped(**how))
    again = qemu_nn.quantize(net, data, **grouped(**how))
    for name, array in first.graph.arrays.items():
        np.testing.assert_array_equal(again.graph.arrays[name], array)
    with pytest.raises(ModelError, match="another network, data or options"):
        qemu_nn.quantize(net, data * 2, **grouped(**how))


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ({"bits": 4}, "bits is 4, but must be 8 or 16"),
        ({"method": "best"}, "no method 'best'"),
        ({"weight_method": "search"}, "no method 'search'"),
        ({"target": "cortex-m9"}, "no core or chip 'cortex-m9'"),
        ({"formats": {"conv9": {"output": 1}}}, "no layer 'conv9'"),
        ({"functions": {"conv": "arm_relu_q7"}}, "conv: arm_relu_q7 does not compute this"),
        ({"bits": 16, "target": qemu_nn.Target(cmsis="5.6.0")}, "Pool 'pool': no function"),
    ],
)
def test_options_that_do_not_fit_are_refused_with_the_reason(data, how, reason):
    with pytest.raises(Error, match=reason):
        qemu_nn.quantize(network(), data, **grouped(**how))
    with pytest.raises(Error, match="no layout 'NWHC'"):
        qemu_nn.quantize(network(), qemu_nn.Dataset(data, layout="NWHC"))


def test_an_output_that_is_the_input_is_refused_by_its_name():
    weights = Dense(RNG.normal(size=(3, 4)))
    same = (FloatNode("y", weights, ("x",)), FloatNode("z", Reshape((2, 2)), ("x",)))
    for outputs, name in ((("y", "x"), "'x'"), (("y", "z"), "'z'")):
        graph = FloatGraph("net", "x", (4,), None, same, outputs)
        for scheme in ("power2", "affine"):
            with pytest.raises(ModelError, match=f"{name} is its own input 'x'.* output="):
                qemu_nn.quantize(
                    pipeline.FloatNetwork(graph), RNG.normal(size=(9, 4)), scheme=scheme
                )


def test_a_softmax_in_the_middle_is_noted_where_it_is_of_powers_of_two():
    nodes = (
        *(
            FloatNode("a", Dense(RNG.normal(size=(3, 4))), ("x",)),
            FloatNode("b", Softmax(), ("a",)),
        ),
        FloatNode("y", Dense(RNG.normal(size=(2, 3))), ("b",)),
    )
    made = pipeline.FloatNetwork(FloatGraph("net", "x", (4,), None, nodes, ("y",)))
    x = RNG.normal(size=(20, 4))
    assert qemu_nn.quantize(made, x, scheme="affine").notes == ()
    assert (
        "b: the device's softmax is of powers of two"
        in qemu_nn.quantize(made, x, scheme="power2").notes[0]
    )


def test_an_input_of_one_number_is_run_and_exported(tmp_path):
    nodes = (
        FloatNode("a", Affine(np.array(2.0), np.array(0.5)), ("x",)),
        FloatNode("y", Relu(), ("a",)),
    )
    made = pipeline.FloatNetwork(FloatGraph("net", "x", (), None, nodes, ("y",)))
    x = RNG.normal(size=9)
    quantized = qemu_nn.quantize(made, x, scheme="affine")
    # Float bound: half a step of the input, doubled, and half a step of each tensor after it.
    np.testing.assert_allclose(quantized.predict(x), np.maximum(2 * x + 0.5, 0), atol=0.05)
    qemu_nn.export(quantized, tmp_path / "firmware")


def test_what_can_not_run_is_refused_before_any_data_are_read():
    net = network()
    nodes = [*net.graph.nodes, FloatNode("log", Relu(slope=0.5, limit=1.0), ("scores",))]
    graph = FloatGraph("net", "x", SHAPE, "NCHW", tuple(nodes), ("log",))

    def never():
        raise AssertionError("the data were read")
        yield

    with pytest.raises(ModelError, match="slope below zero"):
        qemu_nn.quantize(pipeline.FloatNetwork(graph), never(), scheme="power2")


# ---- the command line ----


def invoke(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture
def files(tmp_path, data):
    network(softmax=True).save(tmp_path / "net.qnz")
    np.savez(tmp_path / "calib.npz", x=data)
    return tmp_path


def test_import_prints_the_layers_and_writes_a_package(files):
    result = invoke("import", files / "net.qnz", "-o", files / "copy.qnz")
    assert result.exit_code == 0, result.output
    assert "Conv" in result.output
    assert "2x8x8 NCHW" in result.output
    assert (files / "copy.qnz").read_bytes() == (files / "net.qnz").read_bytes()


def test_quantize_writes_a_network_that_runs_and_says_what_gave_way(files, data):
    arguments = (
        "--scheme",
        "power2",
        "--no-softmax",
        "--format",
        "conv.output=4",
        "--bits",
        "8",
        "--method",
        "99.5",
    )
    out = files / "q.qnz"
    result = invoke("quantize", files / "net.qnz", "-d", files / "calib.npz", "-o", out, *arguments)
    assert result.exit_code == 0, result.output
    assert "Q3.4" in result.output
    assert "note: softmax: it is left out; the output is scores" in result.output
    network = qemu_nn.load(out)
    assert network.reference.outputs == ("softmax",)
    assert scores(network, data).shape == (200, 5)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--format", "conv=4"), "--format conv=4 must be LAYER.ROLE=N"),
        (("--format", "conv.speed=4"), "must be LAYER.ROLE=N"),
        (("--format", "conv.output=x"), "must be LAYER.ROLE=N"),
        (("--function", "conv"), "--function conv must be LAYER=NAME"),
        (("--method", "no"), "no method 'no'"),
        (("--bits", "7"), "'7' is not one of"),
        (("--layout", "NHWC"), "one or a batch"),
    ],
)
def test_quantize_refuses_in_one_sentence_and_with_exit_code_2(files, arguments, reason):
    out = files / "q.qnz"
    result = invoke("quantize", files / "net.qnz", "-d", files / "calib.npz", "-o", out, *arguments)
    assert result.exit_code == 2
    assert reason in result.output
    assert not out.exists()


def test_what_is_quantized_is_not_quantized_again_and_what_is_float_does_not_run(files):
    out = files / "q.qnz"
    assert (
        invoke("quantize", files / "net.qnz", "-d", files / "calib.npz", "-o", out).exit_code == 0
    )
    again = invoke("quantize", out, "-d", files / "calib.npz", "-o", files / "r.qnz")
    assert (again.exit_code, "is quantized already" in again.output) == (2, True)
    info = invoke("info", files / "net.qnz", "--json")
    assert (info.exit_code, json.loads(info.output)["layers"][0]["operator"]) == (0, "input")
    bench = invoke("bench", files / "net.qnz")
    assert (bench.exit_code, "is a float network; quantize it first" in bench.output) == (2, True)
