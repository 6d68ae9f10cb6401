"""Windows over images NHWC, for the convolutions of the s8 and s16 API.

Arm passes most of these arguments in structs; here they are keywords of the same names.
"""

from collections.abc import Mapping
from random import Random
from typing import Callable

from .base import Params
from .c_signature import Member, dims, pair
from .random_params import Drawn, draw_window_sides
from .s8_weighted import RANGE
from .shapes import Array

#: Numbers of Arm's functions in csrc/include/qn_params_s.h.
WRAPPER, ANY, POINT, POINT_FAST, ROW, OPT, SMALL, EVEN, REFERENCE = range(9)

DTYPES = {"s8": "int8", "s4": "int8", "s16": "int16"}

IMAGE: tuple[str, ...] = ("batches", "input_h", "input_w", "input_c", "filter_h", "filter_w")
SIDES: tuple[str, ...] = ("output_h", "output_w")
WINDOW: tuple[str, ...] = ("stride_h", "stride_w", "pad_h", "pad_w", "dilation_h", "dilation_w")
ENDS: tuple[str, ...] = ("input_offset", "output_offset", "act_min", "act_max")

FREE = "Padding below and to the right is what output_h and output_w imply."

#: Additions to the notes of 16-bit functions, and of functions with weights of 4 bits.
NOTES = {
    "s8": "",
    "s16": " Both offsets are ignored.",
    "s4": " Weights are nibbles, two in a byte, the first in the low half.",
}

#: Bytes of scratch memory, from the scalar C arguments and the path of the core.
Buffer = Callable[[Mapping[str, int], str], int]

#: Members of a struct with windows, and the sides of the input.
DILATED: dict[str, Member] = {
    **pair("stride", "stride"),
    **pair("padding", "pad"),
    **pair("dilation", "dilation"),
    **RANGE,
}
IMAGE_DIMS = dims("batches", "input_h", "input_w", "input_c")


def image(type: str) -> Array:
    """Return the input."""
    return Array("input", DTYPES[type], ("batches", "input_h", "input_w", "input_c"))


def nothing(params: Params, path: str) -> int:
    """Return no scratch memory, for any core."""
    return 0


def taps(p: Params) -> int:
    """Return the taps of a filter, as if there were no groups."""
    return p["filter_h"] * p["filter_w"] * p["input_c"]


def draw_windows(rng: Random) -> Drawn:
    """Return samples, and windows along both axes."""
    return {"batches": rng.randint(1, 3), **_draw_axis(rng, "h"), **_draw_axis(rng, "w")}


def _draw_axis(rng: Random, axis: str) -> Drawn:
    """Return one axis of windows; the last window may exceed the image, or end before
    its border.
    """
    size, kernel, stride, dilation, pad = draw_window_sides(rng)
    reach = size + pad + rng.randint(-2, kernel - 1) - dilation * (kernel - 1) - 1
    drawn = {"input": size, "filter": kernel, "stride": stride, "dilation": dilation, "pad": pad}
    drawn["output"] = max(1, reach // stride + 1)
    return {f"{name}_{axis}": n for name, n in drawn.items()}


def case(dim: int, kernel: int, type: str = "s8") -> Params:
    """Return a square window that keeps the image's size, in a case."""
    sides = {"input": dim, "output": dim, "filter": kernel, "stride": 1, "dilation": 1}
    sides["pad"] = (kernel - 1) // 2
    ends = (0, 0, -32768, 32767) if type == "s16" else (128, -128, -128, 127)
    windows = {f"{name}_{axis}": n for name, n in sides.items() for axis in "hw"}
    return {"batches": 1, **windows, **dict(zip(ENDS, ends))}
