"""Batches for fixed-point training, drawn one by one from the user's source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import Error
from .gathering import to_iterator


@dataclass(frozen=True)
class FixedGrid:
    """The format of the network's input: shape [C, H, W], fraction bits, least and largest code."""

    shape: tuple[int, ...]
    frac: int
    least: int
    largest: int

    def round_down(self, x: np.ndarray) -> np.ndarray:
        """Return floats rounded down into the format, as float32, which represents them exactly."""
        codes = np.clip(np.floor(np.ldexp(x, self.frac)), self.least, self.largest)
        result: np.ndarray = np.ldexp(codes, -self.frac).astype(np.float32)
        return result


def iterate_pairs(data_generator: Any, input_fn: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield inputs [N, C, H, W] as float64 with their targets, from exactly one of the two sources.

    data_generator yields {"input": ..., "output": ...}. input_fn is called for each (features,
    labels), or once for an iterable of them, or is such an iterable. Raises Error for other
    content.
    """
    if (data_generator is None) == (input_fn is None):
        raise Error("both or none of data_generator and input_fn are given: give one of them")
    if data_generator is not None:
        return (
            _check_pair(*_iterate_dict(turn))
            for turn in to_iterator("data_generator", data_generator)
        )
    return (_check_pair(*turn) for turn in _iterate_function(input_fn))


def _iterate_dict(turn: Any) -> tuple[Any, Any]:
    if not isinstance(turn, Mapping) or "input" not in turn or "output" not in turn:
        raise Error('data_generator must yield dictionaries with the keys "input" and "output"')
    return turn["input"], turn["output"]


def _iterate_function(input_fn: Any) -> Iterator[tuple[Any, Any]]:
    first = input_fn() if callable(input_fn) else input_fn
    if isinstance(first, tuple) and callable(input_fn):
        while True:
            yield _pair(first)
            first = input_fn()
    for turn in to_iterator("input_fn", first):
        yield _pair(turn)


def _pair(turn: Any) -> tuple[Any, Any]:
    if not isinstance(turn, (tuple, list)) or len(turn) != 2:
        raise Error("input_fn must yield pairs (features, labels)")
    return turn[0], turn[1]


def _check_pair(inputs: Any, labels: Any) -> tuple[np.ndarray, np.ndarray]:
    x, y = np.asarray(inputs), np.asarray(labels)
    if x.ndim != 4 or x.dtype.kind not in "fiub" or not len(x):
        raise Error(
            f"an input batch is {x.dtype} {list(x.shape)}, but must be numbers [N, C, H, W]"
        )
    if not np.isfinite(x).all():
        raise Error("an input batch has values that are not finite: remove or replace them")
    if y.dtype.kind not in "fiub" or y.shape[:1] != x.shape[:1]:
        raise Error(
            f"there are {y.dtype} labels {list(y.shape)} for {len(x)} inputs: give one for each"
        )
    return x.astype(np.float64), y


def classes(labels: np.ndarray, count: int) -> np.ndarray:
    """Return class numbers [N] of labels: numbers [N], [N, 1, 1, 1], or one-hot [N, C, 1, 1].

    Raises Error for numbers that are not classes of the network.
    """
    flat = labels.reshape(len(labels), -1)
    if flat.shape[1] == 1:
        numbers = flat[:, 0]
    elif flat.shape[1] == count and ((flat == 0) | (flat == 1)).all() and (flat.sum(1) == 1).all():
        numbers = flat.argmax(1)
    else:
        raise Error(
            f"labels are {list(labels.shape)}, but must be class numbers [N], [N, 1, 1, 1] "
            f"or one-hot [N, {count}, 1, 1]; for others give a loss_fn"
        )
    if (numbers != np.floor(numbers)).any() or numbers.min() < 0 or numbers.max() >= count:
        raise Error(
            f"labels are not class numbers from 0 to {count - 1}: give such labels, or a loss_fn"
        )
    return np.asarray(numbers.astype(np.int64))
