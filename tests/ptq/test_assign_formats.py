"""Formats are assigned: shared where nothing can shift, lowered until the device can shift."""

import numpy as np
import pytest

from qemu_nn.errors import Error
from qemu_nn.ir.float_graph import FloatGraph, FloatNode
from qemu_nn.ir.statistics import make_statistics
from qemu_nn.operators import Conv, Dense, Elementwise, Pool, Relu, Sigmoid, Softmax
from qemu_nn.quantizer.assign import assign_formats
from qemu_nn.quantizer.policies import minmax
from qemu_nn.quantizer.rules import find_format_groups


def dense(largest, bias=None, columns=4, rows=4):
    weights = np.full((rows, columns), largest)
    return Dense(weights, None if bias is None else np.full(rows, bias))


def chain(*operators, shape=(4,)):
    names = ["x", *(type(o).__name__.lower() + str(i) for i, o in enumerate(operators))]
    nodes = [FloatNode(n, o, (s,)) for n, o, s in zip(names[1:], operators, names)]
    layout = "NHWC" if len(shape) == 3 else None
    return FloatGraph("net", "x", shape, layout, tuple(nodes), (names[-1],))


def assigned(graph, ranges, bits=8, given=None):
    statistics = {name: make_statistics(np.array(ranges[name])) for name in graph.shapes}
    return assign_formats(graph, statistics, bits, minmax, minmax, given)


def test_the_shifts_are_those_of_the_formulas():
    graph = chain(dense(0.4, 0.9))
    formats = assigned(graph, {"x": [3.0], "dense0": [6.0]})
    assert formats.tensors == {"x": 5, "dense0": 4}
    assert (formats.weights, formats.biases) == ({"dense0": 8}, {"dense0": 7})
    assert formats.notes == ()


def test_sixteen_bits_give_eight_more_fraction_bits_as_far_as_the_accumulator_has_room():
    formats = assigned(chain(dense(0.4, 0.9)), {"x": [3.0], "dense0": [6.0]}, bits=16)
    assert (formats.tensors, formats.weights) == ({"x": 13, "dense0": 12}, {"dense0": 14})
    assert formats.biases == {"dense0": 15}
    assert "dense0: weights 16 -> 14 fraction bits: the accumulator" in formats.notes[0]


def test_values_beyond_a_format_that_the_device_fixes_have_a_note():
    nodes = (
        *(FloatNode("dense", dense(1.0), ("x",)), FloatNode("gate", Sigmoid(), ("dense",))),
        FloatNode("sum", Elementwise("add"), ("gate", "dense")),
    )
    graph = FloatGraph("net", "x", (4,), None, nodes, ("sum",))
    formats = assigned(graph, {"x": [1.0], "dense": [3.5], "gate": [0.9], "sum": [4.4]})
    assert formats.tensors == {"x": 7, "dense": 7, "gate": 7, "sum": 7}
    assert ["though its values need 5" in note for note in formats.notes] == [True, False]
    assert "sum: output 7 fraction bits, though its values need 4" in formats.notes[1]


def test_what_a_relu_cuts_off_needs_no_room_in_front_of_it():
    formats = assigned(
        chain(dense(1.0), Relu()), {"x": [1.0], "dense0": [-50.0, 3.0], "relu1": [0.0, 3.0]}
    )
    assert formats.tensors == {"x": 7, "dense0": 5, "relu1": 5}


def test_what_is_read_beside_the_relu_needs_its_room():
    graph = chain(dense(1.0), Relu())
    graph = FloatGraph("net", "x", (4,), None, graph.nodes, ("relu1", "dense0"))
    ranges = {"x": [1.0], "dense0": [-50.0, 3.0], "relu1": [0.0, 3.0]}
    assert assigned(graph, ranges).tensors["relu1"] == 1


@pytest.mark.parametrize(("kind", "frac"), [("max", 5), ("average", 1)])
def test_pooling_keeps_its_format_and_an_average_needs_room_for_its_input(kind, frac):
    graph = chain(
        Conv(np.ones((1, 1, 1, 1))),
        Pool(kind, (2, 2), (2, 2)),
        dense(1.0, columns=1),
        shape=(4, 4, 1),
    )
    ranges = {"x": [1.0], "conv0": [-50.0, 3.0], "pool1": [0.0, 3.0], "dense2": [1.0]}
    formats = assigned(graph, ranges)
    assert formats.tensors["conv0"] == formats.tensors["pool1"] == frac


