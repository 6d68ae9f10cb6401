"""Float networks in .tflite files, of one operator or a few, and random inputs for them."""

import numpy as np
from paths import GOLDEN
from tflite_files import File

#: Outputs of LiteRT's own kernels for draw(): case/number of the output.
RECORDED = GOLDEN / "tflite_floats.npz"

#: Files that converters wrote for small networks with random weights: name/file, their input name/x
#: and LiteRT's outputs. TensorFlow 2.21 wrote those named keras_..., litert-torch 0.10 the rest.
CONVERTED = GOLDEN / "tflite_converted.npz"

#: Case -> the function that adds its operators to a Net.
NAMES = {}


def case(function):
    """Register a function that adds operators to a Net."""
    NAMES[function.__name__] = function
    return function


class Net(File):
    """A float network; its numbers come from a generator with a fixed seed."""

    def __init__(self):
        super().__init__()
        self.rng = np.random.default_rng(7)
        self.changes["operators"] = 1

    def x(self, *shape, **more):
        """Add the input."""
        return self.input(shape, None, type="FLOAT32", **more)

    def floats(self, *shape, low=-1.0, high=1.0):
        """Add a constant."""
        return self.tensor(shape, "FLOAT32", data=self.rng.uniform(low, high, shape))

    def half(self, *shape):
        """Add a constant of FLOAT16, and the operator that makes FLOAT32 of it."""
        made = self.tensor(shape, "FLOAT16", data=self.rng.uniform(-1, 1, shape))
        return self.apply("DEQUANTIZE", [made], shape)

    def bytes_of(self, *shape, axis=0):
        """Add a constant of INT8 with a scale for each channel."""
        data = self.rng.integers(-127, 128, shape)
        scales = self.rng.uniform(0.005, 0.02, shape[axis])
        return self.tensor(shape, "INT8", scales, data=data, axis=axis)

    def ints(self, *numbers, shape=None, type="INT32"):
        """Add a constant of integers."""
        shape = (len(numbers),) if shape is None else shape
        return self.tensor(shape, type, data=np.reshape(numbers, shape))

    def apply(self, name, inputs, shape, options=None, **fields):
        """Add an operator with one output, and return the output."""
        made = self.tensor(shape, "FLOAT32")
        self.operator(name, inputs, [made], options, **fields)
        return made

    def end(self, *tensors):
        """Set the outputs."""
        self.outputs += tensors
        return self


def make(name):
    """Return the file of a case."""
    net = Net()
    NAMES[name](net)
    return net


def draw(net, batch=None):
    """Return a random batch for the input of a file, of as many samples as in the file."""
    first, *shape = net.tensors[net.inputs[0]]["shape"]
    return draw_shape((batch or first, *shape))


def draw_shape(shape):
    """Return random numbers."""
    return np.random.default_rng(3).uniform(-2, 2, shape).astype(np.float32)


