"""Plain rows of the convolutions of the s8 and s16 API = their formulas; what they refuse."""

import dataclasses

import affine_windows
import numpy as np
import pytest
from bits import DRAWN
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from qemu_nn import cmsis
from qemu_nn.errors import Refused, SizeMismatch
from qemu_nn.functions import FUNCTIONS
from qemu_nn.targets import all_profiles, is_affine
from qemu_nn.testing.calls import draw_all_arguments

OPS = ("convolve_wrapper", "depthwise_conv_wrapper", "transpose_conv_wrapper")
WINDOWS = [function for function in FUNCTIONS.values() if function.op in OPS]
PROFILES = [profile for profile in all_profiles() if is_affine(profile.cmsis)]


def has_quirk(function, p, profile):
    """True if this call does not follow the formula on that core; see
    test_s8_convolution_device_steps.py.

    See test_s8_convolution_device_steps.py.
    """
    helium = profile.path == "mve"
    if function.op == "convolve_wrapper":
        one_row = p["input_h"] == p["filter_h"] == 1
        if function.type == "s16":
            return p["filter_h"] * p["filter_w"] * p["filter_c"] >= 512
        return helium and (one_row or (function.type, profile.rounding) == ("s4", "single"))
    return function.type == "s4" and "ch_mult" in p and p["input_c"] % 2 == 1


@pytest.mark.oracle("{function.name}")
@pytest.mark.parametrize("function", WINDOWS, ids=lambda function: function.name)
@settings(max_examples=40)
@given(rng=DRAWN, profile=st.sampled_from(PROFILES))
def test_a_call_computes_its_formula(function, rng, profile):
    arguments = draw_all_arguments(rng, function)
    if "even" in function.name:
        profile = dataclasses.replace(profile, path="mve", rounding="double")
    assume(not has_quirk(function, arguments, profile))
    if (profile.path, profile.rounding) == ("mve", "single"):  # lanes of vectors are a quirk
        arguments["shift"] = np.minimum(arguments["shift"], -1)
    try:
        got = cmsis.invoke(function, arguments, profile)
    except (Refused, SizeMismatch):
        assume(False)
    want = affine_windows.expected(function, arguments, profile)
    np.testing.assert_array_equal(got, want.reshape(got.shape))


def call(name, core="cortex-m4", **changes):
    """Return a call of 4x4 pixels with 2 channels and windows of 1x1, with the given changes."""
    function = FUNCTIONS[name]
    p = dict.fromkeys(function.params, 1)
    p.update({n: 0 for n in function.params if n.startswith(("pad", "input_off", "output_off"))})
    limits = np.iinfo(function.output.dtype)
    p.update(act_min=int(limits.min), act_max=int(limits.max))
    p.update(dict.fromkeys(("input_h", "input_w", "output_h", "output_w"), 4))
    p.update({n: 2 for n in ("input_c", "filter_c") if n in p})
    p.update(changes)
    arrays = {a.name: np.ones(a.shape(p), a.dtype_in(p)) for a in function.arrays}
    return getattr(cmsis, name)(target=core, **p, **arrays)


@pytest.mark.parametrize("type", ["s8", "s4"])
@pytest.mark.parametrize(
    ("kernel", "changes", "message"),
    [
        ("1x1", {"pad_w": 1}, "takes no padding .*ARM_CMSIS_NN_ARG_ERROR.*are 0, 1"),
        ("1x1", {"filter_h": 2}, "filters of 1 x 1 x input_c, .*are 2 x 1 x 2"),
        ("1x1", {"stride_w": 2}, "reads beside its input"),
        ("1x1_fast", {"stride_h": 2, "output_h": 2}, "takes strides of 1 .*are 2, 1"),
        ("1x1_fast", {"output_w": 3}, "every pixel of its input, 4 x 4; the output has 4 x 3"),
        ("wrapper", {"output_w": 3}, "every pixel of its input, 4 x 4; the output has 4 x 3"),
        ("wrapper", {"stride_h": 2}, "reads beside its input"),
        ("1_x_n", {"input_h": 2, "input_c": 4, "filter_c": 4}, "ARM_CMSIS_NN_ARG_ERROR"),
        ("1_x_n", {"input_h": 1}, "multiple of 4"),
        ("1_x_n", {"input_h": 1, "stride_w": 2, "filter_h": 2}, "1 x filter_w x input_c"),
        ("wrapper", {"filter_h": 256, "filter_w": 256}, "at most 65535"),
    ],
)
def test_a_function_with_shapes_of_its_own_refuses_others(type, kernel, changes, message):
    stem, _, fast = kernel.partition("_f")
    name = f"arm_convolve_{stem}_{type}{'_f' + fast if fast else ''}"
    with pytest.raises(Refused, match=message):
        call(name, **changes)


ROW = {"input_h": 1, "output_h": 1, "input_c": 4, "filter_c": 4}


