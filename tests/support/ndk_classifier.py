"""A small classifier of the NPU's kit with its weights and data."""

import numpy as np
from ndk_networks import start

from qemu_nn.ndk.layers import Layer

RNG = np.random.default_rng(5)
LAYERS = [
    start(2, 6, 6),
    Layer("Convolution", name="conv", bottom="x", top="c", num_output=4, kernel_size=3),
    Layer("ReLU", name="relu", bottom="c", top="r"),
    Layer("InnerProduct", name="fc", bottom="r", top="y", num_output=3),
    Layer("LogSoftmax", name="log", bottom="y", top="p"),
]
PARAMS = {
    "conv_weight": RNG.normal(size=(4, 2, 3, 3)) / 3,
    "conv_bias": RNG.normal(size=4) / 4,
    "fc_weight": RNG.normal(size=(3, 4, 4, 4)) / 8,
    "fc_bias": RNG.normal(size=3) / 4,
}
X = RNG.normal(size=(100, 2, 6, 6))
