"""Quantizing to scales and zero points: TFLite's numbers, and close to the float network."""

import numpy as np
import pytest
from affine_quantizing import affine, float_network, noise, tflite_multiplier, values
from click.testing import CliRunner
from flat_options import grouped

import qemu_nn
from qemu_nn.cli.main import main
from qemu_nn.errors import Error, ModelError
from qemu_nn.operators import (
    Clip,
    Conv,
    ConvTranspose,
    Dense,
    Elementwise,
    Pool,
    Relu,
    Reshape,
    Softmax,
)
from qemu_nn.ptq.schemes import get_scheme
from qemu_nn.targets import profile

RNG = np.random.default_rng(21)


# ---- the numbers of TFLite's scheme, computed here by its formulas ----


def tflite_format(low, high):
    low, high = np.float32(min(low, 0)), np.float32(max(high, 0))
    scale = np.float32(high - low) / np.float32(255)
    return float(scale), int(np.round(-128 - float(low) / float(scale)))


WEIGHTS = np.array([[[[0.5, -1.0]]], [[[0.25, 0.125]]], [[[0.0, 0.0]]]])
BIAS = np.array([0.1, -0.2, 0.3])


def pixels(low=-1.0, high=3.0):
    """Images whose values reach just to these ends."""
    x = RNG.uniform(low, high, (50, 4, 4, 2)).astype(np.float32)
    x[0, 0, 0] = low, high
    return x


def test_a_convolution_has_the_numbers_of_tflites_formulas():
    x = pixels()
    quantized = affine([("conv", Conv(WEIGHTS, BIAS), ("x",)), ("act", Relu(), ("conv",))], x)
    graph = quantized.graph
    (node,) = graph.nodes
    assert (node.name, node.function.name) == ("act", "arm_convolve_wrapper_s8")
    source = tflite_format(-1.0, 3.0)
    assert (graph.input.scale, graph.input.zero_point) == source
    exact = np.maximum(x @ WEIGHTS[:, 0, 0].T + BIAS, 0)
    output = tflite_format(0.0, float(np.float32(exact.max())))
    assert output[1] == -128
    assert (node.output.zero_point, node.output.scale) == (-128, pytest.approx(output[0], 1e-6))
    scales = np.array([1.0, 0.25, 1.0], np.float32) / np.float32(127)
    expected = np.round(WEIGHTS.reshape(3, 2) / scales[:, None]).astype(np.int8)
    np.testing.assert_array_equal(graph.arrays[node.weights].reshape(3, 2), expected)
    bias, multiplier, shift = graph.arrays[node.bias]
    np.testing.assert_array_equal(bias, np.round(BIAS / (scales.astype(float) * source[0])))
    pairs = [tflite_multiplier(source[0] * float(s) / node.output.scale) for s in scales]
    assert list(zip(multiplier, shift)) == pairs
    offsets = [node.params[name] for name in ("input_offset", "output_offset")]
    assert offsets == [-source[1], -128]
    assert (node.params["act_min"], node.params["act_max"]) == (-128, 127)


def test_a_fully_connected_layer_has_one_scale_for_all_weights_if_its_function_is_asked_for():
    x = pixels().reshape(50, 32)
    weights = RNG.normal(size=(3, 32)) * [[1], [0.1], [0.01]]
    functions = {"fc": "arm_fully_connected_s8"}
    quantized = affine([("fc", Dense(weights, BIAS), ("x",))], x, functions=functions)
    (node,) = quantized.graph.nodes
    assert node.function.name == "arm_fully_connected_s8"
    scale = np.float32(np.abs(weights).max()) / np.float32(127)
    expected = np.round(weights / float(scale))
    np.testing.assert_allclose(quantized.graph.arrays[node.weights], expected, atol=1)
    product = float(np.float32(quantized.graph.input.scale) * scale)
    pair = tflite_multiplier(product / node.output.scale)
    assert (node.params["shift"], node.params["multiplier"]) == (pair[1], pytest.approx(pair[0]))
    bias = quantized.graph.arrays[node.bias]
    np.testing.assert_allclose(bias, BIAS / product, atol=1)


