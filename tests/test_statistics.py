"""Statistics of calibration data: exact ranges, histograms that grow without losing a value."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qemu_nn.errors import Error
from qemu_nn.float_graph import FloatGraph, FloatNode
from qemu_nn.operators import Affine, Relu
from qemu_nn.quantizer.statistics import observe
from qemu_nn.statistics import BINS, Statistics, statistics_of

_VALUES = st.lists(st.floats(-(2.0**20), 2.0**20, width=32), min_size=1, max_size=50)


@given(st.lists(_VALUES, min_size=1, max_size=5))
def test_values_in_pieces_and_values_at_once_give_the_same_statistics(pieces):
    pieced = Statistics()
    for piece in pieces:
        pieced.add(np.array(piece))
    whole = statistics_of(np.concatenate(pieces))
    assert (pieced.low, pieced.high, pieced.zeros) == (whole.low, whole.high, whole.zeros)
    np.testing.assert_array_equal(pieced.counts, whole.counts)


@given(_VALUES)
def test_every_value_is_counted_in_the_bin_it_lies_in(values):
    statistics = statistics_of(np.array(values))
    assert statistics.counts.sum() + statistics.zeros == len(values)
    edges = (np.arange(BINS + 1) - BINS / 2) * statistics.width
    expected, _ = np.histogram([v for v in values if v], edges)
    np.testing.assert_array_equal(statistics.counts, expected)


def test_the_range_of_positive_values_does_not_start_at_zero():
    statistics = statistics_of(np.array([3.0, 5.0]))
    assert (statistics.low, statistics.high, statistics.largest) == (3.0, 5.0, 5.0)


def test_of_nothing_the_range_is_zero():
    statistics = statistics_of(np.zeros(0))
    assert (statistics.low, statistics.high, statistics.counts.sum()) == (0.0, 0.0, 0)


@pytest.fixture
def graph():
    nodes = (
        FloatNode("twice", Affine(np.array(2.0), np.array(0.0)), ("x",)),
        FloatNode("relu", Relu(), ("twice",)),
    )
    return FloatGraph("net", "x", (3,), None, nodes, ("relu",))


def test_every_tensor_of_a_network_is_observed_over_all_batches(graph):
    batches = (np.array([[1.0, -2.0, 0.0]]), np.array([[4.0, 0.0, 0.0]]))
    seen = observe(graph, batches)
    assert {name: (s.low, s.high) for name, s in seen.items()} == {
        "x": (-2.0, 4.0),
        "twice": (-4.0, 8.0),
        "relu": (0.0, 8.0),
    }


def test_a_network_whose_values_overflow_is_refused_by_the_tensor_s_name(graph):
    with pytest.raises(Error, match=r"net: tensor 'twice': .* not finite"):
        observe(graph, [np.full((1, 3), 1e18)])


def test_no_data_is_refused(graph):
    with pytest.raises(Error, match="no data"):
        observe(graph, [])
