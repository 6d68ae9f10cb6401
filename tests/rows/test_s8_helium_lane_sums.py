"""Sums in lanes of Helium, built for single rounding, are doubled first where a shift is 0 or more.

A sum of 2^30, doubled, is -2^31, so that what a lane has shows as the lowest output.
"""

from random import Random

import numpy as np
import pytest

from qemu_nn import cmsis
from qemu_nn.functions import FUNCTIONS
from qemu_nn.testing.calls import draw_all_arguments


def lowest(name, core="mve", rounding="single", **params):
    """Return the mask of outputs [pixel, channel] that are the lowest; weights are 0."""
    function = FUNCTIONS[name]
    p = dict.fromkeys(function.params, 1)
    p.update({n: 0 for n in p if n.startswith(("pad", "input_off", "output_off"))})
    limits = np.iinfo(function.output.dtype)
    p.update(act_min=int(limits.min), act_max=int(limits.max))
    p.update(params)
    arrays = {a.name: np.zeros(a.shape(p), a.dtype_in(p)) for a in function.arrays}
    arrays["bias"] += 2**30
    arrays["multiplier"] += 2**30
    got = getattr(cmsis, name)(target=core, rounding=rounding, **p, **arrays)
    assert set(got.ravel().tolist()) <= {p["act_min"], p["act_max"]}
    return got.reshape(-1, got.shape[-1]) == p["act_min"]


def in_fours(stretches, channels, pairs=False):
    """Lanes of stretches of pixels; pairs: are two or three that are left over in lanes, too?"""
    found = []
    for pixels in stretches:
        left = 0 if pairs and pixels % 4 > 1 else pixels % 4
        of_one = [o < channels - channels % 4 for o in range(channels)]
        found += [[True] * channels] * (pixels - left) + [of_one] * left
    return found


def columns(width):
    return {"input_w": width, "output_w": width}


@pytest.mark.parametrize("channels", [1, 4, 6])
@pytest.mark.parametrize("width", range(1, 8))
def test_pixels_come_in_fours_and_the_channels_of_those_left_over_too(width, channels):
    two = {"input_h": 2, "output_h": 2, "batches": 2}
    for type, packed in (("s8", False), ("s4", True)):
        for kernel, sides, stretches in (
            (f"convolve_{type}", {**columns(width), **two}, [2 * width] * 2),
            (f"convolve_1x1_{type}", {**columns(width), **two}, [width] * 4),
            (f"convolve_1x1_{type}_fast", {**columns(width), **two}, [4 * width]),
            (f"convolve_wrapper_{type}", {**columns(width), **two}, [4 * width]),
        ):
            got = lowest(f"arm_{kernel}", **sides, output_c=channels)
            assert got.tolist() == in_fours(stretches, channels, packed), kernel
    got = lowest("arm_convolve_s16", **columns(width), output_c=channels, bias_is_int32=1)
    assert got.tolist() == in_fours([width], channels)


def test_a_row_has_three_stretches():
    row = {**columns(7), "filter_w": 3, "pad_w": 1, "input_c": 4, "filter_c": 4, "output_c": 5}
    got = lowest("arm_convolve_1_x_n_s8", **row)
    assert got.tolist() == in_fours([1, 5, 1], 5)
    got = lowest("arm_convolve_wrapper_s4", **row)
    assert got.tolist() == in_fours([1, 5, 1], 5)
    short = {**row, **columns(1)}
    assert lowest("arm_convolve_wrapper_s8", **short).tolist() == in_fours([1], 5)


def test_groups_have_their_own_channels_left_over():
    got = lowest("arm_convolve_s8", **columns(5), input_c=2, output_c=10)
    assert got.tolist() == [2 * row for row in in_fours([5], 5)]


@pytest.mark.parametrize(
    ("kernel", "params", "lanes"),
    [
        ("s8_opt", {}, True),
        ("s8", {}, False),
        ("s8", {"ch_mult": 4}, True),
        ("s8", {"ch_mult": 4, "batches": 2}, False),
        ("3x3_s8", {"filter_h": 3, "filter_w": 3, "pad_w": 1}, False),
        ("wrapper_s8", {}, True),
        ("wrapper_s8", {"dilation_h": 2}, False),
        ("s4_opt", {}, True),
        ("s4", {"ch_mult": 4}, False),
        ("wrapper_s4", {}, True),
    ],
)
def test_depthwise_functions_have_all_sums_in_lanes_or_none(kernel, params, lanes):
    got = lowest(f"arm_depthwise_conv_{kernel}", **{**columns(3), "input_c": 3, **params})
    assert np.unique(got).tolist() == [lanes]


def test_one_input_channel_has_the_lanes_of_a_convolution():
    got = lowest("arm_depthwise_conv_wrapper_s8", **columns(6), ch_mult=6)
    assert got.tolist() == in_fours([6], 6)


def test_transposed_convolutions_have_all_sums_in_lanes_but_those_turned_round():
    params = {**columns(6), "output_c": 6}
    assert lowest("arm_transpose_conv_s8", **params, input_c=17).all()
    assert lowest("arm_transpose_conv_wrapper_s8", **params, input_c=16).all()
    turned = lowest("arm_transpose_conv_wrapper_s8", **params, input_c=17)
    assert turned.tolist() == in_fours([6], 6)


@pytest.mark.parametrize(("core", "rounding"), [("mve", "double"), ("dsp", "single")])
def test_elsewhere_nothing_is_doubled(core, rounding):
    for name in ("arm_convolve_s8", "arm_depthwise_conv_s8_opt"):
        assert not lowest(name, core, rounding, **columns(5), input_c=1).any()


@pytest.mark.parametrize("name", ["arm_convolve_wrapper_s8", "arm_depthwise_conv_wrapper_s8"])
def test_fast_rows_leave_such_calls_to_the_plain_one(name):
    for seed in range(40):
        arguments = draw_all_arguments(Random(seed), FUNCTIONS[name])
        arguments["bias"] = np.full_like(arguments["bias"], 2**30)
        arguments["shift"] = np.zeros_like(arguments["shift"])
        try:
            plain = getattr(cmsis, name)(
                target="mve", rounding="single", variant="mve", **arguments
            )
        except ValueError:
            continue
        got = getattr(cmsis, name)(target="mve", rounding="single", **arguments)
        assert np.array_equal(got, plain)
