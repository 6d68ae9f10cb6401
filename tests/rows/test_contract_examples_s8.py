"""The inputs that the contracts in csrc/s/ give as examples of a difference do what they say."""

import numpy as np
import pytest
from paths import GOLDEN

from qemu_nn import cmsis
from qemu_nn.errors import Refused
from qemu_nn.functions import softmax_tables
from qemu_nn.functions.scaling import scale_softmax

FOLDER = GOLDEN / "cmsis_s8"
FULL = {"act_min": -128, "act_max": 127}


def s8(*values):
    return np.array(values, np.int8)


def added(x, y, core, **scale):
    offsets = {"input_1_offset": 0, "input_2_offset": 0, "out_offset": 0}
    mult = dict.fromkeys(("input_1_mult", "input_2_mult", "out_mult"), 2**30)
    shift = dict.fromkeys(("input_1_shift", "input_2_shift", "out_shift"), 0)
    params = {**offsets, **mult, **shift, **FULL, **scale}
    return cmsis.arm_elementwise_add_s8(input1=x, input2=y, target=core, **params).tolist()


@pytest.mark.parametrize(("core", "first"), [("scalar", -1), ("mve", -1), ("dsp", 127)])
def test_a_sum_with_a_small_left_shift_reads_unsigned_halfwords_on_dsp(core, first):
    x, y = np.full(7, -1, np.int8), np.zeros(7, np.int8)
    got = added(x, y, core, left_shift=15, out_shift=-13)
    assert got == [first] * 4 + [-1] * 3


@pytest.mark.parametrize("core", ["scalar", "mve", "dsp"])
def test_a_sum_with_the_left_shift_of_tflite_is_the_same_on_all_cores(core):
    x, y = np.full(7, -1, np.int8), np.zeros(7, np.int8)
    assert added(x, y, core, left_shift=16, out_shift=-14) == [-1] * 7


@pytest.mark.parametrize(("core", "first"), [("scalar", -127), ("dsp", -127), ("mve", -128)])
def test_softmax_of_many_equal_classes_divides_by_more_than_32_bits(core, first):
    params = dict(zip(("mult", "shift", "diff_min"), scale_softmax(1.0, 0.1)))
    got = cmsis.arm_softmax_s8(input=np.zeros((1, 513), np.int8), target=core, **params)
    assert got[0, :512].tolist() == [first] * 512
    assert got[0, 512] == -127


def test_softmax_of_rows_whose_sum_may_wrap_is_refused():
    params = dict(zip(("mult", "shift", "diff_min"), scale_softmax(1.0, 0.1)))
    with pytest.raises(Refused, match=r"row_size must be in 1\.\.4095, is 4096"):
        cmsis.arm_softmax_s8(input=np.zeros((1, 4096), np.int8), **params)


def test_softmax_of_one_16_bit_class_wraps():
    tables = {
        "exp_lut": softmax_tables.make_exp_lut(),
        "one_by_one_lut": softmax_tables.make_one_by_one_lut(),
    }
    got = cmsis.arm_softmax_s16(input=np.zeros((1, 1), np.int16), mult=2**30, shift=1, **tables)
    assert got.tolist() == [[-32768]]


def test_the_tables_of_softmax_are_the_recorded_ones():
    with np.load(FOLDER / "softmax.npz") as recorded:
        np.testing.assert_array_equal(softmax_tables.make_exp_lut(), recorded["c000_exp_lut"])
        np.testing.assert_array_equal(
            softmax_tables.make_one_by_one_lut(), recorded["c000_one_by_one_lut"]
        )


def multiplied(core, rounding, **params):
    common = {"input_1_offset": 0, "input_2_offset": 0, "out_offset": 0, "out_mult": 2**30}
    wide = {"act_min": -32768, "act_max": 32767}
    x = np.full(3, -32768, np.int16)
    return cmsis.arm_elementwise_mul_s16(
        input1=x, input2=x, target=core, rounding=rounding, **common, **wide, **params
    ).tolist()


def test_a_product_that_helium_would_double_out_of_32_bits_is_refused():
    assert multiplied("mve", "double", out_shift=0) == [32767] * 3
    assert multiplied("scalar", "single", out_shift=0) == [32767] * 3
    assert multiplied("mve", "single", out_shift=-15) == [16384] * 3
    with pytest.raises(Refused, match="at most -1 with single rounding on this core, is 0"):
        multiplied("mve", "single", out_shift=0)
