"""Operators of .pte files in programs of their own, against their loops in Python."""

import numpy as np
import pytest

pytest.importorskip("flatbuffers", reason="the library flatbuffers writes the files")
from pte_files import LAST, Program, codes, made, numbers, same

import qemu_nn
from qemu_nn.errors import ModelError

F = np.float32


def convolution(x, w, b, stride, pad, dilation, groups, sides):
    out = np.zeros((len(x), len(w), *sides), F)
    own = w.shape[1]
    for n, o, y, i in np.ndindex(*out.shape):
        total, first = F(0), o // (len(w) // groups) * own
        for c, ky, kx in np.ndindex(own, *w.shape[2:]):
            at = (
                y * stride[0] + ky * dilation[0] - pad[0],
                i * stride[1] + kx * dilation[1] - pad[1],
            )
            if 0 <= at[0] < x.shape[2] and 0 <= at[1] < x.shape[3]:
                total += x[(n, first + c, *at)] * w[o, c, ky, kx]
        out[n, o, y, i] = total + b[o]
    return out


def scattered(x, w, b, stride, pad, groups, sides):
    count = w.shape[1] * groups
    out = np.zeros((len(x), count, *sides), F) + b[:, None, None]
    for n, y, i, c, m, ky, kx in np.ndindex(len(x), *x.shape[2:], x.shape[1], *w.shape[1:]):
        o = c // (len(w) // groups) * w.shape[1] + m
        at = y * stride[0] + ky - pad[0], i * stride[1] + kx - pad[1]
        if 0 <= at[0] < sides[0] and 0 <= at[1] < sides[1]:
            out[(n, o, *at)] += x[n, c, y, i] * w[c, m, ky, kx]
    return out


@pytest.mark.oracle("executorch_convolution_f32")
@pytest.mark.parametrize("order", [None, LAST])
def test_a_convolution_adds_up_in_the_kernel_s_order(tmp_path, order):
    x, w, b = numbers(2, 4, 5, 6), numbers(6, 2, 3, 2, seed=2), numbers(6, seed=3)
    args = ("in0", w, b, [2, 1], [1, 0], [1, 2], False, [0, 0], 2)
    found = made(tmp_path, "aten::convolution.out", [x], args, (2, 6, 3, 4), order, [order])
    same(found, convolution(x, w, b, (2, 1), (1, 0), (1, 2), 2, (3, 4)))


@pytest.mark.oracle("executorch_transpose_convolution_f32")
@pytest.mark.parametrize("order", [None, LAST])
def test_a_transposed_convolution_adds_to_its_bias(tmp_path, order):
    x, w, b = numbers(1, 4, 3, 3), numbers(4, 3, 3, 2, seed=2), numbers(6, seed=3)
    args = ("in0", w, b, [2, 2], [1, 0], [1, 1], True, [1, 1], 2)
    found = made(tmp_path, "aten::convolution.out", [x], args, (1, 6, 6, 7), order, [order])
    same(found, scattered(x, w, b, (2, 2), (1, 0), 2, (6, 7)))


def test_a_convolution_of_a_signal_without_a_bias(tmp_path):
    x, w = numbers(1, 3, 8), numbers(4, 3, 3, seed=2)
    args = ("in0", w, None, [1], [1], [1], False, [0], 1)
    found = made(tmp_path, "aten::convolution.out", [x], args, (1, 4, 8))
    image = convolution(
        x[:, :, None], w[:, :, None], np.zeros(4, F), (1, 1), (0, 1), (1, 1), 1, (1, 8)
    )
    same(found, image[:, :, 0])


