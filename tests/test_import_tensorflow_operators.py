"""Every operator of TensorFlow that is read, against what it means written out by hand."""

import numpy as np
import pytest
from tensorflow_files import (
    BFLOAT16,
    DOUBLE,
    FLOAT,
    HALF,
    INT32,
    Type,
    const,
    load,
    node,
    placeholder,
    run,
    tensor,
)

from qemu_nn.errors import ModelError

RANDOM = np.random.default_rng(4)
IMAGES = RANDOM.normal(size=(2, 7, 5, 4))


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def over(folder, x, *nodes, **choice):
    """What nodes make of a tensor "x" of the shape of x, whatever the batch."""
    return run(folder, x, placeholder(-1, *np.shape(x)[1:]), *nodes, **choice)


# Windows


def windows(x, kernel, stride, pads, dilation=(1, 1), fill=0.0):
    """[N, windows down, windows across, y, x, channels] of NHWC images."""
    top, left, bottom, right = pads
    x = np.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0)), constant_values=fill)
    span = [(k - 1) * d + 1 for k, d in zip(kernel, dilation)]
    view = np.lib.stride_tricks.sliding_window_view(x, span, (1, 2))
    view = view[:, :: stride[0], :: stride[1], :, :: dilation[0], :: dilation[1]]
    return view.transpose(0, 1, 2, 4, 5, 3)


WEIGHTS = RANDOM.normal(size=(3, 2, 4, 6)).astype(np.float32)
# 7 rows, stride 2: 4 windows need 9 rows; 5 columns, 3 windows: 6 columns. The odd one is behind.
CONVOLUTIONS = [
    ({"strides": [1, 2, 2, 1], "padding": "SAME"}, (2, 2), (1, 0, 1, 1), (1, 1)),
    ({"strides": [1, 1, 1, 1], "padding": "SAME"}, (1, 1), (1, 0, 1, 1), (1, 1)),
    ({"strides": [1, 2, 1, 1], "padding": "VALID"}, (2, 1), (0, 0, 0, 0), (1, 1)),
    (
        {"strides": [1, 1, 1, 1], "padding": "SAME", "dilations": [1, 2, 3, 1]},
        *((1, 1), (2, 1, 2, 2), (2, 3)),
    ),
    (
        {
            "strides": [1, 3, 2, 1],
            "padding": "EXPLICIT",
            "explicit_paddings": [0, 0, 1, 2, 3, 4, 0, 0],
        },
        *((3, 2), (1, 3, 2, 4), (1, 1)),
    ),
]


def channels_first(values):
    """An attribute of four axes, or of two numbers for each, in the order NCHW."""
    size = len(values) // 4
    n, h, w, c = (values[i * size : (i + 1) * size] for i in range(4))
    return n + c + h + w


@pytest.mark.parametrize(("attributes", "stride", "pads", "dilation"), CONVOLUTIONS)
def test_convolutions_pad_and_step_as_their_attributes_say(
    tmp_path, attributes, stride, pads, dilation
):
    cells = windows(IMAGES, (3, 2), stride, pads, dilation)
    nodes = (const("w", WEIGHTS), node("y", "Conv2D", "x w", **attributes))
    expected = np.einsum("nabyxc,yxco->nabo", cells, WEIGHTS)
    close(over(tmp_path, IMAGES, *nodes), expected)
    turned = {k: channels_first(v) if isinstance(v, list) else v for k, v in attributes.items()}
    nodes = (const("w", WEIGHTS), node("y", "Conv2D", "x w", data_format="NCHW", **turned))
    found = over(tmp_path, np.moveaxis(IMAGES, 3, 1), *nodes)
    close(np.moveaxis(found, 1, 3), expected)
    nodes = (const("w", WEIGHTS), node("y", "DepthwiseConv2dNative", "x w", **attributes))
    each = np.einsum("nabyxc,yxcm->nabcm", cells, WEIGHTS)
    close(over(tmp_path, IMAGES, *nodes), each.reshape(*each.shape[:3], -1))


