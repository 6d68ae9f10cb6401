"""A stream's steps are the time steps of a run, whoever else computes meanwhile."""

import copy
import pickle
import time
from concurrent.futures import ThreadPoolExecutor

import networks
import numpy as np
import pytest
from tflite_states import STATES

import qemu_nn
from qemu_nn.api.golden import Network
from qemu_nn.errors import Error
from qemu_nn.runtime.session import draw_inputs

pytestmark = pytest.mark.caps

STEPS = 12


@pytest.fixture(scope="module", params=["window", "two", "branches", "recurrent", "all in one"])
def network(request, tmp_path_factory):
    if request.param == "recurrent":  # one state, in the firmware's own memory
        return Network(networks.recurrent())
    made = STATES["branches" if request.param == "all in one" else request.param]()
    if request.param == "all in one":  # the condition is an output, too
        made.outputs.append(made.inputs[1])
        x = made.tensor((1, 5), scale=0.5)
        made.operator("RELU", [made.inputs[1]], [x])
        made.outputs[-1] = x
    return qemu_nn.load(made.save(tmp_path_factory.mktemp("made"), "made.tflite"))


def parts(network, count=3, steps=STEPS):
    """Inputs [N, T, ...], always as a list."""
    x = draw_inputs(network.graph, count, steps)
    return x if isinstance(x, list) else [x]


def given(values):
    """Return arrays as a run or a step takes them: alone if there is only one."""
    return values if len(values) > 1 else values[0]


def frame(x, sample, step):
    return given([part[sample, step] for part in x])


def assert_step(got, want, sample, step):
    """Return the outputs of a step, compared with those of the same step of a run."""
    assert got
    for name, values in got.items():
        np.testing.assert_array_equal(values, want[name][sample, step], f"{name}, step {step}")


def assert_state(stream, want, sample, step):
    for name, values in stream.state.items():
        np.testing.assert_array_equal(values, want[name][sample, step], f"{name}, step {step}")


@pytest.mark.parametrize("threads", [1, 2])
def test_steps_are_those_of_a_run(network, threads):
    session = network.session(threads=threads)
    x = parts(network)
    want = session.run(given(x))
    for sample in range(3):
        stream = session.stream()
        for step in range(STEPS):
            made = stream.step(frame(x, sample, step))
            assert set(made) == set(network.graph.outputs)
            assert_step(made, want, sample, step)
            assert_state(stream, want, sample, step)


def test_streams_side_by_side_do_not_disturb_each_other(network):
    session, x = network.session(), parts(network)
    want = session.run(given(x))
    streams = [session.stream() for _ in range(3)]
    for step in range(STEPS):
        for sample, stream in enumerate(streams):
            assert_step(stream.step(frame(x, sample, step)), want, sample, step)
        again = session.run(given(x))  # a run has memory of its own
        assert all(np.array_equal(again[name], values) for name, values in want.items())


def test_streams_run_in_several_threads(network):
    session, x = network.session(), parts(network, 8, 60)
    want = session.run(given(x))

    def steps(sample):
        stream = session.stream()
        return [stream.step(frame(x, sample, step)) for step in range(60)]

    with ThreadPoolExecutor(4) as pool:
        for sample, made in enumerate(pool.map(steps, range(8))):
            for step, results in enumerate(made):
                assert_step(results, want, sample, step)


def test_results_stay_what_they_are(network):
    x, stream = parts(network), network.session().stream()
    first, before = stream.step(frame(x, 0, 0)), stream.state
    kept = [{name: values.copy() for name, values in each.items()} for each in (first, before)]
    stream.step(frame(x, 0, 1))
    for each, copies in zip((first, before), kept):
        assert all(np.array_equal(each[name], values) for name, values in copies.items())
    for values in stream.state.values():
        values[:] = 0  # a copy
    assert_step(stream.step(frame(x, 0, 2)), network.session().run(given(x)), 0, 2)


def test_reset_begins_anew(network):
    x, stream = parts(network), network.session().stream()
    start = stream.state
    want = network.session().run(given(x))
    for _ in range(2):
        for step in range(4):
            assert_step(stream.step(frame(x, 1, step)), want, 1, step)
        stream.reset()
        assert all(np.array_equal(stream.state[name], values) for name, values in start.items())


