"""An interpreter of short streams of the Ethos-U in Python's integers, written from its rules.

It shares no code with the package: the tests compare whole memories with the kernels'.
"""

from dataclasses import dataclass, field

import numpy as np
from ethosu_programs import KIND0, KIND1, MINUS_ONE, OPERATIONS

U55, U65, U85 = 0, 1, 2
TABLES = 8


def rounded(value, mult, shift, rounding, earlier=0):
    """Return value * mult / 2^shift by a rounding's number."""
    product, half = value * mult, (1 << shift) >> 1
    nudge = 1 << (30 - earlier) if shift > 31 - earlier else 0
    if rounding == 0:
        half += nudge if product >= 0 else -nudge
    elif rounding == 2:
        half += nudge
    elif rounding == 3 and product < 0 and shift:
        half -= 1
    elif rounding == 4:
        half = (1 << shift) - 1 if product < 0 else 0
    elif rounding == 5:
        half = 0
    return (product + half) >> shift


def signed(value, bits):
    """Return the number that bits stand for in two's complement."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def each(compute, *arrays):
    """Return compute(...) of Python's integers at each place."""
    shape = np.broadcast_shapes(*(np.shape(a) for a in arrays))
    lists = [np.broadcast_to(np.asarray(a, object), shape).ravel() for a in arrays]
    out = np.empty(int(np.prod(shape)), object)
    out[:] = [compute(*map(int, values)) for values in zip(*lists)]
    return out.reshape(shape)


@dataclass
class Map:
    """A feature map as registers describe it."""

    region: int
    bases: list
    strides: tuple  # y, x, c
    tiles: tuple  # width 0, height 0, height 1
    element: int
    signed: bool
    bricks: bool
    zero: int
    storage: int

    def addresses(self, shape):
        """Return the address of each element."""
        y, x, c = np.indices(shape)
        width, height0, height1 = self.tiles
        right = x >= width
        height = np.where(right, height1, height0)
        low = y >= height
        base = np.array(self.bases)[right + 2 * low]
        y, x = y - low * height, x - right * width
        channel = c // 16 * self.strides[2] + c % 16 * self.element
        channel = channel if self.bricks else c * self.element
        return base + y * self.strides[0] + x * self.strides[1] + channel


