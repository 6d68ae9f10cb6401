"""Transposed convolutions: images NHWC, a multiplier and a shift for each channel.

Those of the s8 API, and the reference kernel of TensorFlow Lite Micro, which takes 16 bits too.
"""

from dataclasses import dataclass, replace
from random import Random
from typing import Optional

import numpy as np

from ..operators import Conv, Operator, Shape
from .base import Function, Params
from .c_signature import Struct, dims, pair
from .float_semantics import FloatCall, Meant, make_real_layer
from .random_params import SIZES, Drawn, get_limits
from .s8_buffers import convolve_s8
from .s8_weighted import (
    OFFSETS,
    PER_CHANNEL,
    draw_weighted,
    make_weighted_order,
    rows,
    unpack_weights,
)
from .s8_windows import (
    ANY,
    DILATED,
    DTYPES,
    ENDS,
    IMAGE,
    IMAGE_DIMS,
    NOTES,
    REFERENCE,
    SIDES,
    WINDOW,
    WRAPPER,
    Buffer,
    draw_windows,
    image,
    taps,
)
from .shapes import Array, stack

#: Input channels up to which a transposed convolution is computed row by row.
_FEW_CHANNELS = 16


def _is_turned(p: Params) -> bool:
    """True if a transposed convolution equals a convolution with the filter rotated."""
    return max(p["stride_h"], p["stride_w"]) <= 2 and p["input_c"] > _FEW_CHANNELS


def _memory_second(p: Params, path: str) -> int:
    """Return the second buffer of a transposed convolution: for the filter turned round."""
    return taps(p) * p["output_c"] if _is_turned(p) else 0


def _count_rows(p: Params, stride: int) -> int:
    """Return the bytes of rows of sums whose last column has at least this many taps."""
    columns = (p["input_w"] - 1) * p["stride_w"] + max(p["filter_w"], stride)
    return 4 * columns * p["output_c"] * max(p["filter_h"], p["stride_h"])


def _memory_rows(p: Params, path: str) -> int:
    """Return rows of sums, as many bytes as the function uses."""
    return _count_rows(p, p["stride_w"])


def pad_after(p: Params) -> dict[str, int]:
    """Return the pixels of padding after the image, which ca476254 to f2cb41ca read."""
    return {
        f"pad_offset_{axis}": max(
            (p[f"input_{axis}"] - 1) * p[f"stride_{axis}"]
            + p[f"filter_{axis}"]
            - p[f"pad_{axis}"]
            - p[f"output_{axis}"],
            0,
        )
        for axis in "hw"
    }


def find_short_scratch(p: Params, given: Optional[int] = None) -> str:
    """Return a sentence on scratch memory by Arm's size function that is too small, or "".

    From 7.0.0 to main-2026-07 the function takes stride_h for stride_w (pull request 243). given:
    the bytes of the scratch memory; by default those of the function.
    """
    short, needed = _count_rows(p, p["stride_h"]), _count_rows(p, p["stride_w"])
    found = short if given is None else given
    if _is_turned(p) or not short <= found < needed:
        return ""
    return (
        f"arm_transpose_conv_s8 of CMSIS-NN 7.0.0 and later writes {needed} bytes of scratch "
        f"memory, but is given {found} (pull request 243), and overwrites {needed - found} bytes "
        "after it; use a filter at least as wide as the stride"
    )


def _memory_first(p: Params, path: str) -> int:
    """Return the first buffer: rows of sums, or the columns of a convolution."""
    return (convolve_s8 if _is_turned(p) else _memory_rows)(p, path)


def _memory_wrapper(p: Params, path: str) -> int:
    """Return both buffers: rows of sums, or the columns of a convolution and its filter."""
    return _memory_first(p, path) + _memory_second(p, path)


_MACS = ("batches", "input_h", "input_w", "input_c", "filter_h", "filter_w", "output_c")
_FILTER = Array("filter", "int8", ("output_c", "filter_h", "filter_w", "input_c"))

_STRUCTS = {
    "transpose_conv_params": Struct(
        "cmsis_nn_transpose_conv_params",
        {**OFFSETS, **DILATED, **pair("padding_offsets", "pad_offset")},
    ),
    "quant_params": PER_CHANNEL,
    "input_dims": IMAGE_DIMS,
    "filter_dims": dims("output_c", "filter_h", "filter_w", "input_c"),
    "bias_dims": dims(1, 1, 1, "output_c"),
    "output_dims": dims("batches", "output_h", "output_w", "output_c"),
}


def _draw(rng: Random, function: Function) -> Drawn:
    """Return pads that are multiples of the stride, except for many channels and the reference
    kernel.
    """
    p = draw_windows(rng)
    free = function.fixed["kernel"] == REFERENCE
    p.update(dilation_h=1, dilation_w=1)
    p.update({} if free else {"pad_offset_h": rng.randint(0, 1), "pad_offset_w": 0})
    p.update(input_c=rng.choice((*SIZES, 33)), output_c=rng.choice(SIZES))
    for axis in "hw":
        stride, filter, size = (p[f"{n}_{axis}"] for n in ("stride", "filter", "input"))
        pad = rng.randint(0, filter - 1)
        pad -= 0 if free else pad % stride
        more = rng.randint(0, max(0, filter - stride))
        p.update({f"pad_{axis}": pad, f"output_{axis}": max(1, size * stride - pad + more)})
    return p


