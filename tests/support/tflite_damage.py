"""Ways in which a model file can be wrong: .tflite and .pte, which are FlatBuffers, and .onnx."""

import struct
from functools import cache

import numpy as np

from qemu_nn.importers.tflite.checked import TfliteTable

#: Words that mean trouble: counts, offsets, indices, and the floats that are no scales.
_WORDS = (
    *(0, 1, 2, 3, 4, 5, 7, 8, 16, 100, 127, 128, 255, 256, 1000, 65535, 65536, 2**24, 2**28),
    *(2**31 - 1, 2**31, 2**31 + 1, 2**32 - 4, 2**32 - 2, 2**32 - 1),
    *struct.unpack(
        "<8I", np.float32([np.nan, np.inf, -np.inf, -1, 1, 1e-45, 3e38, -0.0]).tobytes()
    ),
)


@cache
def structure(data):
    """Return the offsets of a file's words that are no weights."""
    inside = np.ones(len(data), bool)
    start = np.frombuffer(data, np.uint8).__array_interface__["data"][0]
    root = TfliteTable.root("Model", data)
    for index in range(root.count("Buffers")):
        content = root.member("Buffers", "Buffer", index).numbers("Data")
        at = content.__array_interface__["data"][0] - start
        if content.size:
            inside[at : at + content.size] = False
    return np.flatnonzero(inside[: len(data) // 4 * 4 : 4]) * 4


def tables(data):
    """Return the offsets of a .pte file's words outside the segment of constants."""
    size = int.from_bytes(data[16:24], "little") if data[8:12] == b"eh00" else len(data)
    return np.arange(0, min(size, len(data)) // 4 * 4, 4)


def every_word(data):
    """Return the offsets of all words of a file."""
    return np.arange(0, len(data) // 4 * 4, 4)


def changed(data, rng, words=structure):
    """Return the bytes of a file with one kind of damage, chosen at random.

    words: returns the offsets of words that are no weights.
    """
    kinds = [_flipped, _cut, _joined, _edited, _edited, _edited, _moved]
    return rng.choice(kinds)(data, rng, words)


def _flipped(data, rng, words):
    damaged = bytearray(data)
    for at in rng.integers(0, len(data), rng.integers(1, 9)):
        damaged[at] ^= 1 << rng.integers(8)
    return bytes(damaged)


def _cut(data, rng, words):
    return data[: rng.integers(0, len(data))]


def _joined(data, rng, words):
    """Remove or repeat a part."""
    first, second = rng.integers(0, len(data), 2)
    return data[:first] + data[second:]


def _edited(data, rng, words):
    """Words outside of the weights are others."""
    damaged = bytearray(data)
    for _ in range(rng.integers(1, 4)):
        at = int(rng.choice(words(data)))
        (old,) = struct.unpack_from("<I", data, at)
        kind = rng.integers(4)
        new = int(rng.choice(_WORDS)) if kind else old + int(rng.integers(-8, 9))
        if kind == 3:
            new = int(rng.integers(0, len(data)))
        damaged[at : at + 4] = struct.pack("<I", new % 2**32)
    return bytes(damaged)


def _moved(data, rng, words):
    """Exchange two words."""
    damaged = bytearray(data)
    first, second = (int(at) for at in rng.choice(words(data), 2))
    damaged[first : first + 4] = data[second : second + 4]
    damaged[second : second + 4] = data[first : first + 4]
    return bytes(damaged)