def test_a_convolution_of_fewer_channels_than_the_image_has_groups(tmp_path):
    nodes = (
        const("w", WEIGHTS[:, :, :2]),
        node("y", "Conv2D", "x w", strides=[1] * 4, padding="VALID"),
    )
    cells = windows(IMAGES, (3, 2), (1, 1), (0, 0, 0, 0))
    halves = [
        np.einsum(
            "nabyxc,yxco->nabo", cells[..., 2 * g : 2 * g + 2], WEIGHTS[:, :, :2, 3 * g : 3 * g + 3]
        )
        for g in (0, 1)
    ]
    close(over(tmp_path, IMAGES, *nodes), np.concatenate(halves, -1))


@pytest.mark.parametrize(("padding", "pads"), [("SAME", (1, 0, 1, 1)), ("VALID", (0, 0, 0, 0))])
def test_an_average_does_not_count_padding_and_a_maximum_does_not_see_it(tmp_path, padding, pads):
    size = {"ksize": [1, 3, 2, 1], "strides": [1, 2, 2, 1], "padding": padding}
    x = IMAGES - 9
    cells = windows(x, (3, 2), (2, 2), pads, fill=np.nan)
    close(over(tmp_path, x, node("y", "MaxPool", "x", **size)), np.nanmax(cells, (3, 4)))
    close(over(tmp_path, x, node("y", "AvgPool", "x", **size)), np.nanmean(cells, (3, 4)))


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("axes", [[1, 2], [2, 1], [-3, -2], [1], [2], [2, 3]])
def test_means_and_maxima_of_an_image(tmp_path, axes, keep):
    over_axes = tuple(axes)
    for op, meaning in (("Mean", np.mean), ("Max", np.max)):
        y = node("y", op, "x axes", keep_dims=keep)
        expected = meaning(IMAGES, over_axes, keepdims=keep)
        close(over(tmp_path, IMAGES, const("axes", axes), y), expected)


def test_means_of_rows(tmp_path):
    x = IMAGES[..., 0]
    for keep in (True, False):
        nodes = (const("axes", 1), node("y", "Mean", "x axes", keep_dims=keep))
        close(over(tmp_path, x, *nodes), x.mean(1, keepdims=keep))


# Arithmetic

X = np.array([[-8.0, -0.5, 0.0, 3.0], [1.0, 2.0, 7.0, 9.0]])
C = np.array([0.5, -1.0, 2.0, 4.0])
M = RANDOM.normal(size=(4, 3)).astype(np.float32)

FORMULAS = [
    ("Add", "x c", X + C),
    ("AddV2", "c x", C + X),
    ("BiasAdd", "x c", X + C),
    ("Sub", "x c", X - C),
    ("Sub", "c x", C - X),
    ("Mul", "c x", C * X),
    ("RealDiv", "x c", X / C),
    ("Neg", "x", -X),
    ("Maximum", "x zero", np.maximum(X, 0)),
    ("Maximum", "two x", np.maximum(X, 2)),
    ("Minimum", "x two", np.minimum(X, 2)),
    ("ClipByValue", "x zero two", np.clip(X, 0, 2)),
    ("ClipByValue", "x half two", np.clip(X, 0.5, 2)),
    ("Add", "x x", X + X),
    ("Sub", "x x", X - X),
    ("Mul", "x x", X * X),
    ("Maximum", "x n", np.maximum(X, -X)),
    ("Minimum", "x n", np.minimum(X, -X)),
    ("AddN", "x n x", X),
    ("Relu", "x", np.maximum(X, 0)),
    ("Relu6", "x", np.clip(X, 0, 6)),
    ("LeakyRelu", "x", np.where(X > 0, X, np.float32(0.2) * X)),
    ("Sigmoid", "x", 1 / (1 + np.exp(-X))),
    ("Tanh", "x", np.tanh(X)),
    ("Softmax", "x", np.exp(X) / np.exp(X).sum(1, keepdims=True)),
    ("LogSoftmax", "x", X - np.log(np.exp(X).sum(1, keepdims=True))),
    ("MatMul", "x m", X @ M),
    ("Identity", "x", X),
    ("StopGradient", "x", X),
    ("CheckNumerics", "x", X),
]
GIVEN = (
    *(const("c", C), const("m", M)),
    *(const("zero", 0.0), const("half", 0.5), const("two", 2.0)),
    node("n", "Neg", "x"),
)


