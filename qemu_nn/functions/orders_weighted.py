"""How C takes the arguments of functions with weights, and of pooling."""

from __future__ import annotations

from collections.abc import Mapping

from .extents import Extent, Largest
from .struct_api import Member, Order, Struct, dims, nhwc, order

_RANGE: dict[str, Member] = {"activation.min": "act_min", "activation.max": "act_max"}
_OFFSETS: dict[str, Member] = {"input_offset": "input_offset", "output_offset": "output_offset"}
_SCALES: dict[str, Member] = {"multiplier": "multiplier", "shift": "shift"}

_PER_CHANNEL = Struct("cmsis_nn_per_channel_quant_params", _SCALES, "(int32_t *)")
_PER_TENSOR = Struct("cmsis_nn_per_tensor_quant_params", _SCALES)
_EITHER = {
    "multiplier": "multiplier",
    "shift": "shift",
    "is_per_channel": "is_per_channel",
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


_SUMS: tuple[Extent, ...] = (
    "input_c",
    "output_c",
    "filter",
    "input_offset",
    "filter_offset",
    "bias",
)


ORDERS: Mapping[str, Order] = {
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
