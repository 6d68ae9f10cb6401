"""Operators of the affine scheme, each on its function and close to its meaning."""

import numpy as np
import pytest
from affine_operators import CASES, errors, functions, quantized

from qemu_nn.errors import ModelError
from qemu_nn.operators import (
    Concat,
    Conv,
    Dense,
    Elementwise,
    Pad,
    Pool,
    Relu,
    Reshape,
    Sigmoid,
    Slice,
    Softmax,
    Tanh,
    Transpose,
)

RNG = np.random.default_rng(41)


#: Operators for which half a step of an input may exceed one step of the output.
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
        (
            [
                ("deep", Reshape((2, 2, 2, 3, 8)), ("x",)),
                ("out", Pad(((1, 0),) * 5), ("deep",)),
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


@pytest.mark.parametrize(
    ("operator", "reason"),
    [
        (Relu(slope=0.1, limit=6.0), "a negative slope and the limit 6"),
        (Relu(slope=-0.5), "its negative slope is -0.5"),
    ],
)
def test_activations_that_only_a_table_computes_are_refused_at_16_bits(operator, reason):
    made, x = quantized([("out", operator, ("x",))])
    assert functions(made)["out"] == "executorch_quantized_activation_s8"
    assert errors(made, x)["out"] < 2.1
    with pytest.raises(ModelError, match=reason):
        quantized([("out", operator, ("x",))], dtype="int16")
