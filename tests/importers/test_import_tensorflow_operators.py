"""Every operator of TensorFlow that is read, against what it means written out by hand."""

import numpy as np
import pytest
from tensorflow_files import (
    INT32,
    Type,
    const,
    load,
    node,
    over,
    placeholder,
)

from qemu_nn.errors import ModelError
from qemu_nn.operators import Relu

RANDOM = np.random.default_rng(4)
IMAGES = RANDOM.normal(size=(2, 7, 5, 4))


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


# Windows


def windows(x, kernel, stride, pads, dilation=(1, 1), fill=0.0):
    """Return [N, windows down, windows across, y, x, channels] of NHWC images."""
    top, left, bottom, right = pads
    x = np.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0)), constant_values=fill)
    span = [(k - 1) * d + 1 for k, d in zip(kernel, dilation)]
    view = np.lib.stride_tricks.sliding_window_view(x, span, (1, 2))
    view = view[:, :: stride[0], :: stride[1], :, :: dilation[0], :: dilation[1]]
    return view.transpose(0, 1, 2, 4, 5, 3)


WEIGHTS = RANDOM.normal(size=(3, 2, 4, 6)).astype(np.float32)
# 7 rows, stride 2: 4 windows need 9 rows; 5 columns, 3 windows: 6 columns. The odd one comes after.
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
    """Return an attribute of four axes, or of two numbers for each, in the order NCHW."""
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


def test_means_of_rows_equal_numpy(tmp_path):
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
    ("RealDiv", "x e", X / np.exp(X)),
    ("RealDiv", "c e", C / np.exp(X)),
    ("SquaredDifference", "x n", 4 * X * X),
    ("SquaredDifference", "x c", (X - C) ** 2),
    ("Square", "x", X * X),
    ("Pow", "e half", np.exp(X) ** 0.5),
    ("Pow", "x two", X * X),
    ("Rsqrt", "e", np.exp(-X / 2)),
    ("Sqrt", "e", np.exp(X / 2)),
    ("Log", "e", X),
    ("Abs", "x", np.abs(X)),
    ("Elu", "x", np.where(X > 0, X, np.expm1(X))),
    ("Softplus", "x", np.log1p(np.exp(X))),
    ("Softsign", "x", X / (1 + np.abs(X))),
    ("GatherV2", "x places one", X[:, [3, 0, 0]]),
    ("Tile", "x twice", np.tile(X, (1, 2))),
    ("MirrorPad", "x around", np.pad(X, ((0, 0), (2, 1)), "reflect")),
    ("ArgMax", "x one", X.argmax(1)),
    ("Sum", "x one", X.sum(1)),
    ("Min", "x one", X.min(1)),
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
    *(node("n", "Neg", "x"), node("e", "Exp", "x")),
    *(const("places", [3, 0, 0]), const("one", 1), const("twice", [1, 2])),
    const("around", [[0, 0], [2, 1]]),
)


@pytest.mark.parametrize(("op", "inputs", "expected"), FORMULAS)
def test_what_is_computed_element_by_element(tmp_path, op, inputs, expected):
    how = {"mode": "REFLECT"} if op == "MirrorPad" else {}
    found = over(tmp_path, X, *GIVEN, node("y", op, inputs, **how), output="y")
    np.testing.assert_allclose(found, expected, rtol=2e-7, atol=1e-12)


def test_attributes_of_arithmetic_are_applied_or_refused(tmp_path):
    nodes = (const("m", M.T), node("y", "MatMul", "x m", transpose_b=True))
    close(over(tmp_path, X, *nodes), X @ M)
    close(over(tmp_path, X, node("y", "LeakyRelu", "x", alpha=0.25)), np.where(X > 0, X, X / 4))
    with pytest.raises(ModelError, match="MatMul 'y': it transposes its computed input"):
        over(tmp_path, X, const("m", M), node("y", "MatMul", "x m", transpose_a=True))
    bias = (const("c", C), node("y", "BiasAdd", "x c", data_format="NCHW"))
    first = np.moveaxis(IMAGES, 3, 1)
    close(over(tmp_path, first, *bias), first + C[:, None, None])


def test_a_constant_may_have_the_axis_of_the_batch(tmp_path):
    nodes = (const("c", C.reshape(1, 1, 1, 4)), node("y", "Add", "x c"))
    close(over(tmp_path, IMAGES, *nodes), IMAGES + C)
    with pytest.raises(
        ModelError,
        match=r"Add 'y': its offset has the shape \[2, 4\], which does not broadcast",
    ):
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
    with pytest.raises(
        ModelError, match="is_training is set, so that every batch has its own mean"
    ):
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


