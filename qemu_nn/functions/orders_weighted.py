"""How C takes the arguments of functions with weights, and of pooling."""

from __future__ import annotations

from collections.abc import Mapping

from . import s8_buffers as affine_buffers
from .extents import Extent, Largest
from .struct_api import Bytes, Member, Order, Struct, dims, nhwc, order, pair

_RANGE: dict[str, Member] = {"activation.min": "act_min", "activation.max": "act_max"}
_OFFSETS: dict[str, Member] = {"input_offset": "input_offset", "output_offset": "output_offset"}
_WINDOW = {**pair("stride", "stride"), **pair("padding", "pad")}
_DILATED = {**_WINDOW, **pair("dilation", "dilation"), **_RANGE}
_SCALES: dict[str, Member] = {"multiplier": "multiplier", "shift": "shift"}

_PER_CHANNEL = Struct("cmsis_nn_per_channel_quant_params", _SCALES, "(int32_t *)")
_PER_TENSOR = Struct("cmsis_nn_per_tensor_quant_params", _SCALES)
_EITHER = {
    "multiplier": "multiplier",
    "shift": "shift",
    "is_per_channel": "is_per_channel",
}

# ---- windows over images ----

_IMAGE = dims("batches", "input_h", "input_w", "input_c")
_POOL = {
    "pool_params": Struct("cmsis_nn_pool_params", {**_WINDOW, **_RANGE}),
    "input_dims": dims("batches", "input_h", "input_w", "channels"),
    "filter_dims": dims(1, "filter_h", "filter_w", 1),
    "output_dims": dims("batches", "output_h", "output_w", "channels"),
}
_CONVOLVE = {
    "conv_params": Struct("cmsis_nn_conv_params", {**_OFFSETS, **_DILATED}),
    "quant_params": _PER_CHANNEL,
    "input_dims": _IMAGE,
    "filter_dims": dims("output_c", "filter_h", "filter_w", "filter_c"),
    "bias_dims": dims(1, 1, 1, "output_c"),
    "output_dims": dims("batches", "output_h", "output_w", "output_c"),
}
#: Arm's own use of it is inside of transposed convolutions.
_UPSCALED = {**_CONVOLVE, "upscale_dims": Struct("cmsis_nn_dims", {})}
_BIAS_DATA = {"data": "bias", "is_int32_bias": "bias_is_int32"}
_CONVOLVE_S16 = {**_CONVOLVE, "bias_data": Struct("cmsis_nn_bias_data", _BIAS_DATA)}
_TRANSPOSE_CONV = {
    **_CONVOLVE,
    "transpose_conv_params": Struct(
        "cmsis_nn_transpose_conv_params",
        {**_OFFSETS, **_DILATED, **pair("padding_offsets", "pad_offset")},
    ),
    "filter_dims": dims("output_c", "filter_h", "filter_w", "input_c"),
}
_DEPTH: Extent = ("input_c", "ch_mult")
_DEPTHWISE = {
    "dw_conv_params": Struct(
        "cmsis_nn_dw_conv_params", {**_OFFSETS, "ch_mult": "ch_mult", **_DILATED}
    ),
    "quant_params": _PER_CHANNEL,
    "input_dims": _IMAGE,
    "filter_dims": dims(1, "filter_h", "filter_w", _DEPTH),
    "bias_dims": dims(1, 1, 1, _DEPTH),
    "output_dims": dims("batches", "output_h", "output_w", _DEPTH),
}

# ---- vectors ----

_DENSE = {
    "fc_params": Struct(
        "cmsis_nn_fc_params", {**_OFFSETS, "filter_offset": "filter_offset", **_RANGE}
    ),
    "quant_params": _PER_TENSOR,
    "input_dims": dims("batches", 1, 1, "input_c"),
    "filter_dims": dims("input_c", 1, 1, "output_c"),
    "bias_dims": dims(1, 1, 1, "output_c"),
    "output_dims": dims("batches", 1, 1, "output_c"),
}

