"""Random .tflite files of one or two operators: each operator, type and odd attribute."""

import math
import random

import numpy as np
from tflite_files import _DTYPES, File

#: Types of quantized tensors.
QUANTIZED = ("INT8", "INT16", "UINT8", "INT4")

#: Types that a draw gives the tensors of an operator, the usual ones most often.
TYPES = ("INT8",) * 6 + ("INT16",) * 3 + ("FLOAT32",) * 2 + ("INT32", "INT64", "UINT8", "BOOL")

#: Types of the grid, and those that a mutation gives one tensor.
EVERY = ("INT8", "INT16", "UINT8", "INT32", "INT64", "UINT32", "FLOAT32", "FLOAT16", "BOOL", "INT4")

#: Operators that are not read with float32.
NO_FLOATS = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV")

#: Operator -> the function that adds it to a file.
SPECS = {}


def spec(*names):
    """Register the function that adds one of these operators to a Draw."""

    def register(function):
        for name in names:
            SPECS[name] = function
        return function

    return register


class Draw(File):
    """A file whose shapes, numbers and options come from a random generator.

    type: of the operator's main tensors. ranges: input -> least and largest element, or None.
    """

    def __init__(self, rng, type="INT8"):
        super().__init__()
        self.rng, self.type, self.ranges = rng, type, {}

    def numbers(self, shape, low, high):
        count = math.prod(shape)
        return np.array([self.rng.randint(low, high) for _ in range(count)]).reshape(shape)

    def form(self, type, scale=None, zero=None):
        """Return scale and zero point of a type, drawn if they are not given."""
        if type not in QUANTIZED:
            return {"scale": None}
        low = {"INT8": -128, "UINT8": 0}.get(type)
        scale = self.rng.uniform(0.01, 0.1) if scale is None else scale
        zero = zero if zero is not None or low is None else self.rng.randint(low, low + 255)
        return {"scale": scale, "zero": (zero or 0) if low is not None else 0}

    def like(self, tensor):
        """Return scale and zero point of a tensor."""
        entry = self.tensors[tensor]
        if "scales" not in entry:
            return {"scale": None}
        return {"scale": float(entry["scales"][0]), "zero": int(entry["zeros"][0])}

    def x(self, shape, type=None, range=None, **form):
        """Add an input of the network."""
        type = type or self.type
        form = form or self.form(type)
        at = self.tensor(shape, type, **form)
        self.inputs.append(at)
        self.ranges[at] = range
        return at

    def y(self, shape, type=None, **form):
        """Add an output of the network."""
        type = type or self.type
        self.outputs.append(self.tensor(shape, type, **(form or self.form(type))))
        return self.outputs[-1]

    def tensor(self, shape, type="INT8", scale=None, zero=0, data=None, name=None, **more):
        held = pack(np.asarray(data)) if type == "INT4" and data is not None else data
        at = super().tensor(shape, type, scale, zero, held, name or f"t{len(self.tensors)}", **more)
        self.tensors[at]["values"] = data
        return at

    def constant(self, values, type="INT32", **form):
        values = np.asarray(values)
        return self.tensor(values.shape, type, data=values, **(form or {"scale": None}))

    def shape(self, rank=None, low=1, high=5):
        rank = self.rng.randint(1, 4) if rank is None else rank
        return [1, *(self.rng.randint(low, high) for _ in range(rank - 1))]

    def choice(self, *values):
        return self.rng.choice(values)


