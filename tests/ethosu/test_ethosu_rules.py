"""Rules of the Ethos-U that few files of vela decide, compared with Python's integers."""

import numpy as np
import pytest
from ethosu_oracle import rounded
from ethosu_programs import Writer, convolve, encode_records, encode_weights, program, run
from ethosu_weights import Order
from ethosu_weights import encode_records as encode_records_u85

pytestmark = pytest.mark.caps

#: Offsets of the second input and of the output in the arena.
SECOND, OUT = 1024, 2048


def drawn(seed, shape, dtype="int8", limits=None):
    low, high = limits or (np.iinfo(dtype).min, np.iinfo(dtype).max)
    return np.random.default_rng(seed).integers(low, high, shape, dtype, endpoint=True)


def saturated(values, dtype="int32"):
    limits = np.iinfo(dtype)
    return np.clip(np.array(values, object), limits.min, limits.max).astype(dtype)


def scale_register(mult, shift, rounding=0, earlier=0):
    return (mult, shift | earlier << 6 | rounding << 13)


def single(x, out, write, dtype="int8", target="ethos-u85-256", constants=b"", bits=0x100):
    """Run one operation on an input of one row; write: sets registers and starts it."""
    x = np.asarray(x)
    writer = Writer().map("ifm", (1, *x.shape), 0, dtype=x.dtype).kernel().clamp()
    writer.map("ofm", (1, *out), OUT, dtype=dtype, bits=bits).set(ofm_scale=(1, 1 << 13))
    write(writer)
    nbytes = int(np.prod(out)) * np.dtype(dtype).itemsize
    made = program(writer, [(0, x.nbytes)], [(OUT, nbytes)], constants, target=target)
    return run(made, x).view(dtype).reshape(out)


SCALES = [
    (1 << 30, 31),
    (1518500250, 35),
    (1073741825, 62),
    (7, 3),
    (1 << 30, 0),
    (3, 0),
    (99991, 20),
]


