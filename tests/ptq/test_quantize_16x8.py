"""Quantizing to 16-bit activations and 8-bit weights: TFLite's numbers, and every command."""

import exported
import numpy as np
import pytest
from affine_operators import CASES, errors, functions, quantized
from affine_quantizing import affine, classifier, noise, tflite_multiplier
from click.testing import CliRunner
from flat_options import grouped
from published_float_models import FLOAT, MODELS, loaded
from published_float_scores import LEAST, scores

import qemu_nn
from qemu_nn.api import golden as pipeline
from qemu_nn.cli.main import main
from qemu_nn.errors import Error, ModelError
from qemu_nn.operators import Conv, Dense, Relu

RNG = np.random.default_rng(16)

#: The function of 16 bits where its name is not that of 8 bits with another ending.
OTHERS = {
    "arm_pad_s8": "tflm_pad_s16",
    "arm_transpose_s8": "tflm_transpose_s16",
    "arm_maximum_s8": "tflm_maximum_s16",
    "arm_minimum_s8": "tflm_minimum_s16",
}


#: Operators whose device tables are coarser than a step, or whose input has half steps of several.
STEEP = {"sigmoid": 9, "tanh": 16, "softmax": 40, "gate": 200, "difference": 3, "spread sum": 3}


@pytest.mark.parametrize("case", CASES)
def test_an_operator_runs_on_its_function_of_16_bits(case):
    nodes, function = CASES[case]
    made, x = quantized(nodes, dtype="int16")
    assert functions(made)["out"] == OTHERS.get(function, function.replace("_s8", "_s16"))
    assert {t.dtype for t in made.graph.tensors.values()} == {"int16"}
    assert errors(made, x)["out"] < STEEP.get(case, 1.6)


def test_a_layer_has_the_numbers_of_tflites_formulas():
    x = RNG.uniform(-1.0, 3.0, (50, 4, 4, 2)).astype(np.float32)
    x[0, 0, 0] = -1, 3
    weights = np.array([[[[0.5, -1.0]]], [[[0.25, 0.125]]]])
    nodes = [("conv", Conv(weights, np.array([0.1, -0.2])), ("x",)), ("act", Relu(), ("conv",))]
    graph = affine(nodes, x, bits=16).graph
    (node,) = graph.nodes
    assert (node.function.name, node.params["bias_is_int32"]) == ("arm_convolve_wrapper_s16", 0)
    source = float(np.float32(3) / np.float32(32767))
    assert (graph.input.scale, graph.input.zero_point, graph.input.dtype) == (source, 0, "int16")
    most = np.float32(np.maximum(x @ weights[:, 0, 0].T + [0.1, -0.2], 0).max())
    assert node.output.scale == pytest.approx(most / 32767, rel=1e-6)
    assert (node.params["act_min"], node.params["act_max"]) == (0, 32767)
    scales = np.array([1.0, 0.25], np.float32) / np.float32(127)
    np.testing.assert_array_equal(
        graph.arrays[node.weights].reshape(2, 2), np.round(weights.reshape(2, 2) / scales[:, None])
    )
    rows = graph.arrays[node.bias]
    assert rows.dtype == np.int64
    np.testing.assert_array_equal(rows[0], np.round([0.1, -0.2] / (scales.astype(float) * source)))
    pairs = [tflite_multiplier(source * float(s) / node.output.scale) for s in scales]
    assert list(zip(*rows[1:].tolist())) == pairs


@pytest.fixture(scope="module")
def data():
    return np.random.default_rng(7).normal(size=(24, 8, 8, 4)).astype(np.float32)


@pytest.mark.parametrize("method", ["minmax", "mse", "kl", 99.99, "search"])
def test_every_method_is_close_to_the_float_network(data, method):
    how = {"search_range": 1, "threads": 2} if method == "search" else {}
    made = qemu_nn.quantize(
        classifier(data), data, bits=16, method=method, **grouped("affine", **how)
    )
    assert any(n.startswith("grouped: filters over all channels with zeros") for n in made.notes)
    assert noise(made, data) > 30


def test_sums_of_a_convolution_fit_32_bits_and_a_dense_layer_has_64():
    """Inputs and weights of the largest numbers: 600 products would pass 2^31."""
    x = np.ones((2, 1, 1, 600))
    ones = np.ones((1, 600))
    conv = affine([("conv", Conv(ones[:, None, None]), ("x",))], x, bits=16)
    assert conv.notes[-1] == "conv: its weights are coarser, so that its sums fit"
    dense = affine([("fc", Dense(ones), ("x",))], x[:, 0, 0], bits=16)
    assert dense.notes == conv.notes[:-1]
    assert dense.notes[0].startswith("the calibration data are 1 in all of 2 samples")
    for made in (conv, dense):
        (result,) = (
            made.session().run(np.full((1, *made.graph.input.shape), 32767, np.int16)).values()
        )
        assert result.item() == 32767


