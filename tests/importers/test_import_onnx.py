"""ONNX models come out as float networks that compute what their framework computed."""

import numpy as np
import pytest
from onnx_models import agrees, helper, inputs, loaded, model, node, numpy_helper, onnx, value
from published import FOLDER

import qemu_nn
from qemu_nn import operators as ops
from qemu_nn.errors import ModelError
from qemu_nn.runtime.evaluate import evaluate

PUBLISHED = sorted((FOLDER.parent / "models_float").glob("onnx_*/*.onnx"))

rng = np.random.default_rng(3)


def floats(*shape):
    return rng.normal(size=shape).astype(np.float32)


def ints(*values):
    return np.array(values, np.int64)


IMAGE = (4, 9, 7)
W = {"w": floats(6, 4, 3, 2), "b": floats(6)}
DEPTHWISE = {"w": floats(8, 1, 3, 3)}
SIGNAL = {"w": floats(5, 3, 4), "b": floats(5)}
CHANNELS = {name: np.abs(floats(4)) + 0.1 for name in ("g", "be", "m", "v")}
MATRIX = {"w": floats(5, 6), "b": floats(5)}

#: Description -> nodes from x to y, the shape of a sample, constants, operator set.
SINGLE = {
    "conv": (node("Conv", "x w b"), IMAGE, W),
    "conv with stride and uneven pads": (
        node("Conv", "x w b", pads=[2, 0, 1, 1], strides=[2, 3], kernel_shape=[3, 2]),
        IMAGE,
        W,
    ),
    "conv dilated": (node("Conv", "x w", dilations=[2, 3], pads=[1, 2, 0, 1]), IMAGE, W),
    "conv in groups": (node("Conv", "x w", group=2), IMAGE, {"w": floats(6, 2, 3, 3)}),
    "conv depthwise, two of each": (node("Conv", "x w", group=4), IMAGE, DEPTHWISE),
    "conv same upper": (node("Conv", "x w", auto_pad="SAME_UPPER", strides=[2, 2]), IMAGE, W),
    "conv same lower": (node("Conv", "x w", auto_pad="SAME_LOWER", strides=[2, 1]), IMAGE, W),
    "conv valid": (node("Conv", "x w", auto_pad="VALID", strides=[2, 2]), IMAGE, W),
    "conv of half floats": (
        node("Conv", "x w"),
        IMAGE,
        {"w": np.round(floats(6, 4, 3, 2) * 8).astype(np.float16) / np.float16(8)},
    ),
    "conv of a signal": (
        node("Conv", "x w b", pads=[2, 1], strides=[2], dilations=[2]),
        (3, 16),
        SIGNAL,
    ),
    "conv of a signal, same": (node("Conv", "x w", auto_pad="SAME_UPPER"), (3, 16), SIGNAL),
    "max pool": (node("MaxPool", "x", kernel_shape=[3, 2], strides=[2, 2]), IMAGE),
    "max pool padded": (
        node("MaxPool", "x", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 0, 2, 1]),
        IMAGE,
    ),
    "max pool rounding up": (
        node("MaxPool", "x", kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1),
        IMAGE,
    ),
    "max pool of a signal": (node("MaxPool", "x", kernel_shape=[3], strides=[2]), (3, 16)),
    "average pool": (node("AveragePool", "x", kernel_shape=[3, 2], strides=[2, 1]), IMAGE),
    "average pool not counting pads": (
        node("AveragePool", "x", kernel_shape=[3, 3], pads=[1, 1, 0, 2]),
        IMAGE,
    ),
    "average pool counting pads": (
        node("AveragePool", "x", kernel_shape=[3, 3], pads=[1, 1, 0, 2], count_include_pad=1),
        IMAGE,
    ),
    "average pool same lower": (
        node("AveragePool", "x", kernel_shape=[2, 2], auto_pad="SAME_LOWER"),
        IMAGE,
    ),
    "global average": (node("GlobalAveragePool", "x"), IMAGE),
    "mean of axes in an attribute": (node("ReduceMean", "x", axes=[-1, 2]), IMAGE, {}, 13),
    "mean of axes in an input": (
        node("ReduceMean", "x a", keepdims=0),
        IMAGE,
        {"a": ints(2, 3)},
    ),
    "mean with the channels last": (
        node("ReduceMean", "x a", keepdims=0),
        (9, 7, 4),
        {"a": ints(1, 2)},
    ),
    "mean of rows": (node("ReduceMean", "x a", keepdims=0), IMAGE, {"a": ints(2)}),
    "mean of a signal": (node("ReduceMean", "x a", keepdims=0), (3, 16), {"a": ints(-1)}),
    "mean over time": (node("ReduceMean", "x a"), (16, 3), {"a": ints(1)}),
    "maximum of axes": (node("ReduceMax", "x a", keepdims=0), IMAGE, {"a": ints(-2, -1)}),
    "mean of no axes": (node("ReduceMean", "x", noop_with_empty_axes=1), IMAGE),
    "batch normalization": (
        node("BatchNormalization", "x g be m v", epsilon=0.01),
        IMAGE,
        CHANNELS,
    ),
    "batch normalization of features": (
        node("BatchNormalization", "x g be m v"),
        (4,),
        CHANNELS,
    ),
    "gemm": (node("Gemm", "x w b", transB=1), (6,), MATRIX),
    "gemm with factors": (
        node("Gemm", "x w b", alpha=0.3, beta=2.5),
        (6,),
        {"w": floats(6, 5), "b": floats(1, 5)},
    ),
    "gemm with one number added": (
        node("Gemm", "x w b", transB=1),
        (6,),
        {**MATRIX, "b": np.float32(3)},
    ),
    "gemm without bias": (node("Gemm", "x w", transB=1), (6,), MATRIX),
    "matmul": (node("MatMul", "x w"), (6,), {"w": floats(6, 5)}),
    "matmul of rows": (node("MatMul", "x w"), (3, 6), {"w": floats(6, 5)}),
    "relu": (node("Relu", "x"), IMAGE),
    "leaky relu": (node("LeakyRelu", "x"), IMAGE),
    "prelu per channel": (node("PRelu", "x s"), IMAGE, {"s": floats(4, 1, 1)}),
    "prelu per channel with a batch": (node("PRelu", "x s"), IMAGE, {"s": floats(1, 4, 1, 1)}),
    "prelu with one slope": (node("PRelu", "x s"), IMAGE, {"s": floats(1)}),
    "sigmoid": (node("Sigmoid", "x"), IMAGE),
    "hard sigmoid": (node("HardSigmoid", "x", alpha=0.3), IMAGE),
    "hard swish": (node("HardSwish", "x"), IMAGE),
    "tanh": (node("Tanh", "x"), IMAGE),
    "clip by attributes": (node("Clip", "x", min=-1.0, max=0.5), IMAGE, {}, 8),
    "clip by inputs": (
        node("Clip", "x lo hi"),
        IMAGE,
        {"lo": np.float32(0), "hi": np.float32(6)},
    ),
    "clip from below": (node("Clip", "x lo"), IMAGE, {"lo": np.float32(0)}),
    "clip from above": (node("Clip", "x - hi"), IMAGE, {"hi": np.float32(0.5)}),
    "clip of nothing": (node("Clip", "x"), IMAGE),
    "softmax": (node("Softmax", "x"), (6,)),
    "softmax of channels": (node("Softmax", "x", axis=1), IMAGE),
    "log softmax": (node("LogSoftmax", "x", axis=-1), (6,), {}, 13),
    "sum with a constant": (node("Add", "x c"), IMAGE, {"c": floats(4, 1, 1)}),
    "sum with a constant in front": (node("Add", "c x"), IMAGE, {"c": floats(1, 4, 1, 1)}),
    "sum of three and two constants": (
        node("Sum", "c x x d x"),
        IMAGE,
        {"c": floats(4, 1, 1), "d": floats(7)},
    ),
    "sum of one": (node("Sum", "x"), IMAGE),
    "constant of more axes": (node("Mul", "x c"), (6,), {"c": floats(1, 1, 6)}),
    "constant minus": (node("Sub", "c x"), IMAGE, {"c": floats(9, 7)}),
    "minus constant": (node("Sub", "x c"), IMAGE, {"c": floats(1)}),
    "over constant": (node("Div", "x c"), IMAGE, {"c": np.abs(floats(4, 1, 1)) + 0.5}),
    "negative": (node("Neg", "x"), IMAGE),
    "largest of itself and a constant": (node("Max", "x c"), IMAGE, {"c": np.float32(0)}),
    "smallest of itself and a constant": (node("Min", "x c"), IMAGE, {"c": floats(1)}),
    "pad by attributes": (
        node("Pad", "x", pads=[0, 0, 1, 2, 0, 1, 0, 1], value=0.5),
        IMAGE,
        {},
        8,
    ),
    "pad by inputs": (
        node("Pad", "x p v"),
        IMAGE,
        {"p": ints(0, 0, 1, 2, 0, 0, 0, 1), "v": np.float32(0.25)},
    ),
    "pad with an empty input": (node("Pad", "x p -"), IMAGE, {"p": ints(*[0] * 6, 1, 2)}),
    "pad of named axes": (node("Pad", "x p - a"), IMAGE, {"p": ints(2, 1), "a": ints(-1)}),
    "slice by attributes": (
        node("Slice", "x", starts=[1, -3], ends=[3, 2**31], axes=[1, -1]),
        IMAGE,
        {},
        8,
    ),
    "slice by inputs": (
        node("Slice", "x s e a t"),
        IMAGE,
        {"s": ints(0, 1, -9), "e": ints(2**63 - 1, -1, 2**62), "a": ints(0, 2, 3)}
        | {"t": ints(1, 2, 3)},
    ),
    "slice of all": (node("Slice", "x s e"), IMAGE, {"s": ints(0, 0), "e": ints(1, 99)}),
    "one element": (node("Gather", "x i", axis=-1), IMAGE, {"i": np.int64(-2)}),
    "one element, its axis kept": (node("Gather", "x i", axis=2), IMAGE, {"i": ints(3)}),
    "flatten": (node("Flatten", "x"), IMAGE),
    "flatten from another axis": (node("Flatten", "x", axis=-2), IMAGE),
    "reshape with 0 and -1": (node("Reshape", "x s"), IMAGE, {"s": ints(0, -1, 7)}),
    "reshape that allows no zero": (
        node("Reshape", "x s", allowzero=1),
        IMAGE,
        {"s": ints(-1, 252)},
    ),
    "reshape without a batch": (node("Reshape", "x s"), IMAGE, {"s": ints(-1)}),
    "transpose": (node("Transpose", "x", perm=[0, 2, 3, 1]), IMAGE),
    "squeeze by attribute": (node("Squeeze", "x", axes=[-1, 2]), (6, 1, 1), {}, 11),
    "squeeze by input": (node("Squeeze", "x a"), (6, 1, 1), {"a": ints(3)}),
    "squeeze of all": (node("Squeeze", "x"), (6, 1, 1)),
    "squeeze of the batch": (node("Squeeze", "x a"), (6, 2), {"a": ints(0)}),
    "unsqueeze by attribute": (node("Unsqueeze", "x", axes=[1, -1]), (6,), {}, 11),
    "unsqueeze by input": (node("Unsqueeze", "x a"), (6,), {"a": ints(0)}),
    "identity": (node("Identity", "x"), IMAGE),
    "dropout": (node("Dropout", "x"), IMAGE),
    "cast": (node("Cast", "x", to=onnx.TensorProto.FLOAT), IMAGE),
}


