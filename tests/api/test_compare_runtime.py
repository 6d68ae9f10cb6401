"""The same file on the device and in another runtime: what differs, where it begins, and a page."""

import json
import re

import numpy as np
import pytest
from click.testing import CliRunner
from tflite_cases import CASES
from tflite_files import File

import qemu_nn
from qemu_nn import Dataset, Error, Target
from qemu_nn.analysis.runtime_comparison import heat_map
from qemu_nn.api import other_runtimes
from qemu_nn.api.other_runtimes import OtherRuntime
from qemu_nn.cli.main import main

RNG = np.random.default_rng(7)


def two_layers(folder, real=False):
    """Write two rectifiers of [4, 6, 3], the input perhaps in floats."""
    file = File()
    shape = (1, 4, 6, 3)
    first = file.input(shape, None if real else 0.5, type="FLOAT32" if real else "INT8")
    x = file.tensor(shape, scale=0.5, name="codes") if real else first
    if real:
        file.operator("QUANTIZE", [first], [x])
    middle = file.tensor(shape, scale=0.5, name="middle")
    file.operator("RELU", [x], [middle])
    file.operator("RELU", [middle], [file.output(shape)])
    return file.save(folder)


class Planted:
    """A runtime that computes max(x, 0), and adds something at chosen elements of tensors."""

    def __init__(self, monkeypatch, faults, dtype="int8", shape=(1, 4, 6, 3)):
        self.faults, self.resets, self.given = faults, 0, []
        monkeypatch.setitem(
            other_runtimes.RUNTIMES,
            "litert",
            (
                ".tflite",
                lambda path, wanted: OtherRuntime(((shape, dtype),), self.step, self.reset),
            ),
        )

    def step(self, inputs):
        self.given.append(inputs[0])
        values = {name: np.maximum(inputs[0], 0).astype(np.int8) for name in ("middle", "output")}
        for name, index, more in self.faults:
            values[name][index] += more
        return values

    def reset(self):
        self.resets += 1


def codes(count=5):
    return RNG.integers(-100, 100, (count, 4, 6, 3)).astype(np.int8)


def test_the_same_elements_are_the_same(tmp_path, monkeypatch):
    other = Planted(monkeypatch, [])
    found = qemu_nn.compare_runtime(two_layers(tmp_path), codes(), "litert")
    assert (found.same, found.samples, found.origins) == (True, 5, ())
    assert "give the same 720 elements of 2 layers" in found.text()
    assert other.resets == 5


def test_a_difference_is_counted_and_begins_where_inputs_are_the_same(tmp_path, monkeypatch):
    faults = [("middle", (0, 1, 2, 0), 3), ("output", (0, 1, 2, 0), 1), ("output", (0, 0, 0, 1), 2)]
    Planted(monkeypatch, faults)
    found = qemu_nn.compare_runtime(two_layers(tmp_path), codes(), "litert")
    middle, output = found.layers
    assert (middle.elements, middle.differing, middle.largest) == (360, 5, 3)
    assert (output.differing, output.largest) == (10, 2)
    assert [layer.layer for layer in found.origins] == ["middle"]
    assert np.argwhere(middle.where).tolist() == [[1, 2, 0]]
    assert not found.same
    assert "differ in 15 of 720 elements; this begins at middle" in found.verdict
    told = json.loads(found.json())
    assert [row["begins_here"] for row in told["layers"]] == [True, False]
    assert found.csv().splitlines()[1].startswith('"middle","tflm_relu_s8",360,5,')


def test_a_fault_of_the_last_layer_begins_there(tmp_path, monkeypatch):
    Planted(monkeypatch, [("output", (0, 3, 5, 2), 1)])
    found = qemu_nn.compare_runtime(two_layers(tmp_path), Dataset(codes(), limit=2), "litert")
    assert [layer.layer for layer in found.origins] == ["output"]
    assert found.samples == 2


def test_a_file_of_floats_gets_those_that_the_integers_stand_for(tmp_path, monkeypatch):
    other = Planted(monkeypatch, [], "float32")
    x = codes(2)
    qemu_nn.compare_runtime(two_layers(tmp_path, real=True), x * np.float32(0.5), "litert")
    np.testing.assert_array_equal(np.concatenate(other.given), x * np.float32(0.5))


