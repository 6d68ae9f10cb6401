"""Names that users know from elsewhere: completion, tensors, LiteRT's and ONNX Runtime's calls."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from float_classifiers import float_network
from networks import recurrent

import qemu_nn
from qemu_nn.api.golden import example
from qemu_nn.errors import Error

DEMO = Path(qemu_nn.__file__).parent / "demo"


@pytest.fixture
def digits():
    network, x, _ = example()
    return network, x


def test_completion_lists_the_public_names():
    code = "import qemu_nn; print(*dir(qemu_nn))"
    listed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert set(qemu_nn.__all__) <= set(listed.stdout.split())
    assert {"load", "quantize", "golden", "compare", "variants", "Interpreter"} <= set(
        qemu_nn.__all__
    )


def test_networks_say_their_tensors_and_layers(digits):
    network, _ = digits
    (start,), (end,) = network.inputs, network.outputs
    assert start == ("image", (8, 8, 1), "int8", 2.0**-7, 0)
    assert (end.name, end.shape, end.dtype) == ("softmax", (10,), "int8")
    first, last = network.layers[0], network.layers[-1]
    assert (first.name, first.function) == ("conv1", "arm_convolve_HWC_q7_basic")
    assert (last.inputs, last[3:]) == (("fc",), end[1:])
    net = float_network()
    assert net.inputs[0] == (net.graph.input, net.graph.shape, "float32", None, None)
    assert [layer.name for layer in net.layers] == [node.name for node in net.graph.nodes]
    assert net.outputs[0].shape == net.layers[-1].shape


@pytest.mark.parametrize("kind", [bytes, bytearray])
def test_the_content_of_a_file_is_a_model(kind, digits):
    network, x = digits
    read = qemu_nn.load(kind((DEMO / "digits.qnz").read_bytes()))
    wanted = network.session().run(x)["softmax"]
    np.testing.assert_array_equal(read.session().run(x)["softmax"], wanted)
    assert qemu_nn.evaluate(kind((DEMO / "digits.qnz").read_bytes()), x).samples == len(x)


def test_a_model_of_onnx_in_memory_is_read():
    onnx = pytest.importorskip("onnx")
    model = onnx.load(DEMO / "digits.onnx")
    read = qemu_nn.load(model)
    x = np.random.default_rng(0).normal(size=(3, *read.graph.shape)).astype(np.float32)
    np.testing.assert_array_equal(read.predict(x), qemu_nn.load(DEMO / "digits.onnx").predict(x))


def test_what_is_no_model_is_refused():
    with pytest.raises(Error, match="a model must be a path, not 5"):
        qemu_nn.load(5)
    with pytest.raises(Error, match="has no known format"):
        qemu_nn.load(b"nothing")


def test_networks_and_reports_compare_by_identity(digits):
    network, x = digits
    other, _, _ = example()
    report = qemu_nn.evaluate(network, x)
    session = network.session()
    for one, two in (
        (network, other),
        (float_network(), float_network()),
        (session, network.session()),
        (report, qemu_nn.evaluate(network, x)),
    ):
        assert one == one
        assert one != two
        assert one in [two, one]
        assert len({one, two}) == 2


def test_the_interpreter_computes_the_bytes_of_a_session(digits):
    network, x = digits
    interpreter = qemu_nn.Interpreter(model_content=network, target="m3")
    interpreter.allocate_tensors()
    (start,), (end,) = interpreter.get_input_details(), interpreter.get_output_details()
    assert (start["name"], start["dtype"], start["shape"].tolist()) == (
        *("image", np.int8),
        [1, 8, 8, 1],
    )
    assert start["quantization"] == (2.0**-7, 0)
    assert end["shape"].tolist() == [1, 10]
    wanted = network.session("m3").run(x[:3])["softmax"]
    for row in range(3):
        interpreter.set_tensor(start["index"], x[row : row + 1])
        interpreter.invoke()
        np.testing.assert_array_equal(interpreter.get_tensor(end["index"])[0], wanted[row])
    np.testing.assert_array_equal(interpreter.get_tensor(start["index"]), x[2:3])


def test_the_interpreter_keeps_states_until_they_are_reset():
    network = qemu_nn.Network(recurrent())
    steps = np.random.default_rng(0).integers(-999, 999, (1, 3, 4)).astype(np.int16)
    wanted = network.session().run(steps)
    interpreter = qemu_nn.Interpreter(model_content=network)
    end = interpreter.get_output_details()[0]
    for _ in range(2):
        for step in range(3):
            interpreter.set_tensor(0, steps[:, step])
            interpreter.invoke()
            got = interpreter.get_tensor(end["index"])
            np.testing.assert_array_equal(got, wanted[end["name"]][:, step])
        interpreter.reset_all_variables()


def test_the_interpreter_refuses_in_sentences(digits):
    network, x = digits
    interpreter = qemu_nn.Interpreter(model_content=network)
    with pytest.raises(Error, match=r"call allocate_tensors\(\) before invoke"):
        interpreter.invoke()
    interpreter.allocate_tensors()
    with pytest.raises(Error, match=r"call invoke\(\) before get_tensor"):
        interpreter.get_tensor(1)
    with pytest.raises(Error, match=r"is given as float64 \[1, 8, 8, 1\], but must be int8"):
        interpreter.set_tensor(0, x[:1] / 2)
    with pytest.raises(Error, match="there is no input with the index 1"):
        interpreter.set_tensor(1, x[:1])
    with pytest.raises(Error, match="inputs have the shapes of the file"):
        interpreter.resize_tensor_input(0, [2, 8, 8, 1])
    for how in ({}, {"model_path": "a", "model_content": b"b"}):
        with pytest.raises(Error, match="model_path= and model_content= are given"):
            qemu_nn.Interpreter(**how)
    with pytest.raises(Error, match="is a float network; quantize it first"):
        qemu_nn.Interpreter(model_content=float_network())


def test_a_session_takes_feeds_as_onnx_runtime_does(digits):
    network, x = digits
    session = network.session()
    (got,) = session.run(None, {"image": x})
    np.testing.assert_array_equal(got, session.run(x)["softmax"])
    (named,) = session.run(["softmax"], {"image": x})
    np.testing.assert_array_equal(named, got)
    with pytest.raises(Error, match="no output 'fc'; have: softmax"):
        session.run(["fc"], {"image": x})