def softmax(x, axes):
    e = np.exp(x - x.max(axes, keepdims=True))
    return e / e.sum(axes, keepdims=True)


#: Operators that the reference evaluator lacks or computes wrong -> the same, and their meaning.
BY_HAND = {
    "global maximum of a signal": (
        node("GlobalMaxPool", "x"),
        (3, 16),
        {},
        20,
        lambda x: x.max(-1, keepdims=True),
    ),
    "softmax of all that follows": (
        node("Softmax", "x", axis=2),
        IMAGE,
        {},
        11,
        lambda x: softmax(x, (2, 3)),
    ),
    "softmax of what is one row": (
        node("Softmax", "x"),
        (1, 6, 1),
        {},
        11,
        lambda x: softmax(x, 2),
    ),
    "crop": (
        node("Pad", "x p"),
        IMAGE,
        {"p": ints(0, 0, -1, 2, 0, 0, -2, -1)},
        20,
        lambda x: np.pad(x[:, :, 1:-2, :-1], [(0, 0), (0, 0), (0, 0), (2, 0)]),
    ),
    "batch normalization of old": (
        node("BatchNormalization", "x g be m v", spatial=1),
        (4,),
        CHANNELS,
        7,
        lambda x: (
            (x - CHANNELS["m"]) / np.sqrt(CHANNELS["v"] + 1e-5) * CHANNELS["g"] + CHANNELS["be"]
        ),
    ),
}


