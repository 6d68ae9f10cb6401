"""Random .tflite files of one to three operators, with the parameters that vela compiles apart."""

import math
import random

import numpy as np
from tflite_draws import SPECS, Draw, follow

#: Operator -> the function that adds it to a chain: it takes the file and a tensor, and returns the
#: new tensor.
STEPS = {}

#: Operators of tflite_draws that a file begins with: vela takes them, or leaves them to the core.
FIRST = (
    *("ABS", "ADD", "ADD_N", "ARG_MAX", "AVERAGE_POOL_2D", "BATCH_MATMUL", "BROADCAST_TO", "CAST"),
    *("CONCATENATION", "CONV_2D", "DEPTHWISE_CONV_2D", "DEPTH_TO_SPACE", "DIV", "ELU", "EQUAL"),
    *("EXPAND_DIMS", "FILL", "FULLY_CONNECTED", "GATHER", "GREATER", "HARD_SWISH", "LEAKY_RELU"),
    *("LESS_EQUAL", "LOGISTIC", "MAXIMUM", "MAX_POOL_2D", "MEAN", "MINIMUM", "MIRROR_PAD", "MUL"),
    *("NOT_EQUAL", "PACK", "PAD", "PADV2", "PRELU", "QUANTIZE", "REDUCE_MAX", "REDUCE_MIN"),
    *("RELU", "RELU6", "RESHAPE", "RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR", "REVERSE_V2"),
    *("RSQRT", "SELECT_V2", "SLICE", "SOFTMAX", "SPACE_TO_DEPTH", "SPLIT", "SPLIT_V"),
    *("SQUARED_DIFFERENCE", "SQUEEZE", "STRIDED_SLICE", "SUB", "SUM", "TANH", "TRANSPOSE"),
    *("TRANSPOSE_CONV", "UNPACK"),
)

#: Factors of scales: the usual ones, some with equal mantissas, and far ones.
SCALES = (0.5, 0.25, 1 / 255, 0.0078125, 0.03, 0.1, 1.7, 1e-4, 40.0)


def step(*names):
    """Register the function that adds one of these operators to a chain."""

    def register(function):
        for name in names:
            STEPS[name] = function
        return function

    return register


class Chain(Draw):
    """A chain of operators; each reads the output of the one before."""

    def form(self, type, scale=None, zero=None):
        """Return scale and zero point of a type; zero points of int8 are often extreme."""
        if scale is None and self.rng.random() < 0.5:
            scale = self.rng.choice(SCALES)
        if zero is None and type == "INT8":
            zero = self.choice(-128, 127, 0, self.rng.randint(-128, 127))
        return super().form(type, scale, zero)

    def near(self, type, scale):
        """Return scale and zero point of an output whose values have about this scale."""
        return self.form(type, scale * self.choice(1, 1.0 / 3, 0.7, 2.9, 0.11))

    def scale(self, at):
        return self.like(at)["scale"]

    def shape_of(self, at):
        return list(self.tensors[at]["shape"])

    def add(self, name, ends, shape, options, form, type=None, **fields):
        """Add an operator and its output."""
        y = self.tensor(shape, type or self.type, **form)
        self.operator(name, ends, [y], options, **fields)
        return y


def _activation(net):
    return net.choice("NONE", "NONE", "NONE", "RELU", "RELU6", "RELU_N1_TO_1")


