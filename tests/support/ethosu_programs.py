"""Small programs of the Ethos-U, written register by register, and .tflite files that hold them."""

import struct

import numpy as np
from tflite_files import File

from qemu_nn.ethosu.container import CommandStream
from qemu_nn.ethosu.program import Place, Program
from qemu_nn.functions import ETHOSU_FUNCTIONS
from qemu_nn.kernels import table as kernels
from qemu_nn.targets import profile

#: Configuration words, as vela writes them.
CONFIGURATIONS = {
    **{"ethos-u55-32": 0x00001005, "ethos-u55-128": 0x00001807, "ethos-u65-512": 0x10006009},
    **{"ethos-u85-256": 0x20000118, "ethos-u85-512": 0x20000009},
}

#: Numbers of registers, of kind 0 and kind 1.
KIND0 = {
    **{"pad_top": 256, "pad_left": 257, "pad_right": 258, "pad_bottom": 259, "ifm_depth": 260},
    **{"ifm_precision": 261, "ifm_upscale": 263, "ifm_broadcast": 264, "ifm_zero": 265},
    **{"ifm_width0": 266, "ifm_height0": 267, "ifm_height1": 268, "ifm_region": 271},
    **{"ofm_width": 273, "ofm_height": 274, "ofm_depth": 275, "ofm_precision": 276},
    **{"block_depth": 279, "ofm_zero": 280, "ofm_width0": 282, "ofm_height0": 283},
    **{"ofm_height1": 284, "ofm_region": 287, "kernel_width": 288, "kernel_height": 289},
    **{"kernel_stride": 290, "parallel": 291, "acc_format": 292, "activation": 293, "low": 294},
    **{"high": 295, "weight_region": 296, "scale_region": 297, "resize_x_n": 298},
    **{"resize_y_n": 299, "resize_x_offset": 300, "resize_y_offset": 301, "weight_format": 302},
    **{"source_region": 304, "target_region": 305, "size0": 306, "size1": 307, "index_region": 308},
    **{"ifm2_broadcast": 384, "ifm2_scalar": 385, "ifm2_precision": 389, "ifm2_zero": 393},
    **{"ifm2_width0": 394, "ifm2_height0": 395, "ifm2_height1": 396, "ifm2_region": 399},
}
_BASES = (("ifm", 0), ("ofm", 16), ("ifm2", 128))
KIND1 = {
    **{f"{map}_base{tile}": first + tile for map, first in _BASES for tile in (1, 2, 3)},
    **{"ifm_base": 0, "ifm_stride_x": 4, "ifm_stride_y": 5, "ifm_stride_c": 6, "ofm_base": 16},
    **{"ofm_stride_x": 20, "ofm_stride_y": 21, "ofm_stride_c": 22},
    **{"weight_base": 32, "weight_length": 33, "scale_base": 34, "scale_length": 35},
    **{"ofm_scale": 36, "opa_scale": 37, "opb_scale": 38, "scalar": 39, "source": 48},
    **{"target": 49, "length": 50, "source_row": 51, "source_plane": 52, "target_row": 53},
    **{"target_plane": 54, "index": 55, "index_skip": 57, "ifm2_base": 128, "ifm2_stride_x": 132},
    **{"ifm2_stride_y": 133, "ifm2_stride_c": 134, "weight1_base": 144, "weight1_length": 145},
    **{"scale1_base": 146, "scale1_length": 147, "weight2_base": 146, "weight2_length": 147},
    **{"weight3_base": 148, "weight3_length": 149, "resize_x": 150, "resize_y": 151},
}
OPERATIONS = {
    **{"conv": 2, "depthwise": 3, "pool": 5, "elementwise": 6, "resize": 7, "dma": 16},
}

#: Register values that count from 1.
MINUS_ONE = {
    *("ifm_depth", "ofm_width", "ofm_height", "ofm_depth", "block_depth", "kernel_width"),
    *("kernel_height", "ifm_width0", "ifm_height0", "ifm_height1", "ofm_width0", "ofm_height0"),
    *("ofm_height1", "ifm2_width0", "ifm2_height0", "ifm2_height1", "resize_x_n", "resize_y_n"),
}

#: Region of constants, of the arena.
CONSTANTS, ARENA = 0, 1


