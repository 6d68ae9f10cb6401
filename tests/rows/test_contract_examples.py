"""The inputs that the contracts in csrc/q/ give as examples of a difference do what they say."""

import subprocess
import sys

import numpy as np
import pytest
from paths import ROOT

from qemu_nn import cmsis
from qemu_nn.errors import Refused

Q = ROOT / "csrc" / "q"


def q7(*values):
    return np.array(values, np.int8)


def q15(*values):
    return np.array(values, np.int16)


def pooled(function, rows, core, **sides):
    image = np.array(rows, np.int8)[:, :, None]
    params = {"dim_im_in": len(image), "ch_im_in": 1, **sides}
    return getattr(cmsis, function)(Im_in=image, target=core, **params)[:, :, 0].tolist()


@pytest.mark.parametrize(("core", "average"), [("scalar", 1), ("dsp", 0)])
def test_average_pooling_truncates_twice_on_dsp(core, average):
    sides = {"dim_kernel": 2, "padding": 0, "stride": 2, "dim_im_out": 1}
    assert pooled("arm_avepool_q7_HWC", [[1, 0], [1, 2]], core, **sides) == [[average]]


@pytest.mark.parametrize(
    ("padding", "core", "row"),
    [
        (1, "scalar", [9, 9, 0]),
        (1, "dsp", [9, 9, 9]),
        (2, "scalar", [9, 9, 9]),
        (2, "dsp", [9, 0, 9]),
    ],
)
def test_max_pooling_of_rows_in_place_on_dsp(padding, core, row):
    sides = {"dim_kernel": 3, "padding": padding, "stride": 1, "dim_im_out": 3}
    assert pooled("arm_maxpool_q7_HWC", [[9, 0, 0]] * 3, core, **sides) == [row] * 3


@pytest.mark.parametrize(
    ("function", "value"), [("arm_maxpool_q7_HWC", 127), ("arm_avepool_q7_HWC", 0)]
)
def test_empty_window_of_the_portable_path(function, value):
    sides = {"dim_kernel": 1, "padding": 1, "stride": 1, "dim_im_out": 3}
    assert pooled(function, [[5]], "scalar", **sides) == [
        [value] * 3,
        [value, 5, value],
        [value] * 3,
    ]


@pytest.mark.parametrize("sides", [{"stride": 1, "dim_im_out": 3}, {"stride": 2, "dim_im_out": 2}])
def test_pooling_that_leaves_the_image_is_refused_on_dsp(sides):
    with pytest.raises(Refused, match="dim_im_in"):
        pooled("arm_maxpool_q7_HWC", [[1, 2], [3, 4]], "dsp", dim_kernel=1, padding=0, **sides)


@pytest.mark.parametrize(("release", "y"), [("5.6.0", 16384), ("5.9.0", 15872)])
def test_sigmoid_of_a_negative_number(release, y):
    call = {"size": 1, "int_width": 3, "type": "ARM_SIGMOID", "cmsis": release}
    assert cmsis.arm_nn_activations_direct_q15(data=q15(-256), **call).tolist() == [y]


@pytest.mark.parametrize(("release", "y"), [("5.6.0", 64), ("5.9.0", 127)])
def test_softmax_of_two_equal_numbers(release, y):
    got = cmsis.arm_softmax_q7(vec_in=q7(0, 0), dim_vec=2, cmsis=release)
    assert got.tolist() == [y, y]


@pytest.mark.parametrize(("release", "y"), [("5.6.0", 127), ("5.9.0", -3)])
def test_negative_product_with_a_shift(release, y):
    call = {"pSrcB": q7(3), "out_shift": 1, "blockSize": 1, "cmsis": release}
    assert cmsis.arm_nn_mult_q7(pSrcA=q7(-2), **call).tolist() == [y]


def test_product_q7_wraps_at_16_bits():
    call = {"pSrcA": q7(-128), "pSrcB": q7(-128), "out_shift": 15, "blockSize": 1}
    assert cmsis.arm_nn_mult_q7(**call).tolist() == [-1]


@pytest.mark.parametrize(("core", "first"), [("scalar", -32768), ("dsp", 32767)])
def test_accumulate_saturates_whole_groups_on_dsp(core, first):
    call = {"pSrc": q7(*[1] * 5), "pDst": q15(*[32767] * 5), "length": 5, "target": core}
    assert cmsis.arm_nn_accumulate_q7_to_q15(**call).tolist() == [first] * 4 + [-32768]


def test_empty_function_is_refused():
    with pytest.raises(Refused, match="body is empty"):
        cmsis.arm_q7_to_q15_reordered_with_offset(
            src=q7(1), block_size=1, offset=0, target="cortex-m3"
        )


def test_activation_tables_are_what_their_script_writes():
    command = [sys.executable, Q / "activation_tables.py"]
    written = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert written == (Q / "activation_tables.h").read_text(encoding="utf-8")
