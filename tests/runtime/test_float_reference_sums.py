"""Convolutions and sums of the float reference: any way of computing them gives the same."""

import numpy as np
import pytest
from float_classifiers import float_network

import qemu_nn
from qemu_nn.analysis.errors import Tally
from qemu_nn.api import analyze as analysis
from qemu_nn.evaluation import layer_statistics
from qemu_nn.operators import base, linear
from qemu_nn.operators.linear import Conv, Dense
from qemu_nn.runtime import ordered as sums
from qemu_nn.runtime.exact_matmul import Products
from qemu_nn.runtime.ordered import order_sums


def by_definition(conv, x):
    """Compute a convolution of images NHWC, sum by sum."""
    top, left, bottom, right = conv.pads
    x = np.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0)))
    (down, along), (dy, dx) = conv.stride, conv.dilation
    out, tall, wide, _ = conv.weights.shape
    height = (x.shape[1] - dy * (tall - 1) - 1) // down + 1
    width = (x.shape[2] - dx * (wide - 1) - 1) // along + 1
    result = np.zeros((len(x), height, width, out))
    for y in range(height):
        for z in range(width):
            rows = x[:, y * down :, z * along :]
            cells = rows[:, : dy * tall : dy, : dx * wide : dx]
            result[:, y, z] = np.einsum("nijc,oijc->no", cells, conv.weights)
    return result


SHAPES = {
    "plain": ((5, 5, 1), (2, 3, 3), {}),
    "padded": ((6, 5, 3), (4, 3, 2), {"pads": (1, 0, 2, 1)}),
    "strided": ((9, 8, 2), (3, 2, 3), {"stride": (3, 2)}),
    "dilated": ((9, 11, 2), (3, 3, 2), {"dilation": (2, 3), "stride": (2, 1)}),
    "one by one": ((4, 4, 7), (5, 1, 1), {}),
    "one column": ((9, 5, 1), (3, 4, 1), {}),
    "many channels": ((4, 5, 33), (3, 3, 3), {"stride": (1, 2)}),
    "cropped": ((8, 8, 2), (2, 3, 3), {"pads": (-1, 0, 0, -2)}),
}


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("cells", [1, 1 << 19])
def test_a_convolution_is_what_its_definition_says(name, cells, monkeypatch):
    monkeypatch.setattr(linear, "_CELLS", cells)
    (height, width, channels), (out, tall, wide), how = SHAPES[name]
    rng = np.random.default_rng(len(name))
    conv = Conv(rng.integers(-9, 10, (out, tall, wide, channels)).astype(float), **how)
    x = rng.integers(-50, 50, (3, height, width, channels)).astype(np.float64)
    cropped = x[:, 1:, :-2] if name == "cropped" else x
    wanted = by_definition(Conv(conv.weights, **({} if name == "cropped" else how)), cropped)
    np.testing.assert_array_equal(conv.evaluate(x), wanted)
    turned = np.ascontiguousarray(np.moveaxis(x, -1, 1))
    as_planes = Conv(conv.weights, layout="NCHW", **how).evaluate(turned)
    np.testing.assert_array_equal(np.moveaxis(as_planes, 1, -1), wanted)


def added_in_turn(x, weights):
    """Return the sums of x [rows, taps] times weights [taps, columns], added one by one."""
    (depth, columns), lanes = weights.shape, 16 // x.itemsize
    turns = [range(depth)]
    if columns < depth:
        whole = depth // (4 * lanes) * (4 * lanes)
        fours = [
            start + 3 * lanes - k
            for start in range(0, whole, 4 * lanes)
            for k in range(0, 4 * lanes, lanes)
        ]
        fours += range(whole, depth, lanes)
        turns = [[k + lane for k in fours if k + lane < depth] for lane in range(lanes)]
    parts = []
    for turn in turns:
        parts.append(np.zeros((len(x), columns), x.dtype))
        for k in turn:
            parts[-1] += x[:, k, None] * weights[k]
    while len(parts) > 1:
        parts = [first + second for first, second in zip(parts[::2], parts[1::2])]
    return parts[0]


@pytest.mark.caps
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("depth", [1, 2, 7, 8, 15, 16, 17, 25, 33, 150])
@pytest.mark.parametrize("columns", [1, 6, 8, 17])
def test_sums_in_order_have_the_bits_of_their_order(dtype, depth, columns, monkeypatch):
    rng = np.random.default_rng(depth)
    x = rng.normal(size=(9, 2, depth)).astype(dtype)
    dense = order_sums(Dense(rng.normal(size=(columns, depth))))
    weights = dense.weights.astype(dtype).T
    turned = np.moveaxis(np.ascontiguousarray(np.moveaxis(x, -1, 0)), 0, -1)
    for features in (sums.cpu_features(), 0):
        monkeypatch.setattr(sums, "cpu_features", lambda found=features: found)
        for rows in (x, x[::2], turned[1:], x[:1, :1], x[:0]):
            wanted = added_in_turn(rows.reshape(-1, depth), weights)
            got = dense.evaluate(rows)
            assert got.dtype == dtype
            np.testing.assert_array_equal(got.reshape(-1, columns), wanted)