def run_litert(path, x):
    """Return the outputs of LiteRT's own kernels for the only input of a file."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    plain = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    interpreter = Interpreter(str(path), experimental_op_resolver_type=plain)
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
    interpreter.invoke()
    return [interpreter.get_tensor(each["index"]) for each in interpreter.get_output_details()]


CONV = {"Padding": "SAME", "StrideH": 1, "StrideW": 1, "DilationHFactor": 1, "DilationWFactor": 1}


def convolve(net, x, shape, weights, bias, **changes):
    options = {**CONV, **changes}
    return net.apply("CONV_2D", [x, weights, bias], shape, "Conv2DOptions", **options)


@case
def conv(net):
    x = net.x(1, 6, 7, 3)
    net.end(convolve(net, x, (1, 6, 7, 4), net.floats(4, 3, 3, 3), net.floats(4)))


@case
def conv_strided(net):
    x = net.x(1, 6, 7, 3)
    how = {"StrideH": 2, "StrideW": 3, "FusedActivationFunction": "RELU6"}
    net.end(convolve(net, x, (1, 3, 3, 4), net.floats(4, 3, 2, 3), net.floats(4), **how))


@case
def conv_dilated(net):
    x = net.x(1, 8, 8, 2)
    how = {"Padding": "VALID", "DilationHFactor": 2, "DilationWFactor": 3}
    net.end(convolve(net, x, (1, 4, 2, 3), net.floats(3, 3, 3, 2), net.floats(3), **how))


@case
def conv_groups(net):
    x = net.x(1, 5, 5, 4)
    how = {"FusedActivationFunction": "RELU_N1_TO_1"}
    net.end(convolve(net, x, (1, 5, 5, 6), net.floats(6, 3, 3, 2), net.floats(6), **how))


@case
def conv_half(net):
    x = net.x(1, 5, 5, 3)
    net.end(convolve(net, x, (1, 5, 5, 4), net.half(4, 3, 3, 3), net.half(4)))


@case
def depthwise(net):
    x = net.x(1, 6, 5, 3)
    how = {**CONV, "DepthMultiplier": 2, "FusedActivationFunction": "RELU"}
    inputs = [x, net.floats(1, 3, 3, 6), net.floats(6)]
    net.end(net.apply("DEPTHWISE_CONV_2D", inputs, (1, 6, 5, 6), "DepthwiseConv2DOptions", **how))


def _transposed(net, padding, size, side):
    x = net.x(1, 4, 5, 3)
    inputs = [net.ints(1, *size, 2), net.floats(2, side, side, 3), x, net.floats(2)]
    how = {"Padding": padding, "StrideH": 2, "StrideW": 2}
    net.end(net.apply("TRANSPOSE_CONV", inputs, (1, *size, 2), "TransposeConvOptions", **how))


@case
def transpose_conv_same(net):
    _transposed(net, "SAME", (8, 10), 3)


@case
def transpose_conv_odd(net):
    _transposed(net, "SAME", (7, 9), 4)


@case
def transpose_conv_valid(net):
    _transposed(net, "VALID", (9, 11), 3)


@case
def transpose_conv_gaps(net):
    _transposed(net, "VALID", (8, 10), 1)


@case
def dense(net):
    inputs = [net.x(1, 10), net.floats(4, 10), net.floats(4)]
    how = {"FusedActivationFunction": "RELU"}
    net.end(net.apply("FULLY_CONNECTED", inputs, (1, 4), "FullyConnectedOptions", **how))


@case
def dense_of_an_image(net):
    inputs = [net.x(1, 2, 3, 4), net.floats(5, 24), -1]
    net.end(net.apply("FULLY_CONNECTED", inputs, (1, 5), "FullyConnectedOptions"))


@case
def dense_of_rows(net):
    inputs = [net.x(1, 6, 4), net.floats(5, 4), net.floats(5)]
    how = {"KeepNumDims": True}
    net.end(net.apply("FULLY_CONNECTED", inputs, (1, 6, 5), "FullyConnectedOptions", **how))


@case
def dense_that_drops_the_batch(net):
    inputs = [net.x(1, 6, 4), net.floats(5, 4), net.floats(5)]
    rows = net.apply("FULLY_CONNECTED", inputs, (6, 5), "FullyConnectedOptions")
    net.end(net.apply("RESHAPE", [rows, net.ints(1, 30)], (1, 30)))


@case
def matmul_of_two_tensors(net):
    x = net.x(1, 5, 4)
    square = net.apply("BATCH_MATMUL", [x, x], (1, 5, 5), "BatchMatMulOptions", AdjY=True)
    inner = net.apply("SOFTMAX", [square], (1, 5, 5), "SoftmaxOptions", Beta=0.5)
    made = net.apply("BATCH_MATMUL", [inner, x], (1, 5, 4), "BatchMatMulOptions")
    inputs = [made, net.floats(3, 4), -1]
    how = {"KeepNumDims": True}
    net.end(net.apply("FULLY_CONNECTED", inputs, (1, 5, 3), "FullyConnectedOptions", **how))


@case
def matmul_by_a_constant(net):
    x, weights = net.x(1, 5, 4), net.floats(4, 3)
    y = net.apply("BATCH_MATMUL", [x, weights], (1, 5, 3), "BatchMatMulOptions")
    net.end(_scored(net, y, 3))


def _scored(net, x, depth):
    """Return a fully connected layer over the last axis, which makes a file a float network."""
    shape = (*net.tensors[x]["shape"][:-1], 2)
    how = {"KeepNumDims": True}
    inputs = [x, net.floats(2, depth), net.floats(2)]
    return net.apply("FULLY_CONNECTED", inputs, shape, "FullyConnectedOptions", **how)


def _after_conv(name, shape, *constants, options=None, **fields):
    """Return a case of one operator between a convolution and a fully connected layer."""

    def build(net):
        x = net.x(1, 6, 6, 4)
        image = convolve(net, x, (1, 6, 6, 4), net.floats(4, 1, 1, 4), net.floats(4))
        inputs = [image, *(make(net) for make in constants)]
        made = net.apply(name, inputs, shape, options, **fields)
        net.end(_scored(net, made, shape[-1]))

    return build


SAME = (1, 6, 6, 4)
POOL = {"Padding": "SAME", "StrideH": 2, "StrideW": 2, "FilterHeight": 3, "FilterWidth": 3}


def _operand(*shape):
    return lambda net: net.floats(*shape, low=0.5)


def _ints(*numbers, **more):
    return lambda net: net.ints(*numbers, **more)


for name in ("RELU", "RELU6", "RELU_N1_TO_1", "RELU_0_TO_1", "LOGISTIC", "TANH", "HARD_SWISH"):
    NAMES[name.lower()] = _after_conv(name, SAME)
for name in ("ABS", "EXP", "ELU", "SQUARE", "NEG", "SIN", "COS", "FLOOR", "CEIL", "LOG_SOFTMAX"):
    NAMES[name.lower()] = _after_conv(name, SAME)
for name, kind in (("ADD", "Add"), ("SUB", "Sub"), ("MUL", "Mul"), ("DIV", "Div")):
    NAMES[f"{kind.lower()}_constant"] = _after_conv(
        name, SAME, _operand(4), options=f"{kind}Options", FusedActivationFunction="RELU"
    )
NAMES |= {
    "average_pool": _after_conv(
        "AVERAGE_POOL_2D", (1, 3, 3, 4), options="Pool2DOptions", FusedActivationFunction="RELU6",
        **POOL,
    ),
    "max_pool": _after_conv("MAX_POOL_2D", (1, 3, 3, 4), options="Pool2DOptions", **POOL),
    "gelu": _after_conv("GELU", SAME, options="GeluOptions"),
    "gelu_tanh": _after_conv("GELU", SAME, options="GeluOptions", Approximate=True),
    "leaky_relu": _after_conv("LEAKY_RELU", SAME, options="LeakyReluOptions", Alpha=0.2),
    "prelu": _after_conv("PRELU", SAME, _operand(1, 1, 4)),
    "softmax": _after_conv("SOFTMAX", SAME, options="SoftmaxOptions", Beta=1.0),
    "maximum": _after_conv("MAXIMUM", SAME, _operand()),
    "minimum": _after_conv("MINIMUM", SAME, _operand(1)),
    "pow": _after_conv("POW", SAME, lambda net: net.tensor((), "FLOAT32", data=2.0)),
    "mean": _after_conv("MEAN", (1, 4), _ints(1, 2), options="ReducerOptions"),
    "mean_of_rows": _after_conv("MEAN", (1, 6, 4), _ints(1), options="ReducerOptions"),
    "mean_of_channels": _after_conv(
        "MEAN", (1, 6, 6, 1), _ints(-1), options="ReducerOptions", KeepDims=True
    ),
    "sum": _after_conv("SUM", (1, 6, 4), _ints(2), options="ReducerOptions"),
    "reduce_max": _after_conv(
        "REDUCE_MAX", (1, 1, 1, 4), _ints(1, 2), options="ReducerOptions", KeepDims=True
    ),
    "reduce_min": _after_conv("REDUCE_MIN", (1, 6, 6), _ints(3), options="ReducerOptions"),
    "cumsum": _after_conv("CUMSUM", SAME, _ints(2), options="CumsumOptions", Exclusive=True),
    "cumsum_reversed": _after_conv(
        "CUMSUM", SAME, _ints(-1), options="CumsumOptions", Reverse=True
    ),
    "l2_normalization": _after_conv("L2_NORMALIZATION", SAME, options="L2NormOptions"),
    "pad": _after_conv("PAD", (1, 9, 7, 4), _ints(0, 0, 1, 2, 0, 1, 0, 0, shape=(4, 2))),
    "padv2": _after_conv(
        "PADV2", (1, 8, 7, 4), _ints(0, 0, 1, 1, 0, 1, 0, 0, shape=(4, 2)), _operand()
    ),
    "mirror_pad": _after_conv(
        "MIRROR_PAD", (1, 9, 7, 4), _ints(0, 0, 2, 1, 0, 1, 0, 0, shape=(4, 2)),
        options="MirrorPadOptions",
    ),
    "mirror_pad_symmetric": _after_conv(
        "MIRROR_PAD", (1, 9, 7, 4), _ints(0, 0, 2, 1, 0, 1, 0, 0, shape=(4, 2)),
        options="MirrorPadOptions", Mode="SYMMETRIC",
    ),
    "transpose": _after_conv("TRANSPOSE", (1, 4, 6, 6), _ints(0, 3, 1, 2)),
    "slice": _after_conv("SLICE", (1, 3, 6, 2), _ints(0, 1, 0, 2), _ints(-1, 3, 6, 2)),
    "strided_slice": _after_conv(
        "STRIDED_SLICE", (1, 3, 4), _ints(0, 1, 2, 0), _ints(1, 6, 3, 4), _ints(1, 2, 1, 1),
        options="StridedSliceOptions", ShrinkAxisMask=4, BeginMask=1, EndMask=8,
    ),
    "gather": _after_conv("GATHER", (1, 6, 3, 4), _ints(4, 0, 4), options="GatherOptions", Axis=2),
    "tile": _after_conv("TILE", (1, 6, 12, 8), _ints(1, 1, 2, 2)),
    "reverse_v2": _after_conv("REVERSE_V2", SAME, _ints(2, 1)),
    "space_to_depth": _after_conv(
        "SPACE_TO_DEPTH", (1, 3, 3, 16), options="SpaceToDepthOptions", BlockSize=2
    ),
    "depth_to_space": _after_conv(
        "DEPTH_TO_SPACE", (1, 12, 12, 1), options="DepthToSpaceOptions", BlockSize=2
    ),
    "resize_bilinear": _after_conv(
        "RESIZE_BILINEAR", (1, 9, 11, 4), _ints(9, 11), options="ResizeBilinearOptions",
        HalfPixelCenters=True,
    ),
    "resize_nearest": _after_conv(
        "RESIZE_NEAREST_NEIGHBOR", (1, 9, 11, 4), _ints(9, 11),
        options="ResizeNearestNeighborOptions", AlignCorners=True,
    ),
    "squeeze": _after_conv("RESHAPE", (1, 36, 4), _ints(1, -1, 4)),
    "expand_dims": _after_conv("EXPAND_DIMS", (1, 1, 6, 6, 4), _ints(1)),
}  # fmt: skip


@case
def two_tensors(net):
    x = net.x(1, 4, 4, 3)
    a = convolve(net, x, (1, 4, 4, 3), net.floats(3, 3, 3, 3), net.floats(3))
    b = convolve(net, x, (1, 4, 4, 1), net.floats(1, 3, 3, 3), net.floats(1))
    made = net.apply("ADD", [a, b], (1, 4, 4, 3), "AddOptions", FusedActivationFunction="RELU")
    made = net.apply("MUL", [made, b], (1, 4, 4, 3), "MulOptions")
    made = net.apply("SUB", [made, a], (1, 4, 4, 3), "SubOptions")
    made = net.apply("SQUARED_DIFFERENCE", [made, a], (1, 4, 4, 3))
    made = net.apply("MAXIMUM", [made, a], (1, 4, 4, 3))
    net.end(net.apply("ADD_N", [made, a, x], (1, 4, 4, 3)))


@case
def dense_by_a_computed_matrix(net):
    x = net.x(1, 5, 4)
    rows = net.apply("RESHAPE", [x, net.ints(5, 4)], (5, 4))
    how = {"KeepNumDims": True, "FusedActivationFunction": "RELU"}
    inputs = [x, rows, net.floats(5)]
    made = net.apply("FULLY_CONNECTED", inputs, (1, 5, 5), "FullyConnectedOptions", **how)
    net.end(_scored(net, made, 5))


@case
def norm_over_the_batch_of_one(net):
    """Reduce, join and move the batch axis of 1, as files of litert-torch do."""
    x = net.x(1, 5, 4)
    y = _scored(net, x, 4)
    means = net.apply("MEAN", [y, net.ints(0, 2)], (5,), "ReducerOptions")
    column = net.apply("RESHAPE", [means, net.ints(1, 5, 1)], (1, 5, 1))
    away = net.apply("SUB", [y, column], (1, 5, 2), "SubOptions")
    moved = net.apply("TRANSPOSE", [away, net.ints(1, 0, 2)], (5, 1, 2))
    back = net.apply("RESHAPE", [moved, net.ints(1, 5, 2)], (1, 5, 2))
    options = {"Axis": 0}
    net.end(net.apply("CONCATENATION", [back, y], (2, 5, 2), "ConcatenationOptions", **options))


@case
def choices(net):
    """Select by comparisons of two tensors and of constants; ELU and softplus spelled out."""
    x = net.x(1, 4, 4, 3)
    shape = (1, 4, 4, 3)
    a = convolve(net, x, shape, net.floats(3, 3, 3, 3), net.floats(3))
    zero, twenty, one = (net.tensor((), "FLOAT32", data=value) for value in (0.0, 20.0, 1.0))

    def compare(name, first, second):
        made = net.tensor(shape, "BOOL")
        net.operator(name, [first, second], [made])
        return made

    exp = net.apply("EXP", [a], shape)
    small = net.apply("SUB", [exp, one], shape, "SubOptions")
    elu = net.apply("SELECT", [compare("GREATER_EQUAL", a, zero), a, small], shape)
    log = net.apply("LOG", [net.apply("ADD", [exp, one], shape, "AddOptions")], shape)
    soft = net.apply("SELECT_V2", [compare("LESS", twenty, a), a, log], shape)
    both = net.tensor(shape, "BOOL")
    net.operator(
        "LOGICAL_AND", [compare("LESS_EQUAL", elu, soft), compare("NOT_EQUAL", a, zero)], [both]
    )
    net.end(net.apply("SELECT_V2", [both, net.floats(3), x], shape))
    net.end(net.apply("MUL", [soft, net.apply("CAST", [both], shape)], shape, "MulOptions"))


@case
def a_token_before_the_sequence(net):
    x, token = net.x(1, 5, 4), net.floats(1, 2, 4)
    joined = net.apply("CONCATENATION", [token, x], (1, 7, 4), "ConcatenationOptions", Axis=1)
    net.end(_scored(net, joined, 4))


@case
def parts(net):
    x = net.x(1, 6, 8)
    first = _scored(net, x, 8)
    one, two = net.tensor((1, 6, 1), "FLOAT32"), net.tensor((1, 6, 1), "FLOAT32")
    net.operator("SPLIT", [net.ints(2, shape=()), first], [one, two], "SplitOptions", NumSplits=2)
    joined = net.apply("CONCATENATION", [two, x, one], (1, 6, 10), "ConcatenationOptions", Axis=-1)
    some, rest = net.tensor((1, 2, 10), "FLOAT32"), net.tensor((1, 4, 10), "FLOAT32")
    sizes = [joined, net.ints(2, -1), net.ints(1, shape=())]
    net.operator("SPLIT_V", sizes, [some, rest], "SplitVOptions", NumSplits=2)
    rows = [net.tensor((1, 10), "FLOAT32") for _ in range(4)]
    net.operator("UNPACK", [rest], rows, "UnpackOptions", Num=4, Axis=1)
    packed = net.apply("PACK", rows[::-1], (1, 10, 4), "PackOptions", ValuesCount=4, Axis=2)
    net.end(some, packed)


@case
def open_batch(net):
    """Reshape by a shape that the file computes, as Keras writes it for an open batch."""
    x = net.x(1, 4, 3, signature=[-1, 4, 3])
    y = _scored(net, x, 3)
    shape, one, whole = (net.tensor(n, "INT32") for n in ((3,), (), (2,)))
    net.operator("SHAPE", [y], [shape], "ShapeOptions", OutType=2)
    ends = [shape, net.ints(0), net.ints(1), net.ints(1)]
    net.operator("STRIDED_SLICE", ends, [one], "StridedSliceOptions", ShrinkAxisMask=1)
    net.operator("PACK", [one, net.ints(8, shape=())], [whole], "PackOptions", ValuesCount=2)
    net.end(net.apply("RESHAPE", [y, whole], (1, 8), "ReshapeOptions"))


@case
def dense_over_three_axes(net):
    """Compute the shapes of both RESHAPE as Keras does; the file's own shapes are wrong."""
    x = net.x(1, 4, 3, signature=[-1, 4, 3])
    shape = net.tensor((3,), "INT32")
    net.operator("SHAPE", [x], [shape], "ShapeOptions", OutType=2)

    def ints(name, inputs, size, options, **fields):
        made = net.tensor(size, "INT32")
        net.operator(name, inputs, [made], options, **fields)
        return made

    last = ints("GATHER", [shape, net.ints(2)], (1,), "GatherOptions")
    depth = ints("REDUCE_PROD", [last, net.ints(0)], (), "ReducerOptions")
    first = ints("GATHER", [shape, net.ints(0, 1)], (2,), "GatherOptions")
    rows = ints("REDUCE_PROD", [first, net.ints(0)], (), "ReducerOptions")
    flat = ints("PACK", [rows, depth], (2,), "PackOptions", ValuesCount=2)
    whole = ints("CONCATENATION", [first, net.ints(5)], (3,), "ConcatenationOptions")
    matrix = net.apply("RESHAPE", [x, flat], (1, 1))
    inputs = [matrix, net.floats(5, 3), -1]
    y = net.apply("FULLY_CONNECTED", inputs, (1, 5), "FullyConnectedOptions")
    net.end(net.apply("RESHAPE", [y, whole], (1, 4, 5)))


