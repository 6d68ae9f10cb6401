"""Limits of command streams: what just fits, and what does not by one byte."""

import numpy as np
import pytest
from ethosu_programs import (
    CONSTANTS,
    Writer,
    container,
    encode_records,
    encode_weights,
    order_weights,
    program,
    run,
)
from ethosu_weights import UNITS

from qemu_nn.errors import ModelError, Refused
from qemu_nn.ethosu.container import CommandStream
from qemu_nn.ethosu.inspection import inspect, list_fields
from qemu_nn.ethosu.program import Place, Program, add_traces
from qemu_nn.ethosu.tensors import Piece
from qemu_nn.kernels import table as kernels
from qemu_nn.targets import profile

#: Bytes of the arena, offset of an output that fits.
ARENA, OUT = 4096, 3000


def needs(writer, target="ethos-u55-128", constants=b"", ends=((0, 1), (OUT, 1))):
    return program(writer, [ends[0]], [ends[1]], constants, ARENA, target).needs


def fits(write, most, target="ethos-u55-128", constants=b""):
    """Require that a stream with the number `most` is valid, and with one more is not."""
    assert needs(write(most), target, constants).operations >= 1
    with pytest.raises(ModelError, match=r"of region|has no|too many|reaches beyond") as error:
        assert needs(write(most + 1), target, constants)
    return str(error.value)


