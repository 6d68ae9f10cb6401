"""How C takes the arguments of functions without weights."""

from __future__ import annotations

from collections.abc import Mapping

from .extents import Largest
from .struct_api import SUPPORT, Elements, Order, Struct, dims, nhwc, order

# ---- element-wise, softmax ----

_TWO = "input1 input2 input_1_offset"
_OUT = "out_offset out_mult out_shift act_min act_max block_size"
_ADD = order(
    f"{_TWO} input_1_mult input_1_shift input_2_offset input_2_mult input_2_shift left_shift"
    f" output {_OUT}"
)
_MUL = order(f"{_TWO} input_2_offset output {_OUT}")
_MUL_S16_S8 = (
    "input1 input2 output out_offset out_mult out_shift block_size batch_size batch_offset"
)
_SOFTMAX = order("input num_rows row_size mult shift diff_min output", returns="void")
_TABLES = {"exp_lut": "exp_lut", "one_by_one_lut": "one_by_one_lut"}

_WIDER = (Largest((f"input1_{axis}", f"input2_{axis}")) for axis in "nhwc")
_CHOICE = order(
    "ctx input1 input1_dims input2 input2_dims output output_dims",
    {
        "input1_dims": nhwc("input1"),
        "input2_dims": nhwc("input2"),
        "output_dims": dims(*_WIDER),
    },
)

# ---- moving elements ----

_PERM = Elements("uint32_t", ("perm_0", "perm_1", "perm_2", "perm_3"))
_TRANSPOSE = {
    "input_dims": nhwc("input"),
    "output_dims": nhwc("output"),
    "transpose_params": Struct(
        "cmsis_nn_transpose_params", {"num_dims": "num_dims", "permutations": _PERM}
    ),
}
_PAD = {name: nhwc(name.split("_")[0]) for name in ("input_size", "pre_pad", "post_pad")}
_SIDES = "input_x input_y input_z input_w"


def _concatenation(axis: str) -> Order:
    """Along the batches C is not told how many the output has: as many as it is given, at least."""
    outermost = axis == "w"
    types = {**dict.fromkeys((*_SIDES.split(), f"output_{axis}"), "uint16_t"), "offset": "uint32_t"}
    return order(
        f"input {_SIDES} output {'' if outermost else f'output_{axis}'} offset",
        returns="void",
        types=types,
        implied={"output_w": "(int32_t)(input_w + offset)"} if outermost else {},
    )


ORDERS: Mapping[str, Order] = {
    "arm_elementwise_add_s8": _ADD,
    "arm_elementwise_add_s16": _ADD,
    "arm_elementwise_mul_s8": _MUL,
    "arm_elementwise_mul_s16": _MUL,
    "arm_elementwise_mul_s16_s8": order(_MUL_S16_S8, header=SUPPORT),
    "arm_minimum_s8": _CHOICE,
    "arm_maximum_s8": _CHOICE,
    "arm_nn_activation_s16": order(
        "input output size left_shift type", types={"type": "arm_nn_activation_type"}
    ),
    "arm_reshape_s8": order(
        "input output total_size", returns="void", types={"total_size": "uint32_t"}
    ),
    **{f"arm_concatenation_s8_{axis}": _concatenation(axis) for axis in "xyzw"},
    "arm_pad_s8": order(
        "input output pad_value input_size pre_pad post_pad", _PAD, types={"pad_value": "int8_t"}
    ),
    "arm_transpose_s8": order("input output input_dims output_dims transpose_params", _TRANSPOSE),
    "arm_softmax_s8": _SOFTMAX,
    "arm_softmax_s8_s16": _SOFTMAX,
    "arm_softmax_u8": _SOFTMAX,
    "arm_softmax_s16": order(
        "input num_rows row_size mult shift softmax_params output",
        {"softmax_params": Struct("cmsis_nn_softmax_lut_s16", _TABLES)},
    ),
}
