"""Rows of the kernel table compared with the plain row, byte for byte, on random calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache, partial
from random import Random
from typing import Any, Callable, Optional

import numpy as np

from ..errors import Refused
from ..functions import FUNCTIONS, NPU_FUNCTIONS, Function
from ..functions.base import DECLARED
from ..functions.shapes import get_extent
from ..kernels import table as kernels
from ..targets import Profile, list_ruled_profiles
from .borders import place_on_borders
from .calls import (
    EVERY_PROFILE,
    Recipe,
    draw_arguments,
    draw_params,
    draw_recipe,
    is_legal,
    make_struct,
)
from .geometry import MOST_COUNTED, VECTOR_WIDTHS, has_length

EVERY_FUNCTION: tuple[Function, ...] = (*FUNCTIONS.values(), *NPU_FUNCTIONS.values())

#: Functions missing on cores without Helium, which have further functions of the same op.
HELIUM_ONLY = {"arm_convolve_even_s4"}

#: Rows that accept no call of a function of their op: this LSTM keeps its cell state.
NOT_TAKEN = {("tflm_lstm_s8", "avx2"), ("tflm_lstm_s16", "avx2")}

#: Draws after which a row counts as accepting no call, and products of a long call.
_TRIES, _MOST_PRODUCTS = 500, 300_000

#: Canary bytes on each side of an array.
GUARD = 64


@dataclass(frozen=True)
class RowCall:
    """A call that its contract allows: its generators, and all inputs of a row."""

    function: Function
    profile: Profile
    recipe: Recipe
    arguments: Mapping[str, Any]

    @cached_property
    def struct(self) -> Any:
        """Scalar arguments in the rows' struct."""
        return make_struct(self.function, self.profile, self.arguments)

    @cached_property
    def plain(self) -> kernels.Row:
        """The row that defines the bits."""
        rows = kernels.list_rows(self.function.op, self.function.type)
        return next(row for row in rows if row.kind == "plain" and row.claims(self.profile))

    @cached_property
    def wanted(self) -> np.ndarray:
        """The output of the plain row."""
        return self.compute_plain(self.arguments)

    def compute_plain(self, arguments: Mapping[str, Any]) -> np.ndarray:
        """Compute the plain row on different arrays; return zeros if it refuses them."""
        function = self.function
        weights, bias = function.weights_of(arguments), function.bias_of(arguments)
        inputs = [np.array(arguments[array.name]) for array in function.inputs]
        output = np.zeros(function.output.shape(arguments), function.output.dtype)
        with suppress(Refused):
            kernels.call(self.plain, self.struct, inputs, output, weights, bias)
        return output

    @property
    def params(self) -> dict[str, int]:
        """The scalar C arguments."""
        return {name: self.arguments[name] for name in self.function.params}

    def __str__(self) -> str:
        return f"{self.function.name} of {self.profile}, {self.recipe}: {self.params}"


def list_rows(function: Function) -> list[kernels.Row]:
    """Return the rows of a function's op, except rows of cores without the function."""
    rows = kernels.list_rows(function.op, function.type)
    if function.name not in HELIUM_ONLY:
        return list(rows)
    return [row for row in rows if any(row.claims(p) for p in EVERY_PROFILE if p.path == "mve")]


def list_pairs() -> Iterator[tuple[Function, kernels.Row]]:
    """Return each function with each of its rows that is not plain and accepts some of
    its calls.
    """
    for function in EVERY_FUNCTION:
        for row in list_rows(function):
            if row.kind != "plain" and (function.name, row.variant) not in NOT_TAKEN:
                yield function, row


@cache
def choose_layer_pairs() -> tuple[tuple[Function, kernels.Row], ...]:
    """Return a function, best a wrapper, for each fast row of layers with any count of channels."""
    found: dict[kernels.Row, Function] = {}
    for function, row in list_pairs():
        counted = {*function.params} & {"output_c", "ch_mult", "ch_im_out", "num_of_rows", "out_c"}
        is_free = not {"fast", "rgb"} & {*function.op.split("_")}
        is_better = row not in found or "wrapper" in function.name
        if counted and is_free and function.weights and row.kind == "fast" and is_better:
            found[row] = function
    return tuple((function, row) for row, function in found.items())


def iterate_everyday_draws(
    function: Function, row: kernels.Row
) -> Iterator[tuple[int, Optional[str]]]:
    """Yield the seeds and shapes that the everyday suite draws of a function and row."""
    yield from ((seed, None) for seed in range(120 if function.macs else 50))
    yield from ((seed, "every_value") for seed in range(24) if has_length(function))
    if (function, row) in choose_layer_pairs():
        yield from ((count, f"{count}_channels") for count in range(1, MOST_COUNTED + 1))
        if any(name.endswith(("_w", "_im_in", "_im_in_x")) for name in function.params):
            yield from ((seed, f"width_{width}") for width in VECTOR_WIDTHS for seed in range(2))


