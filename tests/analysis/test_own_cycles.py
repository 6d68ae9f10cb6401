"""Functions that exports bring along have instruction counts, fitted to emulated cores."""

from dataclasses import replace

import exported
import pytest

import qemu_nn
from qemu_nn.analysis.layer_cycles import get_sizes
from qemu_nn.api.network import Network
from qemu_nn.cycles.model import STANDS_FOR
from qemu_nn.cycles.own import estimate_own, read_own
from qemu_nn.functions import FUNCTIONS


@pytest.mark.parametrize("core", ["cortex-m3", "cortex-m4", "cortex-m55", "cortex-m85"])
def test_the_usual_functions_of_tflite_files_have_counts(core):
    own = read_own()[STANDS_FOR.get(core, core)]
    usual = ("sub_s8", "requantize_s8_s8", "hard_swish_s8", "leaky_relu_s8", "relu_s8")
    assert {f"tflm_{name}" for name in usual} <= own.keys()
    assert own.keys() <= FUNCTIONS.keys()
    for function, (*factors, margin) in own.items():
        assert min(factors) >= 0, function
        assert 0 <= margin <= 0.5, function
        call = estimate_own(function, (1000, 1000, 1000), core, "7.0.0")
        assert 0 < call.low <= call.instructions <= call.high
        assert (call.core, call.optimization) == (core, "-O2")


def test_larger_calls_take_more():
    function = FUNCTIONS["tflm_sub_s8"]
    counts = []
    for size in (10, 1000):
        params = {**exported.difference().nodes[0].params, "block_size": size}
        sizes = get_sizes(function, params)
        assert sizes == (size, 2 * size, 0)
        counts.append(estimate_own(function.name, sizes, "cortex-m4", "7.0.0").instructions)
    assert counts[1] > 20 * counts[0]


def test_a_function_without_counts_has_none():
    assert estimate_own("tflm_detection_f32", (1, 1, 1), "cortex-m4", "7.0.0") is None
    assert estimate_own("tflm_sub_s8", (1, 1, 1), "cortex-m0", "7.0.0") is None


def test_an_estimate_tells_how_own_functions_were_counted():
    found = qemu_nn.estimate(Network(exported.difference()), target="cortex-m4")
    assert "not_counted" not in found.facts
    assert "tflm_sub_s8" in found.facts["own_functions"]
    rows = {row["layer"]: row for row in found.layers.records()}
    assert rows["sub"]["instructions"] > rows["sum"]["instructions"]


@exported.needs("m4")
@pytest.mark.compiles
def test_an_emulated_core_counts_within_the_range():
    graph = exported.difference()
    sub, first = graph.nodes
    first = replace(first, inputs=("x", "x"))
    network = Network(
        replace(graph, nodes=(first, replace(sub, inputs=("sum", "x"))), outputs=("sub",))
    )
    counted = qemu_nn.validate(network, on="qemu:m4").layers[1].counted
    row = qemu_nn.estimate(network, target="cortex-m4").layers.records()[1]
    assert row["low"] <= counted <= row["high"]
