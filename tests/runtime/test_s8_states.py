"""Networks of the s8 API whose calls keep a state: step by step = the calls one by one."""

from dataclasses import replace

import numpy as np
import pytest
from lstm_networks import LSTM, lstm_network

from qemu_nn import cmsis
from qemu_nn.errors import ModelError, Refused
from qemu_nn.firmware.memory import plan_layout
from qemu_nn.functions import FUNCTIONS
from qemu_nn.ir.graph import Address, CallAddresses, Graph, Memory, Node
from qemu_nn.ir.tensors import Tensor
from qemu_nn.qnz.package import load_package, save_package
from qemu_nn.runtime.arena import plan_tensor_arena
from qemu_nn.runtime.plan import plan
from qemu_nn.runtime.session import Session
from qemu_nn.targets import profile

RNG = np.random.default_rng(8)
pytestmark = pytest.mark.caps

DEVICE = profile(cmsis="main-2026-07")

SVDF = FUNCTIONS["arm_svdf_s8"]
#: Two layers: 5 features to 4 units, these to 3.
SIZES = ((5, 4), (4, 3))
STEPS, SAMPLES = 6, 5


def svdf_params(features, units):
    own = {"input_size": features, "units": units, "in_shift": -6, "out_shift": -6}
    return {**SVDF.cases[0], **own}


def arrays_of(params):
    """Arrays of a call by C's names."""
    made = {}
    for array in SVDF.arrays[2:]:
        limits = (-1000, 1000) if array.name == "bias" else (-128, 128)
        made[array.name] = RNG.integers(*limits, array.shape(params)).astype(array.dtype)
    return made


LAYERS = [(svdf_params(*sizes), arrays_of(svdf_params(*sizes))) for sizes in SIZES]


def network(memory=None):
    """Return a network of both layers; without a memory, the runtime places all tensors."""
    nodes, states, arrays = [], [], {}
    source = "x"
    for index, (params, own) in enumerate(LAYERS):
        state, name = f"state{index}", f"svdf{index}"
        states.append(Tensor(state, SVDF.inputs[1].shape(params)[1:], "int8"))
        arrays[f"{name}_weights"] = SVDF.weights_of(own)
        arrays[f"{name}_bias"] = SVDF.bias_of(own)
        inputs = () if memory else (source, state)
        output = Tensor(name, (params["units"],), "int8")
        nodes.append(Node(SVDF, params, inputs, output, f"{name}_weights", f"{name}_bias"))
        source = name
    x = Tensor("x", (SIZES[0][0],), "int8")
    return Graph("svdf", (x,), tuple(nodes), (source,), arrays, memory, tuple(states))


def memory(**places):
    """Return a firmware's memory: data in one buffer, the states in another."""
    first, second = (network().states[i].nbytes for i in range(2))
    states = {"state0": Address("kept", 0), "state1": Address("kept", first)}
    usual = {
        "svdf0": CallAddresses((Address("data", 0), states["state0"]), Address("data", 8)),
        "svdf1": CallAddresses((Address("data", 8), states["state1"]), Address("data", 16)),
    }
    buffers = {"data": 24, "kept": first + second}
    return Memory(buffers, {**usual, **places}, Address("data", 0), states)


def one_by_one(x, start):
    """Return every output and every state after each step, for one sample."""
    states, steps = [part.copy() for part in start], []
    for row in x:
        values = {}
        for index, (params, own) in enumerate(LAYERS):
            call = {**params, **own, "input": row[None], "state": states[index][None]}
            row = cmsis.invoke(SVDF, call, DEVICE, in_place=True)[0]
            values.update({f"svdf{index}": row, f"state{index}": states[index].copy()})
        steps.append(values)
    return steps


def data():
    """Inputs, and a state to start from for each layer."""
    rng = np.random.default_rng(9)
    x = rng.integers(-128, 128, (SAMPLES, STEPS, 5)).astype(np.int8)
    shapes = [(SAMPLES, *tensor.shape) for tensor in network().states]
    return x, [rng.integers(-128, 128, shape).astype(np.int8) for shape in shapes]


@pytest.mark.parametrize("given", ["memory", "none"])
@pytest.mark.parametrize("threads", [1, 2])
def test_each_step_is_the_calls_on_the_state_of_the_step_before(given, threads):
    session = Session(network(memory() if given == "memory" else None), DEVICE, threads=threads)
    x, start = data()
    results = session.run(x, dict(zip(("state0", "state1"), start)), trace=True)
    assert set(results) == {"svdf0", "svdf1", "state0", "state1"}
    for sample in range(SAMPLES):
        for step, values in enumerate(one_by_one(x[sample], [part[sample] for part in start])):
            for name, want in values.items():
                got = results[name][sample, step]
                np.testing.assert_array_equal(got, want, f"{name}, sample {sample}, step {step}")
    last = session.run(x, dict(zip(("state0", "state1"), start)))
    np.testing.assert_array_equal(last["svdf1"], results["svdf1"])