@pytest.mark.parametrize(("op", "inputs", "expected"), FORMULAS)
def test_what_is_computed_element_by_element(tmp_path, op, inputs, expected):
    found = over(tmp_path, X, *GIVEN, node("y", op, inputs), output="y")
    np.testing.assert_allclose(found, expected, rtol=2e-7, atol=1e-12)


def test_attributes_of_arithmetic(tmp_path):
    nodes = (const("m", M.T), node("y", "MatMul", "x m", transpose_b=True))
    close(over(tmp_path, X, *nodes), X @ M)
    close(over(tmp_path, X, node("y", "LeakyRelu", "x", alpha=0.25)), np.where(X > 0, X, X / 4))
    with pytest.raises(ModelError, match="MatMul 'y': it transposes the tensor"):
        over(tmp_path, X, const("m", M), node("y", "MatMul", "x m", transpose_a=True))
    bias = (const("c", C), node("y", "BiasAdd", "x c", data_format="NCHW"))
    first = np.moveaxis(IMAGES, 3, 1)
    close(over(tmp_path, first, *bias), first + C[:, None, None])


def test_a_constant_may_have_the_axis_of_the_batch(tmp_path):
    nodes = (const("c", C.reshape(1, 1, 1, 4)), node("y", "Add", "x c"))
    close(over(tmp_path, IMAGES, *nodes), IMAGES + C)
    with pytest.raises(ModelError, match=r"Add 'y': its offset \[2, 4\] does not fit \[4\]"):
        over(tmp_path, X, const("c", X), node("y", "Add", "x c"))


GAMMA, BETA, MEAN, VARIANCE = RANDOM.uniform(0.5, 2, size=(4, 4)).astype(np.float32)
NORM = (const("g", GAMMA), const("b", BETA), const("m", MEAN), const("v", VARIANCE))
NORMALIZED = GAMMA * (IMAGES - MEAN) / np.sqrt(VARIANCE + np.float32(0.01).astype(float)) + BETA


@pytest.mark.parametrize("op", ["FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"])
def test_batch_normalization_in_one_node(tmp_path, op):
    told = {"is_training": False, "epsilon": 0.01}
    y = node("y", op, "x g b m v", **told)
    close(over(tmp_path, IMAGES, *NORM, y), NORMALIZED)
    first = node("y", op, "x g b m v", data_format="NCHW", **told)
    found = over(tmp_path, np.moveaxis(IMAGES, 3, 1), *NORM, first)
    close(np.moveaxis(found, 1, 3), NORMALIZED)
    with pytest.raises(ModelError, match="is_training: every batch has a mean of its own"):
        over(tmp_path, IMAGES, *NORM, node("y", op, "x g b m v"))


def test_batch_normalization_spelled_out_is_folded_to_two_operators(tmp_path):
    spelled = (
        const("eps", np.float32(0.01)),
        node("add", "Add", "v eps"),
        node("rsqrt", "Rsqrt", "add"),
        node("scale", "Mul", "rsqrt g"),
        node("product", "Mul", "x scale"),
        node("shift", "Mul", "m scale"),
        node("rest", "Sub", "b shift"),
        node("y", "Add", "product rest"),
    )
    network = load(tmp_path, placeholder(-1, 7, 5, 4), *NORM, *spelled)
    assert [node.name for node in network.graph.nodes] == ["product", "y"]
    close(network.evaluate(IMAGES)["y"], NORMALIZED)


# Shapes

