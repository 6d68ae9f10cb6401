"""The loop of fine_tune(): steps, validation against a session, and the best network of all."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Callable, Optional

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - its usual name
from torch import Tensor

from ..analysis.table import Cell, Table
from ..errors import Error
from ..io.stages import announce
from ..ptq.format_search import Progress
from ..runtime.session import Session
from ..training.loop import compute_loss, make_optimizer, seed_random, take_step
from .network import Network
from .trainable import TrainableNetwork, planned
from .training_data import Samples, halved

LOGGER = logging.getLogger("qemu_nn.train")

#: Samples of a batch while the network is validated.
_BATCH = 64

#: Columns of the curve: loss and share of correct classes, of samples that choose the best epoch
#: and of samples that neither trained nor chose.
COLUMNS = ("epoch", "loss", "right", "unseen_loss", "unseen_right")

#: The mean square of scores without any signal.
_TINY = 1e-30


@dataclass(frozen=True)
class _Score:
    """Figures of a network on validation data. right: the share of correct classes, where labels
    are classes."""

    loss: float
    right: Optional[float]

    @property
    def order(self) -> tuple[float, float]:
        """The larger the better."""
        return (self.right or 0.0, -self.loss)

    def __str__(self) -> str:
        if math.isnan(self.loss):
            return "no samples"
        return f"loss {self.loss:.4g}" + ("" if self.right is None else f", {self.right:.2%} right")


@dataclass(frozen=True)
class Trainer:
    """A network, as given and as a module, its data and the options of its training."""

    given: Network
    net: TrainableNetwork
    train: Samples
    held: Samples
    epochs: int
    batch: int
    rate: float
    loss_fn: Optional[Callable[..., Any]]
    optimizer: Optional[Callable[..., Any]]
    seed: int
    progress: Optional[Progress]

    def run(self) -> Network:
        """Train, and return the best network of all epochs."""
        with seed_random(self.seed), torch.enable_grad():
            return self._run()

    def _run(self) -> Network:
        parameters = [each for each in self.net.parameters() if each.requires_grad]
        optimizer = make_optimizer(self.optimizer, parameters, self.rate)
        kept, at = self.given, 0
        choosing, unseen = halved(self.held)
        start = best = self._validated(kept, choosing)
        seen = [self._validated(kept, unseen)]
        rows = [_make_row(0, best, seen[0])]
        LOGGER.info("before training: %s; unseen: %s", best, seen[0])
        rng, count = np.random.default_rng(self.seed), len(self.train.x)
        steps = math.ceil(count / self.batch)
        turns = range(self.epochs * steps)
        announce("trains")
        for turn in self.progress(turns) if self.progress else turns:
            epoch, step = divmod(turn, steps)
            if not step:
                order = rng.permutation(count)
            if self.optimizer is None:
                for group in optimizer.param_groups:
                    group["lr"] = self.rate * (1 + math.cos(math.pi * turn / len(turns))) / 2
            samples = self.train.rows(order[step * self.batch : (step + 1) * self.batch])
            loss = self._loss(samples, self.net(torch.from_numpy(samples.x)))
            take_step(optimizer, loss, f"step {turn + 1} of {len(turns)}")
            if step == steps - 1:
                made = self.net.network()
                now = self._validated(made, choosing)
                seen.append(self._validated(made, unseen))
                rows.append(_make_row(epoch + 1, now, seen[-1]))
                where = epoch + 1, self.epochs
                LOGGER.info("epoch %d of %d: %s; unseen: %s", *where, now, seen[-1])
                if now.order > best.order:
                    best, kept, at = now, made, epoch + 1
        note = f"fine-tuned: the best is after epoch {at} of {self.epochs}: {start} -> {best}"
        told = f"on the samples that chose it; {seen[0]} -> {seen[at]} on unseen samples"
        curve = Table(COLUMNS, tuple(rows))
        return replace(kept, notes=(*kept.notes, f"{note}, {told}"), curve=curve)

    def _loss(self, samples: Samples, outputs: Tensor) -> Tensor:
        if self.loss_fn is not None:
            return compute_loss(self.loss_fn, outputs, samples.wanted)
        wanted = torch.from_numpy(samples.wanted)
        if samples.labelled:
            return F.cross_entropy(outputs.flatten(1), wanted.long())
        signal = wanted.square().mean().clamp(min=_TINY)
        return (outputs - wanted).square().mean() / signal

    def _validated(self, made: Network, data: Samples) -> _Score:
        """Return how the network does on data; Error where a session of the plain rows, which
        define its bits, says otherwise.
        """
        session = planned(made.graph, self.net.profile, "plain")
        losses, right = 0.0, 0
        for which in _parts(np.arange(len(data.x)), _BATCH):
            samples = data.rows(which)
            values = self.net.values(torch.from_numpy(samples.x))
            check(session, samples.x, values)
            outputs = values[self.net.outputs[0]]
            loss = self._loss(samples, outputs)
            if not torch.isfinite(loss):
                raise Error(
                    f"the loss of validation data is {loss.item()}: check labels and loss_fn"
                )
            losses += loss.item() * len(which)
            if samples.classes:
                found = outputs.detach().flatten(1).argmax(1).numpy()
                right += int((found == samples.wanted).sum())
        count = len(data.x)
        if not count:
            return _Score(math.nan, None)
        return _Score(losses / count, right / count if data.classes else None)


def _make_row(epoch: int, chosen: _Score, unseen: _Score) -> tuple[Cell, ...]:
    """Return a row of the curve."""
    scores = (chosen, unseen)
    return (epoch, *(cell for each in scores for cell in (_shorten(each.loss), each.right)))


def _shorten(loss: float) -> Optional[float]:
    return float(f"{loss:.4g}") if math.isfinite(loss) else None


def check(session: Session, x: np.ndarray, values: Mapping[str, Tensor]) -> None:
    """Raise Error, with layer and element, where values are not those of a session's integers."""
    graph = session.graph
    codes = graph.input.format.quantize(x)
    made = {graph.input.name: codes, **session.run(codes, trace=True)}
    for name, tensor in graph.tensors.items():
        if name not in values:
            continue  # a call's part, or a softmax at the end
        own, found = tensor.format, made[name].astype(np.int64)
        real = values[name].detach().double().numpy().reshape(found.shape)
        got = np.rint(real / own.scale).astype(np.int64) + own.zero_point
        if not np.array_equal(got, found):
            at = tuple(map(int, np.argwhere(got != found)[0]))
            raise Error(
                f"{name}{list(at)}: training computed {got[at]}, but the device has {found[at]}; "
                "please report this with the network"
            )


def _parts(which: np.ndarray, size: int) -> Iterator[np.ndarray]:
    for first in range(0, len(which), size):
        yield which[first : first + size]
