"""Small networks of every scheme, to train."""

import numpy as np
from flat_options import grouped

import qemu_nn
from qemu_nn.ir.float_graph import FloatGraph, FloatNode
from qemu_nn.operators import Affine, Conv, Dense, Elementwise, Pool, Relu, Reshape, Softmax

S4 = {
    "relu": "arm_convolve_wrapper_s4",
    "depth": "arm_depthwise_conv_wrapper_s4",
    "scores": "arm_fully_connected_s4",
}


def float_network(sides=8, seed=3):
    """Return a network of images in NCHW that the host normalizes.

    It has layers with and without a bias, a depthwise convolution, a residual sum and a softmax.
    """
    rng = np.random.default_rng(seed)
    cells = 6 * (sides // 2) ** 2
    nchw = {"layout": "NCHW"}
    nodes = [
        FloatNode("norm", Affine(np.array(2.0), np.array(-0.5)), ("x",)),
        FloatNode(
            "conv",
            Conv(rng.normal(size=(6, 3, 3, 2)) / 4, None, (1, 1), (1, 1, 1, 1), **nchw),
            ("norm",),
        ),
        FloatNode("relu", Relu(), ("conv",)),
        FloatNode(
            "depth",
            Conv(
                rng.normal(size=(6, 3, 3, 1)) / 3,
                rng.normal(size=6) / 9,
                (1, 1),
                (1, 1, 1, 1),
                groups=6,
                **nchw,
            ),
            ("relu",),
        ),
        FloatNode("sum", Elementwise("add"), ("depth", "relu")),
        FloatNode("pool", Pool("max", (2, 2), (2, 2), **nchw), ("sum",)),
        FloatNode("flat", Reshape((cells,)), ("pool",)),
        FloatNode(
            "scores",
            Dense(rng.normal(size=(5, cells)) / 6, rng.normal(size=5) / 4),
            ("flat",),
        ),
        FloatNode("softmax", Softmax(), ("scores",)),
    ]
    own = ("softmax",), ("e", "d", "c", "b", "a")
    graph = FloatGraph("net", "x", (2, sides, sides), "NCHW", tuple(nodes), *own)
    return qemu_nn.FloatNetwork(graph)


def images(count, seed=0, sides=8):
    return np.random.default_rng(seed).normal(size=(count, 2, sides, sides)).astype(np.float32)


SCHEMES = {
    "q7": {},
    "q15": {"bits": 16},
    "s8": {"scheme": "affine"},
    "s16": {"scheme": "affine", "bits": 16},
    "s4": {"scheme": "affine", "functions": S4},
    "q7 rounded": {"steps": ["equalize", "round"], "softmax": False},
    "s8 and s16": {"scheme": "affine", "ram": 1152, "minutes": 0},
    "s8 rounded": {"scheme": "affine", "steps": ["round"]},
}


def quantized(name, count=24):
    return qemu_nn.quantize(float_network(), images(count), **grouped(**SCHEMES[name]))
