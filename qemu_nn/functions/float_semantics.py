"""Float semantics of calls: operators of float networks, and their inputs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Callable, NamedTuple, Optional, Union

import numpy as np

from ..errors import ModelError
from ..operators import Conv, Dense, Operator, Shape
from .base import Function


class Scale(NamedTuple):
    """Format of a tensor: an integer has the value scale * (integer - zero_point)."""

    scale: float
    zero_point: int


@dataclass(frozen=True)
class FloatCall:
    """A call of a function: its C arguments, weights and bias.

    source, output: formats of its first input and of its output. shape: of the output.
    """

    function: Function
    params: Mapping[str, int]
    weights: Optional[np.ndarray]
    bias: Optional[np.ndarray]
    source: Scale
    output: Scale
    shape: Shape

    @property
    def sides(self) -> list[Shape]:
        """The shapes of the inputs."""
        return [array.shape(self.params) for array in self.function.inputs]

    @property
    def image(self) -> Shape:
        """Image that the call reads; ModelError for several in one sample, because no operator
        accepts them.
        """
        batches, *image = self.sides[0]
        if batches > 1:
            raise ModelError(f"it reads {batches} images as one sample; a sample must be one image")
        return tuple(image)

    def factor(self, multiplier: str = "multiplier", shift: str = "shift") -> float:
        """Return a multiplier with its shift."""
        return math.ldexp(self.params[multiplier], self.params[shift] - 31)


@dataclass(frozen=True)
class Meant:
    """Operators, the first on the inputs, and the shapes of the inputs; None: unchanged.

    Without operators, the output repeats the input in that shape.
    """

    operators: tuple[Operator, ...]
    inputs: tuple[Optional[Shape], ...]


@dataclass(frozen=True)
class Constant(Operator):
    """Constant input of every sample; its own input determines the number of samples."""

    value: np.ndarray

    def shape(self, *inputs: Shape) -> Shape:
        """Return the value's."""
        return self.value.shape

    def evaluate(self, *inputs: np.ndarray) -> np.ndarray:
        """Return the value, once for each sample."""
        return np.broadcast_to(self.value, (len(inputs[0]), *self.value.shape))


@dataclass(frozen=True)
class Real(Operator):
    """Result of a function of arrays, in the shape of the first array."""

    compute: Callable[..., np.ndarray]

    def shape(self, *inputs: Shape) -> Shape:
        """Return the first input's."""
        return inputs[0]

    def evaluate(self, *inputs: np.ndarray) -> np.ndarray:
        """Return all values, without warnings for undefined float results."""
        with np.errstate(all="ignore"):
            return self.compute(*inputs)


#: The meaning of a call. Raises ModelError for a call that has none.
Meaning = Callable[[FloatCall], Meant]


def define_operator_meaning(operator: Operator, inputs: int = 1) -> Meaning:
    """Return the meaning of a function that computes an operator on unchanged inputs."""
    return lambda call: Meant((operator,), (None,) * inputs)


def define_meaning(compute: Callable[..., np.ndarray], inputs: int = 1) -> Meaning:
    """Return the meaning of a function with a float counterpart, on unchanged inputs."""
    return define_operator_meaning(Real(compute), inputs)


def get_pads(params: Mapping[str, int]) -> tuple[int, int, int, int]:
    """Return the padding above, left, below and right of an image that yields the given number of
    windows.
    """
    found = []
    for axis in "hw":
        size, before, side = (params[f"{name}_{axis}"] for name in ("input", "pad", "filter"))
        covered = (side - 1) * params.get(f"dilation_{axis}", 1) + 1
        reach = (params[f"output_{axis}"] - 1) * params[f"stride_{axis}"] + covered
        found.append((before, reach - size - before))
    (top, bottom), (left, right) = found
    return top, left, bottom, right


def compute_factors(
    function: Function, params: Mapping[str, int], bias: Optional[np.ndarray]
) -> np.ndarray:
    """Return the factor of the sums of each output channel: multiplier * 2^(shift - 31)."""
    if function.stack:
        assert bias is not None  # it contains them
        _, multiplier, shift = bias.astype(np.int64)
    else:
        multiplier, shift = (np.array([params[name]]) for name in ("multiplier", "shift"))
    result: np.ndarray = np.ldexp(multiplier.astype(np.float64), shift - 31)
    return result


def get_bias_row(function: Function, bias: Optional[np.ndarray]) -> Optional[np.ndarray]:
    """Return the biases alone, in steps of the layer's products; None if there are none."""
    return bias[0] if bias is not None and function.stack else bias


def make_real_layer(call: FloatCall, own: Union[Conv, Dense]) -> Union[Conv, Dense]:
    """Return a layer on integers, with the float values of its weights and bias."""
    steps = compute_factors(call.function, call.params, call.bias) * call.output.scale
    scales = (steps / call.source.scale).reshape(-1, *[1] * (own.weights.ndim - 1))
    bias = get_bias_row(call.function, call.bias)
    real = None if bias is None else bias * np.broadcast_to(steps, bias.shape)
    if real is not None and "input_offset" in call.params:
        real = real + _find_leftover_zero_point(call, own.weights) * steps
        real += (call.params["output_offset"] - call.output.zero_point) * call.output.scale
    return replace(own, weights=own.weights * scales, bias=real)


def _find_leftover_zero_point(call: FloatCall, weights: np.ndarray) -> np.ndarray:
    """Return the part of sums from a zero point that no offset removes, like the bias:
    of 16 bits.
    """
    left = call.source.zero_point + call.params["input_offset"]
    result: np.ndarray = left * weights.reshape(len(weights), -1).sum(1)
    return result


def make_window_meaning(call: FloatCall) -> Meant:
    """Return a convolution of an image."""
    assert call.function.product is not None
    assert call.weights is not None
    own = make_real_layer(call, call.function.product(call.params, call.weights))
    return Meant((own,), (call.image,))
