"""A small float classifier for tests, channels first, whose normalization the host computes."""

import numpy as np

from qemu_nn.api.golden import FloatNetwork
from qemu_nn.ir.float_graph import FloatGraph, FloatNode
from qemu_nn.operators import Affine, Conv, Dense, Pool, Relu, Reshape, Softmax

SHAPE = (2, 8, 6)

#: Scale and offset of the network's normalization of samples: (x - offset) * scale.
SCALE, OFFSET = 0.5, np.array([3.0, 1.0]).reshape(2, 1, 1)


def classifier(softmax=True, log=False, reshaped=True):
    """Padding keeps the offset from being folded, so quantize() leaves it to the host."""
    rng = np.random.default_rng(21)
    filters = rng.normal(size=(6, 3, 3, 2)) / 4
    nodes = [
        FloatNode("centred", Affine(np.array(SCALE), -OFFSET * SCALE), ("x",)),
        FloatNode("conv", Conv(filters, pads=(1, 1, 1, 1), layout="NCHW"), ("centred",)),
        FloatNode("relu", Relu(), ("conv",)),
        FloatNode("pool", Pool("max", (2, 2), (2, 2), layout="NCHW"), ("relu",)),
        FloatNode("flat", Reshape((72,)), ("pool",)),
        FloatNode("dense", Dense(rng.normal(size=(5, 72)) / 7, rng.normal(size=5)), ("flat",)),
    ]
    if softmax:
        nodes.append(FloatNode("prob", Softmax(log=log), ("dense",)))
    if reshaped:
        nodes.append(FloatNode("scores", Reshape((5, 1)), (nodes[-1].name,)))
    return FloatNetwork(FloatGraph("net", "x", SHAPE, "NCHW", tuple(nodes), (nodes[-1].name,)))


def data(count=40):
    return np.random.default_rng(22).normal(2, 2, (count, *SHAPE)).astype(np.float32)


def float_network():
    weights = np.random.default_rng(3).normal(size=(2, 3, 3, 1))
    nodes = (
        FloatNode("conv", Conv(weights, np.ones(2)), ("x",)),
        FloatNode("relu", Relu(), ("conv",)),
        FloatNode("flat", Reshape((72,)), ("relu",)),
        FloatNode("y", Dense(np.ones((3, 72))), ("flat",)),
    )
    return FloatNetwork(FloatGraph("small", "x", (8, 8, 1), "NHWC", nodes, ("y",)))
