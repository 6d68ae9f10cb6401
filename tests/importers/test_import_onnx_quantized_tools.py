"""Quantized .onnx files as tools write them: host steps, attributes, bounds, narrow types.

Files hold scales in float32, and these tests write them in float64, so values agree to 1e-6 and not
to the bit. Neighboring integers are a scale apart, which is far more.
"""

import dataclasses
import itertools
import zipfile

import numpy as np
import pytest

import qemu_nn
from qemu_nn.errors import Error, ModelError
from qemu_nn.firmware.preprocess import preprocess

onnx = pytest.importorskip("onnx")
reference = pytest.importorskip("onnx.reference")
TensorProto, helper, numpy_helper = onnx.TensorProto, onnx.helper, onnx.numpy_helper

SCALE, ZERO = np.float32(0.05), 3


def node(op, inputs, outputs, **attributes):
    """Return a node of names; two spaces leave out an input."""
    return helper.make_node(op, inputs.split(" ") if inputs else [], outputs.split(), **attributes)


def pair(source, target, zero="z", scale="s", **attributes):
    """Return the two nodes that quantize and dequantize a tensor."""
    form = f"{scale} {zero}".strip()
    return [
        node("QuantizeLinear", f"{source} {form}", f"{target}_q", **attributes),
        node("DequantizeLinear", f"{target}_q {form}", target),
    ]


