"""Moving elements, and choosing among two: as numpy does it, and what is refused."""

import subprocess
import sys

import numpy as np
import pytest
from bits import DRAWN
from hypothesis import given, settings
from paths import ROOT

from qemu_nn import cmsis
from qemu_nn.errors import Refused
from qemu_nn.functions import FUNCTIONS
from qemu_nn.functions.shapes import DTYPES
from qemu_nn.testing.calls import draw_all_arguments

S = ROOT / "csrc" / "s" / "tables"


def run(name, arguments, core="cortex-m4"):
    return getattr(cmsis, name)(target=core, **arguments)


def padded(a):
    widths = [(a[f"pre_{axis}"], a[f"post_{axis}"]) for axis in "nhwc"]
    return np.pad(a["input"], widths, constant_values=a["pad_value"])


def transposed(a):
    return a["input"].transpose([a[f"perm_{i}"] if i < a["num_dims"] else i for i in range(4)])


def moved(a):
    return a["input"].transpose([a[f"perm_{i}"] for i in range(6)])


def joined(a):
    return np.concatenate([a["input1"], a["input2"]], axis=1)


def concatenated(a):
    axis = next(i for i, name in enumerate("wzyx") if f"output_{name}" in a)
    out = a["output"].copy()
    places = [slice(None)] * axis + [slice(a["offset"], a["offset"] + a["input"].shape[axis])]
    out[tuple(places)] = a["input"]
    return out


ORACLES = {
    "arm_pad_s8": padded,
    **{f"tflm_pad_{type}": padded for type in ("s16", "s32")},
    "arm_transpose_s8": transposed,
    **{f"tflm_transpose_{type}": moved for type in ("s8", "s16", "f32")},
    "arm_reshape_s8": lambda a: a["input"],
    **{f"tflm_concatenation_{type}": joined for type in DTYPES},
    **{f"arm_concatenation_s8_{axis}": concatenated for axis in "xyzw"},
    "arm_minimum_s8": lambda a: np.minimum(a["input1"], a["input2"]),
    "arm_maximum_s8": lambda a: np.maximum(a["input1"], a["input2"]),
}


@pytest.mark.parametrize("name", ORACLES)
@settings(max_examples=60)
@given(rng=DRAWN)
def test_a_call_does_what_numpy_does(name, rng):
    arguments = draw_all_arguments(rng, FUNCTIONS[name])
    try:
        got = run(name, arguments)
    except Refused:
        return
    np.testing.assert_array_equal(got, ORACLES[name](arguments))


def transposition(shape, perm):
    sides = (*shape, 1, 1, 1)[:4]
    order = (*perm, *range(len(perm), 4))
    found = {f"input_{axis}": n for axis, n in zip("nhwc", sides)}
    found.update({f"output_{axis}": sides[i] for axis, i in zip("nhwc", order)})
    found.update({f"perm_{i}": axis for i, axis in enumerate(order)}, num_dims=len(perm))
    return {**found, "input": np.arange(np.prod(shape)).astype(np.int8)}


def test_transposing_two_axes_into_their_old_order_is_refused():
    with pytest.raises(Refused, match="exchanges two axes in any case"):
        run("arm_transpose_s8", transposition((2, 3), (0, 1)))


def test_transposing_four_axes_into_their_old_order_is_refused_on_helium_alone():
    same = transposition((2, 3, 4, 5), (0, 1, 2, 3))
    np.testing.assert_array_equal(run("arm_transpose_s8", same).ravel(), same["input"])
    with pytest.raises(Refused, match="exchanges the last two axes"):
        run("arm_transpose_s8", same, "cortex-m55")


def test_exchanging_a_wide_axis_is_refused_on_helium_alone():
    for shape, perm in (((2, 9363), (1, 0)), ((1, 1, 2, 9363), (0, 1, 3, 2))):
        wide = transposition(shape, perm)
        assert run("arm_transpose_s8", wide).size == 2 * 9363
        with pytest.raises(Refused, match="at most 9362 elements on this core, has 9363"):
            run("arm_transpose_s8", wide, "cortex-m55")


@pytest.mark.parametrize("perm", [(1, 1), (1, 2), (-1, 0)])
def test_what_is_no_permutation_is_refused(perm):
    good = transposition((2, 3), (1, 0))
    with pytest.raises(Refused, match="perm must hold"):
        run("arm_transpose_s8", {**good, "perm_0": perm[0], "perm_1": perm[1]})


def test_a_transposed_side_must_be_the_inputs():
    with pytest.raises(Refused, match="output_n must be 3 as perm has it, is 6"):
        run("arm_transpose_s8", {**transposition((2, 3), (1, 0)), "output_n": 6, "output_h": 1})


def test_the_larger_of_an_image_and_one_value_for_each_row_is_refused():
    rows, image = np.zeros((1, 3, 1, 1), np.int8), np.zeros((1, 3, 2, 4), np.int8)
    for inputs in ((rows, image), (image, rows)):
        with pytest.raises(Refused, match="the device reads beside it"):
            cmsis.arm_maximum_s8(input1=inputs[0], input2=inputs[1])
    wide = np.broadcast_to(rows, (1, 3, 2, 1))
    assert cmsis.arm_maximum_s8(input1=wide, input2=image).shape == image.shape


def test_images_that_do_not_fit_together_are_refused():
    with pytest.raises(Refused, match="input1_w and input2_w must be equal, or one of them 1"):
        cmsis.arm_minimum_s8(
            input1=np.zeros((1, 2, 3, 4), np.int8), input2=np.zeros((1, 2, 2, 4), np.int8)
        )


def test_a_concatenation_must_stay_inside_of_its_output():
    out = np.zeros((1, 1, 1, 5), np.int8)
    with pytest.raises(Refused, match=r"offset must be in 0\.\.2, is 3"):
        cmsis.arm_concatenation_s8_x(input=np.zeros((1, 1, 1, 3), np.int8), output=out, offset=3)


def test_activation_tables_are_what_their_script_writes():
    command = [sys.executable, S / "activation_tables.py"]
    written = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert written == (S / "activation_tables.h").read_text(encoding="utf-8")
