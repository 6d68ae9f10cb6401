"""Operators that SavedModels spell out: Einsum, Pack, Unpack, Range, Erfc, blocks for dilation."""

import math

import numpy as np
import pytest
from tensorflow_files import const, load, node, over, placeholder

from qemu_nn.errors import ModelError
from qemu_nn.optimize import optimize
from qemu_nn.runtime.evaluate import evaluate

DRAW = np.random.default_rng(4)


@pytest.mark.parametrize(
    ("equation", "first", "second"),
    [
        ("BTNH,BSNH->BNTS", (5, 2, 3), (4, 2, 3)),
        ("BNTS,BSNH->BTNH", (2, 5, 4), (4, 2, 3)),
        ("abc,abd->acd", (4, 3), (4, 2)),
        ("bij,bjk->bki", (3, 4), (4, 2)),
    ],
)
def test_einsum_of_two_tensors_is_a_product(tmp_path, equation, first, second):
    sizes = math.prod(first), math.prod(second)
    x = DRAW.normal(size=(3, sum(sizes))).astype(np.float32)
    nodes = (
        const("at", list(sizes)),
        const("axis", 1),
        node("parts", "SplitV", "x at axis"),
        const("to_a", [-1, *first]),
        const("to_b", [-1, *second]),
        node("a", "Reshape", "parts to_a"),
        node("b", "Reshape", "parts:1 to_b"),
        node("y", "Einsum", "a b", equation=equation),
    )
    a, b = x[:, : sizes[0]].reshape(3, *first), x[:, sizes[0] :].reshape(3, *second)
    found = over(tmp_path, x, *nodes)
    np.testing.assert_allclose(found, np.einsum(equation, a, b), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("equation", "weights"),
    [("nik,kj->nij", (5, 3)), ("abc,cde->abde", (5, 3, 2)), ("abc,bcd->ad", (4, 5, 3))],
)
def test_einsum_with_a_constant_is_a_fully_connected_layer(tmp_path, equation, weights):
    x, w = DRAW.normal(size=(2, 4, 5)), DRAW.normal(size=weights)
    found = over(tmp_path, x, const("w", w), node("y", "Einsum", "x w", equation=equation))
    np.testing.assert_allclose(found, np.einsum(equation, x, w), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("equation", "message"),
    [
        ("ab...,bc->ac", "does not fit"),
        ("abb,bc->ac", "does not fit"),
        ("abc,cd->bad", "mixes samples"),
        ("abc,cd->abcd", "is no product over common axes"),
        ("abc,cd->ad", "is no product over common axes"),
        ("abc,dd->ab", "does not fit"),
        ("", "does not fit"),
    ],
)
def test_other_equations_are_refused(tmp_path, equation, message):
    nodes = (const("w", np.ones((5, 3))), node("y", "Einsum", "x w", equation=equation))
    with pytest.raises(ModelError, match=message):
        over(tmp_path, np.ones((1, 4, 5)), *nodes)


def test_unpacked_rows_are_packed_again_along_another_axis(tmp_path):
    x = DRAW.normal(size=(2, 3, 4)).astype(np.float32)
    nodes = (
        node("rows", "Unpack", "x", num=3, axis=1),
        node("y", "Pack", "rows:2 rows rows:1", axis=-1),
    )
    np.testing.assert_array_equal(over(tmp_path, x, *nodes), x[:, [2, 0, 1]].transpose(0, 2, 1))
    with pytest.raises(ModelError, match="the output 'y' is a constant or not a tensor"):
        over(tmp_path, x, nodes[0], node("y", "Pack", "rows rows:1", axis=0))
    with pytest.raises(ModelError, match="it makes 2 tensors of"):
        over(tmp_path, x, node("rows", "Unpack", "x", num=2, axis=1), node("y", "Relu", "rows:1"))


def test_a_range_of_constants_gives_places(tmp_path):
    x = DRAW.normal(size=(2, 6)).astype(np.float32)
    steps = (const("first", 5), const("end", -1), const("step", -2), const("axis", 1))
    places = node("places", "Range", "first end step")
    found = over(tmp_path, x, *steps, places, node("y", "GatherV2", "x places axis"))
    np.testing.assert_array_equal(found, x[:, [5, 3, 1]])
    none = (*steps[:2], const("step", 0), steps[3])
    with pytest.raises(ModelError, match="its step must not be 0"):
        over(tmp_path, x, *none, places, node("y", "GatherV2", "x places axis"))


