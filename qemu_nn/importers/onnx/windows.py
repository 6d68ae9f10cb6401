"""Convolutions and poolings; a signal [1, C, L] is an image of one row."""

from __future__ import annotations

from functools import partial

from ...errors import ModelError
from ...ir.float_graph import TENSOR_LIMIT
from ...operators import Conv, ConvTranspose, Operator, Pool
from ...operators.base import Pads, Pair, compute_same_pads
from ..tensor import Tensor
from . import indices
from .call import Converter, OnnxCall
from .normalizing import reduce_axes


def _image(call: OnnxCall) -> Tensor:
    """Return the first input as an image [1, C, H, W]."""
    x = call.tensor()
    if not x.batched or len(x.shape) not in (3, 4):
        raise ModelError(
            f"its input must be an image [1, C, H, W] or a signal [1, C, L], not {list(x.shape)}"
        )
    if len(x.shape) == 4:
        return x
    return call.reshape(x, (*x.shape[:2], 1, x.shape[2]), part="image")


def _put(call: OnnxCall, operator: Operator, image: Tensor) -> None:
    """Add the operator, and remove the image's single row if the input was a signal."""
    if call.tensor() is image:
        call.put(operator, image)
    else:
        row = call.put(operator, image, part="row")
        call.reshape(row, (*row.shape[:2], row.shape[3]))


def _pair(call: OnnxCall, key: str, default: Pair = (1, 1)) -> Pair:
    """Return an attribute with a number for each spatial axis."""
    values = call.integers(key)
    if values is None:
        return default
    if len(values) != len(call.tensor().shape) - 2 or min(values) < 1:
        raise ModelError(f"its {key} {values} do not fit the input {list(call.tensor().shape)}")
    return (values[0], values[1]) if len(values) == 2 else (1, values[0])


def _pads(call: OnnxCall, image: Tensor, kernel: Pair, stride: Pair, dilation: Pair) -> Pads:
    """Return the padding, explicit or computed by `auto_pad`."""
    (_, channels, height, width), shape = image.shape, call.tensor().shape
    kind, pads = call.text("auto_pad", "NOTSET"), call.integers("pads")
    if kind in ("SAME_UPPER", "SAME_LOWER"):
        cells = compute_same_pads((height, width), kernel, stride, dilation, kind == "SAME_LOWER")
    elif kind == "VALID" or (kind == "NOTSET" and pads is None):
        cells = (0, 0, 0, 0)
    elif kind != "NOTSET" or pads is None or len(pads) != 2 * len(shape[2:]) or min(pads) < 0:
        raise ModelError(f"its padding {kind} {pads} does not fit {list(shape)}")
    else:
        cells = (pads[0], pads[1], pads[2], pads[3]) if len(pads) == 4 else (0, pads[0], 0, pads[1])
    top, left, bottom, right = cells
    if channels * (height + top + bottom) * (width + left + right) > TENSOR_LIMIT:
        raise ModelError(f"its padding {list(cells)} makes the image too large")
    return cells


def conv(call: OnnxCall) -> None:
    """Convert Conv, grouped or not; its weights are [out, in / groups, y, x]."""
    image, weights = _image(call), call.floats(1)
    if weights.ndim != len(call.tensor().shape):
        raise ModelError(
            f"its weights {list(weights.shape)} do not fit {list(call.tensor().shape)}"
        )
    if weights.ndim == 3:
        weights = weights[:, :, None, :]
    weights = weights.transpose(0, 2, 3, 1)
    kernel = (weights.shape[1], weights.shape[2])
    if _pair(call, "kernel_shape", kernel) != kernel:
        raise ModelError(f"its kernel_shape differs from that of its weights, {list(kernel)}")
    stride, dilation = _pair(call, "strides"), _pair(call, "dilations")
    operator = Conv(
        weights,
        call.floats(2) if call.has(2) else None,
        stride,
        _pads(call, image, kernel, stride, dilation),
        dilation,
        call.integer("group", 1),
        layout="NCHW",
    )
    _put(call, operator, image)


