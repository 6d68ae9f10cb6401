"""Maps of bricks between operations, which fast rows of the Ethos-U lay out densely."""

import numpy as np
import pytest
from ethosu_programs import Writer, program, run

pytestmark = pytest.mark.caps

#: Places in the arena: an input, two maps of bricks, an output.
FIRST, BRICKS, MORE, OUT = 0, 1024, 2048, 3072


def fill(seed, shape):
    return np.random.default_rng(seed).integers(-128, 128, shape).astype(np.int8)


def copy(writer, shape, source, target, bricks, zero=0, **registers):
    """Copy a map; bricks: whether the input and the output have bricks."""
    writer.map("ifm", shape, source, zero, bricks=bricks[0]).kernel().clamp()
    writer.map("ofm", shape, target, zero, bits=0x100, bricks=bricks[1]).set(ofm_scale=(1, 0))
    return writer.set(**registers).run("pool", 0)


@pytest.mark.parametrize("channels", [1, 8, 15, 16, 17, 40])
@pytest.mark.parametrize("zero", [0, -5])
def test_bricks_between_operations_keep_every_element(channels, zero):
    shape = (3, 4, channels)
    x = fill(channels, shape)
    writer = copy(Writer(), shape, FIRST, BRICKS, (0, 1), zero)
    copy(writer, shape, BRICKS, MORE, (1, 1), zero)
    copy(writer, shape, MORE, OUT, (1, 0), zero)
    made = program(writer, [(FIRST, x.size)], [(OUT, x.size)])
    np.testing.assert_array_equal(run(made, x).view(np.int8).reshape(shape), x)


def test_operations_may_write_and_read_parts_of_a_map():
    whole, left = (2, 4, 48), (2, 4, 32)
    x, y = fill(1, left), fill(2, (2, 4, 16))
    strides = {"stride_x": 16, "stride_y": 3 * 64, "stride_c": 64}
    to = {f"ofm_{name}": value for name, value in strides.items()}
    writer = copy(Writer(), left, FIRST, BRICKS, (0, 1), **to)
    copy(writer, (2, 4, 16), 512, BRICKS + 2 * 64, (0, 1), **to)
    copy(writer, whole, BRICKS, MORE, (1, 0))
    window = {f"ifm_{name}": value for name, value in strides.items()}
    copy(writer, (1, 2, 16), BRICKS + 3 * 64 + 64 + 16, OUT, (1, 0), **window)
    made = program(writer, [(FIRST, x.size), (512, y.size)], [(MORE, 384), (OUT, 32)])
    got = run(made, x, y).view(np.int8)
    joined = np.concatenate([x, y], 2)
    np.testing.assert_array_equal(got[:384].reshape(whole), joined)
    np.testing.assert_array_equal(got[384:].reshape(2, 16), joined[1, 1:3, 16:32])


def test_another_map_may_use_the_gaps_between_bricks():
    shape = (3, 4, 8)
    x, y = fill(3, shape), fill(4, 4)
    writer = copy(Writer(), shape, FIRST, BRICKS, (0, 1))
    copy(writer, (1, 1, 4), 512, BRICKS + 8, (0, 0))
    copy(writer, shape, BRICKS, MORE, (1, 0))
    copy(writer, (1, 1, 4), BRICKS + 8, OUT, (0, 0))
    made = program(writer, [(FIRST, x.size), (512, 4)], [(MORE, x.size), (OUT, 4)])
    got = run(made, x, y).view(np.int8)
    np.testing.assert_array_equal(got, [*x.ravel(), *y])


def test_bricks_may_be_read_as_bytes():
    x = fill(5, (2, 2, 8))
    writer = copy(Writer(), (2, 2, 8), FIRST, BRICKS, (0, 1))
    copy(writer, (2, 2, 8), BRICKS, OUT, (1, 0))
    writer.set(source_region=1, target_region=1, source=BRICKS + 16, target=MORE, length=8)
    made = program(writer.run("dma"), [(FIRST, 32)], [(OUT, 32), (MORE, 8)])
    got = run(made, x).view(np.int8)
    np.testing.assert_array_equal(got, [*x.ravel(), *x[0, 1]])


def test_an_output_may_have_bricks():
    x = fill(6, (2, 2, 8))
    made = program(copy(Writer(), (2, 2, 8), FIRST, OUT, (0, 1)), [(FIRST, 32)], [(OUT, 56)])
    got = np.append(run(made, x).view(np.int8), np.zeros(8, np.int8)).reshape(4, 16)
    np.testing.assert_array_equal(got[:, :8], x.reshape(4, 8))
    assert not got[:, 8:].any()


@pytest.mark.parametrize("part", [0, 1])
def test_bytes_that_nothing_writes_are_zero(part):
    x = fill(7, (2, 4, 8))
    source = MORE if part else FIRST + 32
    writer = copy(Writer(), (2, 4, 8), source, OUT, (0, 0))
    made = program(writer, [(FIRST, 64)], [(OUT, 64)])
    wanted = np.zeros(64, np.int8) if part else [*x.ravel()[32:], *[0] * 32]
    np.testing.assert_array_equal(run(made, x).view(np.int8), wanted)


def test_a_brick_that_is_written_in_part_is_zero_elsewhere():
    x = fill(8, (2, 4, 16))
    writer = copy(Writer(), (2, 4, 16), FIRST, BRICKS, (0, 1), ofm_stride_y=128)
    copy(writer, (2, 4, 32), BRICKS, OUT, (1, 0), ifm_stride_c=64, ifm_stride_y=128)
    made = program(writer, [(FIRST, 128)], [(OUT, 256)])
    got = run(made, x).view(np.int8).reshape(2, 4, 32)
    np.testing.assert_array_equal(got[..., :16], x)
    assert not got[..., 16:].any()
