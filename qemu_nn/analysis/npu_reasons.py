"""Reasons why an Ethos-U and a Cortex-M give different bytes for an operator (docs/ethosu.md)."""

from __future__ import annotations

from ..ir.graph import Node

_FLOATS = "the core's kernel requantizes with floats, the NPU with integers: one step on ties"
_TABLE = "vela computes the table in double precision, the kernel in float32: one step"
_SCALE = "the kernel has one output scale, the NPU that of the file"
_CLAMP = "vela requantizes, the kernel only clamps"
_MULTIPLIER = "the NPU's multiplier of a 16x8 layer has 15 bits: one step"
_ROUNDING = "the core's library is built with single rounding, the NPU rounds twice: one step"
_SCALES = "the kernel leaves out the scales of int16"
_PRODUCTS = "products of the kernel leave 32 bits for large scales of int16"
_OVERFLOW = "the NPU saturates products beyond 32 bits, the kernel wraps"

#: Operator -> reason.
_REASONS = {
    **dict.fromkeys(("SUM", "SUB", "REDUCE_PROD", "MEAN"), _FLOATS),
    **dict.fromkeys(("ELU", "EXP", "LOG", "GELU", "RSQRT", "SQRT", "HARD_SWISH"), _TABLE),
    **dict.fromkeys(("LOGISTIC", "TANH"), _SCALE),
    **dict.fromkeys(("RELU", "RELU6", "RELU_N1_TO_1", "RELU_0_TO_1"), _CLAMP),
}

_COMPARISONS = ("EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL")
_REASONS.update(dict.fromkeys(_COMPARISONS, _SCALES))

#: Operators whose products of int16 may leave 32 bits in the core's kernel.
_WIDE = ("SOFTMAX", "LOGISTIC", "TANH")

_WEIGHTED = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV")


def explain(operator: str, node: Node, rounding: str) -> str:
    """Return the reason why an operator of the original network differs; "" if none is known.

    rounding: of the core's library, a rounding of targets.ROUNDINGS.
    """
    if rounding == "single":
        return _ROUNDING
    if node.output.dtype == "int16" and operator in _WEIGHTED:
        return _MULTIPLIER
    if node.output.dtype == "int16" and operator in _WIDE:
        return _PRODUCTS
    if operator == "MUL" and node.output.dtype == "int32":
        return _OVERFLOW
    return _REASONS.get(operator, "")
