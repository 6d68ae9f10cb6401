"""Lowering: a network of small integers, whose quantized form must equal the float one exactly."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import qemu_nn
from qemu_nn.errors import Error, ModelError
from qemu_nn.ir.float_graph import FloatGraph, FloatNode
from qemu_nn.lowering import lower, prepare, take_device_part
from qemu_nn.operators import (
    Affine,
    Clip,
    Concat,
    Conv,
    Dense,
    Elementwise,
    Pool,
    PRelu,
    Relu,
    Reshape,
    Softmax,
)
from qemu_nn.quantizer.assign import Formats
from qemu_nn.runtime.evaluate import evaluate
from qemu_nn.runtime.session import Session
from qemu_nn.targets import profile

RNG = np.random.default_rng(8)

CORES = ("cortex-m4", "cortex-m3")


def network(shape, *operators):
    """Return a chain of operators on an input."""
    names = ["x", *(f"{type(o).__name__.lower()}{i}" for i, o in enumerate(operators))]
    nodes = [FloatNode(n, o, (s,)) for n, o, s in zip(names[1:], operators, names)]
    layout = "NHWC" if len(shape) == 3 else None
    return FloatGraph("net", "x", shape, layout, tuple(nodes), (names[-1],))


def whole(graph, bits):
    """Formats in which every number is an integer."""
    weighted = [n for n in graph.nodes if isinstance(n.operator, (Conv, Dense))]
    biases = {n.name: 0 for n in weighted if n.operator.bias is not None}
    zeros = dict.fromkeys(graph.shapes, 0)
    return Formats(bits, zeros, {n.name: 0 for n in weighted}, biases)


def lowered(graph, bits=8, core="cortex-m4", functions=None, cmsis="5.9.0"):
    graph, _ = prepare(take_device_part(graph), bits)
    return lower(graph, whole(graph, bits), profile(core, cmsis), functions)


def called(graph, **how):
    """Return the C functions that a network calls."""
    return [node.function.name for node in lowered(graph, **how).nodes]


def assert_equal_to_float(graph, bits=8, functions=None, spread=3, seed=0):
    """Check on every core that the device computes the float result, saturated."""
    x = np.random.default_rng(seed).integers(-spread, spread, (3, *graph.shape), endpoint=True)
    most = 2 ** (bits - 1)
    for core in CORES:
        device = lowered(graph, bits, core, functions)
        result = Session(device, profile(core)).run(x.astype(device.input.dtype))
        expected = np.clip(evaluate(graph, x.astype(float))[graph.outputs[0]], -most, most - 1)
        got = result[device.outputs[0]].reshape(expected.shape)
        np.testing.assert_array_equal(got, expected, err_msg=core)


def integers(*shape, seed=1):
    return np.random.default_rng(seed).integers(-1, 1, shape, endpoint=True).astype(float)


@st.composite
def convolutions(draw, bits):
    few = st.integers(1, 3)
    height, width = draw(st.integers(5, 9)), draw(st.integers(5, 9))
    if draw(st.booleans()):
        width = height
    kernel = (draw(few), draw(few))
    if draw(st.booleans()):
        kernel = (kernel[0],) * 2
    stride = (draw(few),) * 2 if draw(st.booleans()) else (draw(few), draw(few))
    channels = draw(st.sampled_from([1, 2, 3, 4, 8]))
    groups = draw(st.sampled_from([g for g in (1, 2, channels) if channels % g == 0]))
    out = groups * draw(st.sampled_from([1, 2, 3, 4]))
    pads = tuple(draw(st.integers(0, 2)) for _ in range(4))
    if draw(st.booleans()):
        pads = (pads[0],) * 4
    dilation = (draw(st.integers(1, 2)), draw(st.integers(1, 2)))
    weights = integers(out, *kernel, channels // groups, seed=draw(st.integers(0, 99)))
    bias = integers(out) if draw(st.booleans()) else None
    conv = Conv(weights, bias, stride, pads, dilation, groups)
    return network((height, width, channels), conv)


@settings(max_examples=150, deadline=None)
@given(convolutions(8))
def test_q7_convolutions_of_every_geometry_equal_the_float_ones(graph):
    assert_equal_to_float(graph)


@settings(max_examples=80, deadline=None)
@given(convolutions(16))
def test_q15_convolutions_equal_the_float_ones_or_have_no_function(graph):
    try:
        for core in CORES:
            lowered(graph, 16, core)
    except ModelError as error:
        assert "no function of CMSIS-NN takes this geometry" in str(error)  # noqa: PT017
        return
    assert_equal_to_float(graph, 16)


@pytest.mark.parametrize(
    ("shape", "conv", "function"),
    [
        ((5, 5, 3), Conv(integers(4, 3, 3, 3), pads=(1,) * 4), "arm_convolve_HWC_q7_RGB"),
        ((5, 5, 4), Conv(integers(4, 3, 3, 4), pads=(1,) * 4), "arm_convolve_HWC_q7_fast"),
        ((5, 6, 4), Conv(integers(4, 3, 3, 4)), "arm_convolve_HWC_q7_fast_nonsquare"),
        ((5, 6, 4), Conv(integers(4, 1, 1, 4)), "arm_convolve_1x1_HWC_q7_fast_nonsquare"),
        ((5, 5, 2), Conv(integers(4, 3, 3, 2)), "arm_convolve_HWC_q7_basic"),
        ((5, 6, 2), Conv(integers(4, 3, 3, 2)), "arm_convolve_HWC_q7_basic_nonsquare"),
        ((5, 5, 4), Conv(integers(3, 3, 3, 4)), "arm_convolve_HWC_q7_basic"),
        ((5, 5, 2), Conv(integers(2, 3, 3, 1), groups=2), "arm_depthwise_separable_conv_HWC_q7"),
    ],
)
def test_the_fastest_function_that_takes_the_geometry_is_called(shape, conv, function):
    assert called(network(shape, conv)) == [function]


def test_windows_over_the_edge_that_the_fast_function_leaves_unchecked_go_to_basic_on_dsp():
    graph = network((6, 6, 4), Conv(integers(4, 3, 3, 4), stride=(2, 2), pads=(0, 0, 1, 1)))
    assert called(graph) == ["arm_convolve_HWC_q7_basic"]
    assert called(graph, core="cortex-m3") == ["arm_convolve_HWC_q7_fast"]
    assert_equal_to_float(graph)


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("plain", [False, True])
def test_fully_connected_layers_equal_the_float_ones(bits, plain):
    graph = network((7,), Dense(integers(9, 7), integers(9)))
    name = f"arm_fully_connected_q{bits - 1}"
    functions = {"dense0": name} if plain else None
    assert called(graph, bits=bits, functions=functions) == [name + ("" if plain else "_opt")]
    assert_equal_to_float(graph, bits, functions)


def test_a_fully_connected_layer_over_rows_is_a_convolution():
    assert_equal_to_float(network((5, 3), Dense(integers(2, 3), integers(2))))
    assert_equal_to_float(network((2, 5, 3), Dense(integers(2, 3), integers(2))))


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize(
    "pool",
    [
        Pool("max", (2, 2), (2, 2)),
        Pool("max", (3, 3), (2, 2), ceil=True),
        Pool("max", (3, 3), (1, 1), (1, 1, 1, 1)),
        Pool("max", (3, 2), (2, 1), (1, 0, 1, 1)),
        Pool("max", (5, 5)),
    ],
)
def test_maxima_equal_the_float_ones(pool, bits):
    assert_equal_to_float(network((5, 5, 3), pool), bits, spread=100)


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("limit", [None, 6.0, 100.0])
def test_rectifiers_with_and_without_a_limit_equal_the_float_ones(bits, limit):
    assert_equal_to_float(network((40,), Relu(limit=limit)), bits, spread=120)


@pytest.mark.parametrize("limit", [None, 6.0])
def test_a_rectifier_over_more_elements_than_its_function_counts_is_a_clamping_pooling(limit):
    graph = network((64, 64, 17), Relu(limit=limit))
    assert called(graph) == ["arm_max_pool_s8"]
    assert_equal_to_float(graph, spread=120)
    with pytest.raises(ModelError, match="69632 elements; its function takes at most 65535"):
        lowered(graph, cmsis="5.6.0")


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize(("low", "high"), [(-1.0, 2.0), (-50.0, 127.0), (-128.0, 5.0), (-1e9, 1e9)])
def test_clips_equal_the_float_ones(bits, low, high):
    assert_equal_to_float(network((40,), Clip(low, high)), bits, spread=120)


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("kind", ["add", "subtract", "multiply"])
def test_sums_and_products_equal_the_float_ones(bits, kind):
    nodes = (
        FloatNode("half", Dense(integers(6, 6)), ("x",)),
        FloatNode("both", Elementwise(kind), ("half", "x")),
    )
    graph = FloatGraph("net", "x", (6,), None, nodes, ("both",))
    assert_equal_to_float(graph, bits)


@pytest.mark.parametrize(
    "pool",
    [
        Pool("average", (2, 2), (2, 2)),
        Pool("average", (4, 2), (4, 2)),
        Pool("average", (2, 2), (2, 2), (1, 1, 1, 1)),
    ],
)
def test_averages_that_come_out_even_equal_the_float_ones(pool):
    nodes = (
        FloatNode("eights", Conv(np.eye(3)[:, None, None, :] * 8), ("x",)),
        FloatNode("mean", pool, ("eights",)),
    )
    graph = FloatGraph("net", "x", (4, 4, 3), "NHWC", nodes, ("mean",))
    assert_equal_to_float(graph)
    assert_equal_to_float(graph, 16)


def test_an_average_that_counts_its_padding_is_a_depthwise_convolution():
    pool = Pool("average", (2, 2), (2, 2), (1, 1, 1, 1), count_pads=True)
    graph, notes = prepare(network((4, 4, 3), pool), 8)
    conv = graph.nodes[0].operator
    assert (conv.groups, set(conv.weights.ravel())) == (3, {0.25})
    assert notes == ["pool0: a convolution computes its averages, which count their padding"]
    x = np.arange(48.0).reshape(1, 4, 4, 3)
    expected = evaluate(network((4, 4, 3), pool), x)["pool0"]
    np.testing.assert_array_equal(evaluate(graph, x)["pool0"], expected)


def test_an_average_without_padding_stays_a_pooling_whatever_it_counts():
    pool = Pool("average", (2, 2), (2, 2), count_pads=True)
    assert prepare(network((4, 4, 3), pool), 8)[0].nodes[0].operator.count_pads is False


def test_a_reshape_is_not_a_call():
    graph = network((2, 2, 2), Reshape((8,)), Dense(integers(3, 8)), Reshape((3, 1)))
    assert called(graph) == ["arm_fully_connected_q7_opt"]
    assert lowered(graph).outputs == ("dense1",)
    assert_equal_to_float(graph)


def test_normalization_in_front_is_left_to_the_host():
    affine = Affine(np.array(0.5), np.array([1.0, 2.0, 3.0]))
    graph = take_device_part(network((2, 2, 3), affine, Reshape((12,)), Dense(integers(3, 12))))
    assert (graph.input, graph.shape) == ("affine0", (2, 2, 3))
    assert [n.name for n in graph.nodes] == ["reshape1", "dense2"]


def test_a_reshape_in_front_is_the_device_s_own_view_of_its_input():
    graph = take_device_part(network((12,), Reshape((2, 2, 3)), Conv(integers(1, 1, 1, 3))))
    assert (graph.input, graph.shape) == ("x", (12,))


@pytest.mark.parametrize(
    ("last", "softmax", "outputs"),
    [
        (Softmax(), True, ("softmax1",)),
        (Softmax(), False, ("dense0",)),
        (Softmax(log=True), True, ("dense0",)),
    ],
)
def test_a_softmax_at_the_end_stays_or_is_left_out(last, softmax, outputs):
    graph, notes = prepare(network((4,), Dense(integers(3, 4)), last), 8, softmax)
    assert graph.outputs == outputs
    assert len(notes) == (outputs == ("dense0",))


def test_all_that_has_no_function_is_named_at_once():
    graph = network(
        (2, 2, 3), Relu(slope=0.1, limit=1.0), PRelu(np.full((2, 2, 1), 0.1)), Concat(0)
    )
    with pytest.raises(ModelError) as error:
        lowered(graph)
    message = str(error.value)
    assert "Relu 'relu0': no function of CMSIS-NN has a slope below zero (0.1)" in message
    assert "PRelu 'prelu1': there is no function for it" in message
    assert "Concat 'concat2': there is no function for it" in message
    assert "scheme='affine' has one" in message


@pytest.mark.parametrize("slope", [0.25, np.array([0.5, 0.0, 0.25])])
@pytest.mark.parametrize("shape", [(4, 5, 3), (3,)])
def test_slopes_below_zero_are_convolutions_of_one_pixel(slope, shape):
    operator = PRelu(slope) if isinstance(slope, np.ndarray) else Relu(slope=slope)
    graph, notes = prepare(network(shape, operator), 8)
    assert any("compute its slope below zero" in note for note in notes)
    x = RNG.normal(size=(6, *shape))
    np.testing.assert_allclose(evaluate(graph, x)[graph.outputs[0]], operator.evaluate(x))


def test_factors_of_channels_are_repeated_exactly():
    nodes = (
        FloatNode("gate", Pool("max", (4, 5)), ("x",)),
        FloatNode("y", Elementwise("multiply"), ("x", "gate")),
    )
    graph = FloatGraph("net", "x", (4, 5, 3), "NHWC", nodes, ("y",))
    prepared, notes = prepare(graph, 8)
    assert [note.partition(":")[0] for note in notes] == ["y"]
    x = RNG.normal(size=(6, 4, 5, 3))
    np.testing.assert_allclose(evaluate(prepared, x)["y"], evaluate(graph, x)["y"])
    made = qemu_nn.quantize(qemu_nn.FloatNetwork(graph), x, scheme="power2", method="minmax")
    traced = made.session().run(made.graph.input.format.quantize(x), trace=True)
    spread = next(name for name in traced if name.endswith("spread"))
    np.testing.assert_array_equal(
        traced[spread], np.broadcast_to(traced["gate"].reshape(6, 1, 1, 3), (6, 4, 5, 3))
    )


def test_release_5_6_0_has_no_pooling_of_rectangles():
    graph = network((4, 6, 3), Pool("max", (2, 2), (2, 2)))
    assert called(graph) == ["arm_max_pool_s8"]
    with pytest.raises(ModelError, match="tried arm_maxpool_q7_HWC, arm_max_pool_s8"):
        lowered(graph, cmsis="5.6.0")


@pytest.mark.parametrize(
    ("functions", "reason"),
    [
        ({"conv9": "arm_convolve_HWC_q7_basic"}, "no layer 'conv9'"),
        ({"conv0": "arm_relu_q7"}, "arm_relu_q7 does not compute this layer; these do: .*_fast"),
        ({"conv0": "arm_convolve_HWC_q7_RGB"}, "arm_convolve_HWC_q7_RGB does not compute this"),
    ],
)
def test_a_function_that_can_not_be_asked_for_is_refused(functions, reason):
    with pytest.raises(Error, match=reason):
        lowered(network((5, 5, 4), Conv(integers(4, 3, 3, 4))), functions=functions)
