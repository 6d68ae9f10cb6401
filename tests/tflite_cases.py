"""One file for each operator and option that is read, with weights from a seed.

What TensorFlow Lite Micro computes for each is recorded in golden/tflite_operators.npz by
.ci/record-tflite.
"""

import zlib

import numpy as np
from tflite_files import File

CASES = {}


def case(function):
    """Register the file that a function makes, under its name."""
    CASES[function.__name__] = function
    return function


def cases(**variants):
    """Register a file for each of these sets of arguments."""

    def register(function):
        for name, arguments in variants.items():
            CASES[f"{function.__name__}_{name}"] = lambda a=arguments: function(**a)
        return function

    return register


def inputs(name, tensor, count=4):
    """Inputs of a case: random ones, the least and the largest numbers."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    limits = np.iinfo(tensor.dtype)
    x = rng.integers(limits.min, limits.max, (count, *tensor.shape), tensor.dtype, endpoint=True)
    x[-2], x[-1] = limits.min, limits.max
    return x


class Net(File):
    """A file whose numbers come from a seed."""

    def __init__(self, type="INT8"):
        super().__init__()
        self.rng = np.random.default_rng(7)
        self.type = type
        self.bias_type = "INT32" if type == "INT8" else "INT64"

    def zero(self, value):
        return value if self.type == "INT8" else 0

    def begin(self, *shape, scale=0.05, zero=3):
        return self.input((1, *shape), self.scaled(scale), self.zero(zero), self.type)

    def end(self, *shape, scale=0.05, zero=-4):
        return self.output((1, *shape), self.scaled(scale), self.zero(zero), self.type)

    def scaled(self, scale):
        return scale if self.type == "INT8" else scale / 256

    def middle(self, *shape, scale=0.05, zero=-4):
        return self.tensor((1, *shape), self.type, self.scaled(scale), self.zero(zero))

    def weights(self, shape, axis=0, channels=True, scale=0.02):
        count = shape[axis] if channels else 1
        scales = scale * self.rng.uniform(0.3, 1, count)
        return self.tensor(shape, scale=scales, axis=axis, data=self.rng.integers(-127, 128, shape))

    def bias(self, count, source, weights, type=None):
        scales = self.tensors[source]["scales"] * self.tensors[weights]["scales"]
        values = self.rng.integers(-300, 300, count)
        if self.type == "INT16":
            values *= 200
        return self.tensor((count,), type or self.bias_type, scales, data=values)

    def list(self, *values):
        return self.tensor((len(values),), "INT32", data=values)

    def one(self, value):
        return self.tensor((), "INT32", data=value)


# ---- windows ----

_CONV = {"Padding": "SAME", "StrideH": 1, "StrideW": 1}


@cases(
    same={},
    valid={"Padding": "VALID"},
    strides={"StrideH": 2, "StrideW": 3},
    dilated={"DilationHFactor": 2, "DilationWFactor": 3, "Padding": "VALID"},
    relu={"FusedActivationFunction": "RELU"},
    relu6={"FusedActivationFunction": "RELU6"},
    relu_n1_to_1={"FusedActivationFunction": "RELU_N1_TO_1"},
    one_scale={"channels": False},
    without_bias={"bias": False},
    wide={"filter": (1, 5)},
    points={"filter": (1, 1)},
    grouped={"groups": 2},
    batched={"batch": 3},
    s16={"type": "INT16"},
    s16_strides={"type": "INT16", "StrideH": 2, "FusedActivationFunction": "RELU"},
    s16_short_bias={"type": "INT16", "bias": "INT32"},
    s16_without_bias={"type": "INT16", "bias": False},
)
def convolve(type="INT8", channels=True, bias=True, filter=(3, 2), groups=1, batch=1, **options):
    options = {**_CONV, **options}
    net = Net(type)
    x = net.input((batch, 9, 10, 4), net.scaled(0.05), net.zero(3), type)
    w = net.weights((6, *filter, 4 // groups), 0, channels)
    out = [batch, *(_out(options, axis, (9, 10)[axis], filter[axis]) for axis in (0, 1)), 6]
    y = net.output(out, net.scaled(0.07), net.zero(-4), type)
    b = [net.bias(6, x, w, bias if isinstance(bias, str) else None)] if bias else []
    net.operator("CONV_2D", [x, w, *b], [y], "Conv2DOptions", **options)
    return net


def _out(options, axis, size, side):
    letter = "HW"[axis]
    stride = options[f"Stride{letter}"]
    covered = (side - 1) * options.get(f"Dilation{letter}Factor", 1) + 1
    if options["Padding"] == "SAME":
        return -(-size // stride)
    return (size - covered) // stride + 1


@cases(
    same={},
    valid={"Padding": "VALID", "StrideH": 2, "StrideW": 2},
    dilated={"DilationHFactor": 2, "DilationWFactor": 2},
    multiplied={"times": 3},
    relu6={"FusedActivationFunction": "RELU6"},
    without_bias={"bias": False},
    one_scale={"channels": False},
    s16={"type": "INT16"},
    s16_multiplied={"type": "INT16", "times": 2, "StrideW": 2},
)
def depthwise(type="INT8", times=1, bias=True, channels=True, **options):
    options = {**_CONV, "DepthMultiplier": times, **options}
    net = Net(type)
    x = net.begin(8, 7, 5)
    w = net.weights((1, 3, 3, 5 * times), 3, channels)
    y = net.end(*(_out(options, axis, (8, 7)[axis], 3) for axis in (0, 1)), 5 * times)
    b = [net.bias(5 * times, x, w)] if bias else []
    net.operator("DEPTHWISE_CONV_2D", [x, w, *b], [y], "DepthwiseConv2DOptions", **options)
    return net


@cases(
    average={"kind": "AVERAGE"},
    average_valid={"kind": "AVERAGE", "Padding": "VALID"},
    average_relu6={"kind": "AVERAGE", "FusedActivationFunction": "RELU6"},
    max={"kind": "MAX"},
    max_valid={"kind": "MAX", "Padding": "VALID", "FusedActivationFunction": "RELU"},
    average_s16={"kind": "AVERAGE", "type": "INT16"},
    max_s16={"kind": "MAX", "type": "INT16", "FusedActivationFunction": "RELU_N1_TO_1"},
)
def pool(kind, type="INT8", **options):
    options = {"Padding": "SAME", "StrideH": 2, "StrideW": 2, **options}
    net = Net(type)
    x = net.begin(7, 8, 5)
    y = net.end(
        *(_out(options, axis, (7, 8)[axis], side) for axis, side in ((0, 3), (1, 2))), 5, zero=3
    )
    options |= {"FilterHeight": 3, "FilterWidth": 2}
    net.operator(f"{kind}_POOL_2D", [x], [y], "Pool2DOptions", **options)
    return net


# ---- dense ----


@cases(
    plain={},
    relu={"FusedActivationFunction": "RELU"},
    without_bias={"bias": False},
    missing_bias={"bias": None},
    per_channel={"channels": True},
    rows={"shape": (4, 3, 8)},
    s16={"type": "INT16"},
    s16_without_bias={"type": "INT16", "bias": False, "FusedActivationFunction": "RELU6"},
)
def fully_connected(type="INT8", channels=False, bias=True, shape=(24,), **options):
    net = Net(type)
    x = net.begin(*shape)
    w = net.weights((5, shape[-1]), 0, channels)
    y = net.end(*shape[:-1], 5)
    b = [net.bias(5, x, w)] if bias else [-1] if bias is None else []
    options = {"KeepNumDims": len(shape) > 1, **options}
    net.operator("FULLY_CONNECTED", [x, w, *b], [y], "FullyConnectedOptions", **options)
    return net


# ---- element by element ----


@cases(
    add={"kind": "ADD"},
    add_relu={"kind": "ADD", "FusedActivationFunction": "RELU"},
    add_s16={"kind": "ADD", "type": "INT16"},
    sub={"kind": "SUB"},
    sub_relu6={"kind": "SUB", "FusedActivationFunction": "RELU6"},
    sub_s16={"kind": "SUB", "type": "INT16"},
    mul={"kind": "MUL"},
    mul_relu={"kind": "MUL", "FusedActivationFunction": "RELU_N1_TO_1"},
    mul_s16={"kind": "MUL", "type": "INT16"},
)
def elementwise(kind, type="INT8", **options):
    """Of a tensor and its average over windows of one row, so that the two differ."""
    net = Net(type)
    x = net.begin(6, 5, 4)
    other = net.middle(6, 5, 4, zero=3)
    y = net.end(6, 5, 4, scale=0.06)
    window = {"Padding": "SAME", "StrideH": 1, "StrideW": 1, "FilterHeight": 3, "FilterWidth": 1}
    net.operator("AVERAGE_POOL_2D", [x], [other], "Pool2DOptions", **window)
    net.operator(kind, [x, other], [y], f"{kind.capitalize()}Options", **options)
    return net


@cases(
    add={"kind": "ADD", "shape": (1, 6, 5, 4)},
    add_channels={"kind": "ADD", "shape": (4,), "first": True},
    sub={"kind": "SUB", "shape": (6, 1, 4)},
    sub_from={"kind": "SUB", "shape": (1, 1, 5, 1), "first": True},
    mul={"kind": "MUL", "shape": ()},
    mul_s16={"kind": "MUL", "shape": (1, 1, 1, 4), "type": "INT16"},
)
def with_constant(kind, shape, first=False, type="INT8"):
    net = Net(type)
    x = net.begin(6, 5, 4)
    limits = np.iinfo(type.lower())
    values = net.rng.integers(limits.min, limits.max, shape, endpoint=True)
    c = net.tensor(shape, type, net.scaled(0.04), net.zero(-7), values)
    y = net.end(6, 5, 4, scale=0.06)
    options = f"{kind.capitalize()}Options"
    net.operator(kind, [c, x] if first else [x, c], [y], options)
    return net


@cases(add={"kind": "ADD"}, sub={"kind": "SUB"}, mul_s16={"kind": "MUL", "type": "INT16"})
def with_average(kind, type="INT8"):
    """Of a tensor and what is left of it by pooling: channels that broadcast over the image."""
    net = Net(type)
    x = net.begin(6, 5, 4)
    pooled, y = net.middle(1, 1, 4, zero=3), net.end(6, 5, 4, scale=0.06)
    window = {"Padding": "VALID", "StrideH": 1, "StrideW": 1, "FilterHeight": 6, "FilterWidth": 5}
    net.operator("AVERAGE_POOL_2D", [x], [pooled], "Pool2DOptions", **window)
    net.operator(kind, [pooled, x], [y], f"{kind.capitalize()}Options")
    return net


# ---- functions ----


@cases(
    s8={},
    beta={"Beta": 0.25},
    s8_s16={"out": ("INT16", 2.0**-16, -32768)},
    s16={"type": "INT16", "out": ("INT16", 2.0**-15, 0)},
)
def softmax(type="INT8", out=("INT8", 2.0**-8, -128), **options):
    net = Net(type)
    x = net.begin(3, 10, scale=0.2)
    y = net.output((1, 3, 10), out[1], out[2], out[0])
    net.operator("SOFTMAX", [x], [y], "SoftmaxOptions", **{"Beta": 1.0, **options})
    return net


# ---- moving numbers ----


@case
def reshape_inside():
    net = Net()
    x = net.begin(2, 3, 4)
    a, b, c = net.middle(6, 4, zero=3), net.middle(6, 1, 4, zero=3), net.middle(6, 4, zero=3)
    net.operator("RESHAPE", [x, net.list(1, 6, 4)], [a], "ReshapeOptions", NewShape=[1, 6, 4])
    net.operator("EXPAND_DIMS", [a, net.one(2)], [b], "ExpandDimsOptions")
    net.operator("SQUEEZE", [b], [c], "SqueezeOptions", SqueezeDims=[2])
    w = net.weights((3, 4), 0, False)
    y = net.end(6, 3)
    net.operator("FULLY_CONNECTED", [c, w, -1], [y], "FullyConnectedOptions", KeepNumDims=True)
    return net


@case
def reshape_at_the_end():
    net = Net()
    x = net.begin(4, 4, 2)
    a, y = net.middle(2, 2, 2, zero=3), net.end(8, zero=3)
    window = {"Padding": "SAME", "StrideH": 2, "StrideW": 2, "FilterHeight": 2, "FilterWidth": 2}
    net.operator("MAX_POOL_2D", [x], [a], "Pool2DOptions", **window)
    net.operator("RESHAPE", [a, net.list(1, 8)], [y], "ReshapeOptions", NewShape=[1, 8])
    return net
