"""Layers of the NPU as functions on images HWC; the names are our own: the NPU has no C API."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Optional

from .base import Function, Params
from .random_params import MOST_CHANNELS, SIZES, Drawn, draw_one_in, draw_window_sides
from .shapes import Array, Extent

_IMAGE: tuple[str, ...] = ("in_h", "in_w", "group", "depth", "out_h", "out_w", "out_c")
_WINDOW: tuple[str, ...] = ("kernel_h", "kernel_w", "stride_h", "stride_w", "pad_n", "pad_w")
_DILATION: tuple[str, ...] = ("dilation_h", "dilation_w")
#: Why no exported network calls one of these.
_WHY = "the NPU computes it, which has no C functions"

#: Channels of a dense convolution whose 16-bit sums are computed in several parts.
_DEPTHS, _WIDTHS = (*SIZES, 31, 130), (*SIZES, 33, 70)

#: Elements of a case.
_LENGTH = 4096

_DTYPES = {"s8": "int8", "u8": "uint8", "s16": "int16"}


def _draw(rng: Random, function: Function) -> Drawn:
    """Return arguments that mostly meet the contract."""
    params = {name: rng.choice(SIZES) for name in function.params}
    if "kernel_h" in params:
        last = "pad_s" if "pad_s" in params else None
        params.update(**_draw_axis(rng, "h", "pad_n", last), **_draw_axis(rng, "w", "pad_w", None))
    if "group" in params:
        params.update(_draw_channels(rng))
        if draw_one_in(rng, 8):  # whole pixels: rows may read them from the image itself
            params.update(group=1, depth=64, kernel_h=1, kernel_w=1, pad_n=0, pad_w=0)
    else:
        for name in ("channels", "length", "channels_a"):
            if name in params and rng.randrange(3) == 2:
                params[name] = rng.randint(1, MOST_CHANNELS)
    for name, most in (("shift", 31), ("slope", 255), ("high", 32767), ("hw_aligned", 1)):
        if name in params:
            params[name] = rng.choice((rng.randint(0, most), rng.randint(0, min(most, 8))))
    if "up" in params:
        step = rng.choice((0, rng.randint(-8, 8), rng.randint(-31, 31)))
        step = 0 if "max" in function.name else step
        params.update(up=max(step, 0), down=max(-step, 0))
    return params


def _draw_axis(rng: Random, axis: str, before: str, after: Optional[str]) -> Drawn:
    """Return one axis of windows; a negative pad on the far side shrinks the output."""
    size, kernel, stride, dilation, first = draw_window_sides(rng)
    last = rng.randint(-2, kernel - 1)
    reach = size + first + last - dilation * (kernel - 1) - 1
    out = max(1, reach // stride + 1)
    drawn = {f"in_{axis}": size, f"kernel_{axis}": kernel, f"stride_{axis}": stride}
    drawn.update({f"dilation_{axis}": dilation, f"out_{axis}": out, before: first})
    return {**drawn, after: last} if after else drawn


def _draw_channels(rng: Random) -> Drawn:
    """Return channels of a convolution: dense, in groups, or each for itself."""
    kind = rng.choice(("dense", "dense", "groups", "each"))
    if kind == "dense":
        return {"group": 1, "depth": rng.choice(_DEPTHS), "out_c": rng.choice(_WIDTHS)}
    if kind == "each":
        channels = rng.choice((*SIZES, rng.randint(1, MOST_CHANNELS)))
        return {"group": channels, "depth": 1, "out_c": channels}
    group = rng.choice((2, 3, 5))
    return {"group": group, "depth": rng.choice(SIZES[:7]), "out_c": group * rng.choice(SIZES)}


def _window(dim: int, kernel: int, stride: int, pad: int) -> Params:
    out = (dim + 2 * pad - kernel) // stride + 1
    sides = {"in": dim, "out": out, "kernel": kernel, "stride": stride, "dilation": 1}
    pairs = {f"{name}_{axis}": side for name, side in sides.items() for axis in "hw"}
    return {**pairs, "pad_n": pad, "pad_w": pad}


def _convolve_case(dim: int, depth: int, out: int, kernel: int, group: int = 1) -> Params:
    """Return a convolution that keeps the image's size."""
    channels = {"group": group, "depth": depth, "out_c": out}
    return {**_window(dim, kernel, 1, kernel // 2), **channels}


def _dense_case(columns: int, rows: int) -> Params:
    return {**_window(1, 1, 1, 0), "group": 1, "depth": columns, "out_c": rows}


def _pool_case(dim: int, channels: int, kernel: int, stride: int) -> Params:
    own = {"channels": channels, "pad_s": 0, "hw_aligned": 1, "up": 0, "down": 0}
    return {**_window(dim, kernel, stride, 0), **own}


def _cases(type: str) -> tuple[Params, ...]:
    """Return convolutions; unsigned inputs occur in the first layer alone."""
    if type == "u8":
        return (_convolve_case(32, 3, 32, 5),)
    return (
        _convolve_case(28, 1, 6, 5),
        _convolve_case(8, 64, 64, 3),
        _convolve_case(14, 512, 512, 1),
        _convolve_case(14, 1, 256, 3, group=256),
        _convolve_case(14, 32, 128, 3, group=4),
        _dense_case(256, 256),
    )


def _convolve(type: str) -> Function:
    """Draw a pair per output channel: the start of the sum, and its shift."""
    weights = "int16" if type == "s16" else "int8"
    return Function(
        name=f"npu_convolve_{type}",
        op="npu_convolve",
        type=type,
        params=(*_IMAGE, *_WINDOW, *_DILATION),
        inputs=(Array("input", _DTYPES[type], ("in_h", "in_w", ("group", "depth"))),),
        weights=Array("weights", weights, ("out_c", "kernel_h", "kernel_w", "depth")),
        bias=Array("start_shift", "int64", ("out_c", 2)),
        output=Array("output", weights, ("out_h", "out_w", "out_c")),
        macs=("out_h", "out_w", "out_c", "kernel_h", "kernel_w", "depth"),
        not_called=_WHY,
        draw=_draw,
        cases=_cases(type),
    )


def _pool(kind: str, type: str) -> Function:
    own = ("hw_aligned", "up", "down")
    sides = ("in_h", "in_w", "channels", "out_h", "out_w")
    return Function(
        name=f"npu_{kind}_pool_{type}",
        op=f"npu_{kind}_pool",
        type=type,
        params=(*sides, *_WINDOW, "pad_s", *_DILATION, *own),
        inputs=(Array("input", _DTYPES[type], ("in_h", "in_w", "channels")),),
        output=Array("output", _DTYPES[type], ("out_h", "out_w", "channels")),
        not_called=_WHY,
        draw=_draw,
        cases=(_pool_case(*((28, 16, 2, 2) if kind == "max" else (7, 256, 7, 1))),),
    )


def _make_elementwise(
    name: str, type: str, params: Mapping[str, int] = {}, table: int = 0
) -> Function:
    """Declare a function of each element; params: those besides the length, as in the case."""
    fixed = {"slope": 0, "high": 0}
    data = Array("data", _DTYPES[type], ("length",))
    return Function(
        name=f"npu_{name}_{type}",
        op=f"npu_{name}",
        type=type,
        params=("length", *params),
        inputs=(data,),
        weights=Array("table", _DTYPES[type], (table,)) if table else None,
        output=data,
        fixed={key: value for key, value in fixed.items() if key not in params},
        not_called=_WHY,
        draw=_draw,
        cases=({"length": _LENGTH, **params},),
    )


def _pixels(name: str, type: str, other: Extent = (), table: int = 0) -> Function:
    image = Array("input", _DTYPES[type], ("pixels", "channels"))
    inputs = (image, Array("scale", _DTYPES[type], ("channels",))) if other else (image,)
    return Function(
        name=f"npu_{name}_{type}",
        op=f"npu_{name}",
        type=type,
        params=("pixels", "channels", "shift") if other else ("pixels", "channels"),
        inputs=inputs,
        weights=Array("table", _DTYPES[type], (table,)) if table else None,
        output=Array("output", _DTYPES[type], ("pixels", "channels")),
        fixed={} if other else {"shift": 0},
        not_called=_WHY,
        draw=_draw,
        cases=(
            {"pixels": 1, "channels": _LENGTH, "shift": 7}
            if other
            else {"pixels": 1, "channels": 10},
        ),
    )


def _add(type: str) -> Function:
    a, b, out = (Array(name, _DTYPES[type], ("length",)) for name in ("a", "b", "output"))
    return Function(
        name=f"npu_add_{type}",
        op="npu_add",
        type=type,
        params=("length", "shift"),
        inputs=(a, b),
        output=out,
        not_called=_WHY,
        draw=_draw,
        cases=({"length": _LENGTH, "shift": 1},),
    )


def _channels(type: str) -> Function:
    return Function(
        name=f"npu_channels_{type}",
        op="npu_channels",
        type=type,
        params=("pixels", "channels_a", "channels_b", "channels_out"),
        inputs=(
            Array("a", _DTYPES[type], ("pixels", "channels_a")),
            Array("b", _DTYPES[type], ("pixels", "channels_b")),
        ),
        weights=Array("map", "int32", ("channels_out",)),
        output=Array("output", _DTYPES[type], ("pixels", "channels_out")),
        not_called=_WHY,
        draw=_draw,
        cases=({"pixels": 64, "channels_a": 32, "channels_b": 32, "channels_out": 64},),
    )


#: Entries of the table of log(1 + e^-d), by type; csrc/wuqi/each.h.
LOG_ENTRIES = {"s8": 64, "s16": 40960}
#: Entries of a table of a function of one element.
CODES = {"s8": 2**8, "s16": 2**16}

FUNCTIONS = (
    *map(_convolve, ("s8", "u8", "s16")),
    *(_pool(kind, type) for kind in ("max", "average") for type in CODES),
    *(_make_elementwise("relu", type, {"slope": 6}) for type in CODES),
    *(_make_elementwise("clip", type, {"high": 96}) for type in CODES),
    *(_make_elementwise("lookup", type, table=size) for type, size in CODES.items()),
    *map(_add, CODES),
    *(_pixels("scale_by_tensor", type, "channels") for type in CODES),
    *(_pixels("log_softmax", type, table=size) for type, size in LOG_ENTRIES.items()),
    *map(_channels, CODES),
)
