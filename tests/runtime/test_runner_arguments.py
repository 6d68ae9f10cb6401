"""The runner takes the arrays that it was prepared for, and refuses all others."""

import gc
import sys
import threading
import time
import weakref

import networks
import numpy as np
import pytest

from qemu_nn._runner import runner
from qemu_nn.bench.networks import NETWORKS
from qemu_nn.runtime.session import Session, draw_inputs
from qemu_nn.targets import profile

pytestmark = pytest.mark.caps


class Subclass(np.ndarray):
    """An array that may mean something else."""


@pytest.fixture
def session():
    session = Session(NETWORKS["lenet5"](), profile())
    session.run(draw_inputs(session.graph, 3))
    return session


def test_a_runner_takes_arrays_like_those_it_was_prepared_for_alone(session):
    x = draw_inputs(session.graph, 3)
    backwards = np.ascontiguousarray(x[::-1])
    (want,) = session.run(backwards).values()
    run = session._again
    for other in (
        None,
        x.tolist(),
        x.tobytes(),
        x[0],
        x[:2],
        np.concatenate([x, x]),
        x[..., 0],
        x.reshape(3, 1, 784, 1),
        x.astype(np.uint8),
        x.astype(np.int16),
        x.view(Subclass),
        x[::-1],
        np.asfortranarray(x),
        np.zeros((), np.int8),
    ):
        assert run(other) is None
    (got,) = run(backwards).values()
    np.testing.assert_array_equal(got, want)
    with pytest.raises(TypeError):
        run()
    with pytest.raises(TypeError):
        run(x, None)


def test_types_that_mean_the_same_are_the_same():
    session = Session(NETWORKS["cifar10_q15"](), profile())
    x = draw_inputs(session.graph, 1)
    (want,) = session.run(x).values()
    alike = x.view(np.dtype(x.dtype, metadata={"of": "somebody"}))
    assert alike.dtype is not x.dtype
    np.testing.assert_array_equal(*session._again(alike).values(), want)
    assert session._again(x.astype(x.dtype.newbyteorder())) is None


def test_states_are_looked_at_too():
    session = Session(networks.recurrent(), profile())
    x = draw_inputs(session.graph, 2, steps=3)
    want = session.run(x)
    (run,) = session._known.values()
    state = session._start(None, (2,))
    for name, got in run(x, state).items():
        np.testing.assert_array_equal(got, want[name])
    for other in (None, state[0], state[:1], state[:, ::2], state[:, 1:], state.view(np.int8)):
        assert run(x, other) is None
    assert run(x[:1], state) is None
    with pytest.raises(TypeError):
        run(x)


def test_other_threads_go_on_during_a_run():
    session = Session(NETWORKS["lenet5"](), profile(), "plain")
    x = draw_inputs(session.graph, 400)
    run = threading.Thread(target=session.run, args=[x])
    turns, start = 0, time.perf_counter()
    run.start()
    while run.is_alive():
        time.sleep(0.001)
        turns += 1
    asked = (time.perf_counter() - start) / 0.05  # when Python would let others go on, too
    assert turns > 4 * asked


def test_runs_leave_no_references(session):
    x = draw_inputs(session.graph, 3)
    (name,) = session.run(x)
    objects = (x, name, x.dtype, session._compiled, session._compiled.idle[0], None)
    before = [sys.getrefcount(each) for each in objects]
    for _ in range(1000):
        session.run(x)
        session._again(x[:2])
    after = [sys.getrefcount(each) for each in objects]
    assert all(abs(now - then) < 100 for then, now in zip(before, after)), (before, after)


def test_the_memory_of_a_session_ends_with_it():
    session = Session(NETWORKS["lenet5"](), profile())
    session.run(draw_inputs(session.graph, 3))
    compiled = weakref.ref(session._compiled)
    del session
    gc.collect()
    assert compiled() is None


def test_what_cannot_be_allocated_is_an_error_and_no_workspace_is_lost_for_good(session):
    compiled, x = session._compiled, draw_inputs(session.graph, 3)
    like = np.broadcast_to(np.empty((), np.int8), (1 << 60,))
    memory = (compiled.idle, compiled._allocate_workspace, compiled.raise_end)
    run = runner(0, *memory, 3, 1, x, None, {"never": like}, bytes(4), False)
    for _ in range(2):
        with pytest.raises(MemoryError):
            run(x)
    assert session.run(x)


@pytest.mark.parametrize("workspace", [(), (1,), (1, "2"), None])
def test_a_workspace_without_addresses_is_refused(workspace):
    x = np.zeros(1, np.int8)
    run = runner(0, [workspace], list, list, 1, 1, x, None, {}, b"", False)
    with pytest.raises((TypeError, IndexError, SystemError)):
        run(x)


def test_what_makes_workspaces_may_raise():
    x = np.zeros(1, np.int8)
    run = runner(0, [], lambda: [][0], list, 1, 1, x, None, {}, b"", False)
    with pytest.raises(IndexError):
        run(x)