@pytest.mark.parametrize("rounding", range(6))
@pytest.mark.parametrize(("mult", "shift"), SCALES)
def test_an_output_is_rounded_by_each_rule(rounding, mult, shift):
    values = [0, 1, -1, 2, -2, 3, -3, 255, -256, 65535, -65537, 2**24 + 1, -(2**24) - 1]
    values += [2**29, -(2**29), 2**29 - 1, -(2**29) - 1, 2**31 - 1, -(2**31)]
    values += drawn(1, 40, "int32").tolist() + [k << (shift // 2) for k in (-5, -3, 3, 5)]
    x = saturated(values).reshape(-1, 1)
    scale = scale_register(mult, shift, rounding)
    got = single(x, x.shape, lambda w: w.set(ofm_scale=scale).run("pool", 3), "int32")
    wanted = saturated([rounded(int(v), mult, shift, rounding) for v in x.ravel()])
    np.testing.assert_array_equal(got.ravel(), wanted)


@pytest.mark.parametrize("earlier", [15, 20, 30])
@pytest.mark.parametrize("rounding", [0, 2])
def test_double_rounding_counts_an_earlier_shift(rounding, earlier):
    shift = 32 - earlier
    x = drawn(2, (60, 1), "int16")
    for near in (shift - 1, shift, shift + 9):
        scale = scale_register(1 << 14, near, rounding, earlier)
        got = single(x, x.shape, lambda w, s=scale: w.set(ofm_scale=s).run("pool", 3), "int32")
        wanted = saturated([rounded(int(v), 1 << 14, near, rounding, earlier) for v in x.ravel()])
        np.testing.assert_array_equal(got.ravel(), wanted)


def pair(mode, a, b, out="int32", target="ethos-u85-256", **registers):
    """Return the output of an elementwise operation on two maps of one row."""
    writer = Writer().map("ifm", (1, a.size, 1), 0, dtype=a.dtype).clamp(-32768, 32767)
    writer.map("ifm2", (1, b.size, 1), SECOND, dtype=b.dtype)
    bits = 0x100 if target.startswith("ethos-u85") else 0x8100
    writer.map("ofm", (1, a.size, 1), OUT, dtype=out, bits=bits)
    writer.set(ofm_scale=(1, 0), opa_scale=(1, 0), opb_scale=(1, 0)).set(**registers)
    ends = [(0, a.nbytes), (SECOND, b.nbytes)], [(OUT, a.size * np.dtype(out).itemsize)]
    return run(program(writer.run("elementwise", mode), *ends, target=target), a, b).view(out)


BITS = {
    "shift left": (9, lambda a, b: np.int64(a) << (b & 31)),
    "shift right logically": (10, lambda a, b: (a & 0xFFFFFFFF) >> (b & 31)),
    "divide": (11, lambda a, b: int(a / b) if b else 0),
    "equal": (16, lambda a, b: -(a == b)),
    "not equal": (17, lambda a, b: -(a != b)),
    "greater or equal": (18, lambda a, b: -(a >= b)),
    "greater": (19, lambda a, b: -(a > b)),
    "and": (33, lambda a, b: a & b),
    "or": (34, lambda a, b: a | b),
    "xor": (35, lambda a, b: a ^ b),
    "and not": (42, lambda a, b: a & ~b),
    "least": (3, min),
    "greatest": (4, max),
}


@pytest.mark.parametrize("name", BITS)
def test_operations_of_the_u85_on_32_bits(name):
    mode, compute = BITS[name]
    a, b = drawn(3, 60, "int32"), drawn(4, 60, "int32")
    if "shift" in name:
        b = np.arange(60, dtype=np.int32) % 32
    else:
        b[:6] = a[:6]
    b[7], a[8], b[8] = 0 if name == "divide" else b[7], -7, 2
    wanted = [int(compute(int(x), int(y))) for x, y in zip(a, b)]
    wrapped = np.array([(v + 2**31) % 2**32 - 2**31 for v in wanted])
    got = pair(mode, a, b)
    if name == "shift right logically":
        wrapped = saturated(wanted)
    np.testing.assert_array_equal(got, wrapped)


def test_shifts_by_32_bits_and_more_leave_nothing():
    a, b = np.array([5, -5, 5, 5], np.int32), np.array([32, 40, -1, 31], np.int32)
    np.testing.assert_array_equal(pair(9, a, b), [0, 0, 0, -(2**31)])
    np.testing.assert_array_equal(pair(10, a, b), [0, 0, 0, 0])


def test_complement_and_absolute_value():
    x = drawn(5, (40, 1), "int32")
    got = single(x, x.shape, lambda w: w.run("elementwise", 36), "int32")
    np.testing.assert_array_equal(got, ~x)
    scale = {"opa_scale": scale_register(1 << 30, 31, 1), "ofm_scale": (1, 1 << 13)}
    got = single(x, x.shape, lambda w: w.set(**scale).run("elementwise", 6), "int32")
    wanted = [abs(rounded(int(v), 1 << 30, 31, 1)) for v in x.ravel()]
    np.testing.assert_array_equal(got.ravel(), wanted)


@pytest.mark.parametrize(("rounding", "number"), [(1, 1), (4, 4), (5, 5), (0, 1)])
def test_a_right_shift_rounds_as_the_output_says(rounding, number):
    a = np.array([-9, -8, -7, -6, -5, -1, 0, 1, 5, 6, 7, 8, 9, 100], np.int32)
    b = np.array([1, 2, 1, 2, 1, 3, 4, 1, 1, 2, 1, 2, 1, 0], np.int32)
    got = pair(8, a, b, ofm_scale=scale_register(1, 0, rounding))
    wanted = [rounded(int(x), 1, int(y), number) for x, y in zip(a, b)]
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("mode", [1, 2])
def test_both_operands_of_a_u85_are_scaled_before_the_sum(mode):
    a, b = drawn(6, 50, "int8"), drawn(7, 50, "int8")
    first, second = (1518500250, 15, 0, 20), (1 << 30, 12, 1, 0)
    got = pair(
        mode, a, b, "int16", opa_scale=scale_register(*first), opb_scale=scale_register(*second),
        ofm_scale=scale_register(1 << 30, 44, 0), ifm_zero=3, ifm2_zero=-9,
    )  # fmt: skip
    sums = [
        rounded(int(x) - 3, *first) + (rounded(int(y) + 9, *second) * (1 if mode == 1 else -1))
        for x, y in zip(a, b)
    ]
    np.testing.assert_array_equal(got, [rounded(v, 1 << 30, 44, 0) for v in sums])


@pytest.mark.parametrize("target", ["ethos-u55-128", "ethos-u85-256"])
def test_a_leaky_rectifier_scales_negative_numbers(target):
    x = drawn(8, (50, 1), "int8")
    slopes = {"opb_scale": scale_register(3 << 26, 31), "opa_scale": scale_register(1 << 30, 30)}
    old = target == "ethos-u55-128"
    scale = {"ofm_scale": (3 << 26, 31)} if old else {**slopes, "ofm_scale": (1, 1 << 13)}
    got = single(
        x, x.shape, lambda w: w.set(ifm_zero=4, ofm_zero=4, **scale).run("elementwise", 5),
        target=target,
    )  # fmt: skip
    values = [int(v) - 4 for v in x.ravel()]
    wanted = [v if v >= 0 else rounded(v, 3 << 26, 31, 0) for v in values]
    np.testing.assert_array_equal(got.ravel(), np.clip(np.array(wanted) + 4, -128, 127))


@pytest.mark.parametrize("mode", [3, 4])
def test_extremes_of_a_u55_leave_the_scales_of_sums_out(mode):
    a, b = drawn(9, 30, "int16"), drawn(10, 30, "int16")
    got = pair(mode, a, b, "int16", "ethos-u55-128", opa_scale=(5, 0), opb_scale=(9, 0))
    np.testing.assert_array_equal(got, (np.minimum if mode == 3 else np.maximum)(a, b))


def test_sums_of_a_u55_multiply_both_operands_by_16_bits():
    a, b = drawn(11, 30, "int8"), drawn(12, 30, "int8")
    registers = {"opa_scale": (0x1FFFF, 0), "opb_scale": (3, 0), "ofm_scale": (1 << 30, 40)}
    got = pair(1, a, b, "int16", "ethos-u55-128", ofm_precision=0x103, **registers)
    wanted = [rounded(int(x) * 0xFFFF + int(y) * 3, 1 << 30, 40, 0) for x, y in zip(a, b)]
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16"])
def test_a_scalar_is_the_second_operand(dtype):
    x = drawn(13, 30, dtype)
    scalar = -77 if dtype.startswith("i") else 200
    writer = Writer().map("ifm", (1, 30, 1), 0, 5, dtype=dtype).clamp(-32768, 32767)
    writer.map("ifm2", (1, 1, 1), 0, 7, dtype=dtype).map(
        "ofm", (1, 30, 1), OUT, dtype="int32", bits=0x8100
    )
    writer.set(ifm2_broadcast=0x80, ifm2_scalar=scalar, ofm_scale=(1, 0)).run("elementwise", 0)
    got = run(program(writer, [(0, x.nbytes)], [(OUT, 120)]), x).view(np.int32)
    np.testing.assert_array_equal(got, (x.astype(int) - 5) * (scalar - 7))


@pytest.mark.parametrize("broadcast", range(8))
@pytest.mark.parametrize("which", ["ifm", "ifm2"])
def test_an_operand_is_repeated_along_axes(broadcast, which):
    shape, mask = (3, 4, 5), [broadcast & 1, broadcast & 2, broadcast & 4]
    small = tuple(1 if m else n for n, m in zip(shape, mask))
    shapes = {"ifm": shape, "ifm2": shape, which: small}
    a, b = drawn(14, shapes["ifm"]), drawn(15, shapes["ifm2"])
    writer = Writer().map("ofm", shape, OUT, dtype="int32", bits=0x100).clamp()
    writer.map("ifm", a.shape, 0).map("ifm2", b.shape, SECOND).set(ofm_scale=(1, 1 << 13))
    writer.set(**{f"{which}_broadcast": broadcast}).run("elementwise", 0)
    made = program(writer, [(0, a.size), (SECOND, b.size)], [(OUT, 240)], target="ethos-u85-256")
    got = run(made, a, b).view(np.int32).reshape(shape)
    np.testing.assert_array_equal(got, a.astype(int) * b)


@pytest.mark.parametrize("reverse", range(4))
@pytest.mark.parametrize(
    ("number", "axes"), [(0, "hwc"), (1, "whc"), (2, "hcw"), (3, "wch"), (6, "chw"), (7, "cwh")]
)
def test_an_output_is_reversed_and_transposed(number, axes, reverse):
    x = drawn(16, (2, 3, 4))
    stored = tuple("hwc".index(axis) for axis in axes)
    computed = np.flip(x, reverse - 1) if reverse else x
    wanted = computed.transpose(stored)
    rows, columns, channels = wanted.shape
    writer = Writer().map("ifm", x.shape, 0).kernel().clamp().set(ofm_scale=(1, 1 << 13))
    writer.map("ofm", x.shape, OUT, bits=0x100 | reverse << 9 | number << 11)
    writer.set(ofm_stride_x=channels, ofm_stride_y=columns * channels)
    writer.set(ofm_height0=rows, ofm_height1=rows, ofm_width0=columns).run("pool", 3)
    got = run(program(writer, [(0, 24)], [(OUT, 24)], target="ethos-u85-256"), x).view(np.int8)
    np.testing.assert_array_equal(got.reshape(wanted.shape), wanted)


@pytest.mark.parametrize("mode", [6, 7])
def test_the_place_of_the_first_greatest_element(mode):
    x = drawn(17, (4, 4, 3), limits=(-3, 3))
    axis = 1 if mode == 6 else 0
    writer = Writer().map("ifm", x.shape, 0, -1).clamp(-32768, 32767)
    shape = (4, 1, 3) if mode == 6 else (1, 4, 3)
    writer.map("ofm", shape, OUT, dtype="int32", bits=0x100).set(ofm_scale=(1, 16 | 5 << 13))
    writer.kernel(*((1, 4) if mode == 6 else (4, 1))).run("pool", mode)
    got = run(program(writer, [(0, 48)], [(OUT, 48)], target="ethos-u85-256"), x).view(np.int32)
    np.testing.assert_array_equal(got, x.argmax(axis).ravel())


def test_a_sum_over_channels_and_a_window():
    x = drawn(18, (4, 6, 5))
    writer = Writer().map("ifm", x.shape, 0, 2).kernel(2, 3, (2, 3)).clamp()
    writer.map("ofm", (2, 2, 1), OUT, dtype="int32", bits=0x100).set(ofm_scale=(1, 0))
    got = run(program(writer.run("pool", 2), [(0, 120)], [(OUT, 16)]), x).view(np.int32)
    blocks = (x.astype(int) - 2).reshape(2, 2, 2, 3, 5).sum((1, 3, 4))
    np.testing.assert_array_equal(got.reshape(2, 2), blocks)


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("rounding", range(6))
def test_an_average_of_a_u85_divides_by_what_is_inside(rounding, side):
    x, kernel = drawn(19, (3, 4, 2)), 2 * side + 1
    writer = Writer().map("ifm", x.shape, 0, 1).kernel(kernel, kernel, pads=(side,) * 4).clamp()
    writer.map("ofm", (3, 4, 2), OUT, dtype="int16", bits=0x100)
    writer.set(ofm_scale=scale_register(1, 0, rounding)).run("pool", 1)
    got = run(program(writer, [(0, 24)], [(OUT, 48)], target="ethos-u85-256"), x).view(np.int16)
    for (y, column, c), value in np.ndenumerate(got.reshape(3, 4, 2)):
        rows = slice(max(0, y - side), y + side + 1)
        columns = slice(max(0, column - side), column + side + 1)
        window = x[rows, columns, c].astype(int) - 1
        k = (window.size - 1).bit_length()
        mult = ((1 << (30 + k)) + (1 << k)) // window.size
        assert value == np.clip(rounded(int(window.sum()), mult, 30 + k, rounding), -128, 127)


@pytest.mark.parametrize(("upscale", "zero"), [(1, 3), (2, 3)])
def test_an_input_is_spread_over_twice_the_rows(upscale, zero):
    x = drawn(20, (2, 3, 2))
    writer = Writer().map("ifm", x.shape, 0, zero).kernel(2, 2, pads=(0, 0, 1, 1)).clamp()
    writer.map("ofm", (4, 6, 2), OUT, dtype="int16", bits=0x100).set(ifm_upscale=upscale)
    writer.set(ofm_scale=(1, 1 << 13)).run("pool", 3)
    got = run(program(writer, [(0, 12)], [(OUT, 96)], target="ethos-u85-256"), x).view(np.int16)
    wide = np.zeros((5, 7, 2), int)
    for y, column in np.ndindex(4, 6):
        if upscale == 1 or not (y % 2 or column % 2):
            wide[y, column] = x[y // 2, column // 2].astype(int) - zero
    sums = wide[:-1, :-1] + wide[1:, :-1] + wide[:-1, 1:] + wide[1:, 1:]
    np.testing.assert_array_equal(got.reshape(4, 6, 2), sums.clip(-128, 127))


@pytest.mark.parametrize("offset", [-3, 0, 2])
def test_bilinear_resizing_weighs_four_elements(offset):
    x = drawn(21, (3, 4, 2))
    writer = Writer().map("ifm", x.shape, 0).map("ofm", (5, 9, 2), OUT, dtype="int16", bits=0x100)
    writer.clamp().set(resize_x_n=8, resize_y_n=4, resize_x_offset=offset, resize_y_offset=offset)
    writer.set(resize_x=(3, 0), resize_y=(1, 1), ofm_scale=(1, 16 + 5 | 3 << 13)).run("resize", 0)
    got = run(program(writer, [(0, 24)], [(OUT, 180)], target="ethos-u85-256"), x).view(np.int16)
    for (y, column, c), value in np.ndenumerate(got.reshape(5, 9, 2)):
        (iy, fy), (ix, fx) = divmod(y * 5 + offset, 4), divmod(column * 3 + offset, 8)
        rows, columns = (np.clip([i, i + 1], 0, n - 1) for i, n in ((iy, 3), (ix, 4)))
        weights = np.outer([4 - fy, fy], [8 - fx, fx])
        total = int((weights * x[np.ix_(rows, columns)][:, :, c]).sum())
        assert value == np.clip(rounded(total, 1, 5, 3), -128, 127)


def table_bytes(values, dtype):
    return np.asarray(values).astype(dtype).tobytes()


def with_table(x, constants, activation, out, slot=0, low=-32768, high=32767):
    def write(writer):
        writer.set(
            source_region=0, target_region=0x103, source=0, target=slot, length=len(constants)
        )
        writer.run("dma").set(activation=activation, low=low, high=high).run("pool", 3)

    return single(x, x.shape, write, out, constants=constants)


def test_a_table_of_16_bits_interpolates():
    x = np.concatenate([drawn(22, 60, "int16"), [-32768, 32767, 0, -1, 127, 128]]).astype(np.int16)
    base, slope = drawn(23, 512, "int16"), drawn(24, 512, "int16", (-99, 99))
    constants = table_bytes(np.stack([base, slope], 1), "<i2")
    place, rest = (x.astype(int) + 32768) >> 7, (x.astype(int) + 32768) & 127
    step = slope[place].astype(int) * rest
    got = with_table(x.reshape(-1, 1), constants, 8, "int16").ravel()
    wanted = (base[place] + ((step + 64) >> 7) + 32768) % 65536 - 32768
    np.testing.assert_array_equal(got, wanted)
    got = with_table(x.reshape(-1, 1), constants, 9, "int32").ravel()
    np.testing.assert_array_equal(got, base[place].astype(int) * 128 + step)


@pytest.mark.parametrize(
    ("code", "dtype", "element", "slot"),
    [
        *((1, "uint8", "uint8", slot) for slot in (0, 7)),
        *((4, "int8", "int8", slot) for slot in (0, 7)),
        *((5, "int8", "<i2", slot) for slot in (0, 3)),
        *((7, "int8", "<i4", slot) for slot in (0, 1)),
    ],
)
def test_a_table_of_bytes_has_an_entry_for_each(code, dtype, element, slot):
    x = np.arange(256).astype(dtype).reshape(-1, 1)
    values = drawn(25, 256, np.dtype(element).name)
    size = values.nbytes
    constants = table_bytes(values, element)
    low, high = (0, 255) if element == "uint8" else (-32768, 32767)
    out = np.dtype(element).name
    got = with_table(x, constants, code | slot << 5, out, slot * size, low, high).ravel()
    index = x.ravel().astype(int) + (0 if dtype == "uint8" else 128)
    np.testing.assert_array_equal(got, values[index])


def test_elements_of_8_bits_saturate_32_bits():
    x = np.arange(-128, 128).astype(np.int8).reshape(-1, 1)
    got = single(x, x.shape, lambda w: w.set(ofm_scale=(1 << 30, 0)).run("pool", 3), "int32")
    np.testing.assert_array_equal(got.ravel(), saturated([int(v) << 30 for v in x.ravel()]))


@pytest.mark.parametrize("channels", [5, 16])
def test_the_second_input_may_be_the_weights(channels):
    a, b = drawn(26, (2, 3, 4)), drawn(27, (1, channels, 4))
    writer = Writer().map("ifm", a.shape, 0, -3).map("ifm2", b.shape, SECOND, 7).kernel().clamp()
    writer.map("ofm", (2, 3, channels), OUT, dtype="int32", bits=0x100).set(ofm_scale=(1, 0))
    ends = [(0, a.size), (SECOND, b.size)], [(OUT, 24 * channels)]
    made = program(writer.run("conv", 1), *ends, target="ethos-u85-256")
    got = run(made, a, b).view(np.int32).reshape(2, 3, channels)
    np.testing.assert_array_equal(got, (a.astype(int) + 3) @ (b[0].astype(int) - 7).T)


@pytest.mark.parametrize(("mode", "end"), [(0, -(2**31)), (5, 2**31 - 1)])
def test_extremes_of_32_bits_begin_at_the_end_of_the_range(mode, end):
    x = np.full((2, 3), end, np.int32)
    got = single(x, x.shape, lambda w: w.run("pool", mode), "int32")
    np.testing.assert_array_equal(got, x)


def test_a_wider_output_may_overlap_its_input():
    x = drawn(28, (3, 4, 1))
    writer = Writer().map("ifm", x.shape, 4).kernel().clamp()
    writer.map("ofm", x.shape, 0, dtype="int16", bits=0x100).set(ofm_scale=(1, 0)).run("pool", 0)
    got = run(program(writer, [(4, 12)], [(0, 24)]), x).view(np.int16)
    np.testing.assert_array_equal(got, x.ravel())


def test_a_maximum_may_leave_out_rows_and_columns():
    x = drawn(29, (5, 7, 3))
    for dilation in ((2, 1), (1, 2), (2, 2)):
        sides = 5 - dilation[0], 7 - dilation[1]
        writer = Writer().map("ifm", x.shape, 0).kernel(2, 2, dilation=dilation).clamp()
        writer.map("ofm", (*sides, 3), OUT, bits=0x100).set(ofm_scale=(1, 0)).run("pool", 0)
        nbytes = sides[0] * sides[1] * 3
        got = run(program(writer, [(0, 105)], [(OUT, nbytes)]), x).view(np.int8)
        parts = [
            x[y : y + sides[0], c : c + sides[1]]
            for y in (0, dilation[0])
            for c in (0, dilation[1])
        ]
        np.testing.assert_array_equal(got.reshape(*sides, 3), np.max(parts, axis=0))


@pytest.mark.parametrize("mode", [0, 1])
def test_results_of_8_bits_round_once_if_the_output_says_so(mode):
    a, b = drawn(30, 200), drawn(31, 200)
    scale = {"ofm_scale": (1 << 30, 36 if mode == 0 else 33), "low": -128, "high": 127}
    got = pair(mode, a, b, "int8", "ethos-u55-128", **scale)
    sums = a.astype(int) * b if mode == 0 else a.astype(int) + b
    wanted = [rounded(int(v), 1 << 30, scale["ofm_scale"][1], 1) for v in sums]
    np.testing.assert_array_equal(got, np.clip(wanted, -128, 127))


@pytest.mark.parametrize(("mode", "compute"), [(3, min), (4, max), (19, lambda a, b: -(a > b))])
def test_extremes_and_comparisons_of_a_u85_scale_both_operands(mode, compute):
    a, b = drawn(32, 50), drawn(33, 50)
    first, second = (1518500250, 24, 0, 20), (1 << 30, 25, 0, 20)
    scales = {"opa_scale": scale_register(*first), "opb_scale": scale_register(*second)}
    got = pair(mode, a, b, ofm_scale=scale_register(1, 0, 1), **scales)
    pairs = [(rounded(int(x), *first), rounded(int(y), *second)) for x, y in zip(a, b)]
    np.testing.assert_array_equal(got, [compute(x, y) for x, y in pairs])


def extremes(seed, bits, mult_bits):
    """Return biases, multipliers and shifts at the ends of their ranges, and between."""
    rng = np.random.default_rng(seed)
    count = 240
    powers = rng.integers(0, bits - 1, count)
    powers[::2] = rng.integers(bits - 12, bits - 1, count // 2)
    powers = [int(rng.choice((-1, 1))) << int(power) for power in powers]
    bias = [p + int(rng.integers(-70000, 70000)) for p in powers]
    bias[:4] = [-(1 << bits - 1), (1 << bits - 1) - 1, -(1 << bits - 1) + 65537, 65535]
    limit = 1 << bits - 1
    bias = [min(max(b, -limit), limit - 1) for b in bias]
    mult = rng.integers(1 << mult_bits - 1, 1 << mult_bits, count).tolist()
    mult[4:20:2] = [0, 1, (1 << mult_bits) - 1, 3, 0, 1, (1 << mult_bits) - 1, 5]
    shift = rng.permutation(count) % 64
    shift[::4] = rng.choice([63, 62, 33, 32, 31, 30, 17, 16, 15, 14, 1, 0], count // 4)
    return bias, mult, shift.tolist()


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_bias_of_40_bits_is_scaled_without_loss(number):
    bias, mult, shift = extremes(number, 40, 32)
    stream = encode_weights(np.zeros(240 // 8 * 8 * 32, int))
    records = encode_records(bias, mult, shift)
    writer = Writer().map("ifm", (1, 1, 1), 0).kernel().clamp().set(weight_region=0, scale_region=0)
    writer.map("ofm", (1, 1, 240), OUT, dtype="int32", bits=number << 14).set(weight_base=0)
    writer.set(weight_length=len(stream), scale_base=len(stream), scale_length=len(records))
    made = program(writer.run("conv"), [(0, 1)], [(OUT, 960)], stream + records)
    got = run(made, np.zeros(1, np.int8)).view(np.int32)
    how = (0, 4, 1)[number]
    wanted = saturated([rounded(b, m, s, how) for b, m, s in zip(bias, mult, shift)])
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("wide", [0, 1])
@pytest.mark.parametrize("earlier", [0, 15, 30])
@pytest.mark.parametrize("number", range(6))
def test_a_bias_of_a_u85_is_scaled_without_loss(number, earlier, wide):
    bias, mult, shift = extremes(number, 48 if wide else 32, 15 if wide else 31)
    order = Order(256, 1, 16)
    stream = encode_weights(order.list(np.zeros((240, 1, 1, 1), int), 0))
    records = encode_records_u85(bias, mult, shift, wide)
    writer = Writer().map("ifm", (1, 1, 1), 0).kernel().clamp().set(weight_region=0, scale_region=0)
    writer.map("ofm", (1, 1, 240), OUT, dtype="int32").set(weight_base=0, block_depth=16)
    writer.set(weight_length=len(stream), scale_base=len(stream), scale_length=len(records))
    writer.set(acc_format=1 << 8 | wide, ofm_scale=scale_register(0, 0, number, earlier)).run(
        "conv"
    )
    made = program(writer, [(0, 1)], [(OUT, 960)], stream + records, target="ethos-u85-256")
    got = run(made, np.zeros(1, np.int8)).view(np.int32)
    wanted = saturated([rounded(b, m, s, number, earlier) for b, m, s in zip(bias, mult, shift)])
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("mode", [1, 2])
@pytest.mark.parametrize("shift", [0, 1, 11, 15, 31, 32, 40])
def test_sums_of_32_bits_on_a_u85_lose_nothing_between_their_scales(mode, shift):
    ends = [-(2**31), 2**31 - 1, 1 - 2**31, 2**30, 0, 1, -1, 3 << 20]
    a, b = (np.array(pair, np.int32) for pair in zip(*((x, y) for x in ends for y in ends)))
    first, second = (1631007888, shift, 0, 20), (2**31 - 1, shift, 1, 0)
    for last in (48, 63, shift + 31 if shift < 33 else 20):
        out = (1868186441, last, 0)
        got = pair(mode, a, b, opa_scale=scale_register(*first), opb_scale=scale_register(*second),
                   ofm_scale=scale_register(*out))  # fmt: skip
        sign = 1 if mode == 1 else -1
        sums = [rounded(int(x), *first) + sign * rounded(int(y), *second) for x, y in zip(a, b)]
        np.testing.assert_array_equal(got, saturated([rounded(v, *out) for v in sums]))


@pytest.mark.parametrize(("older", "newer"), [(3, 10), (4, 11)])
def test_functions_of_a_u85_are_those_of_a_u55(older, newer):
    x = np.concatenate([drawn(40, 200, "int16"), [-32768, 32767, 0, -1]]).astype(np.int16)
    x, made = x.reshape(-1, 1), []
    for target, code in (("ethos-u55-128", older), ("ethos-u85-256", newer)):
        got = single(
            x, x.shape, lambda w, c=code: w.clamp(-32768, 32767, c).run("pool", 1), "int16", target
        )
        made.append(got.ravel())
    np.testing.assert_array_equal(*made)
    units = x.ravel() / 12288
    exact = np.tanh(units) if older == 3 else 1 / (1 + np.exp(-units))
    assert abs(made[0] / 32768 - exact).max() < 1e-3


@pytest.mark.parametrize("kernel", [(1, 1), (2, 5), (3, 4), (5, 4)])
def test_weights_of_depthwise_layers_have_gaps_after_ten_taps(kernel):
    x, weights = drawn(41, (*kernel, 20)), drawn(42, (20, *kernel, 1)).astype(int)
    order = Order(512, 2, 16, depthwise=True)
    streams = [encode_weights(order.list(weights, number)) for number in range(2)]
    records = encode_records_u85([0] * 20, [1 << 30] * 20, [30] * 20, 0)
    at = [0, len(streams[0]), sum(map(len, streams))]
    writer = Writer().map("ifm", x.shape, 0, 3).kernel(*kernel).clamp().set(block_depth=16)
    writer.map("ofm", (1, 1, 20), OUT, dtype="int32").set(block_depth=16, weight_region=0)
    writer.set(weight_base=0, weight_length=at[1], weight1_base=at[1])
    writer.set(weight1_length=len(streams[1]), scale_base=at[2], scale_length=len(records))
    writer.set(acc_format=2 << 8, scale_region=0, ofm_scale=(0, 0)).run("depthwise")
    constants = b"".join([*streams, records])
    made = program(writer, [(0, x.size)], [(OUT, 80)], constants, target="ethos-u85-512")
    wanted = convolve(x, weights, 3, depthwise=True).ravel()
    np.testing.assert_array_equal(run(made, x).view(np.int32), wanted)
