"""Training and validation data as arrays: inputs of the device, and what outputs should be."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import Error
from ..evaluation.class_numbers import count_classes
from ..runtime.evaluate import evaluate, iterate_tensors
from .data import Dataset, real_batches
from .delower import Recovered
from .network import Network

#: Stride of samples held back by class, if no validation data is given.
_HELD_BACK = 5


@dataclass(frozen=True)
class Samples:
    """Real inputs of the device, and what belongs to them: labels, or scores of the float network.

    labelled: whether there are labels; classes: whether these are numbers of classes.
    """

    x: np.ndarray
    wanted: np.ndarray
    labelled: bool
    classes: bool

    def rows(self, which: Any) -> Samples:
        """Return some of them."""
        return replace(self, x=self.x[which], wanted=self.wanted[which])


class Reader:
    """Reads data for one network. any_labels: labels are not of classes."""

    def __init__(self, network: Network, found: Recovered, any_labels: bool) -> None:
        assert network.reference is not None  # or nothing was found
        self.network, self.reference, self.any_labels = network, network.reference, any_labels
        self.names: tuple[str, ...] = ()
        self.graph = found.scheme.prepare(found.graph, softmax=False)[0]
        if len(self.graph.outputs) > 1:
            raise Error(
                "fine_tune() trains networks of one output, but this one has "
                f"{', '.join(self.graph.outputs)}: make a module with trainable(), and "
                "write a loop of your own"
            )

    def read(self, data: Dataset) -> Samples:
        """Return all samples of some data."""
        inputs, labels, scores = [], [], []
        scores_of = self.graph.shapes[self.graph.outputs[0]]
        count = None if self.any_labels else count_classes(scores_of)
        batches = real_batches(self.network, data, any_labels=self.any_labels, count=count)
        self.names = batches.classes
        for batch in batches:
            x = self._device_input(batch.x).astype(np.float32)
            inputs.append(x)
            if batch.y is None:
                scores.append(evaluate(self.graph, x)[self.graph.outputs[0]].astype(np.float32))
            else:
                labels.append(np.asarray(batch.y))
        if not inputs:
            raise Error("the data have no samples: give one or more")
        if labels and scores:
            raise Error(
                "some batches of the data have labels and others none: give labels in all or "
                "in none"
            )
        if len({y.shape[1:] for y in labels}) > 1:
            raise Error(
                "labels have different shapes in some batches of the data: give all in one shape"
            )
        wanted = np.concatenate(labels or scores)
        classes = bool(labels) and self._are_classes(wanted)
        return Samples(np.concatenate(inputs), wanted, bool(labels), classes)

    def _device_input(self, x: np.ndarray) -> np.ndarray:
        if self.graph.input == self.reference.input:
            return x
        values = iterate_tensors(self.reference, x)
        return next(value for tensor, value in values if tensor == self.graph.input)

    def _are_classes(self, labels: np.ndarray) -> bool:
        count = math.prod(self.graph.shapes[self.graph.outputs[0]])
        whole = labels.ndim == 1 and labels.dtype.kind in "iu"
        if whole and labels.min() >= 0 and labels.max() < count:
            return True
        if not self.any_labels:
            raise Error(
                f"labels are not class numbers from 0 to {count - 1}, one for each sample: "
                "give such labels, or a loss_fn"
            )
        return False


def divided(data: Samples) -> tuple[Samples, Samples]:
    """Return what is trained on, and what is held back."""
    if len(data.x) < _HELD_BACK:
        raise Error(
            f"there are {len(data.x)} samples, too few to keep some for validation: give "
            "validation="
        )
    return _take_every(data, _HELD_BACK)


def halved(data: Samples) -> tuple[Samples, Samples]:
    """Return validation data that choose the best epoch, and others that report on each epoch.

    The second half is empty if there is one sample.
    """
    return _take_every(data, 2)


def _take_every(data: Samples, stride: int) -> tuple[Samples, Samples]:
    """Return some data without every so many samples, of each class alike, and these samples."""
    order = np.argsort(data.wanted, kind="stable") if data.classes else np.arange(len(data.x))
    taken = np.zeros(len(order), bool)
    taken[order[stride - 1 :: stride]] = True
    return data.rows(~taken), data.rows(taken)


def check_apart(train: Samples, held: Samples) -> None:
    """Raise Error where the network would be judged by what it was trained on."""
    if train.labelled != held.labelled:
        raise Error(
            "labels are given for one of training and validation data: give Dataset(..., "
            "labels=...) for both or for none"
        )
    seen = {sample.tobytes() for sample in train.x}
    same = sum(sample.tobytes() in seen for sample in held.x)
    if 2 * same > len(held.x):
        raise Error(
            f"{same} of {len(held.x)} samples that judge each epoch are also training data, "
            "so their score says nothing about unseen data: give other samples as "
            "validation="
        )
