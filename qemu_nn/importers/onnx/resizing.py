"""Resizing of images: sizes, and the places that modes and coordinates of a file name."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from ...errors import ModelError
from ...operators import Gather, Identity, Resize
from ...operators.resize import find_nearest
from .call import Converter, OnnxCall

#: Ways from a place in the output to one in the input.
WAYS = ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric")

#: Most rows and columns of a resized image.
_WIDEST = 65535


def read_sizes(call: OnnxCall, whole: Sequence[int]) -> tuple[list[int], list[float]]:
    """Return height and width of the result, and the scales that lead to them."""
    axes = call.integers("axes") or list(range(4))
    named = {}
    scales_at = 1 if call.node.op == "Upsample" or call.builder.opset < 11 else 2
    for index, key in ((scales_at, "scales"), (3, "sizes")):
        array = call.array(index) if call.has(index) else np.zeros(0)
        if array.size:
            named[key] = [float(number) for number in array.reshape(-1)]
    given = next(iter(named.values()), [])
    if len(named) != 1 or len(given) != len(axes):
        raise ModelError("it must have a scale or a size for each axis")
    found = dict(zip((axis % 4 for axis in axes), given))
    if "scales" in named:
        scales = [found.get(axis, 1.0) for axis in range(4)]
        to = [math.floor(side * scale) for side, scale in zip(whole, scales)]
    else:
        to = [int(found.get(axis, side)) for axis, side in enumerate(whole)]
        scales = [out / side for out, side in zip(to, whole)]
    if to[:2] != list(whole[:2]) or not all(1 <= side <= _WIDEST for side in to):
        raise ModelError(f"it cannot resize {list(whole)} to {to}")
    return to[2:], scales[2:]


def find_places(call: OnnxCall, way: str, side: int, to: int, scale: float) -> list[int]:
    """Return the element of an axis that each one of the resized axis is."""
    rounding = call.text("nearest_mode", "round_prefer_floor")
    if way not in WAYS or rounding not in _ROUNDINGS:
        raise ModelError(f"it resizes by 'nearest', {way!r} and {rounding!r}: not supported")
    out, ratio = np.arange(to, dtype=np.float32), np.float32(scale)
    if way == "align_corners":
        places = out * np.float32(side - 1) / np.float32(max(to - 1, 1))
    elif way == "asymmetric":
        places = out / ratio
    elif way == "pytorch_half_pixel" and to == 1:
        places = out
    else:
        places = (out + np.float32(0.5)) / ratio - np.float32(0.5)
    nearest = np.clip(_ROUNDINGS[rounding](places), 0, side - 1)
    return [int(place) for place in nearest]


_ROUNDINGS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "round_prefer_floor": lambda x: np.ceil(x - np.float32(0.5)),
    "round_prefer_ceil": lambda x: np.floor(x + np.float32(0.5)),
    "floor": np.floor,
    "ceil": np.ceil,
}


def resize(call: OnnxCall) -> None:
    """Convert Resize and Upsample of an image: to the nearest pixel, or bilinear."""
    x, old = call.tensor(), call.node.op == "Upsample" or call.builder.opset < 11
    if len(x.shape) != 4 or not x.batched:
        raise ModelError(f"its input must be an image [1, C, H, W], not {list(x.shape)}")
    mode = call.text("mode", "nearest")
    way = call.text("coordinate_transformation_mode", "asymmetric" if old else "half_pixel")
    call.ignore("cubic_coeff_a", "extrapolation_value")  # of other modes
    if not old:
        call.has(1)  # as is the region of interest
    to, scales = read_sizes(call, x.shape)
    if (
        call.integer("antialias", 0)
        or call.text("keep_aspect_ratio_policy", "stretch") != "stretch"
    ):
        raise ModelError("it has antialias or keep_aspect_ratio_policy, which are not supported")
    if mode == "nearest":
        if old:
            call.node.attributes.setdefault("nearest_mode", "floor")
        places = [find_places(call, way, *each) for each in zip(x.shape[2:], to, scales)]
        _pick(call, places)
        return
    call.ignore("nearest_mode")
    even = all(side * scale == out for side, scale, out in zip(x.shape[2:], scales, to))
    if mode not in ("linear", "bilinear") or way not in WAYS or not even:
        raise ModelError(
            f"it resizes {list(x.shape[2:])} to {to} by {mode!r} and {way!r}, for which there is "
            "no operator"
        )
    flags = (way == "align_corners", "half_pixel" in way)
    call.put(Resize("bilinear", (to[0], to[1]), *flags, layout="NCHW"), x)


def _pick(call: OnnxCall, places: list[list[int]]) -> None:
    """Add a resizing to the nearest pixel if it has these places, else a lookup for each axis."""
    x, size = call.tensor(), (len(places[0]), len(places[1]))
    for half in (False, True):
        own = [find_nearest(side, out, False, half) for side, out in zip(x.shape[2:], size)]
        if [list(each) for each in own] == places:
            call.put(Resize("nearest", size, half_pixel=half, layout="NCHW"), x)
            return
    moved = [
        (axis, each) for axis, each in enumerate(places, 1) if each != [*range(x.sample[axis])]
    ]
    if not moved:
        call.put(Identity(), x)
    for index, (axis, each) in enumerate(moved, 1):
        part = f"axis{axis}" if index < len(moved) else ""
        x = call.put(Gather(axis, tuple(each)), x, part=part)


RESIZING: dict[str, Converter] = {"Resize": resize, "Upsample": resize}
