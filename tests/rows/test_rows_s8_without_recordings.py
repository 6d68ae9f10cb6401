"""Rows of the s8 and s16 API that no recording covers = their meaning in numpy."""

import itertools

import affine_windows
import numpy as np
import pytest

from qemu_nn import cmsis
from qemu_nn.errors import Refused
from qemu_nn.functions.shapes import DTYPES


def numbers(type, shape):
    """Draw bytes as elements of a type."""
    size = int(np.prod(shape)) * np.dtype(DTYPES[type]).itemsize
    return np.frombuffer(np.random.default_rng(1).bytes(size), DTYPES[type]).reshape(shape)


@pytest.mark.oracle("tflm_constant_{type}")
@pytest.mark.parametrize("type", DTYPES)
def test_a_constant_is_what_it_is(type):
    values = numbers(type, 7)
    assert getattr(cmsis, f"tflm_constant_{type}")(values=values).tobytes() == values.tobytes()


@pytest.mark.oracle("tflm_broadcast_{type}")
@pytest.mark.parametrize("type", DTYPES)
@pytest.mark.parametrize("kept", range(16))
def test_a_tensor_broadcasts_along_axes_of_one_element(type, kept):
    whole = {"n": 3, "h": 2, "w": 5, "c": 4}
    sides = [n if kept >> i & 1 else 1 for i, n in enumerate(whole.values())]
    values = numbers(type, sides)
    output = {f"output_{axis}": side for axis, side in whole.items()}
    got = getattr(cmsis, f"tflm_broadcast_{type}")(input=values, **output)
    assert got.tobytes() == np.broadcast_to(values, tuple(whole.values())).tobytes()


def test_other_sides_do_not_broadcast():
    with pytest.raises(Refused, match="input_h must be 1 or 3, as the output's, is 2"):
        cmsis.tflm_broadcast_s8(
            input=numbers("s8", (1, 2, 1, 1)), output_n=1, output_h=3, output_w=1, output_c=1
        )


@pytest.mark.oracle("tflm_slice_{type}")
@pytest.mark.parametrize("type", DTYPES)
def test_a_slice_has_the_elements_at_its_strides(type):
    values = numbers(type, (2, 3, 4, 3, 5))
    begins, strides, output = (1, 2, 0, 1, 4), (1, -1, 2, 1, -2), (1, 3, 2, 2, 3)
    places = [[b + i * s for i in range(n)] for b, s, n in zip(begins, strides, output)]
    named = {"begin": begins, "stride": strides, "output": output}
    params = {f"{name}_{axis}": side for name in named for axis, side in enumerate(named[name])}
    got = getattr(cmsis, f"tflm_slice_{type}")(input=values, **params)
    assert got.tobytes() == values[np.ix_(*places)].tobytes()


@pytest.mark.oracle("tflm_concatenation_{type}")
@pytest.mark.parametrize("type", DTYPES)
def test_concatenated_rows_equal_numpy(type):
    first, second = numbers(type, (3, 5)), numbers(type, (3, 4))[::-1].copy()
    got = getattr(cmsis, f"tflm_concatenation_{type}")(input1=first, input2=second)
    assert got.tobytes() == np.concatenate([first, second], 1).tobytes()


ENDS = ("pre", "post")


@pytest.mark.oracle("tflm_pad_{type}")
@pytest.mark.parametrize(("type", "bits"), [("s32", -70000), ("f32", 0x40490FDB)])
def test_a_border_has_the_bits_of_one_element(type, bits):
    values, value = numbers(type, (2, 3, 1, 4)), np.int32(bits).view(DTYPES[type])
    borders = {"n": (1, 0), "h": (0, 2), "w": (3, 1), "c": (0, 5)}
    named = {f"{end}_{axis}": borders[axis][i] for axis in borders for i, end in enumerate(ENDS)}
    got = getattr(cmsis, f"tflm_pad_{type}")(input=values, pad_value=bits, **named)
    want = np.pad(values, [*borders.values()], constant_values=value)
    assert got.tobytes() == want.tobytes()


@pytest.mark.oracle("tflm_update_{type}")
@pytest.mark.parametrize("type", ["s8", "s16", "s32", "f32"])
def test_an_update_begins_as_near_to_its_starts_as_it_fits(type):
    shape, part = (1, 1, 1, 2, 3, 4), (1, 1, 1, 1, 2, 3)
    values, update = numbers(type, shape), numbers(type, part)
    for starts in itertools.product((-9, 0, 1, 9), repeat=3):
        places = np.clip(starts, 0, np.subtract(shape, part)[3:])
        want = values.copy()
        want[(..., *(slice(p, p + n) for p, n in zip(places, part[3:])))] = update
        places = {"starts": np.array(starts, np.int32), "rank": 3}
        got = getattr(cmsis, f"tflm_update_{type}")(input=values, update=update, **places)
        assert got.tobytes() == want.tobytes()


@pytest.mark.oracle("tflm_requantize_{source}_{target}")
@pytest.mark.parametrize("rounding", ["double", "single"])
@pytest.mark.parametrize(("source", "target"), [("s8", "s32"), ("s32", "s8"), ("s32", "s16")])
def test_a_change_of_scale_with_32_bits(source, target, rounding):
    x = numbers(source, 300).astype(np.int64) >> (8 if source == "s32" else 0)
    limits = np.iinfo(DTYPES[target])
    for multiplier, shift in ((2**30, 1), (1518500250, 0), (2**31 - 1, -9), (1073741825, -31)):
        params = {"input_zero_point": -7, "output_zero_point": 5}
        scaled = affine_windows.requantize(x + 7, multiplier, shift, rounding == "single")
        want = np.clip(scaled + 5, limits.min, limits.max)
        got = getattr(cmsis, f"tflm_requantize_{source}_{target}")(
            input=x.astype(DTYPES[source]),
            **{**params, "multiplier": multiplier, "shift": shift},
            **{"rounding": rounding, "cmsis": "main-2026-07"},
        )
        assert got.tolist() == want.tolist()


KINDS = {"equal": np.equal, "not_equal": np.not_equal, "greater_equal": np.greater_equal}


@pytest.mark.oracle("tflm_{kind}_b8")
@pytest.mark.parametrize("kind", ["equal", "not_equal"])
def test_truth_values_are_compared(kind):
    first, second = np.array([[0, 0, 1, 1], [0, 1, 0, 1]], bool)
    got = getattr(cmsis, f"tflm_{kind}_b8")(input1=first, input2=second)
    assert got.tolist() == KINDS[kind](first, second).tolist()


@pytest.mark.oracle("tflm_greater_equal_s8")
def test_codes_are_compared_by_what_they_mean():
    """Compare codes whose second scale is half of the first."""
    first, second = (a.ravel().astype(np.int8) for a in np.mgrid[-128:128:5, -128:128:3])
    scales = {"input_1_mult": 2**30, "input_1_shift": 0, "input_2_mult": 2**30, "input_2_shift": -1}
    zeros = {"input_1_offset": -3, "input_2_offset": 100}
    got = cmsis.tflm_greater_equal_s8(input1=first, input2=second, **scales, **zeros)
    want = 2 * (first.astype(int) - 3) >= second.astype(int) + 100
    assert got.tolist() == want.tolist()
