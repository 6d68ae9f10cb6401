"""Networks of the NPU on fast rows: the bits of the plain ones, and no slow row left in them."""

from itertools import product

import numpy as np
import pytest
from hosts import leaves_calls

from qemu_nn import cmsis
from qemu_nn.bench.networks import NETWORKS
from qemu_nn.bench.wuqi_networks import NPU_NETWORKS
from qemu_nn.functions import NPU_FUNCTIONS
from qemu_nn.functions.shapes import get_extent
from qemu_nn.kernels import table as kernels
from qemu_nn.runtime.session import Session, draw_inputs
from qemu_nn.targets import NPU
from qemu_nn.testing.channels import draw_starts

pytestmark = pytest.mark.caps

SMALL = ("lenet5_npu", "mobilenet_025_96_npu")


@pytest.mark.parametrize("name", NPU_NETWORKS)
def test_a_network_has_the_work_of_its_twin(name):
    network, twin = NPU_NETWORKS[name](), NETWORKS[name[: -len("_npu")]]()
    work = [
        sum(get_extent(node.function.macs, node.params) for node in graph.nodes)
        for graph in (network, twin)
    ]
    assert work[0] == work[1]
    assert [node.output.shape for node in network.nodes] == [n.output.shape for n in twin.nodes]


@pytest.mark.parametrize("cap", ["avx2", "avx512vnni", "amx"])
@pytest.mark.parametrize("name", SMALL)
def test_every_layer_of_a_network_has_the_bits_of_its_plain_rows(name, cap, monkeypatch):
    graph = NPU_NETWORKS[name]()
    x = draw_inputs(graph, 2)
    plain = Session(graph, NPU, "ref").run(x, trace=True)
    monkeypatch.setenv(kernels.CAP, cap)
    fast = Session(graph, NPU).run(x, trace=True)
    for layer in plain:
        np.testing.assert_array_equal(fast[layer], plain[layer], layer)


@pytest.mark.parametrize("name", SMALL)
def test_no_activation_saturates_or_vanishes(name):
    graph = NPU_NETWORKS[name]()
    trace = Session(graph, NPU).run(draw_inputs(graph, 1), trace=True)
    for node in graph.nodes[:-1]:
        values = trace[node.name]
        assert np.mean((values == -128) | (values == 127)) < 0.2, f"{node.name} saturates"
        assert np.count_nonzero(values) > 0.2 * values.size, f"{node.name} vanishes"


@pytest.mark.skipif(not kernels.cpu_features() & kernels.FEATURES["avx2"], reason="needs AVX2")
@pytest.mark.parametrize("name", SMALL)
def test_no_layer_but_the_last_runs_on_a_plain_row(name):
    steps = Session(NPU_NETWORKS[name](), NPU).plan.steps
    assert [s.row.op.name for s in steps if s.row.kind == "plain"] == ["npu_log_softmax"]


#: Channel counts of a window: with two or four lanes each, one, and counts that need two vectors.
CHANNELS = (1, 8, 16, 17)


def row_of_outputs(type, image, weights, pairs, variant):
    """Outputs [x][o] of an image [x][c] and weights [o][kx][c]."""
    (width, depth), (channels, kernel, _) = image.shape, weights.shape
    shape = {"in_h": 1, "in_w": width, "group": 1, "depth": depth, "out_c": channels}
    ones = ("out_h", "kernel_h", "stride_h", "stride_w", "dilation_h", "dilation_w")
    shape.update(dict.fromkeys(ones, 1), pad_n=0, pad_w=0)
    shape.update(out_w=width - kernel + 1, kernel_w=kernel)
    arguments = {**shape, "input": image, "weights": weights, "start_shift": pairs}
    return cmsis.invoke(NPU_FUNCTIONS[f"npu_convolve_{type}"], arguments, NPU, variant)


def convolve(type, image, weights, start, shift, variant, channels=1):
    """Return one output of a window as wide as the image, [x][c], for that many channels."""
    weights = np.repeat(weights[np.newaxis], channels, axis=0)
    pairs = np.tile(np.array([start, shift], np.int64), (channels, 1))
    found = row_of_outputs(type, image, weights, pairs, variant)
    assert np.all(found == found.flat[0])
    return int(found.flat[0])


def fast_rows(type):
    """But for those that leave a single pixel to others."""
    rows = kernels.list_rows("npu_convolve", type)
    return [r.variant for r in rows if r.runs_here() and not leaves_calls(r)]


@pytest.mark.parametrize("type", ["s8", "u8"])
def test_sums_that_leave_32_bits_are_exact(type):
    dtype, highest = (np.int8, 127) if type == "s8" else (np.uint8, 255)
    image, weights = np.full((8, 2**15), highest, dtype), np.full((8, 2**15), 127, np.int8)
    total = highest * 127 * 2**18
    assert total > 2**31
    for variant in fast_rows(type):
        for start in (0, -total, 2**40, -(2**40)):
            want = max(-128, min(127, (total + start) >> 26))
            assert convolve(type, image, weights, start, 26, variant) == want, variant