@dataclass
class Machine:
    """An Ethos-U: memory by region, and the layers that its operations with scales take in turn.

    A layer has "weights" [out][y][x][in], and "bias", "mult" and "shift" of each channel.
    """

    product: int
    memory: dict
    layers: list = field(default_factory=list)
    table_base: int = 0

    def __post_init__(self):
        self.r0, self.r1, self.chain, self.kept = {}, {}, {}, None
        self.memory[TABLES] = np.zeros(2048, np.uint8)

    def run(self, words):
        """Execute a stream."""
        words, at = [int(word) for word in words], 0
        names = {number: name for name, number in OPERATIONS.items()}
        while words[at] & 0xFFFF:
            code, parameter = words[at] & 0x3FF, words[at] >> 16
            if words[at] >> 14 & 3:
                at += 1
                self.r1[code] = words[at], parameter
            elif code >= 256:
                self.r0[code] = parameter
            elif code in names:
                getattr(self, f"_{names[code]}")(parameter)
            at += 1

    # ---- Registers and maps ----

    def _get(self, name):
        value = self.r0.get(KIND0[name], 0)
        return value + 1 if name in MINUS_ONE else value

    def _pair(self, name, after=0):
        return self.r1.get(KIND1[name] + after, (0, 0))

    def _long(self, name, after=0):
        value, parameter = self._pair(name, after)
        return value | (parameter & 0xFF) << 32

    def _map(self, prefix):
        precision = self._get(f"{prefix}_precision")
        is_signed = bool(precision & 1)
        zero = self._get(f"{prefix}_zero")
        return Map(
            self._get(f"{prefix}_region") & 7,
            [self._long(f"{prefix}_base", tile) for tile in range(4)],
            tuple(signed(self._long(f"{prefix}_stride_{axis}"), 40) for axis in "yxc"),
            tuple(self._get(f"{prefix}_{name}") for name in ("width0", "height0", "height1")),
            1 << (precision >> (1 if prefix == "ofm" else 2) & 3),
            is_signed,
            precision >> 6 & 3 == 1,
            signed(zero, 16) if is_signed else zero,
            precision >> 14 if self.product == U85 else 0,
        )

    def _load(self, prefix, shape):
        """Return the elements of a map less its zero point."""
        m = self._map(prefix)
        if m.storage == 2:
            raw = self.chain[m.region]
        else:
            at = m.addresses(shape)[..., None] + np.arange(m.element)
            raw = self.memory[m.region][at].astype(np.int64) << 8 * np.arange(m.element)
            raw = raw.sum(-1)
        raw = raw & ((1 << 8 * m.element) - 1)
        if m.signed or m.element == 4:
            raw = np.where(raw >> (8 * m.element - 1), raw - (1 << 8 * m.element), raw)
        return raw - (0 if m.element == 4 else m.zero)

    def _store(self, values):
        """Write a computed map: reversed, then transposed."""
        m, precision = self._map("ofm"), self._get("ofm_precision")
        limits = (-(2**31), 2**31 - 1) if m.element == 4 else (-(2**62), 2**62)
        values = each(lambda v: min(max(v, limits[0]), limits[1]), values).astype(np.int64)
        if self.product == U85:
            reverse, axes = precision >> 9 & 3, precision >> 11 & 7
            values = np.flip(values, reverse - 1) if reverse else values
            orders = [(0, 1, 2), (1, 0, 2), (0, 2, 1), (1, 2, 0), None, None, (2, 0, 1), (2, 1, 0)]
            values = values.transpose(orders[axes])
        if m.storage == 2:
            self.chain[m.region] = values
            return
        parts = (values[..., None] >> 8 * np.arange(m.element)) & 255
        at = m.addresses(values.shape)[..., None] + np.arange(m.element)
        self.memory[m.region][at] = parts.astype(np.uint8)

    def _shape(self):
        return self._get("ofm_height"), self._get("ofm_width"), self._get("ofm_depth")

    # ---- The end of an operation ----

    def _rounding(self):
        """Return rounding and earlier shift of the output."""
        if self.product == U85:
            parameter = self._pair("ofm_scale")[1]
            return parameter >> 13, parameter >> 6 & 31
        return (0, 4, 1)[self._get("ofm_precision") >> 14], 0

    def _scale_output(self, values, only_shift=False):
        mult, parameter = self._pair("ofm_scale")
        mult = 1 if only_shift else mult
        how = self._rounding()
        return each(lambda v: rounded(v, mult, parameter & 63, *how), values)

    def _scale_operand(self, values, name):
        mult, parameter = self._pair(name)
        how = parameter >> 13 & 1, parameter >> 6 & 31
        return each(lambda v: rounded(v, mult, parameter & 63, *how), values)

    def _is_global(self):
        return bool(self._get("ofm_precision") >> 8 & 1)

    def _scale_channels(self, values, layer):
        how = self._rounding()
        return each(
            lambda v, b, m, s: rounded(v + b, m, s, *how),
            values, layer["bias"], layer["mult"], layer["shift"],
        )  # fmt: skip

    def _finish(self, values):
        """Apply zero point, clamp and table, and store."""
        m, activation = self._map("ofm"), self._get("activation")
        code = activation & 31
        if self.product == U85:
            tables = {1: "8", 4: "8", 5: "8", 7: "8", 8: "16", 9: "16 to 32"}
            table, at = tables.get(code), (activation >> 5 & 7)
            at *= {5: 512, 7: 1024, 8: 2048, 9: 2048}.get(code, 256)
            is_clamped, is_signed = not activation >> 12 & 1, code != 1
        else:
            table = None if code < 16 else {1: "8", 2: "16", 4: "8"}[m.element]
            at, is_clamped, is_signed = 256 * (code - 16), True, m.signed or m.element == 4
        low, high = self._get("low"), self._get("high")
        if m.signed:
            low, high = signed(low, 16), signed(high, 16)
        if m.element < 4 or table:
            values = values + m.zero
            if is_clamped:
                values = each(lambda v: min(max(v, low), high), values)
        if table:
            values = self._look_up(values, table, at, m, is_signed)
        self._store(values)

    def _look_up(self, values, table, at, m, is_signed):
        memory = self.memory[TABLES][at:]
        if table == "8":
            kind = {1: "i1" if m.signed else "u1", 2: "<i2", 4: "<i4"}[m.element]
            entries = memory[: 256 * m.element].view(kind)
            if m.element == 4:
                values = each(lambda v: min(max(v, -128), 127), values)
            return each(lambda v: int(entries[v + 128 if is_signed else v]), values)
        entries = memory.view("<i2").reshape(-1, 2)

        def interpolate(v):
            place = min(max(v, -32768), 32767) + 32768
            base, slope = map(int, entries[place >> 7])
            step = slope * (place & 127)
            return base * 128 + step if table == "16 to 32" else base + ((step + 64) >> 7)

        return each(interpolate, values)

    def _end(self, sums, is_scaled=True, layer=None, only_shift=False, join=np.add):
        """Join kept accumulators, then scale and store the sums, or keep them."""
        accumulators = self._get("acc_format") if self.product == U85 else 0
        if accumulators >> 4 & 3 == 1:
            sums = join(sums, self.kept)
        self.kept = sums if accumulators >> 6 & 1 else None
        if self.kept is None:
            if layer is not None:
                sums = self._scale_channels(sums, layer)
            elif is_scaled:
                sums = self._scale_output(sums, only_shift)
            self._finish(each(int, sums))

    # ---- Operations on windows ----

    def _windows(self, channels, prefix="ifm"):
        """Return the input as windows see it, and taps and places of each output."""
        rows, columns, _ = self._shape()
        stride = self._get("kernel_stride")
        steps = [1 + ((stride >> 1 & 1) | (stride >> 9 & 7) << 1)]
        steps.append(1 + ((stride & 1) | (stride >> 6 & 7) << 1))
        gaps = 1 + (stride >> 4 & 1), 1 + (stride >> 3 & 1)
        reach = self._get("kernel_height"), self._get("kernel_width")
        before = self._get("pad_top"), self._get("pad_left")
        after = self._get("pad_bottom"), self._get("pad_right")
        outs = (rows, columns)
        sides = [
            (o - 1) * s + r - b - a for o, s, r, b, a in zip(outs, steps, reach, before, after)
        ]
        upscale = self._get("ifm_upscale")
        read = [(side + 1) // 2 if upscale else side for side in sides]
        x = self._load(prefix, (*read, channels))
        if upscale:
            wide = x.repeat(2, 0).repeat(2, 1)
            if upscale == 2:
                wide[1::2], wide[:, 1::2] = 0, 0
            x = wide[: sides[0], : sides[1]]
        taps = []
        for axis in (0, 1):
            own = []
            for at in range(outs[axis]):
                first = at * steps[axis] - before[axis]
                places = range(first, first + reach[axis], gaps[axis])
                own.append([(k, p) for k, p in enumerate(places) if 0 <= p < sides[axis]])
            taps.append(own)
        kernel = [(r - 1) // g + 1 for r, g in zip(reach, gaps)]
        return x, taps, kernel

    def _conv(self, parameter, depthwise=False):
        shape = self._shape()
        x, taps, _ = self._windows(shape[2] if depthwise else self._get("ifm_depth"))
        layer = None
        if parameter & 1 and self.product == U85 and not depthwise:
            weights = self._load("ifm2", (1, shape[2], x.shape[2])).reshape(shape[2], 1, 1, -1)
        else:
            layer = self.layers.pop(0)
            weights = layer["weights"]
        sums = np.zeros(shape, np.int64)
        for y, column in np.ndindex(shape[:2]):
            ky, kx = taps[0][y], taps[1][column]
            window = x[np.ix_([p for _, p in ky], [p for _, p in kx])]
            own = weights[:, [k for k, _ in ky]][:, :, [k for k, _ in kx]]
            if depthwise:
                sums[y, column] = (window * own[..., 0].transpose(1, 2, 0)).sum((0, 1))
            else:
                sums[y, column] = (window[None] * own).sum((1, 2, 3))
        self._end(sums, layer=None if self._is_global() else layer)

    def _depthwise(self, parameter):
        self._conv(parameter, depthwise=True)

    def _pool(self, mode):
        rows, columns, channels = self._shape()
        layer = None
        if mode == 4:
            self._end(self._load("ifm2", (rows, columns, channels)), self._is_global())
            return
        x, taps, kernel = self._windows(self._get("ifm_depth") if mode == 2 else channels)
        pads = any(self._get(f"pad_{side}") for side in ("top", "left", "right", "bottom"))
        counts = mode == 1 and (self.product == U85 or pads)
        records = not self._is_global() and mode != 0 and not counts
        records = records and (self.product == U85 or kernel == [1, 1])
        if records and self._pair("scale_length")[0]:
            layer = self.layers.pop(0)
        sums = np.zeros((rows, columns, channels), object)
        for y, column in np.ndindex(rows, columns):
            ky, kx = taps[0][y], taps[1][column]
            window = x[np.ix_([p for _, p in ky], [p for _, p in kx])]
            numbers = [(j if mode == 6 else i) for i, _ in ky for j, _ in kx]
            sums[y, column] = self._reduce(mode, window, numbers)
            if counts:
                count = max(1, len(ky) * len(kx))
                sums[y, column] = self._divide(sums[y, column], count)
        join = {0: np.maximum, 5: np.minimum}.get(mode, np.add)
        self._end(sums, self._is_global(), layer, join=join)

    def _reduce(self, mode, window, numbers):
        flat = window.reshape(-1, window.shape[-1])
        if mode == 0:
            return flat.max(0, initial=-(2**31))
        if mode == 5:
            return flat.min(0, initial=2**31 - 1)
        if mode == 2:
            return flat.sum()
        if mode in (6, 7):
            best = flat.argmax(0)
            return np.array(numbers)[best] * 65536 + (flat.max(0) & 0xFFFF)
        return flat.sum(0)

    def _divide(self, sums, count):
        """Return sums divided by the elements of a window, by the scale of an average."""
        k = (count - 1).bit_length()
        shift = (30 if self.product == U85 else 31) + k
        mult = ((1 << shift) + (1 << k)) // count
        return each(lambda v: rounded(v, mult, shift, self._rounding()[0]), sums)

    # ---- Elementwise operations ----

    def _operand(self, prefix, shape):
        """Return an operand, broadcast."""
        bits = self._get(f"{prefix}_broadcast") if self.product == U85 or prefix == "ifm2" else 0
        m = self._map(prefix)
        if bits & (8 if self.product == U85 else 0x80):
            if self.product == U85:
                value = signed(self._pair("scalar")[0], 32)
            else:
                value = self._get("ifm2_scalar")
                value = signed(value, 16) if m.signed else value
            value -= 0 if m.element == 4 else m.zero
            return np.full(shape, value), m.element
        sides = tuple(1 if bits & 1 << axis else shape[axis] for axis in range(3))
        return np.broadcast_to(self._load(prefix, sides), shape), m.element

    def _elementwise(self, mode):
        shape = self._shape()
        single = mode in (5, 6, 7, 36)
        a, element = self._operand("ifm", shape)
        b = np.zeros(shape, np.int64)
        if not single:
            b, _ = self._operand("ifm2", shape)
            if self._get("ifm_broadcast") & 8 and self.product == U85:
                element = self._map("ifm2").element
            if self.product != U85 and self._get("ifm2_broadcast") & 0x40:
                a, b = b, a
        wide = element == 4
        if self.product == U85:
            self._end(self._combine_u85(mode, a, b), mode < 7 or 16 <= mode < 20,
                      only_shift=wide and mode == 0)  # fmt: skip
            return
        if mode == 5:
            scaled = self._scale_output(a, wide)
            self._end(np.where(a >= 0, a.astype(object), scaled), False)
            return
        if mode in (1, 2):
            a, b = self._scale_pair(a, b, element)
        scaled = self._is_global() and mode in (0, 1, 2, 6)
        self._end(each(lambda u, v: self._compute(mode, u, v), a, b), scaled, only_shift=wide)

    def _scale_pair(self, a, b, element):
        """Return both operands of a sum on U55 and U65 as they are added."""
        mode = self._get("ifm_precision") >> 8 & 3
        (mult, parameter), (second, _) = self._pair("opa_scale"), self._pair("opb_scale")
        if mode == 0:
            if element == 4:
                return a, b
            return each(lambda v: v * (mult & 0xFFFF), a), each(lambda v: v * (second & 0xFFFF), b)
        left = 14 if element == 2 else 19
        scale = lambda v: rounded(v, mult, parameter & 63, 0, left + 1)  # noqa: E731
        shift = lambda v: v << left  # noqa: E731
        return (each(scale, a), each(shift, b)) if mode == 1 else (each(shift, a), each(scale, b))

    def _combine_u85(self, mode, a, b):
        if mode == 5:
            first, second = (self._scale_operand(a, f"op{which}_scale") for which in "ab")
            return np.where(a < 0, second, first)
        if mode in (1, 2, 3, 4, 6, 16, 17, 18, 19):
            a, b = self._scale_operand(a, "opa_scale"), self._scale_operand(b, "opb_scale")
        return each(lambda u, v: self._compute(mode, u, v), a, b)

    def _compute(self, mode, a, b):
        """Return one element: modes by their number in the stream."""
        if mode == 8:
            return rounded(a, 1, b, {4: 4, 5: 5}.get(self._rounding()[0], 1))
        if mode == 11:
            return (abs(a) // abs(b)) * (1 if (a < 0) == (b < 0) else -1) if b else 0
        return {
            0: lambda: a * b, 1: lambda: a + b, 2: lambda: a - b, 3: lambda: min(a, b),
            4: lambda: max(a, b), 6: lambda: abs(a),
            7: lambda: 32 - (a & 0xFFFFFFFF).bit_length(),
            9: lambda: signed(a << b, 32), 10: lambda: (a & 0xFFFFFFFF) >> b,
            16: lambda: -(a == b), 17: lambda: -(a != b), 18: lambda: -(a >= b),
            19: lambda: -(a > b), 33: lambda: a & b, 34: lambda: a | b, 35: lambda: a ^ b,
            36: lambda: ~a, 42: lambda: a & ~b,
        }[mode]()  # fmt: skip

    # ---- Resizing and copies ----

    def _resize(self, mode):
        shape = self._shape()
        sides = self._get("ifm_height0"), self._get("ifm_width0")
        x = self._load("ifm", (*sides, shape[2]))
        axes = []
        for axis, count, side in zip("yx", shape, sides):
            n, offset = (
                self._get(f"resize_{axis}_n"),
                signed(self._get(f"resize_{axis}_offset"), 12),
            )
            step, parameter = self._pair(f"resize_{axis}")
            step = (parameter & 15) * n + (step & 0x7FF)
            places = [divmod(at * step + offset, n) for at in range(count)]
            limit = lambda i, side=side: min(max(i, 0), side - 1)  # noqa: E731
            axes.append([(limit(i), limit(i + 1), rest, n) for i, rest in places])
        sums = np.zeros(shape, np.int64)
        for y, column in np.ndindex(shape[:2]):
            (y0, y1, fy, ny), (x0, x1, fx, nx) = axes[0][y], axes[1][column]
            if mode == 2:
                sums[y, column] = x[y1 if 2 * fy >= ny else y0, x1 if 2 * fx >= nx else x0]
            else:
                above = (nx - fx) * x[y0, x0] + fx * x[y0, x1]
                sums[y, column] = (ny - fy) * above + fy * ((nx - fx) * x[y1, x0] + fx * x[y1, x1])
        mult, parameter = self._pair("ofm_scale")
        how = self._rounding()
        shift = (parameter & 63) - 16
        self._finish(each(lambda v: rounded(v, mult, shift, *how), sums))

    def _dma(self, _):
        sides = []
        for name in ("source", "target"):
            region, at = self._get(f"{name}_region"), self._long(name)
            internal = region >> 8 & 1
            at -= self.table_base if internal else 0
            sides.append((self.memory[TABLES if internal else region & 7], at, region >> 11 & 1))
        dims = self._get("source_region") >> 9 & 3 if self.product == U85 else 0
        rows = self._get("size0") if dims else 1
        planes = self._get("size1") if dims > 1 else 1
        steps = [
            [signed(self._long(f"{name}_{step}"), 40) if dims > level else 0
             for level, step in enumerate(("row", "plane"))] for name in ("source", "target")
        ]  # fmt: skip
        indexed = sides[0][2] or sides[1][2]
        index_at = self._long("index")
        indices = self.memory[self._get("index_region") & 7]
        skip = signed(self._long("index_skip"), 40)
        for z, y in np.ndindex(planes, rows):
            at = index_at + 4 * (z * rows + y) + z * skip
            number = int(indices[at : at + 4].view("<i4")[0]) if indexed else y
            (source, s, by), (target, t, to) = sides
            s += z * steps[0][1] + (number if by else y) * steps[0][0]
            t += z * steps[1][1] + (number if to and not by else y) * steps[1][0]
            length = self._long("length")
            target[t : t + length] = source[s : s + length].copy()
