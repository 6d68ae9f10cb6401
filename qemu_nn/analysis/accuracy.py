"""Top-k accuracy of scores."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from ..errors import Error
from ..ir.graph import Graph


def describe_accuracy(graph: Graph, results: Mapping[str, np.ndarray], labels: np.ndarray) -> str:
    """Return the accuracy of a run in words, from the network's last output, a score for each
    class.
    """
    right, total = count_right(graph, results, labels)
    return f"{100 * right / total:.2f} % ({right} of {total})" if total else "no inputs"


def count_right(
    graph: Graph, results: Mapping[str, np.ndarray], labels: np.ndarray
) -> tuple[int, int]:
    """Return how many results of a run are right, and how many there are."""
    last = graph.node(graph.outputs[-1]).output
    scores = convert_class_scores(results[last.name], last.shape)
    return count_correct(scores, labels), labels.size


def convert_class_scores(values: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return outputs [N, *shape] as scores [N, classes]; a recurrent network's [N, T, *shape]
    likewise.

    Raises Error for outputs that are not vectors, because they do not fit one label for a sample.
    """
    if max(shape, default=1) != math.prod(shape):
        raise Error(
            f"the network's output {list(shape)} is no vector of scores: give labels [N, "
            "...] for each of its positions to evaluate(), or leave them out"
        )
    return values.reshape(*values.shape[: values.ndim - len(shape)], math.prod(shape))


def count_correct(scores: np.ndarray, labels: np.ndarray) -> int:
    """Count the samples whose largest score (the first of equals) is at their label.

    scores: [N, classes] (a recurrent network: [N, T, classes]); labels: integers of the leading
    shape. Raises Error for labels of a different shape or type, and for labels that are not
    classes.
    """
    labels = np.asarray(labels)
    if not np.issubdtype(labels.dtype, np.integer):
        raise Error(
            f"labels are {labels.dtype}, but must be integers, one class number for each sample"
        )
    if labels.shape != scores.shape[:-1]:
        want, has = [*scores.shape[:-1]], [*labels.shape]
        raise Error(f"labels have the shape {has}, but must have {want}")
    classes = scores.shape[-1]
    if labels.size and not 0 <= int(labels.min()) <= int(labels.max()) < classes:
        outside = labels[(labels < 0) | (labels >= classes)].flat[0]
        raise Error(
            f"one label is {outside}, but labels must be classes 0..{classes - 1} of the "
            "network; classes count from 0"
        )
    return int(np.count_nonzero(scores.argmax(-1) == labels))