def test_what_is_limited_from_zero_is_a_relu(tmp_path):
    y = node("y", "ClipByValue", "x zero two")
    graph = load(tmp_path, placeholder(-1, 4), *GIVEN, y, output="y").graph
    assert graph.node("y").operator == Relu(limit=2.0)
    y = node("y", "Maximum", "x zero")
    graph = load(tmp_path, placeholder(-1, 4), *GIVEN, y, output="y").graph
    assert graph.node("y").operator == Relu()


POOL = {"ksize": [1, 2, 2, 1], "strides": [1, 1, 1, 1], "padding": "SAME"}


@pytest.mark.parametrize(("padding", "size"), [("SAME", (14, 10)), ("VALID", (15, 10))])
def test_a_transposed_convolution_is_the_gradient_of_a_convolution(tmp_path, padding, size):
    weights = RANDOM.normal(size=(3, 2, 6, 4)).astype(np.float32)
    how = {"strides": [1, 2, 2, 1], "padding": padding}
    sizes = const("size", [1, *size, 6])
    nodes = (sizes, const("w", weights), node("y", "Conv2DBackpropInput", "size w x", **how))
    y = over(tmp_path, IMAGES, *nodes)
    z = RANDOM.normal(size=(2, *size, 6))
    forward = over(tmp_path, z, const("w", weights), node("y", "Conv2D", "x w", **how))
    assert y.shape == z.shape
    np.testing.assert_allclose((y * z).sum(), (forward * IMAGES).sum(), rtol=1e-6)


def test_images_are_resized_and_their_blocks_moved(tmp_path):
    size = const("size", [14, 10])
    found = over(tmp_path, IMAGES, size, node("y", "ResizeNearestNeighbor", "x size"))
    close(found, IMAGES.repeat(2, axis=1).repeat(2, axis=2))
    how = {"half_pixel_centers": True}
    found = over(tmp_path, IMAGES, size, node("y", "ResizeBilinear", "x size", **how))
    inner = found[:, 2:-2, 2:-2].reshape(2, 5, 2, 3, 2, 4).mean((2, 4))
    around = [IMAGES[:, 1 + i : 6 + i, 1 + j : 4 + j] for i in (-1, 0, 1) for j in (-1, 0, 1)]
    share = np.outer([1, 6, 1], [1, 6, 1]).ravel() / 64
    close(inner, sum(factor * part for factor, part in zip(share, around)))
    blocks = over(tmp_path, IMAGES, node("y", "DepthToSpace", "x", block_size=2))
    close(blocks, IMAGES.reshape(2, 7, 5, 2, 2, 1).swapaxes(2, 3).reshape(2, 14, 10, 1))


def test_rows_are_multiplied_by_computed_rows(tmp_path):
    x = IMAGES[..., 0]
    found = over(tmp_path, x, node("y", "BatchMatMulV2", "x x", adj_y=True))
    close(found, x @ x.swapaxes(1, 2))


def around(*pads):
    return {"padding": "EXPLICIT", "explicit_paddings": list(pads)}


