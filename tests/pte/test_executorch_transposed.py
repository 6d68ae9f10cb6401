"""Transposed convolutions of .pte files, row by row as CMSIS-NN's kernel has them."""

import warnings

import numpy as np
import pytest

pytest.importorskip("flatbuffers", reason="the library flatbuffers writes the files")
from pte_files import LAST, Program, codes, made, same

import qemu_nn
from qemu_nn.errors import Error, ModelError, Refused


def rolled(x, weights, bias, stride, pad, sides):
    """Return the rows [row, x, c] that are written, for images [n, y, x, c]; steps are 1 / 256."""
    _, height, width, _ = weights.shape
    rows = []
    for image in x.astype(int):
        columns = (image.shape[1] - 1) * stride + max(width, stride)
        held = [np.tile(bias, (columns, 1)) for _ in range(max(height, stride))]
        for y, line in enumerate(image):
            skipped = max(0, pad - y * stride)
            for ky in range(skipped, height):
                for i, kx in np.ndindex(len(line), width):
                    held[ky - skipped][i * stride + kx] += weights[:, ky, kx].astype(int) @ line[i]
            if not skipped:
                rows += held[:stride]
                held = held[stride:] + [np.tile(bias, (columns, 1)) for _ in range(stride)]
        end = len(image) * stride
        left = [y for y in range(height - stride) if pad <= end + y < pad + sides[0]]
        rows += [held[y] for y in left]
    return scaled(np.array([row[pad : pad + sides[1]] for row in rows]))


def scaled(sums):
    """Return the integers of sums."""
    halves = np.floor(sums / 2 + 0.5)  # by 2^30 in 32 bits, then by 2^-7, each rounded
    steps = np.copysign(np.floor(np.abs(halves) / 128 + 0.5), halves)
    return np.clip(steps, -128, 127).astype(np.int8)


@pytest.mark.parametrize(
    ("kernel", "stride", "pad", "batches", "channels"),
    [
        *((4, 2, 1, 1, 3), (4, 2, 1, 2, 3), (3, 2, 1, 1, 2)),
        *((2, 3, 0, 2, 2), (5, 3, 2, 1, 20), (3, 2, 2, 1, 3)),
    ],
)
def test_the_rows_of_a_transposed_convolution_lie_where_the_kernel_puts_them(
    tmp_path, kernel, stride, pad, batches, channels
):
    x, w = codes(batches, channels, 4, 4), codes(2, kernel, kernel, channels, seed=2)
    bias = np.array([300, -500], np.int32)
    side = 3 * stride + kernel - 2 * pad
    scaling = np.full(2, 2**30, np.int32), np.full(2, -7, np.int32)
    args = (
        *("in0", w, bias, [stride] * 2, [pad] * 2, [0, 0], [1, 1], 0, 0, *scaling, -128, 127),
        *(np.zeros(0, np.uint8), np.zeros(0, np.uint8)),
    )
    name, shape = "cortex_m::quantized_transpose_conv2d.out", (batches, 2, side, side)
    found = made(tmp_path, name, [x], args, shape, LAST, [LAST])
    rows = rolled(x.transpose(0, 2, 3, 1), w, bias, stride, pad, (side, side))
    want = np.zeros(batches * side * side * 2, np.int8)
    whole = rows.ravel()[: want.size]
    want[: whole.size] = whole
    same(found, want.reshape(batches, side, side, 2).transpose(0, 3, 1, 2))


def defined(x, weights, bias, stride, pad, side):
    """Return the transposed convolution of images [n, y, x, c] by its definition."""
    height, width = weights.shape[1:3]
    sums = np.tile(bias, (len(x), side, side, 1)).astype(int)
    for y, column, ky, kx in np.ndindex(*x.shape[1:3], height, width):
        to = y * stride + ky - pad, column * stride + kx - pad
        if min(to) >= 0 and max(to) < side:
            sums[:, to[0], to[1]] += x[:, y, column].astype(int) @ weights[:, ky, kx].T.astype(int)
    return scaled(sums)


def load_transposed(tmp_path, x, weights, bias, geometry):
    """Return the network of a transposed convolution; geometry: stride, padding, output's side."""
    stride, pad, side = geometry
    program = Program()
    start = program.tensor("int8", x.shape, LAST)
    out = program.tensor("int8", (len(x), len(weights), side, side), LAST)
    arrays = (weights, bias, np.full(2, 2**30, np.int32), np.full(2, -7, np.int32))
    w, b, multiplier, shift = (
        program.tensor(str(array.dtype), array.shape, data=array) for array in arrays
    )
    scratch = [program.tensor("uint8", (0,)) for _ in range(2)]
    program.call(
        "cortex_m::quantized_transpose_conv2d.out",
        *(start, w, b, [stride] * 2, [pad] * 2, [0, 0], [1, 1], 0, 0, multiplier, shift),
        *(-128, 127, *scratch, out),
    )
    return qemu_nn.load(program.write(tmp_path / "net.pte", [start], [out]))


GEOMETRIES = [
    (kernel, stride, pad)
    for kernel in (1, 2, 3, 4, 5)
    for stride in (1, 2, 3, 4)
    for pad in range(kernel)
    if 3 * stride + kernel - 2 * pad > 0 and pad % stride
]


