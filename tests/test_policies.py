"""Policies: each gives the format that its rule asks for."""

import numpy as np
import pytest

from qemu_nn.errors import Error
from qemu_nn.formats import quantize
from qemu_nn.quantizer.policies import policy
from qemu_nn.statistics import statistics_of

_RNG = np.random.default_rng(3)


@pytest.mark.parametrize(
    ("largest", "bits", "frac"),
    [(1.0, 8, 7), (1.01, 8, 6), (0.5, 8, 8), (100.0, 8, 0), (1000.0, 8, -3), (2.3053369, 16, 13)],
)
def test_minmax_keeps_the_largest_magnitude(largest, bits, frac):
    for values in ([largest, 0.0], [-largest, 0.001]):
        assert policy("minmax")(statistics_of(np.array(values)), bits) == frac


@pytest.mark.parametrize("method", ["minmax", "mse", "kl", 99.0, "50"])
@pytest.mark.parametrize("values", [np.zeros(5), np.zeros(0)])
def test_zeros_and_nothing_at_all_get_the_finest_format(method, values):
    assert policy(method)(statistics_of(values), 8) == 7


def test_mse_is_the_format_of_least_square_error():
    for spread in (0.3, 1.0, 7.0):
        values = _RNG.laplace(size=20_000) * spread
        chosen = policy("mse")(statistics_of(values), 8)
        errors = {
            frac: np.mean((quantize(values, frac) * 2.0**-frac - values) ** 2)
            for frac in range(chosen - 3, chosen + 4)
        }
        assert min(errors, key=errors.__getitem__) == chosen


@pytest.mark.parametrize("method", ["mse", "kl", 99.5])
def test_a_single_outlier_does_not_widen_the_range(method):
    values = np.append(_RNG.normal(size=50_000), 9.0)
    assert policy("minmax")(statistics_of(values), 8) == 3
    assert policy(method)(statistics_of(values), 8) > 3


def test_kl_keeps_what_many_values_reach():
    values = np.minimum(np.abs(_RNG.normal(size=50_000)) * 3, 4.0)
    assert policy("kl")(statistics_of(values), 8) <= policy("minmax")(statistics_of(values), 8) + 1


def test_a_percentile_leaves_out_what_lies_above_it():
    values = np.arange(1, 1001) / 1000.0 * 8
    assert policy(100)(statistics_of(values), 8) == 4
    assert policy("51.0")(statistics_of(values), 8) == 4
    assert policy(49)(statistics_of(values), 8) == 5


@pytest.mark.parametrize(
    ("method", "reason"), [("best", "no method 'best'"), (0, "above 0"), (101, "100")]
)
def test_another_method_is_refused_with_the_choices(method, reason):
    with pytest.raises(Error, match=reason):
        policy(method)
