"""Weights and scales of a U85, in the order and the formats of its streams."""

import struct

import numpy as np

#: Output channels of a unit, by MACs and the number of the microblock.
UNITS = {
    128: {1: 8, 0: 16},
    256: {1: 16, 2: 8, 3: 8},
    512: {0: 16, 1: 16, 2: 16, 3: 16, 4: 16, 5: 16},
    1024: {3: 32, 2: 32, 4: 16},
    2048: {3: 64, 2: 64, 5: 16},
}

#: Weight streams by MACs.
STREAMS = {128: 1, 256: 1, 512: 2, 1024: 4, 2048: 4}


class Order:
    """The order of the weights [out][y][x][in] of one operation; depthwise: one input channel."""

    def __init__(self, macs, microblock, block, element=1, **how):
        self.macs, self.block, self.element = macs, block, element
        self.unit, self.streams = UNITS[macs][microblock], STREAMS[macs]
        self.depthwise, self.part = how.get("depthwise", False), how.get("part", False)
        self.sparse = how.get("sparse", False)
        self.stride, self.dilation = how.get("stride", (1, 1)), how.get("dilation", (1, 1))
        wide = element > 1 and not self.sparse
        if self.part:
            self.inner = 16
        elif (self.unit == 16 and macs <= 256 and not self.sparse) or element == 4:
            self.inner = 32
        else:
            self.inner = 128 if self.sparse and element == 1 else 64
        self.ins = 1 if self.depthwise else (8 if wide else 16) if self.part else self.inner
        self.step = 1 if self.depthwise else 16 if self.sparse else 8
        self.multiple = 10 if self.depthwise else 1
        if self.part and not self.depthwise:
            self.multiple = 10 if element > 1 or self.sparse else 5
        self.gap = 0
        if self.depthwise and (element > 1 or macs > 256):
            self.gap = (2 if macs <= 512 else 6) * self.unit // self.streams

    def list(self, weights, stream):
        """Return the weights of one stream."""
        outs, rows, columns, ins = weights.shape
        self._padded = np.zeros((outs + 128, rows, columns, ins + 256), np.int64)
        self._padded[:outs, :, :, :ins] = weights
        self._listed, self._stream = [], stream
        blocks = [*range(0, ins, self.inner)]
        for number, out in enumerate(range(0, outs, self.block)):
            for inner in reversed(blocks) if number % 2 else blocks:
                self._subkernels(weights.shape, out, inner)
        return np.concatenate(self._listed)

    def _subkernels(self, shape, out, inner):
        outs, rows, columns, ins = shape
        high, wide = 8 // self.dilation[0], 8 // self.dilation[1]
        end = min(out + self.block, outs)
        left = min(self.inner, ins - inner)
        for x in range(0, columns, wide):
            for y in range(0, rows, high):
                sides = min(high, rows - y), min(wide, columns - x)
                for first in range(inner, inner + left, self.ins) if self.part else (inner,):
                    for unit in range(out, end, self.unit):
                        self._taps((y, x), sides, unit, end, first)

    def _taps(self, corner, sides, unit, end, first):
        taps, (sy, sx) = [], self.stride if self.part or self.depthwise else (1, 1)
        for py, px in np.ndindex(sy, sx):
            for number, y in enumerate(range(py, sides[0], sy)):
                own = [(y, x) for x in range(px, sides[1], sx)]
                taps += own[::-1] if number % 2 else own
        taps += [None] * (-len(taps) % self.multiple)
        for number, tap in enumerate(taps):
            for inner in range(first, first + self.ins, self.step):
                for group in range(unit + 4 * self._stream, unit + self.unit, 4 * self.streams):
                    self._group(corner, tap, group, end, inner)
            if number % 10 == 9 or number + 1 == len(taps):
                self._listed.append(np.zeros(self.gap, np.int64))

    def _group(self, corner, tap, group, end, inner):
        block = np.zeros((4, self.step), np.int64)
        if tap is not None and group < end:
            y, x = corner[0] + tap[0], corner[1] + tap[1]
            real = self._padded[group : min(group + 4, end), y, x, inner : inner + self.step]
            block[: len(real)] = real
        self._listed.append(block.reshape(-1))

    def share(self, weights):
        """Return the weights of all streams in one, as the fast format has them."""
        each = self.unit * self.ins * self.multiple // self.streams
        parts = [self.list(weights, stream).reshape(-1, each) for stream in range(self.streams)]
        return np.stack(parts, 1).reshape(-1)