def _make_doubling_case(dim: int, depth: int, out: int) -> dict[str, int]:
    """Return a case that makes twice the image's side, by windows of 4 x 4."""
    sides = {"input": dim, "output": 2 * dim, "filter": 4, "stride": 2, "dilation": 1, "pad": 1}
    pairs = {f"{n}_{a}": v for n, v in {**sides, "pad_offset": 0}.items() for a in "hw"}
    ends = dict(zip(ENDS, (128, -128, -128, 127)))
    return {"batches": 1, **pairs, **ends, "input_c": depth, "output_c": out}


@dataclass(frozen=True)
class _Spread(Operator):
    """Pixels apart by a stride, the first at `first`, in an image of zeros of a size."""

    stride: tuple[int, int]
    first: tuple[int, int]
    size: tuple[int, int]

    def shape(self, *inputs: Shape) -> Shape:
        """Return the image's."""
        return (*self.size, inputs[0][2])

    def evaluate(self, *inputs: np.ndarray) -> np.ndarray:
        """Return the pixels inside the image."""
        (x,) = inputs
        image = np.zeros((len(x), *self.shape(x.shape[1:])), x.dtype)
        ends = zip(self.first, self.stride, x.shape[1:3])
        (rows, columns) = (first + stride * np.arange(count) for first, stride, count in ends)
        there, here = ((at >= 0) & (at < size) for at, size in zip((rows, columns), self.size))
        image[:, rows[there, None], columns[here]] = x[:, there][:, :, here]
        return image


def _spread_image(params: Params) -> _Spread:
    """Return the image whose convolution is the transposed convolution."""
    sides = [params[f"filter_{axis}"] - 1 for axis in "hw"]
    return _Spread(
        (params["stride_h"], params["stride_w"]),
        (sides[0] - params["pad_h"], sides[1] - params["pad_w"]),
        (params["output_h"] + sides[0], params["output_w"] + sides[1]),
    )


def _define_meaning(call: FloatCall) -> Meant:
    """Return the product for the spread image and the rotated filter."""
    assert call.weights is not None
    turned = unpack_weights(_FILTER, call.params, call.weights)[:, ::-1, ::-1]
    return Meant((_spread_image(call.params), make_real_layer(call, Conv(turned))), (call.image,))


def _transpose(
    name: str,
    kernel: int,
    buffer: Buffer,
    second: str,
    scratch_buffers: dict[str, Buffer],
    *cases: Params,
) -> Function:
    """second: C's name of the second piece of scratch memory."""
    channels = rows("output_c")
    offsets = ("pad_offset_h", "pad_offset_w")
    return Function(
        name=name,
        op="transpose_conv_wrapper",
        type="s8",
        params=(*IMAGE, *SIDES, "output_c", *WINDOW, *offsets, *ENDS),
        inputs=(image("s8"),),
        weights=_FILTER,
        bias=stack("int32", *channels),
        stack=channels,
        output=Array("output", "int8", ("batches", "output_h", "output_w", "output_c")),
        fixed={"kernel": kernel},
        buffer=buffer,
        macs=_MACS,
        note="Only ca476254 to f2cb41ca read pad_offset_h and pad_offset_w.",
        order=make_weighted_order(
            "transpose_conv_params", _STRUCTS, _FILTER, more=second, scratch_buffers=scratch_buffers
        ),
        draw=draw_weighted(_draw),
        cases=cases,
        meaning=_define_meaning,
    )


def _make_tflm_kernel(type: str) -> Function:
    """Return the reference kernel."""
    wide = type == "s16"
    bias, multiplier, shift = rows("output_c", "int64" if wide else "int32")
    channels = (replace(bias, optional=False), multiplier, shift)
    low, high = get_limits(DTYPES[type])
    case = {**_make_doubling_case(8, 32, 16), "act_min": low, "act_max": high}
    case.update({"input_offset": 0, "output_offset": 0} if wide else {})
    return Function(
        name=f"tflm_transpose_conv_{type}",
        op="transpose_conv_wrapper",
        type=type,
        params=(*IMAGE, *SIDES, "output_c", *WINDOW, *ENDS),
        inputs=(image(type),),
        weights=_FILTER,
        bias=stack(bias.dtype, *channels),
        stack=channels,
        output=Array("output", DTYPES[type], ("batches", "output_h", "output_w", "output_c")),
        fixed={"kernel": REFERENCE, "pad_offset_h": 0, "pad_offset_w": 0},
        macs=_MACS,
        note=NOTES[type].strip(),
        draw=draw_weighted(_draw),
        cases=({name: n for name, n in case.items() if not name.startswith("pad_offset")},),
        meaning=_define_meaning,
    )


FUNCTIONS = (
    _make_tflm_kernel("s8"),
    _make_tflm_kernel("s16"),
    _transpose(
        "arm_transpose_conv_wrapper_s8",
        WRAPPER,
        _memory_wrapper,
        "reverse_conv_ctx",
        {"ctx": _memory_first, "reverse_conv_ctx": _memory_second},
        _make_doubling_case(8, 32, 16),
    ),
    _transpose("arm_transpose_conv_s8", ANY, _memory_rows, "output_ctx", {"ctx": _memory_rows}),
)
