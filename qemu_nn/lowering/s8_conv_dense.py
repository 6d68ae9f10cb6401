"""Lowering of convolutions, fully connected layers and poolings to calls of the s8 and s16
functions.
"""

from __future__ import annotations

import math
from typing import Optional

import numpy as np

from ..errors import ModelError
from ..functions.layouts import pack_nibbles
from ..ir.formats import quantize_symmetric
from ..operators import Conv, Dense, Operator, Pool
from .s8_context import S8Site

#: Biases have 32 bits; with 16-bit activations they have 64, of which 48 are used.
_MOST_BIAS, _MOST_WIDE_BIAS = 2**31 - 1, 2**47 - 1

#: arm_depthwise_conv_fast_s16 takes fewer elements of a window.
_FAST_TAPS = 512

#: The largest shift of sums of 64 bits.
_LARGEST_WIDE_SHIFT = 7

#: The end of the names of functions with weights of 4 bits.
NARROW = "s4"

PER_ROW = "arm_fully_connected_per_channel_s8"

_POOLS = {"max": "arm_max_pool", "average": "arm_avgpool"}


def geometry(site: S8Site, window: Conv | Pool) -> dict[str, int]:
    """Return the arguments with the positions of windows; they imply the padding after
    the image.
    """
    if min(window.pads[:2]) < 0:
        raise ModelError(
            f"its pads {window.pads} crop the input, which no function does; crop it by a slice "
            "before"
        )
    steps = window.dilation if isinstance(window, Conv) else (1, 1)
    stems = ("input", "filter", "stride", "pad", "dilation", "output")
    pairs = (site.image(), window.kernel, window.stride, window.pads, steps, site.image(-1))
    sides = {f"{n}_{axis}": pair[i] for n, pair in zip(stems, pairs) for i, axis in enumerate("hw")}
    return {"batches": 1, **sides}


def make_offsets(site: S8Site) -> dict[str, int]:
    """Return the zero points and the clamp of a layer with weights."""
    source = site.formats[0]
    return {
        "input_offset": -source.zero_point,
        "filter_offset": 0,
        "output_offset": site.output.zero_point,
        **site.clamp(),
    }


