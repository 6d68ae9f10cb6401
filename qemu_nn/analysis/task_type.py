"""Task of a network: classification, regression or reconstruction."""

from __future__ import annotations

import math
from typing import Optional

import numpy as np

from ..errors import Error
from ..io.arguments import one_of

Shape = tuple[int, ...]

#: Kinds of networks; an unlabelled one only has differences from another network.
KINDS = ("classifier", "regressor", "autoencoder", "unlabelled")


def infer_kind(
    given: Optional[str],
    inputs: Shape,
    outputs: Shape,
    labels: Optional[np.ndarray],
    steps: bool = False,
) -> str:
    """Return the kind of a network, one of KINDS, by the shapes of one sample and by labels [n,
    ...].

    given: the caller's choice. steps: true if the first axis of a sample is time. Raises Error,
    with a way to name the kind, if the labels fit none or several.
    """
    if given is not None:
        return _check_kind(one_of(KINDS, given, "kind"), inputs, outputs, labels)
    again = not steps and _squeeze(inputs) == _squeeze(outputs) and math.prod(outputs) > 1
    if labels is None:
        if again:
            return "autoencoder"
        return "classifier" if _is_vector(outputs[int(steps) :]) else "unlabelled"
    if labels.dtype.kind == "f":
        return _check_kind("regressor", inputs, outputs, labels)
    if again and labels.ndim == 1:
        return "autoencoder"
    if labels.ndim == 1 and math.prod(outputs[int(steps) :]) == 1:
        raise Error(
            "the network has one output and the labels are integers: give "
            "kind='classifier' if it is the probability of label 1, or kind='regressor'"
        )
    return _check_kind("classifier", inputs, outputs, labels)


def _check_kind(kind: str, inputs: Shape, outputs: Shape, labels: Optional[np.ndarray]) -> str:
    """Return the kind; raise Error if shapes or labels contradict it."""
    if kind == "autoencoder" and math.prod(inputs) != math.prod(outputs):
        raise Error(
            f"the network has the outputs {list(outputs)} and the inputs {list(inputs)}, "
            "but an autoencoder's output has the size of its input: give another kind="
        )
    if labels is None:
        if kind == "regressor":
            raise Error("a regressor needs the right values as labels: give them")
        return kind
    has = labels.shape[1:]
    if kind == "regressor":
        convert_values(labels, outputs)
    if kind == "classifier" and has not in ((), outputs[:-1]):
        raise _make_shape_error(
            kind, "one class for each sample, or for each place", outputs[:-1], has
        )
    if kind == "classifier" and not has and not _is_vector(outputs[-1:] or (1,)):
        return kind  # one output: the probability of label 1
    if kind == "autoencoder" and has:
        raise _make_shape_error(kind, "0 or 1 for each sample", (), has)
    if kind == "unlabelled":
        raise Error("kind='unlabelled' takes no labels: leave them out, or give another kind=")
    return kind


def convert_values(labels: np.ndarray, outputs: Shape) -> np.ndarray:
    """Return labels [n, ...] of a regressor in the shape of its outputs [n, *outputs].

    The channel axis of image labels may be at either end. Raises Error for further shapes.
    """
    for moved in (labels, *_move_channels(labels)):
        if _squeeze(moved.shape[1:]) == _squeeze(outputs):
            return moved.reshape(len(moved), *outputs)
    raise _make_shape_error("regressor", "a value for each output", outputs, labels.shape[1:])


def _move_channels(images: np.ndarray) -> tuple[np.ndarray, ...]:
    """Move the channel axis of images to the opposite end."""
    return (np.moveaxis(images, 1, -1), np.moveaxis(images, -1, 1)) if images.ndim == 4 else ()


def convert_scores(outputs: np.ndarray, labels: Optional[np.ndarray], steps: bool) -> np.ndarray:
    """Return outputs [n, ...] of a classifier as scores [choices, classes], a row for each label.

    A label for a whole sequence applies to its last step. A single output is split into scores of
    the labels 0 and 1. Raises Error if it is not a probability, or outputs are not vectors.
    """
    count, shape = len(outputs), outputs.shape[1:]
    if labels is None or labels.ndim > 1:
        lead = 1 + int(steps) if labels is None else labels.ndim
        scores = outputs.reshape(math.prod(outputs.shape[:lead]), -1)
    elif steps:
        scores = outputs[:, -1].reshape(count, -1)
    elif _is_vector(shape) or math.prod(shape) == 1:
        scores = outputs.reshape(count, -1)
    else:
        raise Error(
            f"the network's output {list(shape)} is no vector of scores, which one label "
            f"for a sample needs: give labels [N, {', '.join(map(str, shape[:-1]))}]"
        )
    if scores.shape[1] > 1:
        return scores
    if not ((scores >= 0) & (scores <= 1)).all():
        raise Error(
            "the network's one output has values outside 0..1, so it is no probability: "
            "give kind='regressor'"
        )
    return np.concatenate([1 - scores, scores], axis=1)


def _is_vector(shape: Shape) -> bool:
    return max(shape, default=1) == math.prod(shape) > 1


def _squeeze(shape: Shape) -> Shape:
    return tuple(size for size in shape if size != 1)


def _make_shape_error(kind: str, what: str, wanted: Shape, has: Shape) -> Error:
    classes = "; classes have to be integers" if kind == "regressor" else ""
    return Error(
        f"labels have the shape [{', '.join(['N', *map(str, has)])}], but labels of a "
        f"{kind} are {what}, [{', '.join(['N', *map(str, wanted)])}]{classes}"
    )