def test_a_fully_connected_layer_has_a_scale_for_each_row():
    x = pixels().reshape(50, 32)
    weights = RNG.normal(size=(3, 32)) * [[1], [0.1], [0.01]]
    nodes = [("fc", Dense(weights, BIAS), ("x",))]
    whole = affine(nodes, x, functions={"fc": "arm_fully_connected_s8"})
    each = affine(nodes, x)
    (node,) = each.graph.nodes
    assert node.function.name == "arm_fully_connected_per_channel_s8"
    assert (np.abs(each.graph.arrays[node.weights]).max(1) == 127).all()
    exact = x @ weights[2] + BIAS[2]
    errors = [np.abs(values(q, x)["fc"][:, 2] - exact).max() for q in (whole, each)]
    assert errors[1] < errors[0]


def test_a_sum_has_tflites_multipliers():
    x = pixels()
    nodes = [
        ("a", Conv(WEIGHTS[:2], None), ("x",)),
        ("sum", Elementwise("add"), ("a", "x")),
        ("six", Relu(limit=6.0), ("sum",)),
    ]
    graph = affine(nodes, x).graph
    node = graph.node("six")
    a, b, out = graph.node("a").output, graph.input, node.output
    assert node.function.name == "arm_elementwise_add_s8"
    twice = 2 * max(a.scale, b.scale)
    for name, real in (("input_1", a.scale / twice), ("input_2", b.scale / twice)):
        assert (node.params[f"{name}_mult"], node.params[f"{name}_shift"]) == tflite_multiplier(
            real
        )
    real = twice / (2**20 * out.scale)
    assert (node.params["out_mult"], node.params["out_shift"]) == tflite_multiplier(real)
    assert node.params["left_shift"] == 20
    offsets = [node.params[f"input_{i}_offset"] for i in (1, 2)]
    assert offsets == [-a.zero_point, -b.zero_point]
    assert node.params["act_min"] == out.zero_point == -128
    assert node.params["act_max"] == min(127, -128 + round(6 / out.scale))


def test_a_limit_inside_of_the_range_is_an_activation():
    nodes = [
        ("conv", Conv(WEIGHTS[:2]), ("x",)),
        ("six", Relu(limit=1.5), ("conv",)),
        ("out", Conv(WEIGHTS[:2]), ("six",)),
    ]
    given = {"six": {"output": (-1.0, 3.0)}}
    node = affine(nodes, pixels(), formats=given).graph.node("six")
    zero = node.output.zero_point
    assert node.params["act_min"] == zero == -64
    assert node.params["act_max"] == zero + round(1.5 / node.output.scale) < 127


# ---- whole networks ----

CLASSIFIER = [
    (
        "conv",
        Conv(RNG.normal(size=(6, 3, 3, 2)) / 4, RNG.normal(size=6), pads=(0, 0, 1, 1)),
        ("x",),
    ),
    ("relu", Relu(), ("conv",)),
    ("deep", Conv(RNG.normal(size=(12, 3, 3, 1)) / 3, pads=(1, 1, 1, 1), groups=6), ("relu",)),
    ("clip", Clip(-1.0, 2.0), ("deep",)),
    ("wide", Conv(RNG.normal(size=(8, 2, 2, 6)) / 5, dilation=(2, 2), groups=2), ("clip",)),
    ("pool", Pool("max", (2, 2), (1, 1)), ("wide",)),
    ("rect", Relu(), ("pool",)),
    ("mean", Pool("average", (4, 4)), ("rect",)),
    ("flat", Reshape((8,)), ("mean",)),
    ("scores", Dense(RNG.normal(size=(5, 8)), RNG.normal(size=5)), ("flat",)),
]
SOFTMAX = [*CLASSIFIER, ("softmax", Softmax(), ("scores",))]


@pytest.fixture
def data():
    return RNG.normal(size=(100, 8, 8, 2)).astype(np.float32)


@pytest.mark.parametrize("method", ["minmax", "mse", "kl", 99.99])
def test_a_network_is_close_to_the_float_one_and_has_a_call_for_each_layer(data, method):
    quantized = affine(CLASSIFIER, data, method=method, weight_method="minmax")
    functions = {node.name: node.function.name for node in quantized.graph.nodes}
    assert functions == {
        "relu": "arm_convolve_wrapper_s8",
        "clip": "arm_depthwise_conv_wrapper_s8",
        "wide": "arm_convolve_wrapper_s8",
        "rect": "arm_max_pool_s8",
        "mean": "arm_avgpool_s8",
        "scores": "arm_fully_connected_per_channel_s8",
    }
    assert noise(quantized, data) > 28


