"""Every rule of a release has a recorded call that it decides, or a call of its own here."""

import functools
import warnings
from random import Random

import numpy as np
import pytest
from paths import GOLDEN

from qemu_nn import cmsis
from qemu_nn.errors import DeviceWarning, Error, Refused, SizeMismatch
from qemu_nn.functions import FUNCTIONS
from qemu_nn.functions.base import check_release
from qemu_nn.kernels.devices import profile_for
from qemu_nn.kernels.table import apply_rules, bit_of, list_rows
from qemu_nn.releases import RULES, place_of, rules
from qemu_nn.targets import Target, profile
from qemu_nn.testing import recordings
from qemu_nn.testing.calls import draw_all_arguments, is_legal
from qemu_nn.testing.rows import assert_same

#: Rules whose calls are below: their commits, with the first of the ops. Their results are not
#: recorded, or need a look at warnings.
OWN = {
    ("78ed0ac4", "convolve_fast_q15"),
    ("f4b2bc08", "nn_mult_q15"),
    ("b2937134", "expand_reordered_offset_q7_q15"),
    ("f7e96efd", ""),
    ("c9c8b3d4", "max_pool_s8"),
    ("07bb28ed", "max_pool_s8"),
    ("8578bbed", "fully_connected_s16"),
    ("ffeca904", "convolve_wrapper_s8"),
    ("365f4b58", "convolve_wrapper_s8"),
    ("1b9265ef", "depthwise_conv_wrapper_s8"),
    ("fbe8d606", "svdf_s8"),
    ("4a8f5b5d", "transpose_conv_wrapper_s8"),
    ("ca476254", "transpose_conv_wrapper_s8"),
    ("61d1bb6c", "svdf_s8"),
}


def op_of(rule):
    return rule.ops[0] if rule.ops else ""


@functools.cache
def recorded():
    return tuple(recordings.read(GOLDEN / "releases"))


def test_the_recorded_calls_of_releases_are_equal(capsys):
    assert recordings.main([str(GOLDEN / "releases")]) == 0
    total = capsys.readouterr().out.splitlines()[-1]
    assert int(total.split()[1]) > 2000, total


def outcomes(rule):
    """Return the outcomes of the recorded calls of a rule's states and ops."""
    found = []
    for recording in recorded():
        function = FUNCTIONS.get(recording.function)
        if function is None or recording.wanted is None:
            continue
        op, place = f"{function.op}_{function.type}", place_of(recording.wanted.cmsis)
        if place_of(rule.first) <= place <= place_of(rule.last) and (
            not rule.ops or op in rule.ops
        ):
            found.append(outcome(recording))
    return found


def outcome(recording):
    """Return the outcome of a recorded call, also if no row has the bits."""
    try:
        return recordings.outcome(recording)[0]
    except StopIteration:
        return "no row"


def without(rule, monkeypatch):
    for name in ("_LEGACY_RULES", "_AFFINE_RULES"):
        left = tuple(other for other in getattr(rules, name) if other is not rule)
        monkeypatch.setattr(rules, name, left)
    clear_caches()


def clear_caches():
    rules._rules_of.cache_clear()
    bit_of.cache_clear()


RECORDED = [rule for rule in RULES if (rule.commit, op_of(rule)) not in OWN]


@pytest.mark.parametrize("rule", RECORDED, ids=lambda r: f"{r.commit}-{op_of(r)}-{r.first}")
def test_a_rule_decides_recorded_calls(rule, monkeypatch):
    before = outcomes(rule)
    assert "different" not in before
    without(rule, monkeypatch)
    try:
        assert outcomes(rule) != before
    finally:
        monkeypatch.undo()
        clear_caches()


def test_own_rules_exist():
    assert {(rule.commit, op_of(rule)) for rule in RULES} >= OWN


@pytest.mark.parametrize("rule", RULES, ids=lambda r: f"{r.commit}-{op_of(r)}-{r.first}")
def test_a_rule_names_states_in_order_and_ops_that_exist(rule):
    assert place_of(rule.first) <= place_of(rule.last)
    assert len(rule.commit) == 8
    assert rule.smallest
    assert rule.source in ("m", "r")
    known = {f"{f.op}_{f.type}" for f in FUNCTIONS.values()}
    assert set(rule.ops) <= known
    does = [rule.release, rule.path, rule.change, rule.refused]
    assert any(does)