@case
def dilated_as_keras_writes_it(net):
    """Convolve each of 2 x 2 images of every second pixel."""
    x = net.x(1, 8, 9, 2)
    sides = [net.ints(2, 2), net.ints(2, 2, 2, 3, shape=(2, 2))]
    apart = net.apply("SPACE_TO_BATCH_ND", [x, *sides], (4, 6, 7, 2))
    how = {"Padding": "VALID", "FusedActivationFunction": "RELU"}
    made = convolve(net, apart, (4, 4, 5, 3), net.floats(3, 3, 3, 2), net.floats(3), **how)
    sides = [net.ints(2, 2), net.ints(0, 0, 0, 1, shape=(2, 2))]
    net.end(net.apply("BATCH_TO_SPACE_ND", [made, *sides], (1, 8, 9, 3)))


@case
def dilated_signal(net):
    x = net.x(1, 12, 3)
    apart = net.apply(
        "SPACE_TO_BATCH_ND", [x, net.ints(2), net.ints(2, 2, shape=(1, 2))], (2, 8, 3)
    )
    row = net.apply("EXPAND_DIMS", [apart, net.ints(-3, shape=())], (2, 1, 8, 3))
    made = convolve(net, row, (2, 1, 6, 4), net.floats(4, 1, 3, 3), net.floats(4), Padding="VALID")
    signal = net.apply("RESHAPE", [made, net.ints(-1, 6, 4)], (2, 6, 4))
    ends = [signal, net.ints(2), net.ints(1, 0, shape=(1, 2))]
    net.end(net.apply("BATCH_TO_SPACE_ND", ends, (1, 11, 4)))


