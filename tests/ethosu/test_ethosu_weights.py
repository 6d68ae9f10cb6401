"""Weight streams of the Ethos-U: recorded ones, ones written here, and damaged ones."""

import numpy as np
import pytest
from ethosu_programs import encode_weights
from paths import GOLDEN

from qemu_nn.errors import ModelError
from qemu_nn.ethosu.inspection import decode_weights

#: Streams that mlw_codec of vela 5.2.0 wrote: stream_K and weights_K.
RECORDED = np.load(GOLDEN / "ethosu_weights.npz")
COUNT = len(RECORDED.files) // 2


@pytest.mark.parametrize("at", range(COUNT))
def test_a_recorded_stream_has_its_weights(at):
    stream, weights = RECORDED[f"stream_{at}"].tobytes(), RECORDED[f"weights_{at}"]
    np.testing.assert_array_equal(decode_weights(stream, weights.size), weights)


def test_an_uncompressed_slice_has_its_weights():
    weights = np.random.default_rng(1).integers(-255, 256, 333)
    np.testing.assert_array_equal(decode_weights(encode_weights(weights), 333), weights)


def test_slices_follow_each_other_after_padding():
    first, second = np.array([1, -2, 3]), np.array([255, 0])
    stream = encode_weights(first) + encode_weights(second)
    np.testing.assert_array_equal(decode_weights(stream, 5), [1, -2, 3, 255, 0])


@pytest.mark.parametrize("at", range(COUNT))
def test_a_stream_with_more_weights_than_asked_is_refused(at):
    stream, weights = RECORDED[f"stream_{at}"].tobytes(), RECORDED[f"weights_{at}"]
    with pytest.raises(ModelError, match="is damaged, or has more than"):
        decode_weights(stream, weights.size - 1)


def test_the_fast_format_reads_indices_of_4_bits():
    values = [0, 1, -1, 2, -2, 3, -3, 127, -127, 100, -100, 5, -5, 6, 7, 8]
    indices = np.arange(16)[::-1]
    bits = np.zeros(256 + 64, np.uint8)
    for at, value in enumerate(values):
        code = abs(value) << 1 | (value < 0)
        bits[112 + 9 * at : 121 + 9 * at] = [code >> i & 1 for i in range(9)]
    for at, index in enumerate(indices):
        bits[256 + 4 * at : 260 + 4 * at] = [index >> i & 1 for i in range(4)]
    stream = np.packbits(bits, bitorder="little").tobytes()
    np.testing.assert_array_equal(decode_weights(stream, 16, fast=True), np.take(values, indices))


def test_damaged_streams_end_with_weights_or_a_sentence():
    rng = np.random.default_rng(7)
    refused = 0
    for _ in range(3000):
        at = int(rng.integers(COUNT))
        stream = bytearray(RECORDED[f"stream_{at}"].tobytes())
        stream = stream[: int(rng.integers(1, len(stream) + 1))]
        for _ in range(int(rng.integers(1, 6))):
            stream[int(rng.integers(len(stream)))] = int(rng.integers(256))
        try:
            weights = decode_weights(bytes(stream), 600, fast=bool(rng.integers(2)))
            assert abs(weights.astype(int)).max(initial=0) <= 511
        except ModelError:
            refused += 1
    assert refused > 500