def test_rows_of_old_releases_are_claimed_by_one_plain_row():
    for function in FUNCTIONS.values():
        rows = list_rows(function.op, function.type)
        for cmsis_ in ("5.3.0", "5.4.0", "5.7.0", "5.8.0", "5.9.0", "4.1.0", "6.0.0"):
            for core in ("m0", "m3", "m4", "m55"):
                try:
                    device = profile(core, cmsis_)
                except Error:
                    continue
                plain = [row for row in rows if row.kind == "plain" and row.claims(device)]
                assert len(plain) <= 1, f"{function.name} {device}: {[str(row) for row in plain]}"


#: Functions with fast rows for releases that have few rows of their own, and those releases.
FAST = {
    "5.8.0": [
        *("arm_convolve_HWC_q7_basic", "arm_convolve_HWC_q7_basic_nonsquare"),
        *("arm_convolve_HWC_q7_RGB", "arm_convolve_HWC_q7_fast", "arm_convolve_HWC_q15_basic"),
        *("arm_convolve_HWC_q15_fast", "arm_convolve_HWC_q15_fast_nonsquare"),
    ],
    "c43379be": ["arm_nn_mult_q15"],
    "6.0.0": ["arm_transpose_conv_s8"],
}


@pytest.mark.parametrize(("state", "name"), [(s, n) for s, names in FAST.items() for n in names])
def test_fast_rows_of_old_releases_equal_the_plain_row(state, name):
    function, compared = FUNCTIONS[name], 0
    for core in ("m0", "m3", "m55"):
        device = profile_for([(function.op, function.type)], Target(core, state))
        for seed in range(40):
            arguments = draw_all_arguments(Random(f"{name} {core} {seed}"), function)
            if is_legal(function, arguments, device):
                wanted = cmsis.invoke(function, arguments, device, "plain")
                assert_same(cmsis.invoke(function, arguments, device), wanted, name, core, seed)
                compared += 1
    assert compared > 20


# ---- calls whose results are not recorded ----

CONV = {
    **dict.fromkeys(("stride_h", "stride_w", "dilation_h", "dilation_w"), 1),
    **dict.fromkeys(("pad_h", "pad_w", "output_offset"), 0),
    **{"act_min": -128, "act_max": 127, "input_offset": 0},
}


def conv(name, image, filter, output, **more):
    """Compute a convolution of ones."""
    channels = output[-1]
    return getattr(cmsis, name)(
        input=np.ones(image, np.int8),
        filter=np.ones(filter, np.int8),
        bias=np.zeros(channels, np.int32),
        multiplier=np.full(channels, 2**30, np.int32),
        shift=np.ones(channels, np.int32),
        **{**CONV, "output_h": output[1], "output_w": output[2], **more},
    )


def test_only_the_first_image_of_a_batch_is_pooled():
    call = dict.fromkeys(("filter_h", "filter_w", "stride_h", "stride_w"), 1)
    call.update(pad_h=0, pad_w=0, act_min=-128, act_max=127, output_h=1, output_w=1)
    image = np.array([3, 5], np.int8).reshape(2, 1, 1, 1)
    for cmsis_ in ("5.7.0", "5.0.0"):
        with pytest.warns(DeviceWarning, match="only the first image of a batch is pooled"):
            got = cmsis.arm_max_pool_s8(input=image, **call, cmsis=cmsis_, rounding="double")
        assert got.ravel()[0] == 3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cmsis.arm_max_pool_s8(input=image, **call, cmsis="6.0.0").ravel().tolist() == [3, 5]


def test_only_the_first_image_of_a_batch_has_its_depthwise_convolution():
    shape = (2, 1, 1, 1)
    for core, function in (("m4", "s8"), ("m3", "s8"), ("m3", "wrapper_s8")):
        name = f"arm_depthwise_conv_{function}"
        with pytest.warns(DeviceWarning, match="only the first image of a batch is computed"):
            conv(name, shape, (1, 1, 1, 1), shape, ch_mult=1, target=core, cmsis="07bb28ed")
    conv("arm_depthwise_conv_s8", shape, (1, 1, 1, 1), shape, ch_mult=1, cmsis="5.8.0")


def test_groups_are_refused_before_2024():
    call = ("arm_convolve_s8", (1, 1, 1, 2), (2, 1, 1, 1), (1, 1, 1, 2))
    with pytest.raises(Refused, match=r"CMSIS 5\.0\.0: it has no convolutions in groups"):
        conv(*call, cmsis="5.0.0")
    assert conv(*call, cmsis="6.0.0").ravel().tolist() == [1, 1]


