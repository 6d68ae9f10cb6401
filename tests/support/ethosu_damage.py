"""Ways in which a program of the Ethos-U can be hostile: valid commands with impossible numbers."""

import io
import struct

import numpy as np

#: First words of the containers, and the driver action that a stream follows.
_CONTAINERS, _STREAM = (b"COP1", b"COP2"), 2

#: Configuration words of each product, and of none.
_CONFIGURATIONS = (
    *(0x1005, 0x1807, 0x10006008, 0x10006009, 0x20000107, 0x20000118, 0x2000010B, 0x3000),
)

#: Operations of a stream: convolution to DMA, and STOP.
_OPERATIONS = (2, 3, 5, 6, 7, 16, 0)

#: Registers of kind 0 with 16 bits.
_REGISTERS = (
    *(256, 257, 258, 259, 260, 261, 263, 264, 265, 266, 267, 268, 271, 273, 274, 275, 276, 279),
    *(280, 282, 283, 284, 287, 288, 289, 290, 291, 292, 293, 294, 295, 296, 297, 298, 299, 300),
    *(301, 302, 304, 305, 306, 307, 308, 384, 385, 389, 393, 394, 395, 396, 399),
)

#: Registers of kind 1 with 32 bits and the high half of a command.
_WIDE = (
    *(0, 1, 2, 3, 4, 5, 6, 16, 17, 18, 19, 20, 21, 22, 32, 33, 34, 35, 36, 37, 38, 39, 48, 49, 50),
    *(51, 52, 53, 54, 55, 57, 128, 129, 130, 131, 132, 133, 134, 144, 145, 146, 147, 150, 151),
)

#: Numbers of 16 and of 32 bits at the edges of what registers mean.
_NARROW = (0, 1, 2, 3, 7, 15, 16, 63, 64, 127, 128, 255, 256, 4095, 32767, 32768, 65534, 65535)
_LONG = (
    *(0, 1, 2, 15, 16, 17, 255, 4096, 65535, 65536, 2**20, 2**24, 2**28, 2**30, 2**31 - 1, 2**31),
    *(2**32 - 4096, 2**32 - 16, 2**32 - 2, 2**32 - 1),
)

#: High halves: of addresses near 2^40, negative strides, shifts and roundings.
_HIGH = (0, 1, 31, 62, 63, 0x7F, 0x80, 0xFF, 0x07C0, 0x2000, 0x6000, 0xA000, 0xFFFF)


def find_streams(data):
    """Return (configuration, first word, end) of each command stream: offsets in a file."""
    found = []
    for name in _CONTAINERS:
        start = data.find(name)
        while start >= 0:
            ends = (_find_actions if name == b"COP1" else _find_entries)(data, start)
            found += [ends] if ends else []
            start = data.find(name, start + 4)
    return found


def _find_actions(data, start):
    configuration = None
    for at in range(start + 4, min(start + 256, len(data) - 4), 4):
        (word,) = struct.unpack_from("<I", data, at)
        if word & 0xFF == 1 and configuration is None:
            configuration = at + 4
        if word & 0xFF == _STREAM and configuration and at > configuration + 4:
            count = word >> 16 | (word >> 8 & 0xFF) << 16
            end = at + 4 + 4 * count
            return (configuration, at + 4, end) if end <= len(data) else None
    return None


