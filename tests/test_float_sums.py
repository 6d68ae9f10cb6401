"""Convolutions and sums of the float reference: any way of computing them gives the same."""

import numpy as np
import pytest
from test_pickle import float_network

import qemu_nn
from qemu_nn.analysis.errors import Tally
from qemu_nn.api import analyze as analysis
from qemu_nn.api import layer_runs
from qemu_nn.operators import linear
from qemu_nn.operators.linear import Conv, Dense
from qemu_nn.runtime.exact import Products


def by_definition(conv, x):
    """A convolution of images NHWC, sum by sum."""
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


@pytest.mark.parametrize("largest", [127, 128, 32767])
def test_sums_of_integers_are_exact_at_any_size(largest):
    rng = np.random.default_rng(largest)
    weights = rng.integers(-largest, largest + 1, (5, 1040))
    weights[0], weights[1] = largest, -largest - 1  # the last bit of the longest sums
    x = rng.integers(-largest, largest + 1, (4, 1040))
    x[0], x[1] = largest, -largest - 1
    weights[0, 0] -= 1
    sums = Products(Dense(weights.astype(np.float64))).of(x)
    assert sums.dtype == np.float64
    np.testing.assert_array_equal(sums.astype(np.int64), x @ weights.T)


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
    network = qemu_nn.quantize(float_network(), real)
    sizes = []

    def batches(network, data, how, size):
        sizes.append(size)
        return every(network, data, how, size)

    every, tables, ratios = analysis.real_batches, [], []
    monkeypatch.setattr(analysis, "real_batches", batches)
    for bytes_ in (1 << 8, 1 << 14, 1 << 19):
        monkeypatch.setattr(analysis, "_BATCH", bytes_)
        monkeypatch.setattr(layer_runs, "_PART", bytes_ // 4)
        report = qemu_nn.analyze(network, real)
        counted = ("function", "format", "min", "max", "saturated_%", "lost_%", "sum_min")
        tables.append(report.table().part(*counted))
        ratios.append([layer.whole.sqnr for layer in report.layers])
    assert tables[0] == tables[1] == tables[2]
    np.testing.assert_allclose(ratios[1:], ratios[:-1], rtol=1e-6)
    assert sizes[0] == 1 < sizes[1] < sizes[2] <= 64
