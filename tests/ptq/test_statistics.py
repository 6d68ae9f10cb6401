"""Statistics of calibration data: exact ranges, histograms that grow without losing a value."""

import math
import pickle
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qemu_nn.errors import Error
from qemu_nn.ir.float_graph import FloatGraph, FloatNode
from qemu_nn.ir.statistics import BINS, Statistics, make_histogram, make_statistics
from qemu_nn.operators import Affine, Relu
from qemu_nn.quantizer.statistics import observe

_VALUES = st.lists(st.floats(-(2.0**20), 2.0**20, width=32), min_size=1, max_size=50)


@given(st.lists(_VALUES, min_size=1, max_size=5))
def test_values_in_pieces_and_values_at_once_give_the_same_statistics(pieces):
    pieced = Statistics()
    for piece in pieces:
        pieced.add(np.array(piece))
    whole = make_statistics(np.concatenate(pieces))
    assert (pieced.low, pieced.high, pieced.zeros) == (whole.low, whole.high, whole.zeros)
    np.testing.assert_array_equal(pieced.counts, whole.counts)


@settings(max_examples=50)
@given(
    st.lists(_VALUES, min_size=1, max_size=4),
    st.lists(st.integers(-60, 38), min_size=4, max_size=4),
    st.sampled_from([4, 12, 64, BINS]),
)
def test_bins_of_any_number_cover_the_least_power_of_two_above_all_values(pieces, scales, bins):
    """Pieces of very different sizes: the histogram widens by many powers at a time, or by none."""
    pieces = [np.ldexp(piece, scale) for piece, scale in zip(pieces, scales)]
    statistics = Statistics(bins)
    for piece in pieces:
        statistics.add(piece)
    values = [float(value) for piece in pieces for value in piece]
    end = 2.0**-40
    while end <= max(map(abs, values)):
        end *= 2
    expected = [0] * bins
    for value in values:
        expected[math.floor(value / (2 * end / bins)) + bins // 2] += value != 0
    assert statistics.width == 2 * end / bins
    assert statistics.counts.tolist() == expected
    assert statistics.zeros == values.count(0)


@settings(max_examples=20)
@given(st.lists(_VALUES, min_size=1, max_size=4))
def test_without_bins_there_is_the_range_alone(pieces):
    ranged, counted = Statistics(0), Statistics()
    for piece in pieces:
        ranged.add(np.array(piece))
        counted.add(np.array(piece))
    assert (ranged.low, ranged.high) == (counted.low, counted.high)
    assert ranged.counts.size == 0


def test_few_values_in_many_bins_cost_what_the_values_cost():
    statistics = Statistics(2**20)
    statistics.add(np.array([1e-9, 0.5]))
    tracemalloc.start()
    statistics.add(np.arange(-50, 50) / 101)
    filled = statistics.list_filled_bins()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 100_000
    assert filled.counts.sum() == 101
    assert statistics.zeros == 1
    np.testing.assert_array_equal(filled.centres, statistics.centres[statistics.counts > 0])


@given(_VALUES)
def test_every_value_is_counted_in_the_bin_it_lies_in(values):
    statistics = make_statistics(np.array(values))
    assert statistics.counts.sum() + statistics.zeros == len(values)
    edges = (np.arange(BINS + 1) - BINS / 2) * statistics.width
    expected, _ = np.histogram([v for v in values if v], edges)
    np.testing.assert_array_equal(statistics.counts, expected)


def test_the_range_of_positive_values_does_not_start_at_zero():
    statistics = make_statistics(np.array([3.0, 5.0]))
    assert (statistics.low, statistics.high, statistics.largest) == (3.0, 5.0, 5.0)


def test_of_nothing_the_range_is_zero():
    statistics = make_statistics(np.zeros(0))
    assert (statistics.low, statistics.high, statistics.counts.sum()) == (0.0, 0.0, 0)


@pytest.mark.parametrize("bins", [16, BINS])
def test_values_that_are_counted_already_are_as_many_values(bins):
    values, times = np.array([-2.5, 0.0, 0.1, 3.0]), np.array([3, 2, 1, 4])
    counted, added = Statistics(bins), Statistics(bins)
    counted.add(values, times)
    added.add(np.repeat(values, times))
    assert (counted.zeros, counted.low, counted.high) == (added.zeros, added.low, added.high)
    np.testing.assert_array_equal(counted.counts, added.counts)


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
    with pytest.raises(Error, match="no samples"):
        observe(graph, [])


def test_parts_are_merged_as_if_all_values_had_come_to_one():
    rng = np.random.default_rng(9)
    parts = [rng.normal(size=500) * 10.0**size for size in (-3, 2, 0, -9)] + [np.zeros(3)]
    whole = make_statistics(np.concatenate(parts))
    merged = Statistics()
    merged.merge(Statistics())
    for part in parts:
        merged.merge(pickle.loads(pickle.dumps(make_statistics(part))))
    merged.merge(Statistics())
    assert (merged.low, merged.high, merged.zeros) == (whole.low, whole.high, whole.zeros)
    assert merged.width == whole.width
    np.testing.assert_array_equal(merged.counts, whole.counts)


def samples_of(highs):
    """Return samples of two values each: 0, and one of these."""
    return np.stack([np.zeros(len(highs)), highs], 1)


def test_an_exponential_tail_is_continued_to_more_samples():
    rng = np.random.default_rng(4)
    reached, seen = [], []
    for _ in range(400):
        highs = rng.exponential(size=640)
        few = Statistics()
        few.add_samples(samples_of(highs[:40]))
        reached.append(few.extrapolate(640)[1])
        seen.append(highs.max())
    assert abs(np.mean(reached) - np.mean(seen)) < 0.25
    assert np.mean(seen) > 6.5


def test_ranges_of_as_many_samples_are_those_that_were_seen():
    statistics = Statistics()
    statistics.add_samples(np.array([[-1.0, 2.0], [-3.0, 1.0], [0.5, 0.0]]))
    assert statistics.extrapolate(3) == (-3.0, 2.0)
    low, high = statistics.extrapolate(30)
    assert low < -3.0
    assert high > 2.0


def test_a_value_that_all_samples_reach_is_an_end():
    statistics = Statistics()
    statistics.add_samples(samples_of(np.ones(5)))
    assert statistics.extrapolate(10**6) == (0.0, 1.0)


def test_one_wild_sample_widens_nothing_beyond_itself():
    statistics, wild = Statistics(), Statistics()
    highs = np.linspace(1, 2, 30)
    statistics.add_samples(samples_of(highs))
    wild.add_samples(samples_of(np.append(highs, 80.0)))
    assert wild.extrapolate(500)[1] - 80 < 1.5 * (statistics.extrapolate(500)[1] - 2) + 0.5


def test_parts_of_samples_are_merged_as_if_all_had_come_to_one():
    x = np.random.default_rng(5).normal(size=(90, 4))
    whole, merged = Statistics(), Statistics()
    whole.add_samples(x)
    for part in np.split(x, 3):
        own = Statistics()
        own.add_samples(part)
        merged.merge(pickle.loads(pickle.dumps(own)))
    assert merged.samples == 90
    assert merged.extrapolate(1000) == whole.extrapolate(1000)


@pytest.mark.parametrize("bins", [4, 4096, 2**17])
def test_a_histogram_of_few_values_has_the_bins_that_all_have(bins):
    values = np.random.default_rng(bins).laplace(size=300)
    values[::7] = 0
    wanted, found = make_statistics(values, bins), make_histogram(values, bins)
    assert found.largest == wanted.largest
    for mine, other in zip(found.list_filled_bins(), wanted.list_filled_bins()):
        np.testing.assert_array_equal(mine, other)
    assert not len(make_histogram(np.zeros(3), bins).filled.counts)
