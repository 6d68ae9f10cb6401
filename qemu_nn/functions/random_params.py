"""Random scalar C arguments for the declarations of functions."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Callable

import numpy as np

if TYPE_CHECKING:
    from .base import Function

Drawn = dict[str, int]
Draw = Callable[[Random, "Function"], Drawn]

SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17)

#: Channels of a dense layer: several vectors of a fast row, with every remainder.
WIDTHS = (*SIZES, 31, 33, 64, 70)

#: Most elements: several vectors of a fast row, with every remainder of a vector and of channels.
LONGEST, MOST_CHANNELS = 2500, 200

#: Output offsets that are not zero points; Arm's code adds them in 32 bits.
_FAR = (128, -129, 129, 300, -1000, 32767, -32768, 2**30, -(2**30))

#: C argument of a q7 or q15 function -> its values; further arguments are in SIZES.
_RANGES = {
    "padding": (0, 4),
    "stride": (1, 3),
    "dim_kernel": (1, 5),
    "bias_shift": (0, 31),
    "out_shift": (0, 31),
    "int_width": (0, 3),
    "type": (0, 1),
    "out_lshift": (0, 31),
    "dim_im_in": (1, 11),
    "dim_im_out": (1, 9),
    "nb_batches": (1, 3),
    "batches": (1, 3),
    "input": (1, 11),
    "filter": (1, 5),
    "pad": (0, 4),
    "output": (1, 9),
}


def draw_one_in(rng: Random, n: int) -> bool:
    """Return True once in n times."""
    return rng.randrange(n) == n - 1


def get_limits(dtype: str) -> tuple[int, int]:
    """Return the ends of a type's range."""
    if dtype == "bool":
        return 0, 1
    return int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)


def draw_length(rng: Random) -> int:
    """Return elements of a vector, now and then many."""
    return rng.randint(1, LONGEST) if rng.randrange(3) == 2 else rng.choice(SIZES)


def draw_only_length(name: str = "length") -> Draw:
    """Return arguments of a function that takes a length alone."""
    return lambda rng, function: {name: draw_length(rng)}


def draw_output_offset(rng: Random, low: int, high: int) -> int:
    """Draw an output offset, mostly a zero point of the output's type."""
    return rng.randint(low, high) if rng.randrange(8) else rng.choice(_FAR)


def draw_activation(rng: Random, function: Function) -> Drawn:
    """Return the range of the output, if the function has one."""
    if "act_min" not in function.params:
        return {}
    low, high = get_limits(function.output.dtype)
    if rng.randrange(2):
        low, high = sorted((rng.randint(low, high), rng.randint(low, high)))
    return {"act_min": low, "act_max": high}


def draw_legacy(
    meet: Callable[[Random, Function, Drawn], None] = lambda rng, function, params: None,
    long: tuple[str, ...] = (),
    most: int = LONGEST,
) -> Draw:
    """Return arguments of a q7 or q15 function.

    meet: changes them to meet the constraints of the function; called nine times in ten. long:
    arguments that are sometimes up to `most`.
    """

    def draw(rng: Random, function: Function) -> Drawn:
        params = {name: _draw_argument(rng, name) for name in function.params}
        if long and draw_one_in(rng, 3):
            params.update({name: rng.randint(1, most) for name in long})
        if "offset" in params:
            high = 127 if function.type == "q7" else 32767
            params["offset"] = rng.randint(-high - 1, high)
        shifts = [name for name in params if name.endswith("_shift")]
        if any("shift" in name for name in params) and not draw_one_in(rng, 3):
            params.update({name: rng.randint(0, 12) for name in shifts})  # most results fit
        if "act_min" in params:
            low, high = get_limits(function.output.dtype)
            if draw_one_in(rng, 2):
                low, high = sorted((rng.randint(low, high), rng.randint(low, high)))
            params.update(act_min=low, act_max=high)
        if not draw_one_in(rng, 10):
            meet(rng, function, params)
        return params

    return draw


def _draw_argument(rng: Random, name: str) -> int:
    stem = name[:-2] if name.endswith(("_x", "_y", "_h", "_w")) else name
    return rng.randint(*_RANGES[stem]) if stem in _RANGES else rng.choice(SIZES)


def draw_window_sides(rng: Random) -> tuple[int, int, int, int, int]:
    """Return size, kernel, stride, dilation and pad along an axis.

    One time in six, windows skip much of the image, begin far outside it, or are larger than it.
    """
    size, kernel, stride = rng.randint(1, 11), rng.randint(1, 5), rng.randint(1, 3)
    dilation, pad = rng.choice((1, 1, 1, 2, 3)), rng.randint(0, kernel - 1)
    odd = rng.randrange(18)
    if odd == 15:
        stride = kernel + rng.randint(1, 4)
    elif odd == 16:
        pad = rng.randint(kernel, 3 * kernel)
    elif odd == 17:
        size = rng.randint(1, 2)
    return size, kernel, stride, dilation, pad


def draw_natural_output(rng: Random, params: Drawn, even: bool = False) -> None:
    """Draw output sizes that the geometry gives, sometimes rounded up; even: to an even number."""
    for name in [name for name in params if name.startswith("dim_im_out")]:
        axis = name[len("dim_im_out") :]
        sides = (params[f"{side}{axis}"] for side in ("dim_im_in", "padding", "dim_kernel"))
        size, padding, kernel = sides
        reach = size + 2 * padding - kernel
        params[name] = max(1, reach // params[f"stride{axis}"] + 1 + draw_one_in(rng, 10))
        params[name] += params[name] % 2 if even else 0


def draw_ends(rng: Random, dtype: str, low: str = "act_min", high: str = "act_max") -> Drawn:
    """Return a range within a type's range, or all of it."""
    least, most = get_limits(dtype)
    inside = sorted(rng.randint(least, most) for _ in range(2))
    return dict(zip((low, high), inside if rng.randrange(2) else (least, most)))


def draw_scale(rng: Random, prefix: str, low: int, high: int) -> Drawn:
    """Return a multiplier, and a shift within these limits."""
    multiplier = {f"{prefix}multiplier": rng.randint(2**30, 2**31 - 1)}
    return {**multiplier, f"{prefix}shift": rng.randint(low, high)}
