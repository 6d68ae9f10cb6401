"""Quantized .onnx files: each layer is within one step of ONNX Runtime's result."""

import numpy as np
import pytest
from recorded_files import QDQ, QDQ_CASES

import qemu_nn
from qemu_nn.errors import ModelError
from qemu_nn.runtime.per_layer import Calls

onnx = pytest.importorskip("onnx")
TensorProto, helper, numpy_helper = onnx.TensorProto, onnx.helper, onnx.numpy_helper

#: Elements of a layer that are further away: a division by zero, which a device with this kernel
#: answers with 0 and ONNX Runtime with an infinity.
FAR = {"unit_div": 1}


#: Name of a file -> where it is recorded.
WHERE = {name: archive for archive in (QDQ, QDQ_CASES) for name in archive.names()}

#: Steps that the softmax of 16 bits may be away, as it reads tables of 513 entries.
SOFTMAX = 8


def recorded(name):
    """Return the recordings of a file."""
    return WHERE[name].arrays(name)


@pytest.fixture
def file(tmp_path):
    """Return the path of a file by its name."""
    return lambda name: WHERE[name].file(name, tmp_path)


def inputs(network, arrays):
    several = len(network.graph.inputs) > 1
    keys = [f"x{j}_0" if several else "x0" for j in range(len(network.graph.inputs))]
    return {t.name: arrays[key] for t, key in zip(network.graph.inputs, keys)}


def integers(arrays, tensor):
    """Return ONNX Runtime's values of a tensor in memory order; None if they are not recorded."""
    found = arrays.get(f"t0/{tensor.name}")
    if found is None or found.dtype.kind not in "iu":
        return None
    shift = {"uint8": 128, "uint16": 32768}.get(found.dtype.name, 0)
    moved = tensor.to_memory(found.astype(int) - shift)
    return np.ascontiguousarray(moved.reshape(len(found), *tensor.shape), tensor.dtype)


@pytest.mark.parametrize("name", WHERE)
def test_each_layer_is_within_one_step_of_onnx_runtime(name, file):
    network, arrays = qemu_nn.load(file(name)), recorded(name)
    graph, calls = network.graph, Calls(network.graph, network.profile())
    codes = network.host.codes(inputs(network, arrays))
    codes = codes if isinstance(codes, dict) else {graph.input.name: codes}
    count = len(next(iter(codes.values())))
    values, compared, most = dict(codes), 0, 1
    for node in graph.nodes:
        given = [values[each] for each in node.inputs] or [np.empty((count, 0), np.int8)]
        made = calls.run(node, given) if node.inputs else constant(graph, node, count)
        want = integers(arrays, node.output)
        most = SOFTMAX if node.function.name == "arm_softmax_s16" else most
        if want is not None:
            steps = np.abs(made.reshape(want.shape).astype(int) - want)
            assert np.count_nonzero(steps > most) <= FAR.get(name, 0), node.name
            compared += 1
        values[node.name] = made if want is None else want
    assert compared


def constant(graph, node, count):
    numbers = graph.arrays[node.weights].reshape(node.output.shape)
    return np.ascontiguousarray(np.broadcast_to(numbers, (count, *node.output.shape)))


@pytest.mark.parametrize("name", QDQ.names())
def test_predict_is_near_what_onnx_runtime_returns(name, file):
    network, arrays = qemu_nn.load(file(name)), recorded(name)
    want = arrays.get("t0/y")
    if want is None:
        pytest.skip("no output was recorded under this name")
    got = network.predict(inputs(network, arrays))
    assert np.shape(got) == want.shape
    scale = network.graph.tensors["y"].scale
    real = (
        want
        if want.dtype == np.float32
        else network.graph.tensors["y"].format.dequantize(
            want.astype(int) - (128 if want.dtype == np.uint8 else 0)
        )
    )
    far = np.abs(got - real) > 3.5 * scale
    assert np.count_nonzero(far) <= FAR.get(name, 0)


def test_the_network_is_one_like_any_other(file, tmp_path):
    network, arrays = qemu_nn.load(file("cnn_s8_qop_pc")), recorded("cnn_s8_qop_pc")
    x = inputs(network, arrays)
    network.save(tmp_path / "net.qnz")
    again = qemu_nn.load(tmp_path / "net.qnz")
    assert (again.predict(x) == network.predict(x)).all()
    assert again.notes == network.notes
    assert network.graph.outputs == ("y",)
    report = qemu_nn.analyze(network, np.concatenate([*x.values()] * 3))
    assert "c1" in report.text()


def model(nodes, inputs, outputs, constants):
    """Write a file of these nodes."""
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info(n, kind, shape) for n, kind, shape in inputs],
        [helper.make_tensor_value_info(n, kind, shape) for n, kind, shape in outputs],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


CONSTANTS = {
    "s": np.array(0.05, np.float32),
    "z": np.array(3, np.int8),
    "bad": np.array(np.nan, np.float32),
    "wider": np.array(0, np.int32),
    "square": np.eye(4, dtype=np.int8),
}


