"""The output of info fits a terminal, and shortened names remain unique."""

import json

import pytest
from click.testing import CliRunner
from paths import SHARED
from shown_networks import NETWORKS, many

from qemu_nn.analysis.float_table import float_table, float_text
from qemu_nn.analysis.short_names import shorten_names
from qemu_nn.analysis.table import Table
from qemu_nn.analysis.table_layout import WIDTH, narrow_table
from qemu_nn.api import golden as pipeline
from qemu_nn.api.golden import FloatNetwork, Network, describe
from qemu_nn.cli.main import main
from qemu_nn.ir.float_graph import FloatGraph, FloatNode
from qemu_nn.operators.activation import Relu
from qemu_nn.operators.arithmetic import Elementwise

MODELS = SHARED / "models_tflite"


def told(*arguments):
    result = CliRunner().invoke(main, [str(a) for a in arguments])
    assert isinstance(result.exception, (SystemExit, type(None))), result.exception
    return result.exit_code, result.output


def lines(text):
    return [len(line) for line in text.splitlines()]


# ---- names ----


def test_names_lose_what_all_have_in_common():
    names = ["model/conv/Relu;model/conv/Conv2D", "model/dense/MatMul", "Identity"]
    short = ["conv/Relu", "dense/MatMul", "Identity"]
    assert shorten_names(names, 40) == dict(zip(names, short))
    assert shorten_names(["a/b"], 40) == {"a/b": "b"}
    assert shorten_names(["a/b", "a/b/c"], 40) == {"a/b": "b", "a/b/c": "b/c"}


@pytest.mark.parametrize("longest", [12, 13, 40])
def test_names_stay_unique_and_short(longest):
    names = [f"net/{'x' * (i % 60)}/{i}/tail" for i in range(300)]
    names += [f"part;{i}" for i in range(300)] + ["part~2", "", ";", "\x1b[2J", "a\nb"]
    short = shorten_names(names, longest)
    assert list(short) == names
    assert len({*short.values()}) == len(names)
    assert all(0 < len(name) <= longest for name in short.values())
    assert all(name.isprintable() for name in short.values())


# ---- tables ----


@pytest.mark.parametrize("kind", [kind for kind in NETWORKS if kind != "float"])
def test_a_summary_fits_120_columns(kind):
    summary = describe(NETWORKS[kind])
    assert max(lines(summary.text())) <= WIDTH
    assert len(summary.text().splitlines()) >= len(NETWORKS[kind].graph.nodes) + 6


def test_cells_of_any_length_fit():
    columns = ("layer", "function", "output", "format", "macs", "weight_bytes")
    row = ("n" * 900, "arm_" + "f" * 90, "int8 " + "9x" * 40, "f" * 90, 10**9, 10**8)
    text = narrow_table(Table(columns, (row, ("", "", "", None, 0, 0)))).text()
    assert max(lines(text)) <= WIDTH


def test_numbers_and_operators_are_there():
    summary = describe(pipeline.example()[0])
    first = summary.text().splitlines()[2].split()
    assert first[:3] == ["0", "conv1", "convolve_HWC_q7_basic"]
    assert "kernel" not in summary.text().splitlines()[0]
    assert "kernel" in summary.text(full=True).splitlines()[0]
    facts = summary.facts
    total = next(line for line in summary.text().splitlines() if line.startswith("in all"))
    for name in ("weight_bytes", "activation_bytes", "macs"):
        assert f"{facts[name]:,}" in total


def branches():
    names = [f"block/{'deep/' * 20}{i}" for i in range(30)]
    nodes = [FloatNode(names[0], Relu(), ("x",))]
    nodes += [
        FloatNode(name, Elementwise("add"), (before, names[0]))
        for before, name in zip(names, names[1:])
    ]
    return FloatGraph("net", "x", (8,), None, tuple(nodes), (names[-1],))


def test_a_float_network_names_what_is_read_by_number():
    graph = branches()
    text = float_text(graph)
    assert max(lines(text)) <= WIDTH
    assert text.splitlines()[5].split()[-4:-2] == ["2,", "1"]
    assert graph.nodes[1].name in float_table(graph).csv()
    assert "block/deep/deep" in float_text(graph, full=True)
    assert "block/deep/deep" not in text


# ---- the command line ----


def test_info_is_narrow_unless_it_is_full(tmp_path):
    Network(many(30)).save(tmp_path / "q.qnz")
    FloatNetwork(branches()).save(tmp_path / "f.qnz")
    for name in ("q.qnz", "f.qnz"):
        code, text = told("info", tmp_path / name)
        assert (code, max(lines(text)) <= WIDTH) == (0, True)
        full = told("info", tmp_path / name, "--full")[1]
        assert max(lines(full)) > max(lines(text))
    layers = json.loads(told("info", tmp_path / "q.qnz", "--json")[1])["layers"]
    assert len(layers) == 30
    assert "kernel" in layers[0]


def test_info_cuts_float_files(tmp_path):
    onnx = pytest.importorskip("onnx", reason="the file is written with onnx")
    info = onnx.helper.make_tensor_value_info
    nodes = [onnx.helper.make_node("Relu", [a], [b], name=b) for a, b in (("x", "m"), ("m", "y"))]
    ends = [info(name, onnx.TensorProto.FLOAT, [1, 4]) for name in "xy"]
    graph = onnx.helper.make_graph(nodes, "net", ends[:1], ends[1:])
    onnx.save(onnx.helper.make_model(graph), str(tmp_path / "net.onnx"))
    whole = json.loads(told("info", tmp_path / "net.onnx", "--json")[1])
    cut = json.loads(told("info", tmp_path / "net.onnx", "--output-tensor", "m", "--json")[1])
    assert [row["layer"] for row in whole["layers"]] == ["x", "m", "y"]
    assert [row["layer"] for row in cut["layers"]] == ["x", "m"]
    code, _text = told("info", tmp_path / "net.onnx", "--output-tensor", "q")
    assert code == 2


@pytest.mark.parametrize("name", ["kws_ref_model", "pretrainedResnet_quant", "hello_world_int8"])
def test_published_networks_fit(name):
    if not (MODELS / f"{name}.tflite").is_file():
        pytest.skip("no shared networks beside this checkout")
    code, text = told("info", MODELS / f"{name}.tflite")
    assert code == 0
    assert max(lines(text)) <= WIDTH
