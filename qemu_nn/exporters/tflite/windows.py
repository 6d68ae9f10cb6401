"""Convolutions and poolings: windows over images, whose padding the file knows by two names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Callable, Optional

import numpy as np

from ...errors import ModelError
from ...ir.formats import Format, activation_limits
from .building import Site
from .scales import weight_scales
from .schema import Field

#: Writes one call.
Maker = Callable[[Site], None]

#: Fused activation -> the real numbers that it keeps.
ACTIVATIONS = {
    "NONE": (-np.inf, np.inf),
    "RELU": (0.0, np.inf),
    "RELU6": (0.0, 6.0),
    "RELU_N1_TO_1": (-1.0, 1.0),
}

_AXES = ("h", "w")


def activation(params: Mapping[str, int], output: Format) -> Optional[str]:
    """The fused activation that keeps act_min to act_max; None if none does."""
    wanted = {name: params[name] for name in ("act_min", "act_max")}
    kept = (k for k, ends in ACTIVATIONS.items() if activation_limits(*ends, output) == wanted)
    return next(kept, None)


def fused(site: Site) -> dict[str, Field]:
    """The option of an operator with a fused activation."""
    kind = activation(site.params, site.output.format)
    if kind is None:
        low, high = (site.params[name] for name in ("act_min", "act_max"))
        raise ModelError(f"no fused activation keeps its integers {low} to {high}")
    return {"FusedActivationFunction": ("ActivationFunctionType", kind)}


def padding(params: Mapping[str, int]) -> Optional[str]:
    """ "SAME" or "VALID", whichever places the windows so; None if neither does."""
    for kind in ("VALID", "SAME"):
        if all(_placed(params, axis) == _padded(params, axis, kind) for axis in _AXES):
            return kind
    return None


def _placed(params: Mapping[str, int], axis: str) -> tuple[int, int]:
    return params[f"output_{axis}"], params[f"pad_{axis}"]


def _padded(params: Mapping[str, int], axis: str, kind: str) -> tuple[int, int]:
    """How many windows there are along an axis, and what lies in front of the first."""
    size, stride, covered = params[f"input_{axis}"], params[f"stride_{axis}"], window(params, axis)
    if kind == "VALID":
        return (size - covered) // stride + 1, 0
    out = -(-size // stride)
    return out, max((out - 1) * stride + covered - size, 0) // 2


def window(params: Mapping[str, int], axis: str) -> int:
    """Elements of an axis from the first to the last that one window meets."""
    return (params[f"filter_{axis}"] - 1) * params.get(f"dilation_{axis}", 1) + 1


def placed(site: Site, *, dilated: bool = True) -> dict[str, Field]:
    """The options that say where windows lie."""
    kind = padding(site.params)
    if kind is None:
        pads = [site.params[f"pad_{axis}"] for axis in _AXES]
        raise ModelError(f"its padding, {pads[0]} above and {pads[1]} to the left, has no name")
    options: dict[str, Field] = {"Padding": ("Padding", kind)}
    for axis in _AXES:
        options[f"Stride{axis.upper()}"] = site.params[f"stride_{axis}"]
        if dilated:
            options[f"Dilation{axis.upper()}Factor"] = site.params[f"dilation_{axis}"]
    return options


def images(site: Site) -> tuple[int, tuple[int, ...]]:
    """An input as images, and the shape of the images that are made of them."""
    declared = site.node.function
    x = site.takes(0, declared.inputs[0].shape(site.params))
    return x, declared.output.shape(site.params)


def channels(
    site: Site, shape: tuple[int, ...], axis: int, type: str, pairs: Sequence[tuple[int, int]],
    *, product: bool = False,
) -> int:  # fmt: skip
    """The weights, with a scale for each pair of multiplier and shift along an axis."""
    formats = site.source().format.scale, site.output.format.scale
    try:
        scales = weight_scales(pairs, *formats, product=product)
    except ModelError as error:
        raise ModelError(f"its weights: {error}") from None
    array, zero = site.array("weights"), -site.params.get("filter_offset", 0)
    return site.file.weights(f"{site.node.name}/weights", array, shape, scales, axis, zero, type)


def bias(site: Site, weights: int, values: np.ndarray) -> int:
    """The bias, in steps of the products."""
    source = np.float32(site.source().format.scale)
    steps = source * np.array(site.file.tensors[weights].scales, np.float32)
    kept = np.maximum(steps, np.finfo(np.float32).tiny)  # no format has the scale 0
    return site.file.weights(f"{site.node.name}/bias", values, values.shape, kept.tolist())


def _rows(site: Site) -> tuple[np.ndarray, list[tuple[int, int]]]:
    """Bias, and multiplier and shift, of each output channel."""
    own, multiplier, shift = site.array("bias")
    return own, list(zip(multiplier.tolist(), shift.tolist()))


def four_bits(site: Site) -> str:
    """The type of weights."""
    return "INT4" if site.node.function.type == "s4" else ""


def convolve(site: Site) -> None:
    """CONV_2D."""
    x, made = images(site)
    own, pairs = _rows(site)
    shape = tuple(site.params[n] for n in ("output_c", "filter_h", "filter_w", "filter_c"))
    inputs = [x, channels(site, shape, 0, four_bits(site), pairs)]
    narrow = bool(site.params.get("bias_is_int32"))
    if not (narrow and _had_none(site)):
        inputs.append(bias(site, inputs[1], own.astype(np.int32) if narrow else own))
    site.put("CONV_2D", inputs, "Conv2DOptions", made, **placed(site), **fused(site))


def _had_none(site: Site) -> bool:
    """Whether other builds of TensorFlow Lite Micro take 64 bits for a bias that is not there."""
    wide = [build for build in site.node.builds if build.difference == "convolve_16x8_wide"]
    return bool(wide) and not wide[0].params["bias_is_int32"]


def depthwise(site: Site) -> None:
    """DEPTHWISE_CONV_2D."""
    x, made = images(site)
    own, pairs = _rows(site)
    shape = (1, site.params["filter_h"], site.params["filter_w"], len(own))
    inputs = [x, channels(site, shape, 3, four_bits(site), pairs)]
    inputs.append(bias(site, inputs[1], own))
    options = {"DepthMultiplier": site.params["ch_mult"], **placed(site), **fused(site)}
    site.put("DEPTHWISE_CONV_2D", inputs, "DepthwiseConv2DOptions", made, **options)


def pool(site: Site, operator: str) -> None:
    """AVERAGE_POOL_2D and MAX_POOL_2D."""
    x, made = images(site)
    sides = {"FilterHeight": site.params["filter_h"], "FilterWidth": site.params["filter_w"]}
    options = {**placed(site, dilated=False), **sides, **fused(site)}
    site.put(operator, [x], "Pool2DOptions", made, **options)


def transpose_conv(site: Site) -> None:
    """TRANSPOSE_CONV, whose windows lie over its output; its activation is that of other builds."""
    x, made = images(site)
    params, (own, pairs) = site.params, _rows(site)
    turned = {f"{a}_{axis}": params[f"{b}_{axis}"] for a, b in _TURNED for axis in _AXES}
    options = placed(
        replace(site, node=replace(site.node, params={**params, **turned})), dilated=False
    )
    ends = [b.params for b in site.node.builds if b.difference == "transpose_conv_activation"]
    kind = activation(ends[0] if ends else params, site.output.format)
    if kind is None:
        raise ModelError("no fused activation keeps its integers")
    shape = tuple(params[n] for n in ("output_c", "filter_h", "filter_w", "input_c"))
    weights = channels(site, shape, 0, "", pairs)
    inputs = [site.file.constant(np.array(made, np.int32)), weights, x, bias(site, weights, own)]
    options["FusedActivationFunction"] = ("ActivationFunctionType", kind)
    site.put("TRANSPOSE_CONV", inputs, "TransposeConvOptions", made, **options)


#: The image that a convolution with these windows would read is what is made here.
_TURNED = (("input", "output"), ("output", "input"))

WINDOWS: dict[str, Maker] = {
    **{f"arm_convolve_wrapper_{type}": convolve for type in ("s8", "s16", "s4")},
    **{f"arm_depthwise_conv_wrapper_{type}": depthwise for type in ("s8", "s16", "s4")},
    **dict.fromkeys(("arm_transpose_conv_wrapper_s8", "tflm_transpose_conv_s16"), transpose_conv),
    **{f"arm_avgpool_{type}": partial(pool, operator="AVERAGE_POOL_2D") for type in ("s8", "s16")},
    **{f"arm_max_pool_{type}": partial(pool, operator="MAX_POOL_2D") for type in ("s8", "s16")},
}
