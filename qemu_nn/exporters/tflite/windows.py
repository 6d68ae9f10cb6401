"""Convolutions and pooling of images; the file names two kinds of padding, SAME and VALID."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Callable, Optional

import numpy as np

from ...errors import ModelError
from ...ir.formats import Format, activation_limits
from .building import TfliteSite
from .scales import find_weight_scales
from .schema import OptionValue

#: A function that converts one call.
CallConverter = Callable[[TfliteSite], None]

#: Fused activation -> its lower and upper limit.
ACTIVATIONS = {
    "NONE": (-np.inf, np.inf),
    "RELU": (0.0, np.inf),
    "RELU6": (0.0, 6.0),
    "RELU_N1_TO_1": (-1.0, 1.0),
}

_AXES = ("h", "w")


def find_activation(params: Mapping[str, int], output: Format) -> Optional[str]:
    """Return the fused activation that clamps to act_min and act_max; None if none does."""
    wanted = {name: params[name] for name in ("act_min", "act_max")}
    kept = (k for k, ends in ACTIVATIONS.items() if activation_limits(*ends, output) == wanted)
    return next(kept, None)


def make_fused_options(site: TfliteSite) -> dict[str, OptionValue]:
    """Return the option of an operator with a fused activation."""
    kind = find_activation(site.params, site.output.format)
    if kind is None:
        low, high = (site.params[name] for name in ("act_min", "act_max"))
        raise ModelError(f"it clamps to {low} and {high}; no fused activation has these limits")
    return {"FusedActivationFunction": ("ActivationFunctionType", kind)}


def find_padding(params: Mapping[str, int]) -> Optional[str]:
    """Return "SAME" or "VALID" if one has the call's padding and output size, else None."""
    for kind in ("VALID", "SAME"):
        if all(_get_windows(params, axis) == _count_windows(params, axis, kind) for axis in _AXES):
            return kind
    return None


def _get_windows(params: Mapping[str, int], axis: str) -> tuple[int, int]:
    return params[f"output_{axis}"], params[f"pad_{axis}"]