@pytest.mark.parametrize("what", SINGLE)
def test_an_operator_means_what_the_reference_computes(what, tmp_path):
    one, shape, *rest = SINGLE[what]
    constants, opset = [*rest, *({}, 20)[len(rest) :]]
    agrees(tmp_path, model([one], shape, constants, opset), shape)


@pytest.mark.parametrize("what", BY_HAND)
def test_an_operator_means_what_its_definition_says(what, tmp_path):
    one, shape, constants, opset, meaning = BY_HAND[what]
    x = inputs(shape)
    found = evaluate(loaded(tmp_path, model([one], shape, constants, opset)), x)["y"]
    np.testing.assert_allclose(found, meaning(x), rtol=1e-5, atol=1e-6)


#: Description -> nodes, shape, constants, operator set, names of the outputs.
SEVERAL = {
    "two tensors": (
        [
            node("Relu", "x", "a"),
            node("Sub", "x a", "b"),
            node("Mul", "a b", "c"),
            node("Max", "a b c", "d"),
            node("Min", "d x", "e"),
            node("Add", "e d"),
        ],
        IMAGE,
    ),
    "a gate": (
        [node("GlobalAveragePool", "x", "g"), node("Sigmoid", "g", "s"), node("Mul", "x s")],
        IMAGE,
    ),
    "tensors of unequal axes": (
        [node("Squeeze", "x a", "s"), node("Add", "x s"), node("Sub", "s x", "z")],
        (1, 4, 5),
        {"a": ints(0, 1)},
        20,
        "y z",
    ),
    "concatenation": (
        [node("Relu", "x", "a"), node("Concat", "x a x", axis=-3)],
        IMAGE,
    ),
    "concatenation of one": ([node("Concat", "x", axis=1)], IMAGE),
    "split in halves": (
        [node("Split", "x", "a b", axis=1), node("Sub", "a b")],
        IMAGE,
        {},
        11,
    ),
    "split by attribute": (
        [node("Split", "x", "a b", axis=-1, split=[2, 5])],
        IMAGE,
        {},
        11,
        "a b",
    ),
    "split by input": (
        [node("Split", "x s", "a b c", axis=2)],
        IMAGE,
        {"s": ints(1, 5, 3)},
        13,
        "c a b",
    ),
    "split in unequal parts": (
        [node("Split", "x", "a b", axis=2, num_outputs=2)],
        IMAGE,
        {},
        18,
        "a b",
    ),
    "rows as a batch": (
        [
            node("Reshape", "x r", "rows"),
            node("Gemm", "rows w b", "g", transB=1),
            node("Softmax", "g", "p"),
            node("Add", "p c", "q"),
            node("Reshape", "q s"),
        ],
        (3, 6),
        {**MATRIX, "r": ints(-1, 6), "s": ints(-1, 3, 5), "c": floats(1, 5)},
    ),
    "a bias of its own, and input normalization": (
        [
            node("Sub", "x mean", "centred"),
            node("Div", "centred by", "normed"),
            node("Conv", "normed w", "c"),
            node("Add", "c b"),
        ],
        IMAGE,
        {**W, "b": floats(6, 1, 1), "mean": floats(4, 1, 1), "by": np.float32(64)},
    ),
    "batch normalization spelled out": (
        [
            node("Add", "v eps", "ve"),
            node("Sqrt", "ve", "sd"),
            node("Reciprocal", "sd", "rs"),
            node("Mul", "rs g", "scale"),
            node("Mul", "x scale", "xs"),
            node("Mul", "m scale", "ms"),
            node("Neg", "ms", "nms"),
            node("Add", "xs nms"),
        ],
        IMAGE,
        {**{k: a.reshape(4, 1, 1) for k, a in CHANNELS.items()}, "eps": np.float32(0.01)},
    ),
    "shuffle, its shape computed": (
        [
            node("Shape", "x", "shape"),
            node("Gather", "shape one", "c"),
            node("Constant", "", "two", value_int=2),
            node("Div", "c two", "half"),
            node("Cast", "half", "half64", to=onnx.TensorProto.INT64),
            node("Unsqueeze", "half64 zero", "h1"),
            node("Shape", "x", "batch", end=1),
            node("Slice", "shape from to", "image"),
            node("Concat", "batch pair h1 image", "five", axis=0),
            node("Reshape", "x five", "groups"),
            node("Transpose", "groups", "mixed", perm=[0, 2, 1, 3, 4]),
            node("Reshape", "mixed shape"),
        ],
        IMAGE,
        {"one": np.int64(1), "zero": ints(0), "pair": ints(2), "from": ints(2), "to": ints(9)},
    ),
    "pads computed": (
        [
            node("ConstantOfShape", "four", "zeros", value=numpy_helper.from_array(ints(0))),
            node("Concat", "amounts zeros", "flat", axis=0),
            node("Reshape", "flat pairs", "table"),
            node("Slice", "table last first rows back", "reversed"),
            node("Transpose", "reversed", "turned", perm=[1, 0]),
            node("Reshape", "turned line", "pads"),
            node("Pad", "x pads -", mode="constant"),
        ],
        IMAGE,
        {"four": ints(4), "amounts": ints(1, 2, 3, 1), "pairs": ints(-1, 2), "last": ints(-1)}
        | {"first": ints(-(2**63) + 1), "rows": ints(0), "back": ints(-1), "line": ints(-1)},
        11,
    ),
    "constants of every other kind": (
        [
            node("Range", "r0 r6 r1", "count"),
            node("Cast", "count", "real", to=onnx.TensorProto.FLOAT),
            node("Constant", "", "two", value_float=2.0),
            node("Constant", "", "halves", value_floats=[0.5, 1.5]),
            node("Pow", "real two", "square"),
            node("Floor", "halves", "low"),
            node("Ceil", "halves", "high"),
            node("Sum", "low high halves", "sum"),
            node("ReduceProd", "sum", "product", keepdims=0),
            node("Equal", "count r1", "is1"),
            node("Where", "is1 product square", "w"),
            node("Expand", "w s", "wide"),
            node("Flatten", "wide", "matrix"),
            node("Squeeze", "matrix ax", "line"),
            node("Size", "line", "n"),
            node("Cast", "n", "nf", to=onnx.TensorProto.FLOAT),
            node("Identity", "line", "same"),
            node("Max", "same nf", "most"),
            node("Min", "most same", "c"),
            node("Mul", "x c"),
        ],
        (6,),
        {"r0": np.int64(0), "r6": np.int64(6), "r1": np.int64(1), "s": ints(1, 1, 6)}
        | {"ax": ints(0)},
    ),
}


