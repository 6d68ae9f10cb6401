"""MLPerf Tiny's networks and MobileNets as s8 calls, with random weights of our own."""

from __future__ import annotations

from typing import Callable

from ..ir.graph import Graph
from ..testing.s8_builder import AffineBuilder
from .networks import BLOCKS


def resnet8_s8() -> Graph:
    """Return the image classifier of MLPerf Tiny: three residual stacks, 12.5 million MACs."""
    network = AffineBuilder("resnet8_s8", (32, 32, 3))
    last = network.convolve("conv0", 16, (3, 3))
    for index, (channels, stride) in enumerate(((16, 1), (32, 2), (64, 2)), 1):
        network.convolve(f"conv{index}a", channels, (3, 3), stride)
        inner = network.convolve(f"conv{index}b", channels, (3, 3), relu=False)
        around = last
        if stride > 1:
            around = network.convolve(f"skip{index}", channels, (1, 1), stride, False, last)
        last = network.add(f"add{index}", around, inner)
    network.average("pool")
    network.dense("dense", 10, relu=False)
    network.softmax()
    return network.graph()


def kws_dscnn_s8() -> Graph:
    """Return the keyword spotter of MLPerf Tiny: depthwise separable, 64 channels, 2.66 million
    MACs.
    """
    network = AffineBuilder("kws_dscnn_s8", (49, 10, 1))
    network.convolve("conv1", 64, (10, 4), 2)
    for index in range(2, 6):
        network.depthwise(f"dw{index}", (3, 3))
        network.convolve(f"pw{index}", 64, (1, 1))
    network.average("pool")
    network.dense("dense", 12, relu=False)
    network.softmax()
    return network.graph()


def ad_s8() -> Graph:
    """Return the anomaly detector of MLPerf Tiny: a fully connected autoencoder, 0.26 million
    MACs.
    """
    network = AffineBuilder("ad_s8", (640,))
    for index, rows in enumerate((128, 128, 128, 128, 8, 128, 128, 128, 128), 1):
        network.dense(f"dense{index}", rows)
    network.dense("dense10", 640, relu=False)
    return network.graph()


def _mobilenet(name: str, dim: int, quarters: int, classes: int) -> Graph:
    """quarters: width of the network in quarters of MobileNetV1-1.0."""
    network = AffineBuilder(name, (dim, dim, 3))
    network.convolve("conv0", 8 * quarters, (3, 3), 2)
    for index, (full, stride) in enumerate(BLOCKS, 1):
        network.depthwise(f"dw{index}", (3, 3), stride)
        network.convolve(f"pw{index}", full * quarters // 4, (1, 1))
    network.average("pool")
    network.dense("dense", classes, relu=False)
    network.softmax()
    return network.graph()


def vww_s8() -> Graph:
    """Return the visual wake words of MLPerf Tiny: MobileNetV1-0.25 on 96x96, 7.5 million MACs."""
    return _mobilenet("vww_s8", 96, 1, 2)


def mobilenet_100_224_s8() -> Graph:
    """Return MobileNetV1-1.0 on 224x224 images, 1000 classes, 569 million MACs."""
    return _mobilenet("mobilenet_100_224_s8", 224, 4, 1000)


#: Stages of MobileNetV2: expansion, channels, blocks, and the stride of the first of these.
_STAGES = (
    *((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2)),
    *((6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)),
)


def mobilenet_v2_100_224_s8() -> Graph:
    """Return MobileNetV2-1.0 on 224x224 images, 1000 classes, 301 million MACs, as PyTorch exports
    it.

    A padding call precedes every 3x3 window.
    """
    network = AffineBuilder("mobilenet_v2_100_224_s8", (224, 224, 3))
    network.pad("pad0")
    depth, last = 32, network.convolve("conv0", 32, (3, 3), 2)
    blocks = [
        (expansion, channels, stride if index == 0 else 1)
        for expansion, channels, count, stride in _STAGES
        for index in range(count)
    ]
    for index, (expansion, channels, stride) in enumerate(blocks, 1):
        if expansion > 1:
            network.convolve(f"expand{index}", expansion * depth, (1, 1))
        network.pad(f"pad{index}")
        network.depthwise(f"dw{index}", (3, 3), stride)
        inner = network.convolve(f"project{index}", channels, (1, 1), relu=False)
        if stride == 1 and channels == depth:
            inner = network.add(f"add{index}", last, inner, relu=False)
        depth, last = channels, inner
    network.convolve("head", 1280, (1, 1))
    network.average("pool")
    network.dense("dense", 1000, relu=False)
    return network.graph()


#: Name -> the function that builds the network, all of the s8 API.
S8_NETWORKS: dict[str, Callable[[], Graph]] = {
    build.__name__: build
    for build in (
        *(resnet8_s8, kws_dscnn_s8, vww_s8, ad_s8),
        *(mobilenet_100_224_s8, mobilenet_v2_100_224_s8),
    )
}