def test_what_has_no_function_of_16_bits_is_refused_with_the_way_out(data):
    flat = data.reshape(24, -1)
    nodes = [("fc", Dense(RNG.normal(size=(3, 256))), ("x",))]
    per_row = {"fc": "arm_fully_connected_per_channel_s8"}
    with pytest.raises(Error, match="these do: arm_fully_connected_s16"):
        affine(nodes, flat, bits=16, functions=per_row)
    steep = [("fc", Dense(np.full((1, 256), 1e4)), ("x",))]
    with pytest.raises(ModelError, match="shift by at most 7; give it a wider range"):
        affine(steep, flat, bits=16, formats={"fc": {"output": (-1e-3, 1e-3)}})


def test_a_saved_network_is_the_same_and_every_verb_takes_it(data, tmp_path):
    made = qemu_nn.quantize(classifier(data), data, scheme="affine", bits=16)
    made.save(tmp_path / "net.qnz")
    again = qemu_nn.load(tmp_path / "net.qnz")
    x = made.graph.input.format.quantize(data)
    one, two = (net.session(threads=n).run(x)["prob"] for net, n in ((made, 1), (again, 2)))
    np.testing.assert_array_equal(one, two)
    report = qemu_nn.analyze(again, data)
    assert report.samples == len(data)
    pipeline.golden(again, x[:1], tmp_path / "goldens")
    assert pipeline.compare(tmp_path / "goldens", tmp_path / "goldens").same


@pytest.mark.compiles
@pytest.mark.parametrize(
    "target",
    [pytest.param(name, marks=exported.needs(name)) for name in ("pc", "m4")],
)
def test_its_firmware_passes_its_self_test(data, target, tmp_path):
    made = qemu_nn.quantize(classifier(data), data, scheme="affine", bits=16)
    folder = exported.write(tmp_path / "net", made, data=made.graph.input.format.quantize(data[:2]))
    status, lines = exported.check(folder, target)
    assert status == 0, lines


def test_the_command_line_has_the_option(data, tmp_path):
    classifier(data).save(tmp_path / "net.qnz")
    np.save(tmp_path / "x.npy", data)
    args = [
        "quantize",
        "net.qnz",
        "-d",
        "x.npy",
        "-o",
        "q.qnz",
        "--scheme",
        "affine",
        "--bits",
        "16",
    ]
    args = [str(tmp_path / a) if "." in a else a for a in args]
    result = CliRunner().invoke(main, args)
    assert result.exit_code == 0, result.output
    assert "5,856 MACs" in result.output
    made = qemu_nn.quantize(classifier(data), data, scheme="affine", bits=16)
    held = qemu_nn.load(tmp_path / "q.qnz").graph
    assert [n.function.name for n in held.nodes] == [n.function.name for n in made.graph.nodes]


@pytest.mark.skipif(not FLOAT.is_dir(), reason="the published float networks are not here")
@pytest.mark.parametrize("name", MODELS)
def test_a_published_model_runs_with_little_noise_in_16_bits(name):
    network, x = loaded(name)
    expected = next(least for start, least in LEAST.items() if name.startswith(start))
    if isinstance(expected, str):
        with pytest.raises(ModelError, match=expected):
            qemu_nn.quantize(network, x, scheme="affine", bits=16, options={"softmax": False})
        return
    made = qemu_nn.quantize(network, x, scheme="affine", bits=16, options={"softmax": False})
    got, exact = scores(made, np.moveaxis(x, 1, -1) if network.graph.layout == "NCHW" else x)
    signal = 10 * np.log10(np.sum(exact.astype(float) ** 2) / np.sum((got - exact) ** 2))
    assert signal > expected


@pytest.mark.parametrize("size", [1e-9, 1e-20])
def test_a_channel_of_tiny_weights_keeps_its_bias(size):
    """Check a scale whose product with the inputs' would be a factor that functions read as 0."""
    x = RNG.normal(size=(9, 3, 3, 2))
    weights = np.array([1.0, size])[:, None, None, None] * RNG.normal(size=(2, 1, 1, 2))
    made = affine([("conv", Conv(weights, np.array([0.1, 0.5])), ("x",))], x, bits=16)
    assert made.notes == ("conv: its weights are coarser, so that its sums fit",)
    got = made.predict(x.astype(np.float32))
    assert np.abs(got[..., 1] - 0.5).max() < 1e-3


def test_weights_of_hundred_thousands_are_not_refused():
    """Check scales as in the last layer of a regression; ranges of data bound the sums."""
    x = RNG.normal(size=(9, 8))
    dense = Dense(2e5 * RNG.normal(size=(1, 8)), np.array([3e5]))
    assert noise(affine([("fc", dense, ("x",))], x, bits=16), x) > 30
