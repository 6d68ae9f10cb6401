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

from qemu_nn.errors import ModelError
from qemu_nn.ethosu.container import CommandStream
from qemu_nn.ethosu.program import Place, Program

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
    with pytest.raises(ModelError, match="it writes to region 0, the constants"):
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
    for length, words in ((80, ""), (79, "it has fewer scales than channels; its bytes are")):
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
