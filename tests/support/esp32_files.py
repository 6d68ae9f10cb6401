"""Files of one layer, for the chips of the ESP32 family."""

import numpy as np
from tflite_files import File


def product(first, second, data=None):
    """Return a file with one MUL of these shapes; data: the second is a constant."""
    net = File()
    x = net.input(first, 0.05, 3)
    y = net.tensor(second, "INT8", 0.07, -2, data=data)
    if data is None:
        net.inputs.append(y)
    net.operator("MUL", [x, y], [net.output(first, 0.05, 5)], "MulOptions")
    return net


def convolution(stride=2, size=(8, 8), kernel=3, channels=8, bias=True):
    """Return a file with one CONV_2D of SAME padding."""
    net, rng = File(), np.random.default_rng(4)
    x = net.input((1, *size, channels), 0.05, 3)
    shape = (8, kernel, kernel, channels)
    w = net.tensor(shape, "INT8", [0.01] * 8, 0, data=rng.integers(-90, 90, shape))
    b = net.tensor((8,), "INT32", 0.0005, data=rng.integers(-90, 90, 8))
    out = [-(-n // stride) for n in size]
    options = {"Padding": "SAME", "StrideH": stride, "StrideW": stride}
    y = net.output((1, *out, 8), 0.07, -9)
    net.operator("CONV_2D", [x, w, b] if bias else [x, w], [y], "Conv2DOptions", **options)
    return net


def classes(shape):
    """Return a file with one SOFTMAX."""
    net = File()
    x = net.input(shape, 0.2)
    y = net.output(shape, 2.0**-8, -128)
    net.operator("SOFTMAX", [x], [y], "SoftmaxOptions", Beta=1.0)
    return net


def dense():
    """Return a file with one FULLY_CONNECTED of one row."""
    net, rng = File(), np.random.default_rng(2)
    x = net.input((1, 20), 0.05, 3)
    w = net.tensor((7, 20), "INT8", 0.01, data=rng.integers(-90, 90, (7, 20)))
    y = net.output((1, 7), 0.07, -9)
    net.operator("FULLY_CONNECTED", [x, w], [y], "FullyConnectedOptions")
    return net