def test_files_that_a_runtime_cannot_run_are_refused(tmp_path, monkeypatch):
    path = two_layers(tmp_path)
    with pytest.raises(Error, match=r"is no \.onnx file, which onnxruntime needs"):
        qemu_nn.compare_runtime(path, codes(), "onnxruntime")
    with pytest.raises(Error, match="no runtime 'tensorrt'; have: litert, xnnpack, tflm"):
        qemu_nn.compare_runtime(path, codes(), "tensorrt")
    Planted(monkeypatch, [], shape=(2, 4, 6, 3))
    with pytest.raises(Error, match="several samples at once"):
        qemu_nn.compare_runtime(path, codes(), "litert")


def test_the_page_shows_shares_and_maps(tmp_path, monkeypatch):
    pytest.importorskip("jinja2", reason="pages need jinja2")
    Planted(monkeypatch, [("output", (0, 3, 5, 2), 1)])
    np.save(tmp_path / "x.npy", codes())
    command = ["compare-runtime", str(two_layers(tmp_path)), "-d", str(tmp_path / "x.npy")]
    page = tmp_path / "page.html"
    result = CliRunner().invoke(main, [*command, "--runtime", "litert", "-o", str(page)])
    assert (result.exit_code, "this begins at output" in result.output) == (1, True)
    assert page.read_text().count("<figure>") == 1
    assert '<rect x="5" y="3" width="1" height="1"' in page.read_text()


@pytest.mark.parametrize(
    "shape", [(1,), (9,), (5000,), (4, 6), (300, 200, 3), (2, 7, 5, 3)], ids=str
)
def test_a_map_has_a_square_where_elements_differ(shape):
    where = np.zeros(shape)
    assert "opacity" not in heat_map(where)
    where.flat[-1] = 0.5
    found = re.findall(r'<rect x="(\d+)" y="(\d+)" .*?opacity="1.00"', heat_map(where))
    width, height = map(int, re.search(r'viewBox="0 0 (\d+) (\d+)"', heat_map(where)).groups())
    assert len(found) == 1
    assert max(width, height) <= 128
    assert int(found[0][1]) == height - 1


def saved(case, folder):
    """Return a file with the versions of operators that LiteRT asks for, and its inputs."""
    path = CASES[case]().save(folder)
    qemu_nn.load(path).save(path)
    shape = qemu_nn.load(path).graph.input.logical
    return path, RNG.integers(-128, 128, (3, *shape)).astype(np.int8)


@pytest.mark.parametrize("case", ["convolve_same", "fully_connected_relu", "softmax_s8"])
def test_the_wheel_of_tflite_micro_has_the_bytes_of_its_reference_kernels(case, tmp_path):
    pytest.importorskip("tflite_micro", reason="compares with TensorFlow Lite Micro")
    path, x = saved(case, tmp_path)
    reference = Target(kernels="reference", tflm="2026-10")
    found = qemu_nn.compare_runtime(path, x, "tflm", target=reference)
    assert found.same, found.text()
    assert all(layer.compared for layer in found.layers)


def test_differences_to_litert_are_those_that_one_finds_by_hand(tmp_path):
    litert = pytest.importorskip("ai_edge_litert.interpreter", reason="compares with LiteRT")
    path, x = saved("convolve_same", tmp_path)
    plain = litert.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    interpreter = litert.Interpreter(str(path), experimental_op_resolver_type=plain)
    interpreter.allocate_tensors()
    by_hand = []
    for sample in x:
        interpreter.set_tensor(interpreter.get_input_details()[0]["index"], sample[np.newaxis])
        interpreter.invoke()
        by_hand.append(interpreter.get_tensor(interpreter.get_output_details()[0]["index"])[0])
    own = qemu_nn.run(path, x)["output"]
    found = qemu_nn.compare_runtime(path, x)  # LiteRT, as it is installed
    assert found.runtime == "litert"
    assert found.layers[-1].differing == np.count_nonzero(own != np.array(by_hand))
    assert found.layers[-1].largest == np.abs(own.astype(int) - np.array(by_hand)).max()


