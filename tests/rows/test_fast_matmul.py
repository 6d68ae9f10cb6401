"""Fast rows of products of matrices: tails of all sides, operands that repeat, the largest sums."""

import itertools

import numpy as np
import pytest
from bits import DEVICES, hold

NAME = "arm_batch_matmul_s8"
CORES = [device for device in DEVICES if device.cmsis == "7.0.0"]  # releases do not part here


def arguments(rng, rows, columns, depth, stacks=((1, 1), (1, 1)), **changes):
    (ln, lh), (rn, rh) = stacks
    shapes = {"lhs": (ln, lh, rows, depth), "rhs": (rn, rh, columns, depth)}
    found = {f"{side}_{a}": n for side, shape in shapes.items() for a, n in zip("nhwc", shape)}
    found.update(adj_x=0, adj_y=1, lhs_offset=-3, rhs_offset=7, output_offset=4, act_min=-128)
    found.update(act_max=127, multiplier=1518500250, shift=-9 - depth.bit_length() // 2)
    arrays = {side: rng.integers(-128, 128, s).astype(np.int8) for side, s in shapes.items()}
    return {**found, **arrays, **changes}


@pytest.mark.parametrize("columns", [1, 3, 4, 7, 8, 9, 15, 16, 17, 31, 33, 48, 63, 64, 65, 80, 130])
def test_every_tail_has_the_bits_of_the_plain_row(columns):
    rng = np.random.default_rng(columns)
    for rows, depth in itertools.product((1, 2, 5, 13, 17), (1, 2, 7, 8, 9, 31, 64)):
        hold(NAME, arguments(rng, rows, columns, depth), CORES)


@pytest.mark.parametrize(
    "stacks", [((1, 1), (2, 3)), ((2, 3), (1, 1)), ((2, 1), (1, 3)), ((2, 3),) * 2]
)
def test_repeated_operands_have_the_bits_of_the_plain_row(stacks):
    hold(NAME, arguments(np.random.default_rng(1), 5, 19, 11, stacks), CORES)


@pytest.mark.parametrize("offsets", [(-127, -127), (128, 128), (-127, 128), (0, 0)])
@pytest.mark.parametrize("depth", [16512, 16513, 40000])
def test_the_largest_sums_have_the_bits_of_the_plain_row(depth, offsets):
    rng = np.random.default_rng(2)
    for x, y, shift in itertools.product((-128, 127), (-128, 127), (-20, -1, 0, 5)):
        call = arguments(rng, 2, 5, depth, shift=shift)
        call.update(lhs_offset=offsets[0], rhs_offset=offsets[1])
        call["lhs"][:] = x
        call["rhs"][:] = y
        hold(NAME, call, CORES)


@pytest.mark.parametrize("shift", range(-31, 31, 4))
def test_shifts_multipliers_and_ranges(shift):
    rng = np.random.default_rng(3)
    for multiplier, offset in itertools.product((0, 1, 2**30, 2**31 - 1), (-128, 127)):
        pair = {"multiplier": multiplier, "shift": shift, "output_offset": offset}
        hold(NAME, arguments(rng, 4, 20, 12, **pair), CORES)
        hold(NAME, arguments(rng, 4, 20, 12, **pair, act_min=-5, act_max=90), CORES)
