"""Pooling of images with pads on four sides; negative pads on the far sides drop rows
and columns.
"""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - its usual name
from torch import Tensor

from ..layers import Layer


def pad_image(x: Tensor, layer: Layer, value: float = 0.0) -> Tensor:
    """Pad an image with rows and columns of one value; negative pads drop them."""
    north, south, west, east = layer.attributes()["pad"]
    return F.pad(x, (west, east, north, south), value=value)


def pool_maximum(x: Tensor, layer: Layer, lowest: float) -> Tensor:
    """Return the largest cell of each window; cells outside the image have the lowest value."""
    own = layer.attributes()
    return F.max_pool2d(
        pad_image(x, layer, lowest), own["kernel_size"], own["stride"], 0, own["dilation"]
    )


def pool_sums(x: Tensor, layer: Layer) -> Tensor:
    """Return the sum of the cells of each window."""
    own = layer.attributes()
    images = pad_image(x, layer)
    single = images.reshape(-1, 1, *images.shape[2:])
    ones = torch.ones((1, 1, *own["kernel_size"]), dtype=x.dtype, device=x.device)
    total = F.conv2d(single, ones, None, own["stride"], 0, own["dilation"])
    return total.reshape(*x.shape[:2], *total.shape[2:])


def count_divisors(layer: Layer, size: tuple[int, int], hw_aligned: bool) -> Tensor:
    """Return the divisor of the sum of each window of an image, [1, 1, rows, columns].

    hw_aligned: by the position of the window (§6.8 of the manual). Otherwise it is the number of
    cells inside the image, and 1 if there are none (their sum is 0).
    """
    counted = pool_sums(torch.ones((1, 1, *size), dtype=torch.float64), layer)
    if not hw_aligned:
        return counted.clamp(min=1)
    own = layer.attributes()
    (kernel_h, kernel_w), (stride_h, stride_w) = own["kernel_size"], own["stride"]
    north, south, west, _ = own["pad"]
    i, j = (np.arange(n) * s for n, s in zip(counted.shape[2:], (stride_h, stride_w)))
    rows = np.where(i == size[0] + north - 1, kernel_h - south, kernel_h)
    rows = np.where(i == 0, kernel_h - north, rows)
    columns = np.where(j == 0, kernel_w - west, kernel_w)
    return torch.from_numpy(np.outer(rows, columns)[None, None].astype(np.float64))