class Writer:
    """A stream under construction."""

    def __init__(self):
        self.words = []

    def set(self, **registers):
        """Write registers; a pair (value, parameter) fills both halves of a register of kind 1."""
        for name, value in registers.items():
            if name in KIND0:
                number = value - 1 if name in MINUS_ONE else value
                self.words.append(KIND0[name] | (number & 0xFFFF) << 16)
            else:
                low, high = value if isinstance(value, tuple) else (value, value >> 32 & 0xFF)
                self.words += [KIND1[name] | 0x4000 | high << 16, low & 0xFFFFFFFF]
        return self

    def run(self, operation, parameter=0):
        """Add an operation."""
        self.words.append(OPERATIONS[operation] | parameter << 16)
        return self

    def map(self, prefix, shape, at, zero=0, dtype="int8", bits=0, bricks=False, region=ARENA):
        """Write the registers of a feature map (rows, columns, channels)."""
        rows, columns, channels = shape
        kind, element = np.dtype(dtype).kind, np.dtype(dtype).itemsize
        size = {1: 0, 2: 1, 4: 2}[element] << (1 if prefix == "ofm" else 2)
        strides = (channels * element, columns * channels * element, element)
        if bricks:
            strides = (16 * element, -(-channels // 16) * columns * 16 * element)
            strides += (columns * 16 * element,)
        x, y, c = strides
        named = {
            "precision": (kind == "i") | size | bits | bricks << 6,
            **{"zero": zero, "region": region, "base": at},
            **{"width0": columns, "height0": rows, "height1": rows},
            **{"stride_x": x, "stride_y": y, "stride_c": c},
        }
        self.set(**{f"{prefix}_{name}": value for name, value in named.items()})
        if prefix == "ofm":
            self.set(ofm_height=rows, ofm_width=columns, ofm_depth=channels, block_depth=16)
        if prefix == "ifm":
            self.set(ifm_depth=channels)
        return self

    def kernel(self, rows=1, columns=1, stride=(1, 1), dilation=(1, 1), pads=(0, 0, 0, 0), part=0):
        """Write the registers of a window; pads: top, left, bottom, right."""
        top, left, bottom, right = pads
        (sy, sx), (dy, dx) = (s - 1 for s in stride), (d - 1 for d in dilation)
        bits = (
            (sx & 1) | (sy & 1) << 1 | part << 2 | dx << 3 | dy << 4 | sx >> 1 << 6 | sy >> 1 << 9
        )
        self.set(kernel_height=dilation[0] * (rows - 1) + 1, kernel_stride=bits)
        self.set(kernel_width=dilation[1] * (columns - 1) + 1)
        return self.set(pad_top=top, pad_left=left, pad_bottom=bottom, pad_right=right)

    def clamp(self, low=-128, high=127, activation=0):
        """Write the registers of the activation."""
        return self.set(activation=activation, low=low, high=high)

    @property
    def stream(self):
        """The words up to STOP."""
        return np.array([*self.words, 0xFFFF0000], np.uint32)


def container(words, configuration):
    """Return the command tensor COP1."""
    head = [0x31504F43, 1 | 0x10 << 16, configuration, 0x10066001, 5, 5, 5]
    head.append(2 | (len(words) & 0xFFFF) << 16 | len(words) >> 16 << 8)
    return np.concatenate([np.array(head, np.uint32), words]).tobytes()


def program(writer, inputs, outputs, constants=b"", arena=4096, target="ethos-u55-128"):
    """Return a program; inputs, outputs: pairs (offset in the arena, bytes)."""
    places = [tuple(Place(ARENA, *place) for place in each) for each in (inputs, outputs)]
    stream = CommandStream("COP1", CONFIGURATIONS[target], False, writer.stream)
    return Program(stream, np.frombuffer(constants, np.uint8), (arena, arena), *places)


#: Byte after an array that no row may change, and how many of these.
CANARY, TAIL = 0xA5, 64

#: Scratch memory of all calls.
_SCRATCH = [kernels.allocate_aligned(1 << 21)]


#: Bytes of it that are not zero when a call begins: the memory of small programs.
_DIRTY = 1 << 16


def _borrow_scratch(nbytes):
    """Return scratch memory with bytes after it that no row may change."""
    if _SCRATCH[0].size < nbytes + TAIL:
        _SCRATCH[0] = kernels.allocate_aligned(nbytes + TAIL)
    memory = _SCRATCH[0][: nbytes + TAIL]
    memory[:_DIRTY] = memory[nbytes:] = CANARY
    return memory


def run(made, *inputs):
    """Run a program on arrays by each row of this host; return the bytes of its outputs."""
    function = ETHOSU_FUNCTIONS["ethosu_program"]
    rows = kernels.list_rows(function.op, function.type)
    given = made.params
    params = kernels.make_params(rows[0].op, profile("m55"), given)
    x = np.concatenate([np.ascontiguousarray(x).reshape(-1).view(np.uint8) for x in inputs])
    plain, size = None, given["out_bytes"]
    for row in reversed([row for row in rows if row.runs_here()]):
        out, nbytes = np.full(size + TAIL, CANARY, np.uint8), row.scratch(params)
        memory = _borrow_scratch(nbytes)
        kernels.call(row, params, [x], out[:size], made.commands, made.constants, memory[:nbytes])
        assert (np.concatenate([out[size:], memory[nbytes:]]) == CANARY).all(), str(row)
        plain = out if plain is None else plain
        np.testing.assert_array_equal(out, plain, str(row))
    return plain[:size]


def encode_weights(weights):
    """Return a stream of uncompressed slices: 9 bits for each weight."""
    weights = np.asarray(weights, np.int64).reshape(-1)
    bits = []
    for own in np.split(weights, range(1 << 15, weights.size, 1 << 15)):
        fields = [(6, 3), (own.size - 1, 15), (7, 3), (0, 1), (1, 1), (0, 5), (0, 5), (7, 3)]
        bits.append([value >> i & 1 for value, count in fields for i in range(count)])
        bits.append(((abs(own) << 1 | (own < 0))[:, None] >> np.arange(9) & 1).reshape(-1))
    bits = np.concatenate([*bits, [1, 1, 1]]).astype(np.uint8)
    data = np.packbits(bits, bitorder="little").tobytes()
    return data + b"\xff" * (-len(data) % 16)


def encode_records(bias, mult, shift):
    """Return the scale records of U55 and U65."""
    data = b"".join(
        int(b).to_bytes(5, "little", signed=True) + struct.pack("<IB", m, s)
        for b, m, s in zip(bias, mult, shift)
    )
    return data + bytes(-len(data) % 16)


def tflite(writer, inputs, outputs, constants=b"", arena=4096, target="ethos-u55-128", **more):
    """Return a .tflite file; inputs, outputs: (shape, type, scale, zero, offset in the arena)."""
    file = File()
    words = container(writer.stream, CONFIGURATIONS[target])
    tensors = [file.tensor([len(words)], "UINT8", data=np.frombuffer(words, np.uint8))]
    data = np.frombuffer(constants, np.uint8) if constants else None
    tensors += [file.tensor([len(constants)], "UINT8", data=data)]
    tensors += [file.tensor([arena], "UINT8")]
    offsets = [-1, -1, 0]
    ends = []
    for number, (shape, type, scale, zero, offset) in enumerate((*inputs, *outputs)):
        ends.append(file.tensor(shape, type, scale, zero, name=f"end{number}"))
        offsets.append(offset)
    count = len(inputs)
    file.inputs, file.outputs = ends[:count], ends[count:]
    options = more.get("options", b"\x01\x04\x01")
    fast = tensors[2]
    if "fast" in more:
        fast = file.tensor([more["fast"]], "UINT8")
        offsets.append(0)
    given = [*tensors, fast, *ends[:count]]
    file.operator("CUSTOM:ethos-u", given, ends[count:], None, custom=options)
    file.buffers.append(np.array([0, 1, len(offsets), *offsets], np.int32).tobytes())
    file.metadata.append(("OfflineMemoryAllocation", len(file.buffers) - 1))
    return file


def order_weights(weights, block=16, part=False, depthwise=False, dilation=(1, 1), unit=8, wide=0):
    """Return weights [out][y][x][in] in the order of a U55's stream.

    wide: 1 for inputs of 16 bits.
    """
    outs, rows, columns, ins = weights.shape
    inner = 16 if part or wide else 32
    steps = (8 // dilation[0], 8 // dilation[1])
    multiple = 4 if depthwise else (2 if wide else 4) if part else 1
    listed = []
    for out0 in range(0, outs, block):
        count = min(block, outs - out0)
        for in0 in range(0, 1 if depthwise else ins, inner):
            for y0 in range(0, rows, steps[0]):
                for x0 in range(0, columns, steps[1]):
                    part_of = weights[:, y0 : y0 + steps[0], x0 : x0 + steps[1]]
                    taps = [(y, x) for y, x in np.ndindex(part_of.shape[1:3])]
                    taps += [None] * (-len(taps) % multiple)
                    outer = range(0, min(inner, ins - in0), 8) if part else (0,)
                    depth = (0,) if part or depthwise else range(0, inner, 8)
                    each = 1 if depthwise else 8
                    for o in outer:
                        for u in range(0, count, unit):
                            for tap in taps:
                                for d in depth:
                                    for c in range(u, u + unit):
                                        for i in range(in0 + o + d, in0 + o + d + each):
                                            real = tap is not None and c < count and i < ins
                                            at = (out0 + c, *tap, i) if real else None
                                            listed.append(int(part_of[at]) if real else 0)
    return listed


def round_double(product, shift):
    """Return product / 2^shift as TensorFlow Lite rounds twice."""
    extra = (1 << 30) * (1 if product >= 0 else -1) if shift > 31 else 0
    return (product + (1 << shift >> 1) + extra) >> shift


def convolve(x, weights, zero, stride=(1, 1), dilation=(1, 1), pads=(0, 0, 0, 0), depthwise=False):
    """Return the sums of a convolution: x [y][x][c], weights [out][y][x][in]."""
    top, left, bottom, right = pads
    padded = np.pad(x.astype(np.int64) - zero, ((top, bottom), (left, right), (0, 0)))
    outs, rows, columns, _ = weights.shape
    reach = [(k - 1) * d + 1 for k, d in zip((rows, columns), dilation)]
    sides = [(n - r) // s + 1 for n, r, s in zip(padded.shape, reach, stride)]
    sums = np.zeros((*sides, outs), np.int64)
    for y, x0 in np.ndindex(*sides):
        window = padded[
            y * stride[0] : y * stride[0] + reach[0] : dilation[0],
            x0 * stride[1] : x0 * stride[1] + reach[1] : dilation[1],
        ]
        for out in range(outs):
            own = window[:, :, out : out + 1] if depthwise else window
            sums[y, x0, out] = (own * weights[out]).sum()
    return sums


def _block(name, data):
    head = name.encode().ljust(16, b"\0") + len(data).to_bytes(4, "little") + bytes(12)
    return head + data + bytes(-len(data) % 16)


def pack_payload(commands, inputs, outputs, constants=bytes(16), arena=4096, /, **changed):
    """Return ExecuTorch's payload; inputs, outputs: (six sides, offset in the arena) of int8.

    changed: contents of blocks, None to leave one out.
    """
    blocks = {"cmd_data": commands, "weight_data": constants}
    blocks["scratch_size"] = arena.to_bytes(4, "little")
    for kind, ends in (("inputs", inputs), ("outputs", outputs)):
        numbers = [len(ends)]
        for shape, offset in ends:
            numbers += [*shape, 1, offset, ARENA]
        blocks[kind] = np.array(numbers, "<i4").tobytes()
    blocks |= changed
    parts = [_block(name, data) for name, data in blocks.items() if data is not None]
    return b"".join([_block("vela_bin_stream", b""), *parts, _block("vela_end_stream", b"")])


def every_kind():
    """Return a payload with a copy, a convolution, a table, a maximum and a sum."""
    weights = np.arange(1, 49).reshape(3, 2, 2, 4)
    stream = encode_weights(order_weights(weights))
    scales = encode_records([5, -6, 7], [1 << 30] * 3, [36] * 3)
    constants = stream + scales + bytes(range(256))
    writer = Writer().set(source_region=0, target_region=ARENA, source=0, target=1024)
    writer.set(length=len(stream)).run("dma")
    writer.set(target_region=0x103, source=len(stream) + len(scales), target=22528, length=256)
    writer.run("dma").map("ifm", (5, 5, 4), 0, 3).map("ofm", (4, 4, 3), 256, bricks=True).clamp()
    writer.kernel(2, 2).set(weight_region=ARENA, weight_base=1024, weight_length=len(stream))
    writer.set(scale_region=0, scale_base=len(stream), scale_length=len(scales)).run("conv")
    writer.map("ifm", (4, 4, 3), 256, bricks=True).map("ofm", (2, 2, 3), 600, bits=0x100)
    writer.kernel(2, 2, (2, 2)).clamp(activation=16).set(ofm_scale=(1, 0)).run("pool", 0)
    writer.map("ifm", (2, 2, 3), 600).map("ifm2", (2, 2, 3), 600).clamp()
    writer.map("ofm", (2, 2, 3), 700, bits=0x100).set(opa_scale=(1, 0), opb_scale=(1, 0))
    writer.set(ofm_scale=(1 << 30, 31)).run("elementwise", 1)
    commands = container(writer.stream, CONFIGURATIONS["ethos-u55-128"])
    shapes = [((1, 1, 1, 5, 5, 4), 0)], [((1, 1, 1, 2, 2, 3), 700)]
    return pack_payload(commands, *shapes, constants)


#: Feature map of the pair of files below, and its places.
SHAPE, MIDDLE, END = (2, 3, 20), 1024, 2048

#: vela's record of the pair: two operations, and figures of them.
_DEBUG = """<?xml version='1.0' encoding='UTF-8'?>
<debug source="net">
<table name="source">
<![CDATA[
"id","operator","ext_key"
1,"MaxPool",0
2,"MaxPool",1
]]>
</table>
<table name="optimised">
<![CDATA[
"id","source_id","operator"
8,1,"MaxPool"
9,2,"MaxPool"
]]>
</table>
<table name="queue">
<![CDATA[
"offset","cmdstream_id","optimised_id","scheduled_id"
{first},1,8,11
{second},1,9,12
]]>
</table>
<table name="cmdstream">
<![CDATA[
"id"
1
]]>
</table>
<table name="perf">
<![CDATA[
"id","source_id","optimised_id","operator","name","op_cycles"
11,1,8,"MaxPool","middle",70
12,2,9,"MaxPool","end1",90
]]>
</table>
<table name="perf_debug">
<![CDATA[
"id","ofm_shape_n","ofm_shape_h","ofm_shape_w","ofm_shape_c"
11,1,2,3,20
12,1,2,3,20
]]>
</table>
</debug>
"""

_SUMMARY = {
    **{"system_config": "Ethos_U55_High_End_Embedded", "memory_mode": "Shared_Sram"},
    **{"cycles_total": "170", "cycles_npu": "160", "cycles_sram_access": "44"},
    **{"sram_memory_used": "2.5", "off_chip_flash_memory_used": "0.25"},
}


def write_pair(folder, record=True):
    """Write an original file of two maxima, the file that vela makes of it, and vela's record.

    Returns the paths of both files.
    """
    file = File()
    names = ("end0", "middle", "end1")
    tensors = [file.tensor((1, *SHAPE), "INT8", 0.5, 1, name=name) for name in names]
    file.inputs, file.outputs = tensors[:1], tensors[2:]
    window = {"StrideW": 1, "StrideH": 1, "FilterWidth": 1, "FilterHeight": 1}
    for source, made in zip(tensors, tensors[1:]):
        file.operator("MAX_POOL_2D", [source], [made], "Pool2DOptions", **window)
    original = file.save(folder, "net.tflite")
    writer = Writer().map("ifm", SHAPE, 0, zero=1).kernel().clamp()
    writer.map("ofm", SHAPE, MIDDLE, zero=1, bits=0x100, bricks=True).set(ofm_scale=(1, 0))
    first = 4 * len(writer.run("pool", 0).words) - 4
    writer.map("ifm", SHAPE, MIDDLE, zero=1, bricks=True)
    second = 4 * len(writer.map("ofm", SHAPE, END, zero=1, bits=0x100).run("pool", 0).words) - 4
    ends = [((1, *SHAPE), "INT8", 0.5, 1, at) for at in (0, END)]
    compiled = tflite(writer, ends[:1], ends[1:]).save(folder, "net_vela.tflite")
    if record:
        text = _DEBUG.format(first=first, second=second)
        (folder / "net_debug.xml").write_text(text, encoding="utf-8")
        lines = (",".join(each) for each in (_SUMMARY, _SUMMARY.values()))
        (folder / "net_summary_x.csv").write_text("\n".join(lines), encoding="utf-8")
    return original, compiled
