"""What the NPU computes, as functions on images HWC; their names are ours, as it has no C API."""

from __future__ import annotations

from .base import Function
from .extents import Array, Extent

_IMAGE: tuple[str, ...] = ("in_h", "in_w", "group", "depth", "out_h", "out_w", "out_c")
_WINDOW: tuple[str, ...] = ("kernel_h", "kernel_w", "stride_h", "stride_w", "pad_n", "pad_w")
_DILATION: tuple[str, ...] = ("dilation_h", "dilation_w")
_DTYPES = {"s8": "int8", "u8": "uint8", "s16": "int16"}


def _convolve(type: str) -> Function:
    """Per output channel a pair: what the sum starts from, and by how many bits it is shifted."""
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
    )


def _each(name: str, type: str, *params: str, table: int = 0) -> Function:
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
    )


#: Entries of the table of log(1 + e^-d), by type; csrc/npu/each.h.
LOG_ENTRIES = {"s8": 64, "s16": 40960}
#: Entries of a table of a function of one element.
CODES = {"s8": 2**8, "s16": 2**16}

FUNCTIONS = (
    *map(_convolve, ("s8", "u8", "s16")),
    *(_pool(kind, type) for kind in ("max", "average") for type in CODES),
    *(_each("relu", type, "slope") for type in CODES),
    *(_each("clip", type, "high") for type in CODES),
    *(_each("lookup", type, table=size) for type, size in CODES.items()),
    *map(_add, CODES),
    *(_pixels("scale_by_tensor", type, "channels") for type in CODES),
    *(_pixels("log_softmax", type, table=size) for type, size in LOG_ENTRIES.items()),
    *map(_channels, CODES),
)
