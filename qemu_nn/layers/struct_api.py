"""The s8 and s16 API in C: the order of its arguments, and what those that are structs hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .base import Extent

#: What stands for the status type of a release.
STATUS = "status"

SUPPORT = "arm_nnsupportfunctions.h"


@dataclass(frozen=True)
class Struct:
    """A struct argument: its C type; member -> the C argument, number or product that it holds.

    cast: in front of a pointer, where the member is one to variables.
    """

    type: str
    members: Mapping[str, Extent]
    cast: str = ""

    @property
    def held(self) -> set[str]:
        """The C arguments in it."""
        found: set[str] = set()
        for value in self.members.values():
            parts = value if isinstance(value, tuple) else (value,)
            found |= {part for part in parts if isinstance(part, str)}
        return found


@dataclass(frozen=True)
class Order:
    """How C takes a function's arguments: their names, and those of them that are structs.

    types: of scalars that are not int32_t.
    """

    names: tuple[str, ...]
    structs: Mapping[str, Struct] = field(default_factory=dict)
    returns: str = STATUS
    types: Mapping[str, str] = field(default_factory=dict)
    header: str = "arm_nnfunctions.h"


def _order(names: str, structs: Mapping[str, Struct] = {}, **more: object) -> Order:
    return Order(tuple(names.split()), structs, **more)  # type: ignore[arg-type]


def _dims(n: Extent, h: Extent, w: Extent, c: Extent) -> Struct:
    return Struct("cmsis_nn_dims", {"n": n, "h": h, "w": w, "c": c})


def _pair(member: str, name: str) -> dict[str, Extent]:
    """A tile: width and height."""
    return {f"{member}.{axis}": f"{name}_{axis}" for axis in "wh"}


_RANGE: dict[str, Extent] = {"activation.min": "act_min", "activation.max": "act_max"}
_OFFSETS: dict[str, Extent] = {"input_offset": "input_offset", "output_offset": "output_offset"}
_WINDOW = {**_pair("stride", "stride"), **_pair("padding", "pad")}
_DILATED = {**_WINDOW, **_pair("dilation", "dilation"), **_RANGE}
_SCALES: dict[str, Extent] = {"multiplier": "multiplier", "shift": "shift"}

_PER_CHANNEL = Struct("cmsis_nn_per_channel_quant_params", _SCALES, "(int32_t *)")
_PER_TENSOR = Struct("cmsis_nn_per_tensor_quant_params", _SCALES)

# ---- windows over images ----

_IMAGE = _dims("batches", "input_h", "input_w", "input_c")
_POOL = {
    "pool_params": Struct("cmsis_nn_pool_params", {**_WINDOW, **_RANGE}),
    "input_dims": _dims("batches", "input_h", "input_w", "channels"),
    "filter_dims": _dims(1, "filter_h", "filter_w", 1),
    "output_dims": _dims("batches", "output_h", "output_w", "channels"),
}
_CONVOLVE = {
    "conv_params": Struct("cmsis_nn_conv_params", {**_OFFSETS, **_DILATED}),
    "quant_params": _PER_CHANNEL,
    "input_dims": _IMAGE,
    "filter_dims": _dims("output_c", "filter_h", "filter_w", "filter_c"),
    "bias_dims": _dims(1, 1, 1, "output_c"),
    "output_dims": _dims("batches", "output_h", "output_w", "output_c"),
}
_DEPTH: Extent = ("input_c", "ch_mult")
_DEPTHWISE = {
    "dw_conv_params": Struct(
        "cmsis_nn_dw_conv_params", {**_OFFSETS, "ch_mult": "ch_mult", **_DILATED}
    ),
    "quant_params": _PER_CHANNEL,
    "input_dims": _IMAGE,
    "filter_dims": _dims(1, "filter_h", "filter_w", _DEPTH),
    "bias_dims": _dims(1, 1, 1, _DEPTH),
    "output_dims": _dims("batches", "output_h", "output_w", _DEPTH),
}

# ---- vectors ----

_DENSE = {
    "fc_params": Struct(
        "cmsis_nn_fc_params", {**_OFFSETS, "filter_offset": "filter_offset", **_RANGE}
    ),
    "quant_params": _PER_TENSOR,
    "input_dims": _dims("batches", 1, 1, "input_c"),
    "filter_dims": _dims("input_c", 1, 1, "output_c"),
    "bias_dims": _dims(1, 1, 1, "output_c"),
    "output_dims": _dims("batches", 1, 1, "output_c"),
}

_WEIGHTED = "quant_params input_dims input filter_dims filter bias_dims bias output_dims output"

_POOLING = _order("ctx pool_params input_dims input filter_dims output_dims output", _POOL)

# ---- element-wise, softmax ----

_TWO = "input1 input2 input_1_offset"
_OUT = "out_offset out_mult out_shift act_min act_max block_size"
_ADD = _order(
    f"{_TWO} input_1_mult input_1_shift input_2_offset input_2_mult input_2_shift left_shift"
    f" output {_OUT}"
)
_MUL = _order(f"{_TWO} input_2_offset output {_OUT}")
_MUL_S16_S8 = (
    "input1 input2 output out_offset out_mult out_shift block_size batch_size batch_offset"
)
_SOFTMAX = _order("input num_rows row_size mult shift diff_min output", returns="void")
_TABLES = {"exp_lut": "exp_lut", "one_by_one_lut": "one_by_one_lut"}

#: Functions that no exported network can call -> why.
NOT_CALLED = {
    "arm_elementwise_mul_acc_s16": "it adds to what its output holds before the call",
}

#: C name -> how C takes the arguments.
ORDERS: Mapping[str, Order] = {
    "arm_max_pool_s8": _POOLING,
    "arm_max_pool_s16": _POOLING,
    "arm_avgpool_s8": _POOLING,
    "arm_avgpool_s16": _POOLING,
    "arm_convolve_wrapper_s8": _order(f"ctx conv_params {_WEIGHTED}", _CONVOLVE),
    "arm_depthwise_conv_wrapper_s8": _order(f"ctx dw_conv_params {_WEIGHTED}", _DEPTHWISE),
    "arm_fully_connected_s8": _order(f"ctx fc_params {_WEIGHTED}", _DENSE),
    "arm_fully_connected_per_channel_s8": _order(
        f"ctx fc_params {_WEIGHTED}", {**_DENSE, "quant_params": _PER_CHANNEL}
    ),
    "arm_elementwise_add_s8": _ADD,
    "arm_elementwise_add_s16": _ADD,
    "arm_elementwise_mul_s8": _MUL,
    "arm_elementwise_mul_s16": _MUL,
    "arm_elementwise_mul_s16_s8": _order(_MUL_S16_S8, header=SUPPORT),
    "arm_softmax_s8": _SOFTMAX,
    "arm_softmax_s8_s16": _SOFTMAX,
    "arm_softmax_u8": _SOFTMAX,
    "arm_softmax_s16": _order(
        "input num_rows row_size mult shift softmax_params output",
        {"softmax_params": Struct("cmsis_nn_softmax_lut_s16", _TABLES)},
    ),
}
