"""Operators of float networks on PyTorch, channels last, for their gradients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Callable, Optional

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - its usual name
from torch import Tensor

from ..errors import ModelError
from ..operators import (
    ArgMax,
    Clip,
    Concat,
    Conv,
    ConvTranspose,
    Curve,
    Dense,
    DepthToSpace,
    Elementwise,
    Gather,
    Identity,
    Lstm,
    MatMul,
    Normalize,
    Operator,
    Pad,
    Pool,
    PRelu,
    Reduce,
    Relu,
    Reshape,
    Resize,
    Shuffle,
    Sigmoid,
    Slice,
    Softmax,
    SpaceToDepth,
    Tanh,
    Transpose,
)
from ..operators.base import Pads
from ..operators.resize import find_nearest, make_weights

_ELEMENTWISE: Mapping[str, Callable[[Tensor, Tensor], Tensor]] = {
    "add": torch.add,
    "subtract": torch.sub,
    "multiply": torch.mul,
    "divide": torch.div,
    "power": torch.pow,
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "greater": lambda x, y: (x > y).to(x.dtype),
    "at_least": lambda x, y: (x >= y).to(x.dtype),
    "equal": lambda x, y: (x == y).to(x.dtype),
    "pass_where": lambda mask, x: torch.where(mask > 0.5, x, torch.zeros_like(x)),
}


def replace_weights(
    operator: Operator, x: Tensor, weight: Tensor, bias: Optional[Tensor]
) -> Tensor:
    """Return a convolution or fully connected layer with different weights and bias."""
    if isinstance(operator, Dense):
        return F.linear(x, weight, bias)
    assert isinstance(operator, Conv)
    image = _pad_images(x.movedim(-1, 1), operator.pads, 0.0)
    filters = weight.movedim(-1, 1)
    stride, spread, groups = operator.stride, operator.dilation, operator.groups
    return F.conv2d(image, filters, bias, stride, 0, spread, groups).movedim(1, -1)


def compute_operator(operator: Operator, *inputs: Tensor) -> Tensor:
    """Return the output of an operator without weights; raise ModelError for an unknown one."""
    kind = type(operator)
    for known, function in _FUNCTIONS.items():
        if issubclass(kind, known):
            result: Tensor = function(operator, *inputs)
            return result
    raise ModelError(f"{kind.__name__} has no gradient here: freeze or replace it")


def _pad_images(image: Tensor, pads: Pads, value: float) -> Tensor:
    """Return images NCHW with cells of one value around them; negative pads crop."""
    top, left, bottom, right = pads
    return F.pad(image, (left, right, top, bottom), value=value)


def _pool(own: Pool, x: Tensor) -> Tensor:
    height, width, _ = own.shape(tuple(x.shape[1:]))
    image = x.movedim(-1, 1)
    reach = [(n - 1) * s + k for n, s, k in zip((height, width), own.stride, own.kernel)]
    after = [r - a - n for r, a, n in zip(reach, own.pads[:2], image.shape[2:])]
    pads = (own.pads[0], own.pads[1], after[0], after[1])
    if own.kind == "max":
        outer = _pad_images(image, pads, -np.inf)
        return F.max_pool2d(outer, own.kernel, own.stride).movedim(1, -1)
    cells = torch.ones_like(image[:1, :1])
    if own.count_pads:
        inner = (own.pads[0], own.pads[1], min(own.pads[2], after[0]), min(own.pads[3], after[1]))
        cells = _pad_images(cells, inner, 1.0)
        pads_left = tuple(whole - part for whole, part in zip(pads, inner))
        cells = _pad_images(cells, pads_left, 0.0)
    else:
        cells = _pad_images(cells, pads, 0.0)
    shares = F.avg_pool2d(cells, own.kernel, own.stride)
    total = F.avg_pool2d(_pad_images(image, pads, 0.0), own.kernel, own.stride)
    return (total / shares).movedim(1, -1)


def _relu(own: Relu, x: Tensor) -> Tensor:
    result = F.leaky_relu(x, own.slope) if own.slope else F.relu(x)
    return result if own.limit is None else result.clamp(max=own.limit)


def _prelu(own: PRelu, x: Tensor) -> Tensor:
    return torch.where(x > 0, x, x * torch.as_tensor(own.slope, dtype=x.dtype))


def _softmax(own: Softmax, x: Tensor) -> Tensor:
    axis = own.axis + 1
    return torch.log_softmax(x, axis) if own.log else torch.softmax(x, axis)


def _pad(own: Pad, x: Tensor) -> Tensor:
    return F.pad(x, [cells for pair in reversed(own.pads) for cells in pair], value=own.value)


def _slice(own: Slice, x: Tensor) -> Tensor:
    cut = slice(own.start, own.stop, own.step)
    return x[(slice(None),) * (own.axis + 1) + (cut,)]


def _shuffle(own: Shuffle, x: Tensor) -> Tensor:
    axis = own.axis + 1
    order = torch.arange(x.shape[axis]).reshape(own.groups, -1).T.flatten()
    return x.index_select(axis, order)


def _curve(own: Curve, x: Tensor) -> Tensor:
    values = [x]
    numbers = as_tensor(own.constants).to(x.dtype)
    for name, pair in zip(own.steps, own.operands):
        one, two = (values[at] if at >= 0 else numbers[-1 - at] for at in pair)
        if name in _ELEMENTWISE:
            values.append(_ELEMENTWISE[name](one, two))
        else:
            values.append(F.softplus(one) if name == "softplus" else getattr(torch, name)(one))
    return values[-1].expand_as(x)


def _transposed(own: ConvTranspose, x: Tensor) -> Tensor:
    image = x.movedim(-1, 1)
    groups, filters = own.groups, as_tensor(own.weights).to(x.dtype)
    out, _, _, depth = filters.shape
    filters = filters.reshape(groups, out // groups, *filters.shape[1:])
    filters = filters.permute(0, 4, 1, 2, 3).reshape(groups * depth, out // groups, *own.kernel)
    whole = F.conv_transpose2d(image, filters, None, own.stride, 0, 0, groups, own.dilation)
    cropped = _pad_images(whole, tuple(-pad for pad in own.pads), 0.0)  # type: ignore[arg-type]
    if own.bias is not None:
        cropped = cropped + as_tensor(own.bias).to(x.dtype)[:, None, None]
    return cropped.movedim(1, -1)


def _lstm(own: Lstm, x: Tensor, *cells: Tensor) -> Tensor:
    weights, recurrent, bias = (
        as_tensor(a).to(x.dtype) for a in (own.weights, own.recurrent, own.bias)
    )
    ahead = torch.einsum("nti,gui->tngu", x, weights) + bias
    hidden = cell = x.new_zeros(len(x), own.bias.shape[1])
    found = []
    for step in ahead:
        gates = step + torch.einsum("nv,guv->ngu", hidden, recurrent)
        keep, forget, out = (torch.sigmoid(gates[:, index]) for index in (0, 1, 3))
        cell = forget * cell + keep * torch.tanh(gates[:, 2])
        hidden = out * torch.tanh(cell)
        found.append(cell if own.cells else hidden)
    return torch.stack(found, 1)


def _resize(own: Resize, x: Tensor) -> Tensor:
    for axis, out in enumerate(own.size, 1):
        flags = (x.shape[axis], out, own.align_corners, own.half_pixel)
        if own.kind == "nearest":
            x = x.index_select(axis, torch.tensor(find_nearest(*flags)))
        else:
            weights = as_tensor(make_weights(*flags)).to(x.dtype)
            x = torch.tensordot(x, weights, ([axis], [1])).movedim(-1, axis)
    return x


def _reduce(own: Reduce, x: Tensor) -> Tensor:
    functions = {"mean": torch.mean, "sum": torch.sum, "max": torch.amax, "min": torch.amin}
    return functions[own.kind](x, [axis + 1 for axis in own.axes], keepdim=True)


def _normalize(own: Normalize, x: Tensor) -> Tensor:
    axes = [axis + 1 for axis in own.axes]
    away = x - x.mean(axes, keepdim=True) if own.centered else x
    return away / torch.sqrt((away * away).mean(axes, keepdim=True) + own.epsilon)


def _blocks(own: DepthToSpace | SpaceToDepth, x: Tensor) -> Tensor:
    split, order = own.moves(tuple(x.shape[1:]))
    moved = x.reshape(len(x), *split).permute(0, *(axis + 1 for axis in order))
    return moved.reshape(len(x), *own.shape(tuple(x.shape[1:])))


def _arg(own: ArgMax, x: Tensor) -> Tensor:
    found = (torch.argmin if own.least else torch.argmax)(x, own.axis + 1, keepdim=True)
    return found.to(x.dtype)


_FUNCTIONS: Mapping[type, Callable[..., Tensor]] = {
    Pool: _pool,
    Relu: _relu,
    Clip: lambda own, x: x.clamp(own.low, own.high),
    PRelu: _prelu,
    Sigmoid: lambda own, x: torch.sigmoid(x),
    Tanh: lambda own, x: torch.tanh(x),
    Softmax: _softmax,
    Elementwise: lambda own, *inputs: _ELEMENTWISE[own.kind](*inputs),
    Concat: lambda own, *inputs: torch.cat(inputs, own.axis + 1),
    Slice: _slice,
    Gather: lambda own, x: x.index_select(own.axis + 1, torch.tensor(own.places)),
    Pad: _pad,
    Curve: _curve,
    ConvTranspose: _transposed,
    MatMul: lambda own, x, y: torch.matmul(x, y.transpose(-1, -2) if own.transposed else y),
    Lstm: _lstm,
    Resize: _resize,
    Reduce: _reduce,
    Normalize: _normalize,
    ArgMax: _arg,
    DepthToSpace: _blocks,
    SpaceToDepth: _blocks,
    Reshape: lambda own, x: x.reshape(len(x), *own.to),
    Transpose: lambda own, x: x.permute(0, *(axis + 1 for axis in own.order)),
    Shuffle: _shuffle,
    Identity: lambda own, x: x,
}


def as_tensor(values: Any) -> Tensor:
    """Return floats as float32."""
    return torch.from_numpy(np.ascontiguousarray(values, np.float32))
