"""Layers of QKeras: weights and activations as QKeras 0.9.0 itself rounds them."""

import json
import lzma

import numpy as np
import pytest
from paths import GOLDEN

pytest.importorskip("h5py")

import keras_files as kf

import qemu_nn
from qemu_nn.errors import ModelError

with np.load(GOLDEN / "qkeras.npz") as recorded:
    RECORDED = {key: recorded[key] for key in recorded}
#: Quantizers of kernels: those that have a scale, or choose one.
WEIGHTS = sorted({key.split(".")[1] for key in RECORDED if key.startswith("w.")} - {"bits_none"})
BIASES = ("bits_none", "bits_1", "binary_1", "ternary_t", "po2_max")
ACTIVATIONS = {
    str(RECORDED[key]): key[:-2] for key in RECORDED if key.startswith("a.") and key.endswith(".t")
}


def side_by_side(folder, shape, layers):
    """Load layers on one input; layers: name -> kind, weights, options."""
    start = kf.layer("InputLayer", "x", inbound=[], batch_shape=[None, *shape])
    rest = [
        kf.layer(kind, name, arrays, inbound=["x"], **options)
        for name, (kind, arrays, options) in layers.items()
    ]
    whole = kf.functional(start, *rest, inputs=["x"], outputs=[*layers])
    return qemu_nn.load(kf.write_h5(folder / "net.h5", whole))


def q_dense(folder, weights, **options):
    """Load a network of one QDense without a bias."""
    shape = [None, len(weights)]
    layer = kf.layer("QDense", "q", [weights], batch_input_shape=shape, use_bias=False, **options)
    return qemu_nn.load(kf.write_h5(folder / "net.h5", kf.sequential(layer)))


def q_activation(folder, activation, sides=(293,)):
    """Load a network of one QActivation."""
    shape = [None, *sides]
    layer = kf.layer("QActivation", "q", batch_input_shape=shape, activation=activation)
    return qemu_nn.load(kf.write_h5(folder / "net.h5", kf.sequential(layer)))


def test_weights_are_rounded_as_qkeras_does(tmp_path):
    layers = {}
    for name in WEIGHTS:
        config = json.loads(str(RECORDED[f"w.{name}.c"]))
        options = {"use_bias": False, "kernel_size": [3], "kernel_quantizer": config}
        layers[name] = ("QConv1D", [RECORDED[f"w.{name}.x"]], options)
    network = side_by_side(tmp_path, (7, 4), layers)
    found = [n.operator.weights for n in network.graph.nodes if hasattr(n.operator, "weights")]
    for name, weights in zip(WEIGHTS, found):
        wanted = RECORDED[f"w.{name}.y"].transpose(2, 0, 1)
        np.testing.assert_allclose(weights[:, :, 0], wanted, rtol=1e-6, atol=0, err_msg=name)


def test_biases_are_rounded_as_qkeras_does(tmp_path):
    layers = {}
    for name in BIASES:
        options = {"bias_quantizer": json.loads(str(RECORDED[f"w.{name}.c"]))}
        arrays = [np.ones((2, 60)), RECORDED[f"w.{name}.x"].ravel()]
        layers[name] = ("QDense", arrays, options)
    found = side_by_side(tmp_path, (2,), layers).evaluate(np.zeros((1, 2)))
    for name in BIASES:
        wanted = RECORDED[f"w.{name}.y"].ravel()
        np.testing.assert_allclose(found[name][0], wanted, rtol=1e-6, err_msg=name)


def test_activations_are_rounded_as_qkeras_does(tmp_path):
    layers = {key: ("QActivation", [], {"activation": text}) for text, key in ACTIVATIONS.items()}
    found = side_by_side(tmp_path, (293,), layers).evaluate(RECORDED["a.x"][None])
    for text, key in ACTIVATIONS.items():
        np.testing.assert_array_equal(found[key][0], RECORDED[f"{key}.y"], err_msg=text)


@pytest.mark.parametrize("suffix", ["h5", "keras"])
def test_a_whole_network_computes_what_qkeras_computed(tmp_path, suffix):
    path = tmp_path / f"net.{suffix}"
    path.write_bytes(lzma.decompress(RECORDED[f"net.{suffix}.xz"].tobytes()))
    network, x = qemu_nn.load(path), RECORDED["net.x"]
    np.testing.assert_array_equal(network.predict(x), RECORDED["net.y"])
    quantized = qemu_nn.quantize(network, np.repeat(x, 8, 0), scheme="affine")
    assert np.abs(quantized.predict(x) - RECORDED["net.y"]).mean() < 0.1


def test_a_kernel_without_a_scale_gets_a_power_of_two(tmp_path):
    x = RECORDED["w.bits_po2.x"][0]
    config = json.loads(str(RECORDED["w.bits_po2.c"]))
    with_scale = q_dense(tmp_path, x, kernel_quantizer=config)
    config["config"]["alpha"] = None
    without = q_dense(tmp_path, x, kernel_quantizer=config)
    first, second = (each.graph.nodes[0].operator.weights for each in (with_scale, without))
    np.testing.assert_array_equal(first, second)


BITS = {"class_name": "quantized_bits", "config": {"bits": 4, "alpha": 1}}


def changed(**config):
    return {"class_name": "quantized_bits", "config": {**BITS["config"], **config}}


@pytest.mark.parametrize(
    ("quantizer", "message"),
    [
        ("quantized_linear(4)", "its quantizer 'quantized_linear' is not supported; have: quant"),
        ("quantized_bits(4", "is not a call of a quantizer"),
        ("quantized_bits(open('x'))", "is not a call of a quantizer"),
        ("quantized_relu(4)", "its kernel_quantizer 'quantized_relu' is not supported"),
        (changed(bits="many"), "the bits of its quantized_bits is 'many', not a number"),
        (changed(bits=400), "the bits of its quantized_bits is 399.0; at most 24"),
        (changed(qnoise_factor=0.5), "mixes rounded and other values: set qnoise_factor to 1"),
        ({"class_name": "quantized_bits"}, "its quantizer 'quantized_bits' is not supported"),
        (changed(alpha=[1, 2]), r"the alpha of its quantized_bits is \[1, 2\], not a number"),
        (
            {"class_name": "quantized_po2", "config": {"bits": 4, "log2_rounding": "up"}},
            "must be rnd or floor",
        ),
    ],
)
def test_quantizers_that_cannot_be_read_are_refused(tmp_path, quantizer, message):
    with pytest.raises(ModelError, match=message):
        q_dense(tmp_path, np.ones((3, 2)), kernel_quantizer=quantizer)


def test_a_scale_of_each_batch_is_refused(tmp_path):
    with pytest.raises(ModelError, match="alpha='auto', a scale of the data of each batch"):
        q_activation(tmp_path, "quantized_bits(4, alpha='auto')", (4,))


def test_layers_without_a_counterpart_are_named(tmp_path):
    layer = kf.layer("QSimpleRNN", "q", [], batch_input_shape=[None, 3, 2])
    with pytest.raises(ModelError, match=r"a layer of QKeras, .*; have: QActivation, QConv1D"):
        qemu_nn.load(kf.write_h5(tmp_path / "net.h5", kf.sequential(layer)))
