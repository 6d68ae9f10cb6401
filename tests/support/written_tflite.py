"""Networks after they are written as .tflite files, and inputs for them."""

import numpy as np

import qemu_nn


def drawn(network, count=3):
    """Return random inputs that include the smallest and the largest integers."""
    start = network.graph.input
    limits = np.iinfo(start.dtype)
    rng = np.random.default_rng(5)
    shape = (count, *start.shape)
    x = rng.integers(limits.min, limits.max, shape, start.dtype, endpoint=True)
    x[-2], x[-1] = limits.min, limits.max
    return x


def saved(network, folder, name="net.tflite"):
    network.save(folder / name)
    return qemu_nn.load(folder / name)
