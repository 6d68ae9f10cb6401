"""Float networks of several inputs: read, computed, quantized, analyzed, exported."""

import numpy as np
import pytest

pytest.importorskip("onnx")
pytest.importorskip("h5py")

import exported
import keras_files as kf
from float_tflite import Net
from onnx_models import model, node, value, write

import qemu_nn
from qemu_nn.cli.main import main
from qemu_nn.errors import Error

DRAW = np.random.default_rng(3)
FILTERS, MIX = DRAW.normal(size=(3, 2, 3, 3)), DRAW.normal(size=(7, 3))
A, B = DRAW.normal(size=(5, 4)), DRAW.normal(size=(3, 4))
DATA = {"img": DRAW.normal(size=(40, 2, 6, 5)), "vec": DRAW.normal(size=(40, 4))}
ROWS = {"a": DRAW.normal(size=(40, 5)), "b": DRAW.normal(size=(40, 3))}


def onnx_file(folder):
    """Write a network of an image and of further figures, and return it."""
    floats = {"w": FILTERS, "m": MIX}
    proto = model(
        [
            node("Conv", "img w", "conv", pads=[1, 1, 1, 1]),
            node("Relu", "conv", "act"),
            node("GlobalAveragePool", "act", "pool"),
            node("Flatten", "pool", "flat"),
            node("Concat", "flat vec", "both", axis=1),
            node("MatMul", "both m", "y"),
        ],
        (2, 6, 5),
        {name: array.astype(np.float32) for name, array in floats.items()},
    )
    proto.graph.input[0].name = "img"
    proto.graph.input.append(value("vec", ["n", 4]))
    return write(folder, proto)


def keras_file(folder):
    """Write a sum of two layers of inputs, and return it."""
    starts = {"a": A, "b": B}
    whole = kf.functional(
        *(
            kf.layer("InputLayer", name, inbound=[], batch_shape=[None, len(weights)])
            for name, weights in starts.items()
        ),
        *(
            kf.layer("Dense", f"{name}_dense", [weights, np.zeros(4)], inbound=[name])
            for name, weights in starts.items()
        ),
        kf.layer("Add", "y", inbound=["a_dense", "b_dense"]),
        inputs=["a", "b"],
        outputs=["y"],
    )
    return kf.write_h5(folder / "net.h5", whole)


def tflite_file(folder):
    """Write the same network as a .tflite file, and return it."""
    net = Net()
    made = []
    for name, weights in (("a", A), ("b", B)):
        x = net.tensor((1, len(weights)), "FLOAT32", name=name)
        net.inputs.append(x)
        constant = net.tensor(weights.T.shape, "FLOAT32", data=weights.T)
        made.append(net.apply("FULLY_CONNECTED", [x, constant, -1], (1, 4)))
    net.end(net.apply("ADD", made, (1, 4)))
    return net.save(folder)


def image_and_figures(data):
    """Return what the network of onnx_file() computes."""
    image = np.pad(data["img"], ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(image, (3, 3), (2, 3))
    made = np.maximum(np.einsum("ncyxij,ocij->noyx", windows, FILTERS), 0).mean((2, 3))
    return np.concatenate([made, data["vec"]], 1) @ MIX


def sum_of_layers(data):
    """Return what the other two networks compute."""
    return data["a"] @ A + data["b"] @ B


FILES = {
    "onnx": (onnx_file, DATA, image_and_figures),
    "keras": (keras_file, ROWS, sum_of_layers),
    "tflite": (tflite_file, ROWS, sum_of_layers),
}


@pytest.mark.parametrize("kind", FILES)
def test_a_network_of_two_inputs_is_read_and_computed(tmp_path, kind):
    make, data, meaning = FILES[kind]
    network = qemu_nn.load(make(tmp_path))
    assert {each.name: each.shape for each in network.inputs} == {
        name: array.shape[1:] for name, array in data.items()
    }
    wanted = meaning(data)
    for given in (data, [*data.values()]):
        np.testing.assert_allclose(network.predict(given), wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("kind", FILES)
def test_a_network_of_two_inputs_is_quantized(tmp_path, kind, bits):
    make, data, meaning = FILES[kind]
    quantized = qemu_nn.quantize(qemu_nn.load(make(tmp_path)), data, scheme="affine", bits=bits)
    assert [tensor.name for tensor in quantized.graph.inputs] == [*data]
    wanted = meaning(data)
    away = np.abs(quantized.predict(data) - wanted).max() / np.abs(wanted).max()
    assert away < 0.05
    report = qemu_nn.analyze(quantized, data)
    assert {*data} <= {layer.name for layer in report.layers}
    assert report.layers[-1].whole.sqnr > 25
    assert qemu_nn.evaluate(quantized, data).samples == 40
    quantized.save(tmp_path / "net.qnz")
    again = qemu_nn.load(tmp_path / "net.qnz")
    np.testing.assert_array_equal(again.predict(data), quantized.predict(data))


@pytest.mark.compiles
@exported.needs("pc")
@pytest.mark.parametrize("kind", FILES)
def test_an_export_computes_the_goldens_of_both_inputs(tmp_path, kind):
    make, data, _ = FILES[kind]
    quantized = qemu_nn.quantize(qemu_nn.load(make(tmp_path)), data, scheme="affine")
    few = {name: array[:2] for name, array in data.items()}
    code, lines = exported.check(exported.write(tmp_path / "c", quantized, data=few))
    assert (code, [line[:4] for line in lines[-1:]]) == (0, ["PASS"])


def test_the_command_line_takes_a_file_for_each_input(tmp_path):
    path = onnx_file(tmp_path)
    given = []
    for name, array in DATA.items():
        np.save(tmp_path / f"{name}.npy", array)
        given += ["--data", f"{name}={tmp_path / name}.npy"]
    made = tmp_path / "net.qnz"
    for words in (["quantize", path, "-o", made], ["run", made, "-o", tmp_path / "out.npz"]):
        with pytest.raises(SystemExit) as ended:
            main([*map(str, words), *given])
        assert ended.value.code == 0
    with np.load(tmp_path / "out.npz") as found:
        assert found["y"].shape == (40, 3)


def test_what_takes_one_input_says_so(tmp_path):
    network = qemu_nn.load(keras_file(tmp_path))
    for how in ({"method": "search"}, {"effort": "best"}, {"budget": {"flash": 10}}):
        with pytest.raises(Error, match="has several inputs: method='search', effort='best' and"):
            qemu_nn.quantize(network, ROWS, scheme="affine", **how)
    data = qemu_nn.Dataset(ROWS, preprocessing=qemu_nn.Preprocessing(scale=2))
    with pytest.raises(Error, match="several inputs: give their values without a preprocessing"):
        qemu_nn.quantize(network, data, scheme="affine")
    with pytest.raises(Error, match=r"'a', 'b', or x0, x1, \.\.\. in order"):
        qemu_nn.quantize(network, {"a": ROWS["a"]}, scheme="affine")
