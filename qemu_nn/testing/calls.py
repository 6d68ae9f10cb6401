"""Random calls: a function, and generators of its shape, its parameters and its values by name."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Callable, Optional

import numpy as np

from ..errors import Refused, SizeMismatch
from ..functions import Array, Function
from ..functions.layouts import pack_nibbles, unpack_nibbles
from ..functions.prototypes import find_absent
from ..functions.random_params import get_limits
from ..functions.shapes import Half, get_extent
from ..kernels import table as kernels
from ..targets import NPU, Profile, all_profiles
from .channels import (
    MOST_WIDE_SHIFT,
    PARTITIONS,
    SCALES,
    SPECIAL_MULTIPLIERS,
    draw_bias,
    draw_channel_sizes,
    draw_scales,
    draw_starts,
)
from .geometry import SHAPES, list_shapes
from .s8_calls import is_affine
from .values import VALUES, random_name

#: Most products of random arguments, which tests compute in Python.
_MOST_PRODUCTS = 20_000

EVERY_PROFILE: tuple[Profile, ...] = (*all_profiles(), NPU)


@dataclass(frozen=True)
class Recipe:
    """The generators of one call, by name.

    shape: of geometry.SHAPES. scales: of channels.SCALES. inputs, weights: of values.VALUES.
    output: of OUTPUTS. special: the share of parameters that are special ones. sized: true if
    channels have weights of different sizes. on_borders: true if sums are put on borders of
    outputs, see borders.py.
    """

    shape: str = "declared"
    scales: str = "each"
    inputs: str = "uniform"
    weights: str = "uniform"
    output: str = "declared"
    special: float = 0.0
    sized: bool = False
    on_borders: bool = False


def _keep_range(params: dict[str, int], low: int, high: int) -> None:
    """Keep the range that the function draws."""


def _keep_whole_range(params: dict[str, int], low: int, high: int) -> None:
    """Keep all outputs of the type."""
    params.update(act_min=low, act_max=high)


def _rectify_output(params: dict[str, int], low: int, high: int) -> None:
    """Make the least output the zero point, as after a rectifier, and keep all outputs."""
    _keep_whole_range(params, low, high)
    params.update({n: low for n in ("output_offset", "out_offset") if n in params})


#: Generators of the range of outputs: fast rows have different epilogues without clamping.
OUTPUTS: dict[str, Callable[[dict[str, int], int, int], None]] = {
    "declared": _keep_range,
    "whole": _keep_whole_range,
    "rectified": _rectify_output,
}


def draw_recipe(rng: Random, function: Function) -> Recipe:
    """Return generators for a call of a function; one time in sixteen, all extremes together."""
    shape, scales = rng.choice(list_shapes(function)), rng.choice(("alike", "alike", *SCALES))
    output = rng.choice([*OUTPUTS])
    if rng.randrange(16) == 0:
        inputs, weights = (rng.choice(("lowest", "highest", "ends")) for _ in range(2))
        return Recipe(shape, scales, inputs, weights, output, rng.choice((0.0, 0.5)))
    inputs, weights = random_name(rng), random_name(rng)
    special = rng.choice((0.0, 0.0, 0.0, 0.0, 0.1, 0.5))
    sized, on_borders = rng.randrange(2) == 0, rng.randrange(4) == 0
    if on_borders and rng.randrange(2):
        inputs = "constant"  # all pixels of a channel have one sum
    return Recipe(shape, scales, inputs, weights, output, special, sized, on_borders)


def draw_declared_params(rng: Random, function: Function) -> dict[str, int]:
    """Return scalar C arguments of ordinary size; some break a constraint of the function."""
    assert function.draw is not None, f"{function.name} has no random arguments"
    return function.draw(rng, function)


def draw_params(rng: Random, function: Function, recipe: Recipe) -> dict[str, int]:
    """Return scalar C arguments of the recipe's shape; some break a constraint of the function."""
    params = draw_declared_params(rng, function)
    SHAPES[recipe.shape](rng, function, params)
    if "act_min" in params:
        OUTPUTS[recipe.output](params, *get_limits(function.output.dtype))
    if recipe.special and "input_offset" in params:
        ends = (-128, 127) if function.op == "svdf" else (-127, 128)  # an SVDF adds the zero point
        params["input_offset"] = rng.choice((*ends, 0, params["input_offset"]))
    return params