def test_a_copy_goes_on_by_itself(network):
    x, stream = parts(network), network.session().stream()
    want = network.session().run(given(x))
    for step in range(3):
        stream.step(frame(x, 0, step))
    twin = stream.copy()
    stream.step(frame(x, 2, 7))
    for step in range(3, STEPS):
        assert_step(twin.step(frame(x, 0, step)), want, 0, step)
    twin.reset()
    assert_step(twin.step(frame(x, 0, 0)), want, 0, 0)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_python_copies_a_stream_as_copy_does_and_does_not_pickle_it(network, copied):
    x, stream = parts(network), network.session().stream()
    want = network.session().run(given(x))
    stream.step(frame(x, 0, 0))
    twin = copied(stream)
    stream.step(frame(x, 2, 7))
    assert_step(twin.step(frame(x, 0, 1)), want, 0, 1)
    with pytest.raises(Error, match="pickle its session"):
        pickle.dumps(stream)


def test_states_go_out_of_one_stream_into_another(network):
    session, x = network.session(), parts(network)
    want = session.run(given(x))
    stream = session.stream()
    for step in range(5):
        stream.step(frame(x, 0, step))
    other = session.stream(stream.state)
    assert_step(other.step(frame(x, 0, 5)), want, 0, 5)
    other.reset()  # to what it began with
    assert_step(other.step(frame(x, 0, 5)), want, 0, 5)
    third = session.stream()
    third.reset(stream.state)
    assert_step(third.step(frame(x, 0, 5)), want, 0, 5)
    rest = session.run(
        given([part[:1, 5:] for part in x]), {n: v[None] for n, v in stream.state.items()}
    )
    for name, values in rest.items():
        np.testing.assert_array_equal(values[0], want[name][0, 5:], name)


def test_states_that_do_not_fit_are_refused(network):
    session = network.session()
    stream, state = session.stream(), session.stream().state
    name = next(iter(state))
    wrong = [
        {**state, name: state[name][:-1]},
        {**state, name: state[name].astype(np.float64)},
        {**state, name: state[name][None]},
        {**state, "nobody": state[name]},
        {},
    ]
    for each in wrong:
        for begin in (session.stream, stream.reset):
            with pytest.raises(Error, match=r"^state ") as caught:
                begin(each)
            assert "\n" not in str(caught.value)
    x = parts(network)
    assert_step(stream.step(frame(x, 0, 0)), session.run(given(x)), 0, 0)


def test_inputs_that_do_not_fit_are_refused_and_change_nothing(network):
    session, x = network.session(), parts(network)
    want = session.run(given(x))
    stream = session.stream()
    assert_step(stream.step(frame(x, 0, 0)), want, 0, 0)
    good = frame(x, 0, 1)
    several = isinstance(good, list)
    last = good[-1] if several else good
    for bad in (last[None], last[:-1], last.astype(np.float32), last.ravel()[0], None, "x"):
        with pytest.raises(Error):
            stream.step([*good[:-1], bad] if several else bad)
    for bad in ([], {}, [last] * 5, {"nobody": last}):
        with pytest.raises(Error):
            stream.step(bad)
    assert_step(stream.step(good), want, 0, 1)


def test_inputs_lie_in_any_order_in_memory(network):
    x = parts(network, 1, 1)
    want = network.session().run(given(x))
    spread = [np.repeat(part[0, 0], 2, -1)[..., ::2] for part in x]
    assert_step(network.session().stream().step(given(spread)), want, 0, 0)
    names = [tensor.name for tensor in network.graph.inputs]
    named = dict(zip(names, (part[0, 0] for part in x)))
    assert_step(network.session().stream().step(named), want, 0, 0)


def test_a_step_of_a_network_without_states_is_a_run_on_one_sample():
    session = Network(networks.classifier()).session()
    start = session.graph.input
    x = np.random.default_rng(0).integers(-128, 128, (4, *start.shape)).astype(start.dtype)
    want, stream = session.run(x), session.stream()
    other = stream.copy()
    for number in range(4):
        for live in (stream, other):
            got = live.step(x[number])
            assert {
                name: (got[name] == want[name][number]).all() for name in want
            } == dict.fromkeys(want, True)
    assert stream.state == {}
    stream.reset()
    for wrong in (lambda: session.stream(x[0]), lambda: stream.reset(x[0])):
        with pytest.raises(Error, match="is not recurrent and has no state"):
            wrong()


def test_a_step_takes_a_while(network, record_property):
    """Record the time of a step; a claim of speed needs a quiet machine."""
    x, stream = parts(network), network.session().stream()
    values = frame(x, 0, 0)
    start = time.perf_counter()
    for _ in range(200):
        stream.step(values)
    record_property("microseconds", 5000 * (time.perf_counter() - start))