def test_terms_of_a_sum_share_the_widest_format_and_factors_are_free():
    nodes = (
        FloatNode("a", dense(1.0), ("x",)),
        FloatNode("b", dense(1.0), ("x",)),
        FloatNode("sum", Elementwise("add"), ("a", "b")),
        FloatNode("product", Elementwise("multiply"), ("sum", "a")),
    )
    graph = FloatGraph("net", "x", (4,), None, nodes, ("product",))
    ranges = {"x": [1.0], "a": [3.0], "b": [0.1], "sum": [30.0], "product": [0.5]}
    formats = assigned(graph, ranges)
    assert [formats.tensors[n] for n in ("a", "b", "sum", "product")] == [2, 2, 2, 4]
    assert formats.notes == (
        "product: output 8 -> 4 fraction bits: its products have 4, and the device only "
        "shifts sums down",
    )


def test_tables_fix_their_output_and_take_at_most_three_integer_bits():
    ranges = {"x": [1.0], "dense0": [100.0], "sigmoid1": [1.0], "softmax2": [0.1]}
    formats = assigned(chain(dense(1.0), Sigmoid(), Softmax()), ranges)
    assert [formats.tensors[n] for n in ("dense0", "sigmoid1", "softmax2")] == [4, 7, 7]
    ranges["dense0"] = [0.01]
    assert assigned(chain(dense(1.0), Sigmoid(), Softmax()), ranges).tensors["dense0"] == 7


def test_a_negative_output_shift_is_resolved_by_a_coarser_output_and_told():
    formats = assigned(chain(dense(60.0)), {"x": [100.0], "dense0": [0.01]})
    assert formats.tensors == {"x": 0, "dense0": 1}
    assert formats.notes == (
        "dense0: output 13 -> 1 fraction bits: its products have 1, and the device only "
        "shifts sums down",
    )


def test_a_negative_bias_shift_is_resolved_by_a_coarser_bias_and_told():
    formats = assigned(chain(dense(60.0, 0.01)), {"x": [100.0], "dense0": [6000.0]})
    assert formats.biases == {"dense0": 1}
    assert "dense0: bias 13 -> 1 fraction bits: its products have 1" in formats.notes[0]


def test_a_coarser_output_reaches_every_layer_that_shares_the_format():
    nodes = (
        FloatNode("fine", dense(0.1), ("x",)),
        FloatNode("coarse", dense(60.0), ("x",)),
        FloatNode("sum", Elementwise("add"), ("fine", "coarse")),
    )
    graph = FloatGraph("net", "x", (4,), None, nodes, ("sum",))
    formats = assigned(graph, {"x": [100.0], "fine": [0.1], "coarse": [0.1], "sum": [0.1]})
    assert {formats.tensors[n] for n in ("fine", "coarse", "sum")} == {1}


def test_weights_so_small_that_no_shift_reaches_are_coarser():
    formats = assigned(chain(dense(1e-12)), {"x": [1.0], "dense0": [1e-12 * 4]})
    product = formats.tensors["x"] + formats.weights["dense0"]
    assert 0 <= product - formats.tensors["dense0"] <= 31


def test_given_formats_are_taken_and_reach_their_group():
    given = {"dense0": {"output": 3, "weights": 9, "bias": 2}}
    ranges = {"x": [3.0], "dense0": [6.0], "relu1": [6.0]}
    formats = assigned(chain(dense(0.4, 0.9), Relu()), ranges, given=given)
    assert formats.tensors == {"x": 5, "dense0": 3, "relu1": 3}
    assert (formats.weights["dense0"], formats.biases["dense0"]) == (9, 2)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"dense9": {"output": 3}}, "no layer 'dense9'; have: x, dense0"),
        ({"relu1": {"weights": 3}}, "no 'weights'"),
        ({"dense0": {"speed": 3}}, "no 'speed'"),
        ({"dense0": {"output": 33}}, r"must have -32\.\.32"),
        ({"dense0": {"output": 3}, "relu1": {"output": 4}}, "share one format"),
        ({"dense0": {"output": 14, "weights": 8}}, "cannot have 14 fraction bits.*give it 13"),
        ({"dense0": {"bias": 14, "weights": 8}}, "cannot have 14 fraction bits.*give it 13"),
    ],
)
def test_formats_that_can_not_be_given_are_refused(given, reason):
    ranges = {"x": [3.0], "dense0": [6.0], "relu1": [6.0]}
    with pytest.raises(Error, match=reason):
        assigned(chain(dense(0.4, 0.9), Relu()), ranges, given=given)


