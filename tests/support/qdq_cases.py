"""Quantized .onnx files, one for each operator: onnx makes them, and ONNX Runtime has run them."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

TYPES = {"int8": TensorProto.INT8, "int16": TensorProto.INT16, "uint16": TensorProto.UINT16}


class File:
    """A file under construction: tensors of `dtype` in pairs, the weights of int8.

    coarse: what scales of tensors are multiplied by.
    """

    def __init__(self, seed, dtype, zero=0, coarse=1):
        self.coarse = coarse
        self.rng = np.random.default_rng(seed)
        self.dtype, self.zero = dtype, zero
        self.nodes, self.constants, self.inputs, self.outputs = [], {}, [], []

    def format(self, name, scale, zero=None, dtype=None):
        coarse = self.coarse if dtype is None else 1
        self.constants[f"{name}_s"] = np.array(scale * coarse, np.float32)
        zero = self.zero if zero is None else zero
        self.constants[f"{name}_z"] = np.array(zero, dtype or self.dtype)
        return [f"{name}_s", f"{name}_z"]

    def add(self, op, inputs, output, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [output], **attributes))
        return output

    def tensor(self, name, shape, scale):
        """Append an input with its quantization and dequantization."""
        self.inputs.append((name, shape))
        return self.pair(name, scale)

    def pair(self, name, scale, zero=None, dtype=None):
        form = self.format(name, scale, zero, dtype)
        self.add("QuantizeLinear", [name, *form], f"{name}_q")
        return self.add("DequantizeLinear", [f"{name}_q", *form], f"{name}_d")

    def end(self, name, scale, zero=None, dtype=None):
        """Append an output of integers."""
        form = self.format(name, scale, zero, dtype)
        self.outputs.append(self.add("QuantizeLinear", [name, *form], f"{name}_q"))

    def weights(self, name, shape, scales, axis=0, wide=False):
        kind, low = ("uint8", 0) if wide else ("int8", -127)
        self.constants[name] = self.rng.integers(low, low + 255, shape).astype(kind)
        self.constants[f"{name}_s"] = np.asarray(scales, np.float32)
        zeros = self.rng.integers(0, 200) if wide else 0
        self.constants[f"{name}_z"] = np.full(np.shape(scales), zeros, kind)
        self.add("DequantizeLinear", [name, f"{name}_s", f"{name}_z"], f"{name}_d", axis=axis)
        return f"{name}_d"

    def bias(self, name, count, steps):
        values = self.rng.integers(-(2**20), 2**20, count) // self.coarse
        self.constants[name] = values.astype(np.int32)
        self.constants[f"{name}_s"] = np.asarray(steps, np.float32)
        self.add("DequantizeLinear", [name, f"{name}_s"], f"{name}_d", axis=0)
        return f"{name}_d"

    def model(self):
        kinds = {"float": TensorProto.FLOAT, **TYPES}
        graph = helper.make_graph(
            self.nodes,
            "net",
            [helper.make_tensor_value_info(n, kinds["float"], s) for n, s in self.inputs],
            [onnx.ValueInfoProto(name=name) for name in self.outputs],
            [numpy_helper.from_array(array, name) for name, array in self.constants.items()],
        )
        opset = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=opset, ir_version=10)


def _layer(file, op, weights, steps, out, shape=(2, 6, 7, 5), wide=False, axis=0, **attributes):
    x = file.tensor("x", shape, 2e-4)
    scales = np.asarray(steps)
    w = file.weights("w", weights, scales, axis, wide)
    count = weights[1] if op == "ConvTranspose" else weights[-1 if op == "MatMul" else 0]
    b = file.bias("b", count, np.broadcast_to(2e-4 * file.coarse * scales, count))
    if op == "MatMul":
        file.add("Add", [file.add(op, [x, w], "p"), b], "y", **attributes)
    else:
        file.add(op, [x, w, b], "y", **attributes)
    file.end("y", out)


SCALES = [0.011, 0.02, 0.004, 0.03]


def conv(file, wide=False, strides=(1, 1)):
    scales = 0.011 if wide else SCALES
    _layer(file, "Conv", (4, 6, 3, 3), scales, 1e-3, wide=wide, pads=[1, 1, 1, 1], strides=strides)


def conv_relu(file):
    _layer(file, "Conv", (4, 6, 3, 3), SCALES, 1e-3)
    file.nodes[-2].output[0] = "c"
    file.nodes.insert(-1, helper.make_node("Relu", ["c"], ["y"]))


def grouped(file):
    _layer(file, "Conv", (4, 3, 3, 3), SCALES, 1e-3, group=2, pads=[0, 1, 1, 0])


def depthwise(file):
    scales = [*SCALES, 0.01, 0.007]
    _layer(file, "Conv", (6, 1, 3, 3), scales, 1e-3, group=6, pads=[1, 1, 1, 1], strides=[2, 2])


def transposed(file):
    _layer(file, "ConvTranspose", (6, 4, 3, 3), SCALES, 1e-3, axis=1, strides=[2, 2])


def gemm(file, channels=False, wide=False):
    scales = SCALES if channels else 0.011
    _layer(file, "Gemm", (4, 10), scales, 1e-3, shape=(3, 10), wide=wide, transB=1)


def matmul(file):
    _layer(file, "MatMul", (10, 4), 0.011, 1e-3, shape=(3, 10), axis=1)


def matmul_both(file):
    x, y = file.tensor("x", (2, 5, 8), 2e-4), file.tensor("z", (2, 8, 6), 1e-4)
    file.add("MatMul", [x, y], "y")
    file.end("y", 4e-4)


def both(file, op, out, scales=(2e-4, 3e-4)):
    x, y = (file.tensor(name, (2, 3, 4, 5), s) for name, s in zip("xz", scales))
    file.add(op, [x, y], "y")
    file.end("y", out)


def sum_relu(file):
    both(file, "Add", 4e-4)
    file.nodes[-2].output[0] = "c"
    file.nodes.insert(-1, helper.make_node("Relu", ["c"], ["y"]))


def spread(file):
    x = file.tensor("x", (2, 3, 4, 5), 2e-4)
    file.constants["k"] = file.rng.integers(0, 30000, (3, 1, 1)).astype(file.dtype)
    y = file.add("DequantizeLinear", ["k", *file.format("k", 1e-4)], "k_d")
    file.add("Mul", [x, y], "y")
    file.end("y", 3e-4)


def one(file, op, out, zero=None, scale=2e-4, shape=(2, 3, 4, 5), constants=(), **attributes):
    x = file.tensor("x", shape, scale)
    names = [f"c{i}" for i in range(len(constants))]
    file.constants.update(zip(names, constants))
    file.add(op, [x, *names], "y", **attributes)
    file.end("y", out, zero)


def concat(file):
    x, y = file.tensor("x", (2, 3, 4, 5), 2e-4), file.tensor("z", (2, 2, 4, 5), 3e-4)
    file.add("Concat", [x, y], "y", axis=1)
    file.end("y", 3e-4)


def split(file):
    x = file.tensor("x", (2, 5, 4, 3), 2e-4)
    file.constants["parts"] = np.array([2, 3], np.int64)
    file.nodes.append(helper.make_node("Split", [x, "parts"], ["y", "z"], axis=1))
    file.end("y", 2e-4)
    file.end("z", 3e-4)


def arg_max(file, op="ArgMax"):
    x = file.tensor("x", (2, 7), 2e-4)
    file.outputs.append(file.add(op, [x], "y", axis=1, keepdims=0))


def mixed(file):
    """Append a tensor of 8 bits that is converted to 16 bits and multiplied."""
    x = file.tensor("x", (2, 3, 4, 5), 2e-4)
    file.inputs.append(("z", (2, 3, 4, 5)))
    file.add("Mul", [x, file.pair("z", 0.05, 3, "int8")], "y")
    file.end("y", 3e-4)


def net(file):
    """Append a convolution, a depthwise one, a residual sum, a pool and a dense layer."""
    x = file.tensor("x", (2, 3, 8, 8), 1e-4)
    w, b = file.weights("w", (4, 3, 3, 3), SCALES), file.bias("b", 4, 1e-4 * np.array(SCALES))
    file.add("Relu", [file.add("Conv", [x, w, b], "c", pads=[1, 1, 1, 1])], "r")
    first = file.pair("r", 6e-4)
    v, k = file.weights("v", (4, 1, 3, 3), SCALES), file.bias("k", 4, 6e-4 * np.array(SCALES))
    file.add("Conv", [first, v, k], "d", pads=[1, 1, 1, 1], group=4)
    file.add("Add", [first, file.pair("d", 1e-3)], "a")
    file.add("GlobalAveragePool", [file.pair("a", 1e-3)], "g")
    file.add("Flatten", [file.pair("g", 5e-4)], "f", axis=1)
    m, n = file.weights("m", (5, 4), 0.01), file.bias("n", 5, 5e-6)
    file.add("Gemm", [file.pair("f", 5e-4), m, n], "l", transB=1)
    file.add("Softmax", [file.pair("l", 2e-4)], "y", axis=-1)
    file.end("y", 1 / 65535 if file.dtype == "uint16" else 1 / 32767, 0)


def integers(file, op, shape=(2, 3, 4, 5), count=1, out=0.04, domain="com.microsoft", **attributes):
    """Append an operator on integers: tensors with their formats, then the output's format."""
    given = []
    for name, scale in zip("xz"[:count], (0.05, 0.03)):
        file.inputs.append((name, shape))
        form = file.format(name, scale, dtype=file.dtype)
        given += [file.add("QuantizeLinear", [name, *form], f"{name}_q"), *form]
    end = file.format("y", out, dtype=file.dtype)
    named = [*end, *given] if op == "QLinearConcat" else [*given, *end]
    file.outputs.append(file.add(op, named, "y_q", domain=domain, **attributes))


