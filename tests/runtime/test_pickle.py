"""Networks and sessions pickle: other processes, started by spawn, run them to the same bytes."""

import copy
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor

import affine_networks
import ndk_networks
import numpy as np
import pytest
from float_classifiers import float_network
from networks import classifier, recurrent

from qemu_nn.api.golden import FloatNetwork, Network, example
from qemu_nn.functions.base import DECLARED
from qemu_nn.ndk.quant_tools.numpy_net import build_numpy_layers, run_layers
from qemu_nn.qnz.package import model_hash

GRAPHS = {
    "q7": classifier(),
    "with the firmware's memory": classifier(memory=True),
    "recurrent": recurrent(),
    "affine": affine_networks.small(),
}


def again(value):
    return pickle.loads(pickle.dumps(value))


def inputs(graph, count=3):
    rng = np.random.default_rng(4)
    limits = np.iinfo(graph.input.dtype)
    shape = (count, *(4 for _ in graph.states), *graph.input.shape)
    return rng.integers(limits.min, limits.max + 1, shape, graph.input.dtype)


def assert_same(got, want):
    assert list(got) == list(want)
    for name, array in want.items():
        np.testing.assert_array_equal(got[name], array, name)


@pytest.mark.parametrize("kind", GRAPHS)
def test_a_network_pickles_whole(kind):
    network = Network(GRAPHS[kind], float_network().graph, ("conv: coarser",))
    twin = again(network)
    assert model_hash(twin.graph) == model_hash(network.graph)
    assert twin.graph.memory == network.graph.memory
    assert twin.notes == network.notes
    x = float_network().graph.shape
    zeros = np.zeros((2, *x))
    assert_same(
        FloatNetwork(twin.reference).evaluate(zeros, trace=True),
        float_network().evaluate(zeros, trace=True),
    )


@pytest.mark.parametrize("kind", GRAPHS)
def test_a_session_pickles_as_its_network_and_its_options(kind):
    session = Network(GRAPHS[kind]).session(target="cortex-m3", variant="ref", threads=2)
    x = inputs(session.graph)
    session.run(x)
    twin = again(session)
    assert (twin.profile, twin.threads) == (session.profile, 2)
    assert [s.row for s in twin.plan.steps] == [s.row for s in session.plan.steps]
    assert_same(twin.run(x, trace=True), session.run(x, trace=True))
    assert_same(copy.deepcopy(session).run(x), session.run(x))


def test_every_function_pickles_as_itself():
    for function in DECLARED.values():
        assert again(function) is function


def test_a_network_of_the_npu_pickles():
    layers, params = ndk_networks.everything(), ndk_networks.parameters(8)
    net = build_numpy_layers(layers, params)
    x = np.random.default_rng(5).normal(size=(2, 3, 8, 8))
    names = ["y", "z"]
    want = run_layers(x, layers, names, numpy_layers=net)
    assert_same(run_layers(x, again(layers), names, numpy_layers=again(net)), want)


def test_other_processes_that_are_spawned_run_sessions_and_float_networks():
    demo, x, _ = example()
    session, network = demo.session(), float_network()
    real = np.random.default_rng(6).normal(size=(2, 8, 8, 1))
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        run = pool.submit(session.run, x[:5])
        evaluate = pool.submit(network.evaluate, real)
        assert_same(run.result(), session.run(x[:5]))
        assert_same(evaluate.result(), network.evaluate(real))
