"""Images in a result have the layout of the file that was loaded, or of layout=."""

import pickle

import numpy as np
import pytest

import qemu_nn
from qemu_nn.api import golden
from qemu_nn.ir.float_graph import FloatGraph, FloatNode
from qemu_nn.operators import Conv, Relu, Reshape

#: Samples NCHW of 3 channels, 6 rows, 5 columns.
X = np.random.default_rng(3).uniform(-1, 1, (8, 3, 6, 5)).astype(np.float32)
LAYOUTS = {"NCHW": (8, 4, 6, 5), "NHWC": (8, 6, 5, 4)}


def float_network(layout, output="image"):
    """Return a network with an image of 4 channels, and an output of three axes that is none."""
    rng = np.random.default_rng(4)
    weights, bias = rng.normal(size=(4, 1, 1, 3)).astype(np.float32), np.zeros(4, np.float32)
    nodes = (
        FloatNode("conv", Conv(weights, bias, layout=layout), ("x",)),
        FloatNode("image", Relu(), ("conv",)),
        FloatNode("boxes", Reshape((2, 5, 12)), ("image",)),
    )
    shape = (3, 6, 5) if layout == "NCHW" else (6, 5, 3)
    return qemu_nn.FloatNetwork(FloatGraph("net", "x", shape, layout, nodes, (output,)))


def samples(layout):
    return X if layout == "NCHW" else np.moveaxis(X, 1, -1)


def quantized(layout, scheme, tmp_path):
    """Return the network that quantize() makes, and the same after it was saved and loaded."""
    network = qemu_nn.quantize(float_network(layout), samples(layout), scheme=scheme)
    network.save(tmp_path / "net.qnz")
    return network, qemu_nn.load(tmp_path / "net.qnz")


@pytest.mark.parametrize("scheme", ["power2", "affine"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_quantized_network_returns_images_as_its_float_network_does(layout, scheme, tmp_path):
    expected = float_network(layout).predict(samples(layout))
    assert expected.shape == LAYOUTS[layout]
    for network in quantized(layout, scheme, tmp_path):
        found = network.predict(samples(layout))
        assert found.shape == expected.shape
        assert network.host.output_layouts() == {"image": layout}
        assert np.abs(found - expected).max() < 0.1 * np.abs(expected).max()
        (one,) = qemu_nn.run(network, samples(layout), real=True).values()
        np.testing.assert_array_equal(one, found)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("wanted", LAYOUTS)
def test_the_layout_that_is_asked_for_counts(layout, wanted, tmp_path):
    expected = float_network("NCHW").predict(X)
    expected = expected if wanted == "NCHW" else np.moveaxis(expected, 1, -1)
    found = float_network(layout).predict(samples(wanted), layout=wanted)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    for network in quantized(layout, "affine", tmp_path):
        given = network.predict(samples(wanted), layout=wanted)
        assert given.shape == LAYOUTS[wanted]
        assert network.host.output_layouts(wanted) == {"image": wanted}
        assert np.abs(given - expected).max() < 0.1 * np.abs(expected).max()


def test_a_tflite_file_is_channels_last(tmp_path):
    network = qemu_nn.quantize(float_network("NCHW"), X, scheme="affine")
    network.save(tmp_path / "net.tflite")
    loaded = qemu_nn.load(tmp_path / "net.tflite")
    last = loaded.predict(np.moveaxis(X, 1, -1))
    assert last.shape == LAYOUTS["NHWC"]
    np.testing.assert_array_equal(np.moveaxis(last, -1, 1), loaded.predict(X, layout="NCHW"))
    np.testing.assert_allclose(np.moveaxis(last, -1, 1), network.predict(X), atol=1e-6)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_outputs_that_are_no_images_keep_their_axes(layout):
    network = float_network(layout, "boxes")
    expected = network.predict(samples(layout))
    found = qemu_nn.quantize(network, samples(layout), scheme="affine").predict(samples(layout))
    assert found.shape == expected.shape == (8, 2, 5, 12)
    assert np.abs(found - expected).max() < 0.1 * np.abs(expected).max()


@pytest.mark.parametrize("given", [None, "NCHW", "NHWC"])
@pytest.mark.parametrize(
    "made", [float_network, lambda file: qemu_nn.quantize(float_network(file), X)]
)
def test_arrays_of_images_tell_their_layout(made, given):
    network = made("NCHW")
    x = X if given != "NHWC" else np.moveaxis(X, 1, -1)
    images, single = network.predict(x, given), network.predict(x[0], given)
    assert images.layout == given or (given, images.layout) == (None, "NCHW")
    assert images.shape == LAYOUTS[images.layout]
    assert single.layout == images.layout[1:]
    for made_of_it in (images[:1], images + 1, images.T, np.asarray(images)):
        assert getattr(made_of_it, "layout", None) is None
    assert pickle.loads(pickle.dumps(images)).layout == images.layout
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(images)), np.asarray(images))


def test_arrays_that_are_no_images_are_plain():
    network, x, _ = golden.example()
    assert type(network.predict(x[:2])) is np.ndarray