def test_the_complement_of_erf_and_a_constant_of_more_elements(tmp_path):
    x = np.linspace(-2, 2, 9).reshape(3, 3, 1).astype(np.float32)
    row = np.array([1.0, -2.0, 3.0])
    found = over(tmp_path, x, const("row", row), node("e", "Erfc", "x"), node("y", "Mul", "e row"))
    wanted = np.vectorize(math.erfc)(x) * row
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def blocks(x, borders, crops, weights, op="Conv2D", block=(2, 3), **more):
    """Return a convolution between SpaceToBatchND and BatchToSpaceND."""
    return (
        const("block", list(block)),
        const("borders", np.array(borders)),
        const("crops", np.array(crops)),
        const("w", weights),
        node("spread", "SpaceToBatchND", f"{x} block borders"),
        node("conv", op, "spread w", strides=[1, 1, 1, 1], padding="VALID", **more),
        node("y", "BatchToSpaceND", "conv block crops"),
    )


@pytest.mark.parametrize(
    ("op", "shape"), [("Conv2D", (3, 3, 2, 4)), ("DepthwiseConv2dNative", (3, 3, 2, 1))]
)
def test_blocks_around_a_convolution_are_its_dilation(tmp_path, op, shape):
    x, w = DRAW.normal(size=(2, 10, 13, 2)), DRAW.normal(size=shape)
    found = over(tmp_path, x, *blocks("x", [[2, 4], [3, 5]], [[0, 2], [0, 2]], w, op))
    pads = [0, 0, 2, 2, 3, 3, 0, 0]
    how = {"strides": [1, 1, 1, 1], "dilations": [1, 2, 3, 1], "padding": "EXPLICIT"}
    wanted = over(tmp_path, x, const("w", w), node("y", op, "x w", explicit_paddings=pads, **how))
    assert found.shape == wanted.shape == (2, 10, 13, wanted.shape[-1])
    np.testing.assert_array_equal(found, wanted)


def test_blocks_around_a_signal_are_its_dilation(tmp_path):
    x, w = DRAW.normal(size=(2, 12, 2)), DRAW.normal(size=(1, 3, 2, 4))
    nodes = (
        const("block", [2]),
        const("borders", np.array([[4, 0]])),
        const("crops", np.array([[0, 0]])),
        const("w", w),
        const("axis", -3),
        node("spread", "SpaceToBatchND", "x block borders"),
        node("image", "ExpandDims", "spread axis"),
        node("conv", "Conv2D", "image w", strides=[1, 1, 1, 1], padding="VALID"),
        node("row", "Squeeze", "conv", squeeze_dims=[-3]),
        node("y", "BatchToSpaceND", "row block crops"),
    )
    found = over(tmp_path, x, *nodes)
    padded = np.pad(x, ((0, 0), (4, 0), (0, 0)))
    wanted = sum(padded[:, 2 * k : 2 * k + 12] @ w[0, k] for k in range(3))
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_blocks_that_are_no_dilation_are_refused(tmp_path):
    x, w = np.ones((1, 8, 8, 2)), np.ones((3, 3, 2, 4))
    other = list(blocks("x", [[2, 2], [2, 2]], [[0, 0], [0, 0]], w, block=(2, 2)))
    other.insert(6, node("act", "Relu", "conv"))
    other[-1] = node("y", "BatchToSpaceND", "act block crops")
    with pytest.raises(ModelError, match="not supported: SpaceToBatchND 'spread', BatchToSpaceND"):
        over(tmp_path, x, *other)


def layer_normalization(shift="x"):
    """Return a layer normalization as Keras 3 spells it; shift: the source of the second mean."""
    return (
        const("axes", [2]),
        const("epsilon", 1e-3),
        const("gamma", np.linspace(0.5, 2, 5)),
        const("beta", np.linspace(-1, 1, 5)),
        node("mean", "Mean", "x axes", keep_dims=True),
        node("away", "SquaredDifference", "x mean"),
        node("variance", "Mean", "away axes", keep_dims=True),
        node("spread", "AddV2", "variance epsilon"),
        node("root", "Rsqrt", "spread"),
        node("factor", "Mul", "root gamma"),
        node("scaled", "Mul", "x factor"),
        *([] if shift == "x" else [node("other", "Mean", f"{shift} axes", keep_dims=True)]),
        node("negated", "Neg", "mean" if shift == "x" else "other"),
        node("moved", "Mul", "negated factor"),
        node("shifted", "AddV2", "moved beta"),
        node("y", "AddV2", "scaled shifted"),
    )


@pytest.mark.parametrize("shift", ["x", "away"])
def test_a_spelled_layer_normalization_becomes_one_operator(tmp_path, shift):
    x = DRAW.normal(size=(3, 4, 5)).astype(np.float32)
    graph = load(tmp_path, placeholder(-1, 4, 5), *layer_normalization(shift)).graph
    optimized, _ = optimize(graph)
    kinds = [type(each.operator).__name__ for each in optimized.nodes]
    assert (kinds == ["Normalize", "Affine"]) == (shift == "x")
    found, wanted = (evaluate(each, x)["y"] for each in (optimized, graph))
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
