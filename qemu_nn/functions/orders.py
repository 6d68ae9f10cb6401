"""How C takes the arguments of every function of the s8 and s16 API."""

from __future__ import annotations

from collections.abc import Mapping

from . import orders_plain
from .base import Function
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
}

#: C name -> how C takes the arguments.
ORDERS: Mapping[str, Order] = {
    **orders_plain.ORDERS,
}


def rooms(function: Function, params: Mapping[str, int], path: str) -> dict[str, int]:
    """All scratch memory that a call takes on this core path: what C calls it -> bytes.

    Where there is one piece, it is called ctx.
    """
    if function.order:
        return function.rooms(params, path)
    several = ORDERS[function.name].rooms if function.name in ORDERS else {}
    sizes = {name: needed(params, path) for name, needed in several.items()}
    found = sizes if several else {"ctx": function.buffer_bytes(params, path)}
    return {name: size for name, size in found.items() if size}
