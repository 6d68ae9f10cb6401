"""Programs of the Ethos-U written register by register, compared with numpy and Python integers."""

import struct

import numpy as np
import pytest
from ethosu_programs import (
    Writer,
    convolve,
    encode_records,
    encode_weights,
    order_weights,
    program,
    round_double,
    run,
)

from qemu_nn.errors import ModelError, Refused
from qemu_nn.ethosu.inspection import inspect

pytestmark = pytest.mark.caps

#: Offset of outputs in the arena.
OUT = 2048


def draw(seed, shape, dtype="int8"):
    limits = np.iinfo(dtype)
    return np.random.default_rng(seed).integers(limits.min, limits.max + 1, shape).astype(dtype)


def constants_of(*parts):
    """Return parts at multiples of 16 bytes, and the offset of each."""
    data, offsets = b"", []
    for part in parts:
        offsets.append(len(data))
        data += part + bytes(-len(part) % 16)
    return data, offsets


def records_for(channels, seed):
    """Return bias, mult, shift of each channel."""
    rng = np.random.default_rng(seed)
    bias = rng.integers(-4000, 4000, channels).tolist()
    mult = rng.integers(1 << 30, 1 << 31, channels).tolist()
    return bias, mult, rng.integers(34, 42, channels).tolist()


def finish(sums, records, zero):
    bias, mult, shift = records
    rounded = [
        [[round_double((int(v) + b) * m, s) for v, b, m, s in zip(pixel, bias, mult, shift)]
         for pixel in row] for row in sums
    ]  # fmt: skip
    return np.clip(np.array(rounded) + zero, -128, 127).astype(np.int8)


CONVOLUTIONS = {
    "1x1": {"shape": (3, 4, 5), "kernel": (1, 1), "outs": 3},
    "deep": {"shape": (2, 2, 40), "kernel": (1, 1), "outs": 19},
    "3x3": {"shape": (6, 5, 3), "kernel": (3, 3), "outs": 9, "pads": (1, 1, 1, 1)},
    "part kernel": {"shape": (6, 5, 18), "kernel": (3, 3), "outs": 9, "part": True},
    "strides": {"shape": (7, 9, 4), "kernel": (3, 2), "outs": 4, "stride": (2, 3)},
    "tall strides": {"shape": (9, 7, 4), "kernel": (2, 3), "outs": 4, "stride": (3, 2)},
    "dilation": {"shape": (8, 9, 4), "kernel": (3, 3), "outs": 4, "dilation": (2, 2)},
    "large kernel": {"shape": (12, 11, 2), "kernel": (10, 9), "outs": 2, "pads": (3, 2, 1, 1)},
    "blocks": {"shape": (2, 3, 7), "kernel": (1, 1), "outs": 21, "block": 8},
}


def write_convolution(x, weights, case, bricks, depthwise=False, zero=-5):
    """Return the writer and the constants of a convolution with an output zero point of 7."""
    outs, rows, columns, _ = weights.shape
    records = records_for(outs, 3)
    listed = order_weights(
        weights,
        case.get("block", 16),
        case.get("part", False),
        depthwise,
        case.get("dilation", (1, 1)),
    )
    stream, scales = encode_weights(listed), encode_records(*records)
    constants, (at, scale_at) = constants_of(stream, scales)
    sums = convolve(
        x,
        weights,
        zero,
        case.get("stride", (1, 1)),
        case.get("dilation", (1, 1)),
        case.get("pads", (0, 0, 0, 0)),
        depthwise,
    )
    writer = Writer().map("ifm", x.shape, 0, zero).map("ofm", sums.shape, OUT, 7, bricks=bricks)
    stride, dilation = case.get("stride", (1, 1)), case.get("dilation", (1, 1))
    before = case.get("pads", (0, 0, 0, 0))[:2]
    after = [
        max(0, (out - 1) * step + (k - 1) * gap + 1 - pad - size)
        for out, step, k, gap, pad, size in zip(
            sums.shape, stride, (rows, columns), dilation, before, x.shape
        )
    ]
    writer.kernel(rows, columns, stride, dilation, (*before, *after), case.get("part", False))
    writer.set(block_depth=case.get("block", 16), weight_region=0, scale_region=0).clamp()
    writer.set(weight_base=at, weight_length=len(stream))
    writer.set(scale_base=scale_at, scale_length=len(scales))
    writer.run("depthwise" if depthwise else "conv")
    return writer, constants, finish(sums, records, 7)


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_a_convolution_sums_scales_and_clamps(name):
    case = CONVOLUTIONS[name]
    x = draw(1, case["shape"])
    weights = draw(2, (case["outs"], *case["kernel"], case["shape"][2])).astype(int)
    writer, constants, wanted = write_convolution(x, weights, case, bricks=False)
    made = program(writer, [(0, x.size)], [(OUT, wanted.size)], constants)
    np.testing.assert_array_equal(run(made, x).view(np.int8), wanted.reshape(-1))