def saved(tmp_path, nodes, out="y", dtype=TensorProto.FLOAT, **constants):
    made = model(
        nodes,
        [("x", TensorProto.FLOAT, ["n", 4])],
        [(out, dtype, ["n", 4])],
        {**CONSTANTS, **constants},
    )
    path = tmp_path / "net.onnx"
    onnx.save(made, str(path))
    return path


def pair(source, target, scale="s", zero="z"):
    return [
        helper.make_node("QuantizeLinear", [source, scale, zero], [f"{target}_q"]),
        helper.make_node("DequantizeLinear", [f"{target}_q", scale, zero], [target]),
    ]


@pytest.mark.parametrize(
    ("nodes", "why"),
    [
        (
            [*pair("x", "a"), helper.make_node("Det", ["a"], ["y"])],
            "this operator is not supported",
        ),
        ([*pair("x", "a", "bad"), *pair("a", "y")], "must be positive and finite"),
        ([*pair("x", "a", zero="wider"), *pair("a", "y")], "activations of int32"),
        ([*pair("x", "a"), helper.make_node("NonZero", ["a"], ["y"])], "NonZero"),
        (
            [
                *pair("x", "a"),
                helper.make_node("DequantizeLinear", ["square", "s"], ["w"]),
                helper.make_node("MatMul", ["a", "w"], ["b"]),
                helper.make_node("Tanh", ["b"], ["c"]),
                *pair("c", "y"),
            ],
            "is not quantized: put a QuantizeLinear",
        ),
    ],
)
def test_a_file_without_a_meaning_is_refused_in_a_sentence(tmp_path, nodes, why):
    with pytest.raises(ModelError, match=why):
        qemu_nn.load(saved(tmp_path, nodes))


def test_a_quantized_file_is_not_cut(file):
    with pytest.raises(ModelError, match="read whole: leave out input= and output="):
        qemu_nn.load(file("branchy_s8_pc"), input="x")


def test_functions_of_one_number_have_onnx_runtime_s_rounding(tmp_path):
    nodes = [*pair("x", "a"), helper.make_node("Sigmoid", ["a"], ["b"]), *pair("b", "y", "t")]
    network = qemu_nn.load(saved(tmp_path, nodes, t=np.array(0.01, np.float32)))
    codes = np.arange(-128, 128, dtype=np.int8).reshape(-1, 4)
    real = (codes.astype(np.float32) - 3) * np.float32(0.05)
    want = np.rint(1 / (1 + np.exp(-real.astype(float))) / 0.01) + 3
    got = network.session().run(codes)[network.graph.outputs[0]]
    assert (got == np.clip(want, -128, 127)).all()


@pytest.mark.parametrize("name", ["unit_conv_relu", "branchy_s8_pc", "cnn_s8_qop_pc"])
def test_a_damaged_file_is_refused_or_harmless(name, tmp_path):
    data, path = bytearray(QDQ.own()[name]["file"].tobytes()), tmp_path / "net.onnx"
    for number in range(60):
        rng = np.random.default_rng(number)
        damaged = bytearray(data)
        for at in rng.integers(0, len(data), 3):
            damaged[at] = rng.integers(256)
        path.write_bytes(
            bytes(damaged[: rng.integers(1, len(data))] if number % 4 == 0 else damaged)
        )
        try:
            network = qemu_nn.load(path)
        except ModelError as error:
            assert "\n" not in str(error)  # noqa: PT017
            continue
        if isinstance(network, qemu_nn.FloatNetwork):
            continue
        try:
            x = {t.name: np.ones((1, *t.shape), t.dtype) for t in network.graph.inputs}
            network.session().run(x)
        except qemu_nn.Error:  # what the device has not
            continue


def test_a_place_of_each_sample_is_a_number_and_no_vector(tmp_path):
    """ArgMax without keepdims makes (N,), which labels are compared with."""
    start = helper.make_tensor_value_info("x", TensorProto.FLOAT, ("N", 7))
    end = helper.make_tensor_value_info("y", TensorProto.INT64, ("N",))
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "scale", "zero"], ["real"]),
        helper.make_node("ArgMax", ["real"], ["y"], axis=1, keepdims=0),
    ]
    arrays = {"scale": np.float32(0.1), "zero": np.int8(3)}
    constants = [numpy_helper.from_array(array, name) for name, array in arrays.items()]
    graph = helper.make_graph(nodes, "places", [start], [end], constants)
    onnx.save(
        helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 19)]),
        tmp_path / "places.onnx",
    )
    network = qemu_nn.load(tmp_path / "places.onnx")
    x = np.random.default_rng(0).normal(size=(5, 7))
    network.save(tmp_path / "places.qnz")
    for each in (network, qemu_nn.load(tmp_path / "places.qnz")):
        np.testing.assert_array_equal(each.predict(x), x.argmax(1))
    assert network.predict(x[0]) == x[0].argmax()
