"""The s8 and s16 API in C: the order of its arguments, and what those that are structs hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Union

from .base import Extent, Largest

#: What stands for the status type of a release.
STATUS = "status"

SUPPORT = "arm_nnsupportfunctions.h"


@dataclass(frozen=True)
class Elements:
    """An array of a struct's own: the type of its elements, and the C arguments that they are."""

    type: str
    names: tuple[str, ...]


#: What a member of a struct holds.
Member = Union[Extent, Elements]


@dataclass(frozen=True)
class Struct:
    """A struct argument: its C type; member -> what it holds, a pointer by its own C name.

    cast: in front of a pointer, where the member is one to variables.
    """

    type: str
    members: Mapping[str, Member]
    cast: str = ""


@dataclass(frozen=True)
class Order:
    """How C takes a function's arguments: their names, and those of them that are structs.

    types: of scalars that are not int32_t. implied: scalars of our declaration that are no argument
    of C's -> C text of them.
    """

    names: tuple[str, ...]
    structs: Mapping[str, Struct] = field(default_factory=dict)
    returns: str = STATUS
    types: Mapping[str, str] = field(default_factory=dict)
    implied: Mapping[str, str] = field(default_factory=dict)
    header: str = "arm_nnfunctions.h"


def _order(names: str, structs: Mapping[str, Struct] = {}, **more: object) -> Order:
    return Order(tuple(names.split()), structs, **more)  # type: ignore[arg-type]


def _dims(n: Extent, h: Extent, w: Extent, c: Extent) -> Struct:
    return Struct("cmsis_nn_dims", {"n": n, "h": h, "w": w, "c": c})


def _nhwc(name: str) -> Struct:
    return _dims(f"{name}_n", f"{name}_h", f"{name}_w", f"{name}_c")


def _pair(member: str, name: str) -> dict[str, Member]:
    """A tile: width and height."""
    return {f"{member}.{axis}": f"{name}_{axis}" for axis in "wh"}


_RANGE: dict[str, Member] = {"activation.min": "act_min", "activation.max": "act_max"}
_OFFSETS: dict[str, Member] = {"input_offset": "input_offset", "output_offset": "output_offset"}
_WINDOW = {**_pair("stride", "stride"), **_pair("padding", "pad")}
_DILATED = {**_WINDOW, **_pair("dilation", "dilation"), **_RANGE}
_SCALES: dict[str, Member] = {"multiplier": "multiplier", "shift": "shift"}

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

_WIDER = (Largest((f"input1_{axis}", f"input2_{axis}")) for axis in "nhwc")
_CHOICE = _order(
    "ctx input1 input1_dims input2 input2_dims output output_dims",
    {
        "input1_dims": _nhwc("input1"),
        "input2_dims": _nhwc("input2"),
        "output_dims": _dims(*_WIDER),
    },
)

# ---- moving elements ----

_PERM = Elements("uint32_t", ("perm_0", "perm_1", "perm_2", "perm_3"))
_TRANSPOSE = {
    "input_dims": _nhwc("input"),
    "output_dims": _nhwc("output"),
    "transpose_params": Struct(
        "cmsis_nn_transpose_params", {"num_dims": "num_dims", "permutations": _PERM}
    ),
}
_PAD = {name: _nhwc(name.split("_")[0]) for name in ("input_size", "pre_pad", "post_pad")}
_SIDES = "input_x input_y input_z input_w"


def _concatenation(axis: str) -> Order:
    """Along the batches C is not told how many the output has: as many as it is given, at least."""
    outermost = axis == "w"
    types = {**dict.fromkeys((*_SIDES.split(), f"output_{axis}"), "uint16_t"), "offset": "uint32_t"}
    return _order(
        f"input {_SIDES} output {'' if outermost else f'output_{axis}'} offset",
        returns="void",
        types=types,
        implied={"output_w": "(int32_t)(input_w + offset)"} if outermost else {},
    )


#: Functions that no exported network can call -> why.
NOT_CALLED = {
    "arm_elementwise_mul_acc_s16": "it adds to what its output holds before the call",
    **dict.fromkeys(
        (
            *("arm_nn_requantize", "arm_nn_requantize_s64", "arm_nn_doubling_high_mult"),
            *("arm_nn_doubling_high_mult_no_sat", "arm_nn_divide_by_power_of_two"),
            *("arm_nn_mult_by_power_of_two", "arm_nn_exp_on_negative_values"),
            "arm_nn_one_over_one_plus_x_for_x_in_0_1",
        ),
        "it computes a single number",
    ),
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
    "arm_minimum_s8": _CHOICE,
    "arm_maximum_s8": _CHOICE,
    "arm_nn_activation_s16": _order(
        "input output size left_shift type", types={"type": "arm_nn_activation_type"}
    ),
    "arm_reshape_s8": _order(
        "input output total_size", returns="void", types={"total_size": "uint32_t"}
    ),
    **{f"arm_concatenation_s8_{axis}": _concatenation(axis) for axis in "xyzw"},
    "arm_pad_s8": _order(
        "input output pad_value input_size pre_pad post_pad", _PAD, types={"pad_value": "int8_t"}
    ),
    "arm_transpose_s8": _order("input output input_dims output_dims transpose_params", _TRANSPOSE),
    "arm_softmax_s8": _SOFTMAX,
    "arm_softmax_s8_s16": _SOFTMAX,
    "arm_softmax_u8": _SOFTMAX,
    "arm_softmax_s16": _order(
        "input num_rows row_size mult shift softmax_params output",
        {"softmax_params": Struct("cmsis_nn_softmax_lut_s16", _TABLES)},
    ),
}