def test_bricks_hold_16_channels_of_a_row_together():
    case = {"shape": (3, 4, 5), "kernel": (1, 1), "outs": 19}
    x, weights = draw(1, case["shape"]), draw(2, (19, 1, 1, 5)).astype(int)
    writer, constants, wanted = write_convolution(x, weights, case, bricks=True)
    made = program(writer, [(0, x.size)], [(OUT, 3 * 2 * 4 * 16)], constants)
    bricks = run(made, x).view(np.int8).reshape(3, 2, 4, 16)
    np.testing.assert_array_equal(bricks[:, 0], wanted[:, :, :16])
    np.testing.assert_array_equal(bricks[:, 1, :, :3], wanted[:, :, 16:])
    assert not bricks[:, 1, :, 3:].any()


def test_one_pixel_of_bricks_has_a_gap_between_them():
    x = draw(26, (1, 1, 17))
    writer = Writer().map("ifm", x.shape, 0).map("ofm", (1, 1, 17), OUT, bits=0x100, bricks=True)
    writer.set(ofm_stride_c=64).kernel().clamp().set(ofm_scale=(1, 0)).run("pool", 0)
    got = run(program(writer, [(0, 17)], [(OUT, 65)]), x).view(np.int8)
    np.testing.assert_array_equal(got[[*range(16), 64]], x.reshape(-1))
    assert not got[16:64].any()


def test_multipliers_have_32_bits_without_a_sign(monkeypatch):
    monkeypatch.setattr(
        "test_ethosu_programs.records_for", lambda count, seed: ([5], [0x80000001], [37])
    )
    x, weights = draw(1, (2, 2, 3)), draw(2, (1, 1, 1, 3)).astype(int)
    writer, constants, wanted = write_convolution(x, weights, {}, False)
    made = program(writer, [(0, x.size)], [(OUT, wanted.size)], constants)
    np.testing.assert_array_equal(run(made, x).view(np.int8), wanted.reshape(-1))


