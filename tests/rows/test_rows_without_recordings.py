"""Rows that no recording covers = their contract, computed in Python's integers.

Those are the releases and cores that were not recorded, CMSIS-DSP's vector functions and the
keyword project's average pooling. Each check runs every row under every profile it claims.
"""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from integers import clamp, divide, round_term, saturate, wrap

from qemu_nn import cmsis
from qemu_nn.functions import FUNCTIONS
from qemu_nn.kernels import table as kernels
from qemu_nn.targets import all_profiles

pytestmark = [pytest.mark.caps, pytest.mark.rows]

DTYPES = {8: np.int8, 16: np.int16}
Q7 = st.integers(-(2**7), 2**7 - 1)
Q15 = st.integers(-(2**15), 2**15 - 1)
SHIFT = st.integers(0, 31)


def answers(function, **arguments):
    """Yield (profile, result) of every row that runs here, under every profile that it claims."""
    declared = FUNCTIONS[function]
    seen = 0
    for profile in all_profiles():
        for row in kernels.list_rows(declared.op, declared.type):
            if row.claims(profile) and row.runs_here():
                seen += 1
                got = getattr(cmsis, function)(
                    **arguments,
                    target=profile.path,
                    cmsis=profile.cmsis,
                    rounding=profile.rounding,
                    variant=row.variant,
                )
                yield profile, got.ravel().tolist()
    assert seen > 0


def pairs(values):
    return st.lists(st.tuples(values, values), max_size=19)


def columns(rows, bits):
    """Return both sides of a list of pairs, as arrays."""
    a, b = np.array(rows, DTYPES[bits]).reshape(-1, 2).T
    return {"pSrcA": a.copy(), "pSrcB": b.copy(), "blockSize": len(rows)}


# ---- CMSIS-DSP's vector functions ----

MEANING = {
    "mult": lambda a, b, bits: saturate(a * b >> (bits - 1), bits),
    "add": lambda a, b, bits: saturate(a + b, bits),
    "sub": lambda a, b, bits: saturate(a - b, bits),
}


@pytest.mark.oracle("arm_{op}_q7")
@pytest.mark.parametrize("op", MEANING)
@given(rows=pairs(Q7))
@example(rows=[(-128, -128), (127, 127), (-128, 127), (127, -128), (-1, 1)])
def test_vector_functions_q7_saturate(op, rows):
    for profile, got in answers(f"arm_{op}_q7", **columns(rows, 8)):
        assert got == [MEANING[op](a, b, 8) for a, b in rows], profile


@pytest.mark.oracle("arm_{op}_q15")
@pytest.mark.parametrize("op", MEANING)
@given(rows=pairs(Q15))
@example(rows=[(-32768, -32768), (32767, 32767), (-32768, 32767), (32767, -32768), (-1, 1)])
def test_vector_functions_q15_saturate(op, rows):
    for profile, got in answers(f"arm_{op}_q15", **columns(rows, 16)):
        assert got == [MEANING[op](a, b, 16) for a, b in rows], profile


def check_offset(values, offset, bits):
    x = np.array(values, DTYPES[bits])
    function = f"arm_offset_q{bits - 1}"
    for profile, got in answers(function, pSrc=x, offset=offset, blockSize=len(x)):
        assert got == [saturate(value + offset, bits) for value in values], profile


@pytest.mark.oracle("arm_offset_q7")
@given(values=st.lists(Q7, max_size=19), offset=Q7)
@example(values=[-128, -1, 0, 1, 127], offset=-128)
def test_offset_q7_saturates(values, offset):
    check_offset(values, offset, 8)


@pytest.mark.oracle("arm_offset_q15")
@given(values=st.lists(Q15, max_size=19), offset=Q15)
@example(values=[-32768, -1, 0, 1, 32767], offset=-32768)
def test_offset_q15_saturates(values, offset):
    check_offset(values, offset, 16)


# ---- products with a shift, both releases ----


def product(a, b, shift, bits, profile):
    term = round_term(shift, profile.cmsis, profile.rounding)
    if profile.cmsis == "5.6.0" and profile.rounding == "nearest":
        return saturate(wrap((a * b + term) % 2**32 >> shift, 32), bits)
    return saturate(wrap(a * b + term, 2 * bits) >> shift, bits)


@given(rows=pairs(Q7), shift=SHIFT)
@example(rows=[(-128, -128), (-2, 3), (0, 0)], shift=15)
@example(rows=[(-128, -128), (-2, 3), (0, 0)], shift=31)
def test_mult_q7_of_both_releases(rows, shift):
    for profile, got in answers("arm_nn_mult_q7", **columns(rows, 8), out_shift=shift):
        assert got == [product(a, b, shift, 8, profile) for a, b in rows], profile


@given(rows=pairs(Q15), shift=SHIFT)
@example(rows=[(-32768, -32768), (-32768, 32767), (-2, 3)], shift=0)
@example(rows=[(-32768, -32768), (-32768, 32767), (-2, 3)], shift=31)
def test_mult_q15_of_both_releases(rows, shift):
    for profile, got in answers("arm_nn_mult_q15", **columns(rows, 16), out_shift=shift):
        assert got == [product(a, b, shift, 16, profile) for a, b in rows], profile


# ---- conversions on every core ----


def reordered(values):
    whole = len(values) - len(values) % 4
    return [values[i + k] for i in range(0, whole, 4) for k in (0, 2, 1, 3)] + values[whole:]