def _window(net, sizes):
    """Return sides, strides, dilations, padding and output sides of a window that fits."""
    while True:
        filters = [net.choice(1, 2, 3, 3, 5, 9, 13, net.rng.randint(1, 8)) for _ in sizes]
        strides = [net.choice(1, 1, 2, 2, 3, 4) for _ in sizes]
        dilations = [1, 1]
        if strides == [1, 1] and net.rng.random() < 0.3:
            dilations = [net.rng.randint(1, 3) for _ in sizes]
        padding = net.choice("SAME", "VALID")
        reach = [(side - 1) * d + 1 for side, d in zip(filters, dilations)]
        if padding == "VALID" and any(r > n for r, n in zip(reach, sizes)):
            continue
        made = [
            -(-n // s) if padding == "SAME" else (n - r) // s + 1
            for n, r, s in zip(sizes, reach, strides)
        ]
        return filters, strides, dilations, padding, made


def _layer(net, at, shape, axis, taps):
    """Return weights and bias of a layer, and the scale of a usual sum."""
    count = shape[axis] if net.rng.random() < 0.7 else 1
    scales = [10 ** net.rng.uniform(-3.5, -1) for _ in range(count)]
    if net.rng.random() < 0.2:
        scales = [scales[0]] * count
    values = net.numbers(shape, -127, 127)
    if net.rng.random() < 0.3:  # streams with runs of zeros, and with a palette
        values[np.abs(values) > net.choice(3, 20, 90)] = 0
    if net.rng.random() < 0.1:
        values[:] = net.choice(-127, 127, 0)
    w = net.constant(values, "INT8", scale=scales, axis=axis)
    bias_type = "INT64" if net.type == "INT16" and net.rng.random() < 0.8 else "INT32"
    size = net.choice(99, 9999, 999999)
    both = net.scale(at) * np.asarray(scales)
    bias = net.constant(net.numbers((shape[axis],), -size, size), bias_type, scale=both)
    spread = 30 * math.sqrt(taps) * float(np.median(both)) * (1 if net.type == "INT8" else 60)
    return [w, bias] if net.rng.random() < 0.85 else [w], spread


@step("CONV_2D", "DEPTHWISE_CONV_2D")
def convolve(net, name, at):
    _, height, width, depth = net.shape_of(at)
    filters, strides, dilations, padding, made = _window(net, (height, width))
    options = {"Padding": padding, "StrideH": strides[0], "StrideW": strides[1]}
    options |= {"DilationHFactor": dilations[0], "DilationWFactor": dilations[1]}
    options["FusedActivationFunction"] = _activation(net)
    if name == "CONV_2D":
        out, taps = net.choice(1, 2, 8, 17, net.rng.randint(1, 40)), depth * math.prod(filters)
        ends, spread = _layer(net, at, [out, *filters, depth], 0, taps)
    else:
        options["DepthMultiplier"] = net.choice(1, 1, 2, 3)
        out = depth * options["DepthMultiplier"]
        ends, spread = _layer(net, at, [1, *filters, out], 3, math.prod(filters))
    kind = "Conv2DOptions" if name == "CONV_2D" else "DepthwiseConv2DOptions"
    form = net.near(net.type, spread / 30)
    return net.add(name, [at, *ends], [1, *made, out], kind, form, **options)


@step("TRANSPOSE_CONV")
def transpose_conv(net, name, at):
    _, height, width, depth = net.shape_of(at)
    filters = [net.rng.randint(1, 5) for _ in range(2)]
    strides, padding = [net.rng.randint(1, 3) for _ in range(2)], net.choice("SAME", "VALID")
    sides = [
        n * s if padding == "SAME" else (n - 1) * s + max(k, s)
        for n, k, s in zip((height, width), filters, strides)
    ]
    out = net.rng.randint(1, 20)
    ends, spread = _layer(net, at, [out, *filters, depth], 0, depth * math.prod(filters))
    shape = [1, *sides, out]
    options = {"Padding": padding, "StrideH": strides[0], "StrideW": strides[1]}
    ends = [net.constant(shape), ends[0], at, *ends[1:]]
    form = net.near(net.type, spread / 30)
    return net.add(name, ends, shape, "TransposeConvOptions", form, **options)


@step("FULLY_CONNECTED")
def fully_connected(net, name, at):
    shape, out = net.shape_of(at), net.choice(1, 3, 16, 33)
    ends, spread = _layer(net, at, [out, shape[-1]], 0, shape[-1])
    options = {"FusedActivationFunction": _activation(net), "KeepNumDims": True}
    form = net.near(net.type, spread / 30)
    return net.add(name, [at, *ends], [*shape[:-1], out], "FullyConnectedOptions", form, **options)


@step("AVERAGE_POOL_2D", "MAX_POOL_2D")
def pool(net, name, at):
    _, height, width, depth = net.shape_of(at)
    filters, strides, _, padding, made = _window(net, (height, width))
    options = {"Padding": padding, "StrideH": strides[0], "StrideW": strides[1]}
    options |= {"FilterHeight": filters[0], "FilterWidth": filters[1]}
    options["FusedActivationFunction"] = _activation(net)
    return net.add(name, [at], [1, *made, depth], "Pool2DOptions", net.like(at), **options)


def _second(net, shape, form):
    """Return the second operand: a shape that broadcasts, an input or a constant."""
    other = [n if net.rng.random() < 0.7 else 1 for n in shape]
    other = net.choice(shape, shape, other, [1] * len(shape))
    if net.rng.random() < 0.4:
        top = 127 if net.type == "INT8" else 32767
        values = net.numbers(other, -top, top)
        return net.constant(values, net.type, **form)
    return net.x(other, **form)


_FUSED = {"ADD": "AddOptions", "SUB": "SubOptions", "MUL": "MulOptions"}


@step("ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM", "SQUARED_DIFFERENCE")
def binary(net, name, at):
    shape, form = net.shape_of(at), net.like(at)
    alike = name in ("MAXIMUM", "MINIMUM")
    other_form = form if alike or net.rng.random() < 0.2 else net.form(net.type)
    other = at if net.rng.random() < 0.1 else _second(net, shape, other_form)
    ends = [at, other]
    if net.rng.random() < 0.3:
        ends.reverse()
    scales = [net.scale(end) for end in ends]
    usual = max(scales) if name in ("ADD", "SUB") else scales[0] * scales[1] * 90
    usual *= 300 if net.type == "INT16" and name not in ("ADD", "SUB") else 1
    made = form if alike else net.near(net.type, usual)
    options = {"FusedActivationFunction": _activation(net)} if name in _FUSED else {}
    return net.add(name, ends, shape, _FUSED.get(name), made, **options)


@step("ABS", "LEAKY_RELU", "LOGISTIC", "TANH", "HARD_SWISH", "RELU", "QUANTIZE", "SOFTMAX", "ELU")
def unary(net, name, at):
    shape, form = net.shape_of(at), net.near(net.type, net.scale(at))
    options, fields, type = None, {}, net.type
    bits = 15 if type == "INT16" else 8
    if name == "LEAKY_RELU":
        options, fields = "LeakyReluOptions", {"Alpha": net.choice(0.1, 0.3, -0.2, 1.5, 0.0)}
    if name == "LOGISTIC":
        form = Draw.form(net, type, 2.0**-bits, -128)
    if name == "TANH":
        form = Draw.form(net, type, 2.0 ** -(15 if type == "INT16" else 7), 0)
    if name == "SOFTMAX":
        options, fields = "SoftmaxOptions", {"Beta": net.choice(1.0, 0.5, 2.0)}
        form = Draw.form(net, type, 2.0**-bits, -128)
    if name == "QUANTIZE":
        type = net.choice("INT8", "INT16")
        form = net.near(type, net.scale(at) * {"INT8INT16": 1 / 200}.get(net.type + type, 1))
    if name == "RELU" and net.rng.random() < 0.5:
        form = net.like(at)
    net.type = type
    return net.add(name, [at], shape, options, form, **fields)


@step("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN")
def reduce(net, name, at):
    shape = net.shape_of(at)
    axes = net.choice([1], [2], [1, 2], [3], [1, 2, 3])
    left = [1 if axis in axes else n for axis, n in enumerate(shape)]
    form = net.like(at) if name.startswith("REDUCE") else net.near(net.type, net.scale(at))
    return net.add(name, [at, net.constant(axes)], left, "ReducerOptions", form, KeepDims=True)


@step("PAD")
def pad(net, name, at):
    shape = net.shape_of(at)
    pairs = [[0, 0], *([net.rng.randint(0, 3), net.rng.randint(0, 3)] for _ in shape[1:])]
    made = [n + a + b for n, (a, b) in zip(shape, pairs)]
    return net.add(name, [at, net.constant(pairs)], made, "PadOptions", net.like(at))


@step("STRIDED_SLICE")
def strided_slice(net, name, at):
    shape = net.shape_of(at)
    begins = [0, *(net.rng.randrange(n) for n in shape[1:])]
    strides = [1, *(net.choice(1, 1, 2, 3) for _ in shape[1:])]
    made = [-(-(n - b) // s) for n, b, s in zip(shape, begins, strides)]
    ends = [at, net.constant(begins), net.constant(shape), net.constant(strides)]
    return net.add(name, ends, made, "StridedSliceOptions", net.like(at))


@step("TRANSPOSE")
def transpose(net, name, at):
    shape = net.shape_of(at)
    order = [0, *net.rng.sample([1, 2, 3], 3)]
    made = [shape[axis] for axis in order]
    return net.add(name, [at, net.constant(order)], made, "TransposeOptions", net.like(at))


@step("CONCATENATION")
def concatenate(net, name, at):
    shape, axis = net.shape_of(at), net.rng.randint(1, 3)
    other = [n if i != axis else net.rng.randint(1, 20) for i, n in enumerate(shape)]
    ends = [at, net.x(other, **net.like(at))]
    if net.rng.random() < 0.3:
        ends.append(at)
    made = list(shape)
    made[axis] = sum(net.shape_of(end)[axis] for end in ends)
    return net.add(name, ends, made, "ConcatenationOptions", net.like(at), Axis=axis)


@step("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR")
def resize(net, name, at):
    _, height, width, depth = net.shape_of(at)
    factor = net.choice(2, 2, 2, 4, 3)
    sides = [height * factor, width * factor]
    kind = "ResizeBilinearOptions" if "BILINEAR" in name else "ResizeNearestNeighborOptions"
    corners = net.rng.random() < 0.2
    options = {"AlignCorners": corners, "HalfPixelCenters": not corners and net.rng.random() < 0.7}
    ends, made = [at, net.constant(sides)], [1, *sides, depth]
    return net.add(name, ends, made, kind, net.like(at), **options)


@step("RESHAPE")
def reshape(net, name, at):
    _, height, width, depth = net.shape_of(at)
    made = net.choice([1, width, height, depth], [1, 1, height * width, depth])
    options = {"NewShape": made}
    return net.add(name, [at, net.constant(made)], made, "ReshapeOptions", net.like(at), **options)


def _begin(rng, name, type):
    """Return a file with its first operator, of tflite_draws or a step, and the output."""
    net = Chain(rng, type)
    if name in STEPS:
        sides = (net.choice(1, 5, 8, rng.randint(1, 20)), net.choice(1, 8, rng.randint(1, 20)))
        depth = net.choice(1, 3, 8, 16, 17, 32, rng.randint(1, 70))
        return net, STEPS[name](net, name, net.x([1, *sides, depth]))
    plain = Draw(rng, type)
    SPECS[name](plain, name)
    return plain, None


def draw(seed):
    """Return the file of a seed, and a description: its operators and the type it begins with."""
    rng = random.Random(seed)
    name = rng.choice(FIRST) if rng.random() < 0.3 else rng.choice(sorted(STEPS))
    type = "INT16" if rng.random() < 0.3 else "INT8"
    net, at = _begin(rng, name, type)
    if at is None and rng.random() < 0.3:
        follow(net)
    elif at is not None:
        for _ in range(rng.choice((0, 0, 1, 1, 2))):
            if math.prod(net.tensors[at]["shape"]) > 40000:
                break
            following = rng.choice(sorted(STEPS))
            at = STEPS[following](net, following, at)
        net.outputs.append(at)
    names = " ".join(operator[0] for operator in net.operators)
    return net, f"{seed}: {type} {names}"
