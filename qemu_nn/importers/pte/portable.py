"""The portable operators that move numbers, and those on int8 that remain in programs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Optional

from ...errors import ModelError
from ..arguments import MOVES, SUFFIXES, have_same_bytes, moves, sides
from .building import Value
from .call import Converter, PteCall
from .program import FileTensor

_MOVED = ("int8", "uint8", "int16", "int32", "int64", "float32", "bool")

#: Most axes that a call of ours slices.
_SLICES = 5

#: Multiplier and shift of the identity.
_ONE = {"multiplier": 2**30, "shift": 1}


def view(call: PteCall, count: int) -> None:
    """Convert a view of the same bytes, without a call."""
    call.expect(count)
    x, output = call.value(0), call.tensor(count - 2)
    if (x.dtype, x.size) != (output.dtype, math.prod(output.sizes)):
        raise ModelError(
            f"its input is {x.dtype} {list(x.shape)} and its output {output}; both must have "
            "one type and as many elements"
        )
    call.builder.write(output, x)


def convert_view(call: PteCall) -> None:
    """Convert et_view: a second name for the same memory, with a shape known at run time.

    As kernels do, it may return its output once more.
    """
    call.expect(4 if len(call.instruction.args) == 4 else 3)
    x, source, output = call.value(0), call.tensor(0), call.tensor(2)
    if output.place not in (None, source.place):
        raise ModelError(
            f"its output, {output}, has memory of its own; a view must have that of {source}"
        )
    if (x.dtype, x.size) != (output.dtype, math.prod(output.sizes)):
        raise ModelError(
            f"its input is {x.dtype} {list(x.shape)} and its output {output}; both must have "
            "one type and as many elements"
        )
    call.builder.write(output, x)


def _convert_permutation(
    call: PteCall, x: Value, whole: Sequence[int], order: Sequence[int], to: FileTensor
) -> None:
    """Convert a permutation of axes in memory."""
    if len(whole) > MOVES:
        raise ModelError(f"it moves {len(whole)} axes; at most {MOVES} are supported")
    if have_same_bytes(whole, order, range(len(whole))):
        call.builder.write(to, x)  # the same bytes
        return
    call.put(f"tflm_transpose_{SUFFIXES[x.dtype]}", moves(whole, order), [x], to)


def clone(call: PteCall, count: int) -> None:
    """Convert _clone_dim_order, _to_dim_order_copy: the same numbers in another order in memory."""
    call.expect(count)
    source, output = call.tensor(0), call.tensor(count - 2)
    if (source.dtype, source.sizes) != (output.dtype, output.sizes):
        raise ModelError(
            f"its input is {source} and its output {output}; both must have one type and shape"
        )
    order = [source.order.index(axis) for axis in output.order]
    _convert_permutation(call, call.value(0), source.shape, order, output)


def permute(call: PteCall) -> None:
    """Convert permute_copy, of the logical axes."""
    call.expect(4)
    source, output, order = call.tensor(0), call.tensor(2), call.integers(1)
    rank = len(source.sizes)
    order = [axis + rank if axis < 0 else axis for axis in order]
    if sorted(order) != list(range(rank)):
        raise ModelError(f"its order is {order}; it must be a permutation of {rank} axes")
    call.same_order(source, output)
    _convert_permutation(call, call.value(0), source.sizes, order, output)


def axis_of(call: PteCall, index: int, rank: int) -> int:
    """Return an axis; negative ones count from the last."""
    axis = call.integer(index)
    if not -rank <= axis < rank:
        raise ModelError(f"its axis {axis} is not one of {rank} axes")
    return axis % rank


def cat(call: PteCall) -> None:
    """Convert cat: joins tensors in memory order, for any order of the axes."""
    call.expect(4)
    tensors, output = call.argument(0), call.tensor(2, *_MOVED)
    if not isinstance(tensors, list) or not all(isinstance(each, FileTensor) for each in tensors):
        raise ModelError("its first argument is no list of tensors")
    call.same_order(*(each for each in tensors if each.nbytes), output)
    axis = axis_of(call, 1, len(output.sizes))
    outer = math.prod(output.sizes[:axis])
    values = [call.builder.read(each) for each in tensors if each.nbytes]
    inner = [value.size // outer for value in values]
    fits = all(v.dtype == output.dtype and v.size % outer == 0 for v in values)
    if not values or not fits or sum(inner) * outer != math.prod(output.sizes):
        raise ModelError(
            f"its inputs have sizes along the axis whose sum is not that of {list(output.sizes)}"
        )
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


def _convert_slice(
    call: PteCall, begins: Sequence[int], steps: Sequence[int], to: FileTensor, name: str
) -> None:
    """Convert a selection of elements along each axis of the first argument, given by `to`."""
    source = call.tensor(0, *_MOVED)
    call.same_order(source, to)
    counts = to.sizes if len(to.sizes) == len(source.sizes) else tuple(map(int, _counts(call, to)))
    missing = _SLICES - len(source.sizes)
    if missing < 0:
        raise ModelError(f"it slices {len(source.sizes)} axes; at most {_SLICES} are supported")
    params: dict[str, int] = {}
    whole = [(1, 0, 1, 1)] * missing + list(zip(source.sizes, begins, steps, counts))
    for i, (side, begin, step, count) in enumerate(whole):
        if not 0 <= begin < side or not 0 <= begin + (count - 1) * step < side:
            raise ModelError(
                f"it slices from element {begin} on of an axis of {side}; it must remain within "
                "the axis"
            )
        params.update({f"input_{i}": side, f"begin_{i}": begin})
        params.update({f"stride_{i}": step, f"output_{i}": count})
    function = f"tflm_slice_{SUFFIXES[source.dtype]}"
    call.put(function, params, [call.value(0)], to, name=name)


def _counts(call: PteCall, to: FileTensor) -> list[int]:
    """Return the sizes of a selection with the removed axis."""
    sizes = list(to.sizes)
    sizes.insert(axis_of(call, 1, len(to.sizes) + 1), 1)
    return sizes


def slice_(call: PteCall) -> None:
    """Convert slice_copy."""
    call.expect(7)
    source, output = call.tensor(0), call.tensor(5)
    rank = len(source.sizes)
    axis, step = axis_of(call, 1, rank), call.integer(4, 1)
    side = source.sizes[axis]
    start = 0 if call.argument(2) is None else call.integer(2)
    start = max(start + side, 0) if start < 0 else start
    begins, steps = [0] * rank, [1] * rank
    begins[axis], steps[axis] = start, step
    _convert_slice(call, begins, steps, output, call.name)


def select(call: PteCall) -> None:
    """Convert select_copy: one position of an axis, which is removed."""
    call.expect(5)
    source, output = call.tensor(0), call.tensor(3)
    rank = len(source.sizes)
    axis = axis_of(call, 1, rank)
    index = call.integer(2)
    begins = [0] * rank
    begins[axis] = index + source.sizes[axis] if index < 0 else index
    _convert_slice(call, begins, [1] * rank, output, call.name)


def split(call: PteCall) -> None:
    """Convert split_with_sizes_copy: parts of an axis, of given sizes."""
    call.expect(5)
    source, sizes, parts = call.tensor(0), call.integers(1), call.argument(3)
    rank = len(source.sizes)
    axis = axis_of(call, 2, rank)
    if not isinstance(parts, list) or len(parts) != len(sizes) or sum(sizes) != source.sizes[axis]:
        raise ModelError(f"its parts are {sizes}; their sum must be {source.sizes[axis]}")
    begin = 0
    for number, (size, part) in enumerate(zip(sizes, parts)):
        begins = [0] * rank
        begins[axis] = begin
        if not isinstance(part, FileTensor) or part.sizes[axis : axis + 1] != (size,):
            raise ModelError(f"its output {number} must have {size} elements along its axis")
        _convert_slice(call, begins, [1] * rank, part, f"{call.name}_{number}")
        begin += size


def expand(call: PteCall) -> None:
    """Convert expand_copy: one element of an axis again and again."""
    call.expect(5)
    source, output = call.tensor(0, *_MOVED), call.tensor(3)
    call.in_order(source, output)
    x = Value(call.value(0).name, source.dtype, source.sizes)
    params = {**sides("input", source.sizes), **sides("output", output.sizes)}
    call.put(f"tflm_broadcast_{SUFFIXES[x.dtype]}", params, [x], output)


def convert_clamp(call: PteCall) -> None:
    """Convert clamp: of int8 by integers, of float32 by floats."""
    call.expect(5)
    x, output = call.value(0, "int8", "float32"), call.tensor(3, "int8", "float32")
    call.same_order(call.tensor(0), output)
    ends = [None if call.argument(at) is None else call.real(at) for at in (1, 2)]
    if x.dtype != output.dtype or ends == [None, None]:
        raise ModelError(
            f"its input is {x.dtype}, its output {output} and its limits {ends}; both must have "
            "one type, and one limit must be given"
        )
    clamp(call, x, ends, output)


def clamp(call: PteCall, x: Value, ends: Sequence[Optional[float]], output: FileTensor) -> None:
    """Keep integers of int8, or floats, between both ends; None is no end."""
    if x.dtype == "float32":
        clamp_bound(call, x, ends, output)
        return
    low, high = (int(end) if end is not None else n for end, n in zip(ends, (-128, 127)))
    params = {"length": x.size, "input_zero_point": 0, "output_zero_point": 0, **_ONE}
    params.update(act_min=max(low, -128), act_max=min(high, 127))
    call.put("tflm_relu_s8", params, [x], output)


def clamp_bound(
    call: PteCall, x: Value, ends: Sequence[Optional[float]], output: FileTensor
) -> None:
    """Keep float32 at or above the first end, then at or below the second; None is no end."""
    x, params = Value(x.name, x.dtype, (x.size,)), {"length": x.size}
    names = ("tflm_maximum_f32", "tflm_minimum_f32")
    steps = [(name, end) for name, end in zip(names, ends) if end is not None]
    for number, (function, end) in enumerate(steps):
        inputs = [call.scalar(f"end{number}", end, x.shape), x]
        if number == len(steps) - 1:
            call.put(function, params, inputs, output)
        else:
            x = call.part("raised", function, params, inputs, x)


def make_turned_arguments(whole: Sequence[int]) -> dict[str, int]:
    """Return the arguments of a call that swaps the last two of three axes."""
    return moves(whole, (0, 2, 1))


PORTABLE: dict[str, Converter] = {
    "dim_order_ops::_clone_dim_order.out": partial(clone, count=5),
    "dim_order_ops::_to_dim_order_copy.out": partial(clone, count=5),
    "aten::view_copy.out": partial(view, count=4),
    "executorch_prim::et_view.default": convert_view,
    "aten::squeeze_copy.dims_out": partial(view, count=4),
    "aten::unsqueeze_copy.out": partial(view, count=4),
    "aten::permute_copy.out": permute,
    "aten::cat.out": cat,
    "aten::slice_copy.Tensor_out": slice_,
    "aten::select_copy.int_out": select,
    "aten::split_with_sizes_copy.out": split,
    "aten::expand_copy.out": expand,
    "aten::clamp.out": convert_clamp,
}