def _find_entries(data, start):
    if start + 52 > len(data):
        return None
    entry, metadata = struct.unpack_from("<2I", data, start + 20)
    end = start + 24 + entry // 4 * 4
    return (start + 40, start + 28 + metadata // 4 * 4, end) if end <= len(data) else None


def _list_commands(data, start, end):
    """Return the offsets of the commands of a stream."""
    found = []
    while start + 4 <= end:
        found.append(start)
        start += 8 if data[start + 1] >> 6 == 1 else 4
    return found


def _find_weights(data, commands):
    """Return the bytes that weights and scales have, relative to the constants: pairs."""
    registers, found = {}, set()
    for at in commands:
        word, value = struct.unpack_from("<2I", data[at : at + 8].ljust(8, b"\0"))
        if word >> 14 & 3 == 1:
            registers[word & 0x3FF] = value
        elif word & 0x3FF in (2, 3):
            found |= {(registers.get(b, 0), registers.get(b + 1, 0)) for b in (32, 34, 144)}
    return sorted(each for each in found if each[1])


def damage_stream(data, rng):
    """Return the bytes of a file with one to three hostile commands in a stream.

    data has the stream as it is: a .tflite, .pte or .vela_bin_stream file, or a command tensor.
    """
    streams = find_streams(data)
    if not streams:
        return data
    damaged = bytearray(data)
    configuration, start, end = streams[rng.integers(len(streams))]
    commands = _list_commands(data, start, end)
    if rng.random() < 0.08:
        struct.pack_into("<I", damaged, configuration, int(rng.choice(_CONFIGURATIONS)))
    for _ in range(rng.integers(1, 4)):
        _change_command(damaged, commands, rng)
    return bytes(damaged)


def _change_command(damaged, commands, rng):
    at = int(rng.choice(commands))
    (word,) = struct.unpack_from("<I", damaged, at)
    kind, code = word >> 14 & 3, word & 0x3FF
    how = rng.random()
    if kind == 1:
        if how < 0.15:
            code = int(rng.choice(_WIDE))
        value, high = int(rng.choice(_LONG)), word >> 16
        if how < 0.7:
            high = int(rng.choice(_HIGH))
        if how > 0.85:  # near the old number
            value = struct.unpack_from("<I", damaged, at + 4)[0] + int(rng.integers(-64, 65))
        struct.pack_into("<2I", damaged, at, code | 0x4000 | high << 16, value % 2**32)
    elif code >= 256:
        if how < 0.15:
            code = int(rng.choice(_REGISTERS))
        value = int(rng.choice(_NARROW)) if how < 0.7 else 1 << rng.integers(16) ^ word >> 16
        struct.pack_into("<I", damaged, at, code | value << 16)
    elif how < 0.5:
        struct.pack_into("<I", damaged, at, code | int(rng.integers(64)) << 16)
    else:  # another operation, or a copy of one in place of a command
        other = int(rng.choice(_OPERATIONS))
        struct.pack_into("<I", damaged, at, other | int(rng.integers(12)) << 16)


def damage_constants(constants, commands, rng):
    """Return constants whose weights or scales are damaged: heads, runs of zeros, noise."""
    damaged = bytearray(constants)
    places = [(a, n) for a, n in commands if a + n <= len(constants)] or [(0, len(constants))]
    start, count = places[rng.integers(len(places))]
    how = rng.integers(4)
    for _ in range(rng.integers(1, 4)):
        if how == 0:  # the head of a slice
            damaged[start + int(rng.integers(min(count, 12)))] ^= 1 << rng.integers(8)
        elif how == 1:
            damaged[start + int(rng.integers(count))] ^= 1 << rng.integers(8)
        elif how == 2:  # ones are endless quotients, zeros are endless symbols
            first = start + int(rng.integers(count))
            end = min(start + count, first + int(rng.integers(1, 200)))
            damaged[first:end] = (b"\xff" if rng.integers(2) else b"\0") * (end - first)
        else:
            damaged[start : start + 4] = rng.bytes(4)[: len(damaged) - start]
    return bytes(damaged)


def damage_weights(data, rng):
    """Return the bytes of a file with damaged weight streams or scales."""
    streams = find_streams(data)
    if not streams:
        return data
    _, start, end = streams[rng.integers(len(streams))]
    pieces = _find_weights(data, _list_commands(data, start, end))
    first = _find_constants(data, pieces)
    if first is not None:
        return data[:first] + damage_constants(data[first:], pieces, rng)
    if end < len(data):  # the stream itself copies its weights
        return data[:end] + damage_constants(data[end:], [], rng)
    return damage_constants(data[:start], [], rng) + data[start:]


def _find_constants(data, pieces):
    """Return where the constants begin: the last byte of each standard stream is padding."""
    need = max((a + n for a, n in pieces), default=0)
    for start in range(0, len(data) - need, 16):
        if any(data[start + a + n - 1] == data[start + a + n - 2] == 0xFF for a, n in pieces):
            return start
    return None


def damage_arrays(data, rng):
    """Return vela's raw output with one hostile array."""
    with np.load(io.BytesIO(data), allow_pickle=True) as archive:
        arrays = {name: archive[name] for name in archive.files}
    how = rng.integers(4)
    if how < 2:
        stream = damage_stream(arrays["cmd_data"].tobytes(), rng)
        arrays["cmd_data"] = np.frombuffer(stream, np.uint8)
    elif how == 2 and arrays["weight_data"].size:
        commands = arrays["cmd_data"].tobytes()
        _, start, end = find_streams(commands)[0]
        pieces = _find_weights(commands, _list_commands(commands, start, end))
        constants = damage_constants(arrays["weight_data"].tobytes(), pieces, rng)
        arrays["weight_data"] = np.frombuffer(constants, np.uint8)
    else:
        name = str(rng.choice([n for n in arrays if arrays[n].dtype.kind in "iu"]))
        array = np.array(arrays[name])
        if array.size:
            values = np.array([0, -1, 1, 2**31 - 1, 2**40, -(2**31), 7, 8, 65536])
            array.reshape(-1)[rng.integers(array.size)] = rng.choice(values).astype(array.dtype)
        arrays[name] = array if rng.random() < 0.7 else array.reshape(-1)[: array.size // 2]
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()