@pytest.mark.parametrize(
    ("operator", "function"),
    [
        (Conv(RNG.normal(size=(4, 3, 3, 2))), "arm_convolve_s8"),
        (Conv(RNG.normal(size=(4, 1, 1, 2)), stride=(2, 2)), "arm_convolve_1x1_s8"),
        (Conv(RNG.normal(size=(4, 1, 1, 2))), "arm_convolve_1x1_s8_fast"),
        (Conv(RNG.normal(size=(6, 2, 3, 1)), groups=2), "arm_depthwise_conv_s8"),
        (Conv(RNG.normal(size=(2, 2, 3, 1)), groups=2), "arm_depthwise_conv_s8_opt"),
        (Conv(RNG.normal(size=(2, 3, 3, 1)), groups=2), "arm_depthwise_conv_3x3_s8"),
    ],
)
def test_a_function_that_is_asked_for_computes_the_same(data, operator, function):
    nodes = [("conv", operator, ("x",))]
    plain, asked = (affine(nodes, data, functions=f) for f in (None, {"conv": function}))
    assert plain.graph.node("conv").function.name.endswith("_wrapper_s8")
    assert asked.graph.node("conv").function.name == function
    a, b = (values(each, data)["conv"] for each in (plain, asked))
    np.testing.assert_array_equal(a, b)


def test_pooling_and_reshaping_share_the_format_of_what_they_read(data):
    graph = affine(CLASSIFIER, data).graph
    shared = {graph.node(name).output.format for name in ("wide", "rect", "mean")}
    assert len(shared) == 1
    assert shared.pop().zero_point == -128  # what the rectifier cuts off has no room


@pytest.mark.parametrize("target", ["cortex-m0", "cortex-m3", "cortex-m7", "cortex-m55"])
def test_every_core_runs_it(data, target):
    affine(CLASSIFIER, data, target=target).session(target=target)


def test_a_softmax_is_one(data):
    quantized = affine(SOFTMAX, data)
    held = quantized.graph.node("softmax").output.format
    assert (held.scale, held.zero_point) == (1 / 256, -128)
    exact = qemu_nn.FloatNetwork(quantized.reference).evaluate(data)["softmax"]
    assert np.abs(values(quantized, data)["softmax"] - exact).max() < 0.05
    assert affine(SOFTMAX, data, softmax=False).graph.outputs == ("scores",)


def test_an_activation_beside_other_readers_has_a_call_of_its_own(data):
    nodes = [
        ("conv", Conv(RNG.normal(size=(2, 1, 1, 2))), ("x",)),
        ("relu", Relu(limit=1.0), ("conv",)),
        ("sum", Elementwise("add"), ("conv", "relu")),
        ("twice", Elementwise("multiply"), ("sum", "relu")),
    ]
    quantized = affine(nodes, data)
    graph = quantized.graph
    assert graph.node("relu").function.name == "arm_max_pool_s8"
    assert graph.node("relu").output.format == graph.node("conv").output.format
    got = values(quantized, data)
    np.testing.assert_array_equal(got["relu"], np.clip(got["conv"], 0, got["relu"].max()))
    assert got["relu"].max() == pytest.approx(1, abs=graph.node("relu").output.scale / 2)
    assert noise(quantized, data) > 28


def test_limits_behind_limits_are_those_of_both():
    nodes = [
        ("conv", Conv(WEIGHTS[:2]), ("x",)),
        ("clip", Clip(-0.5, 1.0), ("conv",)),
        ("relu", Relu(), ("clip",)),
        ("odd", Clip(-3.0, -1.0), ("relu",)),
        ("out", Elementwise("add"), ("odd", "x")),
    ]
    quantized = affine(nodes, pixels())
    np.testing.assert_allclose(values(quantized, pixels())["odd"], -1, atol=0.01)


def test_an_average_that_counts_its_padding_is_a_convolution(data):
    pool = Pool("average", (3, 3), (2, 2), (1, 1, 1, 1), count_pads=True)
    quantized = affine([("pool", pool, ("x",))], data)
    (node,) = quantized.graph.nodes
    assert node.function.name == "arm_depthwise_conv_wrapper_s8"
    assert (quantized.graph.arrays[node.weights] == 127).all()
    assert noise(quantized, data) > 30


def test_a_dense_layer_over_rows_counts_them(data):
    nodes = [("fc", Dense(RNG.normal(size=(4, 2))), ("x",))]
    quantized = affine(nodes, data)
    assert quantized.graph.node("fc").params["batches"] == 64
    assert noise(quantized, data) > 30


