"""Random streams of one to three operations on any NPU, with the structure that hides wrong bits.

Multipliers and shifts at their ends, every rounding, biases beyond 32 bits, sums near saturation;
maps in tiles and bricks with gaps between them, in place and overlapping.
"""

from random import Random

import numpy as np
from ethosu_oracle import U55, U65, U85, Machine
from ethosu_programs import Writer, encode_records, encode_weights, order_weights
from ethosu_weights import STREAMS, UNITS, Order, encode_fast
from ethosu_weights import encode_records as encode_records_u85

from qemu_nn.ethosu.container import CommandStream
from qemu_nn.ethosu.program import Place, Program

#: Bytes of each of the regions 1 and 2.
ARENA = 16384

#: Ways in which an operation differs from those that fast kernels compute; most differ in none.
ODD = (
    *(None,) * 12,
    *("mult", "shift", "bias", "weights", "rounding", "table", "transpose", "upscale", "input"),
    *("output", "zero", "global", "window", "clamp", "product", "keeps", "broadcast", "scale"),
)

#: MACs of each product; bytes where its table memory begins.
MACS = {U55: (32, 64, 128, 256), U65: (256, 512), U85: (128, 256, 512, 1024, 2048)}
TABLE_BASES = {32: 14336, 64: 14336, 128: 22528, 256: 47104, 512: 47104}

DTYPES = ("int8", "int8", "int8", "uint8", "int16", "uint16", "int32")