def convolve(site: S8Site, conv: Conv) -> None:
    """Append a depthwise convolution, or one in any number of groups."""
    channels, out = site.image()[2], len(conv.weights)
    weights = quantize_weights(site, conv.weights)
    rows = make_channel_scaling(site, conv.bias, out)
    params = {**geometry(site, conv), **make_offsets(site), "input_c": channels}
    if conv.depthwise:
        function = site.choose(_depthwise(site, conv, out // channels))
        filters = np.ascontiguousarray(weights[..., 0].transpose(1, 2, 0))[None]
        site.call(
            function, {**params, "ch_mult": out // channels}, _pack_weights(function, filters), rows
        )
        return
    function = site.choose(_plain(site, conv))
    params.update(filter_c=conv.weights.shape[3], output_c=out, bias_is_int32=0)
    site.call(function, params, _pack_weights(function, weights), rows)


def fully_connected(site: S8Site, dense: Dense) -> None:
    """Append a fully connected layer with one scale for all weights, or one for each row."""
    rows, columns = dense.weights.shape
    assert site.scales is not None
    each = site.scales.size > 1
    batches = math.prod(site.shapes[0]) // columns
    if site.wide:
        choices = [("arm_fully_connected_s16", True)]
    else:
        choices = [
            ("arm_fully_connected_s8", not each),
            (PER_ROW, each or rows == 1),
            (f"arm_fully_connected_{NARROW}", not each),
        ]
    function = site.choose(choices)
    params = {"batches": batches, "input_c": columns, "output_c": rows, **make_offsets(site)}
    weights = quantize_weights(site, dense.weights)
    if function == PER_ROW:
        site.call(function, params, weights, make_channel_scaling(site, dense.bias, rows))
        return
    # As in TensorFlow Lite Micro: the product of two scales in float32, here alone.
    product = np.float32(site.formats[0].scale) * np.float32(site.scales.item())
    params["multiplier"], params["shift"] = _make_scaling(site, float(product) / site.output.scale)
    site.call(
        function, params, _pack_weights(function, weights), _quantize_bias(site, dense.bias, rows)
    )


def pool(site: S8Site, operator: Pool) -> None:
    """Append the maximum or average of the cells of each window that are inside the image."""
    if operator.kind == "average" and operator.count_pads and any(operator.pads):
        raise ModelError(
            "some of its windows count padding in the average and others do not; no function "
            "does both"
        )
    site.same_formats()
    params = {**geometry(site, operator), **site.clamp(), "channels": site.image()[2]}
    site.call(site.choose([(f"{_POOLS[operator.kind]}_{site.suffix}", True)]), params)


def _plain(site: S8Site, conv: Conv) -> list[tuple[str, bool]]:
    """Return the wrapper, which calls one of the further functions, and these for users who name
    one.
    """
    if site.wide:
        return [("arm_convolve_wrapper_s16", True), ("arm_convolve_s16", True)]
    point = conv.kernel == (1, 1) and not any(conv.pads) and conv.groups == 1
    return [
        ("arm_convolve_wrapper_s8", True),
        ("arm_convolve_s8", True),
        ("arm_convolve_1x1_s8", point),
        ("arm_convolve_1x1_s8_fast", point and conv.stride == (1, 1)),
        (f"arm_convolve_wrapper_{NARROW}", conv.groups == 1),
        (f"arm_convolve_{NARROW}", conv.groups == 1),
    ]


def _depthwise(site: S8Site, conv: Conv, multiplier: int) -> list[tuple[str, bool]]:
    single = multiplier == 1
    if site.wide:
        fast = single and conv.dilation == (1, 1) and math.prod(conv.kernel) < _FAST_TAPS
        return [
            ("arm_depthwise_conv_wrapper_s16", True),
            ("arm_depthwise_conv_s16", True),
            ("arm_depthwise_conv_fast_s16", fast),
        ]
    small = conv.kernel == (3, 3) and conv.dilation == (1, 1) and conv.pads[1] <= 1
    return [
        ("arm_depthwise_conv_wrapper_s8", True),
        ("arm_depthwise_conv_s8", True),
        ("arm_depthwise_conv_s8_opt", single),
        ("arm_depthwise_conv_3x3_s8", single and small),
        (f"arm_depthwise_conv_wrapper_{NARROW}", True),
        (f"arm_depthwise_conv_{NARROW}", True),
    ]


def choose_narrow_function(operator: Operator) -> Optional[str]:
    """Return the function for a layer with 4-bit weights; None if there is none."""
    if isinstance(operator, Dense):
        return f"arm_fully_connected_{NARROW}"
    if not isinstance(operator, Conv) or (operator.groups > 1 and not operator.depthwise):
        return None
    stem = "arm_depthwise_conv" if operator.depthwise else "arm_convolve"
    return f"{stem}_wrapper_{NARROW}"


def quantize_weights(site: S8Site, real: np.ndarray) -> np.ndarray:
    """Return weights as integers."""
    assert site.scales is not None
    return quantize_symmetric(real, site.scales, site.most).astype(np.int8)


def _pack_weights(function: str, weights: np.ndarray) -> np.ndarray:
    return pack_nibbles(weights) if function.endswith(NARROW) else weights


def _quantize_bias(site: S8Site, real: Optional[np.ndarray], rows: int) -> np.ndarray:
    """Return the bias in steps of the products, int32 or int64; zeros without a bias."""
    assert site.scales is not None
    steps = site.formats[0].scale * np.broadcast_to(site.scales.ravel().astype(np.float64), rows)
    most, dtype = (_MOST_WIDE_BIAS, np.int64) if site.wide else (_MOST_BIAS, np.int32)
    return quantize_symmetric(np.zeros(rows) if real is None else real, steps, most).astype(dtype)


def _make_scaling(site: S8Site, real: float) -> tuple[int, int]:
    return site.make_scaling(real, _LARGEST_WIDE_SHIFT) if site.wide else site.make_scaling(real)


def make_channel_scaling(site: S8Site, bias: Optional[np.ndarray], rows: int) -> np.ndarray:
    """Return bias, multiplier and shift of every output channel."""
    assert site.scales is not None
    source, output = site.formats[0].scale, site.output.scale
    scales = np.broadcast_to(site.scales.ravel(), rows)
    pairs = np.array([_make_scaling(site, source * float(scale) / output) for scale in scales])
    own = _quantize_bias(site, bias, rows)
    return np.array([own, *pairs.T], own.dtype)
