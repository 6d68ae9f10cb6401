"""Trains a QuantizedNet group of layers by group, on PyTorch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Optional

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - its usual name
from torch import Tensor

from ...errors import Error
from ...training.loop import (
    LOSS,
    compute_loss,
    make_optimizer,
    open_event_writer,
    seed_random,
    take_step,
)
from ..layers import Layer
from ..modelpack import save_to_file
from ..progress_bar import show_bar
from ..training_data import FixedGrid, classes
from .quant_layer import QuantizedNet
from .weighted import ROLES


@dataclass
class Trainer:
    """A network, the source of its batches, and the options of its training."""

    net: QuantizedNet
    source: Iterator[tuple[np.ndarray, np.ndarray]]
    grid: FixedGrid
    loss_fn: Optional[Callable[..., Any]]
    optimizer: Optional[Callable[..., Any]]
    steps: int
    steps_log: int
    log_dir: Path
    done: int = 0
    writer: Any = field(default=None)

    def run(self, groups: Sequence[Sequence[Layer]]) -> None:
        """Quantize group by group; before each, train the group and all later ones."""
        lift(self.net)
        self.net.quantized = set()
        self.net.train()
        self.writer = open_event_writer(self.log_dir)
        try:
            for number, group in enumerate(groups, 1):
                self.net.quantized |= {layer.name for layer in group}
                self._group(f"group {number} of {len(groups)}")
                for layer in group:
                    if self.net.has_part(layer.name):
                        self.net.part(layer.name).requires_grad_(False)
                self._save(f"group_{number}")
        finally:
            if self.writer is not None:
                self.writer.close()

    def _save(self, name: str) -> None:
        layers, params = self.net.layer_list, self.net.get_param_dict()
        stem = self.log_dir / name
        save_to_file(layers, f"{stem}.prototxt", params, f"{stem}.npz")

    def _group(self, title: str) -> None:
        parameters = [p for p in self.net.parameters() if p.requires_grad]
        if not parameters:
            return
        optimizer = make_optimizer(self.optimizer, parameters)
        for step in show_bar(range(1, self.steps + 1), title=title):
            where = f"step {step} of {title}"
            pair = next(self.source, None)
            if pair is None:
                raise Error(f"the batches ended before {where}; every group needs {self.steps}")
            outputs = self.net(torch.from_numpy(self._inputs(pair[0])))
            loss = self._loss(outputs, pair[1])
            take_step(optimizer, loss, where)
            self.done += 1
            if step % self.steps_log == 0:
                self._log(where, loss.item(), accuracy(outputs, pair[1]))

    def _inputs(self, x: np.ndarray) -> np.ndarray:
        if x.shape[1:] != self.grid.shape:
            raise Error(f"an input batch is {list(x.shape)}, but must be [N, {self.grid.shape}]")
        return self.grid.round_down(x)

    def _loss(self, outputs: Any, labels: np.ndarray) -> Tensor:
        if self.loss_fn is None:
            return cross_entropy(outputs, labels)
        return compute_loss(self.loss_fn, outputs, labels)

    def _log(self, where: str, loss: float, right: Optional[float]) -> None:
        more = "" if right is None else f", accuracy {right:.4f}"
        print(f"{where}: loss {loss:.6g}{more}")
        if self.writer is not None:
            self.writer.add_scalar("loss", loss, self.done)
            if right is not None:
                self.writer.add_scalar("accuracy", right, self.done)


def lift(net: QuantizedNet) -> None:
    """Add half a step to all weights and biases, so that nodes, which round down, round
    to nearest.
    """
    for layer in net.layer_list:
        if net.has_part(layer.name):
            part = net.part(layer.name)
            for role in ROLES:
                if getattr(part, role) is not None:
                    part.lift(role, getattr(part, f"{role}_step") / 2)


def _scores(outputs: Any) -> Optional[Tensor]:
    """Return [N, C] of the only output, if it is a vector for each sample."""
    if isinstance(outputs, Tensor) and outputs.shape[2:] == (1, 1):
        return outputs[:, :, 0, 0]
    return None


def cross_entropy(outputs: Any, labels: np.ndarray) -> Tensor:
    """Return the mean of -log softmax at the labels' classes."""
    scores = _scores(outputs)
    if scores is None:
        raise Error(f"without loss_fn the network must have one output [N, C, 1, 1]; {LOSS}")
    return F.cross_entropy(scores, torch.from_numpy(classes(labels, scores.shape[1])))


def accuracy(outputs: Any, labels: np.ndarray) -> Optional[float]:
    """Return the share of samples with the largest output at the label, or None without classes."""
    scores = _scores(outputs)
    if scores is None:
        return None
    try:
        wanted = classes(labels, scores.shape[1])
    except Error:
        return None
    return float((scores.detach().argmax(1).numpy() == wanted).mean())


def train(trainer: Trainer, groups: Sequence[Sequence[Layer]], seed: Optional[int]) -> None:
    """Run with a separate seed; restore the state of PyTorch's random numbers."""
    with seed_random(seed):
        trainer.run(groups)
