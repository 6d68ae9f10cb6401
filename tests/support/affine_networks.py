"""Small networks of the s8 API, with seeded random weights, for tests that need one to run."""

import numpy as np

from qemu_nn.testing.s8_builder import AffineBuilder


def small():
    """Convolution, depthwise and pointwise, a residual sum, pooling, a dense layer, softmax."""
    network = AffineBuilder("small", (9, 8, 3))
    around = network.convolve("conv", 8, (3, 3), 2)
    network.depthwise("dw", (3, 3))
    inner = network.convolve("pw", 8, (1, 1), relu=False)
    network.add("sum", around, inner)
    network.average("pool")
    network.dense("dense", 5, relu=False)
    network.softmax()
    return network.graph()


def images(count, seed=2):
    return np.random.default_rng(seed).integers(-128, 128, (count, 9, 8, 3), np.int8)


def dense(*widths):
    """Fully connected layers, one after the other; the last one is not rectified."""
    net = AffineBuilder("dense", widths[:1])
    for index, width in enumerate(widths[1:-1], 1):
        net.dense(f"dense{index}", width)
    net.dense("last", widths[-1], relu=False)
    return net.graph()
