"""Policies: each gives the format that its rule asks for."""

import math
import tracemalloc

import numpy as np
import pytest

from qemu_nn.errors import Error
from qemu_nn.ir.formats import quantize
from qemu_nn.ir.statistics import make_statistics
from qemu_nn.quantizer.policies import (
    CandidateGrid,
    compute_divergence,
    compute_square_error,
    get_policy,
)

_RNG = np.random.default_rng(3)


@pytest.mark.parametrize(
    ("largest", "bits", "frac"),
    [(1.0, 8, 7), (1.01, 8, 6), (0.5, 8, 8), (100.0, 8, 0), (1000.0, 8, -3), (2.3053369, 16, 13)],
)
def test_minmax_keeps_the_largest_magnitude(largest, bits, frac):
    for values in ([largest, 0.0], [-largest, 0.001]):
        assert get_policy("minmax")(make_statistics(np.array(values)), bits) == frac


@pytest.mark.parametrize("method", ["minmax", "mse", "kl", 99.0, "50"])
@pytest.mark.parametrize("values", [np.zeros(5), np.zeros(0)])
def test_zeros_and_nothing_at_all_get_the_finest_format(method, values):
    assert get_policy(method)(make_statistics(values), 8) == 7


def test_mse_is_the_format_of_least_square_error():
    for spread in (0.3, 1.0, 7.0):
        values = _RNG.laplace(size=20_000) * spread
        chosen = get_policy("mse")(make_statistics(values), 8)
        errors = {
            frac: np.mean((quantize(values, frac) * 2.0**-frac - values) ** 2)
            for frac in range(chosen - 3, chosen + 4)
        }
        assert min(errors, key=errors.__getitem__) == chosen


@pytest.mark.parametrize("method", ["mse", "kl", 99.5])
def test_a_single_outlier_does_not_widen_the_range(method):
    values = np.append(_RNG.normal(size=50_000), 9.0)
    assert get_policy("minmax")(make_statistics(values), 8) == 3
    assert get_policy(method)(make_statistics(values), 8) > 3


def square_error_by_definition(statistics, grid):
    """Compute the loss from every bin's centre, empty or not."""
    total = []
    for centre, count in zip(statistics.centres.tolist(), statistics.counts.tolist()):
        held = min(max(round(centre / grid.step) * grid.step, grid.low), grid.high)
        fine = grid.step < statistics.width and grid.low < centre < grid.high + grid.step
        total.append(count * (grid.step**2 / 12 if fine else (held - centre) ** 2))
    return math.fsum(total)


def divergence_by_definition(statistics, grid):
    """Bin by bin: what a level holds is spread over those of its bins that are not empty."""
    bins = list(zip(statistics.centres.tolist(), statistics.counts.tolist()))
    inside = [grid.low <= centre < grid.high + grid.step for centre, _ in bins]
    levels = {}
    for place, (centre, count) in enumerate(bins):
        if inside[place] and count:
            held = min(max(round(centre / grid.step) * grid.step, grid.low), grid.high)
            levels.setdefault(held, []).append(place)
    if not levels:
        return math.inf
    spread = dict.fromkeys(range(len(bins)), 0.0)
    for places in levels.values():
        for place in places:
            spread[place] = sum(bins[each][1] for each in places) / len(places)
    first, last = inside.index(True), len(bins) - 1 - inside[::-1].index(True)
    real = [count if within else 0 for (_, count), within in zip(bins, inside)]
    real[first] += sum(count for _, count in bins[:first])
    real[last] += sum(count for _, count in bins[last + 1 :])
    terms, lost = [], 0.0
    for place, count in enumerate(real):
        p, q = count / sum(real), spread[place] / sum(spread.values())
        if p and q:
            terms.append(p * math.log(p / q))
        lost += p if not q else 0
    return math.fsum(terms) + lost * math.log(1e9)


def _histograms():
    """Values of all kinds: many, few, clipped, on a grid, on one side, nearly all zero."""
    rng = np.random.default_rng(12)
    yield rng.normal(size=5000)
    yield rng.laplace(size=300) ** 3
    yield np.maximum(rng.normal(size=400), 0) * 5
    yield np.minimum(abs(rng.normal(size=400)), 1.5)
    yield np.rint(rng.normal(size=200) * 4) / 4
    yield np.array([0.3, -7.7, 0.0])
    yield np.append(np.zeros(50), 3.0)
    yield np.append(rng.normal(size=500) / 100, [1.9, -2.2])


@pytest.mark.parametrize("bins", [64, 1024])
@pytest.mark.parametrize("values", [*_histograms()])
def test_the_methods_choose_what_their_definitions_over_all_bins_choose(values, bins):
    statistics = make_statistics(values, bins)
    for method, loss, definition in (
        ("mse", compute_square_error, square_error_by_definition),
        ("kl", compute_divergence, divergence_by_definition),
    ):
        for bits in (4, 8):
            start = get_policy("minmax")(statistics, bits)
            costs, expected = [], []
            for frac in range(start, start + 4):
                step, most = 2.0**-frac, 2 ** (bits - 1)
                grid = CandidateGrid(step, -most * step, (most - 1) * step)
                costs.append(loss(statistics.list_filled_bins(), grid))
                expected.append(definition(statistics, grid))
            assert get_policy(method)(statistics, bits) == start + expected.index(min(expected))
            assert costs == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("method", ["mse", "kl"])
def test_empty_bins_cost_the_methods_nothing(method):
    statistics = make_statistics(_RNG.normal(size=100), 2**22)
    tracemalloc.start()
    get_policy(method)(statistics, 16)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 100_000


def test_kl_keeps_what_many_values_reach():
    values = np.minimum(np.abs(_RNG.normal(size=50_000)) * 3, 4.0)
    assert (
        get_policy("kl")(make_statistics(values), 8)
        <= get_policy("minmax")(make_statistics(values), 8) + 1
    )


def test_a_percentile_leaves_out_what_lies_above_it():
    values = np.arange(1, 1001) / 1000.0 * 8
    assert get_policy(100)(make_statistics(values), 8) == 4
    assert get_policy("51.0")(make_statistics(values), 8) == 4
    assert get_policy(49)(make_statistics(values), 8) == 5


@pytest.mark.parametrize(
    ("method", "reason"), [("best", "no method 'best'"), (0, "above 0"), (101, "100")]
)
def test_another_method_is_refused_with_the_choices(method, reason):
    with pytest.raises(Error, match=reason):
        get_policy(method)
