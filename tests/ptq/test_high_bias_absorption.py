"""Constants move into the biases of the next layers if the function does not change."""

import numpy as np
import pytest

import qemu_nn
from qemu_nn.api.golden import FloatNetwork
from qemu_nn.ir.float_graph import FloatGraph, FloatNode
from qemu_nn.operators import (
    Clip,
    Concat,
    Conv,
    Dense,
    Elementwise,
    Identity,
    Pool,
    PRelu,
    Relu,
    Reshape,
    Sigmoid,
)
from qemu_nn.quantizer.high_bias_absorption import absorb_high_biases
from qemu_nn.quantizer.steps import observe_inputs
from qemu_nn.runtime.evaluate import evaluate

CHANNELS = 6


def conv(seed, out=CHANNELS, size=1, depth=CHANNELS, bias=0.0, **how):
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=(out, size, size, depth)) / (size * depth**0.5)
    return Conv(weights, rng.normal(size=out) + bias, **how)


def network(*between, reader=None, outputs=("scores",), bias=12.0, nodes=()):
    """Return a layer with high even channels, operators, and a layer that reads them."""
    high = np.where(np.arange(CHANNELS) % 2, 0.0, bias)
    chain = [
        ("first", conv(1, depth=3, bias=high)),
        *((f"op{i}", o) for i, o in enumerate(between)),
    ]
    own = [FloatNode(n, o, (s,)) for (n, o), s in zip(chain, ["x", *(n for n, _ in chain)])]
    reader = conv(2) if reader is None else reader
    own += [*nodes, FloatNode("scores", reader, ((nodes or own)[-1].name,))]
    return FloatGraph("net", "x", (5, 6, 3), "NHWC", tuple(own), outputs)


def inputs(count=20, seed=3):
    return np.random.default_rng(seed).normal(size=(count, 5, 6, 3))


def lows(graph, x):
    return {name: ends[0] for name, ends in observe_inputs(graph, x, (), False).ends.items()}


def taken(graph, x, share=1.0, fixed=()):
    return absorb_high_biases(graph, observe_inputs(graph, x, fixed, False).ends, share, fixed)


def check_same(graph, result, x):
    real, other = (evaluate(each, x)["scores"] for each in (graph, result))
    np.testing.assert_allclose(other, real, rtol=1e-12, atol=1e-12 * np.abs(real).max())


SLOPES = PRelu(np.linspace(-0.5, 0.5, CHANNELS))
AVERAGE = Pool("average", (3, 3), (2, 2), (1, 1, 1, 1), ceil=True)


@pytest.mark.parametrize(
    ("between", "reader"),
    [
        ([Relu()], None),
        ([Relu(slope=0.1)], None),
        ([Relu(limit=30.0)], conv(2, size=3, dilation=(2, 1))),
        ([SLOPES], Conv(conv(2, size=2, depth=2, out=9).weights, None, (2, 1), groups=3)),
        ([Clip(-1.0, 40.0)], conv(2, out=CHANNELS, depth=1, size=3, groups=CHANNELS)),
        ([Relu(), Pool("max", (3, 3), (2, 2), (1, 1, 1, 1))], conv(2, size=2)),
        ([AVERAGE, Relu(), Identity()], conv(2, pads=(-1, 0, 0, -1))),
        ([Relu(), Reshape((180,))], Dense(np.random.default_rng(4).normal(size=(4, 180)))),
    ],
)
@pytest.mark.parametrize("share", [1.0, 0.5])
def test_what_is_moved_leaves_the_function_as_it_is(between, reader, share):
    graph, x = network(*between, reader=reader), inputs()
    result, layers = taken(graph, x, share)
    assert layers == ["first"]
    changed = [a.name for a, b in zip(graph.nodes, result.nodes) if a is not b]
    assert changed == ["first", "scores"]
    check_same(graph, result, x)
    before, after = (lows(each, x)["first"] for each in (graph, result))
    assert (after[::2] < before[::2] - 3 * share).all()


@pytest.mark.parametrize("slope", [0.0, 0.1])
def test_all_or_half_of_what_channels_always_have_is_moved(slope):
    graph, x = network(Relu(slope)), inputs()
    before = lows(graph, x)["first"]
    for share in (1.0, 0.5):
        after = lows(taken(graph, x, share)[0], x)["first"]
        np.testing.assert_allclose(after[::2], (1 - share) * before[::2], atol=1e-9)
        np.testing.assert_array_equal(after[1::2], before[1::2])


