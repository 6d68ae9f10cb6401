"""The portable convolutions of 5.6.0 keep input coordinates in 8 bits: checked in Python integers.

No recording shows it (their images are small), so the oracle here is the definition itself.
"""

import numpy as np
import pytest
from integers import round_term, saturate, wrap

from qemu_nn import cmsis
from qemu_nn.functions import FUNCTIONS

#: Functions whose portable path had a signed 8-bit coordinate in 5.6.0; the others did not.
NARROW = {
    "arm_convolve_HWC_q7_basic",
    "arm_convolve_HWC_q7_basic_nonsquare",
    "arm_convolve_HWC_q7_fast",
    "arm_convolve_HWC_q7_RGB",
    "arm_convolve_HWC_q15_basic",
    "arm_convolve_HWC_q15_fast",
    "arm_convolve_HWC_q15_fast_nonsquare",
}
WIDE = {"arm_convolve_HWC_q7_fast_nonsquare", "arm_depthwise_separable_conv_HWC_q7_nonsquare"}


def geometry(function, channels):
    """Return the outputs of an image of 300 x 260 (square: 300 x 300) pixels, sampled at a few,
    kernel 2, padding 1.
    """
    nonsquare = function.endswith("nonsquare")
    size = {"dim_im_in": (300, 260 if nonsquare else 300), "dim_kernel": (2, 2)}
    size |= {"padding": (1, 1), "stride": (63, 63), "dim_im_out": (5, 5)}
    params = {"ch_im_in": channels[0], "ch_im_out": channels[1], "bias_shift": 1, "out_shift": 7}
    for name, (x, y) in size.items():
        params.update({f"{name}_x": x, f"{name}_y": y} if nonsquare else {name: x})
    return params, size


def oracle(arrays, params, size, bits, narrow, depthwise):
    """Compute the definition, tap by tap."""
    image, weights, bias = (arrays[name].astype(object) for name in ("Im_in", "wt", "bias"))
    out = np.empty((*size["dim_im_out"][::-1], params["ch_im_out"]), object)
    shift = params["out_shift"]
    for y, x, o in np.ndindex(*out.shape):
        acc = (bias[o] << params["bias_shift"]) + round_term(shift, "5.6.0", "nearest")
        for ky, kx in np.ndindex(size["dim_kernel"][1], size["dim_kernel"][0]):
            iy = y * size["stride"][1] + ky - size["padding"][1]
            ix = x * size["stride"][0] + kx - size["padding"][0]
            if narrow:
                iy, ix = wrap(iy, 8), wrap(ix, 8)
            if 0 <= iy < image.shape[0] and 0 <= ix < image.shape[1]:
                if depthwise:
                    acc += image[iy, ix, o] * weights[ky, kx, o]
                else:
                    acc += sum(image[iy, ix] * weights[o, ky, kx])
        out[y, x, o] = saturate(wrap(acc, 32) >> shift, bits)
    return out


@pytest.mark.parametrize("function", sorted(NARROW | WIDE))
def test_coordinates_of_560_are_narrow_where_they_were(function):
    declared = FUNCTIONS[function]
    depthwise = "depthwise" in function
    channels = (3, 2) if "RGB" in function else (4, 4 if depthwise else 2)
    params, size = geometry(function, channels)
    rng = np.random.default_rng(560)
    limits = np.iinfo(declared.output.dtype)
    arrays = {
        a.name: rng.integers(limits.min, limits.max, a.shape(params)).astype(a.dtype)
        for a in declared.arrays
    }
    bits = 8 if declared.type == "q7" else 16
    old = getattr(cmsis, function)(**arrays, **params, target="scalar", cmsis="5.6.0")
    new = getattr(cmsis, function)(**arrays, **params, target="scalar", cmsis="5.9.0")
    want = oracle(arrays, params, size, bits, function in NARROW, depthwise)
    np.testing.assert_array_equal(old, want.astype(old.dtype))
    assert (old != new).any() == (function in NARROW)