MAPS = {
    "rows of pixels": ((2, 3, 5), {}, 30),
    "16-bit elements": ((2, 3, 5), {"dtype": "int16"}, 60),
    "bricks": ((2, 3, 16), {"bricks": True}, 96),
    "a last brick with one channel": ((2, 3, 17), {"bricks": True}, 48 + 96 + 33),
    "several bricks": ((1, 2, 40), {"bricks": True}, 64 + 24),
}


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("side", ["ifm", "ofm"])
def test_a_map_ends_with_its_region(name, side):
    shape, how, nbytes = MAPS[name]
    if "bricks" in how:
        rows, columns, channels = shape
        bricks = -(-channels // 16)
        nbytes = (rows - 1) * bricks * columns * 16 + (bricks - 1) * columns * 16
        nbytes += (columns - 1) * 16 + channels - 16 * (bricks - 1)

    def write(at):
        places = {"ifm": 0, "ofm": 0, side: at}
        writer = Writer().map("ifm", shape, places["ifm"], **(how if side == "ifm" else {}))
        writer.map("ofm", shape, places["ofm"], bits=0x100, **(how if side == "ofm" else {}))
        return writer.kernel().clamp().set(ofm_scale=(1, 0)).run("pool", 0)

    fits(write, ARENA - nbytes)


def tiles(*bases):
    """Write a copy of 4x4 bytes in four tiles: 3 columns on the left, 3 and 2 rows above."""
    writer = Writer().map("ifm", (4, 4, 1), 0).map("ofm", (4, 4, 1), OUT, bits=0x100)
    writer.set(ifm_width0=3, ifm_height0=3, ifm_height1=2)
    for number, base in enumerate(bases):
        writer.words += [number | 0x4000, base]
    return writer.kernel().clamp().set(ofm_scale=(1, 0)).run("pool", 0)


@pytest.mark.parametrize(("which", "nbytes"), [(0, 11), (1, 5), (2, 3), (3, 5)])
def test_each_tile_ends_with_the_region(which, nbytes):
    others = [0, 16, 32, 48]
    fits(lambda at: tiles(*others[:which], at, *others[which + 1 :]), ARENA - nbytes)


def test_four_tiles_are_read_at_their_bases():
    x = np.random.default_rng(1).integers(-128, 128, ARENA // 2).astype(np.int8)
    at = [0, 100, 200, 300]
    got = run(program(tiles(*at), [(0, x.size)], [(OUT, 16)], arena=ARENA), x).view(np.int8)
    wanted = np.zeros((4, 4), np.int8)
    for y, column in np.ndindex(4, 4):
        right = column >= 3
        low = y >= (2 if right else 3)
        row = y - ((2 if right else 3) if low else 0)
        wanted[y, column] = x[at[right + 2 * low] + 4 * row + column - 3 * right]
    np.testing.assert_array_equal(got.reshape(4, 4), wanted)


def test_strides_may_lead_back_to_the_first_byte():
    def write(at):
        writer = Writer().map("ifm", (3, 2, 4), 0).map("ofm", (3, 2, 4), at, bits=0x100)
        writer.set(ofm_stride_y=((1 << 32) - 8, 0xFF)).kernel().clamp().set(ofm_scale=(1, 0))
        return writer.run("pool", 0)

    assert needs(write(16)).used[1] == 24
    with pytest.raises(ModelError, match="has bytes -1 to 23 of region 1"):
        assert needs(write(15))


COPIES = {
    "bytes": ({}, 7, 7),
    "rows": ({"size0": 3, "source_row": 5, "target_row": 9}, 7, 7 + 18),
    "planes": (
        {"size0": 3, "size1": 2, "source_row": 9, "target_row": 9, "source_plane": 50,
         "target_plane": 40}, 7, 7 + 18 + 40,
    ),
    "rows upward": ({"size0": 3, "source_row": 9, "target_row": ((1 << 32) - 9, 0xFF)}, 7, 7),
}  # fmt: skip


@pytest.mark.parametrize("name", COPIES)
def test_a_copy_ends_with_its_region(name):
    registers, length, nbytes = COPIES[name]
    dims = ("size0" in registers) + ("size1" in registers)

    def write(at):
        writer = Writer().set(source_region=1 | dims << 9, target_region=1, source=0, target=at)
        return writer.set(length=length, **registers).run("dma")

    assert "a copy has bytes" in fits(write, ARENA - nbytes, "ethos-u85-256")


def test_a_copy_of_the_u65_and_rows_of_none_are_refused():
    writer = Writer().set(source_region=1 | 1 << 9, target_region=1, length=1).run("dma")
    with pytest.raises(ModelError, match="copies of several rows are not supported on U55 and U65"):
        assert needs(writer)
    with pytest.raises(ModelError, match="it copies no rows"):
        assert needs(writer, "ethos-u85-256")
    writer = Writer().set(source_region=1, target_region=0, length=1).run("dma")
    with pytest.raises(ModelError, match=r"it writes to region 0, the constants \(0\)"):
        assert needs(writer)


@pytest.mark.parametrize("which", ["source", "target"])
def test_the_list_of_indices_ends_with_its_region(which):
    def write(at):
        regions = {"source_region": 1 | 1 << 9 | (which == "source") << 11, "target_region": 1}
        regions["target_region"] |= (which == "target") << 11
        writer = Writer().set(**regions, source=0, target=64, length=4, size0=3, index_region=1)
        return writer.set(index=at, source_row=4, target_row=4).run("dma")

    fits(write, ARENA - 12, "ethos-u85-256")


@pytest.mark.parametrize("which", ["source", "target"])
def test_indices_choose_rows_of_each_side(which):
    indices = np.array([2, 0, 1], "<i4")
    rows = np.arange(12, dtype=np.int32)
    regions = {"source_region": 1 | 1 << 9 | (which == "source") << 11, "target_region": 1}
    regions["target_region"] |= (which == "target") << 11
    writer = Writer().set(**regions, source=64, target=512, length=16, size0=3, index_region=1)
    writer.set(index=0, source_row=16, target_row=16).run("dma")
    made = program(writer, [(0, 12), (64, 48)], [(512, 48)], target="ethos-u85-256")
    got = run(made, indices, rows).view(np.int32).reshape(3, 4)
    wanted = np.empty((3, 4), int)
    if which == "source":
        wanted[:] = rows.reshape(3, 4)[indices]
    else:
        wanted[indices] = rows.reshape(3, 4)
    np.testing.assert_array_equal(got, wanted)


def layer(**changed):
    """Return the writer of a 1x1 convolution of 4 to 8 channels, and its constants."""
    weights = np.arange(1, 33).reshape(8, 1, 1, 4)
    stream = encode_weights(order_weights(weights))
    records = encode_records([1] * 8, [1 << 30] * 8, [36] * 8)
    constants = stream + records
    writer = Writer().map("ifm", (2, 2, 4), 0).map("ofm", (2, 2, 8), OUT).kernel().clamp()
    writer.set(weight_region=0, weight_base=0, weight_length=len(stream), scale_region=0)
    writer.set(scale_base=len(stream), scale_length=len(records)).set(**changed)
    return writer.run("conv"), constants, len(stream)


def test_weights_and_scales_end_with_the_constants():
    _, constants, _ = layer()
    fits(lambda at: layer(scale_base=at)[0], len(constants) - 80, constants=constants)
    for length, words in ((80, ""), (79, r"fewer scales than channels; its bytes are \(79\)")):
        writer = layer(scale_length=length)[0]
        if not words:
            assert needs(writer, constants=constants).macs == 2 * 2 * 4 * 8
            continue
        with pytest.raises(ModelError, match=words):
            assert needs(writer, constants=constants)
    with pytest.raises(ModelError, match=r"its weights are bytes 0 to .* of region 0, which has"):
        assert needs(layer(weight_length=len(constants) + 1)[0], constants=constants)


def test_streams_with_too_few_or_too_many_weights_are_refused():
    _, constants, size = layer()
    short = encode_weights(np.ones(20, int)) + constants[size:]
    writer = layer(weight_length=len(short) - 80, scale_base=len(short) - 80)[0]
    with pytest.raises(ModelError, match="its weight stream ends early; it needs"):
        assert needs(writer, constants=short)
    long = encode_weights(np.ones(2000, int)) + constants[size:]
    writer = layer(weight_length=len(long) - 80, scale_base=len(long) - 80)[0]
    with pytest.raises(ModelError, match="its weight stream has more weights than"):
        assert needs(writer, constants=long)


def test_scales_that_an_operation_overwrites_are_no_constants():
    _, constants, size = layer()
    copy = Writer().set(
        source_region=CONSTANTS, target_region=1, source=size, target=512, length=80
    )
    copy.run("dma")
    known = layer(scale_region=1, scale_base=512)[0]
    known.words = copy.words + known.words
    assert needs(known, constants=constants).operations == 2
    for at, refused in ((511, True), (591, True), (510, False), (592, False)):
        over = Writer().map("ifm", (1, 1, 2), 0).map("ofm", (1, 1, 2), at, bits=0x100)
        over.kernel().clamp().set(ofm_scale=(1, 0)).run("pool", 0)
        own = layer(scale_region=1, scale_base=512)[0]
        own.words = copy.words + over.words + own.words
        if refused:
            with pytest.raises(ModelError, match="its scales at byte 512 of region 1 are no copy"):
                assert needs(own, constants=constants)
        else:
            assert needs(own, constants=constants).operations == 3


def test_constants_stay_known_through_copies_of_planes_and_further_copies():
    _, constants, size = layer()
    writer = Writer().set(source_region=2 << 9, target_region=1, source=size, target=700, length=10)
    writer.set(size0=4, size1=2, source_row=10, source_plane=40, target_row=10, target_plane=40)
    writer.run("dma").set(source_region=1, source=700, target=900, length=80, size0=1, size1=1)
    writer.run("dma")
    own = layer(scale_region=1, scale_base=900)[0]
    own.words = writer.words + own.words
    # the order of weights differs, but the scales are found first
    with pytest.raises(ModelError, match=r"its microblock has no order|its weight stream"):
        assert needs(own, "ethos-u85-256", constants=constants)
    broken = layer(scale_region=1, scale_base=901)[0]
    broken.words = writer.words + broken.words
    with pytest.raises(ModelError, match="are no copy of constants"):
        assert needs(broken, "ethos-u85-256", constants=constants)


BOUNDS = {
    "a mode of pooling": (lambda w: w.run("pool", 3), "its mode of pooling does not exist"),
    "a mode of the u85": (lambda w: w.run("pool", 8), "its mode of pooling does not exist"),
    "an elementwise mode": (lambda w: w.run("elementwise", 10), "its elementwise operation does"),
    "a rounding": (lambda w: w.set(ofm_scale=(1, 6 << 13)).run("pool", 3), "its rounding"),
    "an earlier shift": (lambda w: w.set(ofm_scale=(1, 31 << 6)).run("pool", 3), "its rounding"),
    "resizing": (lambda w: w.run("resize", 1), "its mode of resizing is not supported"),
    "a shift of resizing": (
        lambda w: w.set(ofm_scale=(1, 15)).run("resize", 0), "its shift is below 16"
    ),
    "64 bits": (lambda w: w.set(ofm_precision=0x100 | 3 << 1).run("pool", 3), "of 64 bits"),
    "a chain": (
        lambda w: w.set(ifm_precision=0x8001).run("pool", 3), "a chaining buffer that no operation"
    ),
    "a branch": (lambda w: w.words.extend([256 | 0x4000, 0]) or w, "it has a branch"),
    "a kind": (lambda w: w.words.append(0x8000) or w, "it is no command"),
    "an opcode": (lambda w: w.words.append(4) or w, "it is no command"),
}  # fmt: skip


@pytest.mark.parametrize("name", BOUNDS)
def test_what_no_stream_has_is_refused(name):
    write, words = BOUNDS[name]
    target = (
        "ethos-u55-128" if name in ("a mode of pooling", "an elementwise mode") else "ethos-u85-256"
    )
    writer = Writer().map("ifm", (1, 1, 1), 0).map("ofm", (1, 1, 1), OUT, bits=0x100).kernel()
    with pytest.raises(ModelError, match=words):
        assert needs(write(writer.clamp()), target)


def test_waits_and_masks_change_nothing():
    writer = Writer().map("ifm", (1, 1, 1), 0).map("ofm", (1, 1, 1), OUT, bits=0x100).kernel()
    writer.clamp().set(ofm_scale=(1, 0)).words.extend([1, 17, 18 | 3 << 16, 19])
    assert needs(writer.run("pool", 0)).operations == 1


def test_a_stream_without_an_end_is_refused():
    stream = CommandStream("COP1", 0x1807, False, np.array([17], np.uint32))
    made = Program(stream, np.empty(0, np.uint8), (64, 0), (Place(1, 0, 1),), (Place(1, 0, 1),))
    with pytest.raises(ModelError, match="it ends without STOP"):
        assert made.needs
    stream = CommandStream("COP1", 0x1807, False, np.array([36 | 0x4000], np.uint32))
    made = Program(stream, np.empty(0, np.uint8), (64, 0), (Place(1, 0, 1),), (Place(1, 0, 1),))
    with pytest.raises(ModelError, match="its last word lacks its value"):
        assert made.needs


@pytest.mark.parametrize("place", [Place(1, 60, 5), Place(0, 0, 1), Place(2, 0, 1)])
@pytest.mark.parametrize("side", [0, 1])
def test_a_place_outside_of_its_region_is_refused(place, side):
    writer = Writer().map("ifm", (1, 1, 1), 0).map("ofm", (1, 1, 1), 0, bits=0x100).kernel().clamp()
    stream = CommandStream("COP1", 0x1807, False, writer.run("pool", 0).stream)
    ends = [(Place(1, 0, 1),), (Place(1, 59, 5),)]
    assert Program(stream, np.zeros(9, np.uint8), (64, 0), *ends).needs
    ends[side] = (place,)
    with pytest.raises(ModelError, match=f"its {'output' if side else 'input'} 0 is bytes"):
        assert Program(stream, np.zeros(9, np.uint8), (64, 0), *ends).needs


@pytest.mark.parametrize(
    ("word", "known"),
    [(0x1004, False), (0x1005, True), (0x1008, True), (0x1009, False), (0x10003007, False),
     (0x10003008, True), (0x10003009, True), (0x1000300A, False), (0x20000006, False),
     (0x20000007, True), (0x2000000B, True), (0x2000000C, False), (0x30000008, False)],
)  # fmt: skip
def test_configuration_words_name_an_npu(word, known):
    stream = CommandStream("COP1", word, False, np.array([0xFFFF0000], np.uint32))
    made = Program(stream, np.empty(0, np.uint8), (64, 0), (Place(1, 0, 1),), (Place(1, 0, 1),))
    if known:
        assert made.needs.operations == 0
        return
    with pytest.raises(ModelError, match="is of no Ethos-U"):
        assert made.needs
    assert container(np.array([1], np.uint32), word)


@pytest.mark.parametrize(
    ("npu", "base"),
    [
        ("ethos-u55-32", 14336),
        ("ethos-u55-128", 22528),
        ("ethos-u65-512", 47104),
        ("ethos-u85-256", 0),
    ],
)
def test_tables_have_2048_bytes_from_their_base_on(npu, base):
    constants = bytes(range(256)) * 8

    def write(at):
        writer = Writer().set(source_region=0, target_region=0x103, source=0, target=at, length=256)
        return writer.run("dma")

    fits(write, base + 2048 - 256, npu, constants)
    if base:
        with pytest.raises(ModelError, match="a copy has bytes -1 to 255 of region 8"):
            assert needs(write(base - 1), npu, constants)


def test_multiply_accumulates_count_each_product():
    writer = Writer().map("ifm", (2, 3, 4), 0).map("ifm2", (1, 5, 4), 100).kernel().clamp()
    writer.map("ofm", (2, 3, 5), OUT, bits=0x100).set(ofm_scale=(1, 0)).run("conv", 1)
    assert needs(writer, "ethos-u85-256").macs == 2 * 3 * 4 * 5
    writer = Writer().map("ifm", (4, 6, 5), 0).map("ofm", (2, 3, 5), OUT, bits=0x100)
    writer.kernel(2, 2, (2, 2)).clamp().set(ofm_scale=(1, 0)).run("pool", 0)
    assert (needs(writer).macs, needs(writer).oddities) == (4 * 2 * 3 * 5, ())
    writer = Writer().map("ifm", (2, 3, 4), 0).map("ifm2", (2, 3, 4), 100).clamp()
    writer.map("ofm", (2, 3, 4), OUT, bits=0x100).set(ofm_scale=(1, 0)).run("elementwise", 0)
    assert needs(writer).macs == 24


def still(writer, prefix, shape):
    """Write a map of any size on a few bytes: all rows and columns have one address."""
    writer.map(prefix, shape, 0 if prefix == "ifm" else OUT, bits=0x100 * (prefix == "ofm"))
    names = ("width0", "height0", "height1")
    sides = dict(zip(names, (min(shape[1], 1 << 16), *2 * (min(shape[0], 1 << 16),))))
    return writer.set(**{f"{prefix}_{name}": value for name, value in sides.items()},
                      **{f"{prefix}_stride_x": 0, f"{prefix}_stride_y": 0})  # fmt: skip


def pool(shape, kernel=(1, 1), mode=0, outs=None):
    outs = outs or tuple(n - k + 1 for n, k in zip(shape, kernel))
    writer = still(still(Writer(), "ifm", shape), "ofm", (*outs, shape[2])).kernel(*kernel).clamp()
    return writer.set(ofm_scale=(1, 0)).run("pool", mode)


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ((1 << 14, 1 << 14, 1), "its program needs 1"),
        (((1 << 14) + 1, 1 << 14, 1), "an input has too many elements|a feature map has too many"),
        ((1 << 12, 1 << 12, 17), "a feature map has too many"),
    ],
)
def test_maps_have_up_to_2_to_28_elements(shape, words):
    with pytest.raises(ModelError, match=words):
        assert needs(pool(shape))
    upscaled = pool(shape)
    upscaled.words[-1:] = Writer().set(ifm_upscale=1).run("pool", 0).words
    with pytest.raises(ModelError, match=words):
        assert needs(upscaled)