def test_other_data_end_where_the_activation_bends():
    graph, x = network(Relu()), inputs()
    result, _ = taken(graph, x)
    moved = graph.node("first").operator.bias - result.node("first").operator.bias
    other = 3 * inputs(seed=5)
    real = np.maximum(evaluate(graph, other, trace=True)["op0"], moved)
    wanted = graph.node("scores").operator.evaluate(real)
    np.testing.assert_allclose(evaluate(result, other)["scores"], wanted, rtol=1e-9, atol=1e-9)


def branch(kind):
    return (
        FloatNode("second", conv(7, depth=3), ("x",)),
        FloatNode("sum", Elementwise(kind), ("first", "second")),
        FloatNode("relu", Relu(), ("sum",)),
    )


def test_a_sum_lets_constants_of_one_branch_through():
    graph, x = network(nodes=branch("add"), bias=20.0), inputs()
    result, layers = taken(graph, x)
    assert layers == ["first"]
    check_same(graph, result, x)
    assert np.abs(lows(result, x)["relu"]).max() < 1e-9


def test_without_an_activation_channels_are_centred():
    graph, x = network(Pool("max", (2, 2))), inputs()
    assert not taken(network(Relu()), x, 0.0)[1]
    result, _ = taken(graph, x, 0.0)
    check_same(graph, result, 9 * inputs(seed=5))
    first, pool = (observe_inputs(result, x, (), False).ends[name] for name in ("first", "op0"))
    np.testing.assert_allclose(np.minimum(first, pool)[0], -np.maximum(first, pool)[1])


@pytest.mark.parametrize(
    "graph",
    [
        network(Relu(), reader=conv(2, size=3, pads=(1, 1, 1, 1))),
        network(Relu(), Pool("average", (3, 3), (2, 2), (1, 1, 1, 1), count_pads=True)),
        network(Relu(limit=6.0)),
        network(Relu(), bias=0.0),
        network(Sigmoid()),
        network(Relu(), outputs=("op0", "scores")),
        network(nodes=branch("multiply")[:2]),
        network(Reshape((36, 5)), reader=Dense(np.ones((4, 5)))),
        network(
            nodes=(
                FloatNode("a", Relu(), ("first",)),
                FloatNode("b", Relu(1.0), ("first",)),
                FloatNode("twice", Elementwise("add"), ("a", "b")),
            )
        ),
        network(nodes=(FloatNode("twice", Elementwise("add"), ("first", "first")),)),
        network(nodes=(FloatNode("both", Concat(0), ("first", "first")),)),
    ],
)
def test_where_it_would_change_the_function_nothing_moves(graph):
    result, layers = taken(graph, inputs())
    assert not layers
    assert all(a is b for a, b in zip(graph.nodes, result.nodes))


def test_channels_rise_as_far_as_an_activation_is_straight():
    graph, x = network(Clip(-40.0, 1.0), bias=-12.0), inputs()
    result, _ = taken(graph, x)
    check_same(graph, result, x)
    highest = observe_inputs(result, x, (), False).ends["first"][1]
    np.testing.assert_allclose(highest[::2], 1.0)


@pytest.mark.parametrize("name", ["first", "op0", "scores"])
def test_layers_with_given_formats_stay(name):
    graph, x = network(Relu()), inputs()
    assert taken(graph, x)[1]
    assert not taken(graph, x, fixed={name})[1]


@pytest.mark.parametrize("scheme", ["power2", "affine"])
def test_it_gains_on_other_data_and_is_told(scheme):
    graph, x, other = network(Relu()), inputs(24), inputs(40, seed=8)
    reader = graph.node("scores").operator  # whose scores are around zero
    bias = -evaluate(graph, x)["scores"].mean((0, 1, 2))
    graph = graph.with_nodes(
        [*graph.nodes[:-1], FloatNode("scores", Conv(reader.weights, bias), ("op0",))]
    )
    (real,) = evaluate(graph, other).values()

    def closeness(steps):
        quantized = qemu_nn.quantize(FloatNetwork(graph), x, scheme=scheme, effort={"steps": steps})
        error = real - quantized.predict(other)
        return 10 * np.log10((real**2).sum() / (error**2).sum()), quantized.notes

    plain, _ = closeness([])
    better, notes = closeness(["absorb"])
    assert better > plain + 3
    assert notes[-1].startswith("absorb: all that channels always have: first, ")
