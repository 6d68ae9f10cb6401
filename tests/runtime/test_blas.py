"""Threads of numpy's matrix products: one for small networks, and as before afterwards."""

import threading

import numpy as np
import pytest

import qemu_nn
from qemu_nn.api.network import FloatNetwork
from qemu_nn.ir.float_graph import FloatGraph, FloatNode
from qemu_nn.operators import Dense
from qemu_nn.runtime import blas
from qemu_nn.runtime.blas import limit_blas_threads, one_blas_thread


@pytest.fixture
def threads(monkeypatch):
    """Replace the functions by those of a library of three threads; the last item is the count."""
    counts = [3]
    monkeypatch.setattr(blas, "_find_functions", lambda: (lambda: counts[-1], counts.append))
    return counts


def network(rows):
    node = FloatNode("fc", Dense(np.ones((rows, 4))), ("x",))
    return FloatGraph("net", "x", (4,), None, (node,), ("fc",))


def test_small_layers_are_computed_on_one_thread_and_large_ones_on_all(threads):
    with limit_blas_threads(network(1000), 64):
        assert threads[-1] == 1
    assert threads[-1] == 3
    with limit_blas_threads(network(2**20), 64):
        assert threads[-1] == 3


def test_the_last_of_several_contexts_restores_the_number(threads):
    first, second = one_blas_thread(), one_blas_thread()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert threads[-1] == 1
    second.__exit__(None, None, None)
    assert threads[-1] == 3


def test_an_error_restores_the_number(threads):
    with pytest.raises(KeyError), one_blas_thread():
        raise KeyError
    assert threads[-1] == 3


def test_quantize_and_analyze_use_one_thread(threads, monkeypatch):
    x = np.random.default_rng(0).normal(size=(32, 4))
    made = qemu_nn.quantize(FloatNetwork(network(3)), x)
    assert threads == [3, 1, 3]
    qemu_nn.analyze(made, x)
    assert threads[-1] == 3
    assert threads.count(1) >= 2


def test_a_numpy_without_openblas_is_left_alone(monkeypatch):
    monkeypatch.setattr(blas, "_find_functions", lambda: None)
    with one_blas_thread():
        assert threading.active_count()


def test_the_functions_of_the_installed_numpy_count():
    found = blas._find_functions.__wrapped__()
    if found is None:
        pytest.skip("numpy is not linked to OpenBLAS, or the system does not look into it")
    get = found[0]
    before = get()
    with one_blas_thread():
        assert get() == 1
    assert get() == before
