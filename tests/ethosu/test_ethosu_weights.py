"""Weight streams of the Ethos-U: recorded ones, ones written here, and damaged ones."""

import numpy as np
import pytest
from ethosu_programs import encode_weights
from ethosu_weights import Bits, encode_fast, put_slice
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


@pytest.mark.parametrize("length", range(1, 13))
def test_a_stream_that_is_cut_is_refused(length):
    stream = encode_weights([255, -255, 255, -255, 255, -255, 255])  # 99 bits
    assert decode_weights(stream[:13], 7)[6] == 255
    with pytest.raises(ModelError, match="is damaged"):
        decode_weights(stream[:length], 7)


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


def weight_of(index, palette):
    """Return the weight of an index: of the palette, or after it."""
    values, first, _ = palette
    code = values[index] if index < len(values) else index - len(values) + first
    return -(code >> 1) if code & 1 else code >> 1


def draw_slice(rng, bits, palette):
    """Write a random slice. Return its weights with their zeros, and the palette."""
    count = int(rng.choice((1, 2, 7, 8, 9, 12, 13, 40, rng.integers(1, 200))))
    how = {"divisor": int(rng.choice((0, 1, 2, 3, 4, 5, 7)))}
    is_new = palette is None or rng.random() < 0.7
    if is_new:
        width = int(rng.integers(2, 10))
        size = int(rng.choice((0, 0, 2, 3, 16, 31, 32)))
        palette = rng.integers(0, 1 << width, size).tolist(), int(rng.integers(32)), width
        how["palette"] = palette
    entries = len(palette[0])
    most = entries + 300
    if how["divisor"] == 7:
        how["width"] = (entries - 1).bit_length() if entries else palette[2]
        most = 1 << how["width"]
    elif rng.random() < 0.5:
        how["truncated"], most = 1, 3 << how["divisor"]
    indices = rng.integers(0, min(most, 480), count).tolist()
    if entries and rng.random() < 0.5:
        indices = [index % min(entries, most) for index in indices]
    runs, how["zero_divisor"] = None, int(rng.integers(4))
    if rng.random() < 0.6:
        runs = rng.choice((0, 0, 0, 1, 2, 5, 30), count + is_new).tolist()
    put_slice(bits, indices, runs, **how)
    wanted = [0] * runs.pop(0) if runs and is_new else []
    for at, index in enumerate(indices):
        wanted += [weight_of(index, palette)] + [0] * (runs[at] if runs else 0)
    return wanted, palette


@pytest.mark.parametrize("first", range(0, 200, 50))
def test_slices_of_every_form_have_their_weights(first):
    for seed in range(first, first + 50):
        rng = np.random.default_rng(seed)
        bits, palette, wanted = Bits(), None, []
        for _ in range(int(rng.integers(1, 4))):
            own, palette = draw_slice(rng, bits, palette)
            wanted += own
        bits.put(7, 3)
        got = decode_weights(bits.bytes, len(wanted))
        np.testing.assert_array_equal(got, wanted, f"seed {seed}")
        if len(wanted) > 1:
            with pytest.raises(ModelError, match="is damaged, or has more than"):
                decode_weights(bits.bytes, len(wanted) - 1)


@pytest.mark.parametrize("kind", ["small", "table", "raw"])
def test_the_fast_format_has_as_many_weights_as_its_bytes(kind):
    width = {"small": 2, "table": 4, "raw": 8}[kind]
    count = 32 * 8 // width
    weights = np.arange(count) % (4 if kind == "small" else 16) - 2
    stream = encode_fast(weights, kind)
    assert len(stream) == 64
    np.testing.assert_array_equal(decode_weights(stream, count, fast=True), weights)
    for data, most in ((stream, count + 1), (stream[:31], 1), (stream[:5], 1), (b"", 1)):
        with pytest.raises(ModelError, match="is damaged"):
            decode_weights(data, most, fast=True)


@pytest.mark.parametrize(
    ("zero_divisor", "divisor"),
    [*((zeros, 6) for zeros in range(7)), *((zeros, 0) for zeros in (4, 5)), (5, 7)],
)
def test_divisors_that_no_stream_has_are_damage(zero_divisor, divisor):
    bits = Bits()
    for value, count in ((zero_divisor, 3), (0, 15), (divisor, 3), (0, 1), (1, 1), (1, 5), (0, 5)):
        bits.put(value, count)
    bits.bits += [0] * 400 + [1] * 8
    with pytest.raises(ModelError, match="is damaged"):
        decode_weights(bits.bytes, 600)