@pytest.mark.oracle("executorch_upsample_bilinear_f32")
@pytest.mark.parametrize("order", [None, LAST])
@pytest.mark.parametrize(("align", "sides"), [(False, (7, 3)), (True, (7, 3)), (False, (3, 9))])
def test_a_bilinear_image_mixes_columns_before_rows(tmp_path, align, sides, order):
    x = numbers(1, 2, 3, 4)
    args = ("in0", list(sides), align, None)
    name = "aten::upsample_bilinear2d.vec_out"
    found = made(tmp_path, name, [x], args, (1, 2, *sides), order, [order])

    def places(side, count):
        for o in range(count):
            ratio = F((side - 1) / (count - 1)) if align else F(1.0 / (count / side))
            at = ratio * F(o) if align else max(F((F(o) + F(0.5)) * ratio - F(0.5)), F(0))
            first = min(int(np.floor(at)), side - 1)
            part = F(min(max(F(at - F(first)), F(0)), F(1)))
            first, part = (o, F(0)) if side == count else (first, part)
            yield first, min(first + 1, side - 1) if side != count else o, F(1) - part, part

    want = np.zeros((1, 2, *sides), F)
    for y, (y0, y1, fy0, fy1) in enumerate(places(3, sides[0])):
        for i, (x0, x1, fx0, fx1) in enumerate(places(4, sides[1])):
            top = x[:, :, y0, x0] * fx0 + x[:, :, y0, x1] * fx1
            bottom = x[:, :, y1, x0] * fx0 + x[:, :, y1, x1] * fx1
            want[:, :, y, i] = top * fy0 + bottom * fy1
    same(found, want)


@pytest.mark.parametrize("order", [None, LAST])
@pytest.mark.parametrize("x", [numbers(1, 3, 4, 5), codes(1, 3, 4, 5)], ids=["real", "integers"])
def test_the_nearest_is_the_one_below(tmp_path, x, order):
    args = ("in0", None, ("plain", [3.0, 1.6]))
    name = "aten::upsample_nearest2d.vec_out"
    found = made(tmp_path, name, [x], args, (1, 3, 12, 8), order, [order])
    rows, columns = (
        np.minimum(np.floor(np.arange(n, dtype=F) * F(1 / s)).astype(int), side - 1)
        for n, s, side in ((12, 3.0, 4), (8, 1.6, 5))
    )
    same(found, x[:, :, rows][..., columns])


@pytest.mark.oracle("executorch_layer_norm_f32")
def test_a_layer_norm_has_sums_in_turn(tmp_path):
    x, w, b = numbers(5, 12), numbers(12, seed=2), numbers(12, seed=3)
    more = [("float32", (5, 1))] * 2
    name, args = "aten::native_layer_norm.out", ("in0", [12], w, b, 1e-5)
    found = made(tmp_path, name, [x], args, (5, 12), more=more)
    for row, got in zip(x, found):
        total, squares = F(0), F(0)
        for value in row:
            total, squares = total + value, squares + value * value
        mean = total / F(12)
        deviation = np.sqrt(squares / F(12) - mean * mean + F(1e-5))
        same(got, (row - mean) / deviation * w + b)


