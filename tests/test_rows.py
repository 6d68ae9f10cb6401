"""Every row equals the plain row it stands beside, on shapes and values that nobody recorded."""

from random import Random, randrange

import numpy as np
import pytest
from bits import assert_same, draws
from hosts import HELIUM_ONLY, may_ask, row_param

from qemu_nn import cmsis
from qemu_nn.errors import Refused, SizeMismatch
from qemu_nn.functions import FUNCTIONS, NPU_FUNCTIONS
from qemu_nn.kernels import table as kernels
from qemu_nn.targets import NPU, all_profiles, profile
from qemu_nn.testing.calls import random_arguments

pytestmark = pytest.mark.caps

GUARD = 64
CORTEX_M3 = profile("cortex-m3", "5.9.0")
TRIES = 200

EVERY_FUNCTION = (*FUNCTIONS.values(), *NPU_FUNCTIONS.values())
EVERY_PROFILE = (*all_profiles(), NPU)


def rows_that_compute(function):
    """The rows of its op, but for those of cores that have not this function."""
    rows = kernels.rows_of(function.op, function.type)
    if function.name not in HELIUM_ONLY:
        return rows
    return [row for row in rows if any(row.claims(p) for p in EVERY_PROFILE if p.path == "mve")]


#: Rows that take no call of a function, though they compute its op: this LSTM keeps its cell state.
NOT_TAKEN = {("tflm_lstm_s8", "avx2"), ("tflm_lstm_s16", "avx2")}


def rows_beside_plain_ones():
    for function in EVERY_FUNCTION:
        for row in rows_that_compute(function):
            if row.kind != "plain" and (function.name, row.variant) not in NOT_TAKEN:
                yield row_param(function, row=row, id=f"{function.name}-{row}")


def drawn_call(rng, function, row):
    """A call that the contract allows and the row takes: a profile, its struct, its arguments.
    Few are taken by rows that want many pixels."""
    for _ in range(TRIES):
        arguments = random_arguments(rng, function)
        profile = rng.choice([p for p in EVERY_PROFILE if row.claims(p)])
        params = {name: arguments[name] for name in function.params}
        struct = kernels.make_params(row.op, profile, function.struct_values(params))
        if legal(row, struct) and row.takes(struct):
            print(f"{function.name} of {profile}: {params}")
            return profile, struct, arguments
    raise AssertionError(f"{row} takes none of {TRIES} calls")


def legal(row, struct):
    try:
        kernels.check(row, struct)
    except (Refused, SizeMismatch):
        return False
    return True


def guarded(array, rng, guard):
    """A copy with so many random canary bytes on both sides, and the function that checks them."""
    end = guard + array.nbytes
    whole = rng.integers(0, 256, end + guard).astype(np.uint8)
    inside = whole[guard:end]
    inside[:] = np.frombuffer(array.tobytes(), np.uint8)
    before = whole.copy()

    def intact():
        return all(np.array_equal(whole[e], before[e]) for e in (slice(guard), slice(end, None)))

    return inside.view(array.dtype).reshape(array.shape), intact


def outputs_between_canaries(function, row, struct, arguments):
    """What a row writes over zeros and over ones: an element that it leaves shows in one. The
    second time nothing lies beside the arrays, so that sanitizers see who reads there."""
    canaries = np.random.default_rng(0)
    destroys = kernels.check(row, struct).destroys
    weights, bias = function.weights_of(arguments), function.bias_of(arguments)
    for fill, guard in ((0, GUARD), (-1, 0)):
        start = np.full(function.output.shape(arguments), fill).astype(function.output.dtype)
        output, intact = guarded(start, canaries, guard)
        inputs = [guarded(arguments[array.name], canaries, guard) for array in function.inputs]
        try:
            kernels.call(row, struct, [array for array, _ in inputs], output, weights, bias)
        except Refused:  # for the values of its inputs
            output[...] = 0
        assert intact(), f"{row} wrote outside of its output"
        assert all(check() for _, check in inputs), f"{row} wrote beside its input"
        for index, (declared, (array, _)) in enumerate(zip(function.inputs, inputs)):
            if not (declared.state or (destroys and index == 0)):
                assert_same(array, arguments[declared.name], row, "wrote to its input")
        yield output