def test_what_is_zero_everywhere_has_a_format_too():
    nodes = [("fc", Dense(np.zeros((2, 3)), np.zeros(2)), ("x",)), ("act", Relu(), ("fc",))]
    quantized = affine(nodes, np.zeros((3, 3), np.float32))
    assert (values(quantized, np.zeros((3, 3)))["act"] == 0).all()


def test_a_bias_far_larger_than_its_products_makes_the_weights_coarser():
    x = RNG.uniform(-1, 1, (50, 3)).astype(np.float32)
    quantized = affine([("fc", Dense(np.full((2, 3), 1e-9), np.array([3.0, 5.0])), ("x",))], x)
    assert quantized.notes == ("fc: its weights are coarser, so that its sums fit",)
    np.testing.assert_allclose(values(quantized, x)["fc"], [[3.0, 5.0]] * 50, atol=0.02)


def test_a_package_holds_it_whole(data, tmp_path):
    quantized = affine(SOFTMAX, data)
    quantized.save(tmp_path / "net.qnz")
    again = qemu_nn.load(tmp_path / "net.qnz")
    assert again.graph.nodes == quantized.graph.nodes
    assert again.graph.input == quantized.graph.input
    for name, array in quantized.graph.arrays.items():
        np.testing.assert_array_equal(again.graph.arrays[name], array)
    x = quantized.graph.input.format.quantize(data)
    np.testing.assert_array_equal(
        again.session().run(x)["softmax"], quantized.session().run(x)["softmax"]
    )


def test_a_search_recovers_what_outliers_cost(data):
    nodes = [
        ("conv", Conv(RNG.normal(size=(6, 3, 3, 2)) / 4), ("x",)),
        ("relu", Relu(), ("conv",)),
        ("flat", Reshape((216,)), ("relu",)),
        ("scores", Dense(RNG.normal(size=(5, 216)) / 15), ("flat",)),
    ]
    labels = float_network(nodes, data.shape[1:]).evaluate(data)["scores"].argmax(1)
    spoiled = data.copy()
    spoiled[0] *= 100  # one image decides every range
    right = []
    for method in ("minmax", "search"):
        quantized = affine(nodes, (spoiled, labels), method=method, search_range=5, threads=2)
        right.append(np.mean(values(quantized, data[1:])["scores"].argmax(1) == labels[1:]))
    assert right[1] > right[0] + 0.1


def test_a_search_tries_weights_and_each_format_that_is_not_given_or_fixed():
    scheme = get_scheme("affine", profile(cmsis="7.0.0"), None, 8, "minmax", "minmax")
    graph, _ = scheme.prepare(float_network(SOFTMAX, (8, 8, 2)).graph)
    given = {"clip": {"output": (-1.0, 2.0)}}
    found = scheme.variables(graph, scheme.draft(graph), given)
    weights = [(name, "weights", 0) for name in ("conv", "deep", "wide", "scores")]
    assert found[:4] == weights
    assert [name for name, _, _ in found[4:]] == ["x", "conv", "wide", "scores"]


def test_a_search_is_resumed_and_leaves_given_ranges_alone(data, tmp_path):
    how = {"method": "search", "search_range": 1, "resume": tmp_path / "search.json"}
    how["formats"] = {"scores": {"output": (-9.0, 9.0)}}
    first, again = (affine(CLASSIFIER, data, **how).graph for _ in range(2))
    assert [node.output for node in first.nodes] == [node.output for node in again.nodes]
    assert first.node("scores").output.format.ends == pytest.approx((-9, 9), abs=0.1)


