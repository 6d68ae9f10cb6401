"""The float meaning of every operator of .tflite files, compared with the result of its call."""

import numpy as np
import pytest
from tflite_cases import CASES, REFERENCE, inputs

import qemu_nn
from qemu_nn.errors import Error
from qemu_nn.lowering.dequantize import dequantize_graph
from qemu_nn.runtime.evaluate import iterate_tensors
from qemu_nn.runtime.unbounded import Unlimited

#: Steps that a call may be off, beyond its rounding: curves of 16 bits come from short tables, sums
#: of 64 bits are multiplied by 16, and products magnify what their operands are off.
STEPS = {"softmax_s16": 20, "curve_tanh_s16": 3, "elementwise_mul": 3, "with_average_mul": 3}
STEPS.update({f"{name}_s16": 2 for name in ("fully_connected", "convolve", "depthwise")})

#: Functions without a float operator.
UNKNOWN = {
    "convolve_batched": "output: it reads 3 images as one sample",
    "lstm": "output: arm_lstm_unidirectional_s(8|16) has no float meaning",
    "svdf": "works in memory of its own, keeps a state, or has loops",
}


def entry(table, name):
    """Return the table's entry for a case, by the beginning of its name."""
    return next((value for start, value in table.items() if name.startswith(start)), None)


@pytest.fixture(params=[n for n in CASES if entry(UNKNOWN, n) is None and n not in REFERENCE])
def case(request, tmp_path):
    """Name, network, inputs, and what each call computes."""
    network = qemu_nn.load(CASES[request.param]().save(tmp_path))
    graph = network.graph
    x = inputs(request.param, graph.input)
    return request.param, network, x, {graph.input.name: x, **network.session().run(x, trace=True)}


@pytest.mark.parametrize("name", [name for name in CASES if entry(UNKNOWN, name) is not None])
def test_what_no_float_operator_does_is_named(name, tmp_path):
    network = qemu_nn.load(CASES[name]().save(tmp_path))
    with pytest.raises(Error, match=f"cannot compare net with floats: .*{entry(UNKNOWN, name)}"):
        qemu_nn.analyze(network, np.zeros((1, *network.graph.input.shape)))


def test_a_call_is_off_its_meaning_by_rounding_alone(case):
    name, network, x, traced = case
    graph = network.graph
    real = dict(iterate_tensors(dequantize_graph(graph), graph.input.format.dequantize(x)))
    for node in graph.nodes:
        if node.name in real:
            held, got = node.output.format, traced[node.name]
            place = np.clip(held.scale_unrounded(real[node.name].reshape(got.shape)), *held.limits)
            assert np.abs(place - got).max() < (entry(STEPS, name) or 1.01)
    assert set(graph.outputs) <= set(real)


def test_what_is_said_to_be_unsaturated_is_what_the_call_clamps(case):
    _, network, _, traced = case
    graph = network.graph
    for node in graph.nodes:
        fed = [traced[name] for name in node.inputs]
        call = Unlimited(graph, node, network.profile())
        exact = call.compute_unsaturated(fed, call.compute_accumulators(fed[0])) if fed else None
        if exact is not None:
            least, most = node.output.format.limits
            ends = node.params.get("act_min", least), node.params.get("act_max", most)
            got = traced[node.name]
            off = np.clip(exact, *ends).reshape(got.shape) - got.astype(float)
            assert np.abs(off).max() <= (8 if "s16" in node.function.name else 1), node.name


def test_its_analysis_reports_every_call_that_computes(case):
    _, network, x, _ = case
    report = qemu_nn.analyze(network, network.graph.input.format.dequantize(x))
    calls = [n.name for n in network.graph.nodes if n.function.op not in ("constant", "broadcast")]
    assert [each.name for each in report.layers][1:] == calls