def test_whole_numbers_are_divided_towards_zero(tmp_path):
    nodes = [node("Div", "a b", "c"), node("Neg", "c", "d"), node("Reshape", "x d")]
    constants = {"a": ints(-1, 7, -7, 8), "b": ints(1, -2, 2, -4)}
    assert loaded(tmp_path, model(nodes, (3, 6), constants)).shapes["y"] == (3, 3, 2)


@pytest.mark.parametrize("what", SEVERAL)
def test_nodes_together_mean_what_the_reference_computes(what, tmp_path):
    nodes, shape, *rest = SEVERAL[what]
    constants, opset, outputs = [*rest, *({}, 20, "y")[len(rest) :]]
    graph = agrees(tmp_path, model(nodes, shape, constants, opset, outputs), shape)
    assert graph.outputs == tuple(outputs.split())


@pytest.mark.skipif(not PUBLISHED, reason=f"the published networks are not in {FOLDER.parent}")
@pytest.mark.parametrize("path", PUBLISHED, ids=lambda path: path.stem)
def test_published_networks_compute_what_was_recorded(path):
    with np.load(path.parent / "golden.npz") as golden:
        arrays = dict(golden)
    network = qemu_nn.load(path)
    found = network.evaluate(arrays["x"], trace=True)
    (output,) = network.graph.outputs
    _close(found[output], arrays["final.y"], 1e-5)
    if "_torchscript" not in path.stem:  # the names are those of the first file
        for key in [key for key in arrays if key.startswith("layer.")]:
            _close(found[key[6:]][arrays["layer_idx"]], arrays[key], 1e-4)