def windows(mode):
    """Write 2^32 products of windows."""
    return pool((1024 + 63, 1024 + 63, 1), (64, 64), mode)


def matrices():
    """Write a product of 2^32 products of two maps."""
    writer = still(still(Writer(), "ifm", (64, 64, 1024)), "ofm", (64, 64, 1024)).kernel().clamp()
    writer.map("ifm2", (1, 1024, 1024), 0).set(ifm2_stride_x=0, ofm_scale=(1, 0))
    return writer.run("conv", 1)


def layers(rows, dtype="int8"):
    """Write a convolution of 2^15 weights for 2048 columns, and return its constants, too."""
    shape = (rows + 1, 2048 + 3, 64)
    stream = encode_weights(order_weights(np.ones((64, 2, 4, 64), np.int8), wide=dtype == "int16"))
    writer = still(Writer(), "ifm", shape).map("ofm", (rows, 2048, 64), OUT, bits=0x100)
    writer.set(ofm_stride_x=0, ofm_stride_y=0, ofm_scale=(1, 0)).kernel(2, 4).clamp()
    if dtype == "int16":
        writer.set(ifm_precision=5)
    writer.set(weight_region=0, weight_base=0, weight_length=len(stream))
    return writer.run("conv"), stream


@pytest.mark.parametrize("write", [lambda: windows(0), lambda: windows(3), matrices])
def test_windows_and_matrices_have_up_to_2_to_32_products(write):
    writer = write()
    assert needs(writer, "ethos-u85-256").macs == 1 << 32
    writer.words += pool((1, 1, 1)).words
    with pytest.raises(ModelError, match="its program has too many multiply-accumulates"):
        assert needs(writer, "ethos-u85-256")


