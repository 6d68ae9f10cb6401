"""Values of a device forward, straight-through gradients backward."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import Function


class _Instead(Function):  # type: ignore[misc]
    """Second value forward, gradient of the first value backward."""

    @staticmethod
    def forward(ctx: Any, smooth: Tensor, exact: Tensor) -> Tensor:
        return exact.clone()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Any, ...]:
        return gradients[0], None


class _Held(Function):  # type: ignore[misc]
    """Device's value forward.

    Backward, values within the format pass the gradient to the float value. Values outside pass it
    to the format's step, as if the integer were constant.
    """

    @staticmethod
    def forward(
        ctx: Any, smooth: Tensor, step: Tensor, exact: Tensor, low: Tensor, high: Tensor
    ) -> Tensor:
        inside = (smooth >= low) & (smooth <= high)
        change = (exact - smooth * inside) / step if ctx.needs_input_grad[1] else None
        ctx.save_for_backward(inside, change)
        ctx.shape = step.shape
        return exact.clone()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Any, ...]:
        inside, change = ctx.saved_tensors
        of_step = None
        if change is not None:
            of_step = (gradients[0] * change).sum_to_size(ctx.shape)
        return gradients[0] * inside, of_step, None, None, None


def pass_gradient(smooth: Tensor, exact: Tensor) -> Tensor:
    """Return the second value, with the gradient of the first."""
    result: Tensor = _Instead.apply(smooth, exact)
    return result


def pass_held_value(
    smooth: Tensor, step: Tensor, exact: Tensor, low: Tensor, high: Tensor
) -> Tensor:
    """Return the device's value `exact` of a float in a format of this step.

    low, high: limits of the format. Within them, the gradient passes to `smooth`. It passes to
    `step` everywhere: factor (exact - smooth) / step within the limits, the integer outside. All
    arguments broadcast.
    """
    result: Tensor = _Held.apply(smooth, step, exact, low, high)
    return result


def round_whole(x: Tensor) -> Tensor:
    """Return the nearest integers, with the gradient of x."""
    return pass_gradient(x, torch.round(x))


def make_free_name(module: nn.Module, name: str) -> str:
    """Return a name for a layer's module that no attribute of the network has."""
    name = name.replace(".", "_") or "_"
    while hasattr(module, name):
        name += "_"
    return name