def draw_arguments(
    rng: Random,
    function: Function,
    params: Mapping[str, int],
    recipe: Recipe,
    given: Mapping[str, np.ndarray] = {},
) -> dict[str, Any]:
    """Return all arguments of a call: arrays, and the scalars, with scales that fit the sums.

    given: arrays by name that are not drawn.
    """
    return _Drawing(rng, function, params, recipe, given).arguments()


def draw_all_arguments(rng: Random, function: Function) -> dict[str, Any]:
    """Return all arguments of one call, of random generators.

    If a contract refuses the shape or the call is long, the function draws a second shape, which
    may break the contract as well.
    """
    recipe = draw_recipe(rng, function)
    params = draw_params(rng, function, recipe)
    if get_extent(function.macs, params) > _MOST_PRODUCTS or not is_legal(function, params):
        recipe = replace(recipe, shape="declared")
        params = draw_params(rng, function, recipe)
    return draw_arguments(rng, function, params, recipe)


def make_struct(function: Function, profile: Profile, arguments: Mapping[str, Any]) -> Any:
    """Return the scalar arguments in the rows' struct."""
    params = {name: arguments[name] for name in function.params}
    rows = kernels.list_rows(function.op, function.type)
    return kernels.make_params(rows[0].op, profile, function.struct_values(params))


def is_legal(
    function: Function, arguments: Mapping[str, Any], profile: Optional[Profile] = None
) -> bool:
    """True if the contract of a function allows a call; profile: by default, any with
    the function.
    """
    row = kernels.list_rows(function.op, function.type)[0]
    claimed = profile or next(p for p in EVERY_PROFILE if row.claims(p))
    try:
        kernels.check(row, make_struct(function, claimed, arguments))
    except (Refused, SizeMismatch):
        return False
    return True


def is_whole(function: Function, params: Mapping[str, int], profile: Profile) -> bool:
    """True if a release computes all images of a legal call, with a bias of the declared type, and
    has an argument for all values.
    """
    made = make_struct(function, profile, params)
    names = [name for name in ("batches", "bias_is_int32") if name in params]
    if any(getattr(made, name, params[name]) != params[name] for name in names):
        return False
    exported = profile.path != "npu" and not function.not_called
    return not (exported and find_absent(function, params, profile.cmsis))


