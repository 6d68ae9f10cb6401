"""Weight layouts: what goes in comes out, and equals what the device reads."""

import numpy as np
import pytest
import recordings

from qemu_nn.errors import Error
from qemu_nn.functions import FUNCTIONS, layouts

STREAMS = ["q7", "q15", "q7_q15"]
OPT = [name for name in recordings.FUNCTIONS if FUNCTIONS[name].interleave]


def numbered(*shape):
    return np.arange(np.prod(shape)).reshape(shape).astype(np.int16)


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("rows", [1, 2, 3, 4, 5, 6, 7, 8, 13])
@pytest.mark.parametrize("columns", [1, 2, 3, 4, 5, 6, 7, 8, 11])
def test_unpack_undoes_pack_for_every_remainder(stream, rows, columns):
    matrix = numbered(rows, columns)
    packed = layouts.pack(matrix, stream)
    assert packed.shape == (rows * columns,)
    np.testing.assert_array_equal(layouts.unpack(packed, rows, columns, stream), matrix)


@pytest.mark.parametrize("function", OPT)
def test_pack_makes_the_recorded_streams(function):
    for matrix, stream in recordings.streams(function):
        np.testing.assert_array_equal(layouts.pack(matrix, FUNCTIONS[function].interleave), stream)


def test_the_q7_stream_of_6_by_7_is_the_documented_one():
    matrix = np.array([[10 * row + column for column in range(1, 8)] for row in range(1, 7)])
    documented = """11 21 13 23 31 41 33 43 12 22 14 24 32 42 34 44 15 25 35 45 16 26 36 46 17 27
        37 47 51 52 53 54 55 56 57 61 62 63 64 65 66 67"""
    assert layouts.pack(matrix, "q7").tolist() == [int(word) for word in documented.split()]


@pytest.mark.parametrize("layout", ["OHWI", "HWIO", "OIHW"])
def test_ohwi_finds_each_weight_by_its_axes(layout):
    size = {"O": 2, "H": 3, "W": 4, "I": 5}
    weights = numbered(*(size[axis] for axis in layout))
    ohwi = layouts.to_ohwi(weights, layout)
    for o, y, x, i in np.ndindex(2, 3, 4, 5):
        at = {"O": o, "H": y, "W": x, "I": i}
        assert ohwi[o, y, x, i] == weights[tuple(at[axis] for axis in layout)]
    np.testing.assert_array_equal(layouts.from_ohwi(ohwi, layout), weights)


def test_the_first_dense_layer_gives_the_same_sum_in_either_order():
    rng = np.random.default_rng(7)
    image = rng.integers(-9, 9, (3, 4, 5))
    chw = rng.integers(-9, 9, (6, 60))
    hwc = layouts.dense_to_hwc(chw, (3, 4, 5))
    np.testing.assert_array_equal(hwc @ image.ravel(), chw @ image.transpose(2, 0, 1).ravel())
    np.testing.assert_array_equal(layouts.dense_to_chw(hwc, (3, 4, 5)), chw)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: layouts.to_ohwi(numbered(1, 2, 3, 4), "IOHW"), "no layout 'IOHW'"),
        (lambda: layouts.to_ohwi(numbered(2, 3), "HWIO"), "4 axes"),
        (lambda: layouts.pack(numbered(2, 3), "q31"), "no weight stream 'q31'"),
        (lambda: layouts.pack(numbered(6), "q7"), r"needs \[rows"),
        (lambda: layouts.unpack(numbered(5), 2, 3, "q7"), "5 packed weights, but 2 x 3 need 6"),
        (lambda: layouts.dense_to_hwc(numbered(2, 9), (2, 2, 2)), "flattens 2 x 2 x 2"),
    ],
)
def test_what_does_not_fit_is_named(call, sentence):
    with pytest.raises(Error, match=sentence):
        call()


def test_nibbles_are_signed_and_the_first_is_in_the_low_half():
    packed = np.array([0x21, 0x8F - 256, 0x07], np.int8)
    assert layouts.unpack_nibbles(packed, 5).tolist() == [1, 2, -1, -8, 7]
    assert layouts.unpack_nibbles(packed, 6).tolist() == [1, 2, -1, -8, 7, 0]
    for count in (4, 7):
        with pytest.raises(Error, match=f"5 or 6 weights of 4 bits, not {count}"):
            layouts.unpack_nibbles(packed, count)