def integer_layer(file, op, shape, weights, domain="", **attributes):
    """Append a layer on integers, with weights for each output channel and an optional bias."""
    file.inputs.append(("x", shape))
    form, end = file.format("x", 0.05, dtype=file.dtype), file.format("y", 2.0, dtype=file.dtype)
    x = file.add("QuantizeLinear", ["x", *form], "x_q")
    file.constants["w"] = file.rng.integers(-127, 128, weights).astype(np.int8)
    file.constants["w_s"] = np.array(SCALES if op == "QLinearConv" else 0.01, np.float32)
    file.constants["w_z"] = np.zeros(np.shape(file.constants["w_s"]), np.int8)
    file.constants["b"] = file.rng.integers(-5000, 5000, 4).astype(np.int32)
    middle = [x, *form, "w", "w_s", "w_z"]
    orders = {"QLinearConv": [*middle, *end, "b"], "QGemm": [*middle, "b", *end]}
    made = file.add(op, orders.get(op, [*middle, *end]), "y_q", domain=domain, **attributes)
    file.outputs.append(made)


_SLOPES = np.array([0.1, 0.25, -0.5], np.float32).reshape(3, 1, 1)
_LONG = np.int64

#: Name -> what makes the file, of an empty one.
OPERATORS = {
    "conv": conv,
    "conv_stride": lambda file: conv(file, strides=(2, 2)),
    "conv_wide": lambda file: conv(file, wide=True),
    "conv_relu": conv_relu,
    "grouped": grouped,
    "depthwise": depthwise,
    "gemm": gemm,
    "gemm_channels": lambda file: gemm(file, channels=True),
    "gemm_wide": lambda file: gemm(file, wide=True),
    "matmul": matmul,
    "matmul_both": matmul_both,
    "add": lambda file: both(file, "Add", 4e-4),
    "add_relu": sum_relu,
    "sub": lambda file: both(file, "Sub", 4e-4),
    "mul": lambda file: both(file, "Mul", 5e-4),
    "div": lambda file: both(file, "Div", 1e-2),
    "max": lambda file: both(file, "Max", 3e-4),
    "min": lambda file: both(file, "Min", 3e-4),
    "spread": spread,
    "maxpool": lambda file: one(file, "MaxPool", 2e-4, kernel_shape=[2, 2], strides=[2, 2]),
    "avgpool": lambda file: one(file, "AveragePool", 2e-4, kernel_shape=[2, 3], pads=[0, 1, 0, 1]),
    "avgpool_all": lambda file: one(
        file, "AveragePool", 1e-4, kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1
    ),
    "global": lambda file: one(file, "GlobalAveragePool", 1e-4),
    "mean": lambda file: one(
        file, "ReduceMean", 1e-4, constants=[np.array([1], _LONG)], keepdims=0
    ),
    "softmax": lambda file: one(file, "Softmax", 1 / 32767, shape=(4, 9), axis=-1),
    "sigmoid": lambda file: one(file, "Sigmoid", 1 / 32767),
    "tanh": lambda file: one(file, "Tanh", 1 / 32767),
    "hardswish": lambda file: one(file, "HardSwish", 2e-4),
    "hardsigmoid": lambda file: one(file, "HardSigmoid", 1 / 32767, alpha=0.2, beta=0.5),
    "leaky": lambda file: one(file, "LeakyRelu", 2e-4, alpha=0.1),
    "elu": lambda file: one(file, "Elu", 2e-4, alpha=1.0),
    "relu": lambda file: one(file, "Relu", 1.5e-4),
    "clip": lambda file: one(
        file, "Clip", 2e-4, constants=[np.array(-1, np.float32), np.array(2, np.float32)]
    ),
    "prelu": lambda file: one(file, "PRelu", 2e-4, constants=[_SLOPES]),
    "exp": lambda file: one(file, "Exp", 1e-2),
    "softplus": lambda file: one(file, "Softplus", 3e-4),
    "abs": lambda file: one(file, "Abs", 2e-4),
    "resize": lambda file: one(
        file,
        "Resize",
        2e-4,
        constants=[np.zeros(0, np.float32), np.array([1, 1, 2, 2], np.float32)],
        mode="linear",
    ),
    "nearest": lambda file: one(
        file,
        "Resize",
        2e-4,
        constants=[np.zeros(0, np.float32), np.array([1, 1, 2, 2], np.float32)],
        mode="nearest",
        coordinate_transformation_mode="asymmetric",
        nearest_mode="floor",
    ),
    "pad": lambda file: one(
        file, "Pad", 2e-4, constants=[np.array([0, 0, 1, 2, 0, 0, 0, 1], _LONG)]
    ),
    "slice": lambda file: one(
        file,
        "Slice",
        2e-4,
        constants=[np.array(n, _LONG) for n in ([1, 0], [3, 5], [2, 3], [1, 2])],
    ),
    "transpose": lambda file: one(file, "Transpose", 2e-4, perm=[0, 2, 3, 1]),
    "reshape": lambda file: one(file, "Reshape", 2e-4, constants=[np.array([2, -1, 4], _LONG)]),
    "concat": concat,
    "split": split,
    "argmax": arg_max,
    "argmin": lambda file: arg_max(file, "ArgMin"),
    "mixed": mixed,
    "net": net,
    "line_conv": lambda file: _layer(
        file, "Conv", (4, 6, 3), SCALES, 1e-3, shape=(2, 6, 9), pads=[1, 2], strides=[2]
    ),
    "line_depthwise": lambda file: _layer(
        file, "Conv", (4, 1, 5), SCALES, 1e-3, shape=(2, 4, 9), group=4, dilations=[2]
    ),
    "line_pool": lambda file: one(
        file, "MaxPool", 2e-4, shape=(2, 3, 9), kernel_shape=[3], strides=[2], pads=[1, 1]
    ),
    "line_mean": lambda file: one(file, "GlobalAveragePool", 1e-4, shape=(2, 3, 9)),
    "transposed": transposed,
}

