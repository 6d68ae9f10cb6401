"""Shapes and windows on the way from float networks to the NPU's layers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from ..errors import ModelError

#: The largest side of a window, and the largest stride, of the hardware.
_KERNEL, _STRIDE = 16, 6


def to_image_shape(shape: Sequence[int]) -> tuple[int, int, int]:
    """Return height, width and channels of an image, or of a vector."""
    if len(shape) == 3:
        return (shape[0], shape[1], shape[2])
    return (1, 1, math.prod(shape))


def fit_pads(
    size: Sequence[int],
    reach: Sequence[int],
    stride: Sequence[int],
    pads: Sequence[int],
    out: Sequence[int],
) -> tuple[int, int, int, int]:
    """Return pads north, south, west, east with which the windows fill the image exactly."""
    ends = [
        (count - 1) * step + span - length - before
        for count, step, span, length, before in zip(out, stride, reach, size, pads[:2])
    ]
    return (pads[0], ends[0], pads[1], ends[1])


def iterate_global_factors(kernel: tuple[int, int]) -> Iterator[int]:
    """Yield sides of the poolings before a global one, until it fits the hardware."""
    height, width = kernel
    while max(height, width) > _KERNEL:
        factor = next((f for f in range(_STRIDE, 1, -1) if height % f == width % f == 0), None)
        if factor is None:
            raise ModelError(
                f"a global pooling of {kernel[0]} x {kernel[1]} cannot be split: make the image "
                "smaller before it"
            )
        yield factor
        height, width = height // factor, width // factor