def compare_with_plain(function, row, rng):
    profile, struct, arguments = drawn_call(rng, function, row)
    rows = kernels.rows_of(function.op, function.type)
    plain = next(r for r in rows if r.kind == "plain" and r.claims(profile))
    want = cmsis.invoke(function, arguments, profile, plain.variant)
    for got in outputs_between_canaries(function, row, struct, arguments):
        assert_same(got, want, row, plain)


@pytest.mark.rows
@pytest.mark.parametrize(("function", "row"), list(rows_beside_plain_ones()))
def test_a_row_equals_the_plain_row_and_writes_nothing_else(function, row):
    for rng in draws(25):  # 500 below; with 12 a row passed that writes a vector too far
        compare_with_plain(function, row, rng)


@pytest.mark.slow
@pytest.mark.parametrize(("function", "row"), list(rows_beside_plain_ones()))
def test_a_row_equals_the_plain_row_on_hundreds_of_calls(function, row):
    for rng in draws(500, first=randrange(2**32)):
        compare_with_plain(function, row, rng)


ASKED = [r for r in kernels.rows_of("convolve", "q7") if r.kind == "fast" and may_ask(r)]


@pytest.mark.parametrize("row", ASKED)
def test_windows_far_apart_are_left_to_the_plain_row(row):
    """Fast rows lay out all that windows reach: here 2^40 pixels, of which the image has one."""
    name = "arm_convolve_HWC_q7_basic_nonsquare"
    sides = {"dim_im_in": 1, "dim_kernel": 1, "padding": 0, "stride": 2**15, "dim_im_out": 32}
    params = {f"{side}_{axis}": n for side, n in sides.items() for axis in "xy"}
    params.update(ch_im_in=3, ch_im_out=1, bias_shift=0, out_shift=0)
    struct = kernels.make_params(row.op, CORTEX_M3, FUNCTIONS[name].struct_values(params))
    assert legal(row, struct)
    assert not row.takes(struct)
    arrays = {a.name: np.full(a.shape(params), 2, a.dtype) for a in FUNCTIONS[name].arrays}
    found = cmsis.invoke(FUNCTIONS[name], {**params, **arrays}, CORTEX_M3).ravel()
    assert found.tolist() == [14] + [2] * 1023


def plain_rows():
    for function in EVERY_FUNCTION:
        for row in rows_that_compute(function):
            if row.kind == "plain":
                yield row_param(function, row=row, id=f"{function.name}-{row}")


@pytest.mark.rows
@pytest.mark.parametrize(("function", "row"), list(plain_rows()))
def test_a_plain_row_writes_its_output_whole_and_nothing_else(function, row):
    for rng in draws(8):
        _, struct, arguments = drawn_call(rng, function, row)
        results = outputs_between_canaries(function, row, struct, arguments)
        assert_same(*results, row, "left elements unwritten")


@pytest.mark.parametrize("pixels", [256, 257, 300])
def test_averages_whose_q15_sums_overflow_are_those_of_the_plain_row(pixels):
    function = FUNCTIONS["arm_avepool_q7_HWC"]
    sizes = {"dim_im_in": pixels, "dim_kernel": pixels, "stride": pixels}
    params = {**sizes, "ch_im_in": 1, "padding": 0, "dim_im_out": 1}
    lowest = {a.name: np.full(a.shape(params), -128, np.int8) for a in function.arrays}
    dsp = next(p for p in all_profiles() if p.path == "dsp")
    best = cmsis.invoke(function, {**params, **lowest}, dsp)
    plain = cmsis.invoke(function, {**params, **lowest}, dsp, "dsp")
    assert_same(best, plain)


@pytest.mark.parametrize(("name", "variant"), sorted(NOT_TAKEN))
def test_a_row_that_is_left_out_takes_no_call(name, variant):
    function = FUNCTIONS[name]
    row = next(r for r in kernels.rows_of(function.op, function.type) if r.variant == variant)
    if not may_ask(row):
        pytest.skip(f"{row} answers in instructions that this host lacks")
    rng, tried = Random(7), 0
    for _ in range(50):
        arguments = random_arguments(rng, function)
        params = {name: arguments[name] for name in function.params}
        for claimed in (p for p in EVERY_PROFILE if row.claims(p)):
            struct = kernels.make_params(row.op, claimed, function.struct_values(params))
            if legal(row, struct):
                assert not row.takes(struct)
                tried += 1
    assert tried
