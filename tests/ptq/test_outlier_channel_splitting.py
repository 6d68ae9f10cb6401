"""Channels become copies that share their weights or values, and compute the same."""

from dataclasses import replace

import numpy as np
import pytest
from flat_options import grouped

import qemu_nn
from qemu_nn.api.golden import FloatNetwork
from qemu_nn.ir.float_graph import FloatGraph, FloatNode
from qemu_nn.operators import Conv, Dense, Elementwise, Pool, PRelu, Relu, Reshape, Sigmoid
from qemu_nn.quantizer.outlier_channel_splitting import WAYS, split_channels
from qemu_nn.quantizer.steps import STEPS, observe_inputs
from qemu_nn.runtime.evaluate import evaluate

CHANNELS = 16
VALUES = WAYS[1]
SLOPES = PRelu(np.linspace(0, 0.5, CHANNELS))
#: Cause of the size: the values of a channel, the weights that read it, or both.
LOUD = {"weights": (1.0, 40.0), "values": (40.0, 1.0), "weights and values": (6.0, 6.0)}


def network(activation, loud="weights", channel=3, behind=SLOPES, seed=2):
    """Return two branches that are added, one after a depthwise layer; a layer that reads their
    sum, and one of all its pixels. One channel is much larger than the rest.
    """
    rng = np.random.default_rng(seed)
    values, weights, one = np.ones((3, CHANNELS))
    values[channel], weights[channel] = LOUD[loud]

    def conv(out, size, depth, by, **how):
        real = rng.normal(size=(out, size, size, depth)) / (size * depth**0.5)
        bias = rng.normal(size=out) / 4
        scale = by.reshape(-1, 1, 1, 1)
        return Conv(real * scale, bias * by, pads=(size // 2,) * 4, **how)

    point = conv(CHANNELS, 1, CHANNELS, one)
    point = Conv(point.weights * weights / values, point.bias)
    dense = rng.normal(size=(5, 4, CHANNELS)) * weights / values / 8
    nodes = [
        FloatNode("first", conv(CHANNELS, 3, 3, values), ("x",)),
        FloatNode("act", activation, ("first",)),
        FloatNode("depthwise", conv(CHANNELS, 3, 1, one, groups=CHANNELS), ("act",)),
        FloatNode("side", conv(CHANNELS, 1, 3, values), ("x",)),
        FloatNode("sum", Elementwise("add"), ("depthwise", "side")),
        FloatNode("relu", behind, ("sum",)),
        FloatNode("point", point, ("relu",)),
        FloatNode("pool", Pool("max", (3, 3), (3, 3)), ("relu",)),
        FloatNode("flat", Reshape((4 * CHANNELS,)), ("pool",)),
        FloatNode("dense", Dense(dense.reshape(5, -1), rng.normal(size=5)), ("flat",)),
    ]
    return FloatGraph("net", "x", (6, 6, 3), "NHWC", tuple(nodes), ("point", "dense"))


def inputs(count=12, seed=4):
    return np.random.default_rng(seed).normal(size=(count, 6, 6, 3))


def changed(graph, *nodes):
    """Return the network with other nodes of these names."""
    own = {node.name: node for node in (*graph.nodes, *nodes)}
    return graph.with_nodes(own.values())


def divided(graph, x, way, share=0.02, powers=False, fixed=()):
    return split_channels(
        graph, observe_inputs(graph, x, fixed, powers).largest, way, share, powers, fixed
    )


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
@pytest.mark.parametrize("activation", [Relu(), Relu(slope=0.1), Relu(limit=6.0), Sigmoid()])
@pytest.mark.parametrize("share", [0.02, 0.2])
def test_copies_compute_the_same(way, activation, share):
    graph, x = network(activation, way.name), inputs()
    result, added = divided(graph, x, way, share)
    if way.values and (getattr(activation, "limit", None) or isinstance(activation, Sigmoid)):
        assert not added  # halves of values meet the limit apart
        assert all(a is b for a, b in zip(graph.nodes, result.nodes))
        return
    assert added == (1 if share == 0.02 else 4)
    assert result.shapes["sum"] == (6, 6, CHANNELS + added)
    assert result.shapes["flat"] == (4 * (CHANNELS + added),)
    real, other = (evaluate(each, x) for each in (graph, result))
    for name in graph.outputs:
        scale = np.abs(real[name]).max()
        np.testing.assert_allclose(other[name], real[name], rtol=1e-12, atol=1e-12 * scale)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
def test_copies_of_the_largest_channel_share_what_is_large(way):
    graph, x = network(Relu(), way.name), inputs()
    result, _ = divided(graph, x, way, 0.2)
    values, weights = LOUD[way.name]
    count = 5 if result.shapes["sum"][-1] == CHANNELS + 4 else 0
    place = result.node("relu").operator.slope == graph.node("relu").operator.slope[3]
    assert place.sum() == count
    before, after = (observe_inputs(each, x, (), False).largest for each in (graph, result))
    for name in ("first", "depthwise", "side", "sum", "relu"):
        wanted = before[name][3] * count**-way.values
        np.testing.assert_allclose(after[name][place], wanted, rtol=1e-9)
    own = result.node("point").operator.weights[..., place]
    read = graph.node("point").operator.weights[..., 3:4]
    np.testing.assert_allclose(own, np.repeat(read, 5, -1) * count ** (way.values - 1), rtol=1e-9)
    assert max(values, weights) > 5


def test_channels_that_are_alike_stay():
    graph = network(Relu(), channel=slice(None))
    for way in WAYS:
        result, added = divided(graph, inputs(), way, 0.05)
        assert not added
        assert all(a is b for a, b in zip(graph.nodes, result.nodes))


def test_numbers_of_channels_keep_what_functions_ask_for():
    graph, x = network(Relu()), inputs()
    assert [divided(graph, x, WAYS[0], 0.02, powers)[1] for powers in (False, True)] == [1, 4]
    assert divided(graph, x, WAYS[0], 0.3, powers=True)[1] == 0  # half of them more are too many


@pytest.mark.parametrize("name", ["first", "act", "depthwise", "sum", "flat", "point", "dense"])
def test_layers_with_given_formats_stay(name):
    assert divided(network(Relu()), inputs(), WAYS[0], fixed={name})[1] == 0


@pytest.mark.parametrize("name", ["act", "depthwise", "pool"])
def test_what_an_output_shows_stays(name):
    graph = network(Relu())
    shown = FloatGraph("net", "x", graph.shape, "NHWC", graph.nodes, ("dense", name))
    assert divided(shown, inputs(), WAYS[0])[1] == 0


def test_layers_of_groups_stay():
    weights = np.random.default_rng(1).normal(size=(CHANNELS, 1, 1, CHANNELS // 2))
    point = FloatNode("point", Conv(weights, groups=2), ("relu",))
    assert divided(changed(loud(), point), inputs(), VALUES)[1] == 0


def test_one_channel_for_all_is_not_copied():
    weights = np.random.default_rng(1).normal(size=(1, 1, 1, 3))
    gate = FloatNode("depthwise", Conv(weights), ("x",))
    product = FloatNode("sum", Elementwise("multiply"), ("side", "depthwise"))
    assert divided(changed(network(Relu()), gate, product), inputs(), WAYS[0])[1] == 0


def loud():
    """Return values with one channel much larger than the rest."""
    graph = network(Relu(), "values", behind=Relu())
    return FloatGraph("net", "x", graph.shape, "NHWC", graph.nodes, ("dense",))


@pytest.mark.parametrize("scheme", ["power2", "affine"])
def test_it_gains_on_other_data_and_is_told(scheme):
    graph, x, other = loud(), inputs(16), inputs(40, seed=8)
    real = evaluate(graph, other)["dense"]

    def quantized(steps):
        result = qemu_nn.quantize(FloatNetwork(graph), x, scheme=scheme, effort={"steps": steps})
        error = real - result.predict(other)
        return result, 10 * np.log10((real**2).sum() / (error**2).sum())

    (_, before), (better, after) = quantized([]), quantized(["split"])
    assert after > before + 3
    added = better.reference.shapes["sum"][-1] - CHANNELS
    assert better.notes[-1].startswith(f"split: {added} more channels share values, ")


def test_copies_that_gain_little_are_left_out(monkeypatch):
    net, x = FloatNetwork(loud()), inputs(16)
    monkeypatch.setitem(STEPS, "split", replace(STEPS["split"], least=20.0))
    result = qemu_nn.quantize(net, x, scheme="affine", effort={"steps": ["split"]})
    assert result.notes[-1] == "split: it does not help, and is left out"
    assert result.reference.shapes["sum"][-1] == CHANNELS


def test_copies_keep_within_a_budget():
    net, x = FloatNetwork(loud()), inputs(16)
    plain = qemu_nn.quantize(net, x, scheme="affine")
    size = sum(array.nbytes for array in plain.graph.arrays.values())
    for room, added in ((0, 0), (1000, 1)):
        how = {"flash": size + room, "steps": ["split"]}
        result = qemu_nn.quantize(net, x, **grouped("affine", **how))
        assert result.reference.shapes["sum"][-1] == CHANNELS + added