def _close(found, expected, tolerance):
    assert np.abs(found - expected).max() <= tolerance * np.abs(expected).max()


def kinds(graph):
    return [(type(each.operator).__name__, each.name) for each in graph.nodes]


def test_the_last_part_of_a_node_has_its_name_and_no_part_takes_the_name_of_another(tmp_path):
    nodes = [node("Sigmoid", "x", "y/image"), node("Conv", "y/image w")]
    graph = loaded(tmp_path, model(nodes, (3, 16), SIGNAL))
    assert kinds(graph) == [
        ("Sigmoid", "y/image"),
        ("Reshape", "y/image_"),
        ("Conv", "y/row"),
        ("Reshape", "y"),
    ]


def test_operators_are_the_simplest_that_mean_the_same(tmp_path):
    nodes = [
        node("Clip", "x lo hi", "a"),
        node("Max", "a lo", "b"),
        node("PRelu", "b s", "c"),
        node("Reshape", "c same", "d"),
        node("Dropout", "d", "e mask"),
        node("Mul", "e two", "f"),
        node("GlobalAveragePool", "f", "y"),
    ]
    constants = {"lo": np.float32(0), "hi": np.float32(6), "s": floats(1), "same": ints(0, 4, 9, 7)}
    graph = loaded(tmp_path, model(nodes, IMAGE, {**constants, "two": np.float32(2)}))
    found = [each.operator for each in graph.nodes]
    slope = float(constants["s"][0])
    assert found[:5] == [ops.Relu(limit=6), ops.Relu(), ops.Relu(slope), *[ops.Identity()] * 2]
    assert (found[5].scale, found[5].offset) == (2, 0)
    assert found[6] == ops.Pool("average", (9, 7), layout="NCHW")


