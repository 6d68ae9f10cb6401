"""Operators of the affine scheme, each on its function and close to its meaning."""

import numpy as np
import pytest

from qemu_nn.api import golden as pipeline
from qemu_nn.errors import ModelError
from qemu_nn.ir.float_graph import FloatGraph, FloatNode
from qemu_nn.lowering import lower_s8, prepare_s8
from qemu_nn.lowering.dequantize import dequantized
from qemu_nn.operators import (
    Clip,
    Concat,
    Conv,
    Dense,
    Elementwise,
    Pad,
    Pool,
    PRelu,
    Relu,
    Reshape,
    Shuffle,
    Sigmoid,
    Slice,
    Softmax,
    Tanh,
    Transpose,
)
from qemu_nn.quantizer.assign_affine import assign_affine_formats
from qemu_nn.quantizer.ranges import Ranges
from qemu_nn.quantizer.statistics import observe
from qemu_nn.runtime.evaluate import each_tensor

RNG = np.random.default_rng(41)


def quantized(nodes, shape=(4, 6, 8), dtype="int8"):
    """A network whose last node is its output, and the data that it was calibrated with."""
    nodes = tuple(FloatNode(*node) for node in nodes)
    layout = "NHWC" if len(shape) == 3 else None
    graph = FloatGraph("net", "x", shape, layout, nodes, (nodes[-1].name,))
    x = np.random.default_rng(42).normal(size=(40, *shape))
    prepared, _ = prepare_s8(graph, dtype=dtype)
    statistics = observe(prepared, [x])
    formats = assign_affine_formats(prepared, statistics, Ranges(dtype=dtype), Ranges())
    return pipeline.Network(lower_s8(prepared, formats), graph), x


def errors(made, x):
    """Tensor -> largest error in steps, of every call of the float network's own name.

    Beside it the same of the network that the integers stand for: shapes and order of it are
    those of the calls.
    """
    graph = made.graph
    real = dict(each_tensor(made.reference, x))
    meant = dict(each_tensor(dequantized(graph), x))
    traced = made.session().run(graph.input.format.quantize(x), trace=True)
    found = {}
    for node in graph.nodes:
        if node.name in real:
            held, got = node.output.format, traced[node.name]
            exact = real[node.name].reshape(got.shape)
            clipped = np.clip(meant[node.name].reshape(got.shape), *held.ends)
            both = np.abs(np.array([exact, clipped]) - held.dequantize(got)).max()
            found[node.name] = both / held.scale
    return found


def functions(made):
    return {node.name: node.function.name for node in made.graph.nodes}


