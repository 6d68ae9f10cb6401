"""LSTMs of TensorFlow Lite Micro's own kernels, whose states live on from Invoke to Invoke, and
SVDF, whose state has a zero point there."""

from dataclasses import replace

import numpy as np
import pytest
from exported import check, needs, write
from paths import GOLDEN
from tflite_files import File
from tflite_lstm import KEPT, LSTMS, sequence

import qemu_nn
from qemu_nn.api.variants import compare_network_variants
from qemu_nn.errors import ModelError, Refused

#: Recorded on 23 October 2026: outputs [T, ...] of a sequence.
RECORDINGS = GOLDEN / "tflm_lstm.npz"


def load(name, folder):
    path = folder / f"{name}.tflite"
    with np.load(RECORDINGS) as arrays:
        path.write_bytes(arrays[f"{name}/file"].tobytes())
        wanted = arrays[f"{name}/output_0"]
    network = qemu_nn.load(path)
    return network, sequence(name).reshape(1, -1, *network.graph.input.shape), wanted


def test_files_are_those_that_were_recorded():
    with np.load(RECORDINGS) as arrays:
        for name, make in KEPT.items():
            assert make().bytes() == arrays[f"{name}/file"].tobytes()


@pytest.mark.caps
@pytest.mark.parametrize("name", KEPT)
def test_states_live_on_in_the_reference_kernels(name, tmp_path):
    network, x, wanted = load(name, tmp_path)
    (output,) = network.graph.outputs
    network.save(tmp_path / "net.qnz")
    for each in (network, qemu_nn.load(tmp_path / "net.qnz")):
        session = each.session(target=qemu_nn.Target(kernels="reference"))
        results = session.run(x)
        np.testing.assert_array_equal(results[output].ravel(), wanted.ravel())
        assert set(results) == {output, *(state.name for state in session.graph.states)}
    stream = session.stream()
    for step, want in zip(x[0], wanted):
        np.testing.assert_array_equal(stream.step(step)[output].ravel(), want.ravel())


@pytest.mark.parametrize("name", LSTMS)
def test_with_cmsis_nn_each_run_begins_anew(name, tmp_path):
    network, x, wanted = load(name, tmp_path)
    assert network.graph.states == ()
    results = network.session().run(x[0])[network.graph.outputs[0]]
    same = results.reshape(len(wanted), -1) == wanted.reshape(len(wanted), -1)
    assert same[0].all() or "wide" in name or "steps" in name
    assert not same[1:].all()


def test_the_first_run_finds_zero_points(tmp_path):
    network, _, _ = load("lstm_one", tmp_path)
    state = network.session(target=qemu_nn.Target(kernels="reference")).stream().state
    assert {values.dtype.name: set(values.ravel()) for values in state.values()} == {
        "int16": {0},
        "int8": {4},
    }


@pytest.mark.compiles
@needs("pc")
def test_firmware_keeps_the_states(tmp_path):
    network, x, _ = load("lstm_two", tmp_path)
    folder = write(
        tmp_path / "net", network, data=x[:, :4], target=qemu_nn.Target(kernels="reference")
    )
    assert "states_memory" in (folder / "network.c").read_text()
    status, lines = check(folder)
    assert (status, lines[-1]) == (0, "PASS: 0 failures"), lines


def test_variants_take_sequences(tmp_path):
    network, _, _ = load("lstm_one", tmp_path)
    table = compare_network_variants(
        network.graph, network.profile(qemu_nn.Target("cortex-m4", kernels="reference"))
    )
    assert any("live on" in str(row["builds"]) for row in table.records())


def test_a_build_that_reads_other_arrays_is_refused(tmp_path):
    graph = load("lstm_one", tmp_path)[0].graph
    (node,) = graph.nodes
    build = replace(node.builds[0], states=node.builds[0].states[:1])
    with pytest.raises(ModelError, match="takes arrays that differ from those of"):
        replace(graph, nodes=(replace(node, builds=(build,)),))


def test_a_cell_state_of_another_size_is_refused(tmp_path):
    net = LSTMS["lstm_one"]()
    net.tensors[net.operators[0][1][19]]["shape"] = [1, 4]
    with pytest.raises(
        ModelError, match=r"its cell state .* and its hidden state .* as many elements"
    ):
        qemu_nn.load(net.save(tmp_path))


def test_inside_of_a_branch_it_is_refused(tmp_path):
    net, inner = File(), LSTMS["lstm_one"]()
    net.buffers = inner.buffers
    net.graphs.append(inner)
    for at in (*inner.inputs, *inner.outputs):
        tensor = {k: v for k, v in inner.tensors[at].items() if k in ("shape", "type", "name")}
        form = {"scale": inner.tensors[at]["scales"], "zero": inner.tensors[at]["zeros"]}
        (net.inputs if at in inner.inputs else net.outputs).append(net.tensor(**tensor, **form))
    condition = net.tensor((1,), "BOOL", name="condition")
    which = {"ThenSubgraphIndex": 1, "ElseSubgraphIndex": 1}
    net.operator("IF", [condition, *net.inputs], net.outputs, "IfOptions", **which)
    net.inputs.append(condition)
    network = qemu_nn.load(net.save(tmp_path))
    assert network.session()
    with pytest.raises(Refused, match="keeps a state inside of a branch or a loop"):
        network.session(target=qemu_nn.Target(kernels="reference"))