def _count_windows(params: Mapping[str, int], axis: str, kind: str) -> tuple[int, int]:
    """Return the number of windows along an axis, and the padding before the first."""
    size, stride, covered = (
        params[f"input_{axis}"],
        params[f"stride_{axis}"],
        get_window_extent(params, axis),
    )
    if kind == "VALID":
        return (size - covered) // stride + 1, 0
    out = -(-size // stride)
    return out, max((out - 1) * stride + covered - size, 0) // 2


def get_window_extent(params: Mapping[str, int], axis: str) -> int:
    """Return the extent of a window along an axis, with dilation."""
    return (params[f"filter_{axis}"] - 1) * params.get(f"dilation_{axis}", 1) + 1


def make_window_options(site: TfliteSite, *, dilated: bool = True) -> dict[str, OptionValue]:
    """Return the options of padding, stride and dilation."""
    kind = find_padding(site.params)
    if kind is None:
        pads = [site.params[f"pad_{axis}"] for axis in _AXES]
        raise ModelError(
            f"its padding is {pads[0]} at the top and {pads[1]} at the left; it must be SAME or "
            "VALID"
        )
    options: dict[str, OptionValue] = {"Padding": ("Padding", kind)}
    for axis in _AXES:
        options[f"Stride{axis.upper()}"] = site.params[f"stride_{axis}"]
        if dilated:
            options[f"Dilation{axis.upper()}Factor"] = site.params[f"dilation_{axis}"]
    return options


def view_images(site: TfliteSite) -> tuple[int, tuple[int, ...]]:
    """Return the index of the input as images, and the shape of the output as images."""
    declared = site.node.function
    x = site.view_input(0, declared.inputs[0].shape(site.params))
    return x, declared.output.shape(site.params)


def add_weights(
    site: TfliteSite,
    shape: tuple[int, ...],
    axis: int,
    type: str,
    pairs: Sequence[tuple[int, int]],
    *,
    product: bool = False,
) -> int:
    """Add the weights with one scale per pair of multiplier and shift; return their index."""
    formats = site.source().format.scale, site.output.format.scale
    try:
        scales = find_weight_scales(pairs, *formats, product=product)
    except ModelError as error:
        raise ModelError(f"its weights: {error}") from None
    array, zero = site.array("weights"), -site.params.get("filter_offset", 0)
    return site.file.weights(f"{site.node.name}/weights", array, shape, scales, axis, zero, type)


def add_bias(site: TfliteSite, weights: int, values: np.ndarray) -> int:
    """Add the bias with the products' scales; return its index."""
    source = np.float32(site.source().format.scale)
    steps = source * np.array(site.file.tensors[weights].scales, np.float32)
    kept = np.maximum(steps, np.finfo(np.float32).tiny)  # a scale must not be 0
    return site.file.weights(f"{site.node.name}/bias", values, values.shape, kept.tolist())


def _channel_params(site: TfliteSite) -> tuple[np.ndarray, list[tuple[int, int]]]:
    """Return the bias, and multiplier and shift of each output channel."""
    own, multiplier, shift = site.array("bias")
    return own, list(zip(multiplier.tolist(), shift.tolist()))


def get_weight_type(site: TfliteSite) -> str:
    """Return the schema's type of 4-bit weights; "" for the type of the array."""
    return "INT4" if site.node.function.type == "s4" else ""


def convolve(site: TfliteSite) -> None:
    """Convert to CONV_2D."""
    x, made = view_images(site)
    own, pairs = _channel_params(site)
    shape = tuple(site.params[n] for n in ("output_c", "filter_h", "filter_w", "filter_c"))
    inputs = [x, add_weights(site, shape, 0, get_weight_type(site), pairs)]
    narrow, missing = bool(site.params.get("bias_is_int32")), missing_bias(site, "convolve_16x8")
    if missing is None:
        inputs.append(add_bias(site, inputs[1], own.astype(np.int32) if narrow else own))
    options = {**make_window_options(site), **make_fused_options(site), **(missing or {})}
    site.put("CONV_2D", inputs, "Conv2DOptions", made, **options)


#: Suffix of a difference of layers without bias -> the bias type that the options of the file name.
_MISSING_BIAS = {"narrow": "INT64", "narrow_unsaid": "", "int32": "INT32"}


def missing_bias(site: TfliteSite, operator: str) -> Optional[dict[str, OptionValue]]:
    """Return the options of a 16-bit layer that was read without bias; None if it has a bias."""
    read = {build.difference for build in site.node.builds}
    for suffix, kind in _MISSING_BIAS.items():
        if f"{operator}_{suffix}" in read:
            return {"QuantizedBiasType": ("TensorType", kind)} if kind else {}
    return None


def depthwise(site: TfliteSite) -> None:
    """Convert to DEPTHWISE_CONV_2D."""
    x, made = view_images(site)
    own, pairs = _channel_params(site)
    shape = (1, site.params["filter_h"], site.params["filter_w"], len(own))
    inputs = [x, add_weights(site, shape, 3, get_weight_type(site), pairs)]
    inputs.append(add_bias(site, inputs[1], own))
    options = {
        "DepthMultiplier": site.params["ch_mult"],
        **make_window_options(site),
        **make_fused_options(site),
    }
    site.put("DEPTHWISE_CONV_2D", inputs, "DepthwiseConv2DOptions", made, **options)


def pool(site: TfliteSite, operator: str) -> None:
    """Convert to AVERAGE_POOL_2D or MAX_POOL_2D."""
    x, made = view_images(site)
    sides = {"FilterHeight": site.params["filter_h"], "FilterWidth": site.params["filter_w"]}
    options = {**make_window_options(site, dilated=False), **sides, **make_fused_options(site)}
    site.put(operator, [x], "Pool2DOptions", made, **options)


def transpose_conv(site: TfliteSite) -> None:
    """Convert to TRANSPOSE_CONV; its windows cover its output.

    The fused activation is that of builds which apply it.
    """
    x, made = view_images(site)
    params, (own, pairs) = site.params, _channel_params(site)
    turned = {f"{a}_{axis}": params[f"{b}_{axis}"] for a, b in _TURNED for axis in _AXES}
    options = make_window_options(
        replace(site, node=replace(site.node, params={**params, **turned})), dilated=False
    )
    ends = [b.params for b in site.node.builds if b.difference == "transpose_conv_activation"]
    kind = find_activation(ends[0] if ends else params, site.output.format)
    if kind is None:
        raise ModelError("its limits act_min and act_max must be those of a fused activation")
    shape = tuple(params[n] for n in ("output_c", "filter_h", "filter_w", "input_c"))
    weights = add_weights(site, shape, 0, "", pairs)
    inputs = [
        site.file.constant(np.array(made, np.int32)),
        weights,
        x,
        add_bias(site, weights, own),
    ]
    options["FusedActivationFunction"] = ("ActivationFunctionType", kind)
    site.put("TRANSPOSE_CONV", inputs, "TransposeConvOptions", made, **options)


#: The output is the image that a convolution with these windows would read.
_TURNED = (("input", "output"), ("output", "input"))

WINDOWS: dict[str, CallConverter] = {
    **{f"arm_convolve_wrapper_{type}": convolve for type in ("s8", "s16", "s4")},
    **{f"arm_depthwise_conv_wrapper_{type}": depthwise for type in ("s8", "s16", "s4")},
    **dict.fromkeys(("arm_transpose_conv_wrapper_s8", "tflm_transpose_conv_s16"), transpose_conv),
    **{f"arm_avgpool_{type}": partial(pool, operator="AVERAGE_POOL_2D") for type in ("s8", "s16")},
    **{f"arm_max_pool_{type}": partial(pool, operator="MAX_POOL_2D") for type in ("s8", "s16")},
}
