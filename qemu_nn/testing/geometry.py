"""Shapes of random calls: named generators that change the scalar arguments of a function."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Callable

from ..functions import Function
from ..functions.random_params import LONGEST, Drawn

#: Changes the scalar arguments of a call. A contract may refuse the result.
Shape = Callable[[Random, Function, Drawn], None]

#: Sizes one below, at and one above the width of each vector: 16, 32 and 64 lanes.
VECTOR_WIDTHS = (15, 16, 17, 31, 32, 33, 63, 64, 65)

#: Counts of channels that the sweeps cover one by one.
MOST_COUNTED = 70

_ROLES = ("size", "kernel", "stride", "dilation", "pad", "after", "out")

#: Argument names along one axis of windows by role; the last axis of a function is its width.
_AXES = tuple(
    dict(zip(_ROLES, names.split()))
    for names in (
        "input_h filter_h stride_h dilation_h pad_h - output_h",
        "input_w filter_w stride_w dilation_w pad_w - output_w",
        "in_h kernel_h stride_h dilation_h pad_n pad_s out_h",
        "in_w kernel_w stride_w dilation_w pad_w - out_w",
        "dim_im_in_y dim_kernel_y stride_y - padding_y - dim_im_out_y",
        "dim_im_in_x dim_kernel_x stride_x - padding_x - dim_im_out_x",
        "dim_im_in dim_kernel stride - padding - dim_im_out",
    )
)

#: Names of arguments that count the elements of a vector.
_LENGTHS = ("length", "block_size", "blockSize", "size", "dim_vec", "row_size", "total_size")


def list_axes(p: Mapping[str, int]) -> list[dict[str, str]]:
    """Return the axes of windows that a call has, the width last."""
    return [axis for axis in _AXES if axis["kernel"] in p and axis["out"] in p]


def set_axis(function: Function, params: Drawn, axis: Mapping[str, str], **sides: int) -> None:
    """Change the sides of an axis, and the output size accordingly."""
    params.update({axis[role]: value for role, value in sides.items() if axis[role] in params})
    size, kernel, stride, dilation, pad = (params.get(axis[role], 1) for role in _ROLES[:5])
    reach = dilation * (kernel - 1) + 1
    if function.op.startswith("transpose_conv"):
        params[axis["pad"]] = pad = min(pad, kernel - 1) // stride * stride
        params[axis["out"]] = max(1, size * stride - pad)
    elif "out" not in sides:
        params[axis["out"]] = max(1, (size + 2 * pad - reach) // stride + 1)
    if axis["after"] in params:
        params[axis["after"]] = (params[axis["out"]] - 1) * stride + reach - size - pad


def is_depthwise(function: Function, p: Mapping[str, int]) -> bool:
    """True if each output channel reads one input channel."""
    return "depthwise" in function.op or (p.get("group", 1) > 1 and p["depth"] == 1)


def set_channels(function: Function, p: Drawn, inputs: int, outputs: int) -> None:
    """Change the channel counts of a call; groups of a convolution become one."""
    if is_depthwise(function, p):
        names = ("input_c", "ch_im_in", "ch_im_out", "group", "out_c")
        counts = {**dict.fromkeys(names, outputs), "ch_mult": 1, "depth": 1}
    elif "ch_im_in" in p and "ch_im_out" not in p:
        counts = {"ch_im_in": outputs}
    else:
        counts = dict.fromkeys(("input_c", "filter_c", "ch_im_in", "depth", "dim_vec"), inputs)
        counts.update(dict.fromkeys(("output_c", "ch_im_out", "out_c", "num_of_rows"), outputs))
        counts.update(group=1, channels=outputs)
    p.update({name: value for name, value in counts.items() if name in p})


def _draw_small_image(rng: Random, function: Function, p: Drawn) -> None:
    """Few pixels, so that many channels cost little."""
    for axis in list_axes(p):
        set_axis(function, p, axis, size=rng.randint(1, 5))


def with_channels(count: int) -> Shape:
    """Return the generator of calls with this count of output channels and a small image."""

    def change(rng: Random, function: Function, p: Drawn) -> None:
        set_channels(function, p, rng.randint(1, 9), count)
        _draw_small_image(rng, function, p)

    return change


def with_width(width: int) -> Shape:
    """Return the generator of images of this width, with few rows and channels."""

    def change(rng: Random, function: Function, p: Drawn) -> None:
        set_channels(function, p, rng.randint(1, 4), rng.randint(1, 18))
        for axis in list_axes(p):
            kernel = rng.choice((1, 2, 3, 3, 5))
            sides = {"kernel": kernel, "pad": rng.choice((0, kernel // 2, kernel - 1))}
            set_axis(function, p, axis, size=rng.randint(1, 3), **sides)
        set_axis(function, p, list_axes(p)[-1], size=width)

    return change


def every_count(rng: Random, function: Function, p: Drawn) -> None:
    """Draw a count of channels from 1 to 70."""
    with_channels(rng.randint(1, MOST_COUNTED))(rng, function, p)


def vector_widths(rng: Random, function: Function, p: Drawn) -> None:
    """Draw a width near the width of a vector."""
    with_width(rng.choice(VECTOR_WIDTHS))(rng, function, p)


def strides(rng: Random, function: Function, p: Drawn) -> None:
    """Let windows overlap, touch or skip pixels."""
    for axis in list_axes(p):
        stride = rng.randint(1, 5)
        set_axis(function, p, axis, size=rng.randint(1, 19), stride=stride, dilation=1)


def dilations(rng: Random, function: Function, p: Drawn) -> None:
    """Spread the taps of each window."""
    for axis in list_axes(p):
        sides = {"dilation": rng.randint(1, 4), "kernel": rng.randint(1, 4)}
        set_axis(function, p, axis, size=rng.randint(1, 19), stride=rng.randint(1, 2), **sides)


def large_windows(rng: Random, function: Function, p: Drawn) -> None:
    """Draw windows that are larger than the image, completed by padding or an edge."""
    for axis in list_axes(p):
        size, kernel = rng.randint(1, 4), rng.randint(2, 7)
        pad = max(0, kernel - size + rng.randint(-1, 1))
        set_axis(function, p, axis, size=size, kernel=kernel, pad=min(pad, kernel - 1))


def few_channels(rng: Random, function: Function, p: Drawn) -> None:
    """Draw few channels and a divisible width: some rows compute several pixels in one vector."""
    set_channels(function, p, rng.randint(1, 4), rng.choice((1, 2, 2, 3, 4, 4, 5, 6, 7, 8, 8)))
    for axis in list_axes(p):
        kernel = rng.choice((1, 2, 3, 3, 5))
        sides = {"size": rng.randint(2, 12), "kernel": kernel, "pad": kernel // 2}
        set_axis(function, p, axis, stride=rng.choice((1, 1, 1, 2)), dilation=1, **sides)


def three_columns(rng: Random, function: Function, p: Drawn) -> None:
    """Draw windows three wide whose columns neighboring outputs share; the last may exceed the
    image.
    """
    channels = rng.choice((64, 16 * rng.randint(1, 13), 8 * rng.randint(1, 9), rng.randint(1, 200)))
    set_channels(function, p, rng.randint(1, 9), channels)
    *height, width = list_axes(p)
    for axis in height:
        sides = {"kernel": rng.choice((1, 2, 3, 3, 3, 4)), "stride": rng.choice((1, 1, 1, 2))}
        set_axis(function, p, axis, dilation=rng.choice((1, 1, 1, 2)), **sides)
    outputs, pad = rng.randint(1, 9), rng.choice((0, 0, 1, 1, 2, 3, 6))
    stride, dilation = rng.choice((1, 2)), rng.choice((1, 1, 1, 2))
    size = max(1, stride * (outputs - 1) + 2 * dilation + 1 - pad - rng.randint(-2, 3))
    sides = {"size": size, "kernel": 3, "stride": stride, "dilation": dilation, "pad": pad}
    set_axis(function, p, width, **sides, out=outputs)


#: Pixels of a line and channels around the ends of tiles: 4 to 16 pixels of up to 64 bytes.
_LINES = (3, 4, 5, 8, 13, 15, 16, 17, 20, 31, 32, 33, 50)
_DEPTHS = (1, 2, 3, 4, 5, 8, 12, 16, 20, 21, 24, 32, 36, 48, 63, 64, 65, 68, 96, 100, 128, 132)


def tiles(rng: Random, function: Function, p: Drawn) -> None:
    """Draw lines and depths around the ends of tiles."""
    outputs = rng.choice((1, 8, 15, 16, 17, 32, 33, 48, 64))
    set_channels(function, p, rng.choice(_DEPTHS), outputs)
    ones = rng.random() < 0.4  # single pixels: rows may read them from the image itself
    kernel = 1 if ones else rng.choice((1, 2, 3))
    stride, dilation = (1, 1) if ones else (rng.choice((1, 1, 2)), rng.choice((1, 1, 1, 2)))
    pixels, pad = rng.choice(_LINES), rng.choice((0, kernel // 2))
    sides = {"kernel": kernel, "stride": stride, "dilation": dilation, "pad": pad}
    for axis in list_axes(p):
        set_axis(function, p, axis, size=rng.randint(1, 4), **sides)
    size = max(1, stride * (pixels - 1) + dilation * (kernel - 1) + 1 - 2 * pad)
    set_axis(function, p, list_axes(p)[-1], size=size)


def half_vectors(rng: Random, function: Function, p: Drawn) -> None:
    """Draw outputs that fill a vector and a half, after no or one group of four vectors."""
    last = rng.choice((24, 25, rng.randint(17, 33), rng.randint(1, 64)))
    set_channels(function, p, 4 * rng.randint(1, 10), 64 * rng.choice((0, 0, 1)) + last)
    _draw_small_image(rng, function, p)


def one_vector(rng: Random, function: Function, p: Drawn) -> None:
    """Draw one input vector and rows of weights that groups of vectors take together."""
    outputs = rng.choice((128, 64 * rng.randint(1, 5), rng.randint(1, 300)))
    inputs = rng.choice((16 * rng.randint(1, 4), rng.randint(1, 70)))
    set_channels(function, p, inputs, outputs)
    p.update({name: 1 for name in ("batches",) if name in p})


def long_sums(rng: Random, function: Function, p: Drawn) -> None:
    """Draw sums of many products, with lengths near a multiple of a step of the engines."""
    inputs = rng.choice((64, 128, 256, 512, 1024)) + rng.choice((-3, -1, 0, 0, 1, 2))
    set_channels(function, p, inputs, rng.randint(1, 9))
    for axis in list_axes(p):
        set_axis(function, p, axis, size=rng.randint(1, 2), kernel=1, pad=0, dilation=1)


def vector_lengths(rng: Random, function: Function, p: Drawn) -> None:
    """Draw vectors around whole numbers of lanes."""
    for name in _LENGTHS:
        if name in p:
            lanes = rng.choice((16, 32, 64)) * rng.randint(1, 5)
            p[name] = min(LONGEST, lanes + rng.randint(-1, 1))


def every_value(rng: Random, function: Function, p: Drawn) -> None:
    """Draw vectors with space for each value of a byte; inputs of these calls are `every`."""
    p.update({name: rng.choice((256, 512)) for name in _LENGTHS if name in p})


#: Names of arguments that count the lanes or the terms of functions without windows.
_SIZES = (
    *("rhs_w", "lhs_w", "units", "input_size", "time_batches", "hidden_size", "kept_1"),
    *("kept_2", "reduced_0", "reduced_1", "channels", "inner1", "inner2", "output_c"),
)


def every_size(rng: Random, function: Function, p: Drawn) -> None:
    """Draw one size from 1 to 70."""
    p[rng.choice([name for name in _SIZES if name in p])] = rng.randint(1, MOST_COUNTED)


def declared(rng: Random, function: Function, p: Drawn) -> None:
    """Keep the arguments that the function draws."""


_ANY: dict[str, Shape] = {"declared": declared}
_WINDOWS: dict[str, Shape] = {
    each.__name__: each
    for each in (vector_widths, strides, dilations, large_windows, few_channels, three_columns)
}
_CHANNELS: dict[str, Shape] = {
    each.__name__: each for each in (every_count, tiles, half_vectors, long_sums)
}
_DENSE: dict[str, Shape] = {
    each.__name__: each for each in (every_count, half_vectors, one_vector, long_sums)
}
_OTHERS: dict[str, Shape] = {"vector_lengths": vector_lengths, "every_size": every_size}

#: All generators by name.
SHAPES: dict[str, Shape] = {
    **_ANY,
    **_WINDOWS,
    **_CHANNELS,
    **_DENSE,
    **_OTHERS,
    every_value.__name__: every_value,
    **{f"{count}_channels": with_channels(count) for count in range(1, MOST_COUNTED + 1)},
    **{f"width_{width}": with_width(width) for width in VECTOR_WIDTHS},
}


def has_length(function: Function) -> bool:
    """True if a function has one vector of inputs without weights."""
    one = len(function.inputs) == 1 and function.weights is None
    return one and bool({*function.params} & {*_LENGTHS})


def list_shapes(function: Function) -> tuple[str, ...]:
    """Return names of the generators that change calls of a function; a random choice meets some
    more often than others."""
    names = set(function.params)
    if list_axes(dict.fromkeys(names, 1)):
        weighted = _CHANNELS if function.weights is not None else ("every_count",)
        return ("declared", *_WINDOWS, *weighted, "few_channels", "few_channels")
    if function.weights is not None and names & {"num_of_rows", "output_c"}:
        return ("declared", *_DENSE)
    if names & {*_LENGTHS}:
        return ("declared", "vector_lengths")
    return ("declared", "every_size") if names & {*_SIZES} else ("declared",)
