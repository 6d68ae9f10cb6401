"""Element-wise and row-wise operators: arithmetic, activations and requantization."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from ...errors import Error, ModelError
from ...functions.scaling import (
    quantize_multiplier,
    scale_leaky_relu,
    scale_softmax,
    scale_softmax_s16,
)
from ...ir.formats import activation_limits
from ...operators import Shape
from .building import TfliteSite
from .scales import compute_multiplier, find_scale
from .schema import OptionValue
from .windows import ACTIVATIONS, CallConverter, make_fused_options


def convert_pair(site: TfliteSite, operator: str, kind: str = "", **options: OptionValue) -> None:
    """Convert to an operator of two tensors that broadcasts the smaller one."""
    inputs = [view_operand(site, index, site.whole) for index in range(2)]
    site.put(operator, inputs, kind, None, **options)


def convert_activated(site: TfliteSite, operator: str, kind: str) -> None:
    """Convert to an operator of two tensors with a fused activation."""
    options = make_fused_options(site)
    if operator in ("ADD", "SUB") and site.output.dtype == "int16":
        options["PotScaleInt16"] = False  # scales need not be powers of two
    convert_pair(site, operator, kind, **options)


def view_operand(site: TfliteSite, index: int, whole: Shape) -> int:
    """Return the index of an input in the output's shape, or in one that broadcasts to it."""
    copy = site.file.copies.get(site.node.inputs[index])
    if copy is None:
        return site.view_input(index, whole)
    outer, inner = (
        [copy.params[f"{end}_{axis}"] for axis in "nhwc"] for end in ("output", "input")
    )
    kept = [(a, b) for a, b in zip(inner, outer) if b > 1]
    if [b for _, b in kept] != [side for side in whole if side > 1]:
        raise ModelError(
            f"{copy.name} broadcasts to {[b for _, b in kept]}; it must broadcast to {list(whole)}"
        )
    sides = iter(a for a, _ in kept)
    small = tuple(next(sides) if side > 1 else 1 for side in whole)
    name = copy.inputs[0]
    held = site.file.shape(name)
    if (1,) * (len(whole) - len(held)) + held == small:
        return site.file.view(name)
    return site.file.view(name, small)


def convert_unary(site: TfliteSite, operator: str, kind: str = "") -> None:
    """Convert to an element-wise operator without options."""
    site.put(operator, [site.view_input(0, site.whole)], kind)


def softmax(site: TfliteSite) -> None:
    """Convert to SOFTMAX of rows."""
    source, wide = site.source().format.scale, "diff_min" not in site.params
    wanted = site.params["mult"], site.params["shift"]

    def quantize(beta: float) -> tuple[int, ...]:
        if wide:
            return scale_softmax_s16(beta, source)
        try:
            return scale_softmax(beta, source)[:2]
        except Error:
            return ()

    near = 1.0
    if quantize(1.0) != wanted:
        unit = 65535 / 10 if wide else 2.0**26
        near = compute_multiplier(*wanted) / unit / source
    beta = find_scale(near, quantize, wanted, "the softmax")
    rows = site.params["num_rows"], site.params["row_size"]
    shape = site.whole if site.whole[-1] == rows[1] else rows
    site.put("SOFTMAX", [site.view_input(0, shape)], "SoftmaxOptions", shape, Beta=beta)


def rectify(site: TfliteSite) -> None:
    """Convert to RELU or RELU6 with requantization."""
    wanted = {name: site.params[name] for name in ("act_min", "act_max")}
    for kind in ("RELU", "RELU6"):
        if activation_limits(*ACTIVATIONS[kind], site.output.format) == wanted:
            convert_unary(site, kind)
            return
    raise ModelError(
        f"it clamps to {wanted['act_min']} and {wanted['act_max']}; the limits must be those of "
        "RELU or RELU6"
    )


def leaky(site: TfliteSite) -> None:
    """Convert to LEAKY_RELU."""
    formats = site.source().format.scale, site.output.format.scale
    each_way = [(site.params, np.float32)]
    each_way += [(b.params, np.float64) for b in site.node.builds if b.params]
    wanted = [(params["alpha_multiplier"], params["alpha_shift"]) for params, _ in each_way]
    sign = -1.0 if wanted[0][0] < 0 else 1.0

    def quantize(slope: float) -> list[tuple[int, int]]:
        return [scale_leaky_relu(*formats, sign * slope, real)[1] for _, real in each_way]

    near = sign * compute_multiplier(*wanted[0]) * formats[1] / formats[0]
    alpha = sign * find_scale(near, quantize, wanted, "the slope") if wanted[0][0] else 0.0
    site.put("LEAKY_RELU", [site.view_input(0, site.whole)], "LeakyReluOptions", Alpha=alpha)


def prelu(site: TfliteSite) -> None:
    """Convert to PRELU."""
    params, slopes = site.params, site.array("weights").reshape(-1)
    whole, count = site.whole, slopes.size
    axis = next((i for i in range(len(whole)) if math.prod(whole[i:]) == count), None)
    if axis is None:
        whole, axis = (params["outer"], params["inner"]), 1
    source, output = site.source().format.scale, site.output.format.scale
    wanted = params["alpha_multiplier"], params["alpha_shift"]
    quantize = lambda scale: quantize_multiplier(source * scale / output)  # noqa: E731
    near = (compute_multiplier(*wanted) if wanted[0] else 2.0**-40) * output / source
    scale = find_scale(near, quantize, wanted, "the slopes")
    shape = whole[max(axis, 1) :] or (1,)
    alpha = site.file.weights(
        f"{site.node.name}/slopes", slopes, shape, [scale], zero=params["alpha_zero_point"]
    )
    site.put("PRELU", [site.view_input(0, whole), alpha], shape=whole)


ELEMENTWISE: dict[str, CallConverter] = {}
for _type in ("s8", "s16"):
    for _name, _operator, _kind in (
        (f"arm_elementwise_add_{_type}", "ADD", "AddOptions"),
        (f"tflm_sub_{_type}", "SUB", "SubOptions"),
        (f"arm_elementwise_mul_{_type}", "MUL", "MulOptions"),
        (f"tflm_div_{_type}", "DIV", "DivOptions"),
    ):
        ELEMENTWISE[_name] = partial(convert_activated, operator=_operator, kind=_kind)
    ELEMENTWISE[f"tflm_squared_difference_{_type}"] = partial(
        convert_pair, operator="SQUARED_DIFFERENCE"
    )
    ELEMENTWISE[f"arm_softmax_{_type}"] = softmax
    ELEMENTWISE[f"tflm_relu_{_type}"] = rectify
    ELEMENTWISE[f"tflm_leaky_relu_{_type}"] = leaky
    ELEMENTWISE[f"tflm_prelu_{_type}"] = prelu
    for _name in ("logistic", "tanh", "abs", "rsqrt", "hard_swish", "elu"):
        ELEMENTWISE[f"tflm_{_name}_{_type}"] = partial(convert_unary, operator=_name.upper())
ELEMENTWISE["arm_softmax_s8_s16"] = softmax