def conv_transpose(call: OnnxCall) -> None:
    """Convert ConvTranspose, grouped or not; its weights are [in, out / groups, y, x]."""
    image, weights, groups = _image(call), call.floats(1), call.integer("group", 1)
    shape = call.tensor().shape
    if weights.ndim != len(shape) or groups < 1 or len(weights) % groups:
        raise ModelError(f"its weights {list(weights.shape)} do not fit {list(shape)}")
    if weights.ndim == 3:
        weights = weights[:, :, None, :]
    depth, own, *sides = weights.shape
    kernel = (sides[0], sides[1])
    if _pair(call, "kernel_shape", kernel) != kernel:
        raise ModelError(f"its kernel_shape differs from that of its weights, {list(kernel)}")
    parts = weights.reshape(groups, depth // groups, own, *kernel)
    filters = parts.transpose(0, 2, 3, 4, 1).reshape(groups * own, *kernel, depth // groups)
    stride, dilation = _pair(call, "strides"), _pair(call, "dilations")
    pads = _crops(call, image, kernel, stride, dilation)
    bias = call.floats(2) if call.has(2) else None
    _put(call, ConvTranspose(filters, bias, stride, pads, dilation, groups, "NCHW"), image)


def _crops(call: OnnxCall, image: Tensor, kernel: Pair, stride: Pair, dilation: Pair) -> Pads:
    """Return the cells around the whole output that are left out; negative ones extend it."""
    kind, pads, rank = call.text("auto_pad", "NOTSET"), call.integers("pads"), len(image.shape)
    rank = len(call.tensor().shape) - 2
    more = call.integers("output_padding") or [0] * rank
    wanted = call.integers("output_shape")
    if wanted is None and kind.startswith("SAME"):
        wanted = [n * step for n, step in zip(call.tensor().shape[2:], stride[2 - rank :])]
    if len(more) != rank or min(more) < 0 or (wanted is not None and len(wanted) < rank):
        raise ModelError(f"its output_padding {more} or output_shape {wanted} has not {rank} axes")
    found = []
    for axis in range(rank):
        at = axis + 2 - rank
        whole = (image.shape[2 + at] - 1) * stride[at] + dilation[at] * (kernel[at] - 1) + 1
        if wanted is not None:
            total = max(whole + more[axis] - wanted[axis - rank], 0)
            after = total - total // 2 if kind == "SAME_UPPER" else total // 2
            found.append((total - after, whole - wanted[axis - rank] - (total - after)))
        elif kind in ("NOTSET", "VALID"):
            around = [0] * (2 * rank) if pads is None or kind == "VALID" else pads
            if len(around) != 2 * rank or min(around) < 0:
                raise ModelError(f"its pads {pads} must be {2 * rank} numbers from 0 on")
            found.append((around[axis], around[axis + rank] - more[axis]))
        else:
            raise ModelError(f"its auto_pad is {kind!r}")
    (top, bottom), (left, right) = found if rank == 2 else [(0, 0), *found]
    size = image.shape[1] * max(image.shape[2] * stride[0], 1) * max(image.shape[3] * stride[1], 1)
    if size > TENSOR_LIMIT or max(-bottom, -right) > _MOST_CELLS:
        raise ModelError("its output is too large")
    return (top, left, bottom, right)


#: Most rows or columns that output padding adds.
_MOST_CELLS = 4096


def pool(call: OnnxCall, kind: str) -> None:
    """Convert MaxPool and AveragePool."""
    image = _image(call)
    if "kernel_shape" not in call.node.attributes:
        raise ModelError("its kernel_shape is missing")
    kernel, stride = _pair(call, "kernel_shape"), _pair(call, "strides")
    call.ignore("storage_order")  # which only concerns a second output
    if _pair(call, "dilations") != (1, 1):
        raise ModelError("its windows are dilated; pooling with dilations is not supported")
    operator = Pool(
        kind,
        kernel,
        stride,
        _pads(call, image, kernel, stride, (1, 1)),
        bool(call.integer("ceil_mode", 0)),
        bool(call.integer("count_include_pad", 0)),
        layout="NCHW",
    )
    _put(call, operator, image)


def global_pool(call: OnnxCall, kind: str) -> None:
    """Convert GlobalAveragePool and GlobalMaxPool: one window as large as the image."""
    image = _image(call)
    _put(call, Pool(kind, (image.shape[2], image.shape[3]), layout="NCHW"), image)


def reduce(call: OnnxCall, kind: str) -> None:
    """Convert ReduceMean and ReduceMax over rows, columns or both, for any channel axis."""
    x, named = call.tensor(), call.integers("axes", at=1)
    if not named and call.integer("noop_with_empty_axes", 0):
        call.reshape(x, x.shape)
        return
    axes = indices.axes(named or list(range(len(x.shape))), len(x.shape))
    image, where = x, {x.axis(axis) for axis in axes}
    if len(x.sample) == 2 and where == {0}:  # a signal: its second axis has the channels
        image = call.reshape(x, (1, x.sample[0], 1, x.sample[1]), part="image")
        where = {2 * axis for axis in where}
    if len(image.sample) != 3 or {0, 2} <= where:
        reduce_axes(call, axes, {"average": "mean"}.get(kind, kind))
        return
    layout, rows = ("NHWC", 0) if 0 in where else ("NCHW", 1)
    tall, wide = (image.sample[i] if i in where else 1 for i in (rows, rows + 1))
    operator = Pool(kind, (tall, wide), layout=layout)
    if image is x and call.integer("keepdims", 1):
        call.put(operator, x)
        return
    pooled = call.put(operator, image, part="pool")
    kept = [1 if axis in axes else n for axis, n in enumerate(x.shape)]
    if not call.integer("keepdims", 1):
        kept = [n for axis, n in enumerate(x.shape) if axis not in axes]
    call.reshape(pooled, kept)


WINDOWS: dict[str, Converter] = {
    "Conv": conv,
    "ConvTranspose": conv_transpose,
    "MaxPool": partial(pool, kind="max"),
    "AveragePool": partial(pool, kind="average"),
    "GlobalAveragePool": partial(global_pool, kind="average"),
    "GlobalMaxPool": partial(global_pool, kind="max"),
    "ReduceMean": partial(reduce, kind="average"),
    "ReduceMax": partial(reduce, kind="max"),
}
