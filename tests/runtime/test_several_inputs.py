"""Networks with several inputs: however they come, and wherever the network goes."""

import pickle

import numpy as np
import pytest
import tflite_states as states
from exported import check, needs, write
from tflite_states import STATES

import qemu_nn
from qemu_nn.api import golden as pipeline
from qemu_nn.api import run as running
from qemu_nn.errors import Error
from qemu_nn.qnz.package import model_hash
from qemu_nn.runtime.session import draw_inputs

pytestmark = pytest.mark.caps

#: Their inputs: three images; a truth value and a vector, step by step.
NAMES = {"three_inputs": ["a", "b", "c"], "branches": ["condition", "input"]}


@pytest.fixture(scope="module", params=NAMES)
def network(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    return qemu_nn.load(STATES[request.param]().save(folder, f"{request.param}.tflite"))


def inputs(network, count=5):
    return draw_inputs(network.graph, count, 4)


def wanted(network, x):
    """Return numpy's outputs by name, for a list of inputs."""
    lead, name = 1 + bool(network.graph.states), network.graph.name
    samples = [states.steps(name, *parts) for parts in zip(*x)] if lead == 2 else None
    made = [np.stack(part) for part in zip(*samples)] if samples else states.steps(name, *x)
    shapes = [network.graph.tensors[output].shape for output in network.graph.outputs]
    return {
        output: part.reshape(*x[0].shape[:lead], *shape)
        for output, part, shape in zip(network.graph.outputs, made, shapes)
    }


def assert_same(got, want):
    assert set(got) >= set(want)
    for name, values in want.items():
        np.testing.assert_array_equal(got[name], values, name)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_a_batch_is_what_numpy_computes(network, threads):
    session = network.session(threads=threads)
    for count in (5, 1, 64):
        x = inputs(network, count)
        assert_same(session.run(x), wanted(network, x))
    assert all(len(values) == 0 for values in session.run(inputs(network, 0)).values())


def test_inputs_are_a_list_or_a_dictionary_in_any_order(network):
    x, names = inputs(network), NAMES[network.graph.name]
    assert [tensor.name for tensor in network.graph.inputs] == names
    session, want = network.session(), wanted(network, x)
    assert_same(session.run(tuple(x)), want)
    assert_same(session.run(dict(zip(names, x))), want)
    assert_same(session.run(dict(reversed(list(zip(names, x))))), want)
    backward = [np.ascontiguousarray(part[::-1])[::-1] for part in x]
    assert_same(session.run([np.asfortranarray(part) for part in backward]), want)


def refused(network, x, told):
    session = network.session()
    for run in (session.run, lambda x: session.run(x, trace=True)):
        with pytest.raises(Error, match=told) as caught:
            run(x)
        assert "\n" not in str(caught.value)
    assert_same(session.run(inputs(network)), wanted(network, inputs(network)))


def test_as_many_inputs_as_there_are(network):
    x, names = inputs(network), NAMES[network.graph.name]
    told = rf"{network.graph.name} has {len(x)} inputs: give a list .* names '{names[0]}', '"
    for wrong in (x[:-1], [*x, x[0]], [], x[0], np.array(3), None, 3, "abc", np.zeros((3, 5))):
        refused(network, wrong, told)


def test_names_are_those_of_the_inputs(network):
    x, names = inputs(network), NAMES[network.graph.name]
    named = dict(zip(names, x))
    first = named.pop(names[0])
    refused(network, named, "the inputs given are '")
    refused(network, {**named, "A": first}, "the inputs given are '.*A'")
    refused(network, {**named, names[0]: first, "z": first}, "but the network has")
    refused(network, {}, "the inputs given are")
    refused(network, {**named, 0: first}, "but the network has")


def test_every_input_has_its_shape(network):
    x, names = inputs(network), NAMES[network.graph.name]
    for at, name in enumerate(names):
        part = x[at]
        for wrong in (part[..., :0], part[0], np.repeat(part, 2, -1), np.zeros((), part.dtype)):
            parts = [*x[:at], wrong, *x[at + 1 :]]
            told = rf"the input '{name}' must have the shape \[N, .*\], but has \["
            refused(network, parts, told)


def test_every_input_has_its_type(network):
    x, names = inputs(network), NAMES[network.graph.name]
    for at, name in enumerate(names):
        for wrong in (x[at].astype(np.int16), x[at].astype(float), x[at].astype(np.uint8)):
            parts = [*x[:at], wrong, *x[at + 1 :]]
            refused(network, parts, f"the input '{name}' must be .*, but is {wrong.dtype}")


def test_all_inputs_have_as_many_samples(network):
    x, names = inputs(network), NAMES[network.graph.name]
    told = rf"the input '{names[-1]}' begins with the axes \[3.*\], but '{names[0]}' with \[5"
    refused(network, [*x[:-1], x[-1][:3]], told)
    if network.graph.states:
        refused(network, [*x[:-1], x[-1][:, :3]], r"the axes \[5, 3\], but .* with \[5, 4\]")


def test_a_trace_has_every_call(network):
    x = inputs(network)
    trace = network.session().run(x, trace=True)
    assert set(trace) >= {node.name for node in network.graph.nodes}
    assert_same(trace, wanted(network, x))


@pytest.mark.parametrize("threads", [1, 2])
def test_batches_go_in_pieces(network, threads, monkeypatch):
    monkeypatch.setattr(running, "PIECE", 2)
    x, names = inputs(network, 11), NAMES[network.graph.name]
    session = network.session(threads=threads)
    for given in (x, dict(zip(names, x))):
        whole = qemu_nn.run(network, given, threads=threads)
        assert_same(whole, session.run(x))


def test_saved_and_pickled_networks_compute_the_same(network, tmp_path):
    x = inputs(network)
    network.save(tmp_path / "net.qnz")
    loaded = qemu_nn.load(tmp_path / "net.qnz")
    assert model_hash(loaded.graph) == model_hash(network.graph)
    assert loaded.graph.inputs == network.graph.inputs
    assert loaded.graph.states == network.graph.states
    session = pickle.loads(pickle.dumps(network.session(threads=2)))
    for twin in (loaded.session(), pickle.loads(pickle.dumps(loaded)).session(), session):
        assert_same(twin.run(x), wanted(network, x))


def test_goldens_are_of_every_input_and_compare_finds_what_differs(network, tmp_path):
    x, names = inputs(network, 2), NAMES[network.graph.name]
    written = pipeline.golden(network, dict(zip(names, x)), tmp_path / "set")
    group = "x1/t0" if network.graph.states else "x1"
    for at, name in enumerate(names):
        want = x[at][1, 0] if network.graph.states else x[at][1]
        stored = np.load(tmp_path / "set" / group / f"{name}.npy")
        assert stored.dtype == want.dtype
        np.testing.assert_array_equal(stored, want)
    assert pipeline.compare(tmp_path / "set", tmp_path / "set").same
    dump = tmp_path / "dump" / group
    dump.mkdir(parents=True)
    values = np.load(tmp_path / "set" / group / f"{written.stems[names[-1]]}.npy").copy()
    values.reshape(-1)[-1] ^= 3
    np.save(dump / f"{names[-1]}.npy", values)
    (finding,) = pipeline.compare(tmp_path / "set", tmp_path / "dump").findings
    assert (finding.difference.index, finding.difference.differing) == (values.size - 1, 1)


def test_goldens_need_as_many_samples_of_each(network, tmp_path):
    x = inputs(network)
    with pytest.raises(Error, match="the inputs have different numbers of samples"):
        pipeline.golden(network, [*x[:-1], x[-1][:2]], tmp_path / "set")
    assert not list(tmp_path.iterdir())


@needs("pc")
def test_an_export_passes_its_self_test(network, tmp_path):
    x = inputs(network, 3)
    status, lines = check(write(tmp_path / "firmware", network, data=x))
    assert (status, lines[-1]) == (0, "PASS: 0 failures"), lines
    assert len(lines) == 1 + 3 * len(network.graph.nodes) * (4 if network.graph.states else 1)
    text = (tmp_path / "firmware" / "network.h").read_text()
    for tensor in network.graph.inputs:
        assert f"input_{tensor.name}: {tensor.name}: {tensor.dtype}" in text


@needs("pc")
def test_an_export_with_inputs_of_its_own_passes(network, tmp_path):
    assert check(write(tmp_path / "firmware", network))[0] == 0


def test_a_summary_has_every_input(network):
    text = pipeline.describe(network).text()
    for tensor in network.graph.inputs:
        assert f"{tensor.dtype} {'x'.join(map(str, tensor.shape))}" in text
