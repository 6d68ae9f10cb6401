"""The operators that calls without weights stand for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Callable, Optional

import numpy as np

from ..graph import Node, Tensor
from ..operators import (
    Concat,
    Identity,
    Operator,
    Pad,
    Pool,
    Shape,
    Softmax,
    Transpose,
)
from ..runtime.accumulate_affine import pads


@dataclass(frozen=True)
class Meant:
    """An operator, and the shapes in which it takes its inputs; None: in any."""

    operator: Operator
    inputs: tuple[Optional[Shape], ...]


def unweighted(node: Node, inputs: Sequence[Tensor]) -> Optional[Meant]:
    """What a call on these tensors stands for; None if that is not known."""
    make = _MEANT.get(node.function.op)
    return None if make is None else make(node, inputs)


def _pool(node: Node, inputs: Sequence[Tensor]) -> Meant:
    params = node.params
    top, left, bottom, right = pads(params)
    around = (top, left, max(bottom, 0), max(right, 0))
    kernel, stride = ((params[f"{n}_h"], params[f"{n}_w"]) for n in ("filter", "stride"))
    kind = "max" if node.function.op == "max_pool" else "average"
    return Meant(Pool(kind, kernel, stride, around), (_sides(node)[0][1:],))


def _softmax(node: Node, inputs: Sequence[Tensor]) -> Meant:
    return Meant(Softmax(axis=1), (_sides(node)[0],))


def _join(node: Node, inputs: Sequence[Tensor]) -> Meant:
    return Meant(Concat(1), tuple(_sides(node)))


def _pad(node: Node, inputs: Sequence[Tensor]) -> Meant:
    params = node.params
    around = tuple((params[f"pre_{axis}"], params[f"post_{axis}"]) for axis in "nhwc")
    value = float(node.output.format.dequantize(np.array(params["pad_value"])))
    return Meant(Pad(around, value), (_sides(node)[0],))


def _transpose(node: Node, inputs: Sequence[Tensor]) -> Meant:
    order = tuple(node.params[f"perm_{axis}"] for axis in range(4))
    return Meant(Transpose(order), (_sides(node)[0],))


def _same(node: Node, inputs: Sequence[Tensor]) -> Meant:
    return Meant(Identity(), (None,))


def _sides(node: Node) -> list[Shape]:
    return [array.shape(node.params) for array in node.function.inputs]


_MEANT: Mapping[str, Callable[[Node, Sequence[Tensor]], Meant]] = {
    "max_pool": _pool,
    "avgpool": _pool,
    "softmax": _softmax,
    "join": _join,
    "pad": _pad,
    "transpose": _transpose,
    "reshape": _same,
    "requantize": _same,
}
