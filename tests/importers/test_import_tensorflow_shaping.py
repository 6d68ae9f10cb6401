"""Operators of TensorFlow that move elements, and constants in all their forms."""

import numpy as np
import pytest
from tensorflow_files import (
    BFLOAT16,
    FLOAT,
    HALF,
    INT32,
    INT64,
    Type,
    const,
    load,
    node,
    over,
    placeholder,
    tensor,
)

IMAGES = np.random.default_rng(4).normal(size=(2, 7, 5, 4))
X = np.array([[-8.0, -0.5, 0.0, 3.0], [1.0, 2.0, 7.0, 9.0]])


def padded(x, rows, columns):
    return np.pad(x, ((0, 0), rows, columns, (0, 0)))


SHAPED = [
    ("Reshape", [[-1, 140]], {}, lambda x: x.reshape(len(x), -1)),
    ("Reshape", [[-1, 5, 7, 4]], {}, lambda x: x.reshape(-1, 5, 7, 4)),
    ("Reshape", [[1, 35, -1]], {}, lambda x: x.reshape(len(x), 35, 4)),
    ("ExpandDims", [1], {}, lambda x: x[:, None]),
    ("ExpandDims", [-1], {}, lambda x: x[..., None]),
    ("Transpose", [[0, 3, 1, 2]], {}, lambda x: x.transpose(0, 3, 1, 2)),
    ("Pad", [[[0, 0], [1, 2], [3, 0], [0, 0]]], {}, lambda x: padded(x, (1, 2), (3, 0))),
    ("PadV2", [[[0, 0], [0, 0], [0, 0], [0, 1]], 2.5], {}, lambda x: np.insert(x, 4, 2.5, 3)),
    ("Slice", [[0, 1, 0, 2], [-1, 3, -1, 1]], {}, lambda x: x[:, 1:4, :, 2:3]),
    (
        "StridedSlice",
        [[0, 1, 0, 0], [0, 6, 4, 0], [1, 2, 3, 1]],
        {"begin_mask": 13, "end_mask": 9},
        lambda x: x[:, 1:6:2, :4:3],
    ),
    (
        "StridedSlice",
        [[0, -2], [0, 0], [1, 1]],
        {"begin_mask": 1, "end_mask": 1, "shrink_axis_mask": 2},
        lambda x: x[:, -2],
    ),
    (
        "StridedSlice",
        [[0, -1], [0, 0], [1, 1]],
        {"begin_mask": 1, "end_mask": 1, "shrink_axis_mask": 2},
        lambda x: x[:, -1],
    ),
    ("StridedSlice", [[0, 1], [0, 3], [1, 1]], {"ellipsis_mask": 1}, lambda x: x[..., 1:3]),
    (
        "StridedSlice",
        [[0, 0, 2], [0, 0, 3], [1, 1, 1]],
        {"begin_mask": 1, "end_mask": 1, "new_axis_mask": 2},
        lambda x: x[:, None, 2:3],
    ),
]


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


def test_what_is_squeezed_is_still_a_batch_of_rows(tmp_path):
    x, weights = IMAGES[:, :, :1, :1], np.ones((7, 2))
    nodes = (node("rows", "Squeeze", "x"), const("w", weights), node("y", "MatMul", "rows w"))
    np.testing.assert_allclose(over(tmp_path, x, *nodes), x[:, :, 0, 0] @ weights)


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
    x, weights = IMAGES[..., 0][..., :4], np.arange(12.0).reshape(4, 3)
    nodes = (
        node("shape", "Shape", "x"),
        *(const("free", [0, 1]), const("last", [2]), const("zero", 0), const("all", [0])),
        node("outer", "GatherV2", "shape free zero"),
        node("inner", "GatherV2", "shape last zero"),
        *(node("rows", "Prod", "outer all"), node("columns", "Prod", "inner all")),
        node("flat", "Pack", "rows columns"),
        node("matrix", "Reshape", "x flat"),
        *(const("m", weights), node("product", "MatMul", "matrix m")),
        *(const("out", [3]), node("to", "ConcatV2", "outer out zero")),
        node("y", "Reshape", "product to"),
    )
    np.testing.assert_allclose(over(tmp_path, x, *nodes), x @ weights)


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
    if form.dtype not in (INT32, INT64):
        nodes = (node("c", "Const", value=form), node("y", "Mul", "x c"))
        np.testing.assert_array_equal(over(tmp_path, X[:, 1:], *nodes), 2 * X[:, 1:])


def test_elements_that_are_left_out_are_the_last_one_or_zero(tmp_path):
    nodes = (const("c", np.ones(4), float_val=[1, 5]), node("y", "Add", "x c"))
    np.testing.assert_array_equal(over(tmp_path, X, *nodes), X + np.array([1, 5, 5, 5]))
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
    np.testing.assert_allclose(network.evaluate(np.ones((1, 2)))["y"], [[2 / 4, 2 / 9]])
