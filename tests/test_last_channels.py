"""Last channels that leave vectors empty, and vectors by themselves: fast rows have other ways."""

import pytest
from bits import draws
from test_columns import fast_rows
from test_rows import compare_with_plain

pytestmark = [pytest.mark.caps, pytest.mark.rows]

NAMES = {"arm_convolve_wrapper_s8", "arm_convolve_1x1_s8_fast", "arm_fully_connected_s8"}


def _last_channels(rng, params):
    """Mostly a vector and a half, behind none or some whole ones; one group, all outputs kept."""
    channels = 64 * rng.choice((0, 0, 1)) + rng.choice(
        (24, 25, rng.randint(17, 33), rng.randint(1, 64))
    )
    steps = 4 * rng.randint(1, 10)
    bounds = rng.choice(({}, {"act_min": -128, "act_max": 127}))
    return {"output_c": channels, "input_c": steps, "filter_c": steps, **bounds}


@pytest.mark.parametrize(("function", "row"), list(fast_rows(NAMES, _last_channels)))
def test_no_channel_is_lost_where_vectors_are_half_empty(function, row):
    for rng in draws(60):
        compare_with_plain(function, row, rng)


SINGLE = {
    "arm_fully_connected_s8",
    "arm_fully_connected_per_channel_s8",
    "arm_fully_connected_s4",
    "arm_fully_connected_s16",
    "arm_fully_connected_q7",
    "arm_fully_connected_q15",
    "arm_fully_connected_mat_q7_vec_q15",
}


def _single_vector(rng, params):
    """One vector by so many channels that groups of them go side by side, or just do not."""
    rows = rng.choice((128, 64 * rng.randint(1, 5), rng.randint(1, 300)))
    columns = rng.choice((16 * rng.randint(1, 4), rng.randint(1, 70)))
    shared = {"act_min": -128, "act_max": 127} if rng.random() < 0.5 else {}
    sizes = {"batches": 1, "input_c": columns, "output_c": rows}
    return {**sizes, "dim_vec": columns, "num_of_rows": rows, **shared}


@pytest.mark.parametrize(("function", "row"), list(fast_rows(SINGLE, _single_vector)))
def test_a_vector_by_itself_meets_all_channels(function, row):
    for rng in draws(60):
        compare_with_plain(function, row, rng)
