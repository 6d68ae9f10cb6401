"""The portable operators that move numbers, and those on int8 that remain in programs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

from ...errors import ModelError
from ..arguments import MOVES, SUFFIXES, moves, sides
from .building import Value
from .call import Call, Converter
from .program import FileTensor

_MOVED = ("int8", "uint8", "int16", "int32", "int64", "float32", "bool")

#: Most axes that a call of ours slices.
_SLICES = 5

#: Multiplier and shift that leave a number as it is.
_ONE = {"multiplier": 2**30, "shift": 1}


def view(call: Call, count: int) -> None:
    """The same bytes in another shape, which need no call."""
    call.expect(count)
    x, output = call.value(0), call.tensor(count - 2)
    if (x.dtype, x.size) != (output.dtype, math.prod(output.sizes)):
        raise ModelError(f"it makes {output} of {x.dtype} {list(x.shape)}")
    call.builder.write(output, x)


def _moved(
    call: Call, x: Value, whole: Sequence[int], order: Sequence[int], to: FileTensor
) -> None:
    """The axes of what lies in memory in another order."""
    if len(whole) > MOVES:
        raise ModelError(f"it moves {len(whole)} axes; at most {MOVES} are supported")
    if [side for side in order if whole[side] > 1] == [
        a for a in range(len(whole)) if whole[a] > 1
    ]:
        call.builder.write(to, x)  # the same bytes
        return
    call.put(f"tflm_transpose_{SUFFIXES[x.dtype]}", moves(whole, order), [x], to)


def clone(call: Call, count: int) -> None:
    """_clone_dim_order, _to_dim_order_copy: the same numbers in another order in memory."""
    call.expect(count)
    source, output = call.tensor(0), call.tensor(count - 2)
    if (source.dtype, source.sizes) != (output.dtype, output.sizes):
        raise ModelError(f"it makes {output} of {source}")
    order = [source.order.index(axis) for axis in output.order]
    _moved(call, call.value(0), source.shape, order, output)


def permute(call: Call) -> None:
    """permute_copy, of the logical axes."""
    call.expect(4)
    source, output, order = call.tensor(0), call.tensor(2), call.integers(1)
    rank = len(source.sizes)
    order = [axis + rank if axis < 0 else axis for axis in order]
    if sorted(order) != list(range(rank)):
        raise ModelError(f"its order {order} is not an order of {rank} axes")
    contiguous(source, output)
    _moved(call, call.value(0), source.sizes, order, output)


def contiguous(*tensors: FileTensor) -> None:
    """Refuse tensors whose axes do not lie in memory in their order."""
    for tensor in tensors:
        sides = [(axis, side) for axis, side in zip(tensor.order, tensor.shape) if side > 1]
        if sides != sorted(sides):
            raise ModelError(f"it computes on {tensor} as if its axes lay in memory in order")


def axis_of(call: Call, index: int, rank: int) -> int:
    """An axis, of which negative ones count from the last."""
    axis = call.integer(index)
    if not -rank <= axis < rank:
        raise ModelError(f"its axis {axis} is not one of {rank} axes")
    return axis % rank


def cat(call: Call) -> None:
    """cat: joins what lies in memory, whatever the order of the axes is."""
    call.expect(4)
    tensors, output = call.argument(0), call.tensor(2, *_MOVED)
    if not isinstance(tensors, list) or not all(isinstance(each, FileTensor) for each in tensors):
        raise ModelError("its first argument is no list of tensors")
    axis = axis_of(call, 1, len(output.sizes))
    outer = math.prod(output.sizes[:axis])
    values = [call.builder.read(each) for each in tensors if each.nbytes]
    inner = [value.size // outer for value in values]
    fits = all(v.dtype == output.dtype and v.size % outer == 0 for v in values)
    if not values or not fits or sum(inner) * outer != math.prod(output.sizes):
        raise ModelError(f"its inputs do not add up to {list(output.sizes)}")
    if len(values) == 1:
        call.builder.write(output, values[0])
        return
    function, x, width = f"tflm_concatenation_{SUFFIXES[output.dtype]}", values[0], inner[0]
    for number, (value, more) in enumerate(zip(values[1:-1], inner[1:-1])):
        params = {"outer": outer, "inner1": width, "inner2": more}
        width += more
        like = Value("", output.dtype, (outer, width))
        x = call.part(f"joined{number}", function, params, [x, value], like)
    params = {"outer": outer, "inner1": width, "inner2": inner[-1]}
    call.put(function, params, [x, values[-1]], output)


def _sliced(
    call: Call, begins: Sequence[int], steps: Sequence[int], to: FileTensor, name: str
) -> None:
    """Some elements of each axis of the first argument, `to` saying how many."""
    source = call.tensor(0, *_MOVED)
    contiguous(source, to)
    counts = to.sizes if len(to.sizes) == len(source.sizes) else tuple(map(int, _counts(call, to)))
    missing = _SLICES - len(source.sizes)
    if missing < 0:
        raise ModelError(f"it slices {len(source.sizes)} axes; at most {_SLICES} are supported")
    params: dict[str, int] = {}
    whole = [(1, 0, 1, 1)] * missing + list(zip(source.sizes, begins, steps, counts))
    for i, (side, begin, step, count) in enumerate(whole):
        if not 0 <= begin < side or not 0 <= begin + (count - 1) * step < side:
            raise ModelError(f"it takes elements from {begin} on of an axis of {side}")
        params.update({f"input_{i}": side, f"begin_{i}": begin})
        params.update({f"stride_{i}": step, f"output_{i}": count})
    function = f"tflm_slice_{SUFFIXES[source.dtype]}"
    call.put(function, params, [call.value(0)], to, name=name)


def _counts(call: Call, to: FileTensor) -> list[int]:
    """The sizes of a selection with the axis that it has not."""
    sizes = list(to.sizes)
    sizes.insert(axis_of(call, 1, len(to.sizes) + 1), 1)
    return sizes


def slice_(call: Call) -> None:
    """slice_copy."""
    call.expect(7)
    source, output = call.tensor(0), call.tensor(5)
    rank = len(source.sizes)
    axis, step = axis_of(call, 1, rank), call.integer(4, 1)
    side = source.sizes[axis]
    start = 0 if call.argument(2) is None else call.integer(2)
    start = max(start + side, 0) if start < 0 else start
    begins, steps = [0] * rank, [1] * rank
    begins[axis], steps[axis] = start, step
    _sliced(call, begins, steps, output, call.name)


def select(call: Call) -> None:
    """select_copy: one place of an axis, which goes."""
    call.expect(5)
    source, output = call.tensor(0), call.tensor(3)
    rank = len(source.sizes)
    axis = axis_of(call, 1, rank)
    index = call.integer(2)
    begins = [0] * rank
    begins[axis] = index + source.sizes[axis] if index < 0 else index
    _sliced(call, begins, [1] * rank, output, call.name)


def split(call: Call) -> None:
    """split_with_sizes_copy: parts of an axis, of given sizes."""
    call.expect(5)
    source, sizes, parts = call.tensor(0), call.integers(1), call.argument(3)
    rank = len(source.sizes)
    axis = axis_of(call, 2, rank)
    if not isinstance(parts, list) or len(parts) != len(sizes) or sum(sizes) != source.sizes[axis]:
        raise ModelError(f"its parts {sizes} do not add up to {source.sizes[axis]}")
    begin = 0
    for number, (size, part) in enumerate(zip(sizes, parts)):
        begins = [0] * rank
        begins[axis] = begin
        if not isinstance(part, FileTensor) or part.sizes[axis : axis + 1] != (size,):
            raise ModelError(f"its output {number} has not {size} elements along its axis")
        _sliced(call, begins, [1] * rank, part, f"{call.name}_{number}")
        begin += size


def expand(call: Call) -> None:
    """expand_copy: one element of an axis again and again."""
    call.expect(5)
    source, output = call.tensor(0, *_MOVED), call.tensor(3)
    contiguous(source, output)
    x = Value(call.value(0).name, source.dtype, source.sizes)
    params = {**sides("input", source.sizes), **sides("output", output.sizes)}
    call.put(f"tflm_broadcast_{SUFFIXES[x.dtype]}", params, [x], output)


def clamp(call: Call) -> None:
    """clamp, of int8 by integers."""
    call.expect(5)
    x, output = call.value(0, "int8"), call.tensor(3, "int8")
    low, high = (
        limit if call.argument(at) is None else int(call.real(at))
        for at, limit in ((1, -128), (2, 127))
    )
    params = {"length": x.size, "input_zero_point": 0, "output_zero_point": 0, **_ONE}
    params.update(act_min=max(low, -128), act_max=min(high, 127))
    call.put("tflm_relu_s8", params, [x], output)


def max_pool(call: Call) -> None:
    """max_pool2d_with_indices, of int8, whose indices nobody reads."""
    call.expect(9)
    x, out = call.image(0), call.image(6)
    if call.integers(4, 2) != [1, 1]:
        raise ModelError("its windows have gaps, which is not supported")
    params = {
        **{"batches": x[0], "input_h": x[1], "input_w": x[2], "channels": x[3]},
        **{"output_h": out[1], "output_w": out[2], "act_min": -128, "act_max": 127},
        **call.pair(1, "filter", 1),
        **call.pair(2, "stride", 1),
        **call.pair(3, "pad", 0),
    }
    call.put("arm_max_pool_s8", params, [call.value(0)], call.tensor(6))


def turned(whole: Sequence[int]) -> dict[str, int]:
    """The arguments of a call that swaps the last two of three axes."""
    return moves(whole, (0, 2, 1))


PORTABLE: dict[str, Converter] = {
    "dim_order_ops::_clone_dim_order.out": partial(clone, count=5),
    "dim_order_ops::_to_dim_order_copy.out": partial(clone, count=5),
    "aten::view_copy.out": partial(view, count=4),
    "aten::squeeze_copy.dims_out": partial(view, count=4),
    "aten::unsqueeze_copy.out": partial(view, count=4),
    "aten::permute_copy.out": permute,
    "aten::cat.out": cat,
    "aten::slice_copy.Tensor_out": slice_,
    "aten::select_copy.int_out": select,
    "aten::split_with_sizes_copy.out": split,
    "aten::expand_copy.out": expand,
    "aten::clamp.out": clamp,
    "aten::max_pool2d_with_indices.out": max_pool,
}