SHAPED = [
    ("Reshape", [[-1, 140]], {}, lambda x: x.reshape(len(x), -1)),
    ("Reshape", [[-1, 5, 7, 4]], {}, lambda x: x.reshape(-1, 5, 7, 4)),
    ("Reshape", [[1, 35, -1]], {}, lambda x: x.reshape(len(x), 35, 4)),
    ("ExpandDims", [1], {}, lambda x: x[:, None]),
    ("ExpandDims", [-1], {}, lambda x: x[..., None]),
    ("Transpose", [[0, 3, 1, 2]], {}, lambda x: x.transpose(0, 3, 1, 2)),
    ("Pad", [[[0, 0], [1, 2], [3, 0], [0, 0]]], {}, lambda x: windows(x, (1, 1), (1, 1), (1, 3, 2, 0))[..., 0, 0, :]),
    ("PadV2", [[[0, 0], [0, 0], [0, 0], [0, 1]], 2.5], {}, lambda x: np.pad(x, ((0, 0),) * 3 + ((0, 1),), constant_values=2.5)),
    ("Slice", [[0, 1, 0, 2], [-1, 3, -1, 1]], {}, lambda x: x[:, 1:4, :, 2:3]),
    ("StridedSlice", [[0, 1, 0, 0], [0, 6, 4, 0], [1, 2, 3, 1]], {"begin_mask": 13, "end_mask": 9}, lambda x: x[:, 1:6:2, :4:3]),
    ("StridedSlice", [[0, -2], [0, 0], [1, 1]], {"begin_mask": 1, "end_mask": 1, "shrink_axis_mask": 2}, lambda x: x[:, -2]),
    ("StridedSlice", [[0, 1], [0, 3], [1, 1]], {"ellipsis_mask": 1}, lambda x: x[..., 1:3]),
    ("StridedSlice", [[0, 0, 2], [0, 0, 3], [1, 1, 1]], {"begin_mask": 1, "end_mask": 1, "new_axis_mask": 2}, lambda x: x[:, None, 2:3]),
]  # fmt: skip


@pytest.mark.parametrize(("op", "constants", "attributes", "meaning"), SHAPED)
def test_elements_go_where_the_operator_says(tmp_path, op, constants, attributes, meaning):
    names = [f"c{i}" for i in range(len(constants))]
    given = [const(name, array) for name, array in zip(names, constants)]
    y = node("y", op, " ".join(["x", *names]), **attributes)
    found = over(tmp_path, IMAGES, *given, y)
    np.testing.assert_array_equal(found, meaning(IMAGES))


@pytest.mark.parametrize("dims", [[2, 3], [-2, -1], []])
def test_squeezed_axes_are_gone_but_not_the_batch(tmp_path, dims):
    x = IMAGES[:, :, :1, :1]
    named = {"squeeze_dims": dims} if dims else {}
    np.testing.assert_array_equal(
        over(tmp_path, x, node("y", "Squeeze", "x", **named)), x[:, :, 0, 0]
    )


@pytest.mark.parametrize(
    ("op", "inputs", "sizes"),
    [("Split", "axis x", [2, 2]), ("SplitV", "x sizes axis", [1, 3])],
)
def test_parts_that_are_split_and_joined(tmp_path, op, inputs, sizes):
    nodes = (
        *(const("axis", -1), const("sizes", [1, -1])),
        node("parts", op, inputs, num_split=2),
        node("y", "ConcatV2", "parts:1 parts:0 axis"),
    )
    first, second = np.split(IMAGES, [sizes[0]], -1)
    np.testing.assert_array_equal(
        over(tmp_path, IMAGES, *nodes), np.concatenate([second, first], -1)
    )


def test_shapes_that_the_graph_computes_are_known(tmp_path):
    """Keras' Flatten and Reshape, as they are frozen."""
    nodes = (
        node("shape", "Shape", "x"),
        *(const("zero", [0]), const("one", [1]), const("size", 140)),
        node("batch", "StridedSlice", "shape zero one one", shrink_axis_mask=1),
        node("to", "Pack", "batch size"),
        node("y", "Reshape", "x to"),
    )
    np.testing.assert_array_equal(over(tmp_path, IMAGES, *nodes), IMAGES.reshape(2, -1))


