"""Figures of scores, predictions and reconstructions: counts and exact sums.

Each function processes one batch. Results are added with +, in any order and for batches of any
size; the sum is always identical.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Optional, TypeVar

import numpy as np

from ..errors import Error
from .errors import compute_decibels
from .exact_sum import ExactSum, sum_exactly

Key = TypeVar("Key")

_NOTHING = ExactSum()

#: Figures of a class: number of its labels, and quality of its predictions.
PER_CLASS = ("support", "precision", "recall", "f1")


@dataclass(frozen=True)
class Classified:
    """Predicted and correct classes.

    pairs: (label, chosen) -> count. top: k -> number of labels among the k largest scores.
    """

    classes: int
    pairs: Mapping[tuple[int, int], int] = field(default_factory=dict)
    top: Mapping[int, int] = field(default_factory=dict)

    def __add__(self, other: Classified) -> Classified:
        return Classified(
            self.classes, _add_counts(self.pairs, other.pairs), _add_counts(self.top, other.top)
        )

    @property
    def count(self) -> int:
        """Number of predictions."""
        return sum(self.pairs.values())

    @property
    def accuracy(self) -> float:
        """The share of right choices."""
        right = sum(n for (label, chosen), n in self.pairs.items() if label == chosen)
        return right / self.count

    def within(self, k: int) -> float:
        """Return the share of labels among the k largest scores."""
        return self.top[k] / self.count

    def confusion(self) -> np.ndarray:
        """Return the confusion matrix [label, chosen] of counts."""
        matrix = np.zeros((self.classes, self.classes), np.int64)
        for pair, count in self.pairs.items():
            matrix[pair] = count
        return matrix

    def per_class(self) -> list[tuple[int, float, float, float]]:
        """Return PER_CLASS of every class; a figure that would divide by 0 is 0."""
        labels, chosen = Counter[int](), Counter[int]()
        for (label, choice), count in self.pairs.items():
            labels[label] += count
            chosen[choice] += count
        rows = []
        for number in range(self.classes):
            right, support, choices = (
                self.pairs.get((number, number), 0),
                labels[number],
                chosen[number],
            )
            rows.append(
                (
                    support,
                    right / max(choices, 1),
                    right / max(support, 1),
                    2 * right / max(support + choices, 1),
                )
            )
        return rows


def classify(scores: np.ndarray, labels: np.ndarray, top: Sequence[int] = ()) -> Classified:
    """Count the choices of scores [n, classes], the first of equal ones, against the labels [n].

    Raises Error for labels that are not classes, and for NaN among the scores.
    """
    rows, classes = np.arange(len(scores)), scores.shape[-1]
    if labels.dtype.kind not in "iu":
        raise Error(
            f"labels are {labels.dtype}, but must be integers, one class number for each sample"
        )
    if len(labels) and not 0 <= int(labels.min()) <= int(labels.max()) < classes:
        outside = labels[(labels < 0) | (labels >= classes)].flat[0]
        raise Error(
            f"one label is {outside}, but labels must be classes 0..{classes - 1} of the "
            "network; classes count from 0"
        )
    labels = labels.astype(np.int64)
    chosen = choose_classes(scores)
    codes, counts = np.unique(labels * classes + chosen, return_counts=True)
    pairs = {divmod(code, classes): n for code, n in zip(codes.tolist(), counts.tolist())}
    if not top:
        return Classified(classes, pairs)
    own = scores[rows, labels][:, None]
    earlier = np.arange(classes) < labels[:, None]
    ranks = np.count_nonzero((scores > own) | ((scores == own) & earlier), axis=-1)
    return Classified(classes, pairs, {k: int(np.count_nonzero(ranks < k)) for k in top})


def choose_classes(scores: np.ndarray) -> np.ndarray:
    """Return the class [n] of the largest score [n, classes], the first of equals; raise Error for
    NaN.
    """
    if np.isnan(scores).any():
        raise Error(
            "the network's scores contain NaN, so none is the largest: compare its layers with "
            "analyze"
        )
    classes: np.ndarray = scores.argmax(-1)
    return classes


@dataclass(frozen=True)
class Compared:
    """Outputs of two networks for the same samples.

    identical: samples with equal outputs. agreed: equal choices, of `choices`. signal, noise: sums
    of squares of the wanted outputs, and of the differences. largest: difference.
    """

    samples: int = 0
    identical: int = 0
    choices: int = 0
    agreed: int = 0
    signal: ExactSum = _NOTHING
    noise: ExactSum = _NOTHING
    largest: float = 0.0

    def __add__(self, other: Compared) -> Compared:
        return Compared(
            self.samples + other.samples,
            self.identical + other.identical,
            self.choices + other.choices,
            self.agreed + other.agreed,
            self.signal + other.signal,
            self.noise + other.noise,
            max(self.largest, other.largest),
        )

    @property
    def agreement(self) -> Optional[float]:
        """Share of equal choices; None without choices."""
        return self.agreed / self.choices if self.choices else None

    @property
    def sqnr(self) -> float:
        """Signal-to-noise ratio in dB; inf without noise."""
        return compute_decibels(float(self.signal), float(self.noise))


def compare_outputs(
    got: np.ndarray, wanted: np.ndarray, choices: Optional[tuple[np.ndarray, np.ndarray]] = None
) -> Compared:
    """Compare outputs [n, ...] with outputs of the same shape.

    choices: results of choose_classes() for both.
    """
    wanted, got = (np.asarray(a, np.float64).reshape(len(a), -1) for a in (wanted, got))
    differences = _subtract(got, wanted)
    return Compared(
        len(got),
        int(np.count_nonzero((got == wanted).all(1))),
        0 if choices is None else choices[0].size,
        0 if choices is None else int(np.count_nonzero(choices[0] == choices[1])),
        sum_exactly(_sum_squares(wanted)),
        sum_exactly(_sum_squares(differences)),
        float(np.abs(differences).max(initial=0.0)),
    )


@dataclass(frozen=True)
class Deviations:
    """Errors of predictions: sums of errors, their magnitudes and their squares."""

    errors: ExactSum = _NOTHING
    magnitudes: ExactSum = _NOTHING
    squares: ExactSum = _NOTHING
    largest: float = 0.0

    def __add__(self, other: Deviations) -> Deviations:
        return Deviations(
            self.errors + other.errors,
            self.magnitudes + other.magnitudes,
            self.squares + other.squares,
            max(self.largest, other.largest),
        )


def measure_deviations(got: np.ndarray, wanted: np.ndarray) -> Deviations:
    """Return the errors of predictions of any shape against right values of that shape."""
    errors = np.asarray(got, np.float64) - np.asarray(wanted, np.float64)
    if not np.isfinite(errors).all():
        raise Error(
            "the network's outputs are not finite, so they have no mean error: compare its "
            "layers with analyze"
        )
    magnitudes = np.abs(errors)
    largest = float(magnitudes.max(initial=0.0))
    return Deviations(sum_exactly(errors), sum_exactly(magnitudes), sum_exactly(errors**2), largest)


@dataclass(frozen=True)
class Reconstructed:
    """Reconstruction error of every sample, in order, and its label, if any."""

    errors: np.ndarray
    labels: Optional[np.ndarray] = None

    def __add__(self, other: Reconstructed) -> Reconstructed:
        """Merge two parts, this one first."""
        errors = np.concatenate([self.errors, other.errors])
        if self.labels is None or other.labels is None:
            return Reconstructed(errors)
        return Reconstructed(errors, np.concatenate([self.labels, other.labels]))

    @property
    def mean(self) -> float:
        """The mean error."""
        return sum_exactly(self.errors).mean

    def area(self) -> Optional[float]:
        """Return the area under the curve of hits over false alarms, for errors of samples labelled
        1 and 0.

        None without samples of both labels.
        """
        return None if self.labels is None else compute_area(self.errors, self.labels)


def measure_reconstruction(
    got: np.ndarray, wanted: np.ndarray, labels: Optional[np.ndarray]
) -> Reconstructed:
    """Return the mean squared difference of each sample [n, ...], and its label, 0 or 1."""
    if labels is not None and not np.isin(labels, (0, 1)).all():
        outside = labels[~np.isin(labels, (0, 1))].flat[0]
        raise Error(
            f"one label is {outside}, but labels of an autoencoder must be 0 (normal) or 1 "
            "(anomalous)"
        )
    wanted, got = (np.asarray(a, np.float64).reshape(len(a), -1) for a in (wanted, got))
    errors = _sum_squares(_subtract(got, wanted)) / max(got.shape[1], 1)
    if not np.isfinite(errors).all():
        raise Error(
            "the network's outputs are not finite, so they have no reconstruction error: "
            "compare its layers with analyze"
        )
    return Reconstructed(errors, labels)


def compute_area(values: np.ndarray, labels: np.ndarray) -> Optional[float]:
    """Return the probability that a value of label 1 exceeds one of label 0; equal ones count half.

    values, labels: [n]. None if a label is missing.
    """
    positive = labels == 1
    _, ranks, counts = np.unique(values, return_inverse=True, return_counts=True)
    hits = np.bincount(ranks.ravel()[positive], minlength=len(counts))
    others = counts - hits
    total = int(hits.sum()) * int(others.sum())
    if not total:
        return None
    below = np.cumsum(others) - others
    twice = sum((hits * (2 * below + others)).tolist())  # integers: exact
    area: float = twice / (2 * total)
    return area


def _add_counts(counts: Mapping[Key, int], others: Mapping[Key, int]) -> dict[Key, int]:
    """Return counts of the same things together."""
    return {key: counts.get(key, 0) + others.get(key, 0) for key in {**counts, **others}}


def _sum_squares(rows: np.ndarray) -> np.ndarray:
    """Return the sum of squares of each row [n, elements]: of the same numbers always the same
    bits.
    """
    sums: np.ndarray = np.add.reduce(rows * rows, axis=1)
    return sums


def _subtract(got: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return got - wanted; 0 if both are the same infinity."""
    with np.errstate(invalid="ignore"):
        return np.where(got == wanted, 0.0, got - wanted)