def draw_call(
    function: Function, row: kernels.Row, seed: int, shape: Optional[str] = None
) -> RowCall:
    """Return the call of a seed, which the contract allows and the row accepts.

    Rows with the same profiles get the same call, if they accept it. shape: of SHAPES; by default a
    random one of those that change calls of the function.
    """
    for attempt in range(_TRIES):
        call = _draw_call(function.name, row.profiles, seed + (attempt << 32), shape)
        if call is not None and row.takes(call.struct):
            return call
    raise AssertionError(f"{row} takes none of {_TRIES} calls of {function.name}")


def _claims(op: kernels.Op, profiles: int, profile: Profile) -> bool:
    """True if a mask of profiles has the bit of one."""
    return bool(profiles >> kernels.bit_of(op, profile) & 1)


@lru_cache(maxsize=512)
def _draw_call(name: str, profiles: int, seed: int, shape: Optional[str]) -> Optional[RowCall]:
    """Return a call under one of these profiles; None if its contract refuses it."""
    rng, function = Random(f"{name} {seed}"), DECLARED[name]
    op = kernels.list_rows(function.op, function.type)[0].op
    claims = partial(_claims, op, profiles)
    claimed = [*filter(claims, EVERY_PROFILE)] or [*filter(claims, list_ruled_profiles())]
    profile = rng.choice(claimed)
    recipe = draw_recipe(rng, function)
    recipe = replace(recipe, shape=shape) if shape else recipe
    recipe = replace(recipe, inputs="every") if shape == "every_value" else recipe
    params = draw_params(rng, function, recipe)
    is_long = get_extent(function.macs, params) > _MOST_PRODUCTS
    if is_long or not is_legal(function, params, profile):
        return None
    call = RowCall(function, profile, recipe, draw_arguments(rng, function, params, recipe))
    if not is_legal(function, call.arguments, profile):
        return None
    if recipe.on_borders:
        arguments = place_on_borders(rng, function, call.arguments, call.compute_plain)
        return RowCall(function, profile, recipe, arguments)
    return call


def assert_same(got: np.ndarray, want: np.ndarray, *where: object) -> None:
    """Compare the bytes; on a difference, let numpy describe it, which takes twenty
    times as long.
    """
    if got.dtype != want.dtype or got.shape != want.shape or got.tobytes() != want.tobytes():
        np.testing.assert_array_equal(got, want, ", ".join(map(str, where)))
        raise AssertionError(f"other bits: {', '.join(map(str, where))}")


def _guard(
    array: np.ndarray, rng: np.random.Generator, guard: int
) -> tuple[np.ndarray, Callable[[], bool]]:
    """Return a copy between this many canary bytes, and a function that checks them."""
    end = guard + array.nbytes
    whole = rng.integers(0, 256, end + guard).astype(np.uint8)
    inside = whole[guard:end]
    inside[:] = np.frombuffer(array.tobytes(), np.uint8)
    before = whole.copy()

    def intact() -> bool:
        return all(np.array_equal(whole[e], before[e]) for e in (slice(guard), slice(end, None)))

    return inside.view(array.dtype).reshape(array.shape), intact


def iterate_outputs(call: RowCall, row: kernels.Row) -> Iterator[np.ndarray]:
    """Yield the outputs of a row over zeros and over ones, which show unwritten elements.

    The second run has no canaries, so sanitizers detect reads outside the arrays.
    """
    function, arguments, struct = call.function, call.arguments, call.struct
    canaries = np.random.default_rng(0)
    destroys = kernels.check(row, struct).destroys
    weights, bias = function.weights_of(arguments), function.bias_of(arguments)
    for fill, guard in ((0, GUARD), (-1, 0)):
        start = np.full(function.output.shape(arguments), fill).astype(function.output.dtype)
        output, intact = _guard(start, canaries, guard)
        inputs = [_guard(arguments[array.name], canaries, guard) for array in function.inputs]
        try:
            kernels.call(row, struct, [array for array, _ in inputs], output, weights, bias)
        except Refused:  # for the values of its inputs
            output[...] = 0
        assert intact(), f"{row} wrote outside of its output"
        assert all(check() for _, check in inputs), f"{row} wrote next to its input"
        for index, (declared, (array, _)) in enumerate(zip(function.inputs, inputs)):
            if not (declared.state or (destroys and index == 0)):
                assert_same(array, arguments[declared.name], row, "wrote to its input")
        yield output


def compare_with_plain(call: RowCall, row: kernels.Row) -> None:
    """Raise AssertionError if a row differs from the plain row, or writes anything else."""
    for got in iterate_outputs(call, row):
        assert_same(got, call.wanted, row, call.plain)
