"""A small float network whose quantization takes several steps, with its data."""

import numpy as np
from flat_options import grouped

import qemu_nn
from qemu_nn.api.golden import FloatNetwork
from qemu_nn.ir.float_graph import FloatGraph, FloatNode
from qemu_nn.operators import Conv, Dense, Pool, Relu, Reshape

STEPS = ["average", "equalize", "round", "correct"]


def network():
    """Return a network of a convolution, a pool and a dense layer; its channels differ in range."""
    rng = np.random.default_rng(3)
    filters = rng.normal(size=(4, 3, 3, 1)) * 2.0 ** np.arange(4)[:, None, None, None]
    nodes = [
        FloatNode("conv", Conv(filters.transpose(0, 2, 1, 3), pads=(1, 1, 1, 1)), ("x",)),
        FloatNode("relu", Relu(), ("conv",)),
        FloatNode("pool", Pool("average", (2, 2), (2, 2)), ("relu",)),
        FloatNode("flat", Reshape((16,)), ("pool",)),
        FloatNode("dense", Dense(rng.normal(size=(3, 16)), rng.normal(size=3)), ("flat",)),
    ]
    return FloatGraph("net", "x", (4, 4, 1), "NHWC", tuple(nodes), ("dense",))


def inputs(count=16, seed=20):
    """Data of a seed with which every step but the last gains."""
    return np.random.default_rng(seed).normal(size=(count, 4, 4, 1))


def quantized(x=None, **how):
    x = inputs() if x is None else x
    return qemu_nn.quantize(FloatNetwork(network()), x, **grouped(**{"steps": STEPS, **how}))
