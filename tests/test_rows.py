"""Every row equals the plain row it stands beside, on shapes and values that nobody recorded."""

import numpy as np
import pytest
from hosts import row_param

from qemu_nn import cmsis, kernels
from qemu_nn.bench.calls import random_arguments
from qemu_nn.errors import Refused, SizeMismatch
from qemu_nn.layers import FUNCTIONS
from qemu_nn.targets import all_profiles

GUARD = 64
CALLS = 150
SOAK = 1500


def rows_beside_plain_ones():
    for function in FUNCTIONS.values():
        for row in kernels.rows_of(function.op, function.type):
            if row.kind != "plain":
                yield row_param(function, row=row, id=f"{function.name}-{row}")


def computed(function, arguments, profile, variant):
    """The result, or the kind of error."""
    try:
        return cmsis.invoke(function, arguments, profile, variant)
    except (Refused, SizeMismatch) as error:
        return type(error)


def is_taken(function, row, arguments, profile):
    """Does the row compute this shape? Fast rows leave some to the plain one."""
    params = {name: arguments[name] for name in function.params}
    return row.takes(kernels.make_params(row.op, profile, function.struct_values(params)))


def compare_with_plain(function, row, seeds):
    """Run random legal and illegal calls on a row and its plain row; returns how many computed."""
    claimed = [p for p in all_profiles() if row.claims(p)]
    rows = kernels.rows_of(function.op, function.type)
    done = 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        arguments = random_arguments(rng, function)
        profile = claimed[rng.integers(len(claimed))]
        plain = next(r for r in rows if r.kind == "plain" and r.claims(profile))
        want = computed(function, arguments, profile, plain.variant)
        if isinstance(want, np.ndarray) and not is_taken(function, row, arguments, profile):
            continue
        got = computed(function, arguments, profile, row.variant)
        where = f"{row} against {plain}: {function.name}, {profile}, seed {seed}"
        np.testing.assert_array_equal(got, want, where)
        done += isinstance(got, np.ndarray)
    return done


@pytest.mark.parametrize(("function", "row"), list(rows_beside_plain_ones()))
def test_a_row_equals_the_plain_row_of_each_profile_it_claims(function, row):
    done = compare_with_plain(function, row, range(CALLS))
    assert done > CALLS / 3, f"only {done} of {CALLS} random calls of {function.name} were legal"


@pytest.mark.slow
@pytest.mark.parametrize(("function", "row"), list(rows_beside_plain_ones()))
def test_a_row_equals_the_plain_row_on_thousands_of_calls(function, row):
    assert compare_with_plain(function, row, range(CALLS, CALLS + SOAK)) > SOAK / 3


def all_rows():
    for function in FUNCTIONS.values():
        for row in kernels.rows_of(function.op, function.type):
            yield row_param(function, row=row, id=f"{function.name}-{row}")


def guarded(array, rng):
    """A copy with random canary bytes on both sides, and the function that checks them."""
    whole = rng.integers(0, 256, array.nbytes + 2 * GUARD).astype(np.uint8)
    inside = whole[GUARD:-GUARD]
    inside[:] = np.frombuffer(array.tobytes(), np.uint8)
    before = whole.copy()

    def intact():
        return all(np.array_equal(whole[e], before[e]) for e in (slice(GUARD), slice(-GUARD, None)))

    return inside.view(array.dtype).reshape(array.shape), intact


@pytest.mark.parametrize(("function", "row"), list(all_rows()))
def test_a_row_writes_its_output_whole_and_nothing_else(function, row):
    profile = next(p for p in reversed(all_profiles()) if row.claims(p))
    done = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        arguments = random_arguments(rng, function)
        params = {name: arguments[name] for name in function.params}
        struct = kernels.make_params(row.op, profile, function.struct_values(params))
        try:
            sizes = kernels.check(row, struct)
        except (Refused, SizeMismatch):
            continue
        if not row.takes(struct):
            continue
        inputs = [guarded(arguments[array.name], rng) for array in function.inputs]
        results = []
        for fill in (0x00, 0xFF):  # an element that is not written shows as one of the two
            shape = function.output.shape(params)
            start = np.full(shape, fill - 256 * (fill > 127), function.output.dtype)
            output, intact = guarded(start, rng)
            weights = function.weights and arguments[function.weights.name]
            bias = function.bias and arguments[function.bias.name]
            fed = [array.copy() if sizes.destroys else array for array, _ in inputs]
            kernels.call(row, struct, fed, output, weights, bias)
            results.append(output.copy())
            assert intact(), f"{row} wrote outside of its output, seed {seed}"
            assert all(check() for _, check in inputs), f"{row} wrote beside its input, seed {seed}"
        np.testing.assert_array_equal(*results, f"{row} left elements unwritten, seed {seed}")
        done += 1
    assert done > 15


@pytest.mark.parametrize("pixels", [256, 257, 300])
def test_averages_whose_q15_sums_overflow_are_those_of_the_plain_row(pixels):
    function = FUNCTIONS["arm_avepool_q7_HWC"]
    sizes = {"dim_im_in": pixels, "dim_kernel": pixels, "stride": pixels}
    params = {**sizes, "ch_im_in": 1, "padding": 0, "dim_im_out": 1}
    lowest = {a.name: np.full(a.shape(params), -128, np.int8) for a in function.arrays}
    dsp = next(p for p in all_profiles() if p.path == "dsp")
    best = cmsis.invoke(function, {**params, **lowest}, dsp)
    plain = cmsis.invoke(function, {**params, **lowest}, dsp, "dsp")
    np.testing.assert_array_equal(best, plain)