@pytest.mark.parametrize("seed", range(40))
def test_every_row_has_the_bits_of_drawn_convolutions(seed):
    rng = np.random.default_rng(seed)
    depthwise = bool(rng.integers(2))
    kernel = tuple(rng.integers(1, 5, 2).tolist())
    sides = [int(rng.integers(k, k + 6)) for k in kernel]
    ins = int(rng.integers(1, 24))
    outs = ins if depthwise else int(rng.integers(1, 24))
    case = {"stride": tuple(rng.integers(1, 3, 2).tolist()), "block": 8 * int(rng.integers(1, 4))}
    case["pads"] = tuple(int(rng.integers(0, k)) for k in (*kernel, *kernel))
    case["part"] = bool(rng.integers(2)) and not depthwise
    x = draw(seed, (*sides, ins))
    weights = draw(seed + 1, (outs, *kernel, 1 if depthwise else ins)).astype(int)
    bricks = bool(rng.integers(2))
    writer, constants, wanted = write_convolution(x, weights, case, bricks, depthwise)
    rows, columns, _ = wanted.shape
    size = rows * -(-outs // 16) * columns * 16 if bricks else wanted.size
    made = program(writer, [(0, x.size)], [(OUT, size)], constants, arena=OUT + 65536)
    got = run(made, x).view(np.int8)
    if bricks:
        got = got.reshape(rows, -1, columns, 16).transpose(0, 2, 1, 3).reshape(rows, columns, -1)
        got = got[:, :, :outs]
    np.testing.assert_array_equal(got.reshape(-1), wanted.reshape(-1))


@pytest.mark.parametrize("seed", range(20))
def test_every_row_has_the_bits_of_drawn_sums_and_products(seed):
    rng = np.random.default_rng(seed)
    a, b, zeros = draw(seed, 97), draw(seed + 100, 97), rng.integers(-20, 21, 3).tolist()
    mult, shift = int(rng.integers(1 << 30, 1 << 31)), int(rng.integers(11, 14))
    out_mult, out_shift = int(rng.integers(1 << 30, 1 << 31)), int(rng.integers(47, 51))
    for operation, mode in ((1, 1), (1, 2), (0, 0)):
        out_shift = out_shift if operation else int(rng.integers(36, 42))
        writer = Writer().map("ifm", (1, 97, 1), 0, zeros[0], bits=mode << 8)
        writer.map("ifm2", (1, 97, 1), 512, zeros[1]).map(
            "ofm", (1, 97, 1), OUT, zeros[2], bits=256
        )
        writer.clamp(-100, 120).set(ofm_scale=(out_mult, out_shift), opa_scale=(mult, shift))
        writer.set(ifm2_broadcast=64 * int(rng.integers(2))).run("elementwise", operation)
        got = run(program(writer, [(0, 97), (512, 97)], [(OUT, 97)]), a, b).view(np.int8)
        assert len(np.unique(got)) > 3


@pytest.mark.parametrize("kernel", [(3, 3), (1, 9)])
def test_a_depthwise_convolution_has_one_input_channel_per_output(kernel):
    case = {"kernel": kernel, "pads": (0, kernel[1] // 2, 0, kernel[1] // 2)}
    x, weights = draw(4, (5, 6, 11)), draw(5, (11, *kernel, 1)).astype(int)
    writer, constants, wanted = write_convolution(x, weights, case, False, depthwise=True)
    made = program(writer, [(0, x.size)], [(OUT, wanted.size)], constants)
    np.testing.assert_array_equal(run(made, x).view(np.int8), wanted.reshape(-1))


def test_two_cores_share_the_channels_of_a_u65():
    x, weights = draw(1, (2, 3, 6)), draw(2, (7, 1, 1, 6)).astype(int)
    records = records_for(7, 3)
    parts = []
    for core in range(2):
        listed = order_weights(weights[core::2], (16 + 1 - core) // 2)
        parts += [encode_weights(listed), encode_records(*(each[core::2] for each in records))]
    constants, at = constants_of(*parts)
    writer = Writer().map("ifm", x.shape, 0, 2).map("ofm", (2, 3, 7), OUT, 1).kernel().clamp()
    writer.set(parallel=1, weight_region=0, scale_region=0)
    writer.set(weight_base=at[0], weight_length=len(parts[0]), scale_base=at[1])
    writer.set(scale_length=len(parts[1]), weight1_base=at[2], weight1_length=len(parts[2]))
    writer.set(scale1_base=at[3], scale1_length=len(parts[3])).run("conv")
    made = program(writer, [(0, x.size)], [(OUT, 42)], constants, target="ethos-u65-512")
    wanted = finish(convolve(x, weights, 2), records, 1)
    np.testing.assert_array_equal(run(made, x).view(np.int8), wanted.reshape(-1))


def test_weights_may_be_a_copy_of_constants_in_the_arena():
    x, weights = draw(1, (1, 1, 4)), draw(2, (3, 1, 1, 4)).astype(int)
    writer, constants, wanted = write_convolution(x, weights, {}, False)
    copied = Writer().set(source_region=0, target_region=1, source=0, target=512)
    copied.set(length=len(constants)).run("dma")
    copied.words += writer.words[:-1]
    copied.set(weight_region=1, weight_base=512).run("conv")
    made = program(copied, [(0, 4)], [(OUT, 3)], constants)
    np.testing.assert_array_equal(run(made, x).view(np.int8), wanted.reshape(-1))
    overwritten = Writer()
    overwritten.words = copied.words[:-3]
    overwritten.map("ofm", (1, 1, 4), 600, 7).set(ofm_scale=(1, 0)).run("pool", 0)
    overwritten.words += copied.words
    overwritten.map("ofm", (1, 1, 1), 512, 7).run("pool", 0)
    overwritten.run("conv")
    spoiled = program(overwritten, [(0, 4)], [(OUT, 3)], constants)
    with pytest.raises(
        ModelError, match="its weights at byte 512 of region 1 are no copy of const"
    ):
        inspect(spoiled.commands, spoiled.constants)


@pytest.mark.parametrize(("mode", "best"), [(0, np.max), (1, np.sum)])
def test_pooling_reduces_windows(mode, best):
    x = draw(6, (4, 6, 3))
    writer = Writer().map("ifm", x.shape, 0, 0).map("ofm", (2, 3, 3), OUT, 0, bits=0x100)
    writer.kernel(2, 2, (2, 2)).clamp()
    writer.set(ofm_scale=(1, 0) if mode == 0 else ((2**33 + 2**2) // 4, 33)).run("pool", mode)
    made = program(writer, [(0, x.size)], [(OUT, 18)])
    windows = x.astype(int).reshape(2, 2, 3, 2, 3).transpose(0, 2, 4, 1, 3).reshape(2, 3, 3, 4)
    wanted = best(windows, axis=3)
    if mode == 1:
        average = lambda v: round_double(int(v) * ((2**33 + 2**2) // 4), 33)  # noqa: E731
        wanted = np.vectorize(average)(wanted)
    np.testing.assert_array_equal(run(made, x).view(np.int8), wanted.reshape(-1))


def test_a_padded_average_divides_by_the_elements_inside():
    x = draw(8, (3, 3, 1))
    writer = Writer().map("ifm", x.shape, 0, 0).map("ofm", (3, 3, 1), OUT, 0, bits=0x100)
    writer.kernel(3, 3, pads=(1, 1, 1, 1)).clamp().set(ofm_scale=(1, 0)).run("pool", 1)
    got = run(program(writer, [(0, 9)], [(OUT, 9)]), x).view(np.int8).reshape(3, 3)
    padded = np.pad(x[:, :, 0].astype(float), 1, constant_values=np.nan)
    for y, x0 in np.ndindex(3, 3):
        mean = np.nanmean(padded[y : y + 3, x0 : x0 + 3])
        assert abs(got[y, x0] - mean) <= 0.5 + 1e-9


def elementwise(operation, a, b, out="int32", **more):
    """Return the output of one elementwise operation on maps of one row and one channel."""
    size = np.dtype(out).itemsize
    writer = Writer().map("ifm", (1, a.size, 1), 0, dtype=a.dtype, bits=more.get("mode", 0) << 8)
    writer.map("ifm2", (1, b.size, 1), 512, dtype=b.dtype).set(ifm2_broadcast=more.get("swap", 0))
    writer.map("ofm", (1, a.size, 1), OUT, dtype=out, bits=more.get("bits", 0x8100)).clamp()
    writer.set(ofm_scale=more.get("scale", (1, 0)), opa_scale=more.get("opa", (1, 0)))
    writer.set(opb_scale=more.get("opb", (1, 0))).run("elementwise", operation)
    made = program(writer, [(0, a.nbytes), (512, b.nbytes)], [(OUT, a.size * size)])
    return run(made, a, b).view(out)


A, B = draw(11, 40, "int16"), draw(12, 40, "int16")
WIDE = np.array([0, 1, -1, 2**31 - 1, -(2**31), 5, -6, 12345], np.int32)
SHIFTS = np.array([3, 1, 1, 30, 31, 0, 1, 4], np.int32)


@pytest.mark.parametrize(
    ("operation", "compute"),
    [
        (0, lambda a, b: a * b),
        (1, lambda a, b: a + b),
        (2, lambda a, b: a - b),
        (3, np.minimum),
        (4, np.maximum),
        (6, lambda a, b: abs(a)),
    ],
)
def test_elementwise_operations_of_16_bits(operation, compute):
    wanted = compute(A.astype(np.int64), B.astype(np.int64))
    np.testing.assert_array_equal(elementwise(operation, A, B), wanted)


def test_bit_6_swaps_the_operands():
    got = elementwise(2, A, B, swap=64)
    np.testing.assert_array_equal(got, B.astype(int) - A.astype(int))


def test_shifts_and_leading_zeros_of_32_bits():
    zeros = [32 - int(v & 0xFFFFFFFF).bit_length() for v in WIDE.tolist()]
    np.testing.assert_array_equal(elementwise(7, WIDE, SHIFTS), zeros)
    right = [(v + (1 << s >> 1)) >> s for v, s in zip(WIDE.tolist(), SHIFTS.tolist())]
    np.testing.assert_array_equal(elementwise(8, WIDE, SHIFTS), right)
    left = np.array([v << s for v, s in zip(WIDE.tolist(), SHIFTS.tolist())]).astype(np.int32)
    np.testing.assert_array_equal(elementwise(9, WIDE, SHIFTS), left)


def test_sums_of_32_bits_saturate():
    got = elementwise(1, WIDE, np.full(8, 2**31 - 1, np.int32))
    np.testing.assert_array_equal(got, np.clip(WIDE.astype(np.int64) + 2**31 - 1, None, 2**31 - 1))


def test_of_32_bit_operands_only_the_shift_scales():
    got = elementwise(0, WIDE, np.full(8, 3, np.int32), scale=(2**30, 31))
    wanted = [(v * 3 + (1 << 30)) >> 31 for v in WIDE.tolist()]
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("mode", [1, 2])
def test_one_operand_of_8_bits_is_scaled_by_32_bits(mode):
    a, b = draw(13, 30), draw(14, 30)
    got = elementwise(
        1, a, b, "int8", mode=mode, opa=(1518500250, 12), scale=(1 << 30, 49), bits=256
    )
    for x, y, result in zip(a.tolist(), b.tolist(), got.tolist()):
        x, y = (x, y) if mode == 1 else (y, x)
        product = x * 1518500250
        extra = (1 << 10) * (1 if product >= 0 else -1) if 12 > 11 else 0
        total = ((product + (1 << 11) + extra) >> 12) + (y << 19)
        assert result == max(-128, min(127, round_double(total << 30, 49)))


def test_a_table_of_8_bits_replaces_results():
    x, table = draw(15, 64), draw(16, 256)
    writer = Writer().set(source_region=0, target_region=0x103, source=0, target=22528 + 512)
    writer.set(length=256).run("dma")
    writer.map("ifm", (1, 64, 1), 0).map("ofm", (1, 64, 1), OUT, bits=0x100).kernel()
    writer.clamp(activation=18).set(ofm_scale=(1, 0)).run("pool", 0)
    got = run(program(writer, [(0, 64)], [(OUT, 64)], table.tobytes()), x).view(np.int8)
    np.testing.assert_array_equal(got, table[x.astype(int) + 128])


def test_the_lower_tile_of_an_output_has_its_own_base():
    x = draw(17, (4, 2, 3))
    writer = Writer().map("ifm", x.shape, 0).map("ofm", x.shape, OUT, bits=0x100).kernel().clamp()
    writer.set(ofm_height0=1, ofm_base2=OUT + 1024, ofm_scale=(1, 0)).run("pool", 0)
    got = run(program(writer, [(0, 24)], [(OUT, 6), (OUT + 1024, 18)]), x).view(np.int8)
    np.testing.assert_array_equal(got, x.reshape(-1))


def test_negative_strides_reverse_rows():
    x = draw(18, (4, 1, 2))
    writer = Writer().map("ifm", x.shape, 0).map("ofm", x.shape, OUT, bits=0x100).kernel().clamp()
    writer.set(ofm_base=OUT + 6, ofm_stride_y=((1 << 32) - 2, 0xFF), ofm_scale=(1, 0))
    got = run(program(writer.run("pool", 0), [(0, 8)], [(OUT, 8)]), x).view(np.int8)
    np.testing.assert_array_equal(got.reshape(4, 2), x[::-1, 0])


def test_a_u85_transposes_its_output_and_reads_a_chaining_buffer():
    x = draw(19, (2, 3, 4))
    writer = Writer().map("ifm", x.shape, 0).kernel().clamp()
    writer.map("ofm", x.shape, 0, bits=0x8100, region=3).set(ofm_scale=(1, 1 << 13)).run("pool", 3)
    writer.set(ifm_precision=1 | 0x8000, ifm_region=3)
    writer.map("ofm", x.shape, OUT, bits=0x100 | 6 << 11)
    writer.set(ofm_stride_x=3, ofm_stride_y=6, ofm_height0=4, ofm_width0=2).run("pool", 3)
    made = program(writer, [(0, 24)], [(OUT, 24)], target="ethos-u85-256")
    got = run(made, x).view(np.int8).reshape(4, 2, 3)
    np.testing.assert_array_equal(got, x.transpose(2, 0, 1))


def test_a_u85_resizes_to_the_nearest_element():
    x = draw(20, (2, 3, 2))
    writer = Writer().map("ifm", x.shape, 0).map("ofm", (4, 6, 2), OUT, bits=0x100).clamp()
    writer.set(resize_x_n=4, resize_y_n=4, resize_x_offset=-1, resize_y_offset=-1)
    writer.set(resize_x=(2, 0), resize_y=(2, 0), ofm_scale=(1, 16 | 3 << 13)).run("resize", 2)
    got = run(program(writer, [(0, 12)], [(OUT, 48)], target="ethos-u85-256"), x).view(np.int8)
    wanted = x.repeat(2, 0).repeat(2, 1)
    np.testing.assert_array_equal(got, wanted.reshape(-1))


def test_a_u85_compares_with_all_bits():
    a, b = draw(21, 30), draw(22, 30)
    for mode, compute in ((16, np.equal), (17, np.not_equal), (18, np.greater_equal)):
        writer = Writer().map("ifm", (1, 30, 1), 0).map("ifm2", (1, 30, 1), 512).clamp()
        writer.map("ofm", (1, 30, 1), OUT, bits=0x100).set(ofm_scale=(1, 1 << 13))
        writer.set(opa_scale=(1, 1 << 13), opb_scale=(1, 1 << 13)).run("elementwise", mode)
        made = program(writer, [(0, 30), (512, 30)], [(OUT, 30)], target="ethos-u85-256")
        np.testing.assert_array_equal(run(made, a, b).view(np.int8), -compute(a, b).astype(int))


@pytest.mark.parametrize("index", [2, 4, -1100])
def test_an_index_outside_of_its_region_ends_the_run(index):
    writer = Writer().set(source_region=1 | 1 << 11 | 1 << 9, target_region=1, source=4080)
    writer.set(target=64, length=4, size0=1, index_region=1, index=0, source_row=4, target_row=4)
    made = program(writer.run("dma"), [(0, 4), (4080, 16)], [(64, 4)], target="ethos-u85-256")
    given = np.array([index], np.int32), np.arange(4, dtype=np.int32)
    if index == 2:
        assert run(made, *given).view(np.int32) == [2]
        return
    with pytest.raises(Refused, match="failed"):
        run(made, *given)


def joined_pools(mode, first_format=64, second_format=16, second_rows=4):
    """Return a program of two 1x2 windows of 4x6 elements that share their accumulators."""
    writer = Writer().map("ifm", (4, 3, 5), 0).clamp().map("ofm", (4, 1, 5), OUT, bits=0x100)
    writer.kernel(1, 2).set(ifm_stride_y=30, ofm_scale=(1, 1 << 13), acc_format=first_format)
    writer.run("pool", mode)
    writer.set(ifm_base=10, ofm_height=second_rows, acc_format=second_format).run("pool", mode)
    return program(writer, [(0, 120)], [(OUT, 20)], target="ethos-u85-256")


@pytest.mark.parametrize(("mode", "reduce"), [(0, np.max), (3, np.sum), (5, np.min)])
def test_an_operation_goes_on_with_the_accumulators_of_the_one_before(mode, reduce):
    x = draw(23, (4, 6, 5))
    wanted = reduce(x[:, :4].astype(int), axis=1).clip(-128, 127)
    got = run(joined_pools(mode), x).view(np.int8)
    np.testing.assert_array_equal(got, wanted.reshape(-1))
    alone = reduce(x[:, 2:4].astype(int), axis=1).clip(-128, 127)
    got = run(joined_pools(mode, second_format=0), x).view(np.int8)
    np.testing.assert_array_equal(got, alone.reshape(-1))


def test_a_convolution_goes_on_with_sums_and_adds_its_bias_once():
    x, weights = draw(24, (3, 4, 16)), draw(25, (16, 1, 1, 16)).astype(int)
    padded = np.pad(weights[:, 0, 0], ((0, 0), (0, 16))).reshape(16, 4, 8)
    stream = encode_weights(padded.transpose(1, 0, 2).reshape(-1))
    bias = list(range(-4000, 4000, 500))
    records = b"".join(struct.pack("<iIBB", b, 1 << 30, 36, 0) for b in bias)
    constants, (at, scale_at) = constants_of(stream, records)
    writer = Writer().map("ifm", x.shape, 0, 3).map("ofm", (3, 4, 16), OUT, 7).kernel().clamp()
    writer.set(weight_base=at, weight_length=len(stream), weight_region=0, scale_region=0)
    writer.set(scale_base=scale_at, scale_length=len(records), ofm_scale=(0, 0))
    writer.set(acc_format=1 << 8 | 64).run("conv").set(acc_format=1 << 8 | 16).run("conv")
    made = program(writer, [(0, x.size)], [(OUT, 192)], constants, target="ethos-u85-256")
    wanted = finish(2 * convolve(x, weights, 3), (bias, [1 << 30] * 16, [36] * 16), 7)
    np.testing.assert_array_equal(run(made, x).view(np.int8), wanted.reshape(-1))


@pytest.mark.parametrize(
    ("mode", "changed", "words"),
    [
        (0, {"second_rows": 3}, "no operation before it keeps accumulators of its shape"),
        (0, {"first_format": 0}, "no operation before it keeps accumulators of its shape"),
        (0, {"first_format": 16}, "no operation before it keeps accumulators of its shape"),
        (1, {}, "operations of its kind do not keep accumulators"),
        (0, {"first_format": 32}, "its accumulators start as no operation of its kind does"),
        (0, {"first_format": 48}, "its accumulators start as no operation of its kind does"),
    ],
)
def test_accumulators_without_an_origin_are_refused(mode, changed, words):
    with pytest.raises(ModelError, match=words):
        assert joined_pools(mode, **changed).needs


@pytest.mark.parametrize("depthwise", [False, True])
@pytest.mark.parametrize("channel", [0, 1])
@pytest.mark.parametrize("end", [-(2**31), 2**31 - 1])
def test_a_sum_with_its_bias_may_leave_32_bits(depthwise, channel, end):
    x, weights = draw(27, (2, 3, 2)), np.array([[90, 80], [70, -60]]).reshape(2, 1, 1, 2)
    if depthwise:
        weights = weights[:, :, :, :1]
    bias = [0, 0]
    bias[channel] = end
    stream = encode_weights(order_weights(weights, depthwise=depthwise))
    records = encode_records(bias, [1 << 30] * 2, [33] * 2)
    constants, (at, scale_at) = constants_of(stream, records)
    writer = Writer().map("ifm", x.shape, 0).map("ofm", (2, 3, 2), OUT).kernel().clamp()
    writer.set(weight_base=at, weight_length=len(stream), weight_region=0, scale_region=0)
    writer.set(scale_base=scale_at, scale_length=len(records))
    writer.run("depthwise" if depthwise else "conv")
    got = run(program(writer, [(0, 12)], [(OUT, 12)], constants), x).view(np.int8)
    wanted = finish(
        convolve(x, weights, 0, depthwise=depthwise), (bias, [1 << 30] * 2, [33] * 2), 0
    )
    np.testing.assert_array_equal(got.reshape(wanted.shape), wanted)
