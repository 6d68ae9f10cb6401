"""Figures of an evaluation: as counted by hand, and the same however the samples are split."""

import math
from fractions import Fraction

import numpy as np
import pytest

from qemu_nn.analysis import figures
from qemu_nn.analysis.exact_sum import ExactSum, sum_exactly
from qemu_nn.errors import Error

RNG = np.random.default_rng(5)


def total(parts):
    parts = list(parts)
    return sum(parts[1:], parts[0])


def split(count, *arrays):
    """Return the arrays in parts, and these parts in another order."""
    edges = np.sort(RNG.integers(0, count, 6))
    parts = list(zip(*(np.split(array, edges) for array in arrays)))
    return [parts, parts[::-1], [[a[i : i + 1] for a in arrays] for i in range(count)]]


@pytest.mark.parametrize(
    "values",
    [
        RNG.normal(size=1000),
        RNG.normal(size=1000) * 10.0 ** RNG.integers(-300, 300, 1000),
        np.array([5e-324, 1.0, -1.0, 1.7e308, -1.7e308, 2.2250738585072014e-308, 1e-310]),
        np.array([1e16, 1.0, -1e16]),
        np.array([0.1] * 10),
        np.array([]),
    ],
)
def test_a_sum_is_exact_and_rounded_once(values):
    exact = sum(map(Fraction, values.tolist()), Fraction())
    got = sum_exactly(values)
    assert float(got) == float(exact) == math.fsum(values)
    assert got.count == values.size
    if values.size:
        assert got.mean == float(exact / values.size)
    for parts in split(max(values.size, 1), values):
        assert total(sum_exactly(part) for (part,) in parts) == got


def test_sums_at_the_ends():
    assert float(sum_exactly(np.full(3, 1.7e308))) == math.inf
    assert float(sum_exactly(np.full(3, -1.7e308))) == -math.inf
    assert math.isnan(float(sum_exactly(np.array([1.0, np.inf])) + ExactSum()))
    assert math.isnan(ExactSum().mean)


def test_a_sum_of_many_values_has_no_carry_that_is_lost():
    values = np.full(200_000, np.nextafter(1.0, 0))
    assert float(sum_exactly(values)) == float(Fraction(values[0]) * values.size)


def test_choices_are_counted_by_hand():
    scores = np.array([[0.1, 0.9, 0.0], [0.5, 0.5, 0.0], [0.2, 0.3, 0.5], [0.0, 0.0, 0.0]])
    got = figures.classify(scores, np.array([1, 1, 0, 2], np.uint8), top=(1, 2, 3))
    assert got.confusion().tolist() == [[0, 0, 1], [1, 1, 0], [1, 0, 0]]
    assert got.accuracy == 1 / 4
    assert [got.within(k) for k in (1, 2, 3)] == [1 / 4, 2 / 4, 4 / 4]
    # support, precision, recall, f1
    assert got.per_class() == [(1, 0, 0, 0), (2, 1, 1 / 2, 2 / 3), (1, 0, 0, 0)]


def test_top_1_is_the_accuracy_even_among_equal_scores():
    scores = RNG.integers(0, 3, (500, 6)).astype(float)
    labels = RNG.integers(0, 6, 500)
    got = figures.classify(scores, labels, top=(1, 2, 6))
    assert got.within(1) == got.accuracy == np.mean(scores.argmax(1) == labels)
    ranked = np.argsort(-scores, axis=1, kind="stable")[:, :2]
    assert got.within(2) == np.mean((ranked == labels[:, None]).any(1))
    assert got.within(6) == 1
    for parts in split(500, scores, labels):
        assert total(figures.classify(*part, (1, 2, 6)) for part in parts) == got


@pytest.mark.parametrize(
    ("scores", "labels", "words"),
    [
        (np.zeros((2, 3)), np.array([0, 3]), r"one label is 3, but labels must be classes 0\.\.2"),
        (np.zeros((2, 3)), np.array([-1, 0]), "one label is -1"),
        (np.zeros((2, 3)), np.array([0.0, 1.0]), "are float64"),
        (np.full((2, 3), np.nan), np.array([0, 1]), "contain NaN"),
    ],
)
def test_labels_that_are_no_classes_and_scores_that_are_no_numbers_are_refused(
    scores, labels, words
):
    with pytest.raises(Error, match=words):
        figures.classify(scores, labels)


