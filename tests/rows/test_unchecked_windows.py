"""Unchecked windows of the fast convolutions: what they read, and exactly when they are refused."""

import itertools

import numpy as np
import pytest

from qemu_nn import cmsis
from qemu_nn.errors import Refused

COMMON = {"ch_im_in": 4, "ch_im_out": 2, "bias_shift": 0, "out_shift": 0}


def numbered(height, width):
    """Return an image with the number of the pixel, from 1, in channel 0, and zeros elsewhere."""
    image = np.zeros((height, width, 4), np.int8)
    image[:, :, 0] = np.arange(1, height * width + 1).reshape(height, width)
    return image


def fast(core, image, kernel, padding, stride, output):
    """arm_convolve_HWC_q7_fast_nonsquare; each pair is (y, x). Filter 0 sums channel 0."""
    weights = np.zeros((2, *kernel, 4), np.int8)
    weights[0, :, :, 0] = 1
    params = dict(COMMON)
    pairs = {"dim_im_in": image.shape[:2], "dim_kernel": kernel, "padding": padding}
    for name, (y, x) in {**pairs, "stride": stride, "dim_im_out": output}.items():
        params.update({f"{name}_y": y, f"{name}_x": x})
    bias = np.zeros(2, np.int8)
    arrays = {"Im_in": image, "wt": weights, "bias": bias}
    out = cmsis.arm_convolve_HWC_q7_fast_nonsquare(target=core, **arrays, **params)
    return out[:, :, 0].tolist()


@pytest.mark.parametrize(("core", "missing"), [("cortex-m3", 0 + 0 + 0), ("cortex-m4", 5 + 9 + 13)])
def test_a_window_over_the_right_edge_takes_the_next_row_on_dsp(core, missing):
    shape = {"kernel": (3, 3), "padding": (0, 0), "stride": (2, 2), "output": (1, 2)}
    inside = (3 + 4) + (7 + 8) + (11 + 12)
    assert fast(core, numbered(4, 4), **shape) == [
        [1 + 2 + 3 + 5 + 6 + 7 + 9 + 10 + 11, inside + missing]
    ]


@pytest.mark.parametrize(("core", "last"), [("cortex-m3", 0), ("cortex-m4", 3)])
def test_a_1x1_convolution_wider_than_its_image_takes_the_next_row_on_dsp(core, last):
    weights = np.zeros((2, 1, 1, 4), np.int8)
    weights[0, 0, 0, 0] = 1
    params = dict(COMMON, dim_im_out_x=3, dim_im_out_y=1)
    for axis in "xy":
        params |= {f"dim_im_in_{axis}": 2, f"dim_kernel_{axis}": 1}
        params |= {f"padding_{axis}": 0, f"stride_{axis}": 1}
    arrays = {"Im_in": numbered(2, 2), "wt": weights, "bias": np.zeros(2, np.int8)}
    out = cmsis.arm_convolve_1x1_HWC_q7_fast_nonsquare(target=core, **arrays, **params)
    assert out[0, :, 0].tolist() == [1, 2, last]


def last_pixel_read(height, width, kernel, padding, stride, output):
    """Return the highest pixel number, from 0, that any tap of the DSP path reads, region by
    region.
    """
    highest = -1
    for y, x in np.ndindex(*output):
        middle = padding[0] <= y < output[0] - padding[0]
        centre = middle and padding[1] <= x < output[1] - padding[1]
        for ky, kx in np.ndindex(*kernel):
            iy, ix = y * stride[0] + ky - padding[0], x * stride[1] + kx - padding[1]
            if (middle or 0 <= iy < height) and (centre or 0 <= ix < width):
                highest = max(highest, iy * width + ix)
    return highest


def test_a_geometry_is_refused_on_dsp_exactly_when_it_reads_behind_its_image():
    image = numbered(3, 4)
    limits = [(1, 2, 3), (1, 2, 3), (0, 1), (0, 1), (1, 2), (1, 2), (1, 2, 3, 4), (1, 2, 3, 4)]
    first_behind = 0
    for ky, kx, py, px, sy, sx, oy, ox in itertools.product(*limits):
        shape = {"kernel": (ky, kx), "padding": (py, px), "stride": (sy, sx), "output": (oy, ox)}
        last = last_pixel_read(3, 4, **shape)
        first_behind += last == image[:, :, 0].size
        if last < image[:, :, 0].size:
            fast("cortex-m4", image, **shape)
        else:
            with pytest.raises(Refused, match="reads after Im_in"):
                fast("cortex-m4", image, **shape)
    assert first_behind > 10, "too few geometries miss the image by one pixel"