def encode_fast(weights, kind):
    """Return a stream in the fast format; kind: "small", "table" or "raw"."""
    values, codes = np.unique(weights, return_inverse=True)
    bits = np.zeros(256, np.uint8)
    bits[0], bits[1] = kind == "raw", kind == "small"
    if kind == "raw":
        adjust, width = -3, 8
        bits[104:112] = (adjust & 255) >> np.arange(8) & 1
        codes = (np.asarray(weights) + adjust) & 255
    else:
        width = 2 if kind == "small" else 4
        for at, value in enumerate(values):
            code = abs(int(value)) << 1 | int(value < 0)
            bits[112 + 9 * at : 121 + 9 * at] = code >> np.arange(9) & 1
    own = (codes[:, None] >> np.arange(width) & 1).reshape(-1).astype(np.uint8)
    data = np.packbits(np.concatenate([bits, own]), bitorder="little").tobytes()
    return data + bytes(-len(data) % 16)


def encode_records(bias, mult, shift, wide):
    """Return scale records; wide: accumulators have 48 bits."""
    kind = (6, "<HBB") if wide else (4, "<IBB")
    data = b"".join(
        int(b).to_bytes(kind[0], "little", signed=True) + struct.pack(kind[1], m, s, 0)
        for b, m, s in zip(bias, mult, shift)
    )
    return data + bytes(10 * (-len(bias) % 16)) + bytes(16)


class Bits:
    """Bits of a stream, least significant first."""

    def __init__(self):
        self.bits = []

    def put(self, value, count):
        self.bits.extend(int(value) >> i & 1 for i in range(count))

    @property
    def bytes(self):
        data = np.packbits(np.array(self.bits, np.uint8), bitorder="little").tobytes()
        return data + b"\xff" * (-len(data) % 16)


class Symbols:
    """Quotients and remainders of numbers, and how many of these the chunks have had so far.

    units: numbers of the unary part, each with True where a quotient ends.
    """

    def __init__(self, numbers, width, units):
        self.numbers, self.width, self.count = numbers, width, len(numbers)
        self.units = [unit for number in numbers for unit in units(number >> width)]
        self.begun, self.last, self.done = 0, 0, 0

    def take(self, count):
        """Return the units of a chunk; zeros follow the last one."""
        own, self.units = self.units[:count], self.units[count:]
        own += [(0, True)] * (count - len(own))
        ended = sum(ends for _, ends in own)
        self.begun += ended
        return [unit for unit, _ in own], ended

    def put_remainders(self, bits, ended):
        """Write the remainders of the chunk before."""
        for _ in range(min(self.last, self.count - self.done)):
            bits.put(self.numbers[self.done], self.width)
            self.done += 1
        self.last = ended


def _weight_units(truncated):
    if truncated:
        return lambda quotient: [(quotient, True)]
    return lambda quotient: [(2, False)] * (quotient // 2) + [(quotient % 2, True)]


def _run_units(quotient):
    return [(1, False)] * quotient + [(0, True)]


def put_slice(bits, indices, runs=None, **how):
    """Write a slice: indices of weights, and runs of zeros between them.

    how: zero_divisor; divisor (7: uncompressed); truncated; palette with first value and width of
    entries, as a tuple (values, first, bits), or None to keep the one before; width of an
    uncompressed index.
    """
    palette, divisor = how.get("palette"), how["divisor"]
    zero_divisor = 6 if runs is None else how["zero_divisor"]
    bits.put(zero_divisor, 3), bits.put(len(indices) - 1, 15), bits.put(divisor, 3)
    bits.put(how.get("truncated", 0), 1), bits.put(palette is not None, 1)
    if palette is not None:
        values, first, width = palette
        bits.put(first, 5), bits.put(max(len(values) - 1, 0), 5), bits.put(width - 2, 3)
        for value in values:
            bits.put(value, width)
    raw, width = divisor == 7, how.get("width", divisor)
    w = Symbols(list(indices), width, _weight_units(how.get("truncated", 0)))
    z = Symbols(list(runs or ()), zero_divisor if runs else 0, _run_units)
    while True:
        ahead = w.begun - z.begun
        has_w = (runs is None or ahead < 8) and w.begun < w.count
        has_z = runs is not None and ahead >= 0 and z.begun < z.count
        codes, w_ended, zeros, z_ended = [], 0, [], 0
        if has_w:
            codes, w_ended = w.take(8 if raw and width > 5 else 12)
        if has_z:
            zeros, z_ended = z.take(12 if zero_divisor < 3 else 8)
        for code in codes if not raw else ():
            bits.put(code > 0, 1)
        for unit in zeros:
            bits.put(unit, 1)
        for code in codes if not raw else ():
            bits.put(code - 1, 1 if code else 0)
        w.put_remainders(bits, w_ended)
        z.put_remainders(bits, z_ended)
        if not (has_w or has_z):
            return