def test_weights_are_laid_out_as_every_float_network_has_them(tmp_path):
    nodes = [node("Conv", "x w b", "c"), node("Flatten", "c", "f"), node("MatMul", "f m")]
    constants = {**W, "m": floats(6 * 7 * 6, 3)}
    conv, _, dense = loaded(tmp_path, model(nodes, IMAGE, constants)).nodes
    np.testing.assert_array_equal(conv.operator.weights, W["w"].transpose(0, 2, 3, 1))
    np.testing.assert_array_equal(dense.operator.weights, constants["m"].T)
    assert conv.operator.layout == "NCHW"


def test_images_are_channels_first_unless_the_network_begins_with_making_them_so(tmp_path):
    first = node("Transpose", "x", "t", perm=[0, 3, 1, 2])
    assert loaded(tmp_path, model([node("Relu", "x")], (3, 8, 8))).layout == "NCHW"
    assert loaded(tmp_path, model([node("Relu", "x")], (8,))).layout is None
    assert loaded(tmp_path, model([first, node("Relu", "t")], (8, 8, 3))).layout == "NHWC"
    both = [first, node("Relu", "x", "r"), node("Flatten", "r")]
    assert loaded(tmp_path, model(both, (8, 8, 3))).layout == "NCHW"
    one = [node("Reshape", "x s")]
    assert loaded(tmp_path, model(one, (8, 9, 1), {"s": ints(-1, 1, 8, 9)})).layout == "NHWC"


