"""Optimizing: fewer operators, channels last, and for any input the values there were."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qemu_nn.ir.float_graph import FloatGraph, FloatNode
from qemu_nn.operators import (
    Affine,
    Clip,
    Concat,
    Conv,
    Dense,
    Elementwise,
    Identity,
    Pad,
    Pool,
    PRelu,
    Relu,
    Reshape,
    Shuffle,
    Slice,
    Softmax,
    Transpose,
)
from qemu_nn.optimize import optimize
from qemu_nn.runtime.evaluate import evaluate

RNG = np.random.default_rng(5)


def normal(*shape):
    return RNG.normal(size=shape)


def chain(shape, *operators, layout=None, outputs=None):
    names = ["x", *(f"{type(o).__name__.lower()}{i}" for i, o in enumerate(operators))]
    nodes = [FloatNode(n, o, (s,)) for n, o, s in zip(names[1:], operators, names)]
    return FloatGraph("net", "x", shape, layout, tuple(nodes), outputs or (names[-1],))


def kinds(graph):
    return [type(node.operator).__name__ for node in graph.nodes]


def optimized(graph):
    """Return the optimized network, after comparing its values with the given network's."""
    result, notes = optimize(graph)
    x = RNG.normal(size=(3, *graph.shape))
    before = evaluate(graph, x, trace=True)
    after = evaluate(result, np.moveaxis(x, 1, -1) if graph.layout == "NCHW" else x, trace=True)
    assert set(graph.outputs) == set(result.outputs)
    for name in result.outputs:
        got, expected = after[name], before[name]
        if got.shape != expected.shape or (graph.layout == "NCHW" and got.ndim == 4):
            expected = np.moveaxis(expected, 1, -1)
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-9)
    return result, notes


# ---- what changes nothing ----


def test_identities_and_reshapes_to_the_same_shape_vanish():
    graph, _ = optimized(
        chain((6,), Identity(), Dense(normal(6, 6)), Reshape((6,)), Transpose((0,)), Relu())
    )
    assert kinds(graph) == ["Dense", "Relu"]


def test_an_output_that_is_an_identity_keeps_its_name():
    graph, _ = optimized(chain((6,), Dense(normal(6, 6)), Identity()))
    assert [node.name for node in graph.nodes] == ["identity1"]
    assert kinds(graph) == ["Dense"]


def test_an_identity_between_two_outputs_stays():
    graph, _ = optimized(
        chain((6,), Dense(normal(6, 6)), Identity(), outputs=("dense0", "identity1"))
    )
    assert kinds(graph) == ["Dense", "Identity"]


def test_reshapes_in_a_row_become_one_and_what_nobody_reads_goes():
    nodes = (
        FloatNode("unread", Relu(), ("x",)),
        FloatNode("a", Reshape((2, 6)), ("x",)),
        FloatNode("b", Reshape((3, 4)), ("a",)),
    )
    graph, _ = optimized(FloatGraph("net", "x", (12,), None, nodes, ("b",)))
    assert [(node.name, node.inputs) for node in graph.nodes] == [("b", ("x",))]


# ---- shuffles ----


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_a_channel_shuffle_is_one_operator(layout):
    if layout == "NCHW":
        moves = (Reshape((3, 2, 4, 5)), Transpose((1, 0, 2, 3)), Reshape((6, 4, 5)))
        shape = (6, 4, 5)
    else:
        moves = (Reshape((4, 5, 3, 2)), Transpose((0, 1, 3, 2)), Reshape((4, 5, 6)))
        shape = (4, 5, 6)
    graph, _ = optimized(chain(shape, *moves, layout=layout))
    assert [node.operator for node in graph.nodes] == [Shuffle(3, 2)]


def test_what_only_looks_like_a_shuffle_is_left():
    moves = (Reshape((3, 2, 4, 5)), Transpose((0, 1, 3, 2)), Reshape((6, 4, 5)))
    assert "Shuffle" not in kinds(optimized(chain((6, 4, 5), *moves))[0])


