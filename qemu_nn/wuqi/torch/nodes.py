"""Quantization nodes: the chip's values forward, a straight-through gradient backward.

Numbers are floats on their grids, q * step with step a power of two. Double precision is exact: a
sum of products of 16-bit integers stays below 2^53 for 2^22 products and a bias shifted by 31 bits
(2^46). Dividing by a step only moves the binary point.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from ...training.nodes import pass_gradient
from ..tables import get_input_fraction, make_code_table, make_distance_table


class _Quantize(Function):  # type: ignore[misc]
    """step * floor(clip(x) / step); the gradient passes where x is within the range."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, step: Tensor, bits: int) -> Tensor:
        low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
        scaled = x / step
        ctx.save_for_backward((scaled >= low) & (scaled <= high))
        return torch.floor(scaled).clamp(low, high) * step

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Any, ...]:
        (inside,) = ctx.saved_tensors
        return gradients[0] * inside, None, None


def quantize(x: Tensor, step: Tensor, bits: int) -> Tensor:
    """Return values rounded down to multiples of step and saturated to this many bits; NaN stays
    NaN.

    step: powers of two, of a shape that broadcasts. The gradient is 1 from the lowest value to the
    highest, both included, and 0 outside.
    """
    result: Tensor = _Quantize.apply(x, step, bits)
    return result


def _codes(x: Tensor, kind: str, bits: int) -> Tensor:
    half = 2 ** (bits - 1)
    scaled = torch.floor(torch.nan_to_num(x) * 2 ** get_input_fraction(kind, bits))
    return scaled.clamp(-half, half - 1).long()


def lookup(x: Tensor, kind: str, bits: int) -> Tensor:
    """Return Sigmoid or TanH from the chip's table; the gradient is the function's own."""
    half = 2 ** (bits - 1)
    smooth = torch.sigmoid(x) if kind == "Sigmoid" else torch.tanh(x)
    table = torch.from_numpy(make_code_table(kind, bits)).to(x)
    exact = table[_codes(x, kind, bits) + half] / half
    return pass_gradient(smooth, exact)


def log_softmax(x: Tensor, bits: int) -> Tensor:
    """Apply LogSoftmax by pairs of channels as the NPU does; the gradient is the function's own.

    The node after it saturates the result.
    """
    half, table = 2 ** (bits - 1), torch.from_numpy(make_distance_table(bits)).long().to(x.device)
    codes = _codes(x, "LogSoftmax", bits)
    total = codes[:, 0]
    for channel in codes.unbind(1)[1:]:
        distance = (total - channel).abs()
        more = torch.where(distance < len(table), table[distance.clamp(max=len(table) - 1)], 0)
        total = (torch.maximum(total, channel) + more).clamp(-half, half - 1)
    exact = (codes - total.unsqueeze(1)).to(x) / 2 ** get_input_fraction("LogSoftmax", bits)
    return pass_gradient(torch.log_softmax(x, 1), exact)
