"""Every published float model by TFLite's scheme: close on the s8 functions, or refused by name."""

import numpy as np
import pytest
from published_float_models import FLOAT, MODELS, loaded
from published_float_scores import LEAST, scores

import qemu_nn
from qemu_nn.errors import ModelError

needs = pytest.mark.skipif(not FLOAT.is_dir(), reason="the published float networks are not here")


@needs
@pytest.mark.parametrize("name", MODELS)
def test_a_published_model_runs_with_little_noise_or_is_refused_by_its_operator(name):
    network, x = loaded(name)
    expected = next(least for start, least in LEAST.items() if name.startswith(start))
    if isinstance(expected, str):
        with pytest.raises(ModelError, match=expected):
            qemu_nn.quantize(
                network, x, scheme="affine", method="minmax", options={"softmax": False}
            )
        return
    quantized = qemu_nn.quantize(
        network, x, scheme="affine", method="minmax", options={"softmax": False}
    )
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
    expected = qemu_nn.load(PUBLISHED).graph
    network, x = loaded(f"{RESNET.parent.name}/{RESNET.name}")
    functions = {"dense/linear": "arm_fully_connected_s8"}
    how = {"scheme": "affine", "method": "minmax"}
    plain = qemu_nn.quantize(network, x, **how, options={"functions": functions}).graph
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
    graph = qemu_nn.quantize(
        network, x, **how, options={"functions": functions, "formats": given}
    ).graph
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