# ---- channels last ----


def test_images_become_nhwc_and_the_dense_layer_s_columns_move():
    graph, notes = optimized(
        chain(
            (3, 7, 6),
            Conv(normal(4, 3, 3, 3), normal(4), (2, 1), (1, 0, 1, 2), layout="NCHW"),
            PRelu(normal(4, 1, 1)),
            Pool("max", (2, 2), (2, 2), layout="NCHW"),
            Reshape((24,)),
            Relu(),
            Affine(normal(24), np.array(0.0)),
            Dense(normal(5, 24), normal(5)),
            layout="NCHW",
        )
    )
    assert kinds(graph) == ["Conv", "PRelu", "Pool", "Reshape", "Relu", "Dense"]
    assert (graph.layout, graph.shape, notes) == ("NHWC", (7, 6, 3), ())


def test_a_flattened_image_that_is_an_output_keeps_the_file_s_order():
    conv = Conv(normal(4, 1, 1, 3), layout="NCHW")
    graph, notes = optimized(chain((3, 2, 2), conv, Reshape((16,)), layout="NCHW"))
    assert kinds(graph) == ["Conv", "Transpose", "Reshape"]
    assert "its transposition stays" in notes[0]


def test_a_flattened_image_of_one_pixel_or_one_channel_needs_no_transposition():
    for shape in ((5, 1, 1), (1, 4, 3)):
        conv = Conv(normal(shape[0], 1, 1, shape[0]), layout="NCHW")
        size = int(np.prod(shape))
        graph, _ = optimized(chain(shape, conv, Reshape((size,)), Softmax(0), layout="NCHW"))
        assert kinds(graph) == ["Conv", "Reshape", "Softmax"]


def test_transpositions_between_the_layouts_vanish():
    graph, _ = optimized(
        chain(
            (4, 5, 3),
            Transpose((2, 0, 1)),
            Conv(normal(4, 3, 3, 3), layout="NCHW"),
            Transpose((1, 2, 0)),
            Reshape((24,)),
            Dense(normal(2, 24)),
            layout="NHWC",
        )
    )
    assert kinds(graph) == ["Conv", "Reshape", "Dense"]


def test_axes_move_with_the_channels():
    nodes = (
        FloatNode("a", Slice(0, 1, 3), ("x",)),
        FloatNode("b", Slice(1, 0, 4, 2), ("x",)),
        FloatNode("c", Pad(((0, 0), (0, 2), (0, 0)), 0.5), ("b",)),
        FloatNode("d", Concat(0), ("a", "c")),
        FloatNode("e", Shuffle(2, 0), ("d",)),
        FloatNode("f", Softmax(0), ("e",)),
        FloatNode("conv", Conv(normal(2, 1, 1, 6), layout="NCHW"), ("f",)),
    )
    graph, _ = optimized(FloatGraph("net", "x", (4, 4, 5), "NCHW", nodes, ("conv",)))
    assert "Transpose" not in kinds(graph)


def test_a_gate_of_one_pixel_multiplies_an_image_without_a_transposition():
    nodes = (
        FloatNode("mean", Pool("average", (4, 4), layout="NCHW"), ("x",)),
        FloatNode("flat", Reshape((3,)), ("mean",)),
        FloatNode("gate", Dense(normal(3, 3)), ("flat",)),
        FloatNode("pixel", Reshape((3, 1, 1)), ("gate",)),
        FloatNode("both", Elementwise("multiply"), ("x", "pixel")),
    )
    graph, _ = optimized(FloatGraph("net", "x", (3, 4, 4), "NCHW", nodes, ("both",)))
    assert "Transpose" not in kinds(graph)


