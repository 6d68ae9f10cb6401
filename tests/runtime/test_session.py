"""A session runs whatever fits its network, in any order, from any thread."""

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from qemu_nn.bench.networks import NETWORKS
from qemu_nn.errors import Error
from qemu_nn.runtime import session as session_module
from qemu_nn.runtime.session import Session, draw_inputs
from qemu_nn.targets import profile

pytestmark = pytest.mark.caps


@pytest.fixture
def graph():
    return NETWORKS["lenet5"]()


def last(results):
    (values,) = results.values()
    return values


def test_batches_of_changing_size_do_not_disturb_each_other(graph):
    x = draw_inputs(graph, 4)
    session = Session(graph, profile())
    want = last(session.run(x))
    for count in (1, 3, 0, 4, 4, 2):
        np.testing.assert_array_equal(last(session.run(x[:count])), want[:count])
    for step in (-1, -2, 3):  # not contiguous; few enough to be copied, and more
        np.testing.assert_array_equal(last(session.run(x[::step])), want[::step])


@pytest.mark.parametrize("count", [1, 2, 300])
def test_results_stay_as_they_are_when_the_session_runs_again(graph, count):
    x, session = draw_inputs(graph, 4 * count), Session(graph, profile())
    parts = [x[count * part : count * (part + 1)] for part in range(4)]
    want = [last(Session(graph, profile()).run(part)) for part in parts]
    got = [last(session.run(part)) for part in parts]
    for one, other in zip(got, want):
        np.testing.assert_array_equal(one, other)
        assert one.flags.owndata
    got[3][:] = 99
    np.testing.assert_array_equal(last(session.run(parts[3])), want[3])


@pytest.fixture
def restless():
    """Threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("restless")
def test_threads_with_batches_of_several_sizes_share_a_session(graph):
    x, session = draw_inputs(graph, 9), Session(graph, profile())
    want = last(session.run(x))

    def same(start):
        counts = (1, 1, 1, 2, 2, 2, 1, 1)
        parts = [slice((start + i) % 7, (start + i) % 7 + n) for i, n in enumerate(counts)]
        return all(np.array_equal(last(session.run(x[part])), want[part]) for part in 60 * parts)

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(same, range(8)))


def test_a_session_goes_on_after_more_shapes_than_it_remembers(graph):
    x, session = draw_inputs(graph, 40), Session(graph, profile())
    want = last(session.run(x))
    for count in (*range(40), 3, 3, 3):
        for trace in (False, True):
            got = session.run(x[:count], trace=trace)[graph.outputs[0]]
            np.testing.assert_array_equal(got, want[:count])
    assert len(session._known) <= session_module._MOST_SHAPES


def test_no_samples_are_an_empty_result(graph):
    for threads in (1, 2):
        results = Session(graph, profile(), threads=threads).run(draw_inputs(graph, 0))
        assert last(results).shape == (0, 10)


@pytest.mark.parametrize(
    ("shape", "told"),
    [
        ((), "[]"),
        ((28,), "[28]"),
        ((28, 28, 1), "[28, 28, 1]; for one sample give [1, 28, 28, 1]"),
        ((1, 28, 28), "[1, 28, 28]"),
    ],
)
def test_an_input_of_another_shape_is_refused_at_any_time(graph, shape, told):
    session = Session(graph, profile())
    for _ in range(2):
        with pytest.raises(Error) as caught:
            session.run(np.zeros(shape, np.int8))
        assert str(caught.value) == f"the input must have the shape [N, 28, 28, 1], but has {told}"
        session.run(draw_inputs(graph, 1))


def test_an_input_of_another_type_is_refused_though_its_shape_is_known(graph):
    session = Session(graph, profile())
    x = draw_inputs(graph, 1)
    session.run(x)
    with pytest.raises(
        Error, match=r"the input must be int8, but is float64: .* as predict\(\) does"
    ):
        session.run(x.astype(float))


@pytest.mark.parametrize("threads", [1, 2])
def test_a_session_runs_in_several_threads_at_a_time(graph, threads):
    x = draw_inputs(graph, 24)
    session = Session(graph, profile(), threads=threads)
    want = last(session.run(x))
    with ThreadPoolExecutor(4) as pool:
        for start in range(40):
            parts = [slice(start % 5 + i, 24, 4) for i in range(4)]
            together = list(pool.map(session.run, [x[part] for part in parts]))
            for part, results in zip(parts, together):
                np.testing.assert_array_equal(last(results), want[part])