@pytest.mark.caps
@pytest.mark.parametrize("name", SHAPES)
def test_a_convolution_in_order_adds_each_window_or_each_tap_in_turn(name):
    (height, width, channels), (out, tall, wide), how = SHAPES[name]
    rng = np.random.default_rng(len(name))
    conv = Conv(rng.normal(size=(out, tall, wide, channels)), rng.normal(size=out), **how)
    x = rng.normal(size=(3, height, width, channels)).astype(np.float32)
    cells = conv._taps(base.pad_images(x, conv.pads), conv.shape(x.shape[1:])[:2])
    weights = conv.weights.astype(np.float32)
    if channels > 32:  # a product of matrices for each tap
        taps = [(cells[:, :, :, i, j], weights[:, i, j]) for i in range(tall) for j in range(wide)]
    else:
        taps = [(cells, weights)]
    wanted = np.float32(0)
    for cell, weight in taps:
        depth = weight[0].size
        wanted = wanted + added_in_turn(cell.reshape(-1, depth), weight.reshape(out, depth).T)
    wanted = (wanted + conv.bias.astype(np.float32)).reshape(*cells.shape[:3], out)
    np.testing.assert_array_equal(order_sums(conv).evaluate(x), wanted)
    np.testing.assert_array_equal(order_sums(conv).evaluate(x[1:2]), wanted[1:2])


def test_groups_are_summed_in_order_each_for_itself():
    rng = np.random.default_rng(8)
    weights, x = rng.normal(size=(6, 3, 2, 2)), rng.normal(size=(2, 6, 5, 6))
    whole = order_sums(Conv(weights, groups=3)).evaluate(x)
    for g in range(3):
        own = slice(2 * g, 2 * g + 2)
        wanted = sum(
            added_in_turn(x[:, i : i + 4, j : j + 4, own].reshape(-1, 2), weights[own, i, j].T)
            for i in range(3)
            for j in range(2)
        )
        np.testing.assert_array_equal(whole[..., own].reshape(-1, 2), wanted)


@pytest.mark.parametrize("bias", [None, 0, 1 << 20])
@pytest.mark.parametrize("taps", [1000, 1040])
@pytest.mark.parametrize("largest", [127, 128, 32767])
def test_sums_of_integers_are_exact_at_any_size(largest, taps, bias):
    rng = np.random.default_rng(largest)
    weights = rng.integers(-largest, largest + 1, (5, taps))
    weights[0], weights[1] = largest, -largest - 1  # the last bit of the longest sums
    x = rng.integers(-largest, largest + 1, (4, taps))
    x[0], x[1] = largest, -largest - 1
    weights[0, 0] -= 1
    start = 0 if bias is None else rng.integers(bias, bias + 9, 5)
    layer = Dense(weights.astype(np.float64), None if bias is None else start.astype(np.float64))
    sums = Products(layer).of(x)
    fits = largest < 129 and taps == 1000 and not bias
    assert sums.dtype == (np.float32 if fits else np.float64)
    np.testing.assert_array_equal(sums.astype(np.int64), x @ weights.T + start)


def test_integers_of_8_bits_keep_their_weights_sign():
    weights = np.full((1, 2**11), -128, np.int8)
    weights[0, 0] = -127
    assert Products(Dense(weights)).of(weights)[0, 0] == 128 * 128 * (2**11 - 1) + 127 * 127


def test_a_tally_is_what_its_sums_are():
    rng = np.random.default_rng(2)
    real, got = rng.normal(size=(2, 40, 30))
    tally = Tally()
    tally.add(real[:7], got[:7])
    tally.add(real[7:], got[7:])
    told = tally.errors()
    assert told.largest == np.abs(got - real).max()
    np.testing.assert_allclose(told.mean, (got - real).mean())
    noise = ((got - real) ** 2).sum()
    np.testing.assert_allclose(told.sqnr, 10 * np.log10((real**2).sum() / noise))


def test_figures_do_not_depend_on_how_many_samples_are_computed_at_once(monkeypatch):
    real = np.random.default_rng(5).normal(size=(30, 8, 8, 1))
    network = qemu_nn.quantize(float_network(), real, scheme="power2")
    sizes = []

    def batches(network, data, size, count):
        sizes.append(size)
        return every(network, data, size, count=count)

    every, tables, ratios = analysis.real_batches, [], []
    monkeypatch.setattr(analysis, "real_batches", batches)
    for bytes_ in (1 << 8, 1 << 14, 1 << 19):
        monkeypatch.setattr(analysis, "_BATCH", bytes_)
        monkeypatch.setattr(layer_statistics, "_PART", bytes_ // 4)
        report = qemu_nn.analyze(network, real)
        counted = ("function", "format", "min", "max", "saturated_%", "lost_%", "sum_min")
        tables.append(report.table().part(*counted))
        ratios.append([layer.whole.sqnr for layer in report.layers])
    assert tables[0] == tables[1] == tables[2]
    np.testing.assert_allclose(ratios[1:], ratios[:-1], rtol=1e-6)
    assert sizes[0] == 1 < sizes[1] < sizes[2] <= 64
