"""Rows of time steps: transposed sequences, and the lists that loops read and write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Optional, Union

import numpy as np

from ...errors import ModelError
from ...operators import Concat, Gather, Reshape, Slice
from ..recurrent import MOST_STEPS
from ..tensor import Tensor, Value
from . import indices, shaping
from .building import Converter, TensorflowCall, integer


@dataclass(frozen=True)
class Rows:
    """A tensor [steps, batch, ...] or a list, as its rows [batch, ...]; None before it is set."""

    rows: tuple[Optional[Union[Tensor, np.ndarray]], ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the tensor."""
        first = next((row for row in self.rows if row is not None), None)
        return (len(self.rows), *(() if first is None else first.shape))

    def row(self, index: int) -> Union[Tensor, np.ndarray]:
        """Return a row; raise ModelError if there is none."""
        found = self.rows[index] if -len(self.rows) <= index < len(self.rows) else None
        if found is None:
            raise ModelError(f"its row {index} of {len(self.rows)} is not known")
        return found


def cut_steps(call: TensorflowCall, x: Tensor) -> None:
    """Convert a Transpose that moves the steps of a sequence before the batch."""
    if x.sample[0] > MOST_STEPS:
        raise ModelError(f"it has {x.sample[0]} steps; up to {MOST_STEPS} are supported")
    rows = []
    for step in range(x.sample[0]):
        row = call.put(Slice(0, step, step + 1), x, part=f"row{step}")
        rows.append(call.put(Reshape(x.sample[1:]), row, part=f"step{step}"))
    call.keep(Rows(tuple(rows)))


def transpose(call: TensorflowCall, x: Union[Tensor, Rows], perm: np.ndarray) -> None:
    """Transpose; steps may come before the batch, and after it again."""
    order = indices.order(perm, len(x.shape))
    swapped = order[:2] == [1, 0] and order[2:] == [*range(2, len(order))]
    if isinstance(x, Rows):
        if not swapped:
            raise ModelError("it moves other axes than those of steps and batch")
        _stack(call, [x.row(step) for step in range(len(x.rows))], 1)
    elif x.batched and swapped:
        cut_steps(call, x)
    else:
        shaping.transpose(call, x, perm)


def strided_slice(call: TensorflowCall, x: Union[Tensor, Rows], *cut: np.ndarray) -> None:
    """Convert StridedSlice; of rows along the steps alone."""
    if not isinstance(x, Rows):
        shaping.strided_slice(call, x, *cut)
        return
    first, *rest = indices.get_strided_slice(call.node, len(x.shape), *cut)
    if first is None or any(each != slice(None) for each in rest):
        raise ModelError("it slices other axes than the steps")
    call.keep(x.row(first) if isinstance(first, int) else Rows(x.rows[first]))


def unpack(call: TensorflowCall, x: Union[Tensor, Rows, np.ndarray]) -> None:
    """Convert Unpack: each element along an axis, without the axis."""
    at, count = call.node.integer("axis", 0), call.node.integer("num", 0)
    if count > MOST_STEPS:
        raise ModelError(f"it makes {count} tensors; up to {MOST_STEPS} are supported")
    if isinstance(x, Tensor):
        axis = x.axis(at)
        sides = [side for other, side in enumerate(x.sample) if other != axis]
        if count != x.sample[axis]:
            raise ModelError(f"it makes {count} tensors of {list(x.shape)}")
        for port in range(count):
            cut = call.put(Slice(axis, port, port + 1), x, part=f"row{port}")
            call.builder.add(_port(call, port), Reshape(tuple(sides)), (cut,), x.batched)
        return
    if not -len(x.shape) <= at < len(x.shape) or count != x.shape[at]:
        raise ModelError(f"it makes {count} tensors of {list(x.shape)}")
    if isinstance(x, Rows) and at != 0:
        raise ModelError("it takes rows of another axis than the steps")
    for port in range(count):
        row = x.row(port) if isinstance(x, Rows) else np.take(x, port, at)
        call.builder.values[_port(call, port)] = row


def _port(call: TensorflowCall, port: int) -> str:
    return f"{call.node.name}:{port}" if port else call.node.name