def test_a_fixed_format_can_not_be_given():
    with pytest.raises(Error, match="sigmoid1: the device fixes its format"):
        assigned(
            chain(dense(1.0), Sigmoid()),
            {"x": [1.0], "dense0": [1.0], "sigmoid1": [1.0]},
            given={"sigmoid1": {"output": 5}},
        )


def test_an_input_that_only_feeds_a_relu_is_grouped_with_it():
    group = find_format_groups(chain(Relu()))["x"]
    assert (group.tensors, group.exposed) == (("x", "relu0"), ("relu0",))


def residual(*between):
    """fine -> between, which a sum adds to fine: their ends share one format."""
    names = [f"layer{index}" for index in range(len(between))]
    nodes = [FloatNode("fine", dense(1.0), ("x",))]
    nodes += [FloatNode(n, o, (s,)) for n, o, s in zip(names, between, ["fine", *names])]
    nodes.append(FloatNode("sum", Elementwise("add"), ("fine", names[-1])))
    return FloatGraph("net", "x", (4,), None, tuple(nodes), ("sum",))


ONES = {name: [1.0] for name in ("x", "fine", "layer0", "layer1", "sum")}


def test_a_sum_around_a_layer_of_large_weights_is_refused_and_does_not_go_on_for_ever():
    with pytest.raises(
        Error, match=r"layer0: a sum makes its input and its output share.* weights exceed 127"
    ):
        assigned(residual(dense(1000.0)), ONES)
    given = {"layer0": {"weights": 0}}
    assert assigned(residual(dense(1000.0)), ONES, given=given).weights["layer0"] == 0
    assert assigned(residual(dense(1000.0)), ONES, bits=16).notes == ()


def test_a_sum_around_several_layers_is_refused_where_their_weights_together_are_too_large():
    reason = "would need -6. fraction bits, but a tensor has at least -64"
    with pytest.raises(Error, match=reason):
        assigned(residual(dense(60.0), dense(4000.0)), ONES)
    assert assigned(residual(dense(0.06), dense(4000.0)), ONES).tensors["layer1"] == 2


def test_a_sum_around_a_product_is_refused_where_its_factor_is_too_large():
    nodes = (
        FloatNode("factor", dense(1.0), ("x",)),
        FloatNode("fine", dense(1.0), ("x",)),
        FloatNode("product", Elementwise("multiply"), ("fine", "factor")),
        FloatNode("sum", Elementwise("add"), ("fine", "product")),
    )
    graph = FloatGraph("net", "x", (4,), None, nodes, ("sum",))
    ranges = {"x": [1.0], "factor": [300.0], "fine": [1.0], "product": [300.0], "sum": [300.0]}
    with pytest.raises(Error, match="but a tensor has at least -64"):
        assigned(graph, ranges)


def test_weights_are_no_coarser_than_the_assigned_input_of_their_layer_asks_for():
    nodes = (
        FloatNode("fine", dense(1.0), ("x",)),
        FloatNode("wide", dense(1.0), ("fine",)),
        FloatNode("coarse", dense(4000.0), ("x",)),
        FloatNode("sum", Elementwise("add"), ("fine", "coarse")),
    )
    graph = FloatGraph("net", "x", (4,), None, nodes, ("sum", "wide"))
    ranges = {name: [1.0] for name in graph.shapes}
    formats = assigned(graph, {**ranges, "wide": [2.0**24]})
    assert (formats.tensors["fine"], formats.weights["wide"]) == (2, 4)