def test_a_dense_layer_over_the_last_of_several_axes(tmp_path):
    """Tensordot, as Keras' Dense comes to it: the batch is merged into the rows for a while."""
    x = IMAGES[..., 0][..., :4]
    nodes = (
        node("shape", "Shape", "x"),
        *(const("free", [0, 1]), const("last", [2]), const("zero", 0), const("all", [0])),
        node("outer", "GatherV2", "shape free zero"),
        node("inner", "GatherV2", "shape last zero"),
        *(node("rows", "Prod", "outer all"), node("columns", "Prod", "inner all")),
        node("flat", "Pack", "rows columns"),
        node("matrix", "Reshape", "x flat"),
        *(const("m", M), node("product", "MatMul", "matrix m")),
        *(const("out", [3]), node("to", "ConcatV2", "outer out zero")),
        node("y", "Reshape", "product to"),
    )
    close(over(tmp_path, x, *nodes), x @ M)


# Constants

FORMS = [
    tensor(np.float32([2, 2, 2])),
    tensor(np.float32([2, 2, 2]), float_val=[2]),
    tensor(np.float64([2, 2, 2])),
    tensor(np.float64([2, 2, 2]), double_val=[2, 2, 2]),
    tensor(np.int32([2, 2, 2]), int_val=[2]),
    tensor(np.int64([2, 2, 2]), int64_val=[2, 2]),
]


def halves(dtype, bits, **listed):
    message = tensor(np.float32([2, 2, 2]), **listed)
    message.dtype = dtype
    if not listed:
        message.tensor_content = np.uint16([bits] * 3).tobytes()
    return message


FORMS += [
    halves(HALF, 0x4000),
    halves(HALF, 0, half_val=[0x4000]),
    halves(BFLOAT16, 0x4000),
    halves(BFLOAT16, 0, half_val=[0x4000]),
]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: f"{form.dtype}-{len(form.tensor_content)}")
def test_a_constant_is_the_same_in_every_form(tmp_path, form):
    to_float = node("f", "Cast", "c", SrcT=Type(form.dtype), DstT=Type(FLOAT))
    nodes = (node("c", "Const", value=form), to_float, node("y", "Mul", "x f"))
    np.testing.assert_array_equal(over(tmp_path, X[:, 1:], *nodes), 2 * X[:, 1:])
    if form.dtype not in (INT32, 9):
        nodes = (node("c", "Const", value=form), node("y", "Mul", "x c"))
        np.testing.assert_array_equal(over(tmp_path, X[:, 1:], *nodes), 2 * X[:, 1:])


def test_elements_that_are_left_out_are_the_last_one_or_zero(tmp_path):
    nodes = (const("c", np.ones(4), float_val=[1, 5]), node("y", "Add", "x c"))
    np.testing.assert_array_equal(over(tmp_path, X, *nodes), X + [1, 5, 5, 5])
    nothing = tensor(np.float32([0, 0, 0, 0]))
    nothing.tensor_content = b""
    nodes = (node("c", "Const", value=nothing), node("y", "Add", "x c"))
    np.testing.assert_array_equal(over(tmp_path, X, *nodes), X)


def test_what_is_computed_of_constants_alone_is_computed_once(tmp_path):
    nodes = (
        *(const("a", [4.0, 9.0]), const("two", 2.0)),
        *(node("root", "Sqrt", "a"), node("square", "Square", "root")),
        *(node("minus", "Neg", "square"), node("quarter", "Reciprocal", "a")),
        *(node("one", "Mul", "minus quarter"), node("pow", "Pow", "one two")),
        *(node("big", "Maximum", "pow a"), node("small", "Minimum", "big two")),
        *(node("third", "RealDiv", "small a"), node("y", "Mul", "x third")),
    )
    network = load(tmp_path, placeholder(1, 2), *nodes)
    assert [node.name for node in network.graph.nodes] == ["y"]
    close(network.evaluate(np.ones((1, 2)))["y"], [[2 / 4, 2 / 9]])