def pack(call: TensorflowCall, *values: Value) -> None:
    """Convert Pack of tensors: along a new axis, which may come before the batch."""
    rank, axis = len(values[0].shape), call.node.integer("axis", 0)
    axis = axis + rank + 1 if axis < 0 else axis
    batched = any(isinstance(value, Tensor) and value.batched for value in values)
    if axis == 0 and batched and len(values) <= MOST_STEPS:
        call.keep(Rows(values))
    else:
        _stack(call, values, axis)


def _stack(call: TensorflowCall, values: Sequence[Value], axis: int) -> None:
    tensors = [value for value in values if isinstance(value, Tensor)]
    if len(tensors) < max(len(values), 1) or len({each.shape for each in tensors}) > 1:
        raise ModelError("it joins constants, or tensors of different shapes")
    first, rank = tensors[0], len(tensors[0].shape)
    if not first.batched <= axis <= rank:
        raise ModelError("it adds an axis before the batch; samples must be independent")
    rows = []
    for number, each in enumerate(tensors):
        shape = (*each.shape[:axis], 1, *each.shape[axis:])
        rows.append(call.reshape(each, shape, part=f"row{number}", batched=each.batched))
    call.put(Concat(axis - first.batched), *rows)


def identity(call: TensorflowCall, x: Union[Tensor, Rows]) -> None:
    """Convert Identity and the like."""
    if isinstance(x, Rows):
        call.keep(x)
    else:
        shaping.identity(call, x)


def split(call: TensorflowCall, axis: np.ndarray, x: Union[Tensor, np.ndarray]) -> None:
    """Split into equal parts."""
    if isinstance(x, Tensor):
        shaping.split(call, axis, x)
        return
    try:
        parts = np.split(x, call.node.integer("num_split", 1), integer(axis))
    except (ValueError, IndexError, ZeroDivisionError) as error:
        raise ModelError(f"its constant {list(x.shape)} cannot be split: {error}") from None
    for port, part in enumerate(parts):
        call.builder.values[_port(call, port)] = part


def reserve(call: TensorflowCall, shape: np.ndarray, count: np.ndarray) -> None:
    """Convert TensorListReserve."""
    steps = integer(count)
    if not 0 <= steps <= MOST_STEPS:
        raise ModelError(f"it has {steps} rows; up to {MOST_STEPS} are supported")
    call.keep(Rows((None,) * steps))


def keep(call: TensorflowCall, rows: Rows, shape: np.ndarray) -> None:
    """Convert TensorListFromTensor and TensorListStack."""
    call.keep(rows)


def get(call: TensorflowCall, rows: Rows, index: np.ndarray, shape: np.ndarray) -> None:
    """Convert TensorListGetItem."""
    call.keep(rows.row(integer(index)))


def set_row(
    call: TensorflowCall, rows: Rows, index: np.ndarray, row: Union[Tensor, np.ndarray]
) -> None:
    """Convert TensorListSetItem."""
    at, kept = integer(index), list(rows.rows)
    if not 0 <= at < len(kept):
        raise ModelError(f"it sets row {at} of {len(kept)}")
    kept[at] = row
    call.keep(Rows(tuple(kept)))


def reverse(call: TensorflowCall, x: Union[Tensor, Rows], axes: np.ndarray) -> None:
    """Convert ReverseV2 along one axis."""
    axis = integer(axes)
    if isinstance(x, Rows):
        if axis % len(x.shape):
            raise ModelError("it reverses another axis than the steps")
        call.keep(Rows(x.rows[::-1]))
        return
    at = x.axis(axis)
    call.put(Gather(at, tuple(range(x.sample[at]))[::-1]), x)


ROWS: dict[str, Converter] = {
    **dict.fromkeys(("Identity", "StopGradient"), ("t", identity)),
    "Transpose": ("tc", transpose),
    "StridedSlice": ("tccc", strided_slice),
    "Unpack": ("a", unpack),
    "Pack": ("+", pack),
    "Split": ("cv", split),
    "TensorListReserve": ("cc", reserve),
    "TensorListFromTensor": ("rc", keep),
    "TensorListStack": ("rc", keep),
    "TensorListGetItem": ("rcc", get),
    "TensorListSetItem": ("rcv", set_row),
    "ReverseV2": ("tc", reverse),
}