@pytest.fixture
def load(tmp_path):
    """Return the network of a file of these nodes, from x [n, 4] to y if not told otherwise."""

    def loaded(nodes, shape=("n", 4), inputs=("x",), outputs=("y",), opset=21, **constants):
        given = {"s": np.array(SCALE), "z": np.array(ZERO, np.int8), **constants}
        tensors = [
            each if isinstance(each, TensorProto) else numpy_helper.from_array(each, name)
            for name, each in given.items()
        ]
        graph = helper.make_graph(
            nodes,
            "net",
            [
                helper.make_tensor_value_info(
                    *(name, TensorProto.FLOAT, shape[name] if isinstance(shape, dict) else shape)
                )
                for name in inputs
            ],
            [onnx.ValueInfoProto(name=name) for name in outputs],
            tensors,
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
        onnx.save(model, tmp_path / "net.onnx")
        return qemu_nn.load(tmp_path / "net.onnx")

    return loaded


def samples(*shape):
    return np.random.default_rng(0).uniform(-5, 5, (6, *shape)).astype(np.float32)


def through(x, low=-128, high=127, zero=ZERO, scale=SCALE):
    """Return x rounded to integers, as floats."""
    codes = np.clip(np.rint(x / scale) + zero, low, high)
    return ((codes - zero) * scale).astype(np.float32)


# ---- the type of integers ----


@pytest.mark.parametrize(
    ("kind", "low", "high"),
    [("INT8", -128, 127), ("UINT8", 0, 255), ("INT16", -(2**15), 2**15 - 1), ("UINT4", 0, 15)],
)
def test_output_dtype_names_the_type_where_there_is_no_zero_point(load, kind, low, high):
    network = load(pair("x", "y", "", output_dtype=getattr(TensorProto, kind)))
    x = samples(4)
    np.testing.assert_allclose(network.predict(x), through(x, low, high, 0), rtol=1e-6)


def test_integers_without_zero_point_and_type_have_no_sign(load):
    x = samples(4)
    want = through(x, 0, 255, 0)
    np.testing.assert_allclose(load(pair("x", "y", "")).predict(x), want, rtol=1e-6)


def test_a_type_that_is_not_the_zero_point_s_is_refused(load):
    with pytest.raises(ModelError, match="output_dtype is int16, but its zero point is int8"):
        load(pair("x", "y", output_dtype=TensorProto.INT16))


@pytest.mark.parametrize("kind", ["UINT4", "INT4", "UINT2", "INT2"])
@pytest.mark.parametrize("raw", [True, False])
def test_weights_of_less_than_a_byte_are_the_numbers_that_the_file_packs(load, kind, raw):
    bits, signed = int(kind[-1]), kind[0] == "I"
    low = -(2 ** (bits - 1)) if signed else 0
    numbers = np.random.default_rng(1).integers(low, low + 2**bits, (3, 5))
    fields = numbers.reshape(-1) % 2**bits
    fields = np.append(fields, [0] * (-len(fields) % (8 // bits))).reshape(-1, 8 // bits)
    packed = (fields << np.arange(0, 8, bits)).sum(1).astype(np.uint8)
    held = TensorProto(name="w", data_type=getattr(TensorProto, kind), dims=numbers.shape)
    if raw:
        held.raw_data = packed.tobytes()
    else:
        held.int32_data.extend(packed.tolist())
    nodes = [
        *pair("x", "a"),
        node("DequantizeLinear", "w s", "b"),
        node("Gemm", "a b", "c", transB=1),
        *pair("c", "y"),
    ]
    network = load(nodes, ("n", 5), w=held)
    sums = through(samples(5)) @ (numbers * SCALE).T
    got = network.predict(samples(5))
    assert np.abs(got - through(sums)).max() <= 1.01 * SCALE


# ---- attributes ----


@pytest.mark.parametrize(
    ("nodes", "why"),
    [
        (pair("x", "y", saturate=0), "its saturate is 0"),
        (pair("x", "y", block_size=2), "a scale for each block"),
        ([*pair("x", "a"), node("Relu", "a", "b", alpha=2.0), *pair("b", "y")], "'alpha' is 2.0"),
        (
            [*pair("x", "a"), node("ArgMax", "a", "y", axis=1, select_last_index=1)],
            "the last of equal",
        ),
        (
            [*pair("x", "a"), node("Gelu", "a", "b", approximate="best"), *pair("b", "y")],
            "'approximate' is 'best'",
        ),
        ([*pair("x", "a"), node("Tanh", "a z", "b"), *pair("b", "y")], "has an input 1, 'z'"),
    ],
)
def test_what_a_converter_does_not_read_is_refused(load, nodes, why):
    with pytest.raises(ModelError, match=why):
        load(nodes)


@pytest.mark.parametrize(
    ("key", "value"), [("output_dtype", TensorProto.FLOAT16), ("precision", TensorProto.DOUBLE)]
)
def test_arithmetic_in_other_floats_is_refused(load, key, value):
    nodes = pair("x", "y")
    at = 1 if key == "output_dtype" else 0
    nodes[at].attribute.append(helper.make_attribute(key, value))
    with pytest.raises(ModelError, match=f"its {key} is {value}"):
        load(nodes, opset=23)


def test_gelu_by_a_hyperbolic_tangent_has_its_own_table(load):
    x = samples(4)
    real = through(x).astype(float)
    cubic = np.sqrt(2 / np.pi) * (real + 0.044715 * real**3)
    want = through(0.5 * real * (1 + np.tanh(cubic)), scale=np.float32(0.002))
    nodes = [
        *pair("x", "a"),
        node("Gelu", "a", "b", approximate="tanh"),
        *pair("b", "y", scale="fine"),
    ]
    network = load(nodes, fine=np.array(0.002, np.float32))
    np.testing.assert_allclose(network.predict(x), want, atol=1e-6)


def test_softmax_before_operator_set_13_is_of_all_axes_from_its_own_on(load):
    nodes = [*pair("x", "a"), node("Softmax", "a", "b"), *pair("b", "y", "low", "fine")]
    fine = {"fine": np.array(1 / 256, np.float32), "low": np.array(-128, np.int8)}
    network = load(nodes, ("n", 3, 4), opset=12, **fine)
    x = samples(3, 4)
    powers = np.exp(through(x))
    want = powers / powers.sum((1, 2), keepdims=True)
    assert np.abs(network.predict(x) - want).max() < 1.5 / 256


def test_a_window_that_begins_after_the_image_is_none(load):
    """Count windows with ceil_mode: rows 0 to 4 and padding of 1 hold the starts -1, 2; not 5."""
    pool = node("MaxPool", "a", "b", kernel_shape=[2, 2], strides=[3, 3], pads=[1, 1, 1, 1])
    pool.attribute.append(helper.make_attribute("ceil_mode", 1))
    network = load([*pair("x", "a"), pool, *pair("b", "y")], ("n", 1, 5, 5))
    assert network.predict(samples(1, 5, 5)).shape == (6, 1, 2, 2)


# ---- bounds of integers ----


def clipped(low, high, zero="z"):
    return [
        node("QuantizeLinear", f"x s {zero}", "q"),
        node("Clip", f"q {low} {high}".strip(), "c"),
        node("DequantizeLinear", f"c s {zero}", "y"),
    ]


BOUNDS = {"low": np.array(-5, np.int8), "high": np.array(20, np.int8)}


@pytest.mark.parametrize(("low", "high"), [("low", "high"), ("low", ""), ("", "")])
def test_a_clip_between_the_pair_bounds_the_integers(load, low, high):
    x = samples(4)
    network = load(clipped(low, high), **BOUNDS)
    want = through(x, -5 if low else -128, 20 if high else 127)
    np.testing.assert_allclose(network.predict(x), want, rtol=1e-6)


def test_bounds_of_a_layer_are_the_limits_of_its_call(load):
    weights = np.eye(4, dtype=np.int8) * 20
    nodes = [
        *pair("x", "a"),
        node("DequantizeLinear", "w s", "b"),
        node("Gemm", "a b", "g"),
        node("Relu", "g", "r"),
        node("QuantizeLinear", "r s z", "q"),
        node("Clip", "q low high", "c"),
        node("DequantizeLinear", "c s z", "y"),
    ]
    network = load(nodes, w=weights, **BOUNDS)
    assert len(network.graph.nodes) == 1
    x = samples(4)
    want = through(np.maximum(through(x), 0), 3, 20)
    np.testing.assert_allclose(network.predict(x), want, atol=1e-6)


def test_weights_are_rounded_and_bounded_as_the_file_says(load):
    """Brevitas writes float weights, quantized for each channel, within bounds, in the file."""
    weights = np.random.default_rng(2).uniform(-1, 1, (3, 4)).astype(np.float32)
    scales = np.array([0.01, 0.02, 0.004], np.float32)
    nodes = [
        *pair("x", "a"),
        node("QuantizeLinear", "w scales zeros", "q", axis=0),
        node("Clip", "q low high", "c"),
        node("DequantizeLinear", "c scales zeros", "b", axis=0),
        node("Gemm", "a b", "g", transB=1),
        *pair("g", "y"),
    ]
    zeros = np.zeros(3, np.int8)
    network = load(nodes, w=weights, scales=scales, zeros=zeros, **BOUNDS)
    codes = np.clip(np.rint(weights / scales[:, None]), -5, 20)
    kept = next(iter(array for array in network.graph.arrays.values() if array.ndim == 2))
    np.testing.assert_array_equal(kept, codes)


def test_a_constant_may_be_read_with_another_scale_than_it_was_rounded_with(load):
    nodes = [
        *pair("x", "a"),
        node("QuantizeLinear", "w s z", "q"),
        node("Reshape", "q flat", "r"),
        node("DequantizeLinear", "r fine low", "b"),
        node("Mul", "a b", "c"),
        *pair("c", "y"),
    ]
    weights = np.array([[0.5, -1], [2, 3]], np.float32)
    held = {"w": weights, "flat": np.array([-1]), "fine": np.array(0.01, np.float32)}
    network = load(nodes, **held, low=np.array(-7, np.int8))
    x = samples(4)
    real = (np.rint(weights / SCALE).reshape(-1) + ZERO + 7) * 0.01
    assert np.abs(network.predict(x) - through(through(x) * real)).max() <= 1.01 * SCALE


def test_inputs_of_different_batches_are_refused(load):
    nodes = [*pair("x", "a"), *pair("w", "b"), node("Add", "a b", "c"), *pair("c", "y")]
    with pytest.raises(ModelError, match="batches of 2 and 1"):
        load(nodes, {"x": (2, 4), "w": (1, 4)}, inputs=("x", "w"))


# ---- constants in the file's nodes, and floats that move ----


def test_nodes_of_constants_are_constants_everywhere(load):
    def constant(name, array):
        return node("Constant", "", name, value=numpy_helper.from_array(array))

    nodes = [
        constant("one", np.array(0.05, np.float32)),
        constant("nil", np.array(3, np.int8)),
        *pair("x", "a", "nil", "one"),
        node("Constant", "", "shape", value_ints=[0, 2, 2]),
        node("Reshape", "a shape", "y"),
    ]
    x = samples(4)
    want = through(x).reshape(6, 2, 2)
    np.testing.assert_allclose(load(nodes).predict(x), want, rtol=1e-6)


@pytest.mark.parametrize("curve", ["Elu", "Softplus", "HardSigmoid", "Abs", "Sigmoid"])
def test_numbers_may_move_between_a_layer_and_its_quantization(load, curve):
    moved = [
        *pair("x", "a"),
        node(curve, "a", "b"),
        node("Transpose", "b", "c", perm=[0, 2, 3, 1]),
        node("Flatten", "c", "d"),
        *pair("d", "y"),
    ]
    first = [
        *pair("x", "a"),
        node(curve, "a", "b"),
        *pair("b", "c"),
        node("Transpose", "c", "d", perm=[0, 2, 3, 1]),
        node("Flatten", "d", "y"),
    ]
    x = samples(3, 4, 5)
    shape = ("n", 3, 4, 5)
    np.testing.assert_array_equal(load(moved, shape).predict(x), load(first, shape).predict(x))


def test_the_largest_of_a_window_may_be_taken_before_the_rounding(load):
    def after(pool, first):
        slopes = [node("PRelu", "a slope", "b")]
        return [*pair("x", "a"), *slopes, *(pool if first else [*pair("b", "c"), *pool])]

    pool = node("MaxPool", "b", "p", kernel_shape=[2, 2], strides=[2, 2])
    later = node("MaxPool", "c", "y", kernel_shape=[2, 2], strides=[2, 2])
    slope = np.array([0.1, 0.2, 0.4], np.float32).reshape(3, 1, 1)
    x, shape = samples(3, 4, 4), ("n", 3, 4, 4)
    got = load([*after([pool], True), *pair("p", "y")], shape, slope=slope).predict(x)
    want = load(after([later], False), shape, slope=slope).predict(x)
    np.testing.assert_array_equal(got, want)


# ---- operators against the library's own evaluator ----

IMAGE = (4, 6, 6)
RNG = np.random.default_rng(7)
WEIGHTS = {
    "w": RNG.integers(-90, 90, (4, 3, 3, 3)).astype(np.int8),
    "ws": np.array(0.004, np.float32),
    "channels": RNG.uniform(0.5, 2, (4, 1, 1)).astype(np.float32),
    "mask": np.arange(36).reshape(6, 6) % 5 < 2,
    "row": RNG.uniform(0.5, 2, 6).astype(np.float32),
    "line": RNG.uniform(0.5, 2, 4).astype(np.float32),
    "half": np.array(0.5, np.float32),
    "two": np.array(2, np.float32),
    "rest": np.array(10, np.float32),
    "float": RNG.uniform(-0.4, 0.4, (4, 3, 3, 3)).astype(np.float32),
    "grouped": RNG.uniform(-0.4, 0.4, (6, 2, 3, 3)).astype(np.float32),
    "matrix": RNG.uniform(-0.4, 0.4, (6, 5)).astype(np.float32),
    "flat": np.array([0, -1], np.int64),
    "around": np.array([0, 0, 1, 2, 0, 0, 2, 1], np.int64),
    "last": np.array([-1], np.int64),
    "middle": np.array([2, 3], np.int64),
    "nine": np.array([9], np.int64),
    "square": RNG.integers(-90, 90, (3, 4, 3, 3)).astype(np.int8),
    "five": np.array([0.004, 0.001, 0.002, 0.003, 0.005], np.float32),
    "two_axis": np.array(2, np.int64),
    "wide": RNG.integers(-3000, 3000, (3, 4, 3, 3)).astype(np.int16),
    "fine": np.array(1e-4, np.float32),
    "picks": np.array([5, 0, 0, -1], np.int64),
    "pick": np.array(2, np.int64),
    "whole": np.array([1, 4, 6, 3], np.int64),
    "tiles": np.array([1, 2, 1, 3], np.int64),
    "tall": RNG.integers(-90, 90, (144, 5)).astype(np.int8),
    "one": np.array([0.4], np.float32),
    "scales": np.array([1, 1, 1.5, 2], np.float32),
    "sizes": np.array([1, 4, 9, 12], np.int64),
    "two_sizes": np.array([4, 7], np.int64),
}


def deconv(**attributes):
    return [node("DequantizeLinear", "w ws", "b"), node("ConvTranspose", "a b", "c", **attributes)]


WINDOW = {"kernel_shape": [3, 2], "strides": [2, 2]}


#: Nodes from a to c, by their meaning.
OPERATORS = {
    "mish": [node("Softplus", "a", "p"), node("Tanh", "p", "t"), node("Mul", "a t", "c")],
    "gelu in parts": [
        node("Div", "a two", "p"),
        node("Erf", "p", "q"),
        node("Add", "q half", "r"),
        node("Mul", "a r", "s1"),
        node("Mul", "s1 half", "c"),
    ],
    "gelu": [node("Gelu", "a", "c")],
    "gelu by tanh": [node("Gelu", "a", "c", approximate="tanh")],
    "an error function": [node("Erf", "a", "c")],
    "a choice by one tensor": [node("Greater", "a half", "p"), node("Where", "p a two", "c")],
    "a choice by a product": [
        node("Mul", "a channels", "p"),
        node("LessOrEqual", "p a", "q"),
        node("Equal", "a half", "r"),
        node("Not", "r", "s1"),
        node("And", "q s1", "t"),
        node("Where", "t p half", "c"),
    ],
    "a masked tensor": [node("Where", "mask a half", "c")],
    "a choice of either": [
        node("Less", "a channels", "p"),
        node("GreaterOrEqual", "a two", "q"),
        node("Or", "p q", "r"),
        node("Where", "r channels a", "c"),
    ],
    "a number less a tensor": [node("Sub", "half a", "c")],
    "a number over a tensor": [node("Add", "a rest", "p"), node("Div", "two p", "c")],
    "the larger of two": [node("Max", "a half", "c")],
    "a square": [node("Pow", "a two", "p"), node("Mul", "p half", "c")],
    "a clipped curve": [node("Elu", "a", "p"), node("Clip", "p half two", "c")],
    "a product for each channel": [node("Mul", "a channels", "c")],
    "a difference and a quotient": [node("Sub", "a channels", "p"), node("Div", "p row", "c")],
    "layer normalization": [node("LayerNormalization", "a row row", "c")],
    "layer normalization of images": [node("LayerNormalization", "a channels", "c", axis=1)],
    "layer normalization in parts": [
        node("ReduceMean", "a last", "m"),
        node("Sub", "a m", "d"),
        node("Pow", "d two", "p"),
        node("ReduceMean", "p last", "v"),
        node("Add", "v half", "e"),
        node("Sqrt", "e", "r"),
        node("Div", "d r", "c"),
    ],
    "instance normalization": [node("InstanceNormalization", "a line line", "c")],
    "group normalization": [node("GroupNormalization", "a line line", "c", num_groups=2)],
    "a norm": [node("ReduceL2", "a last", "c", keepdims=0)],
    "a sum": [node("ReduceSum", "a last", "p"), node("Mul", "p half", "c")],
    "sums of integers": [node("ReduceSum", "a middle", "c", keepdims=0)],
    "the largest": [node("ReduceMax", "a middle", "c")],
    "the least": [node("ReduceMin", "a last", "c", keepdims=0)],
    "means": [node("ReduceMean", "a middle", "c", keepdims=0)],
    "blocks, depth first": [node("DepthToSpace", "a", "c", blocksize=2)],
    "blocks, columns first": [node("DepthToSpace", "a", "c", blocksize=2, mode="CRD")],
    "depth of blocks": [node("SpaceToDepth", "a", "c", blocksize=3)],
    "reflection": [node("Pad", "a around", "c", mode="reflect")],
    "edges": [node("Pad", "a around", "c", mode="edge")],
    "wrapping": [node("Pad", "a around", "c", mode="wrap")],
    "a transposed convolution": deconv(strides=[2, 2], pads=[1, 1, 1, 1]),
    "one with more rows": deconv(strides=[2, 2], pads=[1, 1, 1, 1], output_padding=[1, 1]),
    "one with steps of three": deconv(strides=[3, 3], pads=[1, 2, 0, 1], output_padding=[2, 1]),
    "one with gaps": deconv(dilations=[2, 1], strides=[1, 2], pads=[0, 1, 2, 0]),
    "one that keeps the sides": deconv(strides=[2, 2], auto_pad="SAME_UPPER"),
    "a convolution in floats": [node("Conv", "a grouped", "c", group=2, pads=[1, 1, 1, 1])],
    "a transposed one in floats": [
        node("ConvTranspose", "a float", "c", strides=[2, 2], pads=[1, 1, 1, 1]),
    ],
    "a product of matrices in floats": [node("MatMul", "a matrix", "p"), node("Relu", "p", "c")],
    "elements by their places": [node("Gather", "a picks", "c", axis=3)],
    "one element": [node("Gather", "a pick", "c", axis=1)],
    "a larger shape": [node("ReduceMax", "a last", "p"), node("Expand", "p whole", "c")],
    "tiles": [node("Tile", "a tiles", "c")],
    "batch normalization": [node("BatchNormalization", "a line line line line", "c")],
    "the logarithm of a softmax": [node("LogSoftmax", "a", "c", axis=2)],
    "a softmax of channels": [node("Softmax", "a", "c", axis=1)],
    "a rectified mean": [node("ReduceMean", "a last", "p"), node("Relu", "p", "c")],
    "a scaled product": [
        node("Flatten", "a", "p"),
        node("DequantizeLinear", "tall ws", "b"),
        node("Gemm", "p b one", "c", alpha=0.5, beta=3.0),
    ],
    "averages within a border": [
        node("AveragePool", "a", "c", **WINDOW, count_include_pad=1, auto_pad="SAME_UPPER"),
    ],
    "rectified averages of what is there": [
        node("AveragePool", "a", "p", **WINDOW, pads=[1, 1, 1, 1]),
        node("Relu", "p", "q"),
        node("Mul", "q half", "c"),
    ],
    "averages of what is there": [node("AveragePool", "a", "c", **WINDOW, pads=[1, 1, 1, 1])],
    "pixels by scales": [
        node(
            "Resize",
            "a  scales",
            "c",
            coordinate_transformation_mode="asymmetric",
            nearest_mode="floor",
        )
    ],
    "pixels by sizes": [node("Resize", "a   sizes", "c", nearest_mode="round_prefer_ceil")],
    "pixels from corners": [
        node("Resize", "a   sizes", "c", coordinate_transformation_mode="align_corners")
    ],
    "pixels of two axes": [node("Resize", "a   two_sizes", "c", axes=[2, 3])],
    "pixels in between": [node("Resize", "a   sizes", "c", mode="linear")],
    "a sum of three": [node("Sum", "a half a", "p"), node("Mul", "p half", "c")],
    "averages of floats": [node("Elu", "a", "p"), node("AveragePool", "p", "c", **WINDOW)],
    "means of a sum": [node("Add", "a a", "p"), node("GlobalAveragePool", "p", "c")],
    "the largest of floats": [
        node("Mul", "a channels", "p"),
        node("MaxPool", "p", "q", **WINDOW),
        node("Sub", "q half", "c"),
    ],
    "a softmax of floats": [node("Mul", "a channels", "p"), node("Softmax", "p", "c")],
    "a bend after a product": [node("Mul", "a channels", "p"), node("PRelu", "p channels", "c")],
    "pixels between floats": [
        node("Mul", "a channels", "p"),
        node("Resize", "p   sizes", "c", mode="linear"),
    ],
    "a product of two tensors": [
        node("Softmax", "a", "p"),
        node("MatMul", "p a", "q"),
        node("Mul", "q half", "c"),
    ],
    "weights of 16 bits": [
        node("DequantizeLinear", "wide fine", "b"),
        node("Conv", "a b", "c", pads=[1, 1, 1, 1]),
    ],
    "a curve with a factor": [node("Elu", "a", "c", alpha=0.7)],
    "sums up to here": [node("CumSum", "a two_axis", "p"), node("Mul", "p half", "c")],
    "sums after here": [node("CumSum", "a two_axis", "c", exclusive=1, reverse=1)],
    "pixels in between from the first": [
        node(
            *("Resize", "a   sizes", "c"),
            **{"mode": "linear", "coordinate_transformation_mode": "asymmetric"},
        )
    ],
    "a rectified layer in another shape": [
        node("DequantizeLinear", "square ws", "b"),
        node("Conv", "a b", "p"),
        node("Relu", "p", "q"),
        node("Transpose", "q", "r", perm=[0, 2, 3, 1]),
        node("Flatten", "r", "c"),
    ],
    "a layer rectified in another shape": [
        node("DequantizeLinear", "square ws", "b"),
        node("Conv", "a b", "p"),
        node("Flatten", "p", "q"),
        node("Clip", "q half two", "c"),
    ],
    "weights that are transposed": [
        node("Flatten", "a", "p"),
        node("DequantizeLinear", "tall five", "b", axis=1),
        node("Transpose", "b", "t", perm=[1, 0]),
        node("Gemm", "p t", "c", transB=1),
    ],
    "a shape that is computed": [
        node("Shape", "a", "n", start=0, end=1),
        node("Concat", "n last", "m", axis=0),
        node("Reshape", "a m", "c"),
    ],
}


def transposed(x, weights, out, strides=(1, 1), pads=(0, 0), dilations=(1, 1), group=1):
    """Add the taps of each pixel where they belong; pads: above and on the left."""
    (count, _, height, width), depth = x.shape, weights.shape[1]
    made = np.zeros((count, group * depth, 64, 64))
    each = len(weights) // group
    for channel, (y, x0) in itertools.product(range(len(weights)), np.ndindex(height, width)):
        first = channel // each * depth
        for i, j in np.ndindex(weights.shape[2:]):
            at = (y * strides[0] + i * dilations[0], x0 * strides[1] + j * dilations[1])
            taps = np.outer(x[:, channel, y, x0], weights[channel, :, i, j])
            made[:, first : first + depth, at[0], at[1]] += taps
    return made[:, :, pads[0] : pads[0] + out[0], pads[1] : pads[1] + out[1]]


#: Attributes of the node, and of the oracle, for cases that the evaluator refuses or gets wrong.
DECONVOLUTIONS = {
    "in groups": ({"group": 2, "strides": [2, 1]}, {"out": (13, 8)}),
    "of a given shape": ({"strides": [2, 2], "output_shape": [12, 11]}, {"pads": (1, 1)}),
    "that keeps the sides": (
        {"strides": [2, 2], "auto_pad": "SAME_UPPER", "output_shape": [12, 12]},
        {"pads": (0, 0)},
    ),
}


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("what", DECONVOLUTIONS)
def test_transposed_convolutions_are_within_a_step(load, what, bits):
    attributes, known = DECONVOLUTIONS[what]
    out = known.get("out") or attributes["output_shape"]
    scale = np.float32(0.05 if bits == 8 else 2e-4)
    zero = 3 if bits == 8 else 0
    nodes = [*pair("x", "a"), *deconv(**attributes), *pair("c", "y")]
    held = {"w": WEIGHTS["w"], "ws": WEIGHTS["ws"], "s": scale}
    network = load(nodes, ("n", *IMAGE), z=np.array(zero, f"int{bits}"), **held)
    x, low, high = samples(*IMAGE)[:2], -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    how = {key: value for key, value in attributes.items() if key in ("strides", "group")}
    weights = WEIGHTS["w"] * float(WEIGHTS["ws"])
    sums = transposed(
        through(x, low, high, zero, scale), weights, out, pads=known.get("pads", (0, 0)), **how
    )
    want = through(sums, low, high, zero, scale)
    got = network.predict(x)
    assert got.shape == want.shape
    assert np.abs(got - want).max() <= 1.01 * scale


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("what", OPERATORS)
def test_operators_are_within_a_step_of_the_evaluator(load, tmp_path, what, bits):
    steps = {"s": np.array(0.05 if bits == 8 else 2e-4, np.float32), "ws": WEIGHTS["ws"]}
    zero = np.array(3 if bits == 8 else 0, f"int{bits}")
    nodes = [*pair("x", "a"), *OPERATORS[what], *pair("c", "y")]
    read = {name for each in nodes for name in each.input}
    constants = {n: array for n, array in {**WEIGHTS, **steps}.items() if n in read}
    network = load(nodes, ("n", *IMAGE), z=zero, **constants)
    x = samples(*IMAGE)[:2]
    evaluator = reference.ReferenceEvaluator(str(tmp_path / "net.onnx"))
    want = np.concatenate([evaluator.run(None, {"x": each[None]})[0] for each in x])
    got = network.predict(x)
    assert got.shape == want.shape
    assert np.abs(got - want).max() <= 1.01 * float(steps["s"])


def test_a_function_of_one_tensor_is_one_table(load):
    nodes = [*pair("x", "a"), *OPERATORS["mish"], *pair("c", "y")]
    network = load(nodes, ("n", *IMAGE))
    assert [node.function.name for node in network.graph.nodes] == [
        "executorch_quantized_activation_s8"
    ]
    notes = "\n".join(
        load(
            [*nodes[:2], node("Mul", "a channels", "c"), *pair("c", "y")],
            ("n", *IMAGE),
            channels=WEIGHTS["channels"],
        ).notes
    )
    assert "computed in float32, as no function of integers" in notes


@pytest.mark.parametrize("kind", ["int8", "uint8"])
@pytest.mark.parametrize(("value", "code"), [("", 0), ("nine", 9)])
def test_integers_are_padded_with_integers(load, value, code, kind):
    nodes = [
        node("QuantizeLinear", "x s z", "q"),
        node("Pad", f"q around {value}".strip(), "p"),
        node("DequantizeLinear", "p s z", "y"),
    ]
    held = {"around": WEIGHTS["around"], "nine": np.array(9, kind), "z": np.array(ZERO, kind)}
    x = np.abs(samples(*IMAGE))
    got = load(nodes, ("n", *IMAGE), **held).predict(x)
    around = ((0, 0), (0, 0), (1, 2), (2, 1))
    real = np.float32(code - ZERO) * SCALE
    want = np.pad(through(x), around, constant_values=real)
    np.testing.assert_allclose(got, want, rtol=1e-6)


def test_integers_are_clipped_as_they_are(load):
    nodes = [
        node("QuantizeLinear", "x s z", "q"),
        node("Relu", "q", "r"),
        node("DequantizeLinear", "r s z", "y"),
    ]
    x = samples(4)
    np.testing.assert_allclose(load(nodes).predict(x), through(x, 0), rtol=1e-6)


def recurrent(kind, source, target):
    """Return a recurrent layer over [n, T, 4] with its transpositions: its states [n, T, 3]."""
    return [
        node("Transpose", source, "t", perm=[1, 0, 2]),
        node(kind, "t w r", "h", hidden_size=3),
        node("Squeeze", "h second", "m"),
        node("Transpose", "m", target, perm=[1, 0, 2]),
    ]


def gates(kind):
    rng, rows = np.random.default_rng(4), {"LSTM": 12, "GRU": 9, "RNN": 3}[kind]
    arrays = {"w": rng.normal(size=(1, rows, 4)), "r": rng.normal(size=(1, rows, 3))}
    found = {name: array.astype(np.float32) for name, array in arrays.items()}
    return {**found, "second": np.array([1])}


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("first", [True, False])
def test_recurrent_layers_at_the_ends_are_steps_of_the_host(load, tmp_path, kind, first):
    chain = recurrent(kind, "x" if first else "a", "s1" if first else "y")
    nodes = [*chain, *pair("s1", "y")] if first else [*pair("x", "a"), *chain]
    network = load(nodes, ("n", 5, 4), **gates(kind))
    assert sum("the host computes in floats" in note for note in network.notes) == 1
    x = samples(5, 4)[:3]
    evaluator = reference.ReferenceEvaluator(str(tmp_path / "net.onnx"))
    want = np.concatenate([evaluator.run(None, {"x": each[None]})[0] for each in x])
    assert np.abs(network.predict(x) - want).max() < (1.01 * SCALE if first else 1e-5)


def test_recurrent_layers_between_integers_are_refused_with_a_way_out(load):
    nodes = [*pair("x", "a"), *recurrent("GRU", "a", "b"), *pair("b", "y")]
    with pytest.raises(ModelError, match="GRU 'h': recurrent operators run on the host alone"):
        load(nodes, ("n", 5, 4), **gates("GRU"))


def test_arithmetic_on_integers_themselves_is_refused(load):
    nodes = [node("QuantizeLinear", "x s z", "q"), node("Add", "q q", "y")]
    with pytest.raises(ModelError, match=r"with the integers|with quantized integers"):
        load(nodes)


def test_averages_at_the_border_are_rounded_once(load, tmp_path):
    pool = node("AveragePool", "a", "c", **WINDOW, pads=[1, 1, 1, 1])
    fine = np.array(SCALE / 3, np.float32)
    network = load([*pair("x", "a"), pool, *pair("c", "y", scale="fine")], ("n", *IMAGE), fine=fine)
    x = samples(*IMAGE) / 3
    want = reference.ReferenceEvaluator(str(tmp_path / "net.onnx")).run(None, {"x": x})[0]
    assert np.abs(network.predict(x) - want).max() <= 1.01 * fine


def test_averages_of_integers_count_zeros_after_the_image(tmp_path):
    """ONNX Runtime's operator divides each sum by all cells of its window."""
    pool = node(
        *("QLinearAveragePool", "q s z s z", "y"),
        **{"domain": "com.microsoft", "kernel_shape": [2, 2], "strides": [2, 2]},
        **{"ceil_mode": 1, "count_include_pad": 1},
    )
    graph = helper.make_graph(
        [node("QuantizeLinear", "x s z", "q"), pool],
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ("n", 1, 3, 3))],
        [onnx.ValueInfoProto(name="y")],
        [numpy_helper.from_array(np.array(v), n) for n, v in (("s", SCALE), ("z", np.int8(ZERO)))],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets), tmp_path / "net.onnx")
    x = np.ones((1, 1, 3, 3), np.float32)
    got = qemu_nn.load(tmp_path / "net.onnx").predict(x)
    np.testing.assert_allclose(got[0, 0], [[1, 0.5], [0.5, 0.25]], atol=1e-6)


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("scales", [1, 9])
def test_rows_of_a_table_are_looked_up_by_an_input(tmp_path, first, scales):
    """Look up rows of a table that is dequantized before or after."""
    table = np.random.default_rng(4).integers(-100, 100, (9, 5)).astype(np.int8)
    scale = np.full(scales, SCALE) if scales > 1 else np.array(SCALE)
    zero = np.zeros(scale.shape, np.int8)
    if first:
        nodes = [
            node("DequantizeLinear", "table ts tz", "real", axis=0),
            node("Gather", "real i", "a"),
        ]
    else:
        nodes = [node("Gather", "table i", "rows"), node("DequantizeLinear", "rows ts tz", "a")]
        scale, zero = np.array(SCALE), np.array(0, np.int8)
    held = {"table": table, "ts": scale, "tz": zero, "s": np.array(SCALE), "z": np.int8(ZERO)}
    graph = helper.make_graph(
        [*nodes, *pair("a", "y")],
        "net",
        [helper.make_tensor_value_info("i", TensorProto.INT64, ("n", 3))],
        [onnx.ValueInfoProto(name="y")],
        [numpy_helper.from_array(np.array(array), name) for name, array in held.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])
    onnx.save(model, tmp_path / "net.onnx")
    network = qemu_nn.load(tmp_path / "net.onnx")
    assert network.graph.input.dtype == "int32"
    places = np.array([[0, 8, 3], [1, 1, 7]])
    want = through(table[places] * SCALE)
    for given in (places, places.astype(np.int32), places.astype(float)):
        np.testing.assert_allclose(network.predict(given), want, rtol=1e-6)
    with pytest.raises(Error, match="fractions or numbers outside"):
        network.predict(places + 0.5)


def test_a_fixed_batch_is_a_batch_of_any_size(load):
    nodes = [*pair("x", "a"), node("Reshape", "a rows", "y")]
    network = load(nodes, (2, 3, 4), rows=np.array([2, -1], np.int64))
    x = samples(3, 4)
    np.testing.assert_allclose(network.predict(x), through(x).reshape(6, -1), rtol=1e-6)


def test_a_signal_meets_weights_of_floats(load, tmp_path):
    weights = np.random.default_rng(5).uniform(-0.4, 0.4, (2, 4, 3)).astype(np.float32)
    nodes = [*pair("x", "a"), node("Conv", "a w", "c", pads=[1, 0]), *pair("c", "y")]
    network = load(nodes, ("n", 4, 9), w=weights)
    x = samples(4, 9)
    evaluator = reference.ReferenceEvaluator(str(tmp_path / "net.onnx"))
    assert np.abs(network.predict(x) - evaluator.run(None, {"x": x})[0]).max() <= 1.01 * SCALE


def test_floats_at_the_end_that_the_host_has_not_are_the_device_s(load):
    nodes = [*pair("x", "a"), node("ReduceL1", "a last", "y")]
    network = load(nodes, last=WEIGHTS["last"])
    assert network.graph.tensors[network.graph.outputs[0]].dtype == "float32"
    x = samples(4)
    want = np.abs(through(x)).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(network.predict(x), want, rtol=1e-6)


# ---- the host ----

HEAD = [
    node("Transpose", "x", "t", perm=[0, 2, 1]),
    node("Mul", "t two", "m"),
    *pair("m", "a"),
]


def test_the_host_computes_steps_before_the_first_integers(load, tmp_path):
    network = load([*HEAD, node("Flatten", "a", "y")], ("n", 2, 4), two=np.array(2, np.float32))
    assert network.graph.input.name == "m"
    assert any("before the network's integers: Transpose 't'" in note for note in network.notes)
    x = samples(2, 4)
    want = through(2 * x.transpose(0, 2, 1)).reshape(6, -1)
    network.save(tmp_path / "net.qnz")
    for each in (network, qemu_nn.load(tmp_path / "net.qnz")):
        np.testing.assert_allclose(each.predict(x), want, rtol=1e-6)
        np.testing.assert_allclose(each.predict({"x": x}), want, rtol=1e-6)
        np.testing.assert_allclose(each.predict(x[0]), want[0], rtol=1e-6)
        codes = each.host.codes(x)
        np.testing.assert_allclose(each.predict(codes), want, rtol=1e-6)
    with pytest.raises(Error, match=r"\[N, 2, 4\]|\[2, 4\]"):
        network.predict(samples(4, 2))


def test_the_host_reflects_numbers_before_the_first_integers(load):
    nodes = [node("Pad", "x around", "p", mode="reflect"), *pair("p", "y")]
    network = load(nodes, ("n", *IMAGE), around=WEIGHTS["around"])
    assert network.before is not None
    x = samples(*IMAGE)
    want = through(np.pad(x, ((0, 0), (0, 0), (1, 2), (2, 1)), mode="reflect"))
    np.testing.assert_allclose(network.predict(x), want, rtol=1e-6)


def test_firmware_has_no_table_for_steps_of_the_host(load):
    nodes = [node("Neg", "x", "m"), *pair("m", "y")]
    steps = qemu_nn.Preprocessing(scale=1 / 255)
    host = dataclasses.replace(load(nodes), preprocessing=steps).host
    assert preprocess(host)["lacking"] == "the host computes steps in floats before the input"
    assert not preprocess(dataclasses.replace(load(pair("x", "y")), preprocessing=steps).host)[
        "lacking"
    ]


TAIL = [
    node("Sub", "a half", "b"),
    node("Softmax", "b", "c"),
    node("Concat", "c a", "y", axis=1),
]


def test_the_host_computes_steps_after_the_last_integers(load, tmp_path):
    network = load([*pair("x", "a"), *TAIL], outputs=("y", "a"), half=np.array(0.5, np.float32))
    assert any("after the network's integers: " in note for note in network.notes)
    x = samples(4)
    real = through(x)
    powers = np.exp(real - 0.5)
    want = np.concatenate([powers / powers.sum(1, keepdims=True), real], 1)
    network.save(tmp_path / "net.qnz")
    for each in (network, qemu_nn.load(tmp_path / "net.qnz")):
        got = each.predict(x)
        assert list(got) == ["y", "a"]
        np.testing.assert_allclose(got["y"], want, atol=1e-6)
        np.testing.assert_allclose(got["a"], real, rtol=1e-6)
    scores = qemu_nn.evaluate(network, (x, np.arange(6) % 4), output="y", reference=False)
    assert scores.samples == 6


def test_steps_of_another_network_are_refused(load, tmp_path):
    network = load([*pair("x", "a"), *TAIL], half=np.array(0.5, np.float32))
    other = load([*HEAD, node("Flatten", "a", "y")], ("n", 2, 4), two=np.array(2, np.float32))
    for steps in ({"before": other.before}, {"after": other.before}):
        with pytest.raises(Error, match="the steps around net are of another network"):
            dataclasses.replace(network, **steps)
    network.save(tmp_path / "net.qnz")
    with zipfile.ZipFile(tmp_path / "net.qnz") as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    assert "after.json" in entries
    entries["after.json"] = entries["after.json"].replace(b'"Softmax"', b'"Unknown"')
    with zipfile.ZipFile(tmp_path / "bad.qnz", "w") as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
    with pytest.raises(ModelError, match=r"after\.json: .*'Unknown' is unknown"):
        qemu_nn.load(tmp_path / "bad.qnz")


def test_a_layer_that_nothing_quantizes_is_the_host_s(load):
    weights = np.random.default_rng(3).integers(-9, 9, (4, 3)).astype(np.int8)
    nodes = [*pair("x", "a"), node("DequantizeLinear", "w s", "b"), node("MatMul", "a b", "y")]
    x = samples(4)
    want = through(x) @ (weights * SCALE)
    np.testing.assert_allclose(load(nodes, w=weights).predict(x), want, rtol=1e-5, atol=1e-5)


def test_several_inputs_go_through_the_host_by_name(load):
    nodes = [
        node("Neg", "x", "n"),
        *pair("n", "a"),
        *pair("w", "b"),
        node("Add", "a b", "c"),
        *pair("c", "y"),
    ]
    network = load(nodes, inputs=("x", "w"))
    x, w = samples(4), samples(4)[::-1]
    want = through(through(-x) + through(w))
    assert np.abs(network.predict({"x": x, "w": w}) - want).max() <= 1.01 * SCALE
    with pytest.raises(Error, match="'x', 'w'"):
        network.predict({"x": x, "n": w})


def test_all_reasons_are_told_at_once(load):
    nodes = [
        *pair("x", "a"),
        node("Det", "a", "b"),
        *pair("b", "c"),
        node("Sin", "a", "d"),
        *pair("d", "e"),
        node("Elu", "a", "f", gamma=1.0),
        *pair("f", "g"),
        node("Sum", "c e g", "y"),
    ]
    with pytest.raises(ModelError) as caught:
        load(nodes)
    text = str(caught.value)
    assert "Det 'b', Sin 'd': this operator is not supported" in text
    assert "Elu 'f': its attribute 'gamma'" in text
    assert "Sum" not in text
    assert "\n" not in text


def test_floats_of_the_input_beside_integers_are_refused(load):
    nodes = [*pair("x", "a"), node("Add", "a x", "b"), *pair("b", "y")]
    with pytest.raises(ModelError, match="floats of the file's input; put a QuantizeLinear"):
        load(nodes)