@pytest.mark.parametrize(("dtype", "rows"), [("int8", 1024), ("int16", 256)])
def test_convolutions_have_up_to_2_to_36_products_of_bytes(dtype, rows):
    writer, stream = layers(rows, dtype)
    assert needs(writer, constants=stream).macs == rows << 26
    writer.words += pool((1, 1, 1)).words
    with pytest.raises(ModelError, match="its program has too many multiply-accumulates"):
        assert needs(writer, constants=stream)


def test_a_program_has_up_to_2_to_29_elements():
    writer = Writer()
    for _ in range(4):
        writer.words += pool((1 << 10, 1 << 10, 64)).words
    assert needs(writer).operations == 4
    writer.words += pool((1, 1, 1)).words
    with pytest.raises(ModelError, match="its program has too many elements"):
        assert needs(writer)


def test_scattered_rows_forget_constants_once():
    writer = Writer().set(source_region=0, target_region=1, length=1).run("dma")
    writer.set(source_region=1 | 2 << 9, target_region=1 | 1 << 11, index_region=1)
    writer.set(length=1, size0=1 << 14, size1=1 << 12, source_plane=0, target_plane=0)
    writer.set(index=0, index_skip=((1 << 32) - (1 << 16), 0xFF)).run("dma")
    made = program(writer, [(0, 1)], [(0, 1)], bytes(16), 1 << 17, "ethos-u85-256")
    assert made.needs.operations == 2


