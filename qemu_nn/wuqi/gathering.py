"""Runs networks batch by batch and counts the values of their tensors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Optional

import numpy as np

from ..errors import Error
from .figures import Histogram, Target
from .integers import check_width
from .layers import Layer, get_tensor_name_list
from .numpy_net import build_numpy_layers, read_weights, run_layers
from .progress_bar import show_bar

Params = Mapping[str, Any]

#: Samples whose range the bins cover by default.
_FIRST = 1000


def to_iterator(name: str, source: Any) -> Iterator[Any]:
    """Return an iterator over batches; raise Error for other types."""
    try:
        return iter(source)
    except TypeError:
        call = f"; call it: {name}=...()" if callable(source) else ""
        raise Error(f"{name} is a {type(source).__name__}, not a generator{call}") from None


def iterate_batches(data_generator: Any, count: int) -> Iterator[np.ndarray]:
    """Yield the next inputs [N, C, H, W] of a generator of {"input": batch, ...}, until it ends.

    Takes at most count, and never restarts the generator. Raises Error for other content.
    """
    for _, turn in zip(range(count), to_iterator("data_generator", data_generator)):
        if not isinstance(turn, Mapping) or "input" not in turn:
            raise Error('data_generator must yield dictionaries with the key "input"')
        batch = np.asarray(turn["input"])
        if batch.ndim != 4 or batch.dtype.kind not in "fiub" or not len(batch):
            raise Error(
                f"an input batch is {batch.dtype} {list(batch.shape)}, but must be numbers "
                "[N, C, H, W]"
            )
        if not np.isfinite(batch).all():
            raise Error("an input batch has values that are not finite: remove or replace them")
        yield batch


@dataclass(frozen=True)
class Gathering:
    """Plan of filling targets.

    kinds: the float network (False), the chip's (True), or both. The bins of a target span
    -max_abs_val to max_abs_val. If that is None, they span its values, for features those of the
    first 1000 samples.
    """

    layers: Sequence[Layer]
    params: Params
    kinds: Sequence[bool]
    bitwidth: int
    num_batch: int
    hw_aligned: bool
    num_bin: int
    max_abs_val: Optional[float]
    log_on: bool

    def __post_init__(self) -> None:
        if self.num_bin < 0 or self.num_batch < 1:
            raise Error(
                f"num_bin is {self.num_bin} and num_batch {self.num_batch}; they must be at "
                "least 0 and 1"
            )
        if self.max_abs_val is not None and not 0 < self.max_abs_val < np.inf:
            raise Error(f"max_abs_val is {self.max_abs_val}, but must be above 0")

    def targets(self, names: Sequence[str], data_generator: Any) -> dict[str, Target]:
        """Return name -> its target with all its values counted. Raises Error for unknown names."""
        all_names = get_tensor_name_list(self.layers)
        features = get_tensor_name_list(self.layers, feature_only=True)
        for name in names:
            if name not in all_names:
                raise Error(f"the network has no tensor {name!r}; have: {', '.join(all_names)}")
        wanted = [name for name in names if name in features]
        if wanted and data_generator is None:
            raise Error(f"{wanted[0]!r} is a feature tensor; give a data_generator of inputs")
        targets = {name: self._parameter(name) for name in names if name not in features}
        if wanted:
            targets.update(self._features(wanted, data_generator))
        return {name: targets[name] for name in names}

    def _parameter(self, name: str) -> Target:
        check_width("bitwidth", self.bitwidth)
        values = [read_weights([name], self.params, quant)[name] for quant in self.kinds]
        if len({array.shape for array in values}) > 1:
            raise Error(
                f"{name!r} has different shapes in fixed point and in floats; both must be equal"
            )
        target = self._target(_ends([values]))
        target.add([np.asarray(array, np.float64) for array in values])
        return target

    def _features(self, names: Sequence[str], data_generator: Any) -> dict[str, Target]:
        nets = [
            build_numpy_layers(self.layers, self.params, quant, self.bitwidth, self.hw_aligned)
            for quant in self.kinds
        ]

        def run(x: np.ndarray) -> dict[str, list[np.ndarray]]:
            results = [run_layers(x, self.layers, names, numpy_layers=net) for net in nets]
            return {name: [one[name].astype(np.float64) for one in results] for name in names}

        source = iterate_batches(data_generator, self.num_batch)
        ranged = self.num_bin > 0 and self.max_abs_val is None
        front = list(_take_at_least(_FIRST, source)) if ranged else []
        ends = dict.fromkeys(names, (np.inf, -np.inf))
        for x in front:
            for name, values in run(x).items():
                ends[name] = _ends([values], ends[name])
        targets = {name: self._target(ends[name]) for name in names}
        turns = show_bar(chain(front, source), self.num_batch)
        done = 0
        for done, x in enumerate(turns, 1):
            for name, values in run(x).items():
                targets[name].add(values)
            if self.log_on:
                print(f"batch {done} of at most {self.num_batch}: {len(x)} samples")
        if not done:
            raise Error("data_generator yields no batch: give one or more")
        return targets

    def _target(self, ends: tuple[float, float]) -> Target:
        low, high = ends
        if self.max_abs_val is not None:
            low, high = -self.max_abs_val, self.max_abs_val
        elif low < 0:
            low, high = min(low, -high), max(-low, high)
        else:
            low = 0.0
        count = len(self.kinds) if self.num_bin else 0
        return Target(
            [Histogram(low, high, np.zeros(self.num_bin, np.int64)) for _ in range(count)]
        )


def _take_at_least(count: int, source: Iterator[np.ndarray]) -> Iterator[np.ndarray]:
    """Yield batches until they have this many samples in total."""
    while count > 0:
        batch = next(source, None)
        if batch is None:
            return
        count -= len(batch)
        yield batch


def _ends(
    pieces: Iterable[Sequence[np.ndarray]], known: tuple[float, float] = (np.inf, -np.inf)
) -> tuple[float, float]:
    """Return least and largest of all values, including those known before."""
    low, high = known
    for values in pieces:
        for array in values:
            low, high = min(low, float(array.min())), max(high, float(array.max()))
    return low, high
