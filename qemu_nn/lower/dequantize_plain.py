"""The operators that calls without weights stand for."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Callable, Optional

import numpy as np

from ..errors import ModelError
from ..functions.meaning import Meant
from ..ir.graph import Node, Tensor
from ..operators import (
    Affine,
    Concat,
    Identity,
    Operator,
    Pad,
    Pool,
    Relu,
    Shape,
    Sigmoid,
    Softmax,
    Tanh,
    Transpose,
)

#: How far the beta of a softmax may be from 1, as multipliers are rounded.
_CLOSE = 1e-6


@dataclass(frozen=True)
class Take(Operator):
    """The elements at some places of an axis, in any order."""

    axis: int
    places: tuple[int, ...]

    def shape(self, *inputs: Shape) -> Shape:
        """The input's, with that many places."""
        (shape,) = inputs
        return (*shape[: self.axis], len(self.places), *shape[self.axis + 1 :])

    def evaluate(self, *inputs: np.ndarray) -> np.ndarray:
        """All of these."""
        (x,) = inputs
        return np.take(x, self.places, axis=self.axis + 1)


def unweighted(node: Node, source: Tensor) -> Optional[Meant]:
    """What a call stands for, whose first input this is; None if that is not known."""
    make = _MEANT.get(node.function.op)
    return None if make is None else make(node, source)


def image_of(node: Node) -> Shape:
    """The image that a call reads; ModelError for several in one sample: no operator takes them."""
    batches, *image = _sides(node)[0]
    if batches > 1:
        raise ModelError(f"it computes {batches} images of one sample")
    return tuple(image)


def _mean(node: Node, source: Tensor) -> Meant:
    """Kept and reduced axes take turns: windows that lie side by side."""
    kept0, reduced0, kept1, reduced1, kept2 = _sides(node)[0]
    shape, kernel = (kept0 * reduced0, kept1 * reduced1, kept2), (reduced0, reduced1)
    return Meant((Pool("average", kernel, kernel),), (shape,))


def _softmax(node: Node, source: Tensor) -> Meant:
    factor = _factor(node)
    unit = 10 / 65535 if node.function.type == "s16" else 2.0**-26
    beta = factor * unit / source.format.scale
    softmax = Softmax(axis=1)
    if abs(beta - 1) < _CLOSE:
        return Meant((softmax,), (_sides(node)[0],))
    return Meant((Affine(np.array(beta), np.array(0.0)), softmax), (_sides(node)[0],))


def _join(node: Node, source: Tensor) -> Meant:
    return Meant((Concat(1),), tuple(_sides(node)))


def _pad(node: Node, source: Tensor) -> Meant:
    params = node.params
    around = tuple((params[f"pre_{axis}"], params[f"post_{axis}"]) for axis in "nhwc")
    value = float(node.output.format.dequantize(np.array(params["pad_value"])))
    return Meant((Pad(around, value),), (_sides(node)[0],))


def _transpose(node: Node, source: Tensor) -> Meant:
    own = node.params["num_dims"]
    order = tuple(node.params[f"perm_{axis}"] if axis < own else axis for axis in range(4))
    return Meant((Transpose(order),), (_sides(node)[0],))


def _slice(node: Node, source: Tensor) -> Meant:
    takes = []
    for axis in range(5):
        begin, step, count = (node.params[f"{n}_{axis}"] for n in ("begin", "stride", "output"))
        takes.append(Take(axis, tuple(range(begin, begin + count * step, step))))
    return Meant(tuple(takes), (_sides(node)[0],))


def _resize(node: Node, source: Tensor) -> Meant:
    takes = (Take(1, _nearest(node, "h")), Take(2, _nearest(node, "w")))
    return Meant(takes, (_sides(node)[0],))


def _nearest(node: Node, axis: str) -> tuple[int, ...]:
    """The place of the image that each of the output shows (csrc/elementary.h has it in C)."""
    size, out = node.params[f"input_{axis}"], node.params[f"output_{axis}"]
    corners, centers = node.params["align_corners"], node.params["half_pixel_centers"]
    inner = int(bool(corners) and out > 1)
    scale = float(np.float32((size - inner) / (out - inner)))
    places = np.float32((np.arange(out) + 0.5 * bool(centers)) * scale).astype(float)
    found = np.floor(places + 0.5 * bool(corners)).astype(int)
    return tuple(np.minimum(found, size - 1).tolist())


def _leaky(node: Node, source: Tensor) -> Meant:
    whole = _factor(node, "identity_") or 1.0
    return Meant((Relu(slope=_factor(node, "alpha_") / whole),), (None,))


def _as_it_is(operator: Operator) -> Callable[[Node, Tensor], Meant]:
    return lambda node, source: Meant((operator,), (None,))


def _factor(node: Node, which: str = "") -> float:
    """A multiplier with its shift."""
    spelled = "mult" if "mult" in node.params else f"{which}multiplier"
    return math.ldexp(node.params[spelled], node.params[f"{which}shift"] - 31)


def _sides(node: Node) -> list[Shape]:
    return [array.shape(node.params) for array in node.function.inputs]


_MEANT: Mapping[str, Callable[[Node, Tensor], Optional[Meant]]] = {
    "mean": _mean,
    "softmax": _softmax,
    "join": _join,
    "pad": _pad,
    "transpose": _transpose,
    "slice": _slice,
    "resize_nearest": _resize,
    "leaky_relu": _leaky,
    "logistic": _as_it_is(Sigmoid()),
    "tanh": _as_it_is(Tanh()),
    "reshape": _as_it_is(Identity()),
    "requantize": _as_it_is(Identity()),
    "rescale": _as_it_is(Identity()),
}