def test_padding_of_weight_streams_counts():
    weights = np.arange(8).reshape(1, 1, 1, 8)
    stream = encode_weights(order_weights(weights)).ljust(1 << 16, b"\xff")
    writer = Writer().map("ifm", (1, 1, 8), 0).map("ofm", (1, 1, 1), OUT).kernel().clamp()
    writer.set(weight_region=0, weight_length=len(stream), scale_region=0, scale_base=len(stream))
    writer.set(scale_length=16).run("conv")
    assert needs(writer, constants=stream + bytes(16)).operations == 1
    writer.words += writer.words[-1:] * 3000
    with pytest.raises(ModelError, match="its program is too large"):
        assert needs(writer, constants=stream + bytes(16))


def test_two_cores_share_no_block_of_one_channel():
    writer = Writer().map("ifm", (1, 1, 8), 0).map("ofm", (1, 1, 2), OUT).kernel().clamp()
    writer.set(weight_region=0, scale_region=0, scale_length=32, scale1_length=32)
    writer.set(parallel=1, block_depth=1).run("conv")
    with pytest.raises(ModelError, match="its blocks have one channel; two cores need at least"):
        assert needs(writer, "ethos-u65-512", bytes(64))


def test_a_copy_has_up_to_2_to_30_bytes_and_few_rows():
    for length, words in ((1 << 30, "a copy has bytes"), ((1 << 30) + 1, "copies too many bytes")):
        writer = Writer().set(source_region=1, target_region=1, length=length).run("dma")
        with pytest.raises(ModelError, match=words):
            assert needs(writer)
    writer = Writer().set(source_region=1 | 2 << 9, target_region=1, length=1, size0=65535)
    with pytest.raises(ModelError, match="its program is too large"):
        assert needs(writer.set(size1=8200).run("dma"), "ethos-u85-256")


@pytest.mark.parametrize(
    ("outs", "words"),
    [(1 << 12, "its program is too large"), ((1 << 12) + 1, "it has too many weights")],
)
def test_weights_without_end_are_refused_before_they_are_counted(outs, words):
    writer = Writer().map("ifm", (1, 1, 1 << 16), 0).map("ofm", (1, 1, outs), 0).kernel().clamp()
    writer.set(scale_region=0, scale_length=10 * outs, weight_region=0).run("conv")
    made = program(writer, [(0, 1)], [(0, 1)], bytes(10 * outs), arena=1 << 17)
    with pytest.raises(ModelError, match=words):
        assert made.needs


def test_kept_accumulators_have_up_to_a_gigabyte():
    for rows, refused in ((1 << 13, False), ((1 << 13) + 1, True)):
        writer = pool((rows, 1 << 14, 1), mode=3)
        writer.words[-1:] = Writer().set(acc_format=64).run("pool", 3).words
        with pytest.raises(ModelError, match="accumulators" if refused else "its program needs"):
            assert needs(writer, "ethos-u85-256")