def test_rows_of_one_pixel_high_images_are_general_convolutions():
    call = ((1, 1, 5, 3), (1, 1, 2, 3), (1, 1, 4, 1))
    got = conv("arm_convolve_1_x_n_s8", *call, cmsis="5.9.0")
    assert got.tolist() == conv("arm_convolve_s8", *call, cmsis="5.9.0").tolist()
    with pytest.raises(SizeMismatch, match=r"CMSIS 4\.0\.0: a convolution of one row needs"):
        conv("arm_convolve_1_x_n_s8", (1, 2, 5, 4), (1, 1, 2, 4), (1, 2, 4, 1), cmsis="4.0.0")


def test_transposed_rows_beside_their_place_are_refused_until_july_2026():
    call = ((1, 1, 1, 1), (1, 3, 1, 1), (1, 2, 1, 1))
    more = {"stride_h": 2, "pad_h": 1, "pad_offset_h": 0, "pad_offset_w": 0}
    with pytest.raises(Refused, match="CMSIS 4ab83cc3: pad_h must be a multiple of stride_h"):
        conv("arm_transpose_conv_s8", *call, **more, cmsis="4ab83cc3")
    conv("arm_transpose_conv_s8", *call, **more, cmsis="main")


def test_padding_that_does_not_fit_the_input_is_refused_before_7_0_0():
    call = ((1, 1, 1, 1), (1, 1, 1, 1), (1, 3, 1, 1))
    more = {"stride_h": 3, "pad_offset_w": 0}
    with pytest.raises(Refused, match=r"CMSIS 6\.0\.0: .* must be the input's side"):
        conv("arm_transpose_conv_s8", *call, **more, pad_offset_h=1, cmsis="6.0.0")
    conv("arm_transpose_conv_s8", *call, **more, pad_offset_h=0, cmsis="6.0.0")
    conv("arm_transpose_conv_s8", *call, **more, pad_offset_h=1, cmsis="7.0.0")


def test_a_maximum_of_september_2020_is_refused_on_helium():
    call = {**dict.fromkeys(("filter_h", "filter_w", "stride_h", "stride_w"), 1), "pad_h": 0}
    call.update(pad_w=0, act_min=-128, act_max=127, output_h=1, output_w=1, rounding="double")
    image = np.ones((1, 1, 1, 3), np.int8)
    with pytest.raises(Refused, match="writes after its output"):
        cmsis.arm_max_pool_s8(input=image, **call, target="m55", cmsis="01f5b32b")
    cmsis.arm_max_pool_s8(input=image, **call, target="m4", cmsis="01f5b32b")


def dense_s16(columns, **device):
    return cmsis.arm_fully_connected_s16(
        input=np.ones((1, columns), np.int16),
        filter=np.ones((1, columns), np.int8),
        bias=np.zeros(1, np.int64),
        **{"input_offset": 0, "filter_offset": 0, "output_offset": 0, "multiplier": 2**30},
        **{"shift": 1, "act_min": -32768, "act_max": 32767},
        **device,
    )


def test_long_sums_of_16_bits_are_refused_in_2021():
    with pytest.raises(Refused, match="more than 512 products wrap"):
        dense_s16(513, cmsis="c43379be")
    assert dense_s16(513, cmsis="c43379be", target="m3").item() == 513
    assert dense_s16(512, cmsis="c43379be").item() == 512


def test_an_odd_width_has_a_status_in_august_2021():
    name, size = "arm_convolve_HWC_q15_fast", {"dim_im_in": 3, "dim_im_out": 3, "dim_kernel": 1}
    call = {**size, "ch_im_in": 2, "ch_im_out": 2, "padding": 0, "stride": 1, "bias_shift": 0}
    arrays = {"Im_in": np.zeros((3, 3, 2), np.int16), "wt": np.zeros((2, 1, 1, 2), np.int16)}
    arrays["bias"] = np.zeros(2, np.int16)
    with pytest.raises(SizeMismatch, match="CMSIS c43379be: dim_im_out must be even"):
        getattr(cmsis, name)(**arrays, **call, out_shift=0, cmsis="c43379be")
    with pytest.raises(Refused, match="wrong places"):
        getattr(cmsis, name)(**arrays, **call, out_shift=0, cmsis="5.8.0")


