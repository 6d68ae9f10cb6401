"""Every published float model by TFLite's scheme: close on the s8 functions, or refused by name."""

import numpy as np
import pytest
from test_published_float_models import FLOAT, MODELS, loaded

import qemu_nn
from qemu_nn.errors import ModelError
from qemu_nn.runtime.evaluate import each_tensor

#: Model (what its path starts with) -> the least signal to noise of its scores in dB, or why it
#: cannot run.
PRELU = r"PRelu '[^']+': there is no function for it in CMSIS-NN's s8 API"
LEAST = {
    "caffe_blocks": PRELU,
    "caffe_cifar10_m4": 33,
    "tf_kws_dnn_s": 27,
    "tf_kws_cnn_s": 33,
    "keras_kws_cnn": 34,
    "keras_ds_cnn": 30,
    "keras_mlperf_resnet8": 30,
    "onnx_ds_cnn": 31,
    "onnx_lenet5_digits": 40,
    "onnx_old_opset": 33,
    "onnx_pad_pool": PRELU,
    "onnx_se_block": 35,
    "onnx_shuffle": 33,
}

needs = pytest.mark.skipif(not FLOAT.is_dir(), reason="the published float networks are not here")


def scores(quantized, x):
    """Device's and float network's scores, of images as the reference has them."""
    start, name = quantized.graph.input, quantized.graph.outputs[0]
    real = dict(each_tensor(quantized.reference, x.astype(np.float32)))
    integers = start.format.quantize(real[start.name]).reshape(-1, *start.shape)
    got = quantized.graph.node(name).output.format.dequantize(
        quantized.session().run(integers)[name]
    )
    return got, real[name].reshape(got.shape)


@needs
@pytest.mark.parametrize("name", MODELS)
def test_a_published_model_runs_with_little_noise_or_is_refused_by_its_operator(name):
    network, x = loaded(name)
    expected = next(least for start, least in LEAST.items() if name.startswith(start))
    if isinstance(expected, str):
        with pytest.raises(ModelError, match=expected):
            qemu_nn.quantize(network, x, scheme="affine", softmax=False)
        return
    quantized = qemu_nn.quantize(network, x, scheme="affine", softmax=False)
    got, exact = scores(quantized, np.moveaxis(x, 1, -1) if network.graph.layout == "NCHW" else x)
    noise = np.sum((got - exact) ** 2)
    assert 10 * np.log10(np.sum(exact.astype(float) ** 2) / noise) > expected
    assert qemu_nn.analyze(quantized, x).samples == len(x)


@needs
@pytest.mark.parametrize(
    "method", ["minmax", *(pytest.param(m, marks=pytest.mark.slow) for m in ("mse", "kl", 99.9))]
)
def test_lenet_recognizes_as_many_digits_as_its_float_network(method):
    network, _ = loaded("onnx_lenet5_digits/lenet5.onnx")
    stored = np.load(FLOAT / "onnx_lenet5_digits" / "data.npz")
    x = np.pad(np.kron(stored["images"], np.ones((1, 3, 3))), ((0, 0), (2, 2), (2, 2)))[:, None]
    x, y = (x / 16).astype(np.float32), stored["labels"]
    seen, held = stored["train_index"], stored["test_index"]
    quantized = qemu_nn.quantize(network, x[seen], scheme="affine", method=method)
    got, exact = scores(quantized, np.moveaxis(x[held], 1, -1))
    assert np.count_nonzero(exact.argmax(1) == y[held]) == 482
    assert abs(np.count_nonzero(got.argmax(1) == y[held]) - 482) <= 2


RESNET = FLOAT / "keras_mlperf_resnet8" / "pretrainedResnet_weights_only.h5"
PUBLISHED = FLOAT.parent / "models_tflite" / "pretrainedResnet_quant.tflite"


@needs
def test_with_the_published_ranges_it_is_the_network_that_tflites_converter_made():
    pytest.importorskip("tflite", reason="the reader of .tflite files needs it")
    expected = qemu_nn.load(PUBLISHED).graph
    network, x = loaded(f"{RESNET.parent.name}/{RESNET.name}")
    plain = qemu_nn.quantize(network, x, scheme="affine").graph
    order = {n.name: i for i, n in enumerate(plain.nodes)}
    pairs = []
    for node in expected.nodes:  # branches stand in another order
        alike = [n for n in plain.nodes if n.function == node.function]
        alike = [n for n in alike if n.params.keys() == node.params.keys()]
        if node.weights:
            alike = [n for n in alike if n.output.shape == node.output.shape]
            wanted = expected.arrays[node.weights].ravel()
            alike = [n for n in alike if plain.arrays[n.weights].size == wanted.size]
            same = [np.mean(plain.arrays[n.weights].ravel() == wanted) for n in alike]
            pairs.append((alike[int(np.argmax(same))].name, node))
        elif "add" in node.function.name:
            taken = {name for name, _ in pairs}
            pairs.append((next(n.name for n in alike if n.name not in taken), node))
    assert len({name for name, _ in pairs}) == len(pairs) == 13
    assert max(order[name] for name, _ in pairs) == len(order) - 2
    given = {name: {"output": node.output.format.ends} for name, node in pairs}
    given[plain.input.name] = {"output": expected.input.format.ends}
    graph = qemu_nn.quantize(network, x, scheme="affine", formats=given).graph
    for name, node in pairs:
        made = graph.node(name)
        assert made.output.zero_point == node.output.zero_point
        assert made.output.scale == pytest.approx(node.output.scale, rel=1e-6)
        factors = {key for key in node.params if key.endswith(("mult", "multiplier"))}
        for key, value in node.params.items():
            if key in factors:  # ends of a range are float32 in the file
                assert made.params[key] == pytest.approx(value, rel=1e-6), (name, key)
            else:
                assert made.params[key] == value, (name, key)
        if node.weights:
            _same_weights(graph, made, expected, node)
    stored = np.load(PUBLISHED.with_name("pretrainedResnet_quant_golden.npz"))["inputs"]
    x = stored.reshape(-1, *graph.input.shape)
    (a,), (b,) = (qemu_nn.Network(g).session().run(x).values() for g in (graph, expected))
    np.testing.assert_array_equal(a.reshape(b.shape), b)


def _same_weights(graph, made, expected, node):
    """Folding in float64, not in float32, moves a few that lie between two steps."""
    weights = graph.arrays[made.weights].ravel().astype(int)
    off = np.abs(weights - expected.arrays[node.weights].ravel())
    assert off.max() <= 1
    assert np.count_nonzero(off) <= 2
    own, other = (np.atleast_2d(g.arrays[n.bias]) for g, n in ((graph, made), (expected, node)))
    np.testing.assert_array_equal(own[0], other[0])
    if len(own) > 1:
        np.testing.assert_allclose(own[1], other[1], rtol=1e-6)
        np.testing.assert_array_equal(own[2], other[2])