@case
def lstm(net):
    x, inputs = net.x(1, 5, 3), [-1] * 24
    inputs[0] = x
    for gate in range(4):
        inputs[1 + gate], inputs[5 + gate] = net.floats(4, 3), net.floats(4, 4)
        inputs[12 + gate] = net.floats(4)
    inputs[18] = net.tensor((1, 4), "FLOAT32", variable=True)
    inputs[19] = net.tensor((1, 4), "FLOAT32", variable=True)
    kind, options = "UNIDIRECTIONAL_SEQUENCE_LSTM", "UnidirectionalSequenceLSTMOptions"
    made = net.apply(kind, inputs, (1, 5, 4), options, FusedActivationFunction="TANH")
    net.end(_scored(net, made, 4))


def _truth(net, name, first, second):
    made = net.tensor((), "BOOL")
    net.operator(name, [first, second], [made])
    return made


@case
def loop_of_steps(net):
    """Compute a recurrent layer whose loop replaces a row of its states, as Keras writes it."""
    x = net.x(1, 3, 2)
    rows = net.apply("RESHAPE", [x, net.ints(3, 1, 2)], (3, 1, 2))
    begun = [net.ints(0, shape=()), net.tensor((3, 1, 2), "FLOAT32", data=np.zeros((3, 1, 2)))]
    begun += [net.tensor((1, 2), "FLOAT32", data=np.zeros((1, 2))), rows]
    condition = net.graph()
    _body(net.graph())
    taken = [condition.tensor((), "INT32")]
    taken += [condition.tensor(shape, "FLOAT32") for shape in ((3, 1, 2), (1, 2), (3, 1, 2))]
    three = condition.tensor((), "INT32", data=3)
    condition.inputs, condition.outputs = taken, [_truth(condition, "LESS", taken[0], three)]
    ends = [net.tensor((), "INT32")]
    ends += [net.tensor(shape, "FLOAT32") for shape in ((3, 1, 2), (1, 2), (3, 1, 2))]
    net.operator("WHILE", begun, ends, "WhileOptions", CondSubgraphIndex=1, BodySubgraphIndex=2)
    whole = net.apply("RESHAPE", [ends[1], net.ints(1, 3, 2)], (1, 3, 2))
    net.end(_scored(net, whole, 2), ends[2])


