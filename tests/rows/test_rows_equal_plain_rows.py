"""Every row equals the plain row on shapes, parameters and values that nobody recorded."""

from random import Random, randrange

import numpy as np
import pytest
from hosts import may_ask, row_param

from qemu_nn import cmsis
from qemu_nn.functions import FUNCTIONS
from qemu_nn.kernels import table as kernels
from qemu_nn.targets import all_profiles, profile
from qemu_nn.testing.calls import EVERY_PROFILE, draw_all_arguments, is_legal, make_struct
from qemu_nn.testing.geometry import MOST_COUNTED, VECTOR_WIDTHS
from qemu_nn.testing.rows import (
    EVERY_FUNCTION,
    NOT_TAKEN,
    assert_same,
    choose_layer_pairs,
    compare_with_plain,
    draw_call,
    iterate_everyday_draws,
    iterate_outputs,
    list_pairs,
    list_rows,
)

pytestmark = pytest.mark.caps

CORTEX_M3 = profile("cortex-m3", "5.9.0")

PAIRS = [row_param(f, row=row, id=f"{f.name}-{row}") for f, row in list_pairs()]


def compare(function, row, draws):
    """Compare a row with the plain one on the calls of these seeds and shapes; print each."""
    for seed, shape in draws:
        call = draw_call(function, row, seed, shape)
        print(f"seed {seed}: {call}")
        compare_with_plain(call, row)


@pytest.mark.rows
@pytest.mark.parametrize(("function", "row"), PAIRS)
def test_a_row_equals_the_plain_row_and_writes_nothing_else(function, row):
    compare(function, row, iterate_everyday_draws(function, row))


@pytest.mark.slow
@pytest.mark.parametrize(("function", "row"), PAIRS)
def test_a_row_equals_the_plain_row_on_hundreds_of_calls(function, row):
    first = randrange(2**31)
    compare(function, row, ((seed, None) for seed in range(first, first + 500)))


def test_each_fast_row_of_layers_is_drawn_with_every_count_of_channels_and_width():
    found = {row for _, row in choose_layer_pairs()}
    layers = {r for f, r in list_pairs() if f.weights and r.kind == "fast"}
    assert {r for r in layers if "convolve" in r.op.name and "fast" not in r.op.name} <= found | {
        r for r in layers if "rgb" in r.op.name
    }
    shapes = {shape for pair in choose_layer_pairs() for _, shape in iterate_everyday_draws(*pair)}
    assert {f"{MOST_COUNTED}_channels", f"width_{VECTOR_WIDTHS[-1]}"} <= shapes


ASKED = [r for r in kernels.list_rows("convolve", "q7") if r.kind == "fast" and may_ask(r)]


@pytest.mark.parametrize("row", ASKED)
def test_windows_far_apart_are_left_to_the_plain_row(row):
    """Fast rows lay out all that windows reach: here 2^40 pixels, of which the image has one."""
    name = "arm_convolve_HWC_q7_basic_nonsquare"
    sides = {"dim_im_in": 1, "dim_kernel": 1, "padding": 0, "stride": 2**15, "dim_im_out": 32}
    params = {f"{side}_{axis}": n for side, n in sides.items() for axis in "xy"}
    params.update(ch_im_in=3, ch_im_out=1, bias_shift=0, out_shift=0)
    struct = kernels.make_params(row.op, CORTEX_M3, FUNCTIONS[name].struct_values(params))
    assert is_legal(FUNCTIONS[name], params, CORTEX_M3)
    assert not row.takes(struct)
    arrays = {a.name: np.full(a.shape(params), 2, a.dtype) for a in FUNCTIONS[name].arrays}
    found = cmsis.invoke(FUNCTIONS[name], {**params, **arrays}, CORTEX_M3).ravel()
    assert found.tolist() == [14] + [2] * 1023


def plain_rows():
    for function in EVERY_FUNCTION:
        for row in list_rows(function):
            if row.kind == "plain":
                yield row_param(function, row=row, id=f"{function.name}-{row}")


@pytest.mark.rows
@pytest.mark.parametrize(("function", "row"), list(plain_rows()))
def test_a_plain_row_writes_its_output_whole_and_nothing_else(function, row):
    for seed in range(8):
        call = draw_call(function, row, seed)
        print(f"seed {seed}: {call}")
        assert_same(*iterate_outputs(call, row), row, "left elements unwritten")


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
    row = next(r for r in kernels.list_rows(function.op, function.type) if r.variant == variant)
    if not may_ask(row):
        pytest.skip(f"{row} answers in instructions that this host lacks")
    rng, tried = Random(7), 0
    for _ in range(50):
        arguments = draw_all_arguments(rng, function)
        params = {name: arguments[name] for name in function.params}
        for claimed in (p for p in EVERY_PROFILE if row.claims(p)):
            if is_legal(function, params, claimed):
                assert not row.takes(make_struct(function, claimed, params))
                tried += 1
    assert tried
