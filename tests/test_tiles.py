"""Lines and depths around the ends of tiles and of their blocks, on rows that have tiles."""

import pytest
from bits import draws
from hosts import leaves_calls
from test_columns import COLUMNS, fast_rows
from test_cut import calls_in_parts, compare_these
from test_rows import compare_with_plain

pytestmark = [pytest.mark.caps, pytest.mark.rows]

NAMES = {
    "arm_convolve_wrapper_s8",
    "arm_convolve_HWC_q7_basic_nonsquare",
    "npu_convolve_s8",
    "npu_convolve_u8",
}

#: Pixels of a line, and channels: a tile has 4 to 16 pixels, and 64 bytes of each at most.
LINES = (3, 4, 5, 8, 13, 15, 16, 17, 20, 31, 32, 33, 50)
DEPTHS = (1, 2, 3, 4, 5, 8, 12, 16, 20, 21, 24, 32, 36, 48, 63, 64, 65, 68, 96, 100, 128, 132)


def _columns(rng):
    """A line whose windows lie in the image, or hang over its ends."""
    outputs, kernel = rng.choice(LINES), rng.choice((1, 1, 1, 2, 3, 3, 5))
    stride, dilation = rng.choice((1, 1, 1, 2)), rng.choice((1, 1, 1, 1, 2))
    pad = rng.choice((0, kernel // 2))
    size = max(1, stride * (outputs - 1) + dilation * (kernel - 1) + 1 - 2 * pad)
    return size, kernel, stride, dilation, pad, outputs


def _depths(rng):
    depth, outputs = rng.choice(DEPTHS), rng.choice((1, 8, 15, 16, 17, 32, 33, 48, 64))
    sizes = dict.fromkeys(("input_c", "filter_c", "depth", "ch_im_in"), depth)
    return {**sizes, **dict.fromkeys(("output_c", "out_c", "ch_im_out"), outputs), "group": 1}


def _lines(rng, params):
    changes = {**_depths(rng), **dict(zip(COLUMNS, 3 * _columns(rng)))}
    if rng.random() < 0.4:  # single pixels, which are read where they are
        ones = ("filter_h", "kernel_h", "dim_kernel_y", "stride_h", "stride_y", "dilation_h")
        changes.update(dict.fromkeys(ones, 1), pad_h=0, pad_n=0, padding_y=0)
        for heights in (
            ("input_h", "output_h"),
            ("in_h", "out_h"),
            ("dim_im_in_y", "dim_im_out_y"),
        ):
            changes.update(dict.fromkeys(heights, params.get(heights[0], 1)))
    return changes


@pytest.mark.parametrize(("function", "row"), list(fast_rows(NAMES, _lines, leaves_calls)))
def test_tiles_end_where_lines_and_windows_do(function, row):
    for rng in draws(150):
        compare_with_plain(function, row, rng)


@pytest.mark.parametrize(("function", "row"), list(fast_rows(NAMES, _lines, leaves_calls)))
def test_parts_of_lines_are_the_whole(function, row):
    """Unless blocks are laid out: those calls are not cut."""
    for call in calls_in_parts(function, row, 60):
        compare_these(function, row, *call)
