"""Single codes of weights and biases move where the device's scores come nearer, and no others."""

from dataclasses import replace

import numpy as np
import pytest
from branched_network import SCHEMES, inputs, lowered, network, on_grid, same
from resumable_network import inputs as resumable_inputs
from resumable_network import quantized

import qemu_nn
from qemu_nn.ir.float_graph import FloatGraph, FloatNode
from qemu_nn.operators import Dense
from qemu_nn.quantizer import coordinate_descent
from qemu_nn.quantizer.coordinate_descent import Goal, cut_network, descend_layer
from qemu_nn.quantizer.im2col import make_weight_matrix
from qemu_nn.runtime.evaluate import evaluate
from qemu_nn.runtime.session import Session


def goal(name, x, graph):
    """Return a network of operators with functions, its formats, and its float scores."""
    own, formats, graph = lowered(name, graph, x)
    scores = {"dense": evaluate(graph, x)["dense"]}
    return graph, formats, Goal(x, scores, lambda each: own.lower(each, formats), own.profile)


def scores_of(graph, to):
    """Return the output of a session for the whole network, as floats."""
    device = to.lower(graph)
    got = Session(device, to.profile).run(device.input.format.quantize(to.x))["dense"]
    return device.node("dense").output.format.dequantize(got)


def lack(graph, to):
    real = to.scores["dense"]
    return np.square(scores_of(graph, to) - real).sum() / np.square(real).sum()


@pytest.mark.parametrize("name", SCHEMES)
@pytest.mark.parametrize("layer", ["point", "dense"])
def test_parts_of_a_network_compute_what_all_of_it_does(name, layer):
    graph, _, to = goal(name, inputs(5), network(slope=0.0))
    operator = graph.node(layer).operator
    other = replace(operator, weights=np.roll(operator.weights, 1, axis=0))
    at = cut_network(graph, layer, to)
    both = np.stack([at.outputs(each) for each in (operator, other)])
    changed = graph.with_nodes(
        replace(n, operator=other) if n.name == layer else n for n in graph.nodes
    )
    assert len(at.after.others) == (layer == "point")  # the other branch
    wanted = [lack(each, to) for each in (graph, changed)]
    np.testing.assert_allclose(at.errors(both).sum(1), wanted, rtol=1e-12)


@pytest.mark.parametrize("name", ["power2", "affine"])
@pytest.mark.parametrize("layer", ["dense", "point"])
def test_scores_come_nearer_on_the_grid(name, layer):
    graph, formats, to = goal(name, inputs(10), network(slope=0.0))
    grid, node = formats.grid(graph.node(layer)), graph.node(layer)
    away = (
        np.random.default_rng(8).integers(-9, 10, make_weight_matrix(node.operator).shape)
        * grid.weights
    )
    weights = node.operator.weights + away.reshape(node.operator.weights.shape)
    spoiled = replace(node, operator=replace(node.operator, weights=weights))
    start = graph.with_nodes(spoiled if n.name == layer else n for n in graph.nodes)
    moved = descend_layer(start, layer, grid, to, iter)
    assert lack(moved, to) < lack(start, to)
    operator = moved.node(layer).operator
    assert on_grid(make_weight_matrix(operator), grid.weights, grid.weight_limits)
    assert on_grid(operator.bias, grid.biases, grid.bias_limits)
    before = np.rint(make_weight_matrix(spoiled.operator) / grid.weights).clip(*grid.weight_limits)
    moves = np.abs(np.rint(make_weight_matrix(operator) / grid.weights) - before)
    assert moves.max() <= 1
    assert layer == "point" or moves.any()  # one code there hardly reaches the scores


def test_what_saturates_comes_back():
    graph, formats, to = goal("power2", inputs(10), network(slope=0.0))
    dense = graph.node("dense")
    far = replace(dense.operator, bias=dense.operator.bias + 64 * np.eye(5)[2])  # saturates
    graph = graph.with_nodes([*graph.nodes[:-1], replace(dense, operator=far)])
    moved = descend_layer(graph, "dense", formats.grid(dense), to, iter)
    assert lack(moved, to) < lack(graph, to)


def test_where_it_takes_too_long_only_biases_move(monkeypatch):
    graph, formats, to = goal("affine", inputs(4), network(slope=0.0))
    turns = []

    def none(columns):
        turns.append([*columns])
        return ()

    for work in (1 << 30, 1):
        monkeypatch.setattr(coordinate_descent, "_WORK", work)
        descend_layer(graph, "point", formats.grid(graph.node("point")), to, none)
    assert turns == [[8, 0, 1, 2, 3, 4, 5, 6, 7], [8]]


@pytest.mark.parametrize("name", SCHEMES)
def test_codes_stay_on_the_grid_however_far_they_move(name):
    graph, formats, _ = goal(name, inputs(2), network(slope=0.0))
    grid, layer = formats.grid(graph.node("point")), graph.node("point").operator
    codes = coordinate_descent._encode(layer, grid)
    for column, (low, high) in ((0, grid.weight_limits), (8, grid.bias_limits)):
        for far, end in ((-(2.0**50), low), (2.0**50, high)):
            moved = codes.move_column(column, np.array([far]))
            assert (moved.integers[:, column] == end).all()
            assert on_grid(make_weight_matrix(moved.layer(layer)), grid.weights, grid.weight_limits)


def test_without_turns_nothing_changes():
    graph, formats, to = goal("affine", inputs(4), network(slope=0.0))
    grid = formats.grid(graph.node("dense"))
    assert descend_layer(graph, "dense", grid, to, lambda turns: ()) is graph


def test_the_step_is_judged_and_repeatable():
    x = resumable_inputs(seed=51)
    first, second = (quantized(x, scheme="affine", steps=["descend"]) for _ in range(2))
    assert same(first, second)
    assert first.notes[-1].startswith("descend: ")
    assert not same(first, quantized(x, scheme="affine", steps=[]))


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("scheme", ["power2", "affine"])
def test_scores_that_are_all_zero_have_errors_of_ordinary_size(scheme):
    zeros = Dense(np.zeros((3, 4)), np.zeros(3))
    graph = FloatGraph("zeros", "x", (4,), None, (FloatNode("dense", zeros, ("x",)),), ("dense",))
    x = np.random.default_rng(3).normal(size=(6, 4))
    made = qemu_nn.quantize(
        qemu_nn.FloatNetwork(graph), x, scheme=scheme, effort={"steps": ["descend"]}
    )
    assert not made.predict(x).any()
