"""Each sum that a channel can have, from the least to the largest: all rows requantize it alike."""

from itertools import product

import numpy as np
import pytest
from bits import hold
from channel_sums import BYTES, ONE_OF_EACH, channels_of, last_step, same, unclamped_call

pytestmark = [pytest.mark.caps, pytest.mark.rows]

#: Pairs of bytes whose sums x + 127 y meet each integer between their ends.
PAIRS = np.stack(np.meshgrid(BYTES, BYTES), axis=-1).astype(np.int8)
WEIGHTS = np.array([1, 127], np.int8)

#: Least and largest output, and its offset: rectified, bounded above too, and in the middle.
RANGES = [(-128, 127, -128), (-128, 22, -128), (3, 127, 3), (-20, 90, -100), (-128, 127, -7)]


SHIFTS = [(-5, -5), (-8, -6), (-10, -9), (-12, -11), (-22, -13), (0, 3)]
CASES = [*zip(RANGES, SHIFTS)]
MORE = [pytest.param(*case, marks=pytest.mark.slow) for case in product(RANGES, SHIFTS)]


@pytest.mark.parametrize(("limits", "shifts"), CASES + MORE)
def test_convolutions_requantize_every_sum_as_the_plain_row(limits, shifts):
    count = 80
    params = {
        **{"batches": 1, "input_c": 2, "filter_c": 2, "output_c": count, "input_offset": 3},
        **same(256, "input", "output"),
        **same(1, "filter", "stride", "dilation"),
        **same(0, "pad"),
        **last_step(limits),
    }
    weights = np.tile(WEIGHTS, (count, 1)).reshape(count, 1, 1, 2)
    arrays = channels_of(np.random.default_rng(-min(shifts)), count, shifts)
    arguments = {**params, **arrays, "input": PAIRS[None], "filter": weights}
    hold("arm_convolve_1x1_s8_fast", arguments, ONE_OF_EACH)


@pytest.mark.parametrize("limits", RANGES[:3])
def test_depthwise_convolutions_requantize_every_sum_as_the_plain_row(limits):
    count = 80
    params = {
        **{"batches": 1, "input_c": count, "ch_mult": 1, "input_offset": 3},
        **{"input_h": 256, "input_w": 512, "output_h": 256, "output_w": 256},
        **{"filter_h": 1, "filter_w": 2, "stride_h": 1, "stride_w": 2},
        **same(1, "dilation"),
        **same(0, "pad"),
        **last_step(limits),
    }
    image = np.repeat(PAIRS.reshape(1, 256, 512, 1), count, axis=3)
    weights = np.tile(WEIGHTS[:, None], (1, count)).reshape(1, 1, 2, count)
    arrays = channels_of(np.random.default_rng(5), count, (-12, -6))
    arguments = {**params, **arrays, "input": image, "filter": weights}
    hold("arm_depthwise_conv_s8", arguments, ONE_OF_EACH)


@pytest.mark.parametrize("seed", range(4))
def test_sums_that_end_before_outputs_are_clamped(seed):
    hold("arm_convolve_1x1_s8_fast", unclamped_call(seed), ONE_OF_EACH)
