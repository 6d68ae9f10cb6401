"""Depthwise kernels of three columns that go on by one or two, which fast rows read but once."""

from dataclasses import replace

import pytest
from bits import draws
from hosts import leaves_calls, row_param
from test_rows import EVERY_FUNCTION, compare_with_plain, rows_that_compute

pytestmark = [pytest.mark.caps, pytest.mark.rows]

NAMES = {
    "arm_depthwise_conv_wrapper_s8",
    "arm_depthwise_conv_wrapper_s4",
    "arm_depthwise_separable_conv_HWC_q7_nonsquare",
    "npu_convolve_s8",
    "npu_convolve_u8",
}

#: What the functions call the sides along a row of pixels.
COLUMNS = (
    *("input_w", "filter_w", "stride_w", "dilation_w", "pad_w", "output_w"),
    *("in_w", "kernel_w", "stride_w", "dilation_w", "pad_w", "out_w"),
    *("dim_im_in_x", "dim_kernel_x", "stride_x", "", "padding_x", "dim_im_out_x"),
)


def _columns(rng):
    """Mostly windows that reach about as far as the image, of which the last may hang over."""
    outputs, pad = rng.randint(1, 9), rng.choice((0, 0, 1, 1, 2, 3, 6))
    stride, dilation = rng.choice((1, 2)), rng.choice((1, 1, 1, 2))
    size = max(1, stride * (outputs - 1) + 2 * dilation + 1 - pad - rng.randint(-2, 3))
    return size, 3, stride, dilation, pad, outputs


def _each_channel(rng):
    channels = rng.choice((64, 16 * rng.randint(1, 13), 8 * rng.randint(1, 9), rng.randint(1, 200)))
    names = ("input_c", "group", "out_c", "ch_im_in", "ch_im_out")
    return {**dict.fromkeys(names, channels), "ch_mult": 1, "depth": 1}


def _three_columns(rng, params):
    changes = _each_channel(rng)
    changes.update(zip(COLUMNS, 3 * _columns(rng)))
    for name in ("filter_h", "kernel_h", "dim_kernel_y"):
        changes[name] = rng.choice((1, 2, 3, 3, 3, 4))
    for name in ("stride_h", "stride_y", "dilation_h"):
        changes[name] = rng.choice((1, 1, 1, 1, 2))  # two rows of outputs come from the same four
    return changes


def takes_all(row):
    return not leaves_calls(row)


def fast_rows(names, changed, wanted=takes_all):
    """Parameters of a test: functions that draw as ever but for what is changed, and their rows."""
    for named in EVERY_FUNCTION:
        if named.name in names:

            def draw(rng, function, own=named.draw):
                params = own(rng, function)
                return {**params, **{k: v for k, v in changed(rng, params).items() if k in params}}

            function = replace(named, draw=draw)
            for row in rows_that_compute(function):
                if row.kind == "fast" and wanted(row):
                    yield row_param(function, row=row, id=f"{function.name}-{row}")


@pytest.mark.parametrize(("function", "row"), list(fast_rows(NAMES, _three_columns)))
def test_pixels_count_for_all_outputs_that_they_belong_to(function, row):
    for rng in draws(60):
        compare_with_plain(function, row, rng)