def pack(values):
    """Return 4-bit elements as bytes, two in each, the first in the low half."""
    flat = np.append(values.reshape(-1).astype(int), 0) & 15
    pairs = flat[: flat.size // 2 * 2].reshape(-1, 2)
    return (pairs[:, 0] | pairs[:, 1] << 4).astype(np.uint8).tobytes()


# ---- one operand ----


@spec("ABS", "RSQRT", "NEG", "CEIL", "FLOOR", "ROUND", "SIN", "COS", "LOG", "EXP", "SQRT")
@spec("SQUARE", "ELU", "HARD_SWISH", "RELU", "RELU6", "ZEROS_LIKE", "LOGICAL_NOT", "CAST")
@spec("DEQUANTIZE", "QUANTIZE", "TANH", "LOGISTIC", "LOG_SOFTMAX", "SOFTMAX", "LEAKY_RELU")
@spec("L2_NORMALIZATION")
def unary(net, name):
    shape = net.shape()
    x = net.x(shape)
    if name == "RSQRT":
        least = net.tensors[x]["zeros"][0] + 1 if net.type == "INT8" else 1
        net.ranges[x] = int(least), {"INT8": 127}.get(net.type, 99)
    if name in ("LOG", "SQRT"):
        net.ranges[x] = 1, 99
    type, form, options = net.type, {}, {}
    if name in ("RELU6",):
        form = net.like(x)
    if name in ("CAST", "QUANTIZE", "DEQUANTIZE"):
        type = {"DEQUANTIZE": "FLOAT32"}.get(name) or net.choice("INT8", "INT16", "INT32", net.type)
    if name == "SOFTMAX" and type == "INT8" and net.rng.random() < 0.3:
        type, form = "INT16", {"scale": 2.0**-16, "zero": -32768}
    elif name == "SOFTMAX":
        form = net.form(type, {"INT16": 2.0**-15}.get(type, 2.0**-8), {"INT8": -128}.get(type, 0))
    if name == "SOFTMAX":
        options = {"Beta": net.choice(1.0, 0.5, 2.0)}
    if name in ("LOGISTIC", "TANH"):
        zero = {"LOGISTIC": -128}.get(name, 0) if type == "INT8" else 0
        form = net.form(type, 2.0 ** ({"INT16": -15}.get(type) or -8 + (name == "TANH")), zero)
    if name == "LOG_SOFTMAX":
        form = net.form(type, 1 / 16, 127)
    if name == "L2_NORMALIZATION":
        form = net.form(type, 1 / 128, 0)
    if name == "LEAKY_RELU":
        options = {"Alpha": net.choice(0.1, 0.3, -0.2, 1.5, 0.0)}
    kinds = {"SOFTMAX": "SoftmaxOptions", "LEAKY_RELU": "LeakyReluOptions"}
    kinds |= {"L2_NORMALIZATION": "L2NormOptions"}
    net.operator(name, [x], [net.y(shape, type, **form)], kinds.get(name), **options)


# ---- two operands ----

_FUSED = {"ADD": "Add", "SUB": "Sub", "MUL": "Mul", "DIV": "Div"}
_COMPARE = ("EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL")


@spec("ADD", "SUB", "MUL", "DIV", "MAXIMUM", "MINIMUM", "SQUARED_DIFFERENCE", "FLOOR_DIV")
@spec("FLOOR_MOD", "PRELU", "LOGICAL_AND", "LOGICAL_OR", *_COMPARE)
def binary(net, name):
    shape = net.shape(net.rng.randint(1, 4))
    other = list(shape)
    kind = net.choice("same", "same", "one", "axis")
    if kind == "one":
        other = [1] * len(shape)
    if kind == "axis":
        other[net.rng.randrange(len(shape))] = 1
    if name in ("PRELU",):
        other = other[1:] or other
    scales = net.form(net.type)
    first = net.x(shape, **scales)
    same = name in ("MAXIMUM", "MINIMUM")
    type = "INT8" if name == "PRELU" and net.type == "INT16" else net.type
    form = scales if same else net.form(type)
    if name in ("DIV", "FLOOR_DIV", "FLOOR_MOD") or net.rng.random() < 0.4:
        low, high = (1, 100) if name in ("DIV", "FLOOR_DIV", "FLOOR_MOD") else (-100, 100)
        if type in ("UINT8", "UINT32", "BOOL"):
            low = max(low, 0)
        if name == "DIV" and "scale" in form and form["scale"]:
            form["zero"] = 0
        values = net.numbers(other, low, high)
        second = net.constant(values, type, **form)
    else:
        second = net.x(other, type, **form)
    ends = [first, second]
    if net.rng.random() < 0.2 and name not in ("PRELU", "DIV", "FLOOR_DIV", "FLOOR_MOD"):
        ends.reverse()
    made = "BOOL" if name in _COMPARE else net.type
    y = net.y(shape, made, **(scales if same else net.form(made)))
    options = {}
    if name in _FUSED:
        options = {"FusedActivationFunction": net.choice("NONE", "NONE", "RELU", "RELU6")}
    net.operator(name, ends, [y], f"{_FUSED[name]}Options" if name in _FUSED else None, **options)


@spec("ADD_N")
def add_n(net, name):
    shape, form = net.shape(), net.form(net.type)
    ends = [net.x(shape, **form) for _ in range(net.rng.randint(2, 4))]
    net.operator(name, ends, [net.y(shape)], "AddNOptions")


@spec("SELECT_V2")
def select(net, name):
    shape, form = net.shape(), net.form(net.type)
    ends = [net.x(shape, "BOOL"), net.x(shape, **form), net.x(net.choice(shape, [1] * len(shape)),
                                                            **form)]  # fmt: skip
    net.operator(name, ends, [net.y(shape, **form)], "SelectV2Options")


# ---- windows ----


def _window(net, sizes, filters, padding, strides, dilations=(1, 1)):
    made = []
    for size, side, stride, dilation in zip(sizes, filters, strides, dilations):
        covered = (side - 1) * dilation + 1
        made.append(-(-size // stride) if padding == "SAME" else (size - covered) // stride + 1)
    return made


def _weights(net, shape, axis, channels, type="INT8"):
    if net.type in ("FLOAT32", "FLOAT16"):
        return net.constant(net.numbers(shape, -9, 9) / 4, net.type)
    count = shape[axis] if channels else 1
    scales = [net.rng.uniform(0.002, 0.02) for _ in range(count)]
    low = -7 if type == "INT4" else -127
    return net.constant(net.numbers(shape, low, -low), type, scale=scales, axis=axis)


def _bias(net, x, weights, count):
    if net.type in ("FLOAT32", "FLOAT16"):
        return net.constant(net.numbers((count,), -9, 9) / 4, net.type)
    scales = net.tensors[x].get("scales", np.ones(1)) * net.tensors[weights]["scales"]
    type = "INT64" if net.type == "INT16" else "INT32"
    return net.constant(net.numbers((count,), -999, 999), type, scale=scales)


def _activation(net):
    return net.choice("NONE", "NONE", "RELU", "RELU6", "RELU_N1_TO_1")


@spec("CONV_2D", "DEPTHWISE_CONV_2D")
def convolve(net, name):
    height, width, depth = (net.rng.randint(3, 7) for _ in range(3))
    x = net.x([1, height, width, depth])
    filters = net.rng.randint(1, 3), net.rng.randint(1, 3)
    strides, padding = (net.rng.randint(1, 2), net.rng.randint(1, 2)), net.choice("SAME", "VALID")
    four = net.type == "INT8" and net.rng.random() < 0.15
    options = {"Padding": padding, "StrideH": strides[0], "StrideW": strides[1]}
    options["FusedActivationFunction"] = _activation(net)
    channels = net.rng.random() < 0.6
    if name == "CONV_2D":
        out = net.rng.randint(1, 5)
        w = _weights(net, [out, *filters, depth], 0, channels, "INT4" if four else "INT8")
    else:
        options["DepthMultiplier"] = net.rng.randint(1, 2)
        out = depth * options["DepthMultiplier"]
        w = _weights(net, [1, *filters, out], 3, channels, "INT4" if four else "INT8")
    ends = [x, w, _bias(net, x, w, out)]
    if net.rng.random() < 0.2:
        ends.pop()
    y = net.y([1, *_window(net, (height, width), filters, padding, strides), out])
    kind = "Conv2DOptions" if name == "CONV_2D" else "DepthwiseConv2DOptions"
    net.operator(name, ends, [y], kind, **options)


@spec("TRANSPOSE_CONV")
def transpose_conv(net, name):
    height, width, depth, out = (net.rng.randint(1, 4) for _ in range(4))
    filters = net.rng.randint(1, 3), net.rng.randint(1, 3)
    strides, padding = (net.rng.randint(1, 2), net.rng.randint(1, 2)), net.choice("SAME", "VALID")
    sides = [
        size * stride if padding == "SAME" else (size - 1) * stride + side
        for size, side, stride in zip((height, width), filters, strides)
    ]
    shape = net.constant([1, *sides, out])
    w = _weights(net, [out, *filters, depth], 0, True)
    x = net.x([1, height, width, depth])
    ends = [shape, w, x, _bias(net, x, w, out)]
    if net.rng.random() < 0.2:
        ends.pop()
    options = {"Padding": padding, "StrideH": strides[0], "StrideW": strides[1]}
    net.operator(name, ends, [net.y([1, *sides, out])], "TransposeConvOptions", **options)


@spec("AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D")
def pool(net, name):
    height, width, depth = (net.rng.randint(2, 7) for _ in range(3))
    filters = net.rng.randint(1, 2), net.rng.randint(1, 2)
    strides, padding = (net.rng.randint(1, 2), net.rng.randint(1, 2)), net.choice("SAME", "VALID")
    batches = net.choice(1, 1, 1, 2)
    x = net.x([batches, height, width, depth])
    sides = _window(net, (height, width), filters, padding, strides)
    options = {"Padding": padding, "StrideH": strides[0], "StrideW": strides[1]}
    options |= {"FilterHeight": filters[0], "FilterWidth": filters[1]}
    options["FusedActivationFunction"] = _activation(net)
    y = net.y([batches, *sides, depth], **net.like(x))
    net.operator(name, [x], [y], "Pool2DOptions", **options)


@spec("FULLY_CONNECTED")
def fully_connected(net, name):
    lead, depth, out = net.shape(net.rng.randint(1, 3), high=3), net.rng.randint(1, 9), 3
    x = net.x([*lead, depth])
    four = net.type == "INT8" and net.rng.random() < 0.15
    w = _weights(net, [out, depth], 0, net.rng.random() < 0.3, "INT4" if four else "INT8")
    ends = [x, w, _bias(net, x, w, out)]
    if net.rng.random() < 0.2:
        ends.pop()
    options = {"FusedActivationFunction": _activation(net), "KeepNumDims": True}
    net.operator(name, ends, [net.y([*lead, out])], "FullyConnectedOptions", **options)


@spec("BATCH_MATMUL")
def batch_matmul(net, name):
    lead = net.shape(net.rng.randint(1, 2), high=3)
    rows, depth, columns = (net.rng.randint(1, 4) for _ in range(3))
    adj_x, adj_y = net.rng.random() < 0.4, net.rng.random() < 0.4
    first = net.x([*lead, *((depth, rows) if adj_x else (rows, depth))])
    shape = [*lead, *((columns, depth) if adj_y else (depth, columns))]
    if net.rng.random() < 0.3 and net.type in ("INT8", "INT16", "FLOAT32"):
        second = net.constant(net.numbers(shape, -99, 99), net.type, **net.form(net.type))
    else:
        second = net.x(shape)
    y = net.y([*lead, rows, columns])
    net.operator(name, [first, second], [y], "BatchMatMulOptions", AdjX=adj_x, AdjY=adj_y)


# ---- reductions ----


@spec("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_ALL")
def reduce(net, name):
    shape = net.shape(net.rng.randint(2, 4))
    axes = sorted(net.rng.sample(range(1, len(shape)), net.rng.randint(1, len(shape) - 1)))
    keep = net.rng.random() < 0.5
    left = [1 if i in axes else n for i, n in enumerate(shape) if keep or i not in axes]
    x = net.x(shape)
    form = net.like(x) if name.startswith("REDUCE") else {}
    chosen = [axis - len(shape) if net.rng.random() < 0.2 else axis for axis in axes]
    y = net.y(left, **form)
    net.operator(name, [x, net.constant(chosen)], [y], "ReducerOptions", KeepDims=keep)


@spec("ARG_MAX", "ARG_MIN")
def arg(net, name):
    shape = net.shape(net.rng.randint(2, 4))
    axis = net.rng.randrange(len(shape))
    left = [n for i, n in enumerate(shape) if i != axis]
    chosen = net.choice(axis, axis - len(shape))
    kind = "ArgMaxOptions" if name == "ARG_MAX" else "ArgMinOptions"
    ends = [net.x(shape), net.constant(net.choice(chosen, [chosen]))]
    net.operator(name, ends, [net.y(left, "INT32")], kind, OutputType=2)


@spec("CUMSUM")
def cumsum(net, name):
    shape = net.shape(net.rng.randint(1, 4))
    x = net.x(shape)
    form = net.form(net.type)
    if form["scale"]:
        form["scale"] = net.like(x)["scale"] * 3
    axis = net.constant([net.rng.randint(-len(shape), len(shape) - 1)])
    options = {"Exclusive": net.rng.random() < 0.4, "Reverse": net.rng.random() < 0.4}
    net.operator(name, [x, axis], [net.y(shape, **form)], "CumsumOptions", **options)


# ---- movement ----


@spec("RESHAPE", "SQUEEZE", "EXPAND_DIMS", "TRANSPOSE", "REVERSE_V2", "PAD", "PADV2", "MIRROR_PAD")
@spec("BROADCAST_TO", "DEPTH_TO_SPACE", "SPACE_TO_DEPTH", "SLICE", "STRIDED_SLICE")
@spec("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR", "SPACE_TO_BATCH_ND", "BATCH_TO_SPACE_ND")
def move(net, name):
    shape, made, rest, kind, options = _MOVES[name](net)
    x = net.x(shape)
    form = net.like(x)
    more = [net.constant(values) for values in rest]
    if name == "PADV2":
        fill = net.rng.randint(0, 1) if net.type == "BOOL" else net.rng.randint(0, 9)
        more.append(net.constant(fill, net.type, **form))
    net.operator(name, [x, *more], [net.y(made, **form)], kind, **options)


def _reshape(net):
    shape = net.shape(3)
    made = net.choice([1, math.prod(shape)], shape[::-1], [*shape, 1])
    return shape, made, [made], "ReshapeOptions", {"NewShape": made}


def _squeeze(net):
    shape = [1, net.rng.randint(2, 5), 1, net.rng.randint(1, 3)]
    dims = net.choice([0], [2], [0, 2], [-2])
    made = [n for i, n in enumerate(shape) if i not in [d % 4 for d in dims]]
    return shape, made, [], "SqueezeOptions", {"SqueezeDims": dims}


def _expand(net):
    shape = net.shape(3)
    axis = net.rng.randint(-4, 3)
    made = list(shape)
    made.insert(axis % 4, 1)
    return shape, made, [net.choice(axis, [axis])], "ExpandDimsOptions", {}


def _transpose(net):
    shape = net.shape(net.rng.randint(2, 5))
    order = net.rng.sample(range(len(shape)), len(shape))
    return shape, [shape[axis] for axis in order], [order], "TransposeOptions", {}


def _reverse(net):
    shape = net.shape(net.rng.randint(2, 4))
    first = net.rng.randrange(len(shape))
    axes = list(range(first, net.rng.randint(first + 1, len(shape))))
    return shape, shape, [axes], "ReverseV2Options", {}


def _pad(net):
    shape = net.shape(net.rng.randint(1, 5), high=4)
    pairs = [[net.rng.randint(0, 2), net.rng.randint(0, 2)] for _ in shape]
    if net.rng.random() < 0.2:
        pairs = [[0, 0] for _ in shape]
    return shape, [n + a + b for n, (a, b) in zip(shape, pairs)], [pairs], "PadOptions", {}


def _mirror(net):
    shape = net.shape(net.rng.randint(1, 4), low=3)
    mode = net.rng.randint(0, 1)
    pairs = [[0, 0], *([net.rng.randint(0, 2), net.rng.randint(0, 2)] for _ in shape[1:])]
    made = [n + a + b for n, (a, b) in zip(shape, pairs)]
    return shape, made, [pairs], "MirrorPadOptions", {"Mode": mode}


def _broadcast(net):
    shape = net.shape(net.rng.randint(1, 3))
    made = [n if n > 1 else net.rng.randint(1, 4) for n in shape]
    made = [net.rng.randint(1, 3)] * net.rng.randint(0, 2) + made
    return shape, made, [made], "BroadcastToOptions", {}


def _deeper(net, shallow):
    rows, columns, depth = (net.rng.randint(1, 3) for _ in range(3))
    flat, deep = [1, rows * 2, columns * 2, depth], [1, rows, columns, depth * 4]
    ends = (deep, flat) if shallow else (flat, deep)
    kind = "DepthToSpaceOptions" if shallow else "SpaceToDepthOptions"
    return (*ends, [], kind, {"BlockSize": 2})


def _slice(net):
    shape = net.shape(net.rng.randint(1, 5))
    begins = [net.rng.randrange(n) for n in shape]
    counts = [net.rng.randint(1, n - b) for n, b in zip(shape, begins)]
    sizes = [-1 if n - b == c and net.rng.random() < 0.3 else c
             for n, b, c in zip(shape, begins, counts)]  # fmt: skip
    return shape, counts, [begins, sizes], "SliceOptions", {}


def _strided(net):
    shape = net.shape(net.rng.randint(1, 4))
    parts = [(0, n, net.choice(1, 1, 2)) if net.rng.random() < 0.7 else (n - 1, -n - 1, -1)
             for n in shape]  # fmt: skip
    begins, ends, strides = map(list, zip(*parts))
    shrink = 1 if net.rng.random() < 0.2 and strides[0] > 0 else 0
    made = [
        len(range(*slice(b, e, s).indices(n))) for n, b, e, s in zip(shape, *map(list, zip(*parts)))
    ]
    options = {"ShrinkAxisMask": shrink, "BeginMask": net.choice(0, 0, 1), "EndMask": 0}
    for flag, name in (("EllipsisMask", 0.03), ("NewAxisMask", 0.03)):
        options[flag] = int(net.rng.random() < name)
    return (
        shape,
        made[1:] if shrink else made,
        [begins, ends, strides],
        "StridedSliceOptions",
        options,
    )


def _resize(net, kind):
    shape = net.shape(4)
    size = [net.rng.randint(1, 8), net.rng.randint(1, 8)]
    options = {"AlignCorners": net.rng.random() < 0.3, "HalfPixelCenters": net.rng.random() < 0.4}
    return shape, [1, *size, shape[3]], [size], kind, options


def _to_batch(net, back):
    rows, columns, depth = (net.rng.randint(1, 3) for _ in range(3))
    block = [net.rng.randint(1, 2), net.rng.randint(1, 2)]
    ends = [[net.rng.randint(0, 1), 0], [0, 0]]
    whole = [1, rows * block[0] - ends[0][0], columns * block[1], depth]
    if not all(whole):
        ends, whole[1] = [[0, 0], [0, 0]], rows * block[0]
    parts = [block[0] * block[1], rows, columns, depth]
    kind = "BatchToSpaceNDOptions" if back else "SpaceToBatchNDOptions"
    shapes = (parts, whole) if back else (whole, parts)
    return (*shapes, [block, ends], kind, {})


_MOVES = {
    "RESHAPE": _reshape,
    "SQUEEZE": _squeeze,
    "EXPAND_DIMS": _expand,
    "TRANSPOSE": _transpose,
    "REVERSE_V2": _reverse,
    "PAD": _pad,
    "PADV2": _pad,
    "MIRROR_PAD": _mirror,
    "BROADCAST_TO": _broadcast,
    "DEPTH_TO_SPACE": lambda net: _deeper(net, True),
    "SPACE_TO_DEPTH": lambda net: _deeper(net, False),
    "SLICE": _slice,
    "STRIDED_SLICE": _strided,
    "RESIZE_BILINEAR": lambda net: _resize(net, "ResizeBilinearOptions"),
    "RESIZE_NEAREST_NEIGHBOR": lambda net: _resize(net, "ResizeNearestNeighborOptions"),
    "SPACE_TO_BATCH_ND": lambda net: _to_batch(net, False),
    "BATCH_TO_SPACE_ND": lambda net: _to_batch(net, True),
}


@spec("CONCATENATION", "PACK")
def join(net, name):
    shape, count = net.shape(net.rng.randint(1, 4)), net.rng.randint(1, 4)
    form, rank = net.form(net.type), len(shape)
    ends = [net.x(shape, **form) for _ in range(count)]
    if name == "PACK":
        axis = net.rng.randint(0, rank)
        made = [*shape[:axis], count, *shape[axis:]]
        axis = net.choice(axis, axis - rank - 1)
        y = net.y(made, **form)
        net.operator(name, ends, [y], "PackOptions", Axis=axis, ValuesCount=count)
        return
    axis = net.rng.randrange(rank)
    made = [n * count if i == axis else n for i, n in enumerate(shape)]
    y = net.y(made, **form)
    net.operator(name, ends, [y], "ConcatenationOptions", Axis=net.choice(axis, axis - rank))


@spec("SPLIT", "SPLIT_V", "UNPACK")
def parts(net, name):
    shape, count = net.shape(net.rng.randint(2, 4)), net.rng.randint(1, 3)
    axis = net.rng.randrange(len(shape))
    shape[axis] = count if name == "UNPACK" else count * net.rng.randint(1, 2)
    sizes = [shape[axis] // count] * count
    x = net.x(shape)
    made = [n for i, n in enumerate(shape) if i != axis]
    if name != "UNPACK":
        made = [sizes[0] if i == axis else n for i, n in enumerate(shape)]
    outs = [net.y(made, **net.like(x)) for _ in range(count)]
    place = net.choice(axis, axis - len(shape))
    if name == "UNPACK":
        net.operator(name, [x], outs, "UnpackOptions", Num=count, Axis=place)
        return
    at = net.constant(net.choice(place, [place]))
    ends = [at, x] if name == "SPLIT" else [x, net.constant(sizes), at]
    net.operator(name, ends, outs, f"Split{name[6:] and 'V'}Options", NumSplits=count)


@spec("GATHER", "GATHER_ND", "EMBEDDING_LOOKUP")
def gather(net, name):
    shape = net.shape(net.rng.randint(2, 4), low=2)
    if name == "EMBEDDING_LOOKUP":
        shape[0] = 4
        table = net.numbers(shape, 0, 9)
        places = net.x([3], "INT32", (0, 3))
        form = net.form(net.type, zero=0)
        ends = [places, net.constant(table, net.type, **form)]
        net.operator(name, ends, [net.y([3, *shape[1:]], **form)])
        return
    x = net.x(shape)
    if name == "GATHER_ND":
        depth = net.rng.randint(1, len(shape))
        places = net.constant(np.zeros((2, depth), int))
        made = [2, *shape[depth:]]
        net.operator(name, [x, places], [net.y(made, **net.like(x))], "GatherNdOptions")
        return
    axis = net.rng.randrange(len(shape))
    last = shape[axis] - 1
    if net.rng.random() < 0.5:
        places = net.constant([net.rng.randint(0, last) for _ in range(3)])
    else:
        places = net.x([3], "INT32", (0, last))
    made = [*shape[:axis], 3, *shape[axis + 1 :]]
    options = {"Axis": net.choice(axis, axis - len(shape))}
    net.operator(name, [x, places], [net.y(made, **net.like(x))], "GatherOptions", **options)


@spec("DYNAMIC_UPDATE_SLICE")
def update(net, name):
    shape = net.shape(net.rng.randint(1, 4))
    form, part = net.form(net.type), [net.rng.randint(1, n) for n in shape]
    x, piece = net.x(shape, **form), net.x(part, **form)
    starts = net.constant([net.rng.randint(-1, 3) for _ in shape])
    net.operator(name, [x, piece, starts], [net.y(shape, **form)], "DynamicUpdateSliceOptions")


@spec("FILL")
def fill(net, name):
    shape = net.shape()
    x = net.x([])
    net.operator(name, [net.constant(shape), x], [net.y(shape, **net.like(x))], "FillOptions")


@spec("SHAPE")
def shape_of(net, name):
    shape = net.shape()
    net.operator(name, [net.x(shape)], [net.y([len(shape)], "INT32")], "ShapeOptions", OutType=2)


@spec("BROADCAST_ARGS")
def broadcast_args(net, name):
    first, second = [1, 3], [2, 1]
    net.x([1])  # no operator reads it
    ends = [net.constant(first, net.type), net.constant(second, net.type)]
    net.operator(name, ends, [net.y([2], net.type)])


# ---- odd attributes ----


def retype(net, at, type):
    """Give a tensor another type; a constant keeps its numbers, as far as the type has them."""
    entry = net.tensors[at]
    entry["type"] = type
    values = entry["values"]
    if values is None:
        return
    net.buffers[entry["buffer"]] = (
        pack(np.asarray(values)) if type == "INT4" else _cast(values, type).tobytes()
    )


def _cast(values, type):
    dtype = np.dtype(_DTYPES[type])
    whole = np.asarray(values)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        whole = np.clip(whole, limits.min, limits.max)
    return whole.astype(dtype)


def _any(net):
    return net.rng.randrange(len(net.tensors))


def _scaled(net):
    return [at for at, entry in enumerate(net.tensors) if "scales" in entry]


def odd_type(net):
    retype(net, _any(net), net.rng.choice(EVERY))


def odd_wide_constants(net):
    for at, entry in enumerate(net.tensors):
        if entry["type"] == "INT32" and entry["buffer"]:
            retype(net, at, "INT64")


def odd_no_options(net):
    name, ends, outs, _, _ = net.operators[0]
    net.operators[0] = (name, ends, outs, None, {})


def odd_no_zeros(net):
    for at in net.rng.sample(_scaled(net), min(1, len(_scaled(net)))):
        net.tensors[at]["zeros"] = np.empty(0, np.int64)


def odd_no_scale(net):
    for at in net.rng.sample(_scaled(net), min(1, len(_scaled(net)))):
        del net.tensors[at]["scales"]


def odd_scale(net):
    for at in net.rng.sample(_scaled(net), min(1, len(_scaled(net)))):
        factor = net.choice(1 + 1e-6, 1 + 1e-5, 1.001, 1.1, 2, 0.5, 100)
        net.tensors[at]["scales"] = np.float32(net.tensors[at]["scales"] * factor)


def odd_zero_point(net):
    for at in net.rng.sample(_scaled(net), min(1, len(_scaled(net)))):
        net.tensors[at]["zeros"] = net.tensors[at]["zeros"] + net.choice(1, -1, 5)


def odd_zero_scale(net):
    held = [at for at in _scaled(net) if net.tensors[at]["buffer"]]
    for at in net.rng.sample(held, min(1, len(held))):
        net.tensors[at]["scales"] = np.zeros_like(net.tensors[at]["scales"])


def odd_one_zero_point(net):
    for at in _scaled(net):
        net.tensors[at]["zeros"] = net.tensors[at]["zeros"][:1]


def odd_constant(net):
    if len(net.inputs) > 1:
        hold(net, net.rng.choice(net.inputs))


def hold(net, at):
    """Give an input of the network numbers of its own."""
    if at in net.inputs:
        net.inputs.remove(at)
    entry = net.tensors[at]
    limits = net.ranges.get(at)
    if isinstance(limits, np.ndarray):
        limits = None
    low, high = limits or ((0, 1) if entry["type"] == "BOOL" else (0, 9))
    entry["values"] = net.numbers(entry["shape"], low, high)
    entry["buffer"] = len(net.buffers)
    net.buffers.append(b"")
    retype(net, at, entry["type"])


def odd_computed(net):
    held = [at for at, entry in enumerate(net.tensors) if entry["buffer"]]
    if held:
        release(net, net.rng.choice(held))


def release(net, at):
    """Make a constant an input of the network, whose samples are its numbers."""
    entry = net.tensors[at]
    net.ranges[at] = None if entry["type"] == "INT4" else np.asarray(entry["values"])
    entry["buffer"], entry["values"] = 0, None
    net.inputs.append(at)


def odd_outputs(net):
    net.outputs.extend(net.outputs[:1])
    if net.rng.random() < 0.5:
        net.outputs.reverse()


def odd_code(net):
    net.changes["new_code_only"] = True


def odd_activation(net):
    name, ends, outs, kind, fields = net.operators[0]
    if "FusedActivationFunction" in fields or kind == "ConcatenationOptions":
        chosen = net.choice("RELU", "RELU6", "RELU_N1_TO_1", "TANH", "SIGN_BIT")
        net.operators[0] = (name, ends, outs, kind, {**fields, "FusedActivationFunction": chosen})


def odd_missing_input(net):
    name, ends, outs, kind, fields = net.operators[0]
    if len(ends) > 1:
        net.operators[0] = (name, [*ends[:-1], -1], outs, kind, fields)


def odd_bias_type(net):
    name, ends, *_ = net.operators[0]
    if name in ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV"):
        retype(net, ends[-1], net.choice("INT32", "INT64", "INT16", "FLOAT32"))


def odd_bias_option(net):
    name, ends, outs, kind, fields = net.operators[0]
    if name in ("CONV_2D", "FULLY_CONNECTED"):
        ends = ends[:2]
        fields = {**fields, "QuantizedBiasType": net.choice(2, 4)}
        net.operators[0] = (name, ends, outs, kind, fields)


def odd_nothing(net):
    """Change nothing."""


ODD = [value for name, value in globals().items() if name.startswith("odd_")]

#: Operators that follow another one of int8 and keep its shape.
_SECOND = {
    **dict.fromkeys(("RELU", "LOGISTIC", "QUANTIZE", "ABS", "DEQUANTIZE", "MAXIMUM")),
    "RESHAPE": "ReshapeOptions",
    "ADD": "AddOptions",
    "CONCATENATION": "ConcatenationOptions",
}


def follow(net):
    """Add a second operator that reads the first output."""
    at = net.outputs[0]
    shape, type = net.tensors[at]["shape"], net.tensors[at]["type"]
    name = net.rng.choice(list(_SECOND))
    form = net.like(at) if name in ("RESHAPE", "MAXIMUM", "CONCATENATION") else net.form(type)
    if name == "LOGISTIC":
        form = net.form(
            type, 2.0 ** (-15 if type == "INT16" else -8), -128 if type == "INT8" else 0
        )
    made = "FLOAT32" if name == "DEQUANTIZE" else type
    if name == "CONCATENATION" and shape:
        shape = [*shape[:-1], shape[-1] * 2]
    ends = [at, at] if name in ("ADD", "MAXIMUM", "CONCATENATION") else [at]
    options = {"Axis": -1} if name == "CONCATENATION" else {}
    y = net.tensor(shape, made, **(form if made == type else {"scale": None}))
    net.outputs[0] = y
    net.operator(name, ends, [y], _SECOND[name], **options)


def draw(seed, name=None):
    """Return the file of a seed, of the operator `name` if given, and a description."""
    rng = random.Random(seed)
    drawn, type = rng.choice(sorted(SPECS)), rng.choice(TYPES)
    name = name or drawn
    net = Draw(rng, "INT8" if name in NO_FLOATS and type == "FLOAT32" else type)
    SPECS[name](net, name)
    if rng.random() < 0.3:
        follow(net)
    odd = [rng.choice(ODD) for _ in range(rng.choice((0, 1, 1, 1, 2)))]
    for change in odd:
        change(net)
    return net, f"{seed}: {name} {net.type} {' '.join(each.__name__[4:] for each in odd)}"


def samples(net, count=2):
    """Return random inputs of a file."""
    rng = np.random.default_rng(net.rng.randrange(1 << 30))
    entries = [net.tensors[at] for at in net.inputs]
    ranges = [net.ranges.get(at) for at in net.inputs]
    return [
        [
            draw_elements(entry["type"], entry["shape"], rng, limits)
            for entry, limits in zip(entries, ranges)
        ]
        for _ in range(count)
    ]


def draw_inputs(tensors, rng, count=2):
    """Return random inputs for the tensors of a file."""
    tensors = list(tensors)
    return [[draw_elements(t.type, t.shape, rng) for t in tensors] for _ in range(count)]


def draw_elements(type, shape, rng, limits=None):
    """Return random elements; limits: the least and the largest, or the elements themselves."""
    dtype = np.dtype(_DTYPES.get(type, "int8"))
    if isinstance(limits, np.ndarray):
        return (_cast(limits, type) if type in _DTYPES else limits).reshape(shape)
    if dtype.kind == "f":
        low, high = limits or (-4, 4)
        return rng.uniform(low, high, shape).astype(dtype)
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    whole = np.iinfo(dtype)
    if limits is None:
        limits = (whole.min, whole.max) if dtype.itemsize < 4 else (-5, 5)
    low, high = (min(max(int(limit), whole.min), whole.max) for limit in limits)
    return rng.integers(low, high, shape, dtype, endpoint=True)