def _body(graph):
    """Set the operators of one step: counter, states, last state and rows of the input."""
    shapes = ((3, 1, 2), (1, 2), (3, 1, 2))
    at, *more = graph.inputs = [
        graph.tensor((), "INT32"), *(graph.tensor(shape, "FLOAT32") for shape in shapes)
    ]  # fmt: skip
    rng = np.random.default_rng(5)

    def apply(name, inputs, shape, type="FLOAT32", options=None, **fields):
        made = graph.tensor(shape, type)
        graph.operator(name, inputs, [made], options, **fields)
        return made

    def ints(*numbers, shape=None):
        shape = (len(numbers),) if shape is None else shape
        return graph.tensor(shape, "INT32", data=np.reshape(numbers, shape))

    later = apply("ADD", [at, graph.tensor((), "INT32", data=1)], (), "INT32", "AddOptions")
    row = apply("GATHER", [more[2], at], (1, 2), options="GatherOptions")
    weights = graph.tensor((2, 2), "FLOAT32", data=rng.uniform(-1, 1, (2, 2)))
    again = apply(
        "FULLY_CONNECTED", [more[1], weights, -1], (1, 2), options="FullyConnectedOptions"
    )
    state = apply("TANH", [apply("ADD", [row, again], (1, 2), options="AddOptions")], (1, 2))
    begins, sizes = (
        apply("PACK", [each, *rest], (3,), "INT32", "PackOptions", ValuesCount=3)
        for each, rest in ((later, [ints(0, shape=())] * 2), (at, [ints(-1, shape=())] * 2))
    )
    before = apply("SLICE", [more[0], ints(0, 0, 0), sizes], (1, 1, 2))
    after = apply("SLICE", [more[0], begins, ints(-1, -1, -1)], (1, 1, 2))
    for cut in (before, after):
        graph.tensors[cut]["signature"] = [-1, 1, 2]
    one = apply("RESHAPE", [state, ints(1, 1, 2)], (1, 1, 2))
    options = {"options": "ConcatenationOptions", "Axis": 0}
    states = apply("CONCATENATION", [before, one, after], (3, 1, 2), **options)
    graph.outputs = [later, states, state, more[2]]