REFUSED = [
    ("Conv2D", "x w", {"strides": [1, 1, 1, 1]}, r"its padding is '' \[\]; have: SAME, VALID"),
    (
        "Conv2D",
        "x w",
        {"padding": "SAME"},
        r"its strides must be 4 numbers from 1 to 4096, not \(\)",
    ),
    (
        "Conv2D",
        "x w",
        {"padding": "SAME", "strides": [1, 1, 1, 2]},
        "must be 1 but for height and width",
    ),
    ("Conv2D", "x c", {"padding": "SAME", "strides": [1] * 4}, r"weights have the shape \[4\]"),
    ("Conv2D", "x w", {"data_format": "NCHW_VECT_C"}, "its data_format is 'NCHW_VECT_C'; have"),
    (
        "MaxPool",
        "x",
        {"ksize": [1, 9, 9, 1], "strides": [1] * 4, "padding": "VALID"},
        "of 9 .* is larger than 7",
    ),
    ("MaxPool", "x", {"ksize": 3}, "its attribute 'ksize' has the wrong type"),
    ("Mean", "x batch", {}, "it works on the batch axis; samples must be independent"),
    ("Transpose", "x back", {}, "it moves the batch axis"),
    ("Pad", "x rows", {}, "pads the batch axis"),
    ("Reshape", "x back", {}, r"\[1, 7, 5, 4\] cannot be reshaped to \[3, 2, 1, 0\]"),
    ("Reshape", "x c", {}, "must be a short list of integers"),
    ("Add", "x w", {}, r"its offset has the shape \[3, 2, 4, 6\], which does not broadcast"),
    ("Add", "x nan", {}, "has values that are no finite numbers"),
    ("RealDiv", "x zero", {}, "it divides by zero"),
    ("Pow", "x c", {}, "it must be one number"),
    ("ArgMax", "x batch", {}, "it works on the batch axis"),
    ("GatherV2", "x hole channels", {}, "places are not all within the 4 elements"),
    ("Tile", "x c", {}, "must be a short list of integers"),
    ("MirrorPad", "x rows", {"mode": "REFLECT"}, "it works on the batch axis"),
    ("MirrorPad", "x rows", {"mode": "EDGE"}, "its mode 'EDGE' are not supported"),
    ("ResizeBilinear", "x hole", {}, "must be height and width"),
    ("SpaceToDepth", "x", {"block_size": 2}, "blocks of 2 do not divide 7 x 5"),
    ("Maximum", "x c", {}, r"a constant that it reads is \[4\]"),
    ("Minimum", "x nan", {}, "has values that are no finite numbers"),
    ("BiasAdd", "x nan", {}, "no finite numbers"),
    (
        "MatMul",
        "x w",
        {},
        r"its inputs are \[1, 7, 5, 4\] and \[3, 2, 4, 6\]; the second must be a matrix",
    ),
    (
        "Cast",
        "x",
        {"DstT": Type(INT32)},
        "it converts a tensor to int32; only floats are supported",
    ),
    ("ConcatV2", "x w channels", {}, "it joins constants and tensors"),
    ("Split", "channels x", {"num_split": 3}, "4 elements cannot be split into 3 equal parts"),
    ("StridedSlice", "x c c c", {}, "must be a short list of integers"),
    ("StridedSlice", "x batch batch batch", {}, r"cannot slice from \[0\] to \[0\] by \[0\]"),
    ("Identity", "missing", {}, "'y' reads 'missing', which no node computes"),
    ("AddN", "x", {}, "it adds 1 terms"),
    ("DepthwiseConv2dNative", "x none", {}, "has values that are no finite numbers"),
    ("ConcatV2", "x x rows", {}, "reads the integers .* where it needs one"),
    ("Reshape", "x long", {}, "must be a short list of integers"),
    ("Reshape", "x hole", {}, r"cannot be reshaped to \[0, -1\]"),
    ("Squeeze", "x", {"squeeze_dims": [1]}, r"\[7, 5, 4\] cannot be reshaped to \[5, 4\]"),
    ("Squeeze", "x", {"squeeze_dims": [1] * 65}, "'squeeze_dims' has more than 64 numbers"),
    (
        "StridedSlice",
        "x ones ones ones",
        {"begin_mask": 31, "end_mask": 31},
        "it slices more axes than",
    ),
    ("StridedSlice", "x back back ones", {}, "it cannot slice from"),
    ("SplitV", "x hole channels", {}, r"4 elements cannot be split into \[0, -1\]"),
    (
        "FusedBatchNorm",
        "x c c c c",
        {"is_training": False},
        "its variance has values of 0 or below",
    ),
    ("MaxPool", "x", {**POOL, "strides": [1, 0, 1, 1]}, "must be 4 numbers from 1 to 4096"),
    ("MaxPool", "x", {**POOL, "ksize": [1, 1, 2**40, 1]}, "must be 4 numbers from 1 to 4096"),
    (
        "MaxPool",
        "x",
        {**POOL, **around(1, 0, 0, 0, 0, 0, 0, 0)},
        "must be 0 but for height and width",
    ),
    (
        "MaxPool",
        "x",
        {**POOL, **around(0, 0, 0, 0, 0, 0, 0, 1)},
        "must be 0 but for height and width",
    ),
    ("MaxPool", "x", {**POOL, **around(0, 0, 0, 2**40, 0, 0, 0, 0)}, "its padding is 'EXPLICIT'"),
]


@pytest.mark.parametrize(("op", "inputs", "attributes", "message"), REFUSED)
def test_what_an_operator_cannot_do_is_refused(tmp_path, op, inputs, attributes, message):
    given = (
        *(const("w", WEIGHTS), const("c", C), const("channels", [3]), const("batch", [0])),
        *(const("back", [3, 2, 1, 0]), const("rows", [[1, 1], [0, 0], [0, 0], [0, 0]])),
        *(const("zero", 0.0), const("nan", np.float32("nan")), const("hole", [0, -1])),
        *(const("none", np.ones((3, 2, 4, 0))), const("long", [1] * 65), const("ones", [1] * 5)),
    )
    with pytest.raises(ModelError, match=message):
        over(tmp_path, IMAGES, *given, node("y", op, inputs, **attributes))