@pytest.mark.oracle("executorch_adaptive_average_f32")
def test_an_adaptive_average_has_windows_of_several_sizes(tmp_path):
    x = numbers(2, 3, 7, 5)
    found = made(tmp_path, "aten::_adaptive_avg_pool2d.out", [x], ("in0", [3, 2]), (2, 3, 3, 2))
    want = np.zeros((2, 3, 3, 2), F)
    for n, c, y, i in np.ndindex(*want.shape):
        cells = x[n, c, y * 7 // 3 : -(-(y + 1) * 7 // 3), i * 5 // 2 : -(-(i + 1) * 5 // 2)]
        total = F(0)
        for value in cells.ravel():
            total += value
        want[n, c, y, i] = total / F(cells.size)
    same(found, want)


@pytest.mark.parametrize("step", [[], [2, 3]])
@pytest.mark.parametrize("divisor", [None, 6])
def test_an_average_of_windows_side_by_side_adds_up_row_by_row(tmp_path, step, divisor):
    x = numbers(2, 3, 6, 9)
    args = ("in0", [2, 3], step, [0, 0], False, True, divisor)
    found = made(tmp_path, "aten::avg_pool2d.out", [x], args, (2, 3, 3, 3))
    want = np.zeros((2, 3, 3, 3), F)
    for n, c, y, i in np.ndindex(*want.shape):
        total = F(0)
        for value in x[n, c, 2 * y : 2 * y + 2, 3 * i : 3 * i + 3].ravel():
            total += value
        want[n, c, y, i] = total / F(6)
    same(found, want)


@pytest.mark.parametrize(
    ("window", "step", "pad", "divisor", "sides"),
    [
        ([2, 3], [1, 3], [0, 0], None, (5, 3)),
        ([2, 3], [], [1, 0], None, (4, 3)),
        ([2, 3], [], [0, 0], 5, (3, 3)),
        ([4, 3], [], [0, 0], None, (1, 3)),
    ],
)
def test_other_windows_of_averages_are_refused(tmp_path, window, step, pad, divisor, sides):
    args = ("in0", window, step, pad, False, True, divisor)
    with pytest.raises(ModelError, match="must lie side by side"):
        made(tmp_path, "aten::avg_pool2d.out", [numbers(2, 3, 6, 9)], args, (2, 3, *sides))


@pytest.mark.parametrize("order", [None, LAST])
@pytest.mark.parametrize("gap", [1, 2])
def test_the_largest_under_windows(tmp_path, gap, order):
    x = codes(1, 3, 7, 6)
    args = ("in0", [2, 3], [2, 1], [1, 1], [gap, gap], False)
    sides = ((7 + 2 - gap - 1) // 2 + 1, 6 + 2 - 2 * gap)
    name, more = "aten::max_pool2d_with_indices.out", [("int64", (1, 3, *sides))]
    found = made(tmp_path, name, [x], args, (1, 3, *sides), order, [order], more=more)
    wide = np.pad(x, ((0, 0), (0, 0), (1, 3), (1, 3)), constant_values=-128)
    cells = [
        wide[:, :, ky * gap :: 2, kx * gap :][:, :, : sides[0], : sides[1]]
        for ky, kx in np.ndindex(2, 3)
    ]
    same(found, np.max(cells, 0))


def test_relu_of_int8_keeps_its_integers_from_zero_on(tmp_path):
    x = codes(5, 8)
    same(made(tmp_path, "aten::relu.out", [x], ("in0",), (5, 8)), np.maximum(x, 0))


def test_functions_of_each_number(tmp_path):
    x = numbers(40) * 3
    found = made(tmp_path, "aten::sigmoid.out", [x], ("in0",), (40,))
    grown = np.exp(-x.astype(float)).astype(F)
    same(found, F(1) / (F(1) + grown))
    same(made(tmp_path, "aten::relu.out", [x], ("in0",), (40,)), np.where(x < 0, F(0), x))
    below = np.expm1(np.minimum(x, 0).astype(float)).astype(F)
    for alpha, scale in ((1.0, 1.0), (0.7, 1.0), (1.673, 1.0507)):
        found = made(tmp_path, "aten::elu.out", [x], ("in0", alpha, scale, 1.0), (40,))
        same(found, np.where(x <= 0, below * (F(alpha) * F(scale)), x * F(scale)))
    for ends in ((-1.0, 2.0), (None, 0.5), (0.0, None)):
        found = made(tmp_path, "aten::clamp.out", [x], ("in0", *ends), (40,))
        low, high = (
            -np.inf if ends[0] is None else ends[0],
            np.inf if ends[1] is None else ends[1],
        )
        same(found, np.clip(x, F(low), F(high)))


@pytest.mark.parametrize(("name", "sign"), [("add", 1), ("sub", -1)])
def test_the_second_operand_is_scaled_and_rounded(tmp_path, name, sign):
    x, y = numbers(2, 3, 4), numbers(3, 1, seed=2)
    found = made(tmp_path, f"aten::{name}.out", [x, y], ("in0", "in1", 0.3), x.shape)
    same(found, x + F(sign) * (F(0.3) * y))


def test_a_broadcast_of_channels_that_lie_last_writes_them_in_order(tmp_path):
    x, y = numbers(1, 3, 2, 4), numbers(1, 3, 1, 1, seed=2)
    orders = [LAST, LAST]
    found = made(tmp_path, "aten::mul.out", [x, y], ("in0", "in1"), x.shape, LAST, orders)
    in_order = (x * y).reshape(1, 2, 4, 3)  # these bytes, taken for channels that lie last
    same(found, in_order.transpose(0, 3, 1, 2))


@pytest.mark.parametrize("axes", [[1], [2, 3], [0, 2], None])
def test_a_mean_adds_up_in_turn(tmp_path, axes):
    x = numbers(2, 3, 4, 2)
    kept = [1 if axes is None or i in axes else n for i, n in enumerate(x.shape)]
    found = made(tmp_path, "aten::mean.out", [x], ("in0", axes, True, None), kept)
    moved = np.moveaxis(x, axes or range(4), range(-len(axes or range(4)), 0))
    rows = moved.reshape(int(np.prod(kept)), -1)
    want = [np.cumsum(row, dtype=F)[-1] / F(len(row)) for row in rows]
    same(found, np.array(want, F).reshape(kept))


def test_a_slice_of_channels_that_lie_last_takes_the_logical_sizes(tmp_path):
    x = codes(1, 3, 4, 2)
    args = ("in0", 1, 0, 2, 1)
    found = made(tmp_path, "aten::slice_copy.Tensor_out", [x], args, (1, 2, 4, 2), LAST, [LAST])
    taken = x.transpose(LAST).reshape(3, 4, 2)[:2]
    same(found, taken.reshape(1, 4, 2, 2).transpose(0, 3, 1, 2))


def test_padding_of_one_channel_is_that_of_an_image_whose_channels_lie_last(tmp_path):
    x = codes(1, 1, 3, 4)
    args = ("in0", [0, 1, 2, 0], [0, 0, 1, 0], 5)
    found = made(tmp_path, "cortex_m::pad.out", [x], args, (1, 1, 4, 7))
    same(found[0, 0], np.pad(x[0, 0], ((1, 0), (2, 1)), constant_values=5))


@pytest.mark.parametrize(
    ("name", "args", "orders", "why"),
    [
        ("aten::add.out", ("in0", "in0", 1), [LAST, None], "different orders of axes"),
        ("aten::mean.out", ("in0", [1], True, None), [LAST, LAST], "are not in order in memory"),
        ("aten::_softmax.out", ("in0", 1, False), [LAST, LAST], "only a part of it"),
        ("aten::elu.out", ("in0", 1.0, 1.0, 2.0), [None, None], "scales its input by 2.0"),
        ("aten::bmm.out", ("in0", "in0"), [None, None], "not supported: aten::bmm.out"),
    ],
)
def test_what_a_device_refuses_is_refused(tmp_path, name, args, orders, why):
    x = numbers(1, 3, 2, 2)
    with pytest.raises(ModelError, match=why):
        made(tmp_path, name, [x], args, x.shape, orders[1], orders)


def test_a_constant_in_another_file_is_named(tmp_path):
    program = Program()
    x, out = program.tensor("float32", (4,)), program.tensor("float32", (4,))
    far = program.tensor("float32", (4,), file="layer.weight")
    program.call("aten::mul.out", x, far, out)
    with pytest.raises(ModelError, match=r"another file, as 'layer\.weight'"):
        qemu_nn.load(program.write(tmp_path / "net.pte", [x], [out]))


@pytest.mark.parametrize("returns", [True, False])
def test_a_view_of_a_shape_that_the_program_computes_is_the_same_memory(returns, tmp_path):
    program = Program()
    x, y = program.tensor("float32", (2, 3)), program.tensor("float32", (2, 3))
    view = program.tensor("float32", (3, 2), at=32)
    out = program.tensor("float32", (3, 2))
    program.call("aten::neg.out", x, y)
    program.call("executorch_prim::et_view.default", y, [3, 2], view)
    if not returns:
        name, args = program.calls[-1]
        program.calls[-1] = name, args[:3]
    program.call("aten::abs.out", view, out)
    network = qemu_nn.load(program.write(tmp_path / "net.pte", [x], [out]))
    given = np.arange(6, dtype=F).reshape(1, 2, 3) - 3
    assert (network.predict(given)[0] == np.abs(given).reshape(3, 2)).all()


def test_a_view_with_memory_of_its_own_is_refused(tmp_path):
    program = Program()
    x, y = program.tensor("float32", (2, 3)), program.tensor("float32", (3, 2))
    program.call("executorch_prim::et_view.default", x, [3, 2], y)
    with pytest.raises(ModelError, match="has memory of its own"):
        qemu_nn.load(program.write(tmp_path / "net.pte", [x], [y]))
