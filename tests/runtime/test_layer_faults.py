"""Layers that stop on an input, as on the device, are named with the sample, for any threads."""

import pickle
import re

import numpy as np
import pytest
from networks import node

import qemu_nn
from qemu_nn.api.golden import golden
from qemu_nn.errors import LayerFault, Refused
from qemu_nn.ir.graph import Graph, Tensor

SAMPLES, BAD = 200, (150, 170)
SCALES = {"output_zero_point": 0, "multiplier": 2**30}


def network(name, function, *inputs, **params):
    """Return a network of a copy and of one layer that may stop."""
    before = node("before", "tflm_read_variable_s8", ["x"], length=4)
    names = ["before", *(tensor.name for tensor in inputs[1:])]
    last = node(name, function, names, **params)
    return qemu_nn.Network(Graph("net", inputs, (before, last), (name,), {}))


X = Tensor("x", (4,), "int8", 7)


def quotients():
    zeros = {"input_1_zero_point": 0, "input_2_zero_point": 0, "act_min": -128, "act_max": 127}
    params = {**zeros, **SCALES, "shift": 6, "length": 4}
    return network("quotient", "tflm_div_s8", X, Tensor("y", (4,), "int8", 7), **params)


def roots():
    params = {"input_zero_point": 0, **SCALES, "shift": 5, "length": 4}
    return network("root", "tflm_rsqrt_s8", X, **params)


def gathered():
    steps = {"step_0": 1, **{f"step_{axis}": 0 for axis in range(1, 5)}}
    params = {"batches": 1, "outer": 1, "side": 4, "inner": 1, "count": 1, "depth": 1, **steps}
    return network("chosen", "tflm_gather_s8", X, Tensor("places", (1, 1, 1), "int32"), **params)


def parts():
    sides = {f"side_{axis}": 1 for axis in range(5)}
    updates = {f"update_{axis}": 1 for axis in range(5)}
    params = {**sides, "side_5": 4, **updates, "update_5": 2, "rank": 1}
    return network("part", "tflm_part_s8", X, Tensor("starts", (1,), "int32"), **params)


#: Reason of a stop -> network, good and bad values of its last input.
CASES = {
    "DIV by 0": (quotients, 1, 0),
    "RSQRT of a number below 0": (roots, 1, -1),
    "GATHER or GATHER_ND of an index outside its input": (gathered, 3, 4),
    "SLICE outside its input": (parts, 2, 3),
}


def inputs(graph, good, bad):
    """Return samples of which two stop the last layer."""
    x = [np.ones((SAMPLES, *tensor.shape), tensor.dtype) for tensor in graph.inputs]
    x[-1][:] = good
    x[-1][list(BAD)] = bad
    return x if len(x) > 1 else x[0]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("reason", CASES)
def test_the_first_sample_and_its_layer_are_named(reason, threads):
    make, good, bad = CASES[reason]
    found = make()
    x = inputs(found.graph, good, bad)
    layer = found.graph.outputs[0]
    session = found.session(threads=threads)
    with pytest.raises(
        LayerFault, match=f"^net: layer '{layer}' stops at sample 150, .*: {reason}"
    ):
        session.run(x)
    with pytest.raises(Refused, match=f"layer '{layer}' stops at sample 150"):
        session.run(x, trace=True)
    good_ones = [part[:150] for part in x] if isinstance(x, list) else x[:150]
    assert len(session.run(good_ones)[layer]) == 150  # the session can be used again


def test_samples_are_counted_in_all_data(tmp_path):
    found, x = roots(), inputs(roots().graph, 1, -1)
    with pytest.raises(LayerFault, match="at sample 150 of the data"):
        qemu_nn.run(found, x)
    with pytest.raises(LayerFault, match="at sample 170 of the data") as raised:
        qemu_nn.run(found, qemu_nn.Dataset(x, index="0:100,160:200"))
    assert raised.value.layer == "root"
    with pytest.raises(LayerFault, match="at sample 150"):
        golden(found, x, tmp_path / "goldens")
    with pytest.raises(LayerFault, match="at sample 150 of the data"):
        qemu_nn.evaluate(found, (x, np.zeros(SAMPLES, int)), kind="classifier")


def test_a_time_step_is_named():
    found = recurrent()
    x = np.ones((3, 5, 4), np.int8)
    x[1, 2] = -1
    with pytest.raises(LayerFault, match="layer 'root' stops at sample 1, time step 2, as it does"):
        found.session().run(x)
    stream = found.session().stream()
    stream.step(x[0, 0])
    with pytest.raises(LayerFault, match="net: layer 'root' stops, as it does"):
        stream.step(x[1, 2])


def recurrent():
    """Return the roots of an input, and a state that a copy changes."""
    state = Tensor("state", (4,), "int8", 7)
    root = node("root", "tflm_rsqrt_s8", ["x"], input_zero_point=0, **SCALES, shift=5, length=4)
    kept = node("kept", "tflm_assign_variable_s8", ["state", "x"], length=4)
    return qemu_nn.Network(Graph("net", (X,), (root, kept), ("root",), {}, states=(state,)))


def test_a_fault_pickles_and_keeps_its_parts():
    fault = LayerFault("net", "a\nb", "DIV by 0", 3, None, "sample 9 of the data")
    again = pickle.loads(pickle.dumps(fault))
    assert str(again) == str(fault)
    assert re.match(r"net: layer 'a\\nb' stops at sample 9 of the data", str(again))
    assert (again.layer, again.sample) == ("a\nb", 3)
