"""Lowering of convolutions and fully connected layers: function, geometry, weights and shifts."""

from __future__ import annotations

import math

from ..errors import ModelError
from ..functions import FUNCTIONS, layouts
from ..operators import Conv, Dense, Pool
from .layer_context import Site

_STEMS = ("dim_im_in", "dim_kernel", "padding", "stride", "dim_im_out")


#: Reason why no function fits a 16-bit convolution; every 8-bit convolution has one.
_Q15_HINT = (
    "; with 16 bits a convolution must be square, or have even channels and an even output width"
)

#: Stem of a geometric argument -> (y, x).
Pairs = dict[str, tuple[int, ...]]


def geometry(site: Site, window: Conv | Pool) -> Pairs:
    """Return the geometry of a window in the terms of the q7 and q15 functions."""
    kernel, stride, pads = window.kernel, window.stride, window.pads
    return dict(zip(_STEMS, (site.image()[:2], kernel, pads[:2], stride, site.image(-1)[:2])))


def spell_arguments(function: str, pairs: Pairs) -> dict[str, int]:
    """Return the arguments of a function, square or not."""
    if f"{_STEMS[0]}_x" not in FUNCTIONS[function].params:
        return {stem: pair[0] for stem, pair in pairs.items()}
    return {
        f"{stem}_{axis}": pair[i] for stem, pair in pairs.items() for i, axis in enumerate("yx")
    }


def is_square(pairs: Pairs) -> bool:
    """True if the geometry is the same in y and x."""
    return all(pair[0] == pair[1] for pair in pairs.values())


def _are_unchecked_inside(pairs: Pairs) -> bool:
    """True if the windows that the fast q7 functions do not check on the DSP path are inside the
    image.

    After a frame as thick as the padding, the functions check nothing (csrc/q/convolve.h).
    """
    return all(
        (out - 1 - padding) * stride - padding + kernel <= size
        for size, kernel, padding, stride, out in zip(*(pairs[stem] for stem in _STEMS))
    )


def convolve(site: Site, conv: Conv) -> None:
    """Append the fastest convolution of the device that takes the layer."""
    if min(conv.pads[:2]) < 0:
        raise ModelError(
            f"its pads {conv.pads} crop the input, which no function does; crop it by a slice "
            "before"
        )
    pairs = geometry(site, conv)
    channels, out = site.image()[2], len(conv.weights)
    given = {"ch_im_in": channels, "ch_im_out": out}
    if conv.groups > 1:
        function = site.choose(
            [
                ("arm_depthwise_separable_conv_HWC_q7", is_square(pairs)),
                ("arm_depthwise_separable_conv_HWC_q7_nonsquare", True),
            ]
        )
        weights = site.filters(conv.weights)[..., 0].transpose(1, 2, 0).copy()
    else:
        function = site.choose(_list_candidates(site, conv, pairs), _Q15_HINT)
        weights = site.filters(conv.weights)
    shifts = site.shifts(conv.bias, out)
    site.call(function, {**spell_arguments(function, pairs), **given, **shifts}, weights)


def _list_candidates(site: Site, conv: Conv, pairs: Pairs) -> list[tuple[str, bool]]:
    channels, out = site.image()[2], len(conv.weights)
    square = is_square(pairs)
    if site.suffix == "q15":
        even = channels % 2 == out % 2 == 0 and (pairs["dim_im_out"][1] % 2 == 0 or not site.dsp)
        return [
            ("arm_convolve_HWC_q15_fast", even and square),
            ("arm_convolve_HWC_q15_fast_nonsquare", even),
            ("arm_convolve_HWC_q15_basic", square),
        ]
    by_four = channels % 4 == out % 2 == 0
    pixel = conv.kernel == (1, 1) and conv.stride == (1, 1) and not any(conv.pads)
    fast = by_four and (not site.dsp or _are_unchecked_inside(pairs))
    return [
        ("arm_convolve_1x1_HWC_q7_fast_nonsquare", by_four and pixel),
        ("arm_convolve_HWC_q7_RGB", channels == 3 and square),
        ("arm_convolve_HWC_q7_fast", fast and square),
        ("arm_convolve_HWC_q7_fast_nonsquare", fast),
        ("arm_convolve_HWC_q7_basic", square),
        ("arm_convolve_HWC_q7_basic_nonsquare", True),
    ]


def fully_connected(site: Site, dense: Dense) -> None:
    """Append a fully connected layer, of interleaved weights unless the plain function is named."""
    rows, columns = dense.weights.shape
    if max(rows, columns) > 65535 or math.prod(site.shapes[0]) != columns:
        raise ModelError(
            f"it has {rows} rows and {columns} columns; its function takes up to 65535 of each"
        )
    plain = f"arm_fully_connected_{site.suffix}"
    function = site.choose([(f"{plain}_opt", True), (plain, True)])
    weights = site.filters(dense.weights)
    interleave = FUNCTIONS[function].interleave
    if interleave is not None:
        weights = layouts.pack(weights, interleave)
    shifts = site.shifts(dense.bias, rows)
    site.call(function, {"dim_vec": columns, "num_of_rows": rows, **shifts}, weights)