#: Cases with a recorded file of 8 bits.
_EIGHT = (
    "gemm_wide",
    "conv_wide",
    "mean",
    "prelu",
    "split",
    "argmax",
    "argmin",
    "hardsigmoid",
    "line_conv",
    "line_mean",
)

#: Operators on integers, which ONNX Runtime has of 8 bits.
QLINEAR = {
    "QLinearConv": lambda f: integer_layer(
        f, "QLinearConv", (2, 3, 6, 7), (4, 3, 3, 3), pads=[1, 1, 1, 1]
    ),
    "QLinearMatMul": lambda f: integer_layer(f, "QLinearMatMul", (3, 10), (10, 4)),
    "QGemm": lambda f: integer_layer(f, "QGemm", (3, 10), (4, 10), "com.microsoft", transB=1),
    "QLinearAdd": lambda f: integers(f, "QLinearAdd", count=2),
    "QLinearMul": lambda f: integers(f, "QLinearMul", count=2, out=0.2),
    "QLinearConcat": lambda f: integers(f, "QLinearConcat", count=2, axis=1),
    "QLinearAveragePool": lambda f: integers(
        f, "QLinearAveragePool", kernel_shape=[2, 2], strides=[2, 2]
    ),
    "QLinearGlobalAveragePool": lambda f: integers(f, "QLinearGlobalAveragePool", out=0.02),
    "QLinearSigmoid": lambda f: integers(f, "QLinearSigmoid", out=1 / 256),
    "QLinearLeakyRelu": lambda f: integers(f, "QLinearLeakyRelu", alpha=0.1),
    "QLinearSoftmax": lambda f: integers(
        f, "QLinearSoftmax", (4, 9), out=1 / 256, axis=-1, opset=13
    ),
    "QLinearSoftmax_fine": lambda f: integers(
        f, "QLinearSoftmax", (4, 9), out=1 / 900, axis=-1, opset=13
    ),
}


