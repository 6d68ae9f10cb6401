"""Float networks in .tflite files: the floats of LiteRT, and all that a float network does."""

import re
import warnings
from contextlib import redirect_stdout
from io import StringIO

import numpy as np
import pytest
from float_tflite import CONVERTED, NAMES, RECORDED, Net, convolve, draw, make, run_litert
from paths import ROOT

import qemu_nn
from qemu_nn.errors import Error, ModelError


def evaluate(net, folder):
    """Return the outputs of a file, in its order."""
    network = qemu_nn.load(net.save(folder))
    assert isinstance(network, qemu_nn.FloatNetwork)
    made = network.evaluate(draw(net))
    return [made[name] for name in network.graph.outputs]


def compare(made, wanted):
    """Assert that outputs are equal within rounding: sums have different orders."""
    assert len(made) == len(wanted)
    for one, right in zip(made, wanted):
        largest = max(1.0, np.abs(right).max())
        np.testing.assert_allclose(one.ravel(), right.ravel(), rtol=0, atol=1e-5 * largest)


@pytest.mark.parametrize("name", NAMES)
def test_a_file_has_the_recorded_floats_of_litert(name, tmp_path):
    with np.load(RECORDED) as recorded:
        count = sum(key.rpartition("/")[0] == name for key in recorded)
        wanted = [recorded[f"{name}/{at}"] for at in range(count)]
    assert wanted
    compare(evaluate(make(name), tmp_path), wanted)


@pytest.mark.parametrize("name", NAMES)
def test_a_recording_has_the_floats_of_litert(name, tmp_path):
    pytest.importorskip("ai_edge_litert", reason="compares with LiteRT")
    net = make(name)
    made = run_litert(net.save(tmp_path), draw(net))
    with np.load(RECORDED) as recorded:
        compare(made, [recorded[f"{name}/{at}"] for at in range(len(made))])


with np.load(CONVERTED) as stored:
    FILES = sorted({key.partition("/")[0] for key in stored})


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_a_converter_has_the_floats_of_litert(name, tmp_path):
    path = tmp_path / f"{name}.tflite"
    with np.load(CONVERTED) as recorded:
        path.write_bytes(recorded[f"{name}/file"].tobytes())
        x = recorded[f"{name}/x"]
        wanted = [recorded[key] for key in recorded if key[: len(name) + 1] == f"{name}/"][2:]
    compare(list(qemu_nn.load(path).evaluate(x).values()), wanted)


def test_images_have_the_layout_of_the_file(tmp_path):
    layouts = {
        name: qemu_nn.load(make(name).save(tmp_path)).graph.layout
        for name in ("conv", "channels_first", "dense")
    }
    assert layouts == {"conv": "NHWC", "channels_first": "NCHW", "dense": None}


@pytest.mark.parametrize(
    "name", ["conv_strided", "channels_first", "dense", "hard_swish", "batch_of_four"]
)
def test_a_float_file_is_quantized_as_one_of_another_format(name, tmp_path):
    net = make(name)
    path, data = net.save(tmp_path), draw(net, 32)
    network = qemu_nn.load(path)
    quantized = qemu_nn.quantize(path, data, scheme="affine")
    real, own = network.predict(data), quantized.predict(data)
    assert real.shape == own.shape
    assert np.abs(real - own).max() < 0.05 * np.abs(real).max()
    assert qemu_nn.analyze(quantized, data).layers


def test_any_number_of_samples_is_taken(tmp_path):
    net = make("batch_of_four")
    network = qemu_nn.load(net.save(tmp_path))
    x = draw(net, 4)
    whole = network.predict(x)
    assert whole.shape == (4, 3)
    np.testing.assert_allclose(network.predict(x[2:3]), whole[2:3], rtol=1e-6)


def test_a_network_with_weights_of_bytes_has_those_floats(tmp_path):
    """Read weights of INT8 without a DEQUANTIZE, which LiteRT multiplies by integers."""
    net = Net()
    x, weights = net.x(1, 4), net.bytes_of(3, 4)
    options = {"FusedActivationFunction": "NONE"}
    inputs = [x, weights, -1]
    net.end(net.apply("FULLY_CONNECTED", inputs, (1, 3), "FullyConnectedOptions", **options))
    entry = net.tensors[weights]
    data = np.frombuffer(net.buffers[entry["buffer"]], np.int8).reshape(3, 4)
    right = draw(net) @ (data * entry["scales"][:, None]).T
    compare(evaluate(net, tmp_path), [right])