class Draw:
    """A stream with its memory before and after."""

    def __init__(self, seed, kind=None, product=None):
        self.rng = Random(seed)
        self.product = self.pick(U55, U55, U65, U85) if product is None else product
        self.macs = self.pick(*MACS[self.product])
        self.is_u85 = self.product == U85
        self.writer, self.constants, self.layers = Writer(), b"", []
        self.memory = self._fill()
        for _ in range(self.rng.choice((1, 1, 2, 3))):
            self.at = self.rng.randrange(0, 64, 16)
            self.fast, self.deviation = self.chance(0.5), self.pick(*ODD)
            kinds = ("conv", "conv", "depthwise", "pool", "elementwise", "elementwise", "copy")
            own = kind or self.pick(*kinds, *self.is_u85 * ("resize", "chain"))
            getattr(self, f"_{own}")()

    # ---- Numbers ----

    def pick(self, *choices):
        return self.rng.choice(choices)

    def chance(self, share):
        return self.rng.random() < share

    def between(self, low, high):
        return self.rng.randint(low, high)

    def odd(self, name, share):
        """True for a share of the operations, or for those that differ from fast ones in this."""
        return self.deviation == name if self.fast else self.chance(share)

    def _fill(self):
        """Return bytes of an arena: uniform ones, extreme ones, or small numbers."""
        numbers = np.random.default_rng(self.between(0, 2**31))
        style = self.pick("uniform", "uniform", "extreme", "words", "halves")
        if style == "uniform":
            return numbers.integers(0, 256, ARENA).astype(np.uint8)
        if style == "extreme":
            return numbers.choice(np.array([0x80, 0x7F, 0xFF, 0, 1], np.uint8), ARENA)
        wide, most = ("<i4", 1 << self.between(4, 31)) if style == "words" else ("<i2", 300)
        values = numbers.integers(-most, most, ARENA // np.dtype(wide).itemsize)
        return values.astype(wide).view(np.uint8).copy()

    def _zero(self, dtype):
        limits = np.iinfo(dtype)
        if limits.bits == 32:
            return self.pick(0, 5)
        if self.fast and self.deviation == "zero" and limits.bits == 8:
            return self.pick(limits.min - 1, limits.max + 1)
        low = max(limits.min, -(1 << 15))
        return self.pick(0, 0, low, limits.max, self.between(low, limits.max), self.between(0, 9))

    def _mult(self, bits=None):
        bits = bits or (32 if not self.is_u85 and self.odd("mult", 1) else 31)
        most = (1 << bits) - 1
        ends = (0, 1, 32767, 1 << 30, most, min(most, 1 << 31), min(most, (1 << 31) + 1))
        if self.chance(0.3):
            return min(self.pick(*ends), most)
        return min(self.between(1 << 30, (1 << 31) - 1), most)

    def _shift(self, likely, first=31):
        """Draw a shift; fast kernels take 32 values from `first` on."""
        if self.fast:
            ends = (first, first + 31, first + 1, first + 30)
            if self.deviation == "shift":
                ends = (first - 1, min(first + 32, 63), 0, 63)
            return self.pick(*ends, *5 * (min(first + 31, likely + self.between(-4, 4)),))
        if self.chance(0.2):
            return self.between(0, 63)
        return min(63, max(0, likely + self.between(-4, 4)))

    def _earlier(self, usual=0):
        """Draw an earlier shift; fast kernels take the usual one."""
        if not self.is_u85:
            return 0
        if self.fast:
            return usual + (self.pick(-1, 1) if self.deviation == "scale" and usual else 0)
        return self.pick(0, 0, 0, 15, 20, 30, self.between(0, 30))

    def _ofm_scale(self, likely, least=0):
        """Set scale and rounding of the output; likely: shift of a multiplier of 31 bits."""
        mult, shift = self._mult(), self._shift(likely)
        if self.odd("scale", 0.2):
            mult, shift = 1, self.pick(0, 0, 7)
        parameter = max(shift, least)
        if self.is_u85:
            rounding = self.pick(0, 0, 1, 2, 3, 4, 5) if self.odd("rounding", 0.8) else 0
            parameter |= self._earlier() << 6 | rounding << 13
        self.writer.set(ofm_scale=(mult, parameter))

    def _operand_scale(self, name, likely):
        mult, shift = self._mult(), self._shift(likely, 11)
        if not self.fast:
            shift = max(14, shift)
            mult, shift = (1, 0) if self.chance(0.3) else (mult, shift)
        rounding = self.between(0, 1) if self.odd("rounding", 1) else 0
        self.writer.set(**{name: (mult, shift | self._earlier(20) << 6 | rounding << 13)})

    # ---- Maps ----

    def _map(self, prefix, shape, dtype, bits=0, **how):
        """Write a map with tiles, bricks and gaps somewhere in memory."""
        size, (rows, columns, channels) = np.dtype(dtype).itemsize, shape
        bricks = how.get("bricks", self.chance(0.3))
        region = how.get("region", 1)
        self.writer.map(prefix, shape, 0, self._zero(dtype), dtype, bits, bricks, region)
        pixel = 16 * size if bricks else channels * size
        gap = lambda step: self.pick(0, 0, step)  # noqa: E731
        width, heights = columns, [rows, rows]
        if self.chance(0.25) and how.get("tiles", True):
            width = self.between(1, columns)
            heights = [self.between(1, rows) for _ in range(2)]
        unit = 16 * size if bricks else size
        sx = pixel + gap(unit)
        plane = columns * sx + gap(unit)
        bricks_of_row = -(-channels // 16) if bricks else 1
        sy, sc = plane * bricks_of_row + gap(unit), plane
        upward = self.chance(0.1) and how.get("tiles", True)
        sizes = [min(rows, heights[0]), min(rows, heights[1])]
        sizes += [rows - sizes[0], rows - sizes[1]]
        bases = {}
        for tile, count in enumerate(sizes):
            if count and not (tile % 2 and width >= columns):
                start = self._reserve(count * sy, 16 if bricks else size)
                bases[f"{prefix}_base{tile or ''}"] = start + (count - 1) * sy * upward
        sy = -sy if upward else sy
        if self.chance(0.15):
            self.at = self.between(0, self.at // 16) * 16
        names = {"stride_x": sx, "stride_y": sy, "stride_c": sc}
        parts = {name: (value & 0xFFFFFFFF, value >> 32 & 0xFF) for name, value in names.items()}
        self.writer.set(**{f"{prefix}_{name}": value for name, value in parts.items()}, **bases)
        tiles = {"width0": width, "height0": heights[0], "height1": heights[1]}
        self.writer.set(**{f"{prefix}_{name}": value for name, value in tiles.items()})

    def _reserve(self, nbytes, step):
        if self.at + nbytes + 64 > ARENA:
            self.at = 0
        at = -(-(self.at + self.pick(0, 0, 1, 16)) // step) * step
        self.at = at + nbytes
        assert at + nbytes <= ARENA
        return at

    def _output(self, shape, dtype, bits=0):
        """Write the output and its end: sometimes transposed, reversed, elsewhere, by a table."""
        stored = shape
        if self.is_u85 and self.odd("transpose", 0.2):
            number, order = self.pick((0, (0, 1, 2)), (1, (1, 0, 2)), (2, (0, 2, 1)),
                                      (3, (1, 2, 0)), (6, (2, 0, 1)), (7, (2, 1, 0)))  # fmt: skip
            bits |= number << 11 | self.between(0, 3) << 9
            stored = tuple(shape[axis] for axis in order)
        if not self.is_u85:
            bits |= self.pick(1, 2) << 14 if self.odd("rounding", 0.5) else 0
        self._map("ofm", stored, dtype, bits, region=self.pick(1, 1, 1, 2))
        self.writer.set(ofm_height=shape[0], ofm_width=shape[1], ofm_depth=shape[2])
        limits = np.iinfo(dtype)
        low, high = max(limits.min, -32768), min(limits.max, 65535 if limits.min == 0 else 32767)
        activation, narrow = self._table(dtype) if self.odd("table", 0.15) else (0, False)
        if narrow:
            low, high = max(low, -128), min(high, 127)
        if self.chance(0.3):
            low, high = sorted(self.between(low, high) for _ in range(2))
        if self.is_u85 and not activation and bits & 0x100 and self.odd("clamp", 0.1):
            activation = 1 << 12
            self.writer.set(ofm_scale=(self._mult(), self.between(31, 44) | 1 << 13))
        self.writer.clamp(low, high, activation)

    def _table(self, dtype):
        """Copy a table for an output. Return the activation; is its index a signed byte?"""
        kind, base = np.dtype(dtype).itemsize, 0 if self.is_u85 else TABLE_BASES[self.macs]
        wide = kind > 1 and self.chance(0.5) if self.is_u85 else kind == 2
        nbytes = 2048 if wide else 256 * kind
        slot = self.between(0, 2048 // nbytes - 1)
        at = slot * nbytes
        if self.is_u85:
            codes = {1: 1 if dtype == "uint8" else 4, 2: 8 if wide else 5, 4: 9 if wide else 7}
            activation = codes[kind] | slot << 5
        else:
            activation = 16 + at // 256
        table = np.random.default_rng(self.between(0, 2**31)).integers(0, 256, nbytes)
        self.writer.set(source_region=0, target_region=0x103, target=base + at, length=nbytes)
        self.writer.set(source=self._constant(table.astype(np.uint8).tobytes())).run("dma")
        return activation, self.is_u85 and kind == 2 and not wide

    def _shape(self, most=8):
        channels = self.pick(1, 2, 3, self.between(1, 20), self.between(1, 40), 16, 17)
        rows, columns = self.between(1, most), self.between(1, most)
        return (self.pick(1, rows), self.pick(1, columns, columns), channels)

    def _window(self, most, stride_most, dilates=True, pads=True):
        """Write a kernel on an output; return kernel, stride, dilation and sides of the input."""
        kernel = self.between(1, most), self.between(1, most)
        if self.chance(0.1):
            kernel = self.pick((1, 9), (10, 1), (9, 2))
        if self.chance(0.3):
            kernel = (1, 1)
        stride = self.between(1, stride_most), self.between(1, stride_most)
        dilation = (
            (self.between(1, 2), self.between(1, 2)) if dilates and self.chance(0.3) else (1, 1)
        )
        outs = self.between(1, 6), self.between(1, 6)
        reach = [d * (k - 1) + 1 for k, d in zip(kernel, dilation)]
        sides, pad = [], []
        for axis in (0, 1):
            covered = (outs[axis] - 1) * stride[axis] + reach[axis]
            limit = min(reach[axis] - 1, covered - 1) if pads and self.chance(0.6) else 0
            before = self.between(0, limit)
            after = self.between(0, min(limit, covered - 1 - before))
            pad.append((before, after))
            sides.append(covered - before - after)
        self.writer.set(ifm_upscale=0)
        upscale = self.pick(1, 2) if self.odd("upscale", 0.15) else 0
        (top, bottom), (left, right) = pad
        self.writer.kernel(*kernel, stride, dilation, (top, left, bottom, right))
        self.writer.set(ifm_upscale=upscale)
        self.strides = stride
        read = [(side + 1) // 2 if upscale else side for side in sides]
        return kernel, dilation, outs, read

    def _accumulate(self, microblock=0, wide=0):
        self.writer.set(acc_format=wide | microblock << 8)

    # ---- Operations ----

    def _constant(self, data):
        at = len(self.constants)
        self.constants += data + bytes(-len(data) % 16)
        return at

    def _records(self, count, likely, sums, wide=0):
        """Draw scales of channels; sums: the largest that weights make, of each channel."""
        same = self._mult(15 if wide else None), self._shift(likely - 16 * wide)
        simple, bits = self.chance(0.5), 32 if self.is_u85 and not wide else 40
        share = self.pick(1, 1, 0.9, 0.4) if self.deviation != "bias" else 0.5
        bias, mult, shift = [], [], []
        for channel in range(count):
            own = self._mult(15 if wide else None), self._shift(likely - 16 * wide)
            if simple:
                own = (
                    self.between(1 << 14, (1 << 31) - 1 >> 16 * wide),
                    self.between(32, 44) - 16 * wide,
                )
            m, s = same if self.chance(0.3) else own
            mult.append(m), shift.append(s)
            bias.append(self._bias(int(sums[channel]), bits, share))
        return {"bias": bias, "mult": mult, "shift": shift}

    def _bias(self, most, bits, share):
        if self.chance(share):
            return self.between(-3000, 3000)
        limit = 1 << 31
        near = (limit - 1 - most, limit - most, most - limit, most - limit - 1, limit - 1, -limit)
        if bits > 32 and self.odd("bias", 0.5):
            near = (limit, -limit - 1, (1 << 39) - 1, -(1 << 39), (1 << 32) + 7)
        return min(max(self.pick(*near), -(1 << (bits - 1))), (1 << (bits - 1)) - 1)

    def _weights(self, shape):
        numbers = np.random.default_rng(self.between(0, 2**31))
        style = self.pick("bytes", "bytes", "extreme", "few")
        if self.odd("weights", 0.2):
            style = "nine bits"
        limit = {"bytes": 127, "nine bits": 255}.get(style, 127)
        values = numbers.integers(-limit - (limit == 127), limit + 1, shape)
        if style == "extreme":
            values = numbers.choice([-128, 127, -127, 0], shape)
        if style == "few":
            values = numbers.choice([-3, 0, 1, 100], shape)
        if self.odd("weights", 0.1):
            values.reshape(-1)[self.between(0, values.size - 1)] = self.pick(-129, 128, 255, -255)
        return values

    def _conv(self, depthwise=False):
        dtype = self.pick("uint8", "int16") if self.odd("input", 0.5) else "int8"
        most = 3 if self.is_u85 and self.chance(0.8) else 4
        kernel, dilation, (rows, columns), read = self._window(most, 4 if self.chance(0.2) else 3)
        channels = self.pick(1, 3, self.between(1, 20), self.between(1, 70))
        outs = channels if depthwise else self.pick(1, 2, self.between(1, 20), self.between(1, 40))
        out_dtype = self.pick("int16", "int32", "uint8") if self.odd("output", 0.5) else "int8"
        if read[0] * read[1] * channels > 1500 or rows * columns * outs > 1000:
            channels, outs = min(channels, 5), 5 if not depthwise else min(channels, 5)
        self._map("ifm", (*read, channels), dtype)
        self.writer.set(ifm_depth=channels)
        weights = self._weights((outs, *kernel, 1 if depthwise else channels))
        is_global = self.odd("global", 0.1)
        sums = abs(weights).sum((1, 2, 3)) * 255
        wide = int(self.is_u85 and dtype == "int16")
        likely = 31 + int(np.log2(sums.max() + 1)) - (7 if dtype != "int16" else 0)
        layer = self._records(outs, likely - 6, sums, wide)
        self.layers.append({**layer, "weights": weights})
        self._output((rows, columns, outs), out_dtype, 0x100 * is_global)
        self._ofm_scale(likely)
        if self.is_u85 and not depthwise and self.odd("product", 0.1):
            self.layers.pop()
            self._product()
            return
        part = not depthwise and self.chance(0.4)
        order = {"part": part, "depthwise": depthwise, "dilation": dilation}
        if self.is_u85:
            self._streams_u85(weights, layer, dtype, order, wide)
        else:
            self._streams(weights, layer, dtype, order)
        if part:
            self.writer.words.append(self._kernel_word() | 1 << 18)
        if self.chance(0.2):
            self._copy_constants()
        self.writer.run("depthwise" if depthwise else "conv")
        if self.is_u85 and self.odd("keeps", 0.15):
            self._go_on()
            self.layers += self.layers[-1:]

    def _product(self):
        """Write a convolution by a second input as the weights."""
        dtype, channels = self.pick("int8", "uint8", "int16"), self.between(1, 20)
        rows, columns, outs = self._shape(4)
        self.writer.kernel().set(ifm_upscale=0, ifm2_broadcast=0)
        self._accumulate()
        self._map("ifm", (rows, columns, channels), dtype)
        self.writer.set(ifm_depth=channels)
        self._map("ifm2", (1, outs, channels), dtype)
        self._ofm_scale(40)
        self._output((rows, columns, outs), self.pick("int8", "int16", "int32"), 0x100)
        self.writer.run("conv", 1)

    def _go_on(self):
        """Keep the accumulators of the last operation, and let the same one go on with them."""
        words = self.writer.words
        before = next(word for word in reversed(words) if word & 0xFFFF == 292) >> 16
        run = words.pop()
        words += [292 | (before | 64) << 16, run, 292 | (before | 16) << 16, run]

    def _copy_constants(self):
        """Let weights and scales be copies in region 4, on a U85 of rows and planes."""
        nbytes = len(self.constants)
        self.writer.set(source_region=0, target_region=4, source=0, target=0, length=nbytes)
        if self.is_u85:
            row = nbytes // 4
            self.writer.set(source_region=2 << 9, size0=2, size1=2, length=row, source_row=row)
            self.writer.set(target_row=row, source_plane=2 * row, target_plane=2 * row)
        self.writer.run("dma").set(weight_region=4, scale_region=4)

    def _kernel_word(self):
        return next(word for word in reversed(self.writer.words) if word & 0xFFFF == 290)

    def _depthwise(self):
        self._conv(depthwise=True)

    def _set_stream(self, number, data):
        name = f"weight{number or ''}"
        self.writer.set(**{f"{name}_base": self._constant(data), f"{name}_length": len(data)})

    def _streams(self, weights, layer, dtype, order):
        cores = self.pick(1, 2) if self.product == U65 and self.macs == 512 else 1
        block = self.pick(8, 16, 24)
        self.writer.set(parallel=cores - 1, weight_region=0, scale_region=0, block_depth=block)
        for core in range(cores):
            own = weights[core::cores]
            listed = []
            if len(own):
                size = (block + cores - 1 - core) // cores
                listed = order_weights(own, size, unit=4 if self.macs == 32 else 8,
                                       wide=int(dtype == "int16"), **order)  # fmt: skip
            data = encode_weights(listed) if len(own) else b""
            self._set_stream(core, data)
            records = encode_records(
                *(layer[name][core::cores] for name in ("bias", "mult", "shift"))
            )
            name = "scale1" if core else "scale"
            at = {f"{name}_base": self._constant(records), f"{name}_length": len(records)}
            self.writer.set(**at)

    def _streams_u85(self, weights, layer, dtype, order, wide):
        microblock = self.pick(*UNITS[self.macs])
        sparse = self.chance(0.3) and not order["depthwise"]
        unit = UNITS[self.macs][microblock]
        block = unit * self.between(1, 2)
        of = Order(self.macs, microblock, block, 2 if dtype == "int16" else 1, sparse=sparse,
                   stride=self.strides, **order)  # fmt: skip
        values = np.unique(weights).size
        fast = self.chance(0.3) and not of.gap
        kind = "small" if values <= 3 else "table" if values <= 15 else "raw"
        fast = fast and (kind != "raw" or abs(weights).max() < 120)
        self.writer.set(weight_format=int(fast) | sparse << 4, block_depth=block)
        self._accumulate(microblock, wide)
        if fast:
            self._set_stream(0, encode_fast(of.share(weights), kind))
        else:
            for stream in range(STREAMS[self.macs]):
                self._set_stream(stream, encode_weights(of.list(weights, stream)))
        records = encode_records_u85(layer["bias"], layer["mult"], layer["shift"], wide)
        self.writer.set(scale_base=self._constant(records), scale_length=len(records))
        self.writer.set(weight_region=0, scale_region=0)

    def _pool(self):
        dtype = self.pick(*DTYPES) if self.odd("input", 1) else "int8"
        modes = (0, 0, 1, 1, 2) if not self.is_u85 else (0, 1, 2, 3, 3, 4, 5, 6, 7)
        mode = self.pick(*modes) if self.odd("product", 1) else 0
        dilates = self.odd("window", 1)
        _, _, (rows, columns), read = self._window(4, 3, dilates, mode not in (6, 7))
        channels = self.pick(1, 3, 16, 17, self.between(1, 30))
        if read[0] * read[1] * channels > 900:
            channels = 3
        self._accumulate()
        outs = 1 if mode == 2 else channels
        single = self.chance(0.3) and mode != 4
        if single:
            self.writer.kernel().set(ifm_upscale=0)
            read = rows, columns
        out_dtype = self.pick(*DTYPES) if self.odd("output", 0.4) else dtype
        if mode in (6, 7):
            dtype, out_dtype = self.pick("int8", "uint8", "int16"), "int32"
        if mode == 4:
            self._map("ifm2", (rows, columns, channels), dtype)
            self._accumulate()
            self.writer.set(acc_format=32, ifm2_broadcast=0)
        else:
            self._map("ifm", (*read, channels), dtype)
            self.writer.set(ifm_depth=channels)
        if mode in (6, 7):
            self.writer.set(ifm_zero=0)
        records = self.chance(0.15) and mode in (1, 3) and (self.is_u85 or single)
        is_global = not records and not self.odd("global", 0.15)
        self._pool_scale(mode, dtype, records, is_global, channels, single)
        self._output((rows, columns, outs), out_dtype, 0x100 * is_global)
        if self.fast and self.deviation != "zero":
            self.writer.set(ifm_zero=3, ofm_zero=3)
        self.writer.run("pool", mode)
        if self.is_u85 and mode in (0, 3, 5) and self.odd("keeps", 0.2):
            self._go_on()
            self.layers += self.layers[-1:] * records

    def _pool_scale(self, mode, dtype, records, is_global, channels, single):
        likely = {"int8": 33, "uint8": 33, "int16": 38, "uint16": 38, "int32": 52}[dtype]
        self._ofm_scale(likely)
        if mode in (0, 5) and not self.odd("scale", 0.4):
            self.writer.set(ofm_scale=(1, 1 << 13 if self.is_u85 else 0))
        if mode in (6, 7):
            self.writer.set(ofm_scale=(1, self.pick(0, 16) | 5 << 13))
        self.writer.set(scale_length=0)
        if records:
            layer = self._records(channels, likely, [4000] * channels)
            encode = encode_records_u85 if self.is_u85 else encode_records
            extra = (0,) if self.is_u85 else ()
            data = encode(layer["bias"], layer["mult"], layer["shift"], *extra)
            self.writer.set(scale_base=self._constant(data), scale_length=len(data))
            self.writer.set(scale_region=0, parallel=0)
            self.layers.append(layer)

    def _elementwise(self):
        modes = (0, 0, 1, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9)
        if self.is_u85:
            modes = (*range(12), *range(16, 20), *range(33, 37), 42)
        mode, shape = (
            self.pick(*modes) if self.odd("product", 1) else self.between(0, 1),
            self._shape(),
        )
        wide = self.odd("input", 0.5)
        dtype = self.pick("uint8", "int16", "int32") if wide else "int8"
        if mode in (7, 8, 9, 10, 11):
            dtype = "int32"
        if mode == 5:
            dtype = self.pick("int8", "uint8", "int16")
        self._accumulate()
        simple = not self.odd("broadcast", 0.6) and mode in (0, 1, 2)
        scalar = None if simple or mode in (5, 6, 7, 8, 9, 10, 36) else self.pick(None, None, 0, 1)
        if self.is_u85:
            bits = [
                0 if simple else self.between(0, 7) if self.chance(0.3) else 0 for _ in range(2)
            ]
            if scalar is not None:
                bits[scalar] = 8
                self.writer.set(scalar=self.pick(0, 1, -77, 100, self.between(-(2**20), 2**20)))
        else:
            bits = [0, 0 if simple else self.between(0, 7) if self.chance(0.3) else 0]
            bits[1] = 0x80 if scalar is not None else bits[1]
            bits[1] |= 0x40 * self.between(0, 1) if mode not in (8, 9) else 0
            self.writer.set(ifm2_scalar=self.between(-128, 127) & 0xFFFF)
        self._operands(mode, shape, dtype, bits)
        self._sum_scales(mode, dtype, shape)
        self.writer.run("elementwise", mode)

    def _operands(self, mode, shape, dtype, bits):
        second = dtype
        mask = 0
        if mode in (1, 2) and not self.is_u85 and dtype != "int32":
            mask = self.pick(0, 0, 1, 2) if self.odd("scale", 1) else self.between(1, 2)
        for at, prefix in enumerate(("ifm", "ifm2")):
            sides = tuple(1 if bits[at] & 1 << axis else n for axis, n in enumerate(shape))
            own = dtype if at == 0 else second
            values = {} if at == 0 else {"ifm2_broadcast": bits[1]}
            if mode in (8, 9, 10) and at == 1:
                self._shifts(sides)
            else:
                self._map(prefix, sides, own, mask << 8 if at == 0 else 0)
            self.writer.set(**values)
        self.writer.set(ifm_broadcast=bits[0], ifm_depth=shape[2])

    def _shifts(self, sides):
        """Write a second operand of shifts from 0 to 31."""
        self._map("ifm2", sides, "int32", bricks=False, region=3)

    def _sum_scales(self, mode, dtype, shape):
        other = self.odd("output", 0.4) or mode in (7, 8, 9, 10)
        out_dtype = self.pick(*DTYPES) if other else dtype
        likely = {"int8": 31, "uint8": 31, "int16": 39, "int32": 47}[dtype]
        if self.is_u85:
            for name in ("opa_scale", "opb_scale"):
                self._operand_scale(name, 24)
            likely = self.pick(31, 38, 45)
        elif mode in (1, 2):
            self.writer.set(opa_scale=(self._mult(), self._shift(12, 11)))
            self.writer.set(opb_scale=(self._mult(), 0))
            likely = self.pick(49, 47, 44)
        self._ofm_scale(likely + (8 if mode == 0 else 0))
        self._output(shape, out_dtype, 0x100 * (not self.odd("global", 0.1)))

    def _resize(self):
        mode, dtype = self.pick(0, 2), self.pick("int8", "uint8", "int16")
        sides, outs = [[self.between(1, 6) for _ in range(2)] for _ in range(2)]
        channels = self.pick(1, 2, 17)
        self._accumulate()
        self._map("ifm", (*sides, channels), dtype, tiles=False)
        self.writer.set(ifm_width0=sides[1], ifm_height0=sides[0], ifm_height1=sides[0])
        self.writer.set(ifm_depth=channels, ifm_upscale=0)
        for axis in "yx":
            n = self.between(1, 9)
            step = self.between(0, 3), self.between(0, n - 1)
            self.writer.set(**{f"resize_{axis}_n": n, f"resize_{axis}": (step[1], step[0])})
            self.writer.set(**{f"resize_{axis}_offset": self.between(-9, 9) & 0xFFFF})
        self._ofm_scale(self.pick(16, 20, 46), 16)
        self._output((*outs, channels), self.pick("int8", "uint8", "int16", "int32"), 0x100)
        self.writer.run("resize", mode)

    def _chain(self):
        """Write a copy to a chaining buffer, and an operation that reads it."""
        shape, buffer, dtype = (
            self._shape(5),
            self.between(0, 7),
            self.pick("int8", "uint8", "int16"),
        )
        self.writer.kernel().set(ifm_upscale=0, ifm_broadcast=0, ifm2_broadcast=0, scale_length=0)
        self._accumulate()
        self._map("ifm", shape, dtype)
        self.writer.map("ofm", shape, 0, self._zero(dtype), dtype, 0x8100, False, buffer)
        limits = np.iinfo(dtype)
        self.writer.clamp(limits.min, limits.max).set(ofm_scale=(1, 1 << 13)).run("pool", 3)
        which = self.pick("ifm", "ifm2")
        for prefix in ("ifm", "ifm2"):
            self._map(prefix, shape, dtype)
        self.writer.map(which, shape, 0, self._zero(dtype), dtype, 0x8000, False, buffer)
        self._sum_scales(1, dtype, shape)
        self.writer.run("elementwise", self.pick(0, 1, 3))

    def _copy(self):
        target = self.between(0, ARENA - 600)
        self.writer.set(source_region=1, target_region=self.pick(1, 2), target=target)
        self.writer.set(source=self.between(0, ARENA - 600), length=self.between(1, 40))
        if self.is_u85:
            dims = self.between(0, 2)
            self.writer.set(source_region=1 | dims << 9, size0=self.between(1, 3))
            self.writer.set(size1=self.between(1, 3), source_row=self.between(0, 50))
            self.writer.set(source_plane=self.between(0, 100), target_row=self.between(0, 50))
            self.writer.set(target_plane=self.between(0, 100))
            if self.chance(0.4):
                self._index(dims)
        self.writer.run("dma")

    def _index(self, dims):
        """Let an index of region 3 choose the rows of one side."""
        source, target = self.pick((1, 0), (0, 1), (1, 0))
        self.writer.set(source_region=1 | dims << 9 | source << 11, target_region=1 | target << 11)
        self.writer.set(source=self.between(0, 4000), target=self.between(0, 4000))
        self.writer.set(
            index_region=3, index=4 * self.between(0, 60), index_skip=4 * self.pick(0, 3)
        )

    # ---- The whole ----

    @property
    def program(self):
        """The program: both arenas are outputs, the first one and the shifts are inputs."""
        word = self.product << 28 | (self.macs.bit_length() - 1)
        stream = CommandStream("COP1", word, False, self.writer.stream)
        whole = Place(1, 0, ARENA)
        places = (whole, Place(3, 0, ARENA)), (whole, Place(2, 0, ARENA))
        constants = np.frombuffer(self.constants, np.uint8)
        return Program(stream, constants, (ARENA, ARENA, ARENA, len(self.constants)), *places)

    @property
    def shifts(self):
        """Region 3: words from 0 to 31."""
        return (np.arange(ARENA // 4) * 7 % 32).astype("<i4").view(np.uint8)

    @property
    def wanted(self):
        """Both arenas after the stream."""
        memory = {0: np.frombuffer(self.constants, np.uint8), 1: self.memory.copy()}
        memory.update({2: np.zeros(ARENA, np.uint8), 3: self.shifts})
        memory[4] = np.zeros(len(self.constants), np.uint8)
        base = 0 if self.is_u85 else TABLE_BASES[self.macs]
        if self.product == U65:
            base = 47104
        machine = Machine(self.product, memory, list(self.layers), base)
        machine.run(self.writer.stream)
        return np.concatenate([machine.memory[1], machine.memory[2]])