_PRODUCTS = order(
    "ctx bmm_params quant_params input_lhs_dims lhs input_rhs_dims rhs output_dims output",
    {
        "bmm_params": Struct(
            "cmsis_nn_bmm_params",
            {
                "adj_x": "adj_x",
                "adj_y": "adj_y",
                "fc_params.input_offset": "lhs_offset",
                "fc_params.filter_offset": "rhs_offset",
                "fc_params.output_offset": "output_offset",
                **{f"fc_params.{member}": name for member, name in _RANGE.items()},
            },
        ),
        "quant_params": _PER_TENSOR,
        "input_lhs_dims": nhwc("lhs"),
        "input_rhs_dims": nhwc("rhs"),
        "output_dims": dims(
            Largest(("lhs_n", "rhs_n")), Largest(("lhs_h", "rhs_h")), "lhs_w", "rhs_w"
        ),
    },
)

_ARRAYS = "quant_params input_dims input filter_dims {weights} bias_dims {bias} output_dims output"
_POOLING = order("ctx pool_params input_dims input filter_dims output_dims output", _POOL)


def _weighted(
    params: str,
    structs: Mapping[str, Struct],
    weights: str = "filter",
    bias: str = "bias",
    sums: tuple[Extent, ...] = (),
) -> Order:
    """params: the argument with offsets and windows."""
    names = f"ctx {params} {_ARRAYS.format(weights=weights, bias=bias)}"
    return order(names, structs, sums=sums)


def _transpose_conv(second: str, **rooms: Bytes) -> Order:
    """second: name of the second scratch buffer."""
    names = f"ctx {second} transpose_conv_params {_ARRAYS.format(weights='filter', bias='bias')}"
    return order(names, _TRANSPOSE_CONV, rooms=rooms)


_SUMS: tuple[Extent, ...] = (
    "input_c",
    "output_c",
    "filter",
    "input_offset",
    "filter_offset",
    "bias",
)


ORDERS: Mapping[str, Order] = {
    **{
        f"arm_{kind}_{type}": _POOLING for kind in ("max_pool", "avgpool") for type in ("s8", "s16")
    },
    **{
        f"arm_convolve_{kind}_s8{more}": _weighted("conv_params", _CONVOLVE)
        for kind, more in (("wrapper", ""), ("1x1", ""), ("1x1", "_fast"), ("1_x_n", ""))
    },
    "arm_convolve_s8": _weighted("conv_params", _UPSCALED, bias="bias upscale_dims"),
    **{
        f"arm_convolve_{kind}s16": _weighted("conv_params", _CONVOLVE_S16, bias="bias_data")
        for kind in ("wrapper_", "")
    },
    **{
        f"arm_convolve_{kind}": _weighted("conv_params", _CONVOLVE, weights="filter_packed_s4")
        for kind in ("wrapper_s4", "s4", "even_s4", "1x1_s4", "1x1_s4_fast", "1_x_n_s4")
    },
    **{
        f"arm_depthwise_conv_{kind}": _weighted("dw_conv_params", _DEPTHWISE)
        for kind in ("wrapper_s8", "s8", "s8_opt", "3x3_s8", "wrapper_s16", "s16", "fast_s16")
    },
    **{
        f"arm_depthwise_conv_{kind}": _weighted(
            "dw_conv_params", _DEPTHWISE, weights="filter_packed_s4"
        )
        for kind in ("wrapper_s4", "s4", "s4_opt")
    },
    "arm_transpose_conv_wrapper_s8": _transpose_conv(
        "reverse_conv_ctx",
        ctx=affine_buffers.transpose_conv_first,
        reverse_conv_ctx=affine_buffers.transpose_conv_second,
    ),
    "arm_transpose_conv_s8": _transpose_conv("output_ctx", ctx=affine_buffers.transpose_conv_rows),
    "arm_fully_connected_s8": _weighted("fc_params", _DENSE, sums=_SUMS),
    "arm_fully_connected_s16": _weighted("fc_params", _DENSE),
    "arm_fully_connected_s4": _weighted("fc_params", _DENSE, "filter_packed_s4"),
    "arm_fully_connected_per_channel_s8": _weighted(
        "fc_params", {**_DENSE, "quant_params": _PER_CHANNEL}, sums=_SUMS
    ),
    "arm_fully_connected_wrapper_s8": _weighted(
        "fc_params",
        {**_DENSE, "quant_params": Struct("cmsis_nn_quant_params", _EITHER, "(int32_t *)")},
        sums=_SUMS,
    ),
    "arm_batch_matmul_s8": _PRODUCTS,
    "arm_batch_matmul_s16": _PRODUCTS,
}
