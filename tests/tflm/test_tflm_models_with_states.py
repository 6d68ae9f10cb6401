"""Published networks that keep something between runs: TensorFlow Lite Micro's own numbers of every
tensor, at every step."""

import re
from functools import cache

import numpy as np
import pytest
import recorded_tflite as recordings
from paths import SHARED

import qemu_nn
from qemu_nn.importers.tflite.parser import read as read_file

FOLDER = SHARED / "models_tflite2"
NAMES = (
    *(f"esphome_v2_{word}" for word in ("alexa", "choo_choo_homie", "hey_jarvis", "okay_computer")),
    *("esphome_alexa", "tflm_keyword_scrambled", "coral_keras_lstm_mnist_ptq"),
)

pytestmark = [
    pytest.mark.caps,
    pytest.mark.skipif(not FOLDER.is_dir(), reason=f"the published networks are not in {FOLDER}"),
    pytest.mark.parametrize("name", NAMES),
]

#: Sequences of 40 runs, and how their recordings begin.
SEQUENCES = ("seq_", "walk_")


@cache
def network(name):
    return qemu_nn.load(FOLDER / f"{name}.tflite")


@cache
def recorded(name):
    return recordings.read(FOLDER / f"{name}.tflite")[0]


def given(name, prefix):
    """Return a recorded sequence as inputs of [T, ...]."""
    (x,) = recordings.given(network(name).graph, recorded(name), prefix).values()
    return x


def right(name, results, prefix, steps=slice(None)):
    """True if these outputs of [T, ...] are the recorded ones."""
    arrays = {key: value for key, value in recorded(name).items() if key.startswith(prefix)}
    arrays = {key: value[steps] for key, value in arrays.items() if "output" in key}
    return not recordings.wrong(network(name).graph, results, arrays, prefix)


def in_order(session, x):
    """Results [T, ...] of one sequence, or of a network without states, of so many samples."""
    if not session.graph.states:
        return session.run(x)
    return {key: values[0] for key, values in session.run(x[None]).items()}


@pytest.mark.parametrize("threads", [1, 2])
def test_sequences_and_samples_are_those_of_the_device(name, threads, tmp_path):
    network(name).save(tmp_path / "net.qnz")
    loaded = qemu_nn.load(tmp_path / "net.qnz")
    for each in (network(name), loaded):
        assert recordings.differences(each, recorded(name), threads=threads) == {}


@pytest.mark.parametrize("threads", [1, 2])
def test_a_stream_computes_what_the_device_does(name, threads):
    session = network(name).session(threads=threads)
    for prefix in SEQUENCES if session.graph.states else ():
        stream = session.stream()
        for step, x in enumerate(given(name, prefix)):
            results = {key: values[None] for key, values in stream.step(x).items()}
            assert right(name, results, prefix, slice(step, step + 1)), (prefix, step)


def test_both_sequences_at_once_and_in_two_halves(name):
    session = network(name).session(threads=2)
    if not session.graph.states:
        return
    x = np.stack([given(name, prefix) for prefix in SEQUENCES])
    first = session.run(x[:, :17])
    state = {tensor.name: first[tensor.name][:, -1] for tensor in session.graph.states}
    second = session.run(x[:, 17:], state)
    for at, prefix in enumerate(SEQUENCES):
        for half, steps in ((first, slice(17)), (second, slice(17, None))):
            assert right(name, {key: v[at] for key, v in half.items()}, prefix, steps)


@pytest.mark.parametrize("target", ["cortex-m0", "cortex-m3", "cortex-m4", "cortex-m55"])
def test_every_core_computes_the_same(name, target):
    session = network(name).session(target)
    for prefix in SEQUENCES:
        assert right(name, in_order(session, given(name, prefix)), prefix)


#: Recordings of a tensor -> the runs that they are of.
_TENSORS = (
    (r"seq_t(\d+)", "seq_", slice(None)),
    (r"walk_t(\d+)", "walk_", slice(None)),
    (r"walk_last_(?:g0_)?t(\d+)", "walk_", slice(-1, None)),
    (r"s0_(?:g0_)?t(\d+)", "", slice(0, 1)),
)


def test_every_tensor_has_the_recorded_numbers_at_every_step(name):
    session, arrays = network(name).session(), recorded(name)
    model, checked = read_file(FOLDER / f"{name}.tflite"), set()
    indices = {tensor: model.tensor(tensor).name or f"tensor{tensor}" for tensor in _made(model)}
    traces = {prefix: _traced(session, given(name, prefix), prefix) for prefix in ("", *SEQUENCES)}
    for pattern, prefix, steps in _TENSORS:
        for key in filter(re.compile(pattern).fullmatch, arrays):
            tensor = int(re.fullmatch(pattern, key)[1])
            trace = traces[prefix]
            if indices[tensor] not in trace:  # the same numbers, under an earlier name
                continue
            got = trace[indices[tensor]][steps]
            want = arrays[key].reshape(got.shape)
            assert got.dtype == want.dtype
            np.testing.assert_array_equal(got, want, key)
            checked.add(indices[tensor])
    computed = {node.name for node in session.graph.nodes} & set(indices.values())
    assert checked >= computed
    assert len(checked) >= 5


def _made(model):
    """Return the tensors that an operator writes."""
    return [tensor for operator in model.operators for tensor in operator.outputs]


def _traced(session, x, prefix):
    """Return every call of a sequence, or of samples from reset, [T, ...]."""
    if not session.graph.states:
        return session.run(x, trace=True)
    x = x[None] if prefix else x[:, None]
    traced = session.run(x, trace=True)
    return {key: v[0] if prefix else v[:, 0] for key, v in traced.items()}
