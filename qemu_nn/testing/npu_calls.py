"""Calls of the NPU's functions at random, with values that hurt."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Optional

import numpy as np

from ..functions import Function

_SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17)
#: Channels of a dense convolution: its sums of 16 bits have up to seven parts.
_DEPTHS, _WIDTHS = (*_SIZES, 31, 130), (*_SIZES, 33, 70)
#: Now and then enough for several vectors of a fast row, with every remainder.
_LONGEST = 200


def random_npu_params(rng: Random, function: Function) -> dict[str, int]:
    """Arguments that mostly meet the contract."""
    p = {name: rng.choice(_SIZES) for name in function.params}
    if "kernel_h" in p:
        last = "pad_s" if "pad_s" in p else None
        p.update(**_axis(rng, "h", "pad_n", last), **_axis(rng, "w", "pad_w", None))
    if "group" in p:
        p.update(_channels(rng))
    else:
        for name in ("channels", "length", "channels_a"):
            if name in p and rng.randrange(3) == 2:
                p[name] = rng.randint(1, _LONGEST)
    for name, most in (("shift", 31), ("slope", 255), ("high", 32767), ("hw_aligned", 1)):
        if name in p:
            p[name] = rng.choice((rng.randint(0, most), rng.randint(0, min(most, 8))))
    if "up" in p:
        step = rng.choice((0, rng.randint(-8, 8), rng.randint(-31, 31)))
        step = 0 if "max" in function.name else step
        p.update(up=max(step, 0), down=max(-step, 0))
    return p


def _axis(rng: Random, axis: str, before: str, after: Optional[str]) -> dict[str, int]:
    """One axis of windows; a pad below zero on the far side is a smaller output."""
    size, kernel, stride = rng.randint(1, 11), rng.randint(1, 5), rng.randint(1, 3)
    dilation = rng.choice((1, 1, 1, 2, 3))
    first, last = rng.randint(0, kernel - 1), rng.randint(-2, kernel - 1)
    room = size + first + last - dilation * (kernel - 1) - 1
    out = max(1, room // stride + 1)
    found = {f"in_{axis}": size, f"kernel_{axis}": kernel, f"stride_{axis}": stride}
    found.update({f"dilation_{axis}": dilation, f"out_{axis}": out, before: first})
    return {**found, after: last} if after else found


def _channels(rng: Random) -> dict[str, int]:
    """Channels of a convolution: dense, in groups, or each for itself."""
    kind = rng.choice(("dense", "dense", "groups", "each"))
    if kind == "dense":
        return {"group": 1, "depth": rng.choice(_DEPTHS), "out_c": rng.choice(_WIDTHS)}
    if kind == "each":
        channels = rng.choice((*_SIZES, rng.randint(1, _LONGEST)))
        return {"group": channels, "depth": 1, "out_c": channels}
    group = rng.choice((2, 3, 5))
    return {"group": group, "depth": rng.choice(_SIZES[:7]), "out_c": group * rng.choice(_SIZES)}


def npu_arrays(
    rng: np.random.Generator, function: Function, params: Mapping[str, int]
) -> dict[str, np.ndarray]:
    """Weights and bias of a call, by role; its sums fit 32 bits."""
    found = {}
    if function.weights is not None:
        limits = np.iinfo(function.weights.dtype)
        high = params["channels_out"] - 1 if "channels_out" in params else limits.max
        low = 0 if "channels_out" in params else limits.min
        shape = function.weights.shape(params)
        values = rng.integers(low, high, shape, endpoint=True)
        found["weights"] = values.astype(function.weights.dtype)
    if function.bias is not None:
        found["bias"] = np.zeros(function.bias.shape(params), np.int64)
        found["bias"][:, 1] = 12 if function.type == "s16" else 9
    return found


def start_shift(rng: np.random.Generator, channels: int) -> np.ndarray:
    """What the sums of a convolution start from and are shifted by, [channels, 2].

    Most starts fit 32 bits and most shifts those of the hardware, but not all.
    """
    widest = rng.choice([8, 16, 20, 29, 31, 40, 61], p=[0.2, 0.2, 0.2, 0.2, 0.1, 0.05, 0.05])
    starts = rng.integers(-(2**widest), 2**widest, channels, endpoint=True)
    most = rng.choice([12, 15, 31, 63])
    shifts = rng.integers(0, most, channels, endpoint=True)
    if rng.integers(4) == 0:
        shifts[:] = shifts[0]
    return np.stack([starts, shifts], 1).astype(np.int64)