def test_the_rounding_term_of_31_bits_changed_in_november_2021():
    call = {"pSrcA": np.array([32767], np.int16), "pSrcB": np.array([32767], np.int16)}
    call.update(blockSize=1, out_shift=31)
    for core in ("m3", "m4"):
        old = cmsis.arm_nn_mult_q15(**call, target=core, cmsis="c43379be").item()
        new = cmsis.arm_nn_mult_q15(**call, target=core, cmsis="bff28575").item()
        assert (old, new) == ((32767**2 + 2**30) >> 31, (32767**2 - 2**30) >> 31) == (0, -1)


def test_an_empty_function_is_refused():
    with pytest.raises(Refused, match="does nothing unless ARM_MATH_LOOPUNROLL"):
        cmsis.arm_q7_to_q15_reordered_with_offset(
            src=np.zeros(4, np.int8), block_size=4, offset=0, cmsis="d76d5e3a"
        )


def test_lstms_of_2024_have_the_bits_of_7_0_0():
    """Check that no rule changes them: their sources are those of 7.0.0."""
    op = list_rows("lstm_unidirectional", "s8")[0].op
    for state in ("2a999a2f", "8492d82a", "6.0.0", "f2cb41ca"):
        assert apply_rules(op, profile(cmsis=state), {"has_hidden_state": 0}).release == "7.0.0"
    with pytest.raises(Refused, match=r"CMSIS-NN has it from 2a999a2f"):
        check_release(FUNCTIONS["arm_lstm_unidirectional_s8"], profile(cmsis="5.0.0"))


def test_helium_runs_the_code_for_dsp_until_5_7_0():
    """Compare 512 equal classes: -127 on a core with the DSP extension, -128 in Helium's lanes."""
    call = {"num_rows": 1, "row_size": 512, "mult": 2**30, "shift": 23, "diff_min": -128}
    x = np.zeros((1, 512), np.int8)
    for cmsis_, wanted in (("5.7.0", -127), ("5.8.0", -128)):
        got = cmsis.arm_softmax_s8(input=x, **call, target="m55", cmsis=cmsis_)
        assert set(got.ravel().tolist()) == {wanted}


def svdf(cmsis_, core="m55", bias=True, filters=3, state="int8"):
    sides = {"input": (1, 4), "weights_feature": (filters, 4), "weights_time": (filters, 2)}
    arrays = {name: np.zeros(shape, np.int8) for name, shape in sides.items()}
    arrays["state"] = np.zeros((1, filters, 2), state)
    if state == "int16":
        arrays["weights_time"] = arrays["weights_time"].astype(np.int16)
    call = {"rank": 1, "units": filters, "input_offset": 0, "output_offset": 0}
    call.update(in_act_min=-128, in_act_max=127, out_act_min=-128, out_act_max=127)
    call.update(in_multiplier=2**30, in_shift=0, out_multiplier=2**30, out_shift=0)
    given = np.zeros(filters, np.int32) if bias else None
    run = cmsis.arm_svdf_s8 if state == "int8" else cmsis.arm_svdf_state_s16_s8
    return run(**arrays, bias=given, **call, cmsis=cmsis_, target=core)


def test_a_state_of_three_filters_is_refused_on_helium():
    with pytest.raises(Refused, match=r"CMSIS 5\.9\.0: it writes a byte after the state"):
        svdf("5.9.0")
    for device in (("4.1.0", "m55"), ("5.9.0", "m4")):
        assert svdf(*device).ravel().tolist() == [0, 0, 0]
    assert svdf("5.9.0", filters=4).ravel().tolist() == [0, 0, 0, 0]


def test_an_svdf_without_a_bias_is_refused_until_2021():
    with pytest.raises(Refused, match="reads a NULL bias at address 0"):
        svdf("07bb28ed", "m4", bias=False, state="int16")
    for cmsis_, bias in (("07bb28ed", True), ("5.8.0", False)):
        assert svdf(cmsis_, "m4", bias, state="int16").ravel().tolist() == [0, 0, 0]


def test_a_function_that_a_release_lacks_is_refused():
    image = np.zeros((1, 1, 1, 1), np.int8)
    with pytest.raises(Refused, match=r"no arm_minimum_s8: CMSIS-NN has it from 7\.0\.0"):
        cmsis.arm_minimum_s8(input1=image, input2=image, cmsis="6.0.0")