def test_float_operators_of_a_device_stay_those_of_the_device(tmp_path):
    net = Net()
    x = net.x(1, 4)
    net.end(net.apply("ADD", [x, x], (1, 4), "AddOptions"))
    assert isinstance(qemu_nn.load(net.save(tmp_path)), qemu_nn.Network)


def test_a_signature_selects_a_graph(tmp_path):
    net = make("dense")
    net.graphs.append(make("dense_of_an_image"))
    net.graphs[0].buffers = net.buffers
    for entry in net.graphs[0].tensors:
        entry["buffer"] = 0
    weights = net.graphs[0].tensors[1]
    weights["buffer"] = len(net.buffers)
    net.buffers.append(np.ones(weights["shape"], np.float32).tobytes())
    net.signatures = [("first", 0), ("second", 1)]
    path = net.save(tmp_path)
    assert qemu_nn.load(path).graph.shape == (10,)
    assert qemu_nn.load(path, signature="second").graph.shape == (2, 3, 4)


def test_check_says_that_the_network_is_not_quantized(tmp_path):
    path = make("conv").save(tmp_path)
    (found,) = qemu_nn.check(path).models
    assert found.reasons == ("it is a float network; quantize it first",)
    assert found.operators == 1


def test_check_names_each_operator_that_is_not_supported(tmp_path):
    net = Net()
    x = net.x(1, 4, 4, 2)
    made = convolve(net, x, (1, 4, 4, 2), net.floats(2, 1, 1, 2), net.floats(2))
    odd = net.apply("LOCAL_RESPONSE_NORMALIZATION", [made], (1, 4, 4, 2))
    net.end(net.apply("RELU", [odd], (1, 4, 4, 2)))
    path = net.save(tmp_path)
    with pytest.raises(ModelError, match=r"LOCAL_RESPONSE_NORMALIZATION \(operator 1\): the opera"):
        qemu_nn.load(path)
    (found,) = qemu_nn.check(path).models
    assert len(found.reasons) == 2
    assert found.reasons[1].startswith("RELU (operator 2): not looked at")


def change(index, **fields):
    return lambda net: net.tensors[index].update(fields)


REFUSED = {
    "the input tensor 0 .* has no fixed size on axis 2": change(0, signature=[-1, 6, -1, 3]),
    "its input 1 must be finite floats": lambda net: net.buffers.__setitem__(
        1, np.full(108, np.nan, np.float32).tobytes()
    ),
    r"CONV_2D \(operator 0\): tensor 1 .* has blockwise scales": change(
        1, details=(2, 2, 32), type="INT4"
    ),
    "its weights are .*; they must have 4 axes": change(1, shape=[4, 27]),
    "its bias has 2 elements; it must have 4": lambda net: (
        net.tensors[2].update(shape=[2]),
        net.buffers.__setitem__(2, bytes(8)),
    ),
    "do not fit an image of 3 channels": change(1, shape=[4, 3, 9, 1]),
    "its fused activation is TANH": lambda net: net.operators[0][4].update(
        FusedActivationFunction="TANH"
    ),
    "its output, tensor 1 .* is a constant": lambda net: net.outputs.append(1),
}


@pytest.mark.parametrize("told", REFUSED)
def test_an_unsupported_file_is_refused_with_its_reason(told, tmp_path):
    net = make("conv")
    REFUSED[told](net)
    with pytest.raises(ModelError, match=told):
        qemu_nn.load(net.save(tmp_path))


