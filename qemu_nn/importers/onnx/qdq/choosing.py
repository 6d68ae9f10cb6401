"""Comparisons, logic and Where of quantized files: float32 on the device, or one table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Optional

import numpy as np

from ....errors import ModelError
from ....ir.formats import Format
from .building import Builder
from .elementwise import common, operand, shapes
from .float32 import floated
from .site import Converter, Site, once
from .symbols import Curve, Int, Pending, broadcast, order_of

#: Booleans, which have no scale.
TRUTH = Format("bool", 1.0)


def _truth(site: Site, real: Optional[Callable[[], Int]], curve: Optional[Curve]) -> Pending:
    """Return booleans that calls make, or a function of one tensor."""

    def emit(form: Format, name: str, ends: tuple[float, float]) -> Int:
        raise ModelError("its output is boolean; only And, Or, Not and Where read it")

    whole = broadcast(*shapes(site, len(site.call.node.inputs)))
    return Pending(emit, whole, curve=curve, real=None if real is None else once(real))


def _call(builder: Builder, function: str, inputs: list[Int], form: Format) -> Int:
    """Return a call of elements of one shape."""
    made = replace(inputs[0], name=f"{inputs[-1].name}/{function}", format=form)
    return builder.call(f"tflm_{function}", {"length": made.size}, inputs, made)


def compare(site: Site, function: str, ufunc: Callable[..., Any]) -> Pending:
    """Convert a comparison of two tensors, or of a tensor and a constant."""
    whole = broadcast(*shapes(site))
    operands = [operand(site, index, whole) for index in range(2)]

    def real() -> Int:
        return _call(site.builder, f"{function}_f32", [make() for make in operands], TRUTH)

    return _truth(site, real, common(site, ufunc))


def logic(site: Site, function: str, ufunc: Callable[..., Any], count: int) -> Pending:
    """Convert And, Or and Not."""
    whole = broadcast(*shapes(site, count))
    operands = [_condition(site, index, whole) for index in range(count)]

    def real() -> Int:
        return _call(site.builder, f"{function}_b8", [make() for make in operands], TRUTH)

    return _truth(site, real, common(site, ufunc, count))


def where(site: Site) -> Pending:
    """Convert Where: the second tensor where the first holds, else the third."""
    whole = broadcast(*shapes(site, 3))
    condition = _condition(site, 0, whole)
    operands = [operand(site, index, whole) for index in (1, 2)]

    def real() -> Int:
        first, second = (make() for make in operands)
        return _call(site.builder, "select_f32", [condition(), first, second], first.format)

    curve = common(site, lambda mask, one, two: np.where(mask > 0, one, two), 3)
    return floated(site, whole, real, curve)


def _condition(site: Site, index: int, whole: tuple[int, ...]) -> Callable[[], Int]:
    """Return what makes booleans in the shape of the result."""
    value: Any = site.call.value(index)
    if isinstance(value, np.ndarray) and value.dtype == bool:
        order = order_of(whole)
        inner = value.reshape(value.shape[max(value.ndim - len(whole), 0) :])
        flat = np.broadcast_to(inner, whole).transpose(order).reshape(-1)
        like = Int(f"{site.call.node.outputs[0]}/mask", whole, order, TRUTH)
        return lambda: site.builder.call(
            "tflm_constant_b8", {"length": like.size}, [], like, np.ascontiguousarray(flat)
        )
    if not isinstance(value, Pending) or value.real is None:
        raise ModelError(f"its input {site.call.node.inputs[index]!r} must be booleans")
    make = value.real

    def get() -> Int:
        made = make()
        if made.format != TRUTH:
            raise ModelError(f"its input {site.call.node.inputs[index]!r} must be booleans")
        return site.builder.spread(made, whole)

    return get


CHOOSING: dict[str, Converter] = {
    "Equal": partial(compare, function="equal", ufunc=np.equal),
    "Greater": partial(compare, function="greater", ufunc=np.greater),
    "GreaterOrEqual": partial(compare, function="greater_equal", ufunc=np.greater_equal),
    "Less": partial(compare, function="less", ufunc=np.less),
    "LessOrEqual": partial(compare, function="less_equal", ufunc=np.less_equal),
    "And": partial(logic, function="logical_and", ufunc=np.logical_and, count=2),
    "Or": partial(logic, function="logical_or", ufunc=np.logical_or, count=2),
    "Not": partial(logic, function="logical_not", ufunc=np.logical_not, count=1),
    "Where": where,
}