@pytest.mark.parametrize(("kernel", "stride", "pad"), GEOMETRIES)
def test_the_release_decides_about_rows(tmp_path, kernel, stride, pad):
    x, w = codes(1, 3, 4, 4), codes(2, kernel, kernel, 3, seed=2)
    bias, side = np.array([300, -500], np.int32), 3 * stride + kernel - 2 * pad
    network = load_transposed(tmp_path, x, w, bias, (stride, pad, side))
    network.save(tmp_path / "net.qnz")
    want = defined(x.transpose(0, 2, 3, 1), w, bias, stride, pad, side)
    for each in (network, qemu_nn.load(tmp_path / "net.qnz")):
        target = qemu_nn.Target("cortex-m4", cmsis="main-2026-07")
        if side < 4 * stride - pad:
            with pytest.raises(Error, match=r"rows .* output"):
                each.session(target=target)
        else:
            same(each.session(target=target).predict(x), want.transpose(0, 3, 1, 2))
    before, after = written(network, "6.0.0"), written(network, "7.0.0")
    if before is not None:
        same(before.predict(x), want.transpose(0, 3, 1, 2))
    if after is not None:
        assert (after.predict(x).transpose(0, 2, 3, 1) != want).any()


def written(network, release):
    """Return a session of a release; None if it refuses the rows."""
    try:
        return network.session(target=qemu_nn.Target("cortex-m4", cmsis=release))
    except Refused:
        return None


def test_some_geometries_are_refused_by_7_0_0_alone(tmp_path):
    x, w, bias = codes(1, 3, 4, 4), codes(2, 5, 5, 3, seed=2), np.zeros(2, np.int32)
    network = load_transposed(tmp_path, x, w, bias, (3, 4, 6))
    with pytest.raises(Error, match=r"pad_h must be a multiple of stride_h.*cmsis='main-2026-07'"):
        network.session(target="cortex-m4")


def over(tmp_path, dtype):
    """Return a transposed convolution whose output overwrites an earlier input."""
    program = Program()
    before = program.tensor(dtype, (200,), at=0)
    x = program.tensor("int8", (1, 3, 4, 4), LAST)
    out = program.tensor("int8", (1, 2, 8, 8), LAST, at=0)
    scaling = [program.tensor("int32", (2,), data=[n, n]) for n in (2**30, -7)]
    weights = program.tensor("int8", (2, 4, 4, 3), data=codes(2, 4, 4, 3, seed=2))
    scratch = [program.tensor("uint8", (16,)) for _ in range(2)]
    program.call(
        "cortex_m::quantized_transpose_conv2d.out",
        *(x, weights, None, [2, 2], [1, 1], [0, 0], [1, 1], 0, 0, *scaling, -128, 127),
        *(*scratch, out),
    )
    return qemu_nn.load(program.write(tmp_path / "net.pte", [before, x], [out]))


def test_rows_that_are_never_written_hold_what_lay_there(tmp_path):
    network, x, held = over(tmp_path, "int8"), codes(1, 3, 4, 4), codes(200, seed=3)
    out = network.session(target="cortex-m4").predict([held, x])
    last = out.reshape(2, 8, 8).transpose(1, 2, 0)[7]
    assert (last.ravel() == held[112:128]).all()


def test_rows_that_hold_anything_else_are_refused(tmp_path):
    with pytest.raises(ModelError, match="contents of the memory where other instructions write"):
        over(tmp_path, "float32")


def test_a_stride_that_no_memory_holds_is_refused(tmp_path):
    x, w, scaling = codes(1, 1, 4, 4), codes(1, 2, 2, 1), np.full(1, 2**30, np.int32)
    none = np.zeros(0, np.uint8)
    args = ("in0", w, None, [2**30, 1], [1, 0], [0, 0], [1, 1], 0, 0, scaling, scaling, -128, 127)
    name = "cortex_m::quantized_transpose_conv2d.out"
    with pytest.raises(ModelError, match="more than 65535 rows"):
        made(tmp_path, name, [x], (*args, none, none), (1, 1, 8, 8), LAST, [LAST])


@pytest.mark.parametrize(("scratch", "short"), [(272, True), (288, False)])
def test_short_scratch_that_executorch_planned_is_warned_of(tmp_path, scratch, short):
    """Warn of the shapes of pull request 243 of CMSIS-NN, whose function answers 272."""
    program = Program()
    x = program.tensor("int8", (2, 4, 1, 9), LAST)
    out = program.tensor("int8", (2, 4, 1, 17), LAST)
    scaling = [program.tensor("int32", (4,), data=[n] * 4) for n in (2**30, -7)]
    weights = program.tensor("int8", (4, 1, 1, 4), data=codes(4, 1, 1, 4, seed=2))
    memory = [program.tensor("uint8", (size,)) for size in (scratch, 16)]
    program.call(
        "cortex_m::quantized_transpose_conv2d.out",
        *(x, weights, None, [1, 2], [0, 0], [0, 0], [1, 1], 0, 0, *scaling, -128, 127),
        *(*memory, out),
    )
    network = qemu_nn.load(program.write(tmp_path / "net.pte", [x], [out]))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        network.session(target="cortex-m4")
    found = [str(one.message) for one in said if "writes 288 bytes of scratch" in str(one.message)]
    assert len(found) == short