@pytest.mark.parametrize("side", ["top", "left", "bottom", "right"])
@pytest.mark.parametrize("mode", [0, 5, 3])
def test_windows_outside_of_the_image_are_an_oddity(side, mode):
    for pad, odd in ((2, False), (3, True)):
        writer = (
            Writer().map("ifm", (9, 9, 1), 0).map("ofm", (9 + pad, 9 + pad, 1), OUT, bits=0x100)
        )
        writer.kernel(2, 2, dilation=(2, 2)).set(kernel_width=3, kernel_height=3)
        shape = {"ofm_height": 7 + pad, "ofm_width": 7} if side in ("top", "bottom") else {
            "ofm_height": 7, "ofm_width": 7 + pad}  # fmt: skip
        writer.clamp().set(ofm_scale=(1, 0), **shape, **{f"pad_{side}": pad}).run("pool", mode)
        oddities = needs(writer, "ethos-u85-256").oddities
        assert bool(oddities) == (odd and mode != 3)


def test_a_product_with_a_window_is_refused():
    for kernel in ((1, 2), (2, 1)):
        writer = Writer().map("ifm", (3, 3, 4), 0).map("ifm2", (1, 5, 4), 100).kernel(*kernel)
        writer.map("ofm", (4 - kernel[0], 4 - kernel[1], 5), OUT, bits=0x100).clamp()
        with pytest.raises(ModelError, match="and its kernel is not 1 x 1"):
            assert needs(writer.set(ofm_scale=(1, 0)).run("conv", 1), "ethos-u85-256")


def test_the_end_of_what_each_operation_names_is_known():
    writer, constants, size = layer()
    copy = Writer().set(source_region=0, target_region=2, source=3, target=20, length=size)
    writer.words = [*copy.run("dma").words, *writer.words]
    used = needs(writer, constants=constants).used
    assert used[:3] == (len(constants) - len(constants) % 16, OUT + 32, 20 + size)
    writer = (
        Writer().map("ifm", (2, 3, 5), 70).map("ofm", (2, 3, 5), 0, bits=0x100).kernel().clamp()
    )
    assert needs(writer.set(ofm_scale=(1, 0)).run("pool", 0)).used[1] == 100


def test_a_stream_in_the_fast_format_with_gaps_is_refused():
    writer = Writer().map("ifm", (4, 4, 16), 0).map("ofm", (1, 1, 16), OUT).kernel(4, 4).clamp()
    writer.set(weight_region=0, weight_base=0, weight_length=160, scale_base=0, scale_length=160)
    writer.set(acc_format=2 << 8, weight_format=1, scale_region=0).run("depthwise")
    with pytest.raises(ModelError, match="its weights have no order in the fast format"):
        assert needs(writer, "ethos-u85-512", bytes(160))


def test_a_damaged_stream_of_weights_is_named():
    _, constants, size = layer()
    damaged = bytes([6, 0, 0x18 & 0xFF]) + constants[3:]
    damaged = (6 | 6 << 18).to_bytes(3, "little") + constants[3:]
    with pytest.raises(ModelError, match="its weight stream is damaged"):
        assert needs(layer()[0], constants=damaged)
    assert size