@case
def folded_constants(net):
    """Compute weights and an operand from constants."""
    net.changes["operators"] = 2  # the first version of BROADCAST_TO
    x = net.x(1, 5, 4)
    weights = net.apply("TRANSPOSE", [net.floats(4, 3), net.ints(1, 0)], (3, 4))
    scaled = net.apply("MUL", [weights, net.floats(4)], (3, 4), "MulOptions")
    how = {"KeepNumDims": True}
    y = net.apply("FULLY_CONNECTED", [x, scaled, -1], (1, 5, 3), "FullyConnectedOptions", **how)
    rows = net.apply("BROADCAST_TO", [net.floats(3), net.ints(1, 5, 3)], (1, 5, 3))
    net.end(net.apply("ADD", [y, rows], (1, 5, 3), "AddOptions"))


@case
def weights_of_bytes(net):
    """Multiply by integers with scales, which are floats after a DEQUANTIZE."""
    x = net.x(1, 5, 4)
    weights = net.apply("DEQUANTIZE", [net.bytes_of(3, 4)], (3, 4))
    how = {"KeepNumDims": True}
    net.end(
        net.apply("FULLY_CONNECTED", [x, weights, -1], (1, 5, 3), "FullyConnectedOptions", **how)
    )


@case
def channels_first(net):
    """Begin with channels first, as files from PyTorch do."""
    x = net.x(1, 3, 6, 5)
    image = net.apply("TRANSPOSE", [x, net.ints(0, 2, 3, 1)], (1, 6, 5, 3))
    y = convolve(net, image, (1, 6, 5, 4), net.floats(4, 3, 3, 3), net.floats(4))
    net.end(net.apply("TRANSPOSE", [y, net.ints(0, 3, 1, 2)], (1, 4, 6, 5)))


@case
def batch_of_four(net):
    """Flatten a fixed batch."""
    x = net.x(4, 3, 3, 2)
    y = convolve(net, x, (4, 3, 3, 2), net.floats(2, 3, 3, 2), net.floats(2))
    flat = net.apply("RESHAPE", [y, net.ints(4, 18)], (4, 18))
    inputs = [flat, net.floats(3, 18), -1]
    net.end(net.apply("FULLY_CONNECTED", inputs, (4, 3), "FullyConnectedOptions"))
