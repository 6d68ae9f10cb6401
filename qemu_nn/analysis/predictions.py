"""Predicted class of the device and of the float network, and the right class, by sample."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Optional

import numpy as np

from ..errors import Error

#: Most classes of a confusion matrix, which has the square of this number of cells.
_MOST = 1000


@dataclass
class Choices:
    """Choices among `classes`, accumulated over batches."""

    classes: int
    device: list[np.ndarray] = field(default_factory=list)
    reference: list[np.ndarray] = field(default_factory=list)
    labels: list[Optional[np.ndarray]] = field(default_factory=list)

    def add(self, device: np.ndarray, reference: np.ndarray, labels: Optional[np.ndarray]) -> None:
        """Add the scores [N, ...] of a batch, N > 0, and its right classes [N] if known."""
        self.device.append(device.reshape(len(device), -1).argmax(1))
        self.reference.append(reference.reshape(len(device), -1).argmax(1))
        if labels is not None and not 0 <= labels.min() <= labels.max() < self.classes:
            raise Error(
                f"one label is no class of the network; labels must be 0..{self.classes - 1}"
            )
        self.labels.append(labels)

    def merge(self, other: Choices) -> None:
        """Append the predictions of the samples that follow."""
        self.device += other.device
        self.reference += other.reference
        self.labels += other.labels

    def figures(self) -> dict[str, Any]:
        """Return the agreement; with all labels also the accuracies and the device's
        confusion[label, class].
        """
        if not self.device:
            return {}
        got, best = np.concatenate(self.device), np.concatenate(self.reference)
        known: dict[str, Any] = {"agreement": float(np.mean(got == best))}
        labels = [batch for batch in self.labels if batch is not None]
        if len(labels) < len(self.labels):
            return known
        y = np.concatenate(labels)
        known["accuracy"] = float(np.mean(got == y))
        known["float_accuracy"] = float(np.mean(best == y))
        if self.classes <= _MOST:
            pairs = np.bincount(y.astype(np.int64) * self.classes + got, minlength=self.classes**2)
            known["confusion"] = pairs.reshape(self.classes, self.classes)
        return known
