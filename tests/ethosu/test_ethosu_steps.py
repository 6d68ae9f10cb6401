"""Operations that fast kernels compute, up to the last value that still fits."""

import numpy as np
import pytest
from ethosu_programs import Writer, encode_records, encode_weights, order_weights, program, run

from qemu_nn._native import ffi, lib
from qemu_nn.functions import ETHOSU_FUNCTIONS
from qemu_nn.kernels import table as kernels
from qemu_nn.targets import profile

pytestmark = pytest.mark.caps

FUNCTION = ETHOSU_FUNCTIONS["ethosu_program"]
ROWS = kernels.list_rows(FUNCTION.op, FUNCTION.type)

#: Places of two inputs and of the output in the arena.
FIRST, SECOND, OUT = 0, 1024, 2048


def steps(made, variant="portable"):
    """Return how a fast row computes each operation."""
    (row,) = [row for row in ROWS if row.variant == variant]
    params = kernels.make_params(row.op, profile("m55"), made.params)
    kernel, given = lib.qn_kernel_at(row.index), ffi.new("qn_buffers *")
    memory = ffi.new("int64_t[]", [-1] * (kernel.functions.packed(params) // 8 + 1))
    given.weights = ffi.from_buffer(made.commands)
    given.bias = ffi.from_buffer(made.constants) if made.constants.size else ffi.NULL
    lib.qn_pack_row(kernel, params, given, memory)
    count = made.params["operations"]
    return [ffi.string(lib.qn_ethosu_step(memory, at)).decode() for at in range(count)]


def on_row(made, inputs, symbol):
    """Require that one operation is computed by a row, on this host's rows with the same bytes."""
    run(made, *inputs)
    (found,) = steps(made)
    return found == symbol


def fill(seed, size):
    return np.random.default_rng(seed).integers(-128, 128, size).astype(np.int8)


USUAL = {"bias": 7, "mult": 1 << 30, "shift": 36, "weight": 5, "zero": 3}

#: A number of a convolution, and whether it still fits.
CONVOLUTIONS = [
    *(("bias", 2**31, False), ("bias", -(2**31) - 1, False)),
    *(("mult", 2**31 - 1, True), ("mult", 2**31, False), ("mult", 0, True)),
    *(("shift", 31, True), ("shift", 30, False), ("shift", 62, True), ("shift", 63, False)),
    *(("shift", 32, True), ("weight", 127, True), ("weight", 128, False)),
    *(("weight", -128, True), ("weight", -129, False)),
    *(("zero", -128, True), ("zero", -129, False), ("zero", 127, True), ("zero", 128, False)),
]

#: Registers that keep an operation off its row.
OFF = {
    "rounding": {"ofm_precision": 0x4001},
    "two sizes": {"ofm_precision": 0x1 | 1 << 1},
    "no sign": {"ofm_precision": 0},
    "a table": {"activation": 16},
    "a low clamp": {"low": -129},
    "a high clamp": {"high": 128},
    "an empty clamp": {"low": 5, "high": 4},
    "a zero point": {"ofm_zero": 128},
    "upscaling": {"ifm_upscale": 1, "kernel_height": 1, "kernel_width": 1},
}


def convolution(depthwise=False, registers=(), **changed):
    """Return a program of 5 pixels, 4 channels to 4 channels; changed: of the last channel."""
    values = {**USUAL, **changed}
    weights = np.full((4, 1, 1, 1 if depthwise else 4), 5)
    weights[3] = values["weight"]
    stream = encode_weights(order_weights(weights, depthwise=depthwise))
    records = {name: [USUAL[name]] * 3 + [values[name]] for name in ("bias", "mult", "shift")}
    scales = encode_records(**records)
    writer = Writer().map("ifm", (1, 5, 4), FIRST, values["zero"])
    writer.map("ofm", (1, 5, 4), OUT, -9).kernel().clamp()
    writer.set(weight_region=0, weight_base=0, weight_length=len(stream), scale_region=0)
    writer.set(scale_base=len(stream), scale_length=len(scales)).set(**dict(registers))
    writer.run("depthwise" if depthwise else "conv")
    return program(writer, [(FIRST, 20)], [(OUT, 20)], stream + scales)


@pytest.mark.parametrize(("name", "value", "fits"), CONVOLUTIONS)
def test_a_convolution_runs_on_a_row_as_long_as_its_numbers_fit(name, value, fits):
    x = fill(1, 20)
    x[:4] = 127 if value > 0 else -128
    for depthwise in (False, True):
        made = convolution(depthwise, **{name: value})
        assert on_row(made, [x], symbol_of(depthwise)) == fits


def symbol_of(depthwise):
    return f"s_{'depthwise' if depthwise else 'convolve'}_s8_portable"


@pytest.mark.parametrize(("sign", "x"), [(1, 127), (-1, 127), (1, -128), (-1, -128)])
@pytest.mark.parametrize("beyond", [0, 1])
@pytest.mark.parametrize("depthwise", [False, True])
def test_a_convolution_runs_on_a_row_as_long_as_its_sums_fit(depthwise, sign, x, beyond):
    weights = 255 * 5 * (1 if depthwise else 4)
    bias = sign * (2**31 - 1 - weights + beyond)
    made = convolution(depthwise, bias=bias, zero=x ^ -1, shift=62)
    assert on_row(made, [np.full(20, x, np.int8)], symbol_of(depthwise)) != beyond


@pytest.mark.parametrize("depthwise", [False, True])
def test_a_clamp_may_leave_one_value(depthwise):
    made = convolution(depthwise, {"low": 5, "high": 5})
    assert on_row(made, [fill(2, 20)], symbol_of(depthwise))


@pytest.mark.parametrize("depthwise", [False, True])
@pytest.mark.parametrize("name", OFF)
def test_a_convolution_with_another_end_is_plain(name, depthwise):
    made = convolution(depthwise, OFF[name])
    run(made, fill(2, 20))
    assert steps(made) == ["plain"]


def pair(mode, second=0x100, **registers):
    """Return a program of an elementwise operation on two maps of 40 bytes."""
    writer = (
        Writer().map("ifm", (2, 5, 4), FIRST, 3, bits=second).map("ifm2", (2, 5, 4), SECOND, -4)
    )
    writer.map("ofm", (2, 5, 4), OUT, 9, bits=0x100).clamp().set(ifm2_broadcast=0)
    scale = (1 << 30, 36) if mode == 0 else (1 << 30, 49)
    writer.set(ofm_scale=scale, opa_scale=(1518500250, 12)).set(**registers).run(
        "elementwise", mode
    )
    return program(writer, [(FIRST, 40), (SECOND, 40)], [(OUT, 40)])


#: Mode, registers, and whether the operation runs on a row.
PAIRS = [
    *((mode, {}, True) for mode in (0, 1)), (2, {}, False), (3, {}, False),
    *((mode, {"ofm_scale": (1 << 30, s)}, f)
      for mode in (0, 1) for s, f in ((31, True), (30, False), (62, True), (63, False))),
    *((mode, {"ofm_scale": (m, 40)}, f)
      for mode in (0, 1) for m, f in ((0, True), (2**31 - 1, True), (2**31, False))),
    *((1, {"opa_scale": (1 << 30, s)}, f)
      for s, f in ((11, True), (10, False), (12, True), (42, True), (43, False))),
    *((1, {"opa_scale": (m, 20)}, f) for m, f in ((2**31 - 1, True), (2**31, False))),
    *((mode, {"low": 5, "high": 5}, True) for mode in (0, 1)),
    (1, {"second": 0}, False), (1, {"second": 0x200}, True), (1, {"ifm2_broadcast": 0x40}, True),
    *((mode, {"ofm_precision": 1}, False) for mode in (0, 1)),
    *((mode, {f"{ifm}_zero": z}, f) for mode in (0, 1) for ifm in ("ifm", "ifm2")
      for z, f in ((-128, True), (127, True), (-129, False), (128, False))),
    *((mode, {f"{ifm}_precision": 0x100 * (ifm == "ifm")}, False)
      for mode in (0, 1) for ifm in ("ifm", "ifm2")),
    *((mode, {"ifm2_broadcast": bits}, False) for mode in (0, 1) for bits in (1, 2, 4, 0x80)),
    *((mode, OFF[name], False) for mode in (0, 1) for name in OFF if name[0] == "a"),
    *((mode, {"ofm_precision": 0x4101}, False) for mode in (0, 1)),
    *((mode, {"ofm_precision": 0x103}, False) for mode in (0, 1)),
]  # fmt: skip


@pytest.mark.parametrize(("mode", "registers", "fits"), PAIRS)
def test_sums_and_products_of_bytes_run_on_a_row(mode, registers, fits):
    registers = {"second": 0x100, **registers}
    out = registers.get("ofm_precision", 0)
    if out == 0x103:
        registers["ofm_stride_x"], registers["ofm_stride_y"] = 8, 40
    made = pair(mode, **registers)
    wanted = f"s_elementwise_{('mul', 'add')[mode == 1]}_s8_portable"
    assert on_row(made, [fill(3, 40), fill(4, 40)], wanted) == fits


@pytest.mark.parametrize(("first", "second", "fits"), [(20, 20, 1), (19, 20, 0), (20, 21, 0)])
def test_sums_of_a_u85_scale_both_operands_as_the_row_does(first, second, fits):
    writer = Writer().map("ifm", (2, 5, 4), FIRST, 3).map("ifm2", (2, 5, 4), SECOND, -4)
    writer.map("ofm", (2, 5, 4), OUT, 9, bits=0x100).clamp().set(ofm_scale=(1 << 30, 49))
    writer.set(opa_scale=(1 << 30, 14 | first << 6), opb_scale=(1518500250, 13 | second << 6))
    made = program(writer.run("elementwise", 1), [(FIRST, 40), (SECOND, 40)], [(OUT, 40)],
                   target="ethos-u85-256")  # fmt: skip
    assert on_row(made, [fill(3, 40), fill(4, 40)], "s_elementwise_add_s8_portable") == fits


def maximum(window=(2, 2), mode=0, **registers):
    """Return a program of a pool over 4x5 pixels of 3 channels."""
    rows, columns = 5 - window[0], 6 - window[1]
    writer = Writer().map("ifm", (4, 5, 3), FIRST, 3).kernel(*window).clamp()
    writer.map("ofm", (rows, columns, 3), OUT, 3, bits=0x100).set(ofm_scale=(1, 0))
    writer.set(**registers).run("pool", mode)
    return program(writer, [(FIRST, 60)], [(OUT, 60)])


POOLS = [
    ({}, True), ({"low": 5, "high": 5}, True), ({"ofm_precision": 1}, True),
    ({"ofm_scale": (1, 1)}, False),
    ({"ofm_scale": (2, 0)}, False), ({"ofm_scale": (0, 0)}, False), ({"ofm_zero": 4}, False),
    ({"ifm_zero": 4}, False), ({"mode": 1}, False), ({"ifm_precision": 0}, False),
    ({"kernel_stride": 1 << 3, "kernel_width": 3}, False),
    ({"kernel_stride": 1 << 4, "kernel_height": 3}, False),
    ({"ofm_precision": 0x4101}, True), *((OFF[name], False) for name in OFF if name[0] == "a"),
]  # fmt: skip


@pytest.mark.parametrize(("registers", "fits"), POOLS)
def test_maxima_of_bytes_run_on_a_row(registers, fits):
    registers = dict(registers)
    mode = registers.pop("mode", 0)
    stride = registers.get("kernel_stride", 0)
    window = (2, 2)
    if stride:
        registers["ofm_width" if stride == 8 else "ofm_height"] = 3 if stride == 8 else 2
    made = maximum(window, mode, **registers)
    assert on_row(made, [fill(5, 60)], "s_max_pool_s8_portable") == fits


#: Pools of one element and operations on one input, which a map of all bytes computes.
SINGLES = [
    *(("pool", mode, {}, True) for mode in (0, 1)), ("pool", 2, {"ofm_depth": 1}, False),
    ("pool", 0, {"ofm_precision": 0}, True), ("pool", 0, {"ifm_precision": 0}, True),
    ("pool", 1, {"activation": 16}, True), ("pool", 1, {"ofm_precision": 0x4103}, True),
    ("pool", 1, {"ofm_zero": 200}, True), ("pool", 0, {"ifm_upscale": 1}, False),
    ("pool", 0, {"kernel_stride": 1, "ofm_width": 3}, False),
    ("pool", 0, {"kernel_stride": 2, "ofm_height": 2}, False),
    ("pool", 0, {"pad_top": 1, "ofm_height": 5}, False),
    ("pool", 0, {"pad_left": 1, "ofm_width": 6}, False),
    ("pool", 0, {"ifm_precision": 5, "ifm_stride_x": 6, "ifm_stride_y": 30}, False),
    *(("elementwise", mode, {}, True) for mode in (5, 6, 7)),
    *(("elementwise", mode, {"ifm2_broadcast": 0x80}, True) for mode in (0, 1, 2, 3, 4)),
    *(("elementwise", 2, {"ifm2_broadcast": 0xC0}, True) for mode in (0, 1, 2, 3, 4)),
    ("elementwise", 0, {"ifm2_broadcast": 0x80, "ifm_precision": 5, "ifm_stride_x": 6,
                        "ifm_stride_y": 30}, False),
]  # fmt: skip


@pytest.mark.parametrize(("operation", "mode", "registers", "fits"), SINGLES)
def test_operations_on_single_bytes_run_by_a_map(operation, mode, registers, fits):
    writer = Writer().map("ifm", (4, 5, 3), FIRST, 3).map("ifm2", (4, 5, 3), FIRST, 1).kernel()
    writer.map("ofm", (4, 5, 3), OUT, -2, bits=0x100).clamp().set(ofm_scale=(3 << 29, 31))
    writer.set(opa_scale=(77, 3), opb_scale=(-5 & 0xFFFF, 0), ifm2_scalar=-3 & 0xFFFF)
    writer.set(**registers).run(operation, mode)
    made = program(writer, [(FIRST, 120)], [(OUT, 240)])
    assert on_row(made, [fill(6, 120)], "map") == fits


@pytest.mark.parametrize("row", [row for row in ROWS if row.kind == "fast"], ids=str)
def test_every_row_packs_the_program_and_the_maps(row):
    writer = Writer().map("ifm", (4, 5, 3), FIRST, 3).kernel().clamp()
    writer.map("ofm", (4, 5, 3), OUT, -2, bits=0x100).set(ofm_scale=(3 << 29, 31)).run("pool", 1)
    made = program(writer, [(FIRST, 60)], [(OUT, 60)], bytes(64))
    assert steps(made, row.variant) == ["map"]


@pytest.mark.parametrize("row", [row for row in ROWS if row.runs_here()][:-1], ids=str)
def test_each_row_takes_the_kernels_of_its_instruction_set(row):
    (found,) = steps(convolution(), row.variant)
    names = {"amx": "avx512", "avx512vnni": "avx512", "i8mm": "i8mm"}
    assert found == f"s_convolve_s8_{names.get(row.variant, row.variant)}"


#: Registers of a pool over 4x5 pixels of 3 channels, and whether it is a sum of the image.
IMAGES = [
    ({}, 1, True), ({"ifm_precision": 0}, 1, True), ({"ifm_zero": 300}, 1, True),
    ({"ofm_precision": 0x105}, 1, True), ({"activation": 16}, 1, True), ({}, 0, False),
    ({"kernel_width": 4}, 1, True), ({"kernel_height": 3}, 1, True),
    ({"ofm_width": 2, "kernel_width": 4}, 1, False),
    ({"ofm_height": 2, "kernel_height": 3}, 1, False),
    ({"pad_left": 1, "kernel_width": 6}, 1, False), ({"pad_top": 1, "kernel_height": 5}, 1, False),
    ({"ifm_upscale": 1}, 1, False), ({"ifm_precision": 5, "ifm_stride_x": 6}, 1, False),
]  # fmt: skip


@pytest.mark.parametrize(("registers", "mode", "fits"), IMAGES)
@pytest.mark.parametrize("bricks", [False, True])
@pytest.mark.parametrize("rounding", [0x100, 0x4100, 0x8100])
def test_sums_of_images_of_bytes_have_a_loop(registers, mode, fits, bricks, rounding):
    for x in (fill(7, 400), np.full(400, -128, np.int8), np.full(400, 127, np.int8)):
        writer = Writer().map("ifm", (4, 5, 3), FIRST, 3, bricks=bricks).kernel(4, 5).clamp()
        writer.map("ofm", (1, 1, 3), OUT, -2, bits=rounding).set(ofm_scale=(1717986918, 35))
        if bricks:
            registers = {**registers, "ifm_precision": registers.get("ifm_precision", 1) | 1 << 6}
        made = program(writer.set(**registers).run("pool", mode), [(FIRST, 400)], [(OUT, 12)])
        assert on_row(made, [x], "sums") == fits


@pytest.mark.parametrize("channels", [1, 15, 16, 17, 31, 32, 47, 70])
@pytest.mark.parametrize("x", [-128, 127, None])
def test_sums_of_16_bits_have_the_bits_of_products(channels, x):
    """Outputs of 16 bits have no kernel of int8: each row sums products of its own."""
    weights = np.random.default_rng(channels).integers(-255, 256, (4, 1, 1, channels))
    weights[0], weights[1] = -255, 255
    stream = encode_weights(order_weights(weights))
    scales = encode_records([7, -7, 0, 1 << 20], [1 << 30] * 4, [40, 41, 42, 43])
    data = fill(8, 2 * channels) if x is None else np.full(2 * channels, x, np.int8)
    writer = Writer().map("ifm", (1, 2, channels), FIRST, -100).kernel().clamp(-32768, 32767)
    writer.map("ofm", (1, 2, 4), OUT, 5, dtype="int16")
    writer.set(weight_region=0, weight_base=0, weight_length=len(stream), scale_region=0)
    writer.set(scale_base=len(stream), scale_length=len(scales)).run("conv")
    made = program(writer, [(FIRST, 2 * channels)], [(OUT, 16)], stream + scales)
    got = run(made, data).view(np.int16).reshape(2, 4)
    sums = (data.astype(int) + 100).reshape(2, channels) @ weights.reshape(4, channels).T
    for at, value in np.ndenumerate(sums + np.array([7, -7, 0, 1 << 20])):
        product, shift = int(value) << 30, 40 + at[1]
        nudge = 1 << 30 if product >= 0 else -(1 << 30)
        assert got[at] == min(
            max((product + (1 << (shift - 1)) + nudge >> shift) + 5, -32768), 32767
        )
