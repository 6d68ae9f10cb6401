"""The keyword example: a Keras network's headers hold the shifts and weights of the formulas."""

import re

import numpy as np
import pytest
from published_float_models import FLOAT

import qemu_nn

FOLDER = FLOAT / "keras_kws_cnn"
LAYERS = ("conv1", "conv2", "dense1", "dense2", "dense3")

pytestmark = pytest.mark.skipif(
    not FOLDER.is_dir(), reason="the published float networks are not here"
)


def dec_bit(values):
    """Compute the formula of the example: 7 - ceil(log2(max |x|))."""
    return int(7 - np.ceil(np.log2(np.abs(values).max())))


@pytest.fixture(scope="module")
def example():
    pytest.importorskip("h5py", reason="h5py is not installed")
    network = qemu_nn.load(FOLDER / "kws_cnn.h5")
    with np.load(FOLDER / "data.npz") as data:
        x = data["calib_q"] * data["scale"]
    plain = {name: "arm_fully_connected_q7" for name in LAYERS if name.startswith("dense")}
    quantized = qemu_nn.quantize(
        network, x, scheme="power2", options={"functions": plain, "softmax": False}
    )
    return network, x, quantized


def formulas(network, x):
    """Layer -> weights, bias and their fractions, input and output fraction, by the formulas."""
    real = network.evaluate(x.astype(np.float32), trace=True)
    after = dict(zip(LAYERS, ("relu1", "relu2", "relu3", "relu4", "dense3")))
    fi, found = dec_bit(x), {}
    for name in LAYERS:
        operator = network.graph.node(name).operator
        fo = dec_bit(real[after[name]])  # a rectifier passes its format on
        found[name] = (
            operator.weights,
            operator.bias,
            dec_bit(operator.weights),
            dec_bit(operator.bias),
            fi,
            fo,
        )
        fi = fo
    return found


def test_shifts_and_integers_are_those_of_the_formulas(example):
    network, x, quantized = example
    resolved = 0
    for name, (weights, bias, fw, fb, fi, fo) in formulas(network, x).items():
        node = quantized.graph.node(name)
        assert node.params["out_shift"] == fi + fw - fo, name
        if fi + fw < fb:  # a negative shift, which the example sets to 0: a wrong bias
            assert f"{name}: bias {fb} -> {fi + fw} fraction bits" in " ".join(quantized.notes)
            fb, resolved = fi + fw, resolved + 1
        assert node.params["bias_shift"] == fi + fw - fb, name
        for array, real, frac in ((node.weights, weights, fw), (node.bias, bias, fb)):
            expected = np.clip(np.round(real * 2.0**frac), -128, 127)
            got = quantized.graph.arrays[array].reshape(expected.shape)
            np.testing.assert_array_equal(got, expected, f"{name} {array}")
    assert resolved >= 1


def test_the_header_carries_them(example, tmp_path):
    pytest.importorskip("jinja2", reason="jinja2 is not installed")
    _, x, quantized = example
    qemu_nn.export(quantized, tmp_path / "fw", one_header=True)
    header = (tmp_path / "fw" / "layers.h").read_text()
    for name in LAYERS:
        node = quantized.graph.node(name)
        for what in ("out_shift", "bias_shift"):
            line = f"#define {name.upper()}_{what.upper()} {node.params[what]}\n"
            assert line in header
        for what, array in (("WEIGHT", node.weights), ("BIAS", node.bias)):
            text = re.search(rf"#define {name.upper()}_{what} {{([^}}]*)}}", header).group(1)
            numbers = [int(word) for word in re.findall(r"-?\d+", text)]
            assert numbers == quantized.graph.arrays[array].ravel().tolist()
    assert f"#define INPUT_1_DEC_BITS {dec_bit(x)}\n" in header