CASES = {
    "concat": ([("out", Concat(2), ("x", "x"))], "tflm_concatenation_s8"),
    "concat rows": ([("out", Concat(0), ("x", "x"))], "tflm_concatenation_s8"),
    "slice": ([("out", Slice(2, 1, 8, 3), ("x",))], "tflm_slice_s8"),
    "slice rows": ([("out", Slice(0, 1, 3), ("x",))], "tflm_slice_s8"),
    "pad": ([("out", Pad(((0, 1), (2, 0), (0, 0))), ("x",))], "arm_pad_s8"),
    "pad with ones": ([("out", Pad(((1, 1), (0, 0), (3, 0)), 1.0), ("x",))], "arm_pad_s8"),
    "transpose": ([("out", Transpose((2, 0, 1)), ("x",))], "arm_transpose_s8"),
    "transpose all": ([("out", Transpose((2, 1, 0)), ("x",))], "arm_transpose_s8"),
    "transpose four": (
        [("deep", Reshape((4, 3, 2, 8)), ("x",)), ("out", Transpose((1, 3, 0, 2)), ("deep",))],
        "arm_transpose_s8",
    ),
    "shuffle": ([("out", Shuffle(4, 2), ("x",))], "arm_transpose_s8"),
    "shuffle rows": ([("out", Shuffle(2, 0), ("x",))], "arm_transpose_s8"),
    "maximum": (
        [("less", Relu(), ("x",)), ("out", Elementwise("maximum"), ("x", "less"))],
        "arm_maximum_s8",
    ),
    "minimum": (
        [("less", Clip(-1.0, 1.0), ("x",)), ("out", Elementwise("minimum"), ("x", "less"))],
        "arm_minimum_s8",
    ),
    "spread minimum": (
        [("one", Pool("max", (4, 6)), ("x",)), ("out", Elementwise("minimum"), ("x", "one"))],
        "arm_minimum_s8",
    ),
    "leaky": ([("out", Relu(slope=0.125), ("x",))], "tflm_leaky_relu_s8"),
    "one slope": ([("out", PRelu(np.array([[[0.25]]])), ("x",))], "tflm_leaky_relu_s8"),
    "sigmoid": ([("out", Sigmoid(), ("x",))], "tflm_logistic_s8"),
    "tanh": ([("out", Tanh(), ("x",))], "tflm_tanh_s8"),
    "softmax": ([("out", Softmax(axis=2), ("x",))], "arm_softmax_s8"),
    "difference": (
        [("half", Relu(), ("x",)), ("out", Elementwise("subtract"), ("half", "x"))],
        "tflm_sub_s8",
    ),
    "gate": (
        [("one", Pool("average", (4, 6)), ("x",)), ("out", Elementwise("multiply"), ("x", "one"))],
        "arm_elementwise_mul_s8",
    ),
    "spread sum": (
        [("one", Pool("average", (1, 6)), ("x",)), ("out", Elementwise("add"), ("one", "x"))],
        "arm_elementwise_add_s8",
    ),
    "relu": ([("out", Relu(limit=1.0), ("x",))], "arm_max_pool_s8"),
    "clip": ([("out", Clip(-0.5, 0.75), ("x",))], "arm_max_pool_s8"),
}


#: Where half a step of an input may be more than one of the output.
STEEP = {"sigmoid": 3.6, "tanh": 3.6, "softmax": 2.6, "difference": 2.6, "gate": 9}


@pytest.mark.parametrize("case", CASES)
def test_an_operator_runs_on_its_function_and_is_off_by_steps_alone(case):
    nodes, function = CASES[case]
    made, x = quantized(nodes)
    assert functions(made)["out"] == function
    assert errors(made, x)["out"] < STEEP.get(case, 1.6)


@pytest.mark.parametrize(
    ("operator", "scale", "zero"),
    [(Softmax(2), 1 / 256, -128), (Sigmoid(), 1 / 256, -128), (Tanh(), 1 / 128, 0)],
)
def test_what_has_known_ends_has_the_format_of_its_function(operator, scale, zero):
    made, _ = quantized([("out", operator, ("x",))])
    held = made.graph.node("out").output.format
    assert (held.scale, held.zero_point) == (scale, zero)


@pytest.mark.parametrize("axis", [0, 1])
def test_vectors_and_tensors_of_many_axes_are_moved_too(axis):
    shape = (2, 3, 2, 2, 3)
    moved = [("out", Slice(axis + 2, 1, 2), ("x",)), ("all", Concat(axis), ("out", "out"))]
    made, x = quantized(moved, shape)
    assert errors(made, x)["all"] < 0.6
    order = (1, 0, 2, 3, 4) if axis else (4, 0, 1, 2, 3)
    made, x = quantized([("out", Transpose(order), ("x",))], shape)
    assert made.graph.node("out").params["num_dims"] == (3 if axis else 2)
    assert errors(made, x)["out"] < 0.6


def test_what_only_moves_axes_of_one_element_is_a_copy():
    made, x = quantized(
        [("one", Pool("max", (4, 6)), ("x",)), ("out", Transpose((2, 0, 1)), ("one",))]
    )
    assert functions(made)["out"] == "arm_reshape_s8"
    assert errors(made, x)["out"] < 0.6