def both(got, wanted, classes=2):
    """Compared with the choices of every `classes` outputs."""
    choices = (figures.choose_classes(a.reshape(-1, classes)) for a in (got, wanted))
    return figures.compare_outputs(got, wanted, tuple(choices))


def test_outputs_are_compared():
    wanted = np.array([[1.0, 2.0], [3.0, 4.0], [0.5, 0.0]])
    got = np.array([[1.0, 2.0], [5.0, 4.0], [0.5, 0.5]])
    found = both(got, wanted)
    assert (found.samples, found.identical, found.agreement) == (3, 1, 2 / 3)
    assert found.sqnr == 10 * math.log10((1 + 4 + 9 + 16 + 0.25) / (4 + 0.25))
    assert found.largest == 2.0
    assert figures.compare_outputs(got, got).sqnr == math.inf
    assert figures.compare_outputs(got, wanted).agreement is None


def test_comparisons_do_not_depend_on_how_samples_are_split():
    wanted = RNG.normal(size=(300, 70)) * 10.0 ** RNG.integers(-9, 9, (300, 70))
    got = wanted + RNG.normal(size=wanted.shape)
    whole = both(got, wanted, 7)
    for parts in split(300, got, wanted):
        assert total(both(*part, 7) for part in parts) == whole


def test_infinite_scores_leave_choices_and_no_ratio():
    wanted = np.array([[0.0, -np.inf], [1.0, 2.0]])
    found = both(np.array([[0.0, -np.inf], [1.0, 3.0]]), wanted)
    assert (found.agreement, found.identical, found.largest) == (1.0, 1, 1.0)
    assert math.isnan(found.sqnr)


def test_deviations_are_summed():
    got = figures.measure_deviations(np.array([1.0, 2.0, 4.0]), np.array([1, 3, 2]))
    assert (got.errors.mean, got.magnitudes.mean, got.squares.mean) == (1 / 3, 1.0, 5 / 3)
    assert got.largest == 2.0
    values, right = RNG.normal(size=(90, 2)), RNG.normal(size=(90, 2))
    whole = figures.measure_deviations(values, right)
    for parts in split(90, values, right):
        assert total(figures.measure_deviations(*part) for part in parts) == whole
    with pytest.raises(Error, match="not finite"):
        figures.measure_deviations(np.array([np.inf]), np.array([0.0]))


def test_reconstruction_errors_keep_their_order():
    wanted, got = RNG.normal(size=(2, 40, 3, 5))
    labels = RNG.integers(0, 2, 40)
    whole = figures.measure_reconstruction(got, wanted, labels)
    np.testing.assert_allclose(whole.errors, ((got - wanted) ** 2).mean((1, 2)), rtol=1e-14)
    parts = split(40, got, wanted, labels)
    for each in (parts[0], parts[2]):
        joined = total(figures.measure_reconstruction(*part) for part in each)
        np.testing.assert_array_equal(joined.errors, whole.errors)
        np.testing.assert_array_equal(joined.labels, labels)
        assert (joined.mean, joined.area()) == (whole.mean, whole.area())
    assert figures.measure_reconstruction(got, wanted, None).area() is None
    with pytest.raises(Error, match=r"one label is 2, but .* must be 0"):
        figures.measure_reconstruction(got, wanted, labels + 1)


def test_the_area_is_the_chance_that_an_anomaly_lies_above():
    values, labels = RNG.integers(0, 8, 60).astype(float), RNG.integers(0, 2, 60)
    ones, others = values[labels == 1], values[labels == 0]
    above = (ones[:, None] > others).sum() + (ones[:, None] == others).sum() / 2
    assert figures.compute_area(values, labels) == above / (len(ones) * len(others))
    assert figures.compute_area(values, np.ones(60)) is None
    assert figures.compute_area(np.arange(4.0), np.array([0, 0, 1, 1])) == 1.0
