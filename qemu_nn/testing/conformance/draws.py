"""Random draws of the conformance set's calls: shapes of each function, arrays with structure.

The file contains all draws; running the set does not need this module. A function's name is the
seed of its cases, so a new function does not change cases of the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from random import Random
from typing import Optional

import numpy as np

from ...errors import Error
from ...functions import FUNCTIONS, Array, Function
from ...functions.shapes import get_extent
from ...kernels.table import list_rows
from .arrays import MOST, ONE, Rule, data, make_layer_arrays, make_noise
from .cases import PROFILES, Case, CaseCall, Values, compute_plain_outputs, expect
from .networks import NETWORKS

#: Time steps of a call that keeps a state.
_STEPS = 3

#: Most bytes of an array and most multiply-accumulates of a call, for small boards.
_MOST_BYTES, _MOST_MACS = 4096, 60_000

#: Kinds of arrays of layers with weights and of further calls; repeated ones are drawn more often.
_LAYERS = ("any", "any", "ties", "uneven", "uneven", "uneven")
_OTHERS = ("any", "any", "any", "ties")

#: Draws for a case, and legal draws to choose the best from, by the number of plain rows.
_TRIES = 200
_CANDIDATES = {1: 3, 2: 12, 3: 12}


def draw_missing(stored: Sequence[Case]) -> list[Case]:
    """Draw the calls of functions and the networks that no stored case has."""
    number = max((case.number for case in stored), default=0)
    names = {case.name for case in stored}
    called = {case.calls[0].function for case in stored}
    found: list[Case] = []
    for function in FUNCTIONS.values():
        if function.name not in called and _is_integer(function):
            for turn in range(1, _count(function) + 1):
                name = f"{function.name}-{turn}"
                found.append(_choose_best(Random(name), function, name, number + len(found) + 1))
    for name, build in NETWORKS.items():
        if name not in names:
            found.append(build(Random(name), name, number + len(found) + 1))
    return found


def _is_integer(function: Function) -> bool:
    """True if the function has an input other than a state, and no floats."""
    arrays = (*function.arrays, function.output)
    has_input = any(not array.state for array in function.inputs)
    return has_input and not any(array.dtype == "float32" for array in arrays)


def _has_sums(function: Function) -> bool:
    """True if the function computes sums of products with weights."""
    return function.weights is not None and bool(function.macs)


def _count(function: Function) -> int:
    """Return the number of cases of a function: the most if fast rows compute sums of products."""
    arms = function.name.startswith("arm_")
    if _has_sums(function):
        return 18 if arms else 8
    return 7 if arms else 2 if function.weights is None else 4


def _choose_best(rng: Random, function: Function, name: str, number: int) -> Case:
    """Return the candidate with the most digests, which distinguishes the most profiles."""
    found: list[Case] = []
    kinds = _LAYERS if _has_sums(function) else _OTHERS
    rows = list_rows(function.op, function.type)
    candidates = _CANDIDATES[sum(row.kind == "plain" for row in rows)]
    for _ in range(_TRIES):
        case = _draw_case(rng, function, name, number, rng.choice(kinds))
        with suppress(Error):  # profiles may differ in the calls that they refuse
            found += [expect(case)] if case else []
        if len(found) == candidates:
            break
    if not found:
        raise Error(f"{function.name}: none of {_TRIES} draws is a legal call of use; change draw")
    return max(found, key=lambda case: len(case.digests))


def _draw_case(
    rng: Random, function: Function, name: str, number: int, kind: str
) -> Optional[Case]:
    """Draw a case; None if it is illegal, too large, or its outputs are all equal."""
    assert function.draw is not None, f"{function.name} has no random arguments"
    scalars = function.draw(rng, function)
    for key in function.params:  # products with these are ties, or almost
        if key.endswith(("mult", "multiplier")) and scalars[key] >= ONE and rng.randrange(3) == 0:
            scalars[key] = rng.choice((ONE, ONE, ONE + 1, MOST))
    if kind == "uneven":
        _rectify(rng, function, scalars)
    if not _is_small(function, scalars):
        return None
    read = function.list_read_inputs(scalars)
    states = {a.name: Values(a.dtype, a.shape(scalars), {"cycle": [0]}) for a in read if a.state}
    steps = _STEPS if states else 1
    inputs = {}
    for array in read:
        if not array.state:
            shape = (*((steps,) if states else ()), *array.shape(scalars))
            inputs[array.name] = Values(array.dtype, shape, _make_input(rng, array, scalars, kind))
    if not inputs:
        return None
    first = next(iter(inputs.values()))
    arrays = make_layer_arrays(rng, function, scalars, first.array(number), kind)
    shape, reads = function.output.shape(scalars), tuple(array.name for array in read)
    call = CaseCall("result", function.name, scalars, reads, shape, arrays)
    case = Case(name, number, steps, inputs, states, (call,), (call.name,))
    return case if _is_of_use(rng, case) else None


def _is_small(function: Function, scalars: dict[str, int]) -> bool:
    """True if arrays and work are small, and the output is not empty."""
    arrays = (*function.arrays, function.output)
    if any(axis < 0 for array in arrays for axis in array.shape(scalars)):
        return False
    sizes = [array.nbytes(scalars) for array in arrays]
    small = sizes[-1] > 0 and max(sizes) <= _MOST_BYTES
    return small and get_extent(function.macs, scalars) <= _MOST_MACS


def _rectify(rng: Random, function: Function, scalars: dict[str, int]) -> None:
    """Rectify inputs and outputs, as between the layers of most networks."""
    usual = {"input_offset": 128, "output_offset": -128, "act_min": -128, "act_max": 127}
    if function.output.dtype == "int8":
        scalars.update({name: n for name, n in usual.items() if name in scalars})
    if "filter_offset" in scalars:  # rows on tiles take many vectors of many elements
        scalars.update(batches=rng.choice((1, 17, 34, 34)), filter_offset=0)
        scalars.update(input_c=rng.choice((31, 64, 70, 96)), output_c=rng.choice((8, 9, 16, 17)))
    if "ch_mult" in scalars:
        scalars.update(input_c=rng.choice((2, 3, 4, 4, 4, 8, 8, 16)), ch_mult=1, batches=1)
        for axis in "hw":
            if rng.randrange(3):
                scalars[f"stride_{axis}"] = 1
            size = scalars[f"input_{axis}"] = rng.randint(12, 20)
            filter, dilation = (scalars[f"{name}_{axis}"] for name in ("filter", "dilation"))
            reach = size + scalars[f"pad_{axis}"] - dilation * (filter - 1) - 1
            scalars[f"output_{axis}"] = reach // scalars[f"stride_{axis}"] + 1


def _make_input(rng: Random, array: Array, scalars: dict[str, int], kind: str) -> Rule:
    """Return the rule of an input; for ties near its zero point, so that sums are small."""
    if array.below:
        return {"low": 0, "high": array.below - 1}
    if kind == "uneven":
        return make_noise(array.dtype)
    if kind == "ties" and array.dtype == "int8":
        low = min(122, max(-128, -scalars.get("input_offset", 0) - 3))
        return {"low": low, "high": low + 5}
    return data(rng, array.dtype)


def _is_of_use(rng: Random, case: Case) -> bool:
    """True if a profile can run the case, and mostly only if its outputs are not all equal."""
    try:
        found = (compute_plain_outputs(case, profile) for profile in PROFILES)
        outputs = next((each for each in found if each is not None), None)
    except Error:  # for the values of its inputs
        return False
    if outputs is None:
        return False
    values = outputs[case.outputs[0]]
    several = 2 if values.dtype == bool else 4
    return len(np.unique(values)) >= min(values.size, several) or rng.randrange(12) == 0