@pytest.mark.parametrize("batch", [1, "n", None, -1])
def test_a_batch_of_one_and_a_free_one_are_the_same(batch, tmp_path):
    nodes = [node("Shape", "x", "s"), node("Relu", "x", "r"), node("Reshape", "r s")]
    assert loaded(tmp_path, model(nodes, IMAGE, batch=batch)).shape == IMAGE


def test_constants_listed_as_inputs_are_none(tmp_path):
    proto = model([node("Conv", "x w b")], IMAGE, W)
    proto.graph.input.extend([value("w", W["w"].shape), value("b", W["b"].shape)])
    assert loaded(tmp_path, proto).input == "x"


def test_numbers_are_read_from_every_field_that_may_hold_them(tmp_path):
    proto = model([node("Mul", "x w", "a"), node("Reshape", "a s")], (4,), {})
    types = onnx.TensorProto
    for kind in (types.FLOAT, types.DOUBLE, types.FLOAT16):
        del proto.graph.initializer[:]
        numbers = np.array([0.5, -2, 3, 8], np.float16)
        proto.graph.initializer.append(helper.make_tensor("w", kind, [4], numbers))
        proto.graph.initializer.append(helper.make_tensor("s", types.INT64, [3], [1, 2, 2]))
        scale = loaded(tmp_path, proto).nodes[0].operator.scale
        np.testing.assert_array_equal(scale, numbers)


CHAIN = [node("Relu", "x", "a"), node("Sigmoid", "a", "b"), node("Tanh", "b")]


def test_a_network_is_cut_out_between_two_tensors(tmp_path):
    graph = loaded(tmp_path, model(CHAIN, IMAGE), input="a", output="b")
    assert (graph.input, graph.shape, graph.outputs) == ("a", IMAGE, ("b",))
    assert kinds(graph) == [("Sigmoid", "b")]


def test_a_cut_leaves_out_what_is_not_supported(tmp_path):
    nodes = [node("Erf", "x", "a"), node("Relu", "a", "b"), node("Gelu", "b")]
    proto = model(nodes, (4,), value_info=[value("a", ["n", 4])])
    assert kinds(loaded(tmp_path, proto, input="a", output="b")) == [("Relu", "b")]


def test_of_several_inputs_one_is_enough_for_what_depends_on_it_alone(tmp_path):
    proto = model([node("Relu", "x", "a"), node("Add", "a z")], (4,))
    proto.graph.input.append(value("z", [1, 4]))
    assert loaded(tmp_path, proto, output="a").input == "x"
    assert loaded(tmp_path, proto).starts == {"x": (4,), "z": (4,)}
    with pytest.raises(ModelError, match="'y' cannot be computed from 'a' alone"):
        loaded(tmp_path, proto, input="a")