REFUSED = [
    ("Conv2D", "x w", {"strides": [1, 1, 1, 1]}, r"its padding is '' \[\]; have: SAME, VALID"),
    ("Conv2D", "x w", {"padding": "SAME"}, r"its strides are \[0, 0, 0, 0\], must be 4 numbers"),
    ("Conv2D", "x w", {"padding": "SAME", "strides": [1, 1, 1, 2]}, "do not only move over height"),
    ("Conv2D", "x c", {"padding": "SAME", "strides": [1] * 4}, r"weights have the shape \[4\]"),
    (
        "Conv2D",
        "w w",
        {"padding": "SAME", "strides": [1] * 4},
        "input 'w' is a constant, must be c",
    ),
    ("Conv2D", "x w", {"data_format": "NCHW_VECT_C"}, "its data_format is 'NCHW_VECT_C'; have"),
    (
        "MaxPool",
        "x",
        {"ksize": [1, 9, 9, 1], "strides": [1] * 4, "padding": "VALID"},
        "of 9 .* not f",
    ),
    ("MaxPool", "x", {"ksize": 3}, "its attribute 'ksize' is of another kind"),
    ("Mean", "x channels", {}, r"over the axes \[3\] of \[1, 7, 5, 4\]; have: height, width"),
    ("Mean", "x batch", {}, "it works on the batch axis; samples must be independent"),
    ("Transpose", "x back", {}, "it moves the batch axis"),
    ("Pad", "x rows", {}, "pads the batch axis"),
    ("Reshape", "x back", {}, r"\[1, 7, 5, 4\] can not become \[3, 2, 1, 0\]"),
    ("Reshape", "x c", {}, "must be a short list of integers"),
    ("Add", "x w", {}, r"its offset \[3, 2, 4, 6\] does not fit \[7, 5, 4\]"),
    ("Add", "x nan", {}, "must hold finite real numbers"),
    ("RealDiv", "x zero", {}, "it divides by zero"),
    ("RealDiv", "zero x", {}, "input 'zero' is a constant, must be computed"),
    ("Maximum", "x c", {}, r"reads a constant \[4\] where one number is meant"),
    ("Minimum", "x nan", {}, "must hold finite real numbers"),
    ("BiasAdd", "x nan", {}, "must hold finite"),
    ("MatMul", "x w", {}, r"multiplies \[1, 7, 5, 4\] by \[3, 2, 4, 6\]; have: rows by a matrix"),
    ("Cast", "x", {"DstT": Type(INT32)}, "it makes int32 of a tensor; have: floats"),
    ("ConcatV2", "x w channels", {}, "it joins constants and tensors"),
    ("Split", "channels x", {"num_split": 3}, "4 elements can not be split into 3 equal parts"),
    ("StridedSlice", "x c c c", {}, "must be a short list of integers"),
    ("StridedSlice", "x batch batch batch", {}, r"can not cut \[0\] to \[0\] by \[0\]"),
    ("Identity", "missing", {}, "'y' reads 'missing', which no node makes"),
    ("AddN", "x", {}, "it adds 1 terms"),
]


@pytest.mark.parametrize(("op", "inputs", "attributes", "message"), REFUSED)
def test_what_an_operator_can_not_do_is_refused(tmp_path, op, inputs, attributes, message):
    given = (
        *(const("w", WEIGHTS), const("c", C), const("channels", [3]), const("batch", [0])),
        *(const("back", [3, 2, 1, 0]), const("rows", [[1, 1], [0, 0], [0, 0], [0, 0]])),
        *(const("zero", 0.0), const("nan", np.float32("nan"))),
    )
    with pytest.raises(ModelError, match=message):
        over(tmp_path, IMAGES, *given, node("y", op, inputs, **attributes))