LAYOUTS = {
    "too few words": (lambda w: w[:11], "its layout is damaged: it has -1 inputs and outputs"),
    "too many places": (
        lambda w: [*w[:9], 4096, 1, *w[11:], *[0] * 20000],
        "its layout is damaged: it has 4097 inputs and outputs, 0 traces",
    ),
    "places after the end": (lambda w: [*w[:9], 9, *w[10:12]], "its layout is damaged: it has 10"),
    "traces after the end": (
        lambda w: [*w[:11], 9, *w[12:18]],
        "it has 2 inputs and outputs, 9 tr",
    ),
    "a huge region": (lambda w: [*w[:3], 2**30 + 1, *w[4:]], "its region 2 has 1073741825 bytes"),
    "a largest region": (lambda w: [*w[:3], 2**30, *w[4:]], ""),
    "missing constants": (lambda w: [w[0], 17, *w[2:]], "its region 0 has 17 bytes"),
    "all constants": (lambda w: [w[0], 16, *w[2:]], ""),
    "no words": (lambda w: [], "its command stream is empty"),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_damaged_layout_is_refused(name):
    change, reason = LAYOUTS[name]
    words = [0x1807, 0, 64, 0, 0, 0, 0, 0, 0, 1, 1, 0, 1, 0, 1, 1, 0, 1, 0xFFFF0000]
    given = np.array(change(words), "<u4").view(np.uint8), np.zeros(16, np.uint8)
    if not reason:
        assert inspect(*given).operations == 0
        return
    with pytest.raises(ModelError, match=reason):
        inspect(*given)


ROWS = kernels.list_rows("program", "any")


@pytest.mark.parametrize("name", ["in_bytes", "out_bytes", "command_bytes", "constant_bytes",
                                  "program_bytes", "scratch_bytes", "operations"])  # fmt: skip
def test_sizes_of_a_call_are_those_of_its_program(name):
    writer, constants, _ = layer()
    made = program(writer, [(0, 16)], [(OUT, 32)], constants)
    x = np.zeros(64, np.uint8)

    def call(change):
        values = {**made.params, name: made.params[name] + change}
        params = kernels.make_params(ROWS[-1].op, profile("m55"), values)
        for row in (ROWS[-1], ROWS[-2]):
            kernels.call(row, params, [x], np.zeros(64, np.uint8), made.commands, made.constants)

    call(0)
    sizes = kernels.check(ROWS[0], kernels.make_params(ROWS[0].op, profile("m55"), made.params))
    own = sizes.inputs[0], sizes.weights, sizes.bias, sizes.output
    assert own == (16, made.commands.nbytes, len(constants), 32)
    wrong = {"program_bytes": -16, "scratch_bytes": -64, "command_bytes": -4, "operations": 1}
    with pytest.raises(Refused, match="failed"):
        call(wrong.get(name, -1))
    low = {"command_bytes": 4, "out_bytes": 1, "scratch_bytes": 1}.get(name, 0)
    cases = ((low, True), (low - 1, False), (1 << 30, True), ((1 << 30) + 1, False))
    for value, fits in cases if name != "program_bytes" else cases[1:]:
        params = kernels.make_params(ROWS[0].op, profile("m55"), {**made.params, name: value})
        if fits:
            kernels.check(ROWS[0], params)
            continue
        with pytest.raises(Refused, match=f"{name} must be in"):
            kernels.check(ROWS[0], params)


@pytest.mark.parametrize("op", ["append_bytes", "take_bytes"])
@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"width": 3}, "width must be 1, 2, 4 or 8, is 3"),
        ({"length": 0}, "length must be in 1"),
        ({"width": 8, "length": 2**28}, "length must be in 1..268435455"),
        ({"others": -1}, "others must be in 0"),
        ({"others": 2**30 + 1}, "others must be in 0"),
        ({"width": 8}, ""),
        ({"others": 0, "length": 2**31 - 1, "width": 1}, ""),
        ({"others": 2**30}, ""),
    ],
)
def test_bytes_that_enter_and_leave_have_limits(op, changed, reason):
    (row,) = kernels.list_rows(op, "any")
    values = {"width": 2, "length": 3, "others": 40, "offset": 0, **changed}
    params = kernels.make_params(row.op, profile("m55"), values)
    if op == "take_bytes" and changed.get("others") == 0:
        reason = "2147483647 bytes at 0 are not inside of 0"
    if not reason:
        sizes, own = kernels.check(row, params), values["length"] * values["width"]
        others = values["others"]
        wanted = (own, others, own + others) if op == "append_bytes" else (others, 0, own)
        assert (*sizes.inputs[:2], sizes.output) == wanted
        return
    with pytest.raises(Refused, match=reason):
        kernels.check(row, params)


@pytest.mark.parametrize(("offset", "fits"), [(-1, False), (0, True), (34, True), (35, False)])
def test_bytes_are_taken_inside_of_an_array(offset, fits):
    (row,) = kernels.list_rows("take_bytes", "any")
    values = {"width": 2, "length": 3, "others": 40, "offset": offset}
    params = kernels.make_params(row.op, profile("m55"), values)
    if fits:
        out = np.zeros(6, np.uint8)
        kernels.call(row, params, [np.arange(40, dtype=np.uint8)], out)
        np.testing.assert_array_equal(out, np.arange(offset, offset + 6))
        return
    with pytest.raises(Refused, match=f"6 bytes at {offset} are not inside of 40"):
        kernels.check(row, params)


@pytest.mark.parametrize("row_bytes", [2**31 - 1, -(2**31), 2**31, -(2**31) - 1])
def test_rows_that_an_index_chooses_are_less_than_2_gigabytes_apart(row_bytes):
    writer = Writer().set(source_region=1 | 1 << 11 | 1 << 9, target_region=1, source=64)
    writer.set(target=512, length=4, size0=1, index_region=1, index=0)
    writer.set(source_row=(row_bytes & 0xFFFFFFFF, row_bytes >> 32 & 0xFF), target_row=4).run("dma")
    made = program(writer, [(0, 4), (64, 4)], [(512, 4)], target="ethos-u85-256")
    given = np.zeros(1, np.int32), np.array([77], np.int32)
    if -(2**31) <= row_bytes < 2**31:
        assert run(made, *given).view(np.int32) == [77]
        return
    with pytest.raises(Refused, match="failed"):
        run(made, *given)


def test_constants_that_an_indexed_copy_overwrites_are_unknown():
    _, constants, size = layer()
    copy = Writer().set(
        source_region=CONSTANTS, target_region=1, source=size, target=512, length=80
    )
    copy.run("dma")
    for side, at, known in (("source", 591, False), ("source", 592, True), ("source", 509, False),
                            ("source", 508, True), ("target", 900, False)):  # fmt: skip
        over = Writer().set(
            source_region=1 | 1 << 9 | (side == "source") << 11,
            target_region=1 | (side == "target") << 11, source=0, target=at, length=2, size0=2,
            index_region=1, index=0, source_row=2, target_row=2,
        ).run("dma")  # fmt: skip
        own = layer(scale_region=1, scale_base=512)[0]
        own.words = copy.words + over.words + own.words
        words = "its microblock has no order" if known else "its scales at byte 512 of region 1 are"
        with pytest.raises(ModelError, match=words):
            assert needs(own, "ethos-u85-256", constants=constants)