def test_all_inputs_of_a_concatenation_share_one_format():
    nodes = [
        ("a", Conv(RNG.normal(size=(3, 1, 1, 8))), ("x",)),
        ("b", Conv(RNG.normal(size=(5, 1, 1, 8)) * 4), ("x",)),
        ("relu", Relu(), ("b",)),
        ("c", Pool("max", (1, 1)), ("x",)),
        ("all", Concat(2), ("a", "relu", "c")),
        ("out", Dense(RNG.normal(size=(4, 16))), ("all",)),
    ]
    made, x = quantized(nodes)
    graph = made.graph
    formats = {graph.node(name).output.format for name in ("a", "relu", "c", "all")}
    assert formats == {graph.input.format}
    parts = [name for name in functions(made) if name.startswith("all")]
    assert parts == ["all/first2", "all"]
    assert graph.node("all/first2").output.shape == (4, 6, 8)
    assert max(errors(made, x)[name] for name in ("a", "c")) < 4


def test_what_has_a_format_of_its_own_is_rescaled_before_it_is_joined():
    nodes = [
        ("a", Conv(RNG.normal(size=(3, 1, 1, 8)) * 3), ("x",)),
        ("gate", Sigmoid(), ("x",)),
        ("part", Slice(2, 0, 4), ("gate",)),
        ("all", Concat(2), ("a", "part")),
    ]
    made, x = quantized(nodes)
    assert functions(made)["all/part"] == "tflm_requantize_s8_s8"
    assert made.graph.node("part").output.format.ends == (0, 255 / 256)
    assert made.graph.node("all").output.format == made.graph.node("a").output.format
    assert made.graph.node("all").output.format.ends[0] < -10
    assert errors(made, x)["all"] < 2.6


def test_what_has_one_format_of_its_own_together_is_joined_as_it_is():
    nodes = [
        ("a", Sigmoid(), ("x",)),
        ("b", Softmax(axis=2), ("x",)),
        ("all", Concat(2), ("a", "b")),
        ("most", Pool("max", (2, 2)), ("all",)),
    ]
    made, x = quantized(nodes)
    assert [*functions(made)] == ["a", "b", "all", "most"]
    assert made.graph.node("most").output.format.scale == 1 / 256
    assert errors(made, x)["most"] < 3.6


def test_chains_of_choices_are_followed_in_no_time():
    nodes = [("n0", Relu(), ("x",))]
    nodes += [(f"n{i}", Elementwise("maximum"), (f"n{i - 1}",) * 2) for i in range(1, 60)]
    made, x = quantized(nodes)
    assert errors(made, x)["n59"] < 0.6


@pytest.mark.parametrize(
    ("nodes", "reason"),
    [
        ([("out", Relu(slope=0.1, limit=6.0), ("x",))], "a slope below zero and the limit 6"),
        ([("out", Relu(slope=-0.5), ("x",))], "the negative slope -0.5"),
        ([("out", Pad(((-1, 0), (0, 0), (0, 0))), ("x",))], "it crops its input"),
        (
            [
                ("deep", Reshape((2, 2, 2, 3, 8)), ("x",)),
                ("out", Pad(((1, 0),) * 5), ("deep",)),
            ],
            "up to 4 axes",
        ),
        (
            [
                ("deep", Reshape((2, 2, 2, 3, 8)), ("x",)),
                ("out", Transpose((4, 3, 2, 1, 0)), ("deep",)),
            ],
            "up to 4 axes",
        ),
        (
            [
                ("deep", Reshape((2, 2, 2, 3, 2, 4)), ("x",)),
                ("out", Slice(0, 0, 1), ("deep",)),
            ],
            "up to 5 axes",
        ),
        ([("out", Concat(0), ("x",))], "concatenates a single tensor"),
    ],
)
def test_what_the_functions_can_not_do_is_refused(nodes, reason):
    with pytest.raises(ModelError, match=reason):
        quantized([*nodes, ("end", Relu(), ("out",))])
