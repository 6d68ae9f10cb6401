"""How C takes the arguments of every function of the s8 and s16 API."""

from __future__ import annotations

from collections.abc import Mapping

from . import orders_plain, orders_weighted
from .struct_api import Order

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
    **dict.fromkeys(
        ("arm_svdf_s8", "arm_svdf_state_s16_s8"),
        "its state has no place in the generated code yet",
    ),
    **dict.fromkeys(
        ("arm_lstm_unidirectional_s8", "arm_lstm_unidirectional_s16"),
        "its gates have no place in the generated code yet",
    ),
}

#: C name -> how C takes the arguments.
ORDERS: Mapping[str, Order] = {**orders_weighted.ORDERS, **orders_plain.ORDERS}
