"""Images whose sign bits are flipped for the dot products of the next call."""

import pytest
from affine_networks import dense
from traced_runs import DEVICE, same_bytes

from qemu_nn.kernels import table as kernels
from qemu_nn.runtime.session import Session
from qemu_nn.testing.s8_builder import AffineBuilder

pytestmark = [
    pytest.mark.caps,
    pytest.mark.skipif(
        not kernels.cpu_features() & kernels.FEATURES["avx512vnni"]
        or bool(kernels.cpu_features() & kernels.FEATURES["amx"]),
        reason="only kernels on AVX-512 VNNI flip signs of images",
    ),
]


def built(channels=32, side=9):
    """Return a depthwise layer before a 1x1 layer, twice; a sum also reads the second image."""
    net = AffineBuilder("flipped", (side, side, channels))
    net.depthwise("once", (3, 3))
    net.convolve("point", channels, (1, 1))
    net.depthwise("twice", (3, 3), 1)
    net.convolve("again", channels, (1, 1), relu=False)
    net.add("sum", "twice", "again")
    net.convolve("wide", 24, (1, 1))
    net.convolve("last", 7, (3, 3))
    return net.graph()


def sign_flips(graph, **options):
    plan = Session(graph, DEVICE, **options).plan
    return {step.node.name: step.sign_flipped for step in plan.steps if step.sign_flipped}


def test_the_writer_and_the_only_reader_flip_an_image():
    reads, writes = (
        getattr(kernels.lib, name) for name in ("QN_SIGN_FLIPPED_IN", "QN_SIGN_FLIPPED_OUT")
    )
    assert sign_flips(built()) == {"once": writes, "point": reads}
    assert sign_flips(built(), trace=True) == {} == sign_flips(built(), variant="avx512vnni")


@pytest.mark.parametrize("channels", [8, 24, 40])
def test_pixels_that_are_no_whole_vectors_are_not_flipped(channels):
    assert sign_flips(built(channels)) == {}


@pytest.mark.parametrize("channels", [16, 32, 48, 64, 144])
@pytest.mark.parametrize("side", [1, 2, 9, 33])
def test_outputs_are_those_of_a_trace(channels, side):
    for threads in (1, 2):
        same_bytes(built(channels, side), threads=threads)


def test_vectors_are_flipped_where_a_layer_reads_whole_ones():
    reads, writes = (
        getattr(kernels.lib, name) for name in ("QN_SIGN_FLIPPED_IN", "QN_SIGN_FLIPPED_OUT")
    )
    found = sign_flips(dense(10, 48, 8, 16, 5))
    assert found == {"dense1": writes, "dense2": reads, "dense3": writes, "last": reads}