def test_digits_are_recognized_as_by_the_float_network():
    pytest.importorskip("sklearn", reason="no digits: pip install '.[digits]'")
    from sklearn.datasets import load_digits
    from sklearn.neural_network import MLPClassifier

    digits = load_digits()
    x, y = (digits.data / 16).astype(np.float32), digits.target
    order = np.random.default_rng(5).permutation(len(x))
    seen, held = order[:1300], order[1300:]
    net = MLPClassifier((32,), max_iter=300, tol=1e-3, random_state=1).fit(x[seen], y[seen])
    first, second = (
        Dense(weights.T.copy(), bias) for weights, bias in zip(net.coefs_, net.intercepts_)
    )
    nodes = [("hidden", first, ("x",)), ("relu", Relu(), ("hidden",)), ("out", second, ("relu",))]
    quantized = affine(nodes, x[seen])
    right = np.mean(values(quantized, x[held])["out"].argmax(1) == y[held])
    assert net.score(x[held], y[held]) > 0.95
    assert right > net.score(x[held], y[held]) - 0.01


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ({"bits": 12}, "bits is 12, but must be 8 or 16"),
        ({"scheme": "float"}, "no scheme 'float'; have: power2, affine"),
        (
            {"target": qemu_nn.Target(cmsis="5.3.0")},
            "CMSIS is 5.3.0, but the scheme affine needs 7.0.0",
        ),
        ({"target": qemu_nn.Target(rounding="nearest")}, "have: double, single"),
        (
            {"scheme": "power2", "target": qemu_nn.Target(cmsis="7.0.0")},
            "use 5.9.0, or scheme='affine' for the s8",
        ),
        (
            {"method": "best"},
            "no method 'best'; have: extrapolate, minmax, mse, kl, or a percentile",
        ),
        ({"method": 101}, "is 101, but must be above 0 and at most 100"),
        ({"formats": {"conv9": {"output": (0, 1)}}}, "no layer 'conv9'"),
        ({"formats": {"relu": {"output": 5}}}, r"is 5, but must be \(low, high\)"),
        (
            {"formats": {"relu": {"weights": (0, 1)}}},
            "only its .output. takes a range, not its weights",
        ),
        ({"formats": {"relu": {"output": (1.0, 2.0)}}}, "must contain 0"),
        ({"formats": {"relu": {"output": (0.0, float("inf"))}}}, r"but must be \(low, high\)"),
        ({"formats": {"softmax": {"output": (0, 1)}}}, "the device fixes its format"),
        (
            {"formats": {"wide": {"output": (0, 1)}, "mean": {"output": (0, 2)}}},
            "mean and wide share one format",
        ),
        (
            {"scheme": "power2", "formats": {"conv": {"output": (0, 1)}}},
            "must be an integer",
        ),
        ({"functions": {"conv": "arm_relu_q7"}}, "conv: arm_relu_q7 does not compute this"),
        ({"functions": {"none": "arm_relu_q7"}}, "no layer 'none'"),
    ],
)
def test_options_that_do_not_fit_are_refused_with_the_reason(data, how, reason):
    network = float_network(SOFTMAX, data.shape[1:])
    with pytest.raises(Error, match=reason):
        qemu_nn.quantize(network, data, **grouped(**{"scheme": "affine", **how}))


@pytest.mark.parametrize(
    ("operator", "reason"),
    [
        (Conv(np.ones((2, 1, 1, 2)), pads=(-1, 0, 0, 0)), "its pads .* crop the input"),
        (
            ConvTranspose(np.ones((2, 1, 1, 2)), pads=(0, -1, 0, 0)),
            "its pads .* add rows or columns before",
        ),
    ],
)
def test_what_no_function_computes_is_refused_by_name_before_data_are_read(operator, reason):
    nodes = [("conv", Conv(np.ones((2, 1, 1, 2))), ("x",)), ("out", operator, ("conv",))]
    nodes.append(("end", Relu(), ("out",)))

    def never():
        raise AssertionError("the data were read")
        yield

    with pytest.raises(ModelError, match=reason):
        qemu_nn.quantize(float_network(nodes), never(), scheme="affine")


def test_the_command_line_quantizes_too(data, tmp_path):
    float_network(SOFTMAX, data.shape[1:]).save(tmp_path / "net.qnz")
    np.savez(tmp_path / "calib.npz", x=data)
    out = tmp_path / "q.qnz"
    arguments = ["quantize", tmp_path / "net.qnz", "-d", tmp_path / "calib.npz", "-o", out]
    arguments += ["--scheme", "affine", "--format", "scores.output=-6..4.5", "--method", "99.9"]
    result = CliRunner().invoke(main, [str(a) for a in arguments])
    assert result.exit_code == 0, result.output
    held = qemu_nn.load(out).graph.node("scores").output.format
    assert held.ends == pytest.approx((-6, 4.5), abs=0.05)
    arguments[-3] = "scores.output=-6..x"
    result = CliRunner().invoke(main, [str(a) for a in arguments])
    assert (result.exit_code, "LAYER.output=LOW..HIGH" in result.output) == (2, True)
