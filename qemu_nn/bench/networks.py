"""Networks of published geometry with random weights of our own."""

from __future__ import annotations

from typing import Callable

from ..ir.graph import Graph
from ..testing.builder import Builder


def _cifar10(name: str, channels: tuple[int, int, int]) -> Graph:
    network = Builder(name, (32, 32, 3))
    for index, (out, dim) in enumerate(zip(channels, (32, 16, 8)), 1):
        kind = "RGB" if index == 1 else "fast"
        same = {"padding": 2, "stride": 1, "ch_im_out": out}
        network.image(f"conv{index}", f"arm_convolve_HWC_q7_{kind}", 5, dim, **same)
        network.relu(f"relu{index}")
        network.image(f"pool{index}", "arm_maxpool_q7_HWC", 3, dim // 2, padding=0, stride=2)
    network.dense("ip1", "arm_fully_connected_q7_opt", 10)
    network.softmax()
    return network.graph()


def cifar10() -> Graph:
    """Return the CIFAR-10 example of CMSIS-NN: 32, 16, 32 channels, 6.56 million MACs."""
    return _cifar10("cifar10", (32, 16, 32))


def cifar10_paper() -> Graph:
    """Return the form in the CMSIS-NN paper (arXiv 1801.06601): 32, 32, 64 channels, 12.3 million
    MACs.
    """
    return _cifar10("cifar10_paper", (32, 32, 64))


def cifar10_q15() -> Graph:
    """Return the layers of the CIFAR-10 example in q15, 1.64 million MACs.

    CMSIS-NN has no q15 pooling and no q15 softmax, so strided convolutions replace the poolings,
    and the scores are the last output.
    """
    network = Builder("cifar10_q15", (32, 32, 3), "int16")
    for index, (out, dim) in enumerate(((32, 16), (16, 8), (32, 4)), 1):
        kind = "basic" if index == 1 else "fast"
        halve = {"padding": 2, "stride": 2, "ch_im_out": out}
        network.image(f"conv{index}", f"arm_convolve_HWC_q15_{kind}", 5, dim, **halve)
        network.relu(f"relu{index}")
    network.dense("ip1", "arm_fully_connected_q15_opt", 10)
    return network.graph()


def lenet5() -> Graph:
    """Return LeNet-5 in its classic form, 6, 16, 120, 84, 10, on 28x28 digits: 0.42 million MACs.

    Padding of the first convolution replaces the 32x32 digits of the original. (Caffe's form, 20,
    50, 500, 10, has more than five times the work.)
    """
    network = Builder("lenet5", (28, 28, 1))
    for index, (out, padding, dim) in enumerate(((6, 2, 28), (16, 0, 10)), 1):
        own = {"padding": padding, "stride": 1, "ch_im_out": out}
        network.image(f"conv{index}", "arm_convolve_HWC_q7_basic", 5, dim, **own)
        network.relu(f"relu{index}")
        network.image(f"pool{index}", "arm_maxpool_q7_HWC", 2, dim // 2, padding=0, stride=2)
    for index, rows in enumerate((120, 84), 1):
        network.dense(f"ip{index}", "arm_fully_connected_q7_opt", rows)
        network.relu(f"relu_ip{index}")
    network.dense("ip3", "arm_fully_connected_q7_opt", 10)
    network.softmax()
    return network.graph()


def kws_dscnn() -> Graph:
    """Return the keyword spotter of MLPerf Tiny: depthwise separable, 64 channels, 2.66 million
    MACs.
    """
    network = Builder("kws_dscnn", (49, 10, 1))
    first, inner, grid = (10, 4), (3, 3), (25, 5)
    network.oblong(
        "conv1", "arm_convolve_HWC_q7_basic_nonsquare", first, (4, 1), 2, grid, ch_im_out=64
    )
    network.relu("relu1")
    depthwise = "arm_depthwise_separable_conv_HWC_q7_nonsquare"
    pointwise = "arm_convolve_1x1_HWC_q7_fast_nonsquare"
    for index in range(2, 6):
        network.oblong(f"dw{index}", depthwise, inner, (1, 1), 1, grid, ch_im_out=64)
        network.relu(f"relu_dw{index}")
        network.oblong(f"pw{index}", pointwise, (1, 1), (0, 0), 1, grid, ch_im_out=64)
        network.relu(f"relu_pw{index}")
    network.oblong("pool", "arm_avepool_q7_HWC_nonsquare", grid, (0, 0), 1, (1, 1), out_lshift=0)
    network.dense("ip1", "arm_fully_connected_q7", 12)
    network.softmax()
    return network.graph()


#: Channels of MobileNetV1's separable blocks at width 1, and the stride of each.
BLOCKS: tuple[tuple[int, int], ...] = (
    (64, 1),
    (128, 2),
    (128, 1),
    (256, 2),
    (256, 1),
    (512, 2),
    (512, 1),
    (512, 1),
)
BLOCKS += ((512, 1), (512, 1), (512, 1), (1024, 2), (1024, 1))


def _mobilenet(name: str, dim: int, quarters: int, classes: int) -> Graph:
    """Make a MobileNetV1; quarters: its width in quarters of MobileNetV1-1.0.

    TensorFlow pads an even image by one row and column at its end for a stride of two. CMSIS-NN can
    only pad both ends, so these windows are one pixel earlier. The work is equal.
    """
    network = Builder(name, (dim, dim, 3))
    dim //= 2
    channels = 8 * quarters
    halve = {"padding": 1, "stride": 2}
    network.image("conv0", "arm_convolve_HWC_q7_RGB", 3, dim, **halve, ch_im_out=channels)
    network.relu("relu0")
    for index, (full, stride) in enumerate(BLOCKS, 1):
        dim //= stride
        depthwise, pointwise = f"dw{index}", f"pw{index}"
        window = {"padding": 1, "stride": stride, "ch_im_out": channels}
        network.image(depthwise, "arm_depthwise_separable_conv_HWC_q7", 3, dim, **window)
        network.relu(f"relu_{depthwise}")
        channels = full * quarters // 4
        one = ("arm_convolve_1x1_HWC_q7_fast_nonsquare", (1, 1), (0, 0), 1, (dim, dim))
        network.oblong(pointwise, *one, ch_im_out=channels)
        network.relu(f"relu_{pointwise}")
    network.image("pool", "arm_avepool_q7_HWC", dim, 1, padding=0, stride=1)
    network.dense("ip1", "arm_fully_connected_q7_opt", classes)
    network.softmax()
    return network.graph()


def mobilenet_025_96() -> Graph:
    """Return MobileNetV1-0.25 on 96x96 images, two classes: visual wake words, 7.5 million MACs."""
    return _mobilenet("mobilenet_025_96", 96, 1, 2)


def mobilenet_100_224() -> Graph:
    """Return MobileNetV1-1.0 on 224x224 images, 1000 classes, 569 million MACs.

    Most rectifiers are omitted: arm_relu_q7 cannot count their elements.
    """
    return _mobilenet("mobilenet_100_224", 224, 4, 1000)


def empty() -> Graph:
    """Return one rectifier of one value: the overhead of a call."""
    network = Builder("empty", (1,))
    network.relu("relu")
    return network.graph()


#: Name -> the function that builds the network.
NETWORKS: dict[str, Callable[[], Graph]] = {
    build.__name__: build
    for build in (
        cifar10,
        cifar10_paper,
        cifar10_q15,
        lenet5,
        kws_dscnn,
        mobilenet_025_96,
        mobilenet_100_224,
        empty,
    )
}
