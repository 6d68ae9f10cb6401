"""One file for each operator and option that is read, with weights from a seed.

What TensorFlow Lite Micro computes for each is recorded in golden/tflite_operators.npz by
.ci/record-tflite.
"""

import zlib

import numpy as np
from tflite_files import File, enumerator

CASES = {}

#: Transposes of five axes, whose outputs the kernel with CMSIS-NN leaves unwritten.
REFERENCE = ("transpose_five", "transpose_nothing")

#: Runs of a network that keeps a state.
STEPS = (5,)


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


def inputs(name, tensor, count=4, steps=()):
    """Inputs of a case: random ones, the least and the largest numbers.

    steps: of time, in a network that keeps a state.
    """
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    limits = np.iinfo(tensor.dtype)
    x = rng.integers(
        limits.min, limits.max, (count, *steps, *tensor.shape), tensor.dtype, endpoint=True
    )
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

    def weights(self, shape, axis=0, channels=True, scale=0.02, bits=8):
        count = shape[axis] if channels else 1
        scales = scale * self.rng.uniform(0.3, 1, count)
        if bits == 4:
            values = self.rng.integers(-7, 8, int(np.prod(shape)))
            pairs = np.resize(np.append(values, 0), (-(-values.size // 2), 2)) & 15
            packed = (pairs[:, 0] | pairs[:, 1] << 4).astype(np.uint8).tobytes()
            return self.tensor(shape, "INT4", scales * 15, axis=axis, data=packed)
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
    s4={"bits": 4},
    s4_wide={"bits": 4, "filter": (1, 5), "FusedActivationFunction": "RELU"},
    s16={"type": "INT16"},
    s16_strides={"type": "INT16", "StrideH": 2, "FusedActivationFunction": "RELU"},
    s16_short_bias={"type": "INT16", "bias": "INT32"},
    s16_without_bias={"type": "INT16", "bias": False},
)
def convolve(
    type="INT8", channels=True, bias=True, filter=(3, 2), groups=1, batch=1, bits=8, **options
):
    options = {**_CONV, **options}
    net = Net(type)
    x = net.input((batch, 9, 10, 4), net.scaled(0.05), net.zero(3), type)
    w = net.weights((6, *filter, 4 // groups), 0, channels, bits=bits)
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
    s4={"bits": 4},
    s16={"type": "INT16"},
    s16_multiplied={"type": "INT16", "times": 2, "StrideW": 2},
)
def depthwise(type="INT8", times=1, bias=True, channels=True, bits=8, **options):
    options = {**_CONV, "DepthMultiplier": times, **options}
    net = Net(type)
    x = net.begin(8, 7, 5)
    w = net.weights((1, 3, 3, 5 * times), 3, channels, bits=bits)
    y = net.end(*(_out(options, axis, (8, 7)[axis], 3) for axis in (0, 1)), 5 * times)
    b = [net.bias(5 * times, x, w)] if bias else []
    net.operator("DEPTHWISE_CONV_2D", [x, w, *b], [y], "DepthwiseConv2DOptions", **options)
    return net


@cases(
    same={"Padding": "SAME"},
    valid={"Padding": "VALID"},
    one={"Padding": "SAME", "StrideH": 1, "StrideW": 1},
    wide={"Padding": "SAME", "filter": (2, 5), "StrideH": 3},
    without_bias={"Padding": "VALID", "bias": False},
    relu={"Padding": "SAME", "FusedActivationFunction": "RELU"},
    relu6={"Padding": "SAME", "FusedActivationFunction": "RELU6"},
)
def transpose_conv(Padding, filter=(3, 3), bias=True, StrideH=2, StrideW=2, **more):  # noqa: N803
    net = Net()
    x = net.begin(4, 5, 3)
    w = net.weights((2, *filter, 3))
    out = []
    for size, side, stride in zip((4, 5), filter, (StrideH, StrideW)):
        out.append(size * stride if Padding == "SAME" else (size - 1) * stride + side)
    y = net.end(*out, 2)
    options = {"Padding": Padding, "StrideH": StrideH, "StrideW": StrideW, **more}
    inputs = [net.list(1, *out, 2), w, x, *([net.bias(2, x, w)] if bias else [])]
    net.operator("TRANSPOSE_CONV", inputs, [y], "TransposeConvOptions", **options)
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
    s4={"bits": 4},
    s16={"type": "INT16"},
    s16_without_bias={"type": "INT16", "bias": False, "FusedActivationFunction": "RELU6"},
)
def fully_connected(type="INT8", channels=False, bias=True, shape=(24,), bits=8, **options):
    net = Net(type)
    x = net.begin(*shape)
    w = net.weights((5, shape[-1]), 0, channels, bits=bits)
    y = net.end(*shape[:-1], 5)
    b = [net.bias(5, x, w)] if bias else [-1] if bias is None else []
    options = {"KeepNumDims": len(shape) > 1, **options}
    net.operator("FULLY_CONNECTED", [x, w, *b], [y], "FullyConnectedOptions", **options)
    return net


# ---- recurrent ----


@cases(
    s16={},
    s8={"state": "INT8"},
    rank={"rank": 2},
    relu={"FusedActivationFunction": "RELU"},
)
def svdf(state="INT16", rank=1, **options):
    net = Net()
    filters, steps = 4 * rank, 6
    x = net.begin(8)
    features = net.weights((filters, 8), 0, False)
    numbers = net.rng.integers(-127, 128, (filters, steps)) * (1 if state == "INT8" else 90)
    scale = 0.01 if state == "INT8" else 0.0001
    times = net.tensor((filters, steps), state, scale, 0, numbers)
    size = (1, filters * steps)
    kept = net.tensor(size, state, 0.08 if state == "INT8" else 0.0005, variable=True)
    product = np.float32(net.tensors[kept]["scales"] * net.tensors[times]["scales"])
    bias = net.tensor((4,), "INT32", product, data=net.rng.integers(-500, 500, 4))
    y = net.end(4, scale=0.07 * rank)
    inputs = [x, features, times, bias, kept]
    net.operator("SVDF", inputs, [y], "SVDFOptions", Rank=rank, **options)
    return net


@cases(
    s8={},
    major={"TimeMajor": True},
    clip={"CellClip": 0.2},
    s16={"type": "INT16"},
)
def lstm(type="INT8", **options):
    net = Net(type)
    units = 5
    shape = (4, 1) if options.get("TimeMajor") else (1, 4)
    x = net.input((*shape, 6), net.scaled(0.01), net.zero(3), type)
    form = (2.0**-7, 4) if type == "INT8" else (2.0**-15, 0)
    y = net.output((*shape, units), *form, type)
    inputs = [x, *[-1] * 23]
    for gate in range(4):
        inputs[1 + gate] = net.weights((units, 6), 0, False, scale=0.03)
        inputs[5 + gate] = net.weights((units, units), 0, False, scale=0.03)
        inputs[12 + gate] = net.bias(units, x, inputs[1 + gate])
    inputs[18] = net.tensor((1, units), type, *form, variable=True)
    inputs[19] = net.tensor((1, units), "INT16", 2.0**-12, 0, variable=True)
    options = {"FusedActivationFunction": "TANH", **options}
    kind = "UNIDIRECTIONAL_SEQUENCE_LSTM"
    net.operator(kind, inputs, [y], "UnidirectionalSequenceLSTMOptions", **options)
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
    """Combine a tensor with its average over windows of one row, so that the operands differ."""
    net = Net(type)
    x = net.begin(6, 5, 4)
    other = net.middle(6, 5, 4, zero=3)
    y = net.end(6, 5, 4, scale=0.06)
    window = {"Padding": "SAME", "StrideH": 1, "StrideW": 1, "FilterHeight": 3, "FilterWidth": 1}
    net.operator("AVERAGE_POOL_2D", [x], [other], "Pool2DOptions", **window)
    net.operator(kind, [x, other], [y], f"{kind.capitalize()}Options", **options)
    return net


@cases(
    maximum={"kind": "MAXIMUM"},
    minimum={"kind": "MINIMUM"},
    maximum_value={"kind": "MAXIMUM", "shape": ()},
    minimum_channels={"kind": "MINIMUM", "shape": (4,)},
    maximum_rows={"kind": "MAXIMUM", "shape": (6, 1, 1), "first": True},
)
def choice(kind, shape=None, first=False):
    """Choose between a tensor and its average, or a constant."""
    net = Net()
    x = net.begin(6, 5, 4)
    if shape is None:
        other = net.middle(6, 5, 4, zero=3)
        window = dict.fromkeys(("StrideH", "StrideW", "FilterWidth"), 1)
        window |= {"Padding": "SAME", "FilterHeight": 3}
        net.operator("AVERAGE_POOL_2D", [x], [other], "Pool2DOptions", **window)
    else:
        values = net.rng.integers(-100, 100, shape)
        other = net.tensor(shape, "INT8", 0.05, 3, values)
    y = net.end(6, 5, 4, zero=3)
    net.operator(kind, [other, x] if first else [x, other], [y], "MaximumMinimumOptions")
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
    """Combine a tensor with its pooled channels, which broadcast over the image."""
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


@cases(
    logistic={"kind": "LOGISTIC", "out": (2.0**-8, -128)},
    logistic_wide={"kind": "LOGISTIC", "out": (2.0**-8, -128), "scale": 0.2},
    logistic_s16={"kind": "LOGISTIC", "out": (2.0**-15, 0), "type": "INT16", "scale": 2.0**-4},
    logistic_s16_scaled={"kind": "LOGISTIC", "out": (2.0**-15, 0), "type": "INT16"},
    tanh={"kind": "TANH", "out": (2.0**-7, 0)},
    tanh_narrow={"kind": "TANH", "out": (2.0**-7, 0), "scale": 0.01},
    tanh_s16={"kind": "TANH", "out": (2.0**-15, 0), "type": "INT16", "scale": 2.0**-4},
    tanh_s16_twice={"kind": "TANH", "out": (2.0**-15, 0), "type": "INT16", "scale": 2.0**-3},
    tanh_s16_scaled={"kind": "TANH", "out": (2.0**-15, 0), "type": "INT16", "scale": 0.03},
)
def curve(kind, out, type="INT8", scale=0.07):
    net = Net(type)
    x = net.begin(20, 16, scale=scale)
    y = net.output((1, 20, 16), *out, type)
    net.operator(kind, [x], [y])
    return net


@cases(
    relu={"kind": "RELU"},
    relu_s16={"kind": "RELU", "type": "INT16"},
    relu6={"kind": "RELU6", "out": (0.05, 3)},
    relu6_s16={"kind": "RELU6", "type": "INT16", "scale": 0.1, "out": (0.1, 0)},
    leaky={"kind": "LEAKY_RELU", "Alpha": 0.3},
    leaky_s16={"kind": "LEAKY_RELU", "type": "INT16", "Alpha": 0.01},
)
def rectify(kind, out=(0.04, -90), type="INT8", scale=0.05, **options):
    net = Net(type)
    x = net.begin(5, 7, scale=scale)
    y = net.end(5, 7, scale=out[0], zero=out[1])
    net.operator(kind, [x], [y], "LeakyReluOptions" if options else None, **options)
    return net


@cases(
    channels={"shape": (1, 1, 4)},
    channels_wide={"shape": (1, 1, 4), "scale": 0.9},
    elements={"shape": (6, 5, 4)},
    one={"shape": (1,), "zero": -128},
    columns={"shape": (5, 1)},
)
def prelu(shape, scale=0.01, zero=7):
    net = Net()
    x, y = net.begin(6, 5, 4), net.end(6, 5, 4)
    slopes = net.rng.integers(-128, 128, shape)
    net.operator("PRELU", [x, net.tensor(shape, "INT8", scale, zero, data=slopes)], [y])
    return net


@cases(
    s8_s8={"into": ("INT8", 0.08, -20)},
    s8_u8={"into": ("UINT8", 0.05, 131)},
    s8_s16={"into": ("INT16", 0.0003, 0)},
    s16_s8={"type": "INT16", "into": ("INT8", 0.03, 5)},
    s16_s16={"type": "INT16", "into": ("INT16", 0.0005, 0)},
    u8_s8={"type": "UINT8", "into": ("INT8", 0.05, 3)},
)
def requantize(into, type="INT8"):
    net = Net(type)
    x = net.input((1, 6, 7), net.scaled(0.05), 131 if type == "UINT8" else net.zero(3), type)
    y = net.output((1, 6, 7), *into[1:], into[0])
    net.operator("QUANTIZE", [x], [y], "QuantizeOptions")
    return net


# ---- parts ----


@cases(
    image={"axes": (1, 2)},
    kept={"axes": (1, 2), "KeepDims": True},
    channels={"axes": (-1,)},
    rows={"axes": (1,), "KeepDims": True},
    apart={"axes": (1, 3)},
    all={"axes": (0, 1, 2, 3)},
    none={"axes": ()},
    scaled={"axes": (2, 1), "scale": 0.02},
    s16={"axes": (1, 2), "type": "INT16"},
)
def mean(axes, type="INT8", scale=0.05, **options):
    net = Net(type)
    x = net.begin(6, 5, 4)
    shape, gone = [1, 6, 5, 4], {axis % 4 for axis in axes}
    keep = options.get("KeepDims", False)
    shape = [1 if i in gone else n for i, n in enumerate(shape) if keep or i not in gone]
    y = net.output(shape, net.scaled(scale), net.zero(-4), type)
    net.operator("MEAN", [x, net.list(*axes)], [y], "ReducerOptions", **options)
    return net


@cases(
    channels={"axis": 3, "count": 2},
    rows={"axis": -3, "count": 3},
    s16={"axis": 2, "count": 5, "type": "INT16"},
)
def split(axis, count, type="INT8"):
    net = Net(type)
    x, shape = net.begin(6, 5, 4), [1, 6, 5, 4]
    shape[axis] //= count
    ys = [net.output(shape, net.scaled(0.05), net.zero(3), type) for _ in range(count)]
    net.operator("SPLIT", [net.one(axis), x], ys, "SplitOptions", NumSplits=count)
    return net


@case
def split_v():
    net = Net()
    x = net.begin(6, 5, 4)
    ys = [net.output((1, size, 5, 4), 0.05, 3) for size in (1, 3, 2)]
    inputs = [x, net.list(1, -1, 2), net.one(1)]
    net.operator("SPLIT_V", inputs, ys, "SplitVOptions", NumSplits=3)
    return net


@case
def slice_rest():
    net = Net()
    x, y = net.begin(6, 5, 4), net.end(3, 4, 2, zero=3)
    net.operator("SLICE", [x, net.list(0, 2, 1, 2), net.list(1, 3, 4, -1)], [y], "SliceOptions")
    return net


@cases(
    plain={"ends": ((0, 1, 1, 0), (1, 5, 4, 3), (1, 2, 1, 2)), "shape": (1, 2, 3, 2)},
    masks={
        "ends": ((9, 9, 1, 9), (0, 4, 1, 0), (1, 1, 2, 1)),
        "shape": (1, 4, 2, 4),
        **{"BeginMask": 0b1011, "EndMask": 0b1101},
    },
    backward={"ends": ((0, -1, 4, -1), (1, 0, 0, -9), (1, -2, -3, -1)), "shape": (1, 3, 2, 4)},
    shrink={
        "ends": ((0, -2, 0, 0), (1, 0, 5, 4), (1, 1, 1, 1)),
        "shape": (1, 5, 4),
        "ShrinkAxisMask": 0b10,
    },
    s16={
        "ends": ((0, 1, 1, 0), (1, 5, 4, 3), (1, 2, 1, 2)),
        "shape": (1, 2, 3, 2),
        "type": "INT16",
    },
)
def strided_slice(ends, shape, type="INT8", **masks):
    net = Net(type)
    x = net.begin(6, 5, 4)
    y = net.output(shape, net.scaled(0.05), net.zero(3), type)
    lists = [net.list(*each) for each in ends]
    net.operator("STRIDED_SLICE", [x, *lists], [y], "StridedSliceOptions", **masks)
    return net


@cases(
    larger={"size": (13, 8)},
    smaller={"size": (3, 4)},
    corners={"size": (9, 7), "AlignCorners": True},
    centers={"size": (13, 8), "HalfPixelCenters": True},
    s16={"size": (9, 7), "type": "INT16"},
)
def resize(size, type="INT8", **options):
    net = Net(type)
    x = net.begin(6, 5, 3)
    y = net.end(*size, 3, zero=3)
    kind = "RESIZE_NEAREST_NEIGHBOR"
    net.operator(kind, [x, net.list(*size)], [y], "ResizeNearestNeighborOptions", **options)
    return net


# ---- moving numbers ----


@cases(
    image={"borders": ((0, 0), (1, 2), (3, 0), (0, 0))},
    channels={"borders": ((0, 0), (0, 0), (0, 1), (2, 1))},
    three={"shape": (5, 4), "borders": ((0, 0), (1, 2), (3, 0))},
    value={"borders": ((0, 0), (1, 1), (1, 1), (0, 0)), "value": 77},
    s16={"borders": ((0, 0), (1, 2), (3, 0), (0, 0)), "type": "INT16"},
)
def pad(borders, shape=(4, 5, 3), value=None, type="INT8"):
    net = Net(type)
    x = net.begin(*shape)
    sides = [a + n + b for (a, b), n in zip(borders[1:], shape)]
    y = net.end(*sides, zero=3)
    given = [net.tensor((len(borders), 2), "INT32", data=borders)]
    if value is None:
        net.operator("PAD", [x, *given], [y], "PadOptions")
    else:
        given.append(net.tensor((1,), type, net.scaled(0.05), net.zero(3), [value]))
        net.operator("PADV2", [x, *given], [y], "PadV2Options")
    return net


@cases(
    matrix={"shape": (5, 7), "order": (0, 2, 1)},
    image={"shape": (4, 5, 3), "order": (0, 3, 1, 2)},
    back={"shape": (3, 4, 5), "order": (0, 2, 3, 1)},
    batch={"shape": (4, 5, 3), "order": (2, 0, 3, 1)},
    five={"shape": (2, 1, 3, 4), "order": (0, 4, 1, 2, 3)},
    s16={"shape": (4, 5, 3), "order": (0, 3, 2, 1), "type": "INT16"},
)
def transpose(shape, order, type="INT8"):
    net = Net(type)
    x = net.begin(*shape)
    whole = (1, *shape)
    y = net.output([whole[i] for i in order], net.scaled(0.05), net.zero(3), type)
    net.operator("TRANSPOSE", [x, net.list(*order)], [y], "TransposeOptions")
    return net


@case
def transpose_nothing():
    """Transpose five axes: only an axis of one element moves."""
    net = Net()
    x = net.begin(4, 1, 5, 3)
    a, y = net.tensor((1, 1, 4, 5, 3), "INT8", 0.05, 3), net.output((1, 1, 4, 5, 2), 0.05, 3)
    net.operator("TRANSPOSE", [x, net.list(2, 0, 1, 3, 4)], [a], "TransposeOptions")
    w = net.weights((2, 3), 0, False)
    net.operator("FULLY_CONNECTED", [a, w, -1], [y], "FullyConnectedOptions", KeepNumDims=True)
    return net


@cases(
    depth_to_space={"kind": "DepthToSpace", "shape": (4, 3, 8), "out": (8, 6, 2)},
    depth_to_space_of_3={"kind": "DepthToSpace", "shape": (2, 5, 9), "out": (6, 15, 1), "side": 3},
    space_to_depth={"kind": "SpaceToDepth", "shape": (4, 6, 3), "out": (2, 3, 12)},
)
def blocks(kind, shape, out, side=2):
    net = Net()
    x, y = net.begin(*shape), net.end(*out, zero=3)
    name = {"DepthToSpace": "DEPTH_TO_SPACE", "SpaceToDepth": "SPACE_TO_DEPTH"}[kind]
    net.operator(name, [x], [y], f"{kind}Options", BlockSize=side)
    return net


@cases(
    channels={"axis": 3},
    rows={"axis": 1},
    last={"axis": -1},
    columns={"axis": 2, "count": 5},
    s16={"axis": 3, "type": "INT16"},
    one={"axis": 3, "count": 1},
)
def concatenation(axis, count=3, type="INT8"):
    """Concatenate a tensor, its maxima, a constant, and so on."""
    net = Net(type)
    x = net.begin(4, 5, 3)
    a = net.middle(4, 5, 3, zero=3)
    window = {"Padding": "SAME", "StrideH": 1, "StrideW": 1, "FilterHeight": 3, "FilterWidth": 1}
    net.operator("MAX_POOL_2D", [x], [a], "Pool2DOptions", **window)
    values = net.rng.integers(-128, 128, (1, 4, 5, 3))
    c = net.tensor((1, 4, 5, 3), type, net.scaled(0.05), net.zero(3), values)
    parts = [a, x, c, a, c][:count]
    shape = [1, 4, 5, 3]
    shape[axis] *= count
    y = net.output(shape, net.scaled(0.05), net.zero(3), type)
    net.operator("CONCATENATION", parts, [y], "ConcatenationOptions", Axis=axis)
    return net


@cases(
    front={"axis": 1},
    last={"axis": -1, "count": 2},
    s16={"axis": 2, "type": "INT16"},
)
def pack(axis, count=3, type="INT8"):
    """Pack a tensor, a constant, and so on."""
    net = Net(type)
    x = net.begin(4, 5)
    c = net.tensor(
        (1, 4, 5), type, net.scaled(0.05), net.zero(3), net.rng.integers(-128, 128, (1, 4, 5))
    )
    shape = [1, 4, 5]
    shape.insert(axis % 4, count)
    y = net.output(shape, net.scaled(0.05), net.zero(3), type)
    net.operator("PACK", [x, c, x][:count], [y], "PackOptions", Axis=axis, ValuesCount=count)
    return net


@cases(front={"axis": 1}, last={"axis": -1}, s16={"axis": 2, "type": "INT16"})
def unpack(axis, type="INT8"):
    net = Net(type)
    x, shape = net.begin(3, 4, 2), [1, 3, 4, 2]
    count = shape.pop(axis)
    ys = [net.output(shape, net.scaled(0.05), net.zero(3), type) for _ in range(count)]
    net.operator("UNPACK", [x], ys, "UnpackOptions", Axis=axis, Num=count)
    return net


@case
def reshape_of_an_open_batch():
    """Reshape as converters write it: the shape is computed from the batch."""
    net = Net()
    x = net.begin(2, 3, 4)
    shape, batch, target = (net.tensor(each, "INT32") for each in ((4,), (), (2,)))
    net.operator("SHAPE", [x], [shape], "ShapeOptions", OutType=enumerator("TensorType", "INT32"))
    ends = [net.list(0), net.list(1), net.list(1)]
    net.operator("STRIDED_SLICE", [shape, *ends], [batch], "StridedSliceOptions", ShrinkAxisMask=1)
    net.operator("PACK", [batch, net.one(24)], [target], "PackOptions", ValuesCount=2)
    flat = net.middle(24, zero=3)
    net.operator("RESHAPE", [x, target], [flat], "ReshapeOptions")
    w = net.weights((3, 24), 0, False)
    y = net.end(3, scale=0.3)
    net.operator("FULLY_CONNECTED", [flat, w, -1], [y], "FullyConnectedOptions")
    return net


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