@pytest.mark.parametrize("given", ["memory", "none"])
def test_a_sequence_may_be_cut_anywhere(given):
    session = Session(network(memory() if given == "memory" else None), DEVICE)
    x, _ = data()
    whole = session.run(x)
    first = session.run(x[:, :2])
    state = {name: first[name][:, -1] for name in ("state0", "state1")}
    rest = session.run(x[:, 2:], state)
    for name, values in whole.items():
        cut = np.concatenate([first[name], rest[name]], axis=1)
        np.testing.assert_array_equal(cut, values, name)
    assert len(np.unique(whole["svdf1"])) > 9


def test_both_memories_give_the_same_and_survive_a_file(tmp_path):
    x, _ = data()
    want = Session(network(), DEVICE).run(x)
    for index, graph in enumerate((network(memory()), network())):
        path = tmp_path / f"{index}.qnz"
        save_package(graph, path)
        got = Session(load_package(path).graph, DEVICE).run(x)
        for name, values in want.items():
            np.testing.assert_array_equal(got[name], values, name)


def test_states_have_memory_of_their_own_beside_the_arena():
    graph = network()
    placed = plan_layout(plan(graph, DEVICE, trace=True))
    states = sorted(((placed.states[t.name], t.nbytes) for t in graph.states), key=str)
    assert {address.buffer for address, _ in states} == {"states"}
    (first, size), (second, last) = states
    assert first.offset + size <= second.offset
    assert second.offset + last <= placed.buffers["states"]
    shared = plan_tensor_arena(graph, {"svdf0": {}, "svdf1": {}}).tensors
    assert set(shared) == {graph.input.name, "svdf0", "svdf1"}


# ---- what is refused ----


def test_a_state_must_be_the_networks():
    graph = network()
    with pytest.raises(ModelError, match="reads 'state1', which no earlier layer computes"):
        replace(graph, states=graph.states[:1])
    params = svdf_params(features=48, units=3)  # a state of 48 bytes
    node = replace(graph.nodes[1], params=params, inputs=("x", "x"))
    arrays = {**graph.arrays, "svdf1_weights": SVDF.weights_of(arrays_of(params))}
    entry = Tensor("x", (48,), "int8")
    with pytest.raises(
        ModelError, match="keeps its state in 'x', which is no state of the network"
    ):
        Graph("odd", (entry,), (node,), ("svdf1",), arrays)
    lone = Tensor("lone", (3,), "int8")
    with pytest.raises(ModelError, match=r"no layer writes the state 'lone'; describe the memory"):
        replace(graph, states=(*graph.states, lone))


def test_a_state_over_other_tensors_is_refused():
    place = CallAddresses((Address("kept", 30), Address("kept", 0)), Address("data", 8))
    with pytest.raises(Refused, match="keeps its state in the memory of another input or output"):
        Session(network(memory(svdf0=place)), DEVICE)


# ---- LSTM ----


def test_an_lstm_without_states_takes_its_input_alone():
    graph, call = lstm_network(kept=False)
    x = RNG.integers(-128, 128, (4, 28, 5)).astype(np.int8)
    got = Session(graph, DEVICE).run(x)["lstm"]
    for sample, values in zip(x, got):
        want = cmsis.invoke(LSTM, {**call, "input": sample}, DEVICE)
        np.testing.assert_array_equal(values, want[0])
    assert len(np.unique(got)) > 50


def test_an_lstm_goes_on_from_its_states():
    graph, call = lstm_network(kept=True)
    x = RNG.integers(-128, 128, (2, 3, 28, 5)).astype(np.int8)
    results = Session(graph, DEVICE).run(x)
    for sample in range(2):
        states = {
            "cell_state": np.zeros((1, 6), np.int16),
            "hidden_state": np.zeros((1, 6), np.int8),
        }
        for step in range(3):
            arguments = {**call, **states, "input": x[sample, step]}
            want = cmsis.invoke(LSTM, arguments, DEVICE, in_place=True)
            np.testing.assert_array_equal(results["lstm"][sample, step], want[0])
            np.testing.assert_array_equal(results["cells"][sample, step], states["cell_state"][0])
            np.testing.assert_array_equal(
                results["hidden"][sample, step], states["hidden_state"][0]
            )