@pytest.mark.parametrize("weight", [-32768, 32767, 127, 128, -128, -129])
@pytest.mark.parametrize("depth", [1, 168, 171, 257, 510, 511, 1021, 5000])
def test_sums_of_16_bits_are_exact_at_the_ends_of_every_part(depth, weight):
    for value in (-32768, 32767):
        image, weights = (np.full((1, depth), v, np.int16) for v in (value, weight))
        total = depth * value * weight
        for variant, channels in product(fast_rows("s16"), CHANNELS):
            for low in (-1, 0, 32767):  # what is left of the sum, down to its last bit
                start = low - total
                found = convolve("s16", image, weights, start, 0, variant, channels)
                assert found == low, (variant, channels)


def test_sums_of_the_most_products_and_the_largest_start_are_exact():
    """Above 2^45 a start leaves too little room in high: then the plain row computes."""
    for weight in (-(2**15), 2**15 - 1):
        image, weights = (np.full((2, 2**15), v, np.int16) for v in (-(2**15), weight))
        total = -weight * 2**31
        for variant, channels in product(fast_rows("s16"), CHANNELS):
            for most in (2**45 - 1, 2**45, 2**46, 2**47 - 1):
                for start in (most, -most):
                    found = convolve("s16", image, weights, start, 40, variant, channels)
                    assert found == (total + start) >> 40, (variant, channels)


@pytest.mark.parametrize("shift", [0, 15, 16, 17, 46, 47, 48, 63])
@pytest.mark.parametrize("depth", [3, 600])
def test_outputs_of_16_bits_are_exact_wherever_their_last_bit_stands(depth, shift):
    rng = np.random.default_rng(depth)
    image, weights = rng.integers(-(2**15), 2**15, (2, 4, depth)).astype(np.int16)
    total = int(np.sum(image.astype(np.int64) * weights))
    for variant, channels in product(fast_rows("s16"), CHANNELS):
        for most in (2**30, 2**39, 2**45 - 1, 2**45, 2**61):
            for start in (-most, most, 4321 - total):
                want = max(-(2**15), min(2**15 - 1, (total + start) >> shift))
                found = convolve("s16", image, weights, start, shift, variant, channels)
                assert found == want, (variant, channels)


@pytest.mark.parametrize("width", [*range(1, 9), 10, 13, 15])
@pytest.mark.parametrize(("depth", "kernel"), [(1032, 1), (1030, 1), (37, 3)])
def test_rows_of_any_width_and_number_of_channels_are_exact(width, depth, kernel):
    """Weights of all 16 bits make several parts; images of whole 8 channels may stay in place."""
    rng = np.random.default_rng(width)
    image = rng.integers(-(2**15), 2**15, (width + kernel - 1, depth)).astype(np.int16)
    for channels in (5, 12, 17, 32, 41, 64):
        weights = rng.integers(-(2**15), 2**15, (channels, kernel, depth)).astype(np.int16)
        pairs = draw_starts(rng, "each", channels, 9, 0.5)
        windows = np.lib.stride_tricks.sliding_window_view(image.astype(np.int64), kernel, axis=0)
        sums = np.einsum("xck,okc->xo", windows, weights) + pairs[:, 0]
        want = np.clip(sums >> pairs[:, 1], -(2**15), 2**15 - 1)
        for variant in fast_rows("s16"):
            found = row_of_outputs("s16", image, weights, pairs, variant)
            np.testing.assert_array_equal(found.reshape(want.shape), want, variant)


#: The least shift of a channel and the most: the last bits of outputs stand below a sum's bit 16,
#: above it, or some here and some there.
SHIFTS = ((0, 15), (9, 16), (16, 16), (16, 33), (17, 31), (0, 47))


@pytest.mark.parametrize("shifts", SHIFTS)
@pytest.mark.parametrize("channels", [3, 7, 12, 24, 32, 52])
def test_outputs_are_exact_at_both_ends_wherever_the_last_bits_of_channels_stand(channels, shifts):
    """Sums lie about the least and the most that outputs hold, and 2^32 and more beyond."""
    rng = np.random.default_rng(channels)
    for width, depth in ((3, 24), (4, 8), (7, 36), (13, 20)):
        image = rng.integers(-(2**15), 2**15, (width, depth)).astype(np.int16)
        weights = rng.integers(-(2**15), 2**15, (channels, 1, depth)).astype(np.int16)
        products = image.astype(np.int64) @ weights[:, 0].astype(np.int64).T
        shift = rng.integers(shifts[0], shifts[1], channels, endpoint=True)
        ends = rng.choice([-(2**15), 0, 2**15 - 1], channels) << shift
        beyond = rng.choice([-(2**32), -(2**31), 0, 0, 1, 2**31, 2**32, 2**33], channels)
        start = ends + beyond - products[rng.integers(width, size=channels), np.arange(channels)]
        want = np.clip((products + start) >> shift, -(2**15), 2**15 - 1)
        for variant in fast_rows("s16"):
            pairs = np.stack([start, shift], 1)
            found = row_of_outputs("s16", image, weights, pairs, variant)
            np.testing.assert_array_equal(found.reshape(want.shape), want, variant)