def test_a_network_with_channels_last_is_left_as_it_is():
    before = chain((4, 4, 3), Conv(normal(2, 3, 3, 3)), Relu(), layout="NHWC")
    graph, notes = optimize(before)
    assert [n.name for n in graph.nodes] == [n.name for n in before.nodes]
    assert (graph.shape, graph.layout, notes) == (before.shape, before.layout, ())


# ---- padding ----


def test_padding_with_zeros_merges_into_a_convolution():
    pad = Pad(((1, 2), (0, 1), (0, 0)))
    graph, _ = optimized(
        chain((5, 5, 2), pad, Conv(normal(3, 3, 3, 2), pads=(1, 1, 1, 1)), layout="NHWC")
    )
    assert [node.operator.pads for node in graph.nodes] == [(2, 1, 3, 2)]


@pytest.mark.parametrize(
    ("pad", "behind"),
    [
        (Pad(((1, 1), (1, 1), (0, 0)), 0.25), Conv(normal(3, 3, 3, 2))),
        (Pad(((1, 1), (1, 1), (0, 0))), Pool("max", (3, 3))),
        (Pad(((1, 1), (1, 1), (0, 0))), Pool("average", (3, 3), (2, 2), ceil=True)),
        (Pad(((0, 0), (0, 0), (0, 2))), Conv(normal(3, 3, 3, 4))),
        (Pad(((3, 3), (0, 0), (0, 0))), Pool("average", (3, 3))),
    ],
)
def test_padding_that_means_something_else_stays_and_is_told(pad, behind):
    graph, notes = optimized(chain((6, 6, 2), pad, behind, layout="NHWC"))
    assert kinds(graph)[0] == "Pad"
    assert notes == ("pad0: its padding stays as an operator",)


def test_padding_in_front_of_an_average_counts_in_it():
    graph, _ = optimized(
        chain((6, 6, 2), Pad(((1, 1), (2, 0), (0, 0))), Pool("average", (3, 3)), layout="NHWC")
    )
    assert graph.nodes[0].operator == Pool("average", (3, 3), pads=(1, 2, 1, 0), count_pads=True)


