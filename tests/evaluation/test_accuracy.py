"""Accuracy: the first of equal scores counts, and labels must fit."""

import numpy as np
import pytest

from qemu_nn.analysis.accuracy import convert_class_scores, count_correct
from qemu_nn.errors import Error

SCORES = np.array([[1, 9, 3], [5, 5, 0], [-8, -9, -7]], np.int8)


def test_the_first_of_equal_scores_is_the_answer():
    assert count_correct(SCORES, np.array([1, 0, 2])) == 3
    assert count_correct(SCORES, np.array([1, 1, 2])) == 2


def test_labels_may_have_any_integer_type():
    assert count_correct(SCORES, np.array([1, 0, 0], np.uint8)) == 2


def test_a_recurrent_network_has_a_label_for_every_step():
    assert count_correct(SCORES[:, None], np.array([[1], [0], [0]])) == 2


def test_no_samples_are_no_correct_ones():
    assert count_correct(SCORES[:0], np.zeros(0, np.int64)) == 0


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (np.array([1, 0]), "labels have the shape [2], but must have [3]"),
        (np.array([[1, 0, 2]]), "labels have the shape [1, 3], but must have [3]"),
        (np.array([1.0, 0.0, 2.0]), "must be integers"),
        (np.array([1, 0, 3]), "one label is 3"),
        (np.array([1, -1, 2]), "one label is -1"),
    ],
)
def test_labels_that_do_not_fit_are_refused(labels, words):
    with pytest.raises(Error) as caught:
        count_correct(SCORES, labels)
    assert words in str(caught.value)


def test_a_map_is_no_vector_of_scores():
    assert convert_class_scores(np.zeros((5, 1, 1, 3)), (1, 1, 3)).shape == (5, 3)
    assert convert_class_scores(np.zeros((5, 2, 3)), (3,)).shape == (5, 2, 3)
    with pytest.raises(Error, match=r"output \[6, 6, 4\] is no vector of scores"):
        convert_class_scores(np.zeros((5, 6, 6, 4)), (6, 6, 4))
