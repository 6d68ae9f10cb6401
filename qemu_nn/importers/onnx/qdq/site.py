"""A node of a quantized file while it is converted: its inputs as integers, and its bias."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Callable, Optional, Union

import numpy as np

from ....errors import ModelError
from ....ir.formats import Format
from ....operators import Shape
from ..call import OnnxCall
from .building import Builder
from .symbols import LAST, Curve, Fixed, Int, Pending, Real

#: Largest relative distance of a bias's scale from the products' scale.
_CLOSE = 1e-5


@dataclass(frozen=True)
class Site:
    """A node, its inputs, and the network under construction.

    Every method raises ModelError if the file holds something without a meaning.
    """

    call: OnnxCall
    builder: Builder

    def shape(self, index: int = 0) -> Shape:
        """Return the shape of one sample of an input that is computed."""
        value: Any = self.call.value(index)
        return value.shape if isinstance(value, Pending) else self.integers(index).shape

    def integers(self, index: int = 0) -> Int:
        """Return an input that is computed."""
        value: Any = self.call.value(index)
        if isinstance(value, Real):
            return value.integers
        if isinstance(value, Int):
            return value
        if isinstance(value, Pending):
            raise ModelError(not_quantized(self.call.node.inputs[index]))
        raise ModelError(
            f"its input {self.call.node.inputs[index]!r} is a constant; it must be computed"
        )

    def curve(self, index: int) -> Optional[Curve]:
        """Return the function of one tensor that an input is, if it is one."""
        value: Any = self.call.value(index)
        if isinstance(value, Real):
            return Curve(value.integers, lambda x: x)
        return value.curve if isinstance(value, Pending) else None

    def floats(self, index: int = 0) -> Callable[[], Int]:
        """Return what adds the calls that make an input in float32."""
        value: Any = self.call.value(index)
        if isinstance(value, Pending) and value.real is not None:
            return value.real
        if isinstance(value, Pending) and value.curve is not None:
            raise ModelError(NO_FUNCTION)
        x = self.integers(index)
        return lambda: self.builder.real(x)

    def image(self, index: int) -> Int:
        """Return an image whose channels lie last in memory."""
        value = self.integers(index)
        if len(value.shape) != 3:
            raise ModelError(f"its input is {[1, *value.shape]}; it must be an image [N, C, H, W]")
        return self.builder.ordered(value, LAST)

    def operands(self, rank: int) -> list[Int]:
        """Return both inputs in one type, either of which may be a quantized constant."""
        both = [self._operand(index, rank) for index in range(2)]
        if len({value.kind for value in both}) > 1:
            both = [self.builder.widened(value) for value in both]
        return both

    def _operand(self, index: int, rank: int) -> Int:
        value: Any = self.call.value(index)
        if isinstance(value, Fixed):
            return self.builder.constant(value, (1,) * rank)
        return self.integers(index)

    def bias(self, given: Any, steps: np.ndarray) -> np.ndarray:
        """Return a bias in steps of the products, int64; zeros where there is none."""
        if given is None:
            return np.zeros(steps.size, np.int64)
        if isinstance(given, Fixed):
            if given.scale.size not in (1, steps.size):
                raise ModelError(
                    f"its bias has {given.scale.size} scales for {steps.size} channels"
                )
            scale = np.broadcast_to(given.scale.astype(np.float64).reshape(-1), steps.size)
            if given.data.size == steps.size and np.allclose(scale, steps, rtol=_CLOSE, atol=0):
                return given.data.reshape(-1).astype(np.int64)
            real = given.real
        elif isinstance(given, np.ndarray) and given.dtype == np.int32 and given.size == steps.size:
            return given.reshape(-1).astype(
                np.int64
            )  # of an operator on integers: in these steps already
        elif isinstance(given, np.ndarray) and given.dtype.kind == "f":
            real = given.astype(np.float64)
        else:
            raise ModelError("its bias is computed; it must be a constant")
        if real.size == 1:
            real = np.broadcast_to(real.reshape(1), steps.size)
        if real.size != steps.size or not np.isfinite(real).all():
            raise ModelError(f"its bias must be {steps.size} finite numbers")
        integers: np.ndarray = np.clip(
            np.rint(real.reshape(-1) / steps), -(2.0**53), 2.0**53
        ).astype(np.int64)
        return integers


#: Reason against a function of one number.
NO_FUNCTION = (
    "there is no function of 16 bits, and none of float32, for it: give its input and its output 8 "
    "bits, with a pair of QuantizeLinear and DequantizeLinear at each; then a table computes it"
)


def not_quantized(name: str) -> str:
    """Return the reason against floats between two operators of the device."""
    return f"its input {name!r} is not quantized: put a QuantizeLinear between the two operators"


#: Converts one node; what it makes is emitted when its QuantizeLinear is there, but for integers
#: that need none. Of a node of several outputs one for each.
Converter = Callable[[Site], Union[Pending, Int, tuple[Pending, ...]]]


def once(make: Callable[[], Int]) -> Callable[[], Int]:
    """Return what makes a tensor when it is first asked for."""
    made: list[Int] = []

    def get() -> Int:
        if not made:
            made.append(make())
        return made[0]

    return get


def moved(site: Site, shape: Shape, put: Callable[[Int, str], Int]) -> Pending:
    """Convert a node that moves numbers: put() makes them in the format of what it gets, under a
    name. Floats of a layer become integers first, as both orders have the same result.
    """
    value: Any = site.call.value(0)
    if isinstance(value, Pending):
        source = site.call.node.inputs[0]

        def emit(form: Format, name: str, ends: tuple[float, float]) -> Int:
            return put(value.emit(form, source, ends), name)

        real = value.real
        if real is not None:
            made = real
            real = once(lambda: put(made(), f"{source}/moved"))
        return replace(value, emit=emit, shape=shape, matrix=None, curve=None, real=real)
    x = site.integers(0)

    def emit_moved(form: Format, name: str, ends: tuple[float, float]) -> Int:
        made = put(x, name if x.format == form else f"{name}/moved")
        return site.builder.rescaled(made, form, name)

    return Pending(emit_moved, shape)