# ---- normalization ----


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_normalization_folds_into_the_layer_before_it_and_names_it(groups):
    conv = Conv(normal(4, 3, 3, 4 // groups), None, pads=(1, 1, 1, 1), groups=groups)
    graph, _ = optimized(
        chain((5, 5, 4), conv, Affine(normal(4), normal(4)), Affine(normal(), normal(1)), Relu())
    )
    assert [node.name for node in graph.nodes] == ["affine2", "relu3"]


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_normalization_folds_into_the_layer_behind_it(groups):
    conv = Conv(normal(8, 3, 3, 4 // groups), normal(8), groups=groups)
    graph, _ = optimized(chain((5, 5, 4), Relu(), Affine(normal(4), normal(4)), conv))
    assert [node.name for node in graph.nodes] == ["relu0", "conv2"]


def test_a_scale_folds_into_a_padded_convolution_and_an_offset_does_not():
    conv = Conv(normal(2, 3, 3, 4), pads=(1, 1, 1, 1))
    scaled = chain((5, 5, 4), Affine(normal(4), np.zeros(4)), conv)
    assert kinds(optimized(scaled)[0]) == ["Conv"]
    shifted = chain((5, 5, 4), Relu(), Affine(normal(4), normal(4)), conv)
    graph, _ = optimized(shifted)
    assert kinds(graph) == ["Relu", "Conv", "Conv"]
    assert graph.nodes[1].operator.groups == 4


def test_normalization_folds_through_a_flattening_into_a_dense_layer():
    graph, _ = optimized(
        chain(
            (3, 2, 2),
            Relu(),
            Affine(normal(3, 1, 1), normal(3, 1, 1)),
            Reshape((12,)),
            Dense(normal(5, 12), normal(5)),
            layout="NCHW",
        )
    )
    assert kinds(graph) == ["Relu", "Reshape", "Dense"]


def test_what_others_read_is_not_folded_away():
    nodes = (
        FloatNode("conv", Conv(normal(4, 1, 1, 4)), ("x",)),
        FloatNode("bn", Affine(normal(4), normal(4)), ("conv",)),
        FloatNode("sum", Elementwise("add"), ("conv", "bn")),
    )
    graph, _ = optimized(FloatGraph("net", "x", (3, 3, 4), "NHWC", nodes, ("sum",)))
    assert [node.name for node in graph.nodes] == ["conv", "bn", "sum"]
    outputs = FloatGraph("net", "x", (3, 3, 4), "NHWC", nodes[:2], ("conv", "bn"))
    assert kinds(optimized(outputs)[0]) == ["Conv", "Conv"]


def test_normalization_of_the_input_stays_for_the_host_if_it_can_not_fold():
    mean = chain((5, 5, 3), Affine(np.array(1.0), normal(5, 5, 3)), Conv(normal(2, 3, 3, 3)))
    graph, notes = optimized(mean)
    assert (kinds(graph), notes) == (["Affine", "Conv"], ())


def test_normalization_of_a_vector_that_nothing_takes_is_told():
    graph, notes = optimized(chain((4,), Relu(), Affine(normal(4), normal(4)), Softmax()))
    assert kinds(graph) == ["Relu", "Affine", "Softmax"]
    assert "affine1: its scale and offset cannot be folded into 'softmax2'" in notes[0]


# ---- all together ----


@st.composite
def networks(draw):
    """Chains and forks of operators on images in either layout."""
    layout = draw(st.sampled_from(["NCHW", "NHWC"]))
    channel = 0 if layout == "NCHW" else 2
    height, width, channels = 6, 7, draw(st.sampled_from([2, 4]))
    shape = (channels, height, width) if layout == "NCHW" else (height, width, channels)
    broadcast = (channels, 1, 1) if layout == "NCHW" else (channels,)
    around = tuple((0, 0) if axis == channel else (1, 0) for axis in range(3))
    square = normal(channels, 3, 3, channels)
    choices = [
        Conv(square, None, pads=(1, 1, 1, 1), layout=layout),
        Conv(
            normal(channels, 3, 3, 1),
            normal(channels),
            pads=(1, 1, 1, 1),
            groups=channels,
            layout=layout,
        ),
        Pool("max", (3, 3), (1, 1), (1, 1, 1, 1), layout=layout),
        Pool(
            "average", (3, 3), (1, 1), (1, 1, 1, 1), count_pads=draw(st.booleans()), layout=layout
        ),
        Affine(normal(*broadcast), normal(*broadcast)),
        Affine(np.array(0.5), np.array(0.0)),
        Relu(),
        Clip(-1.0, 0.5),
        PRelu(normal(*broadcast)),
        Identity(),
        Shuffle(2, channel),
        Transpose((0, 1, 2)),
    ]
    nodes, tensors = [], ["x"]
    for index in range(draw(st.integers(1, 7))):
        name = f"n{index}"
        if draw(st.integers(0, 4)) == 0 and len(tensors) > 1:
            pair = (draw(st.sampled_from(tensors)), draw(st.sampled_from(tensors)))
            nodes.append(FloatNode(name, Elementwise("add"), pair))
        else:
            source = draw(st.sampled_from(tensors[-2:]))
            nodes.append(FloatNode(name, draw(st.sampled_from(choices)), (source,)))
        tensors.append(name)
    pad = FloatNode("pad", Pad(around), (tensors[-1],))
    conv = FloatNode(
        "conv", Conv(normal(3, 2, 2, channels), stride=(2, 2), layout=layout), ("pad",)
    )
    flat = FloatNode("flat", Reshape((3 * 3 * 4,)), ("conv",))
    dense = FloatNode("dense", Dense(normal(4, 36)), ("flat",))
    outputs = ("dense", draw(st.sampled_from(tensors[1:])))
    return FloatGraph("net", "x", shape, layout, (*nodes, pad, conv, flat, dense), outputs)


@settings(max_examples=200, deadline=None)
@given(networks())
def test_random_networks_compute_what_they_did(graph):
    result, _ = optimized(graph)
    assert not {"Identity", "Transpose"} & set(kinds(result)) or set(graph.outputs) - {"dense"}
    assert result.layout == "NHWC"


def test_a_signal_is_an_image_of_one_row_and_nothing_moves():
    """Steps of a signal come before its channels, so that convolutions follow each other."""
    graph, _ = optimized(
        chain(
            (3, 16),
            *(Reshape((3, 1, 16)), Conv(normal(4, 1, 3, 3), layout="NCHW"), Reshape((4, 14))),
            *(Relu(), PRelu(normal(4, 1)), Reshape((4, 1, 14))),
            *(Conv(normal(5, 1, 3, 4), layout="NCHW"), Reshape((5, 12)), Reshape((60,))),
            Dense(normal(2, 60)),
        )
    )
    assert kinds(graph).count("Transpose") == 1  # of the input, which nobody knows to be a signal
    assert graph.shapes[graph.nodes[-1].inputs[0]] == (60,)


def test_outputs_that_are_no_images_keep_their_order_of_axes():
    signal = (Conv(normal(4, 1, 1, 3), layout="NCHW"), Reshape((4, 7)), Relu())
    steps, _ = optimized(chain((3, 1, 7), *signal, Transpose((1, 0)), layout="NCHW"))
    assert (steps.shapes[steps.outputs[0]], "Transpose" in kinds(steps)) == ((7, 4), False)
    channels, _ = optimized(chain((3, 1, 7), *signal, layout="NCHW"))
    assert channels.shapes[channels.outputs[0]] == (4, 7)
    dense, _ = optimized(chain((7, 4), Dense(normal(5, 4)), Transpose((1, 0))))
    assert dense.shapes[dense.outputs[0]] == (5, 7)
    turned = (Dense(normal(5, 4)), Transpose((2, 1, 0)), Relu())
    cube, _ = optimized(chain((7, 3, 4), *turned, outputs=("transpose1", "relu2")))
    assert {cube.shapes[name] for name in cube.outputs} == {(5, 3, 7)}


def test_tensors_of_the_file_may_have_the_names_of_inserted_ones():
    conv, dense = Conv(normal(4, 1, 1, 3), layout="NCHW"), Dense(normal(2, 16))
    nodes = (
        *(FloatNode("c", conv, ("x",)), FloatNode("f", Reshape((16,)), ("c",))),
        *(FloatNode("c/0x1x2", Relu(), ("f",)), FloatNode("y", dense, ("c/0x1x2",))),
        FloatNode("c/0x1x2_", Softmax(0), ("f",)),
    )
    optimized(FloatGraph("net", "x", (3, 2, 2), "NCHW", nodes, ("y", "c/0x1x2_")))
    moves = (("a", Affine(normal(4), normal(4)), "x"), ("r", Reshape((2, 2)), "a"))
    rest = (("r/plain", Relu(), "r"), ("y", Dense(normal(3, 2)), "r/plain"))
    plain = tuple(FloatNode(name, operator, (source,)) for name, operator, source in moves + rest)
    optimized(FloatGraph("net", "x", (4,), None, plain, ("y",)))


def test_a_softmax_of_a_signal_runs_along_the_last_axis():
    signal = (Conv(normal(4, 1, 1, 3), layout="NCHW"), Reshape((4, 7)))
    for axis, moves in ((0, 1), (1, 1)):
        graph, _ = optimized(chain((3, 1, 7), *signal, Softmax(axis), layout="NCHW"))
        (softmax,) = (node.operator for node in graph.nodes if isinstance(node.operator, Softmax))
        assert (softmax.axis, kinds(graph).count("Transpose")) == (1, moves)