def test_onnx_runtime_gets_the_floats_that_the_integers_stand_for(tmp_path):
    pytest.importorskip("onnxruntime", reason="compares with ONNX Runtime")
    onnx = pytest.importorskip("onnx", reason="writes an .onnx file")
    make = onnx.helper
    numbers = {"scale": np.float32(0.5), "zero": np.int8(3)}
    nodes = [
        make.make_node("QuantizeLinear", ["x", "scale", "zero"], ["xq"]),
        make.make_node("DequantizeLinear", ["xq", "scale", "zero"], ["xd"]),
        make.make_node("MaxPool", ["xd"], ["y"], kernel_shape=[2, 2], strides=[2, 2]),
        make.make_node("QuantizeLinear", ["y", "scale", "zero"], ["yq"]),
        make.make_node("DequantizeLinear", ["yq", "scale", "zero"], ["out"]),
    ]
    value = make.make_tensor_value_info
    graph = make.make_graph(
        nodes,
        "pool",
        [value("x", onnx.TensorProto.FLOAT, [1, 2, 6, 4])],
        [value("out", onnx.TensorProto.FLOAT, [1, 2, 3, 2])],
        [onnx.numpy_helper.from_array(np.asarray(v), k) for k, v in numbers.items()],
    )
    model = make.make_model(graph, opset_imports=[make.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, str(tmp_path / "pool.onnx"))
    x = RNG.normal(size=(4, 2, 6, 4)).astype(np.float32) * 20
    found = qemu_nn.compare_runtime(tmp_path / "pool.onnx", x)
    assert found.runtime == "onnxruntime"
    assert found.same, found.text()
    assert found.layers[0].compared


def doubled(folder):
    """Write an .onnx file whose host doubles and transposes floats before the device rectifies."""
    onnx = pytest.importorskip("onnx", reason="writes an .onnx file")
    node, make = onnx.helper.make_node, onnx.helper.make_tensor_value_info

    def pair(x, y):
        names = [f"{y}_codes"]
        return [
            node("QuantizeLinear", [x, "scale", "zero"], names),
            node("DequantizeLinear", [*names, "scale", "zero"], [y]),
        ]

    nodes = [
        node("Transpose", ["x"], ["t"], perm=[0, 2, 1]),
        node("Mul", ["t", "two"], ["m"]),
        *pair("m", "a"),
        node("Relu", ["a"], ["r"]),
        *pair("r", "y"),
    ]
    constants = {"two": np.float32(2), "scale": np.float32(0.5), "zero": np.int8(3)}
    graph = onnx.helper.make_graph(
        nodes,
        "doubled",
        [make("x", onnx.TensorProto.FLOAT, (1, 2, 4))],
        [make("y", onnx.TensorProto.FLOAT, (1, 4, 2))],
        [onnx.numpy_helper.from_array(np.array(v), name) for name, v in constants.items()],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21)])
    model.ir_version = 10
    onnx.save(model, str(folder / "doubled.onnx"))
    return folder / "doubled.onnx"


def test_a_file_with_steps_of_the_host_gets_floats(tmp_path, monkeypatch):
    path, x = doubled(tmp_path), RNG.uniform(-9, 9, (5, 2, 4)).astype(np.float32)
    network = qemu_nn.load(path)
    assert network.before is not None
    names = [node.name for node in network.graph.nodes]
    given, planted = [], [0]

    def step(inputs):
        given.append(inputs[0])
        codes = network.host.codes(inputs[0])
        found = network.session().run(codes, trace=True)
        return {name: found[name][0] + np.int8(planted[0]) for name in names}

    shape = (((1, 2, 4), "float32"),)
    runtime = (".onnx", lambda path, wanted: OtherRuntime(shape, step, lambda: None))
    monkeypatch.setitem(other_runtimes.RUNTIMES, "onnxruntime", runtime)
    assert qemu_nn.compare_runtime(path, x, "onnxruntime").same
    np.testing.assert_array_equal(np.concatenate(given), x)
    planted[0] = 1
    assert not qemu_nn.compare_runtime(path, x, "onnxruntime").same


def test_onnx_runtime_agrees_with_a_network_after_steps_of_the_host(tmp_path):
    pytest.importorskip("onnxruntime", reason="compares with ONNX Runtime")
    x = RNG.uniform(-9, 9, (5, 2, 4)).astype(np.float32)
    assert qemu_nn.compare_runtime(doubled(tmp_path), x, "onnxruntime").same
