"""Float networks of many operators, quantized, pass their self-test on an emulated Cortex-M4."""

import numpy as np
import pytest
from exported import check, needs, write

import qemu_nn
from qemu_nn.api import golden as pipeline
from qemu_nn.ir.float_graph import FloatGraph, FloatNode
from qemu_nn.operators import (
    Affine,
    ArgMax,
    Concat,
    Conv,
    ConvTranspose,
    Dense,
    DepthToSpace,
    Elementwise,
    Gather,
    Lstm,
    MatMul,
    Normalize,
    Pool,
    PRelu,
    Reduce,
    Relu,
    Reshape,
    Resize,
    Sigmoid,
    Slice,
    Softmax,
    SpaceToDepth,
    Tanh,
    Transpose,
)
from qemu_nn.operators.curve import SELU, X, elu, gelu, mish

pytestmark = [needs("m4"), pytest.mark.compiles]
RNG = np.random.default_rng(12)


def conv(out, inputs, side=3, **how):
    pads = (side // 2,) * 4
    weights = RNG.normal(size=(out, side, side, inputs)) / side / inputs**0.5
    return Conv(weights, RNG.normal(size=out) / 4, **{"pads": pads, **how})


def dense(out, inputs):
    return Dense(RNG.normal(size=(out, inputs)) / inputs**0.5, RNG.normal(size=out) / 4)


def encoder_decoder():
    """Return a segmentation: down, up by a transposed convolution, a skip, the class of a pixel."""
    return (8, 8, 3), [
        ("down", conv(8, 3, stride=(2, 2)), "x"),
        ("bent", PRelu(RNG.uniform(0, 0.4, 8)), "down"),
        (
            "up",
            ConvTranspose(RNG.normal(size=(4, 3, 3, 8)) / 5, None, (2, 2), (1, 1, 0, 0)),
            "bent",
        ),
        ("both", Concat(2), "up x"),
        ("scores", conv(3, 7), "both"),
        ("best", ArgMax(2), "scores"),
    ]


def pyramid():
    return (8, 8, 4), [
        ("small", conv(6, 4, stride=(2, 2)), "x"),
        ("large", Resize("bilinear", (8, 8), half_pixel=True), "small"),
        ("near", Resize("nearest", (8, 8)), "small"),
        ("sum", Elementwise("add"), "large near"),
        ("out", conv(2, 6), "sum"),
    ]


def super_resolution():
    return (6, 6, 3), [
        ("blocks", SpaceToDepth(2), "x"),
        ("a", conv(16, 12), "blocks"),
        ("act", elu(), "a"),
        ("b", conv(12, 16), "act"),
        ("out", DepthToSpace(2, blocks_first=False), "b"),
    ]


def attention():
    return (6, 8), [
        ("n", Normalize((1,)), "x"),
        ("q", dense(8, 8), "n"),
        ("k", dense(8, 8), "n"),
        ("v", dense(8, 8), "n"),
        ("scores", MatMul(transposed=True), "q k"),
        ("weights", Softmax(1), "scores"),
        ("mixed", MatMul(), "weights v"),
        ("sum", Elementwise("add"), "x mixed"),
        ("m", Normalize((1,), centered=False), "sum"),
        ("wide", dense(16, 8), "m"),
        ("act", gelu(), "wide"),
        ("mean", Reduce("mean", (0,)), "act"),
        ("out", dense(3, 16), "mean"),
    ]


def memory():
    arrays = (RNG.normal(size=size) / 2 for size in ((4, 6, 5), (4, 6, 6), (4, 6)))
    return (7, 5), [
        ("hidden", Lstm(*arrays), "x"),
        ("last", Slice(0, 6, 7), "hidden"),
        ("vector", Reshape((6,)), "last"),
        ("out", dense(3, 6), "vector"),
    ]


def instance_normalization():
    return (6, 6, 3), [
        ("edge", Gather(0, (1, 0, 1, 2, 3, 4, 5, 4)), "x"),
        ("around", Gather(1, (1, 0, 1, 2, 3, 4, 5, 4)), "edge"),
        ("a", conv(8, 3, pads=(0, 0, 0, 0)), "around"),
        ("n", Normalize((0, 1)), "a"),
        ("scaled", Affine(RNG.normal(size=8), RNG.normal(size=8)), "n"),
        ("out", mish(), "scaled"),
    ]


def groups():
    return (4, 4, 8), [
        ("g", Reshape((4, 4, 2, 4)), "x"),
        ("n", Normalize((0, 1, 3)), "g"),
        ("w", Reshape((4, 4, 8)), "n"),
        ("act", elu(*SELU), "w"),
        ("max", Reduce("max", (0, 1)), "act"),
        ("sum", Reduce("sum", (0, 1)), "act"),
        ("both", Concat(2), "max sum"),
        ("flat", Reshape((16,)), "both"),
        ("out", dense(4, 16), "flat"),
    ]


def squeeze_and_excitation():
    return (6, 6, 8), [
        ("a", conv(8, 8), "x"),
        ("pool", Pool("average", (6, 6)), "a"),
        ("down", conv(4, 8, 1), "pool"),
        ("act", Relu(), "down"),
        ("up", conv(8, 4, 1), "act"),
        ("gate", Sigmoid(), "up"),
        ("gated", Elementwise("multiply"), "a gate"),
        ("soft", X.of("softplus"), "gated"),
        ("out", Reduce("mean", (0, 1)), "soft"),
    ]


def lengths():
    return (10,), [
        ("a", dense(8, 10), "x"),
        ("squares", Elementwise("multiply"), "a a"),
        ("sum", Reduce("sum", (0,)), "squares"),
        ("root", X.of("sqrt").maximum(1e-6), "sum"),
        ("out", Elementwise("divide"), "a root"),
    ]


def gates():
    """Return one step of a GRU."""
    return (2, 6), [
        ("first", Reshape((12,)), "x"),
        ("a", dense(6, 12), "first"),
        ("z", Sigmoid(), "a"),
        ("b", dense(6, 12), "first"),
        ("n", Tanh(), "b"),
        ("away", Elementwise("subtract"), "n z"),
        ("moved", Elementwise("multiply"), "z away"),
        ("h", Elementwise("add"), "n moved"),
        ("row", Reshape((2, 3)), "h"),
        ("turned", Transpose((1, 0)), "row"),
        ("out", Softmax(0), "turned"),
    ]


NETWORKS = (
    *(encoder_decoder, pyramid, super_resolution, attention, memory, instance_normalization),
    *(groups, squeeze_and_excitation, lengths, gates),
)


@pytest.mark.parametrize("make", NETWORKS, ids=lambda make: make.__name__)
def test_a_network_passes_on_an_emulated_device(make, tmp_path):
    shape, described = make()
    nodes = tuple(FloatNode(name, op, tuple(names.split())) for name, op, names in described)
    layout = "NHWC" if len(shape) == 3 else None
    graph = FloatGraph(make.__name__, "x", shape, layout, nodes, (nodes[-1].name,))
    x = RNG.normal(size=(24, *shape)).astype(np.float32)
    made = qemu_nn.quantize(pipeline.FloatNetwork(graph), x, target="m4")
    status, lines = check(write(tmp_path / "net", made, data=x[:2]), "m4")
    assert (status, lines[-1]) == (0, "PASS: 0 failures"), lines