@pytest.mark.parametrize("type", ["s8", "s4"])
def test_one_row_on_helium_answers_minus_3_to_other_paddings(type):
    window = {**ROW, "filter_w": 3, "pad_w": 2}
    for name in (f"arm_convolve_1_x_n_{type}", f"arm_convolve_wrapper_{type}"):
        assert call(name, **window).shape == (1, 1, 4, 1)
        with pytest.raises(SizeMismatch, match="the device answers -3"):
            call(name, core="cortex-m55", **window)
    assert call(f"arm_convolve_{type}", core="cortex-m55", **window).shape == (1, 1, 4, 1)
    with pytest.raises(Refused, match="computes one row, output_h is 2"):
        call(f"arm_convolve_wrapper_{type}", core="mve", **{**window, "pad_w": 1, "output_h": 2})


@pytest.mark.parametrize("name", ["arm_convolve_wrapper_s4", "arm_convolve_s16"])
def test_packed_and_16_bit_convolutions_have_no_groups(name):
    with pytest.raises(Refused, match="as the device knows no groups here, are 1, 2"):
        call(name, filter_c=1)


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("s8_opt", {"ch_mult": 2}, "ch_mult must be 1 here, is 2"),
        ("s4_opt", {"dilation_h": 2}, "dilations and samples must be 1 here"),
        ("s8_opt", {"batches": 2}, "dilations and samples must be 1 here"),
        ("fast_s16", {"dilation_w": 2}, "dilations must be 1 here"),
        ("fast_s16", {"filter_h": 16, "filter_w": 32}, "must be below 512 here, are 16, 32"),
        ("3x3_s8", {}, "the filter must be 3 x 3"),
        ("3x3_s8", {"filter_h": 3, "filter_w": 3, "pad_w": 2}, "pad_w at most 1"),
        ("3x3_s8", {"filter_h": 3, "filter_w": 3}, "lacks more than one column"),
        ("wrapper_s8", {"filter_h": 3, "filter_w": 3}, "lacks more than one column"),
        ("wrapper_s8", {"pad_h": 2}, "write beside its scratch memory"),
        ("wrapper_s8", {"output_h": 6}, "write beside its scratch memory"),
        ("s16", {"stride_w": 40000, "output_w": 2}, "32767 at most"),
    ],
)
def test_depthwise_functions_refuse_what_they_do_not_take(name, changes, message):
    with pytest.raises(Refused, match=message):
        call(f"arm_depthwise_conv_{name}", **changes)


@pytest.mark.parametrize(("core", "refused"), [("scalar", True), ("dsp", True), ("mve", False)])
def test_helium_has_no_3x3_kernel_of_its_own(core, refused):
    window = {"filter_h": 3, "filter_w": 3}
    if refused:
        with pytest.raises(Refused, match="lacks more than one column"):
            call("arm_depthwise_conv_wrapper_s8", core=core, **window)
    else:
        assert call("arm_depthwise_conv_wrapper_s8", core=core, **window).shape == (1, 4, 4, 2)


def test_one_input_channel_is_a_convolution_on_helium():
    row = {"input_h": 1, "output_h": 1, "input_c": 1, "ch_mult": 3, "stride_w": 4, "filter_w": 2}
    short = {**row, "output_w": 1, "input_w": 3}
    assert call("arm_depthwise_conv_wrapper_s8", **short).shape == (1, 1, 1, 3)
    with pytest.raises(Refused, match="depend on the compiler"):
        call("arm_depthwise_conv_wrapper_s8", core="mve", **short)
    with pytest.raises(SizeMismatch):
        call("arm_depthwise_conv_wrapper_s8", core="mve", **{**short, "input_w": 4})
    exact = {**short, "input_w": 2}
    assert call("arm_depthwise_conv_wrapper_s8", core="mve", **exact).shape == (1, 1, 1, 3)


def test_the_bias_of_16_bits_has_the_width_that_the_flag_says():
    for flag, dtype in ((0, "int64"), (1, "int32")):
        assert call("arm_convolve_s16", bias_is_int32=flag).dtype == np.int16
        x, ones = np.ones((1, 4, 4, 2), np.int16), np.ones(1, np.int32)
        other = np.ones(1, np.int32 if flag == 0 else np.int64)
        with pytest.raises(ValueError, match=f"bias of arm_convolve_s16 is .*must be {dtype}"):
            cmsis.arm_convolve_s16(
                **{n: 1 for n in FUNCTIONS["arm_convolve_s16"].params if n[:3] in ("str", "dil")},
                **dict.fromkeys(("pad_h", "pad_w", "input_offset", "output_offset"), 0),
                **{"act_min": 0, "act_max": 9, "bias_is_int32": flag, "output_h": 4, "output_w": 4},
                input=x,
                filter=np.ones((1, 1, 1, 2), np.int8),
                bias=other,
                multiplier=ones,
                shift=ones,
            )
