"""Formats: floats into powers of two, exact at the borders of rounding and limits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qemu_nn.errors import Error
from qemu_nn.functions.scaling import quantize_multiplier, scale_softmax, scale_softmax_s16
from qemu_nn.ir.formats import compute_dec_bit, name_q_format, quantize


@pytest.mark.parametrize(
    ("largest", "frac"),
    [
        *((0.0, 7), (0.25, 9), (0.5, 8), (1.0, 7), (2.0, 6), (128.0, 0), (256.0, -1)),
        *((0.9, 7), (1.1, 6), (100.0, 0), (np.nextafter(1.0, 2), 6), (np.nextafter(1.0, 0), 7)),
        *((-1.0, 7), (-1.5, 6), (2.0**-1074, 1081)),
    ],
)
def test_dec_bit_is_exact_at_powers_of_two_and_beside_them(largest, frac):
    assert compute_dec_bit(largest) == frac


def test_dec_bit_counts_the_bits_of_the_element():
    assert [compute_dec_bit(1.0, bits) for bits in (8, 16, 32)] == [7, 15, 31]


@pytest.mark.parametrize("largest", [np.inf, -np.inf, np.nan])
def test_no_format_holds_what_is_not_finite(largest):
    with pytest.raises(Error, match="no format represents"):
        compute_dec_bit(largest)


@given(st.floats(1e-30, 1e30))
def test_dec_bit_is_the_finest_format_that_holds_the_value(largest):
    frac = compute_dec_bit(largest)
    assert np.ldexp(largest, frac) <= 128
    assert np.ldexp(largest, frac + 1) > 128


def test_quantize_rounds_halves_to_even():
    x = np.array([0.5, 1.5, 2.5, -0.5, -1.5, 0.49, 0.51])
    assert quantize(x, 0).tolist() == [0, 2, 2, 0, -2, 0, 1]
    assert quantize(x / 128, 7).tolist() == [0, 2, 2, 0, -2, 0, 1]


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32"])
def test_quantize_saturates_at_the_limits_of_the_type(dtype):
    limits = np.iinfo(dtype)
    x = np.array([limits.max, limits.max + 1, limits.min, limits.min - 1, np.inf, -np.inf])
    got = quantize(x, 0, dtype)
    assert got.dtype == dtype
    assert got.tolist() == [limits.max] * 2 + [limits.min] * 2 + [limits.max, limits.min]


def test_quantize_takes_formats_coarser_than_one():
    assert quantize(np.array([256.0, 255.0, 3.0, 1.0]), -1).tolist() == [127, 127, 2, 0]


def test_quantize_refuses_nan():
    with pytest.raises(Error, match="NaN"):
        quantize(np.array([0.0, np.nan]), 7)


@given(st.integers(-128, 127), st.integers(-20, 20))
def test_quantize_gives_every_integer_back(value, frac):
    assert quantize(np.ldexp(float(value), -frac), frac) == value


@pytest.mark.parametrize(
    ("dtype", "frac", "name"),
    [("int8", 7, "Q0.7"), ("int8", 2, "Q5.2"), ("int8", 8, "Q-1.8"), ("int16", 12, "Q3.12")],
)
def test_formats_have_arms_names(dtype, frac, name):
    assert name_q_format(dtype, frac) == name


@pytest.mark.parametrize(
    ("real", "pair"),
    [
        *((0.0, (0, 0)), (1.0, (2**30, 1)), (0.5, (2**30, 0)), (0.75, (3 * 2**29, 0))),
        *((2.0**-32, (2**30, -31)), (2.0**-33, (0, 0)), (2.0**-33 * 1.999, (0, 0))),
        *((1 - 2.0**-33, (2**30, 1)), (1 - 2.0**-32, (2**30, 1)), (1 - 2.0**-31, (2**31 - 1, 0))),
        *((0.5 + 2.0**-32, (2**30 + 1, 0)), (0.5 + 2.0**-33, (2**30, 0))),
        *((np.nextafter(2.0**-32, 0), (2**30, -31)), (2.0**31 - 1, (2**31 - 1, 31))),
    ],
)
def test_a_factor_becomes_the_nearest_multiplier_and_shift(real, pair):
    assert quantize_multiplier(real) == pair


@pytest.mark.parametrize("real", [-1.0, np.inf, np.nan])
def test_no_multiplier_stands_for_a_factor_that_is_negative_or_not_finite(real):
    with pytest.raises(Error, match="must be finite and >= 0"):
        quantize_multiplier(real)


@given(st.floats(1e-9, 1e9))
def test_a_multiplier_is_within_half_a_step_of_its_factor(real):
    multiplier, shift = quantize_multiplier(real)
    assert 2**30 <= multiplier < 2**31
    assert abs(multiplier * 2.0 ** (shift - 31) - real) <= 2.0 ** (shift - 32)


def test_softmax_scaling_is_that_of_recorded_calls():
    assert scale_softmax(1.0, np.float32(0.05)) == (1717986944, 22, -496)
    assert scale_softmax(1.0, 2.0**-25) == (2**30, 2, -(31 << 24))
    assert scale_softmax(1.0, 1e6) == (2**31 - 1, 31, 0)
    assert scale_softmax_s16(1.0, 10 / 65535) == (2**30, 1)


def test_softmax_scaling_refuses_what_makes_all_outputs_equal():
    with pytest.raises(Error, match=r"above 2\^-26"):
        scale_softmax(1.0, 2.0**-26)