@pytest.mark.slow
def test_the_tutorial_prints_what_it_says(tmp_path, monkeypatch):
    """Compare words; numbers may differ with other releases."""
    for name in ("litert_torch", "litert_quantizer", "tflite_micro"):
        pytest.importorskip(name, reason="the tutorial converts a network of PyTorch")
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "tutorials" / "litert.md").read_text("utf-8")
    blocks = re.findall(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", page, re.S)
    assert len(blocks) == 6
    scope = {"__name__": "__main__"}
    for code, printed in blocks:
        output = StringIO()
        with redirect_stdout(output):
            exec(compile(code, "litert.md", "exec"), scope)
        if printed:
            said, wanted = (
                re.sub(r"-?[\d.]+", "#", t).split() for t in (output.getvalue(), printed)
            )
            assert said == wanted


@pytest.mark.parametrize(
    ("last", "told"),
    [
        (300, r"WHILE \(operator 1\): it has more than 256 iterations"),
        (None, r"WHILE \(operator 1\): its condition is computed; it must depend on constants"),
    ],
)
def test_a_loop_without_a_known_end_is_refused(last, told, tmp_path):
    net = make("loop_of_steps")
    condition, body = net.graphs
    if last is None:  # compare the state, which begins with the input
        given = net.operators[1][1]
        given[2] = given[3]
        state = condition.inputs[2]
        condition.operators[0] = ("LESS", [state, state], condition.outputs, None, {})
    else:
        net.buffers[condition.tensors[4]["buffer"]] = np.int32(last).tobytes()
        body.outputs[0] = body.inputs[0]
    with pytest.raises(ModelError, match=told):
        qemu_nn.load(net.save(tmp_path))


def test_a_part_of_a_float_file_is_read(tmp_path):
    net = make("max_pool")
    path, x = net.save(tmp_path), draw(net)
    whole = qemu_nn.load(path)
    traced = whole.evaluate(x, trace=True)
    conv, pool, scores = (node.name for node in whole.graph.nodes)
    first = qemu_nn.load(path, output=pool)
    np.testing.assert_array_equal(first.evaluate(x)[pool], traced[pool])
    last = qemu_nn.load(path, input=conv)
    assert [node.name for node in last.graph.nodes] == [pool, scores]
    np.testing.assert_array_equal(last.evaluate(traced[conv])[scores], traced[scores])


def test_a_part_needs_tensors_of_a_float_network(tmp_path):
    path = make("max_pool").save(tmp_path)
    with pytest.raises(ModelError, match="it has no tensor 'none'; its inputs and outputs are"):
        qemu_nn.load(path, output="none")
    with pytest.raises(ModelError, match="its outputs need no input; a network must have one"):
        qemu_nn.load(path, output="t1")
    quantized = qemu_nn.quantize(path, draw(make("max_pool"), 8), scheme="affine")
    quantized.save(tmp_path / "int8.tflite")
    with pytest.raises(Error, match="a quantized file is read whole"):
        qemu_nn.load(tmp_path / "int8.tflite", input="input")


@pytest.mark.parametrize("name", ["conv", "parts", "lstm", "loop_of_steps", "dilated_signal"])
def test_damaged_files_are_refused_or_run(name, tmp_path):
    data, path, said = make(name).bytes(), tmp_path / "net.tflite", []
    for seed in range(30):
        rng, damaged = np.random.default_rng(seed), bytearray(data)
        damaged[rng.integers(len(data))] = rng.integers(256)
        path.write_bytes(damaged)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                network = qemu_nn.load(path)
                if isinstance(network, qemu_nn.FloatNetwork):
                    network.evaluate(np.ones((1, *network.graph.shape), np.float32))
            except Error as error:
                said.append(str(error))
    assert all("net.tflite" in each and "\n" not in each for each in said)
    assert 0 < len(said) < 30


def test_weights_with_more_zero_points_than_scales_are_refused(tmp_path):
    net = make("weights_of_bytes")
    net.tensors[1].update(scales=np.float32([0.01]), zeros=np.int64([0, 1, 2]))
    with pytest.raises(ModelError, match="has 1 scales for axis 0"):
        qemu_nn.load(net.save(tmp_path))


def test_gates_of_several_shapes_are_refused(tmp_path):
    net = make("lstm")
    net.tensors[1]["shape"] = [3, 4]
    with pytest.raises(ModelError, match=r"its inputs from 1 on are .*; the gates must have one"):
        qemu_nn.load(net.save(tmp_path))