def test_hashes_tell_operations_on_other_weights_and_settings_apart():
    def hashes(weights, bias=(1,) * 8, **changed):
        stream = encode_weights(order_weights(weights))
        records = encode_records(bias, [1 << 30] * 8, [36] * 8)
        writer = Writer().map("ifm", (2, 2, 4), 0).map("ofm", (2, 2, 8), OUT).kernel().clamp()
        writer.set(weight_region=0, weight_base=0, weight_length=len(stream), scale_region=0)
        writer.set(scale_base=len(stream), scale_length=len(records)).set(**changed).run("conv")
        writer.run("conv")
        made = program(writer, [(0, 16)], [(OUT, 32)], stream + records)
        return list_fields(made.commands, made.constants, ("settings", "weights"))

    weights = np.arange(1, 33).reshape(8, 1, 1, 4)
    first, second = hashes(weights)
    assert first == second
    last = weights.copy()
    last[7, 0, 0, 3] = -3
    assert [of == at for of, at in zip(hashes(last)[0], first)] == [True, False]
    for bias in ((*(1,) * 7, 2), (2, *(1,) * 7)):
        assert [of == at for of, at in zip(hashes(weights, bias)[0], first)] == [True, False]
    assert [of == at for of, at in zip(hashes(weights, low=-5)[0], first)] == [False, True]
    assert [of == at for of, at in zip(hashes(weights, ifm_zero=1)[0], first)] == [False, True]


@pytest.mark.parametrize(("which", "nbytes"), [(0, 11), (1, 5), (2, 3), (3, 5)])
def test_constants_under_a_tile_of_an_output_are_unknown(which, nbytes):
    _, constants, size = layer()
    copy = Writer().set(
        source_region=CONSTANTS, target_region=1, source=size, target=512, length=80
    )
    copy.run("dma")
    for at, known in ((512 - nbytes, True), (513 - nbytes, False), (591, False), (592, True)):
        over = Writer().map("ifm", (4, 4, 1), 0).map("ofm", (4, 4, 1), 0, bits=0x100)
        over.set(ofm_width0=3, ofm_height0=3, ofm_height1=2, ofm_scale=(1, 0))
        bases = [900, 920, 940, 960]
        bases[which] = at
        over.set(**{f"ofm_base{tile or ''}": base for tile, base in enumerate(bases)})
        own = layer(scale_region=1, scale_base=512)[0]
        own.words = copy.words + over.kernel().clamp().run("pool", 0).words + own.words
        if known:
            assert needs(own, constants=constants).operations == 3
        else:
            with pytest.raises(ModelError, match="its scales at byte 512 of region 1 are no copy"):
                assert needs(own, constants=constants)


@pytest.mark.parametrize("microblock", range(8))
@pytest.mark.parametrize("macs", UNITS)
def test_microblocks_without_an_order_are_refused(macs, microblock):
    writer = layer(acc_format=microblock << 8, weight_length=16)[0]
    word = 0x20000000 | (macs.bit_length() - 1)
    stream = CommandStream("COP1", word, False, writer.stream)
    made = Program(stream, np.zeros(512, np.uint8), (ARENA,), (Place(1, 0, 1),), (Place(1, 0, 1),))
    reason = "ends early" if microblock in UNITS[macs] else "its microblock has no order"
    with pytest.raises(ModelError, match=reason):
        assert made.needs


def traced(counts, acc_format=0):
    """Return the needs of a copy and two pools with so many traces of each operation."""
    writer = Writer().set(source_region=1, target_region=1, length=1).run("dma")
    words = [len(writer.words) - 1]
    for _ in range(2):
        writer.map("ifm", (2, 3, 1), 0).map("ofm", (2, 3, 1), OUT, bits=0x100).kernel().clamp()
        writer.set(ofm_scale=(1, 0), acc_format=acc_format).run("pool", 3)
        words.append(len(writer.words) - 1)
    made = program(writer, [(0, 1)], [(OUT, 1)], arena=ARENA, target="ethos-u85-256")
    pieces = [Piece(word, 0, 3, 1) for word, count in zip(words, counts) for _ in range(count)]
    return inspect(add_traces(made.commands, pieces), made.constants)


@pytest.mark.parametrize(
    ("counts", "acc_format", "fits"),
    [((0, 4, 0), 0, True), ((0, 4, 4), 0, True), ((0, 5, 0), 0, False), ((1, 0, 0), 0, False),
     ((0, 1, 0), 64, False), ((0, 0, 1), 0, True)],
)  # fmt: skip
def test_an_operation_with_a_map_has_up_to_four_traces(counts, acc_format, fits):
    if fits:
        assert traced(counts, acc_format).operations == 3
        return
    with pytest.raises(ModelError, match="its trace is damaged"):
        traced(counts, acc_format)


@pytest.mark.parametrize(("start", "known"), [(900, True), (901, False), (899, False)])
def test_a_copy_of_known_and_unknown_bytes_knows_each(start, known):
    _, constants, size = layer()
    copy = Writer().set(
        source_region=CONSTANTS, target_region=1, source=size, target=512, length=80
    )
    copy.run("dma").set(source_region=1, source=511, target=899, length=82).run("dma")
    own = layer(scale_region=1, scale_base=start)[0]
    own.words = copy.words + own.words
    if known:
        assert needs(own, constants=constants).operations == 3
        return
    with pytest.raises(ModelError, match=f"its scales at byte {start} of region 1 are no copy"):
        assert needs(own, constants=constants)