def cases():
    """Name -> file."""
    found = {}
    for number, (name, make) in enumerate(OPERATORS.items()):
        kinds = {"s16": ("int16", 0), "u16": ("uint16", 32768), "a16": ("uint16", 31000)}
        kinds["u8"] = ("uint8", 120)
        for kind, (dtype, zero) in kinds.items():
            if kind == "u8" and name not in _EIGHT:
                continue
            if kind == "u16" and name not in ("conv", "add", "net"):
                continue
            file = File(number, dtype, zero, 1 if dtype != "uint8" else 256)
            make(file)
            found[f"{kind}_{name}"] = file
    for number, (name, make) in enumerate(QLINEAR.items(), len(found)):
        found[name] = File(number, "uint8", 131)
        make(found[name])
    return found


def inputs(file, seed=7):
    """Return floats for a file over the range of its formats, and slightly outside."""
    rng, found = np.random.default_rng(seed), {}
    for name, shape in file.inputs:
        scale, zero = file.constants[f"{name}_s"], file.constants[f"{name}_z"]
        ends = np.iinfo(zero.dtype)
        low, high = ((end - int(zero)) * float(scale) for end in (ends.min, ends.max))
        found[name] = rng.uniform(1.02 * low, 1.02 * high, shape).astype(np.float32)
    return found