@pytest.mark.oracle("arm_q7_to_q15_reordered_no_shift")
@given(values=st.lists(Q7, max_size=19))
def test_only_some_cores_reorder_when_they_widen(values):
    x = np.array(values, np.int8)
    for profile, got in answers("arm_q7_to_q15_no_shift", pSrc=x, blockSize=len(x)):
        assert got == values, profile
    for profile, got in answers("arm_q7_to_q15_reordered_no_shift", pSrc=x, blockSize=len(x)):
        swaps = profile.path == "dsp" or (profile.cmsis, profile.path) == ("5.6.0", "scalar")
        assert got == (reordered(values) if swaps else values), profile


@given(values=st.lists(Q7, max_size=19), offset=Q15)
def test_conversions_with_an_offset_wrap(values, offset):
    x = np.array(values, np.int8)
    call = {"src": x, "block_size": len(x), "offset": offset}
    moved = [wrap(value + offset, 16) for value in values]
    for profile, got in answers("arm_q7_to_q15_with_offset", **call):
        assert got == moved, profile
    for profile, got in answers("arm_q7_to_q15_reordered_with_offset", **call):
        assert got == reordered(moved), profile


@given(rows=st.lists(st.tuples(Q7, Q15), max_size=19))
@example(rows=[(1, 32767)] * 6)
@example(rows=[(-1, -32768)] * 5)
def test_accumulate_saturates_on_dsp_alone(rows):
    source, before = np.array(rows, np.int16).reshape(-1, 2).T
    call = {"pSrc": source.astype(np.int8), "pDst": before.copy(), "length": len(rows)}
    whole = len(rows) - len(rows) % 4
    for profile, got in answers("arm_nn_accumulate_q7_to_q15", **call):
        saturating = whole if profile.path == "dsp" else 0
        assert got == [
            saturate(a + b, 16) if i < saturating else wrap(a + b, 16)
            for i, (a, b) in enumerate(rows)
        ], profile


# ---- table activations and softmax of 5.6.0 ----


def interpolated(x, int_width, table, release):
    shift = 11 - int_width
    i, fraction = x >> shift, x & ((1 << shift) - 1)
    if release == "5.6.0":
        a, b = table[clamp(i, 0, 255)], table[clamp(i + 1, 0, 255)]
    else:
        a, b = table[i % 256], table[(i + 1) % 256]
        if i == 127:
            return a
    return (((1 << shift) - fraction) * a + fraction * b) >> shift


@pytest.mark.parametrize("int_width", range(4))
@pytest.mark.parametrize("kind", [0, 1])
def test_activation_q15_of_both_releases(kind, int_width):
    u = np.concatenate([np.arange(128), np.arange(-128, 0)]) / 16
    real = np.tanh(u) if kind else 1 / (1 + np.exp(-u))
    table = np.clip(np.rint(real * 32768), -32768, 32767).astype(int).tolist()
    values = list(range(-32768, 32767, 3))
    expected = {
        release: [interpolated(x, int_width, table, release) for x in values]
        for release in ("5.6.0", "5.9.0")
    }
    data = np.array(values, np.int16)
    call = {"data": data, "size": len(data), "int_width": int_width, "type": kind}
    for profile, got in answers("arm_nn_activations_direct_q15", **call):
        assert got == expected[profile.cmsis], profile


def softmax_q7(x, release):
    base = max(x) - 8
    if release == "5.6.0":
        whole = 2**20 // sum(1 << (v - base) for v in x if v > base)
        return [saturate(whole >> (13 + base - v), 8) if v > base else 0 for v in x]
    whole = 2**20 // sum(1 << clamp(v - base, 0, 7) for v in x)
    return [saturate(whole >> clamp(13 + base - v, 0, 31), 8) for v in x]


@given(x=st.lists(Q7, min_size=1, max_size=40))
@example(x=[127] + [-128] * 9)
@example(x=[0] + [-8] * 200)
@example(x=[-128] * 7)
@example(x=list(range(-3, 12)))
def test_softmax_q7_of_both_releases(x):
    vector = np.array(x, np.int8)
    for profile, got in answers("arm_softmax_q7", vec_in=vector, dim_vec=len(x)):
        assert got == softmax_q7(x, profile.cmsis), profile


# ---- average pooling of the keyword project ----

SIDES = ("dim_im_in", "dim_kernel", "padding", "stride", "dim_im_out")
RANGES = ((1, 6), (1, 5), (0, 6), (1, 4), (1, 5))
SIDE = st.tuples(*(st.integers(low, high) for low, high in RANGES))


def window(o, side):
    dim_im_in, dim_kernel, padding, stride, _ = side
    start = o * stride - padding
    return slice(max(start, 0), max(min(start + dim_kernel, dim_im_in), 0))


@pytest.mark.oracle("arm_avepool_q7_HWC_nonsquare")
@given(
    x=SIDE,
    y=SIDE,
    channels=st.integers(1, 3),
    lshift=SHIFT,
    seed=st.integers(0, 2**32 - 1),
    extreme=st.booleans(),
)
def test_average_pooling_nonsquare_wraps(x, y, channels, lshift, seed, extreme):
    shape = (y[0], x[0], channels)
    random = np.random.default_rng(seed)
    image = random.choice([-128, 127], shape) if extreme else random.integers(-128, 128, shape)
    params = {f"{name}_x": value for name, value in zip(SIDES, x)}
    params.update({f"{name}_y": value for name, value in zip(SIDES, y)})
    expected = []
    for oy in range(y[4]):
        for ox in range(x[4]):
            pixels = image[window(oy, y), window(ox, x)].reshape(-1, channels)
            sums = [wrap(int(total) << lshift, 32) for total in pixels.sum(axis=0)]
            expected += [wrap(divide(total, len(pixels)), 8) for total in sums]
    call = {"Im_in": image.astype(np.int8), "ch_im_in": channels, "out_lshift": lshift, **params}
    for profile, got in answers("arm_avepool_q7_HWC_nonsquare", **call):
        assert got == expected, profile