class _Drawing:
    """Arrays of one call during the draw, and the facts that later ones need."""

    def __init__(
        self,
        rng: Random,
        function: Function,
        params: Mapping[str, int],
        recipe: Recipe,
        given: Mapping[str, np.ndarray],
    ) -> None:
        self.rng, self.function, self.params, self.recipe = rng, function, params, recipe
        self.elements = np.random.default_rng(rng.getrandbits(32))
        self.arrays: dict[str, np.ndarray] = {}
        self.given = given

    def arguments(self) -> dict[str, Any]:
        function, recipe, inputs = self.function, self.recipe, len(self.function.inputs)
        for i, array in enumerate(function.arrays):
            kind = recipe.inputs if i < inputs else recipe.weights
            known = self.given.get(array.name)
            self.arrays[array.name] = self._values(array, kind) if known is None else known
        filter = function.weights
        if filter is None or filter.name not in self.arrays or not inputs:
            self.spread = 2.0 ** self.rng.choice((4, 10, 16, 31))
        else:
            if recipe.sized:
                self._size_weights(filter)
            self.spread = self._measure_spread(filter)
        if is_affine(function):
            self._quantize_channels()
        if "start_shift" in self.arrays:
            self._start_sums()
        self.arrays.update(function.tables() if function.tables else {})
        return {**self.params, **self._scalars(), **self.arrays}

    def _values(self, array: Array, kind: str) -> np.ndarray:
        shape = array.shape(self.params)
        if array.below:
            return self.elements.integers(array.below, size=shape, dtype=array.dtype)
        return VALUES[kind](self.elements, array.dtype, shape)

    def _size_weights(self, filter: Array) -> None:
        """Give channels weights of different sizes, if the weights have an axis of channels."""
        outputs, weights = self.function.output.shape(self.params)[-1], self.arrays[filter.name]
        half = filter.axes[0]
        if isinstance(half, Half):
            shape = tuple(get_extent(axis, self.params) for axis in half.parts)
            weights = unpack_nibbles(weights, math.prod(shape)).reshape(shape)
        axis = next((i for i in (0, weights.ndim - 1) if weights.shape[i] == outputs), None)
        if axis is not None and weights.dtype.kind == "i":
            sized = draw_channel_sizes(self.elements, weights, axis)
            self.arrays[filter.name] = pack_nibbles(sized) if isinstance(half, Half) else sized

    def _measure_spread(self, filter: Array) -> float:
        """Return about the root mean square of the sums of inputs times weights."""
        first, offset = self.function.inputs[0].name, self.params.get("input_offset", 0)
        x = np.mean(np.square(self.arrays[first].astype(np.float64) + offset))
        w = np.mean(np.square(self.arrays[filter.name], dtype=np.float64))
        terms = self.arrays[filter.name].size / self.function.output.shape(self.params)[-1]
        packed = isinstance(filter.axes[0], Half)  # two of a 16th in each byte
        return max(1.0, math.sqrt(terms * x * w) / (16 / math.sqrt(2) if packed else 1))

    def _shift(self) -> int:
        """Return a shift that brings sums to half of the output's range, or to less or more."""
        bits = 8 * np.dtype(self.function.output.dtype).itemsize
        change = self.rng.choice((0, -1, -2, -3, -3, -4, -5, 1, 3))
        return round(bits - 2 - math.log2(self.spread)) + change

    def _scales(self, name: str, channels: int) -> tuple[np.ndarray, np.ndarray]:
        """Return multipliers and shifts that the function takes."""
        most = MOST_WIDE_SHIFT if self.function.output.dtype == "int16" else 30
        special = self.recipe.special
        return draw_scales(self.elements, name, channels, self._shift(), special, most)

    def _quantize_channels(self) -> None:
        """Draw multipliers, shifts and biases of channels."""
        function, params, recipe = self.function, self.params, self.recipe
        rows = {array.name: array for array in function.stack}
        if "multiplier" in rows:
            count = math.prod(rows["multiplier"].shape(params))
            pair = self._scales(recipe.scales, count)
            self.arrays["multiplier"], self.arrays["shift"] = (p.astype("int32") for p in pair)
        for array in (*rows.values(), function.bias):
            if array and array.name in self.arrays and array.name not in ("multiplier", "shift"):
                shape, dtype = array.shape(params), array.dtype_in(params)
                count, special = math.prod(shape), recipe.special / 4
                drawn = draw_bias(self.elements, count, self.spread, special)
                self.arrays[array.name] = drawn.astype(dtype).reshape(shape)

    def _start_sums(self) -> None:
        """Draw starts and shifts of the NPU's sums."""
        count, recipe = len(self.arrays["start_shift"]), self.recipe
        drawn = draw_starts(self.elements, recipe.scales, count, -self._shift(), recipe.special)
        self.arrays["start_shift"] = drawn

    def _scalars(self) -> dict[str, int]:
        """Return scalar scales of layers that fit the sums, and shared or special multipliers."""
        params, special = self.params, self.recipe.special
        if params.keys() & {"num_of_rows", "ch_im_out"} and "out_shift" in params:
            return {"out_shift": min(31, max(0, -self._shift()))} if self.rng.randrange(3) else {}
        if {"multiplier", "shift"} <= params.keys() and self.function.weights is not None:
            multiplier, shift = (int(each[0]) for each in self._scales("alike", 1))
            return {"multiplier": max(0, multiplier), "shift": shift}
        names = [n for n in params if n.endswith(("mult", "multiplier")) and n != "ch_mult"]
        if not names:
            return {}
        classes = PARTITIONS[SCALES[self.recipe.scales][0]](self.elements, len(names))
        found = {name: params[names[first]] for name, first in zip(names, classes)}
        chosen = (name for name in names if self.rng.random() < special)
        return {**found, **{name: self.rng.choice(SPECIAL_MULTIPLIERS) for name in chosen}}
