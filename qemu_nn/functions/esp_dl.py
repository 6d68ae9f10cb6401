"""Operators of ESP-DL, for networks in .espdl files; csrc/s/esp_dl/ has their contracts.

An integer with exponent e has the value integer * 2^e. right_shift is the exponent of the output
less the sum of those of the inputs that are multiplied. chip is 0 for portable C (ESP32, S2, C3,
C6), 1 for an ESP32-S3, 2 for an ESP32-P4; a network has the chip of its file, and `ir.builds` sets
that of the target. T is s8 or s16; a bias is int32, of s16 int64, and may be missing (None).

========================================  =====================================================
function: arrays                          scalar arguments
========================================  =====================================================
esp_dl_conv_T: input [n][h][w][c],        batches input_h input_w input_c filter_h filter_w
filter [o][h][w][c], bias [o]             output_h output_w output_c stride_h stride_w pad_h pad_w
                                          dilation_h dilation_w right_shift rectified chip;
                                          pad_h above, pad_w on the left, the rest is implied by
                                          the output; one axis: h is 1
esp_dl_depthwise_conv_T: input, filter    the same without output_c
[h][w][c], bias [c]
esp_dl_conv_per_channel_T,                 without right_shift; chip must be 2
esp_dl_depthwise_conv_per_channel_T,
esp_dl_dense_per_channel_T: the same,
right_shifts [o] after the bias
esp_dl_dense_T (Gemm, MatMul by           batches input_c output_c right_shift rectified chip
constants): input [n][c], filter [o][c],
bias [o]
esp_dl_matmul_T: input1 [m][n][c],        matrices batches input_c output_c right_shift chip
input2 [m][o][c]
esp_dl_add_T, esp_dl_sub_T: input1,       block_size
input2
esp_dl_mul_T: input1, input2              block_size row_size right_shift chip; row_size of
                                          fold_axes()
esp_dl_div_T: input1, input2              block_size row_size scalar right_shift chip; right_shift
                                          is e_out - e_1 + e_2
esp_dl_requantize_T, _s8_s16, _s16_s8     block_size right_shift chip
esp_dl_relu_T, esp_dl_neg_T               block_size; exponents are equal (else requantize next)
esp_dl_clip_T                             block_size low high right_shift chip
esp_dl_prelu_T: input [outer][inner],     outer inner alpha_right_shift input_right_shift chip;
alpha [inner]                             alpha_right_shift is e_out - e_in - e_alpha. ESP-DL takes
                                          alpha[0] for all channels of s16 if the first side of
                                          alpha in the file is not the channels
esp_dl_lut_s8: table [256]                block_size
esp_dl_lut_s16: table [places]            block_size places chip; places is 65536 / step + 1, with
                                          step 1 65536
esp_dl_quantize_f32_T                     block_size right_shift chip; right_shift is e_out
esp_dl_dequantize_T_f32                   block_size right_shift; right_shift is -e_in
esp_dl_CURVE_T: sigmoid tanh exp log sqrt block_size input_exponent output_exponent chip; of elu and
elu leaky_relu hard_swish hard_sigmoid    leaky_relu alpha_bits, of hard_sigmoid alpha_bits and
swish                                     beta_bits, the bits of a float32
esp_dl_average_pool_T                     batches input_h input_w channels filter_h filter_w
                                          output_h output_w stride_h stride_w pad_h pad_w
                                          right_shift chip; GlobalAveragePool: one window
esp_dl_reduce_mean_T, _sum_T, _max_T,     kept_0 reduced_0 kept_1 reduced_1 kept_2; of mean and sum
_min_T: input of these five sides         right_shift chip
esp_dl_reduce_l1_T, _sum_square_T         the same and right_shift chip
esp_dl_reduce_l2_T, _prod_T, _log_sum_T,  the same and input_exponent output_exponent chip
_log_sum_exp_T
esp_dl_COMPARISON_T: input1, input2; of   block_size; exponents are not compared
equal greater greater_or_equal less
less_or_equal; the output is bool
esp_dl_pow_T, esp_dl_mod_T: input1,       block_size input1_exponent input2_exponent
input2                                    output_exponent chip
esp_dl_layer_norm_T: input [outer][size], outer size input_exponent scale_exponent bias_exponent
scale [size], bias [size]                 output_exponent epsilon_bits chip
esp_dl_rms_norm_T: input [outer][size],   outer size input_exponent output_exponent epsilon_bits
scale [size] of float32                   chip
esp_dl_lp_norm_T: input [outer][size]     outer size inner output_exponent p chip
[inner]
esp_dl_scatter_T: data, updates [slices]  block_size slices slice kind
[slice], offsets [slices] of int32
esp_dl_gru_T, esp_dl_lstm_T,              time_steps input_size hidden_size directions
esp_dl_lstm_cell_T: input [t][i],         right_shift state_right_shift gate_exponent
initial_h [d][h], initial_c [d][h], w     output_exponent chip; right_shift is gate_exponent less
[d][gates * h][i], r [d][gates * h][h],   those of input and w, state_right_shift less those of r
bias [d][2][gates * h]                    and state. The output is [t][d][h]; cell: the last c
esp_dl_resize_nearest_s8, _linear_s8      batches input_h input_w channels output_h output_w
                                          inverse_h_bits inverse_w_bits input_exponent
                                          output_exponent chip; linear: align_corners axes.
                                          inverse is float32(1 / scale), with align_corners of
                                          float32(1 / float32((out - 1) / (in - 1)))
esp_dl_softmax_T_f32, log_softmax_T_f32   outer size inner input_exponent
========================================  =====================================================

Operands of element-wise functions have the shape of the output: tflm_broadcast_T copies others.
MaxPool is arm_max_pool_T over its whole range. There are no functions for Resize of s16, whose
kernel in ESP-DL 3.3.9 is empty, and for Gelu without a table, which ESP-DL does not have.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np

from ..operators import Conv, Dense, Elementwise, PRelu
from .base import Function, Params
from .float_semantics import (
    FloatCall,
    Meant,
    Real,
    define_meaning,
    define_operator_meaning,
    get_bias_row,
    get_pads,
)
from .random_params import SIZES, WIDTHS, Drawn, draw_ends, draw_length, get_limits
from .s8_windows import FREE, IMAGE, SIDES, WINDOW, draw_windows, image
from .shapes import DTYPES, Array, stack, vector

_ESP32S3, _ESP32P4 = 1, 2

#: Reason why no exported C calls these functions.
NOT_CALLED = "it is an operator of ESP-DL, which reads the .espdl file itself"

_TYPES = ("s8", "s16")

#: Exclusive limit of the right shifts of channels.
_SHIFTS = {"s8": 32, "s16": 63}


def fold_axes(first: Sequence[int], second: Sequence[int]) -> int:
    """Return row_size: elements of the innermost axis after ESP-DL folded axes into one.

    first, second: the shapes of the operands before they are broadcast.
    """
    sides = max(len(first), len(second))
    one, two = ([1] * (sides - len(each)) + [*each] for each in (first, second))
    row, alike = 1, None
    for a, b in zip(reversed(one), reversed(two)):
        if max(a, b) == 1:
            continue
        kind = "both" if a == b else "first" if b == 1 else "second"
        if alike not in (None, kind):
            break
        row, alike = row * max(a, b), kind
    return row


# ---- random arguments ----


def _draw_scale(rng: Random, function: Function, terms: int) -> Drawn:
    """Return a chip, and a shift that leaves results of a sum of products in range; sometimes any
    shift.
    """
    chip, most = rng.randrange(3), 31 if function.type == "s8" else 40
    own = (7 if function.type == "s8" else 15) + round(math.log2(terms) / 2) + rng.randint(-3, 3)
    shift = rng.randint(0 if chip == _ESP32S3 else -6, most) if rng.randrange(8) == 0 else own
    drawn = {"chip": chip, "right_shift": max(shift, 0) if chip == _ESP32S3 else shift}
    if function.stack:
        drawn = {"chip": _ESP32P4}
    return {**drawn, **({"rectified": rng.randrange(2)} if "rectified" in function.params else {})}


def _draw_conv(rng: Random, function: Function) -> Drawn:
    p = {**draw_windows(rng), "input_c": rng.choice(WIDTHS)}
    depth = 1
    if "output_c" in function.params:
        p["output_c"], depth = rng.choice((*WIDTHS, 15, 16, 17)), p["input_c"]
    return {**p, **_draw_scale(rng, function, p["filter_h"] * p["filter_w"] * depth)}


def _draw_dense(rng: Random, function: Function) -> Drawn:
    p = {"batches": rng.choice((1, 2, 3, 17)), "input_c": rng.choice((*WIDTHS, 130))}
    p["output_c"] = rng.choice((*WIDTHS, 15, 16, 17))
    if "matrices" in function.params:
        p["matrices"] = rng.randint(1, 3)
    return {**p, **_draw_scale(rng, function, p["input_c"])}


def _draw_pair(rng: Random, function: Function) -> Drawn:
    p = {"block_size": draw_length(rng)}
    if "row_size" in function.params:
        p.update(row_size=rng.choice((1, 7, 8, 16)), **_draw_scale(rng, function, 1))
    if "scalar" in function.params:
        p.update(scalar=rng.randrange(3), right_shift=rng.randint(-12, 2))
    return p


def _draw_vector(rng: Random, function: Function) -> Drawn:
    p = {"block_size": draw_length(rng)}
    if "right_shift" in function.params:
        p["right_shift"] = rng.choice((-31, -9, -2, -1, 0, 1, 2, 3, 8, 9, 16, 31))
    if "chip" in function.params:
        p["chip"] = rng.randrange(3)
        p["right_shift"] = max(p["right_shift"], -31 if p["chip"] == 0 else -6)
    return p


def _draw_clip(rng: Random, function: Function) -> Drawn:
    ends = draw_ends(rng, function.output.dtype, "low", "high")
    return {**_draw_vector(rng, function), **ends}


def _draw_prelu(rng: Random, function: Function) -> Drawn:
    most = 9 if function.type == "s8" else 17
    p = {"outer": rng.choice(SIZES), "inner": draw_length(rng), "chip": rng.randrange(3)}
    return {**p, "alpha_right_shift": rng.randint(0, most), "input_right_shift": rng.randint(-2, 2)}


def _draw_table(rng: Random, function: Function) -> Drawn:
    p = {"block_size": draw_length(rng)}
    if "chip" in function.params:
        p.update(places=rng.choice((65536, 32769, 2049, 257)), chip=rng.randrange(3))
    return p


# ---- meanings in floats ----


def _make_real(call: FloatCall, own: Conv | Dense) -> Conv | Dense:
    """Return a layer on integers with the float values of its weights and bias."""
    bias = get_bias_row(call.function, call.bias)
    shifts = call.bias[1] if call.function.stack and call.bias is not None else None
    step = np.ldexp(call.output.scale, -(call.params["right_shift"] if shifts is None else shifts))
    scales = (step / call.source.scale).reshape(-1, *[1] * (own.weights.ndim - 1))
    return replace(
        own, weights=own.weights * scales, bias=None if bias is None else np.asarray(bias * step)
    )


def _mean_conv(call: FloatCall) -> Meant:
    assert call.function.product is not None
    assert call.weights is not None
    own = _make_real(call, call.function.product(call.params, call.weights))
    return Meant((own,), (call.image,))


def _mean_dense(call: FloatCall) -> Meant:
    assert call.function.product is not None
    assert call.weights is not None
    own = _make_real(call, call.function.product(call.params, call.weights))
    return Meant((own,), ((*call.shape[:-1], call.params["input_c"]),))


def _multiply(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.asarray(np.matmul(x, np.swapaxes(y, -1, -2)))


# ---- declarations ----


def _bias(type: str, extent: str, per_channel: bool = False) -> dict[str, Any]:
    """Return the biases, and after them the right shifts of channels, as arguments of Function."""
    dtype = "int32" if type == "s8" else "int64"
    bias = Array("bias", dtype, (extent,), optional=not per_channel)
    if not per_channel:
        return {"bias": bias}
    rows = (bias, Array("right_shifts", dtype, (extent,), below=_SHIFTS[type]))
    return {"bias": stack(dtype, *rows), "stack": rows}


def _window_product(params: Params, weights: np.ndarray, depthwise: bool) -> Conv:
    p, depth = params, params["input_c"]
    sides = (p["filter_h"], p["filter_w"])
    values = weights.astype(np.float64)
    if depthwise:
        values = np.moveaxis(values.reshape(*sides, depth, 1), 2, 0)
    else:
        values = values.reshape(p["output_c"], *sides, depth)
    stride, dilation = ((p[f"{n}_h"], p[f"{n}_w"]) for n in ("stride", "dilation"))
    return Conv(values, None, stride, get_pads(p), dilation, depth if depthwise else 1)


def _conv(type: str, depthwise: bool, per_channel: bool = False) -> Function:
    width = "input_c" if depthwise else "output_c"
    kernel = ("filter_h", "filter_w", "input_c")
    axes = kernel if depthwise else ("output_c", *kernel)
    outs = () if depthwise else ("output_c",)
    windows = {**dict.fromkeys(("input_h", "input_w", "output_h", "output_w"), 16)}
    windows.update(dict.fromkeys(("filter_h", "filter_w"), 3), input_c=16, batches=1)
    windows.update(dict.fromkeys(WINDOW, 1))
    scale = {"right_shift": 9 if type == "s8" else 17, "rectified": 0, "chip": 0}
    fixed = {"output_c": 0} if depthwise else {}
    if per_channel:
        scale = {"rectified": 0, "chip": _ESP32P4}
        fixed["right_shift"] = 0
    return Function(
        name=f"esp_dl_{'depthwise_' * depthwise}conv_{'per_channel_' * per_channel}{type}",
        op="dl_depthwise_conv" if depthwise else "dl_convolve",
        type=type,
        params=(*IMAGE, *SIDES, *outs, *WINDOW, *scale),
        defaults={"rectified": 0, "chip": scale["chip"]},
        inputs=(image(type),),
        weights=Array("filter", DTYPES[type], axes),
        **_bias(type, width, per_channel),
        output=Array("output", DTYPES[type], ("batches", "output_h", "output_w", width)),
        fixed={**fixed, "per_channel": int(per_channel)},
        macs=("batches", "output_h", "output_w", width, *kernel[: 2 if depthwise else 3]),
        note=FREE,
        not_called=NOT_CALLED,
        draw=_draw_conv,
        cases=({**windows, **dict.fromkeys(outs, 16), **scale},),
        product=lambda params, weights: _window_product(params, weights, depthwise),
        meaning=_mean_conv,
    )


def _dense(type: str, per_channel: bool = False) -> Function:
    scale = {"right_shift": 9 if type == "s8" else 17, "rectified": 0, "chip": 0}
    fixed = {"matrices": 1, "per_channel": int(per_channel)}
    if per_channel:
        scale = {"rectified": 0, "chip": _ESP32P4}
        fixed["right_shift"] = 0
    return Function(
        name=f"esp_dl_dense_{'per_channel_' * per_channel}{type}",
        op="dl_dense",
        type=type,
        params=("batches", "input_c", "output_c", *scale),
        defaults={"rectified": 0, "chip": scale["chip"]},
        inputs=(Array("input", DTYPES[type], ("batches", "input_c")),),
        weights=Array("filter", DTYPES[type], ("output_c", "input_c")),
        **_bias(type, "output_c", per_channel),
        output=Array("output", DTYPES[type], ("batches", "output_c")),
        fixed=fixed,
        macs=("batches", "output_c", "input_c"),
        not_called=NOT_CALLED,
        draw=_draw_dense,
        cases=({"batches": 1, "input_c": 256, "output_c": 64, **scale},),
        product=lambda params, weights: Dense(weights.astype(np.float64)),
        meaning=_mean_dense,
    )


def _matmul(type: str) -> Function:
    return Function(
        name=f"esp_dl_matmul_{type}",
        op="dl_matmul",
        type=type,
        params=("matrices", "batches", "input_c", "output_c", "right_shift", "chip"),
        defaults={"chip": 0},
        inputs=(
            Array("input1", DTYPES[type], ("matrices", "batches", "input_c")),
            Array("input2", DTYPES[type], ("matrices", "output_c", "input_c")),
        ),
        output=Array("output", DTYPES[type], ("matrices", "batches", "output_c")),
        fixed={"rectified": 0, "per_channel": 0},
        macs=("matrices", "batches", "output_c", "input_c"),
        note="Rows of input2 are the columns of the right operand.",
        not_called=NOT_CALLED,
        draw=_draw_dense,
        cases=(
            {"matrices": 2, "batches": 16, "input_c": 16, "output_c": 16, "chip": 0}
            | {"right_shift": 9 if type == "s8" else 17},
        ),
        meaning=define_meaning(_multiply, inputs=2),
    )


def _pair(name: str, type: str) -> Function:
    is_scaled = name in ("multiply", "divide")
    shift = {"multiply": 7, "divide": -5}.get(name, 0) * (1 if type == "s8" else 2)
    scalar = {"scalar": 0} if name == "divide" else {}
    own = {"row_size": 16, **scalar, "right_shift": shift, "chip": 0}
    return Function(
        name=f"esp_dl_{name[:3]}_{type}",
        op=f"dl_{name[:3]}",
        type=type,
        params=("block_size", *(own if is_scaled else ())),
        inputs=tuple(vector(each, DTYPES[type], "block_size") for each in ("input1", "input2")),
        output=vector("output", DTYPES[type], "block_size"),
        defaults={"chip": 0} if is_scaled else {},
        fixed={} if name == "divide" else {"scalar": 0} if is_scaled else {**own, "scalar": 0},
        not_called=NOT_CALLED,
        draw=_draw_pair,
        cases=({"block_size": 4096, **(own if is_scaled else {})},),
        meaning=define_operator_meaning(Elementwise(name), inputs=2),
    )


def _requantize(source: str, target: str) -> Function:
    type = source if source == target else f"{source}_{target}"
    return Function(
        name=f"esp_dl_requantize_{type}",
        op="dl_requantize",
        type=type,
        params=("block_size", "right_shift", "chip"),
        defaults={"chip": 0},
        inputs=(vector("input", DTYPES[source], "block_size"),),
        output=vector("output", DTYPES[target], "block_size"),
        not_called=NOT_CALLED,
        draw=_draw_vector,
        cases=({"block_size": 4096, "right_shift": 1, "chip": 0},),
        meaning=define_meaning(lambda x: x),
    )


def _unary(name: str, type: str) -> Function:
    """Return a rectifier or a negation."""
    is_relu, own = name == "relu", {"s8": "q7", "s16": "q15"}
    return Function(
        name=f"esp_dl_{name}_{type}",
        op="relu" if is_relu else f"dl_{name}",
        type=own[type] if is_relu else type,
        params=("block_size",),
        fields={"block_size": "length"} if is_relu else {},
        fixed={} if is_relu else {"right_shift": 0, "chip": 0},
        inputs=(vector("input", DTYPES[type], "block_size"),),
        output=vector("output", DTYPES[type], "block_size"),
        not_called=NOT_CALLED,
        draw=_draw_vector,
        cases=({"block_size": 4096},),
        meaning=define_meaning((lambda x: np.maximum(x, 0)) if is_relu else np.negative),
    )


def _clip(type: str) -> Function:
    high = get_limits(DTYPES[type])[1]
    return Function(
        name=f"esp_dl_clip_{type}",
        op="dl_clip",
        type=type,
        params=("block_size", "low", "high", "right_shift", "chip"),
        defaults={"chip": 0},
        inputs=(vector("input", DTYPES[type], "block_size"),),
        output=vector("output", DTYPES[type], "block_size"),
        not_called=NOT_CALLED,
        draw=_draw_clip,
        cases=({"block_size": 4096, "low": 0, "high": high // 2, "right_shift": 0, "chip": 0},),
        meaning=_mean_clip,
    )


def _mean_clip(call: FloatCall) -> Meant:
    low, high = (call.params[name] * call.source.scale for name in ("low", "high"))
    return Meant((Real(lambda x: np.clip(x, low, high)),), (None,))


def _prelu(type: str) -> Function:
    sides = ("outer", "inner")
    shifts = {"alpha_right_shift": 7 if type == "s8" else 15, "input_right_shift": 0}
    return Function(
        name=f"esp_dl_prelu_{type}",
        op="dl_prelu",
        type=type,
        params=(*sides, *shifts, "chip"),
        defaults={"chip": 0},
        inputs=(Array("input", DTYPES[type], sides),),
        weights=vector("alpha", DTYPES[type], "inner"),
        output=Array("output", DTYPES[type], sides),
        not_called=NOT_CALLED,
        draw=_draw_prelu,
        cases=({"outer": 256, "inner": 16, **shifts, "chip": 0},),
        meaning=_mean_prelu,
    )


def _mean_prelu(call: FloatCall) -> Meant:
    assert call.weights is not None
    step = math.ldexp(call.output.scale, -call.params["alpha_right_shift"]) / call.source.scale
    return Meant((PRelu(call.weights.reshape(-1) * step),), (call.sides[0],))


def _lut(type: str) -> Function:
    small = type == "s8"
    return Function(
        name=f"esp_dl_lut_{type}",
        op="lookup" if small else "dl_table",
        type=type,
        params=("block_size",) if small else ("block_size", "places", "chip"),
        fields={"block_size": "length"} if small else {},
        defaults={} if small else {"chip": 0},
        inputs=(vector("input", DTYPES[type], "block_size"),),
        weights=vector("table", DTYPES[type], 256 if small else "places"),
        output=vector("output", DTYPES[type], "block_size"),
        not_called=NOT_CALLED,
        draw=_draw_table,
        cases=({"block_size": 4096, **({} if small else {"places": 2049, "chip": 0})},),
        meaning=_mean_table,
    )


def _mean_table(call: FloatCall) -> Meant:
    """Return the results of the table, interpolated."""
    assert call.weights is not None
    results = call.output.scale * call.weights.reshape(-1).astype(float)
    half = 128 if len(results) == 256 else 32768
    step = max(1, 2 * half // len(results))
    places = call.source.scale * (step * np.arange(len(results)) - half)
    return Meant((Real(lambda x: np.asarray(np.interp(x, places, results))),), (None,))


FUNCTIONS = (
    *(_conv(type, depthwise) for depthwise in (False, True) for type in _TYPES),
    *(_dense(type) for type in _TYPES),
    *(_conv(type, depthwise, True) for depthwise in (False, True) for type in _TYPES),
    *(_dense(type, True) for type in _TYPES),
    *(_matmul(type) for type in _TYPES),
    *(_pair(name, type) for name in ("add", "subtract", "multiply", "divide") for type in _TYPES),
    *(_requantize(source, target) for source in _TYPES for target in _TYPES),
    *(_unary(name, type) for name in ("relu", "neg") for type in _TYPES),
    *(make(type) for make in (_clip, _prelu, _lut) for type in _TYPES),
)
