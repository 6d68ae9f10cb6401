"""Convolutions to few channels, whose fast rows compute neighbouring pixels as one."""

from dataclasses import replace

import pytest
from bits import draws
from hosts import leaves_calls, row_param
from test_cut import calls_in_parts, compare_these
from test_rows import compare_with_plain, rows_that_compute

from qemu_nn.functions import FUNCTIONS

pytestmark = [pytest.mark.caps, pytest.mark.rows]

NAMES = (
    "arm_convolve_wrapper_s8",
    "arm_convolve_wrapper_s4",
    "arm_convolve_HWC_q7_basic_nonsquare",
    "arm_convolve_HWC_q15_basic",
)


def _few_channels(rng, function):
    """Arguments as the function draws them, of few channels and an even number of columns."""
    while True:
        params = dict(FUNCTIONS[function.name].draw(rng, function))
        outputs, inputs = rng.randint(1, 8), rng.randint(1, 4)
        for name in params:
            if name in ("output_c", "ch_im_out"):
                params[name] = outputs
            elif name in ("input_c", "filter_c", "ch_im_in"):
                params[name] = inputs
        width = next(n for n in ("output_w", "dim_im_out_x", "dim_im_out") if n in params)
        if params[width] % 2 == 0 or params[width] % 3 == 0:
            return params


def fast_rows():
    for name in NAMES:
        function = replace(FUNCTIONS[name], draw=_few_channels)
        for row in rows_that_compute(function):
            if row.kind == "fast" and not leaves_calls(row):
                yield row_param(function, row=row, id=f"{name}-{row}")


@pytest.mark.parametrize(("function", "row"), list(fast_rows()))
def test_pixels_that_go_together_have_their_own_bytes(function, row):
    for rng in draws(30):
        compare_with_plain(function, row, rng)


@pytest.mark.parametrize(("function", "row"), list(fast_rows()))
def test_parts_of_them_share_their_weights(function, row):
    for call in calls_in_parts(function, row, 15):
        compare_these(function, row, *call)
