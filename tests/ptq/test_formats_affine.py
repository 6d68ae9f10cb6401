"""Affine formats: the numbers of TFLite's scheme, computed here by its formulas in float32."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qemu_nn.errors import Error
from qemu_nn.functions.scaling import add_scaling
from qemu_nn.ir.float_graph import FloatGraph, FloatNode
from qemu_nn.ir.formats import (
    Format,
    activation_limits,
    affine_format,
    power_of_two,
    quantize_symmetric,
)
from qemu_nn.ir.statistics import make_statistics
from qemu_nn.ir.tensors import Tensor
from qemu_nn.operators import Clip, Conv, Elementwise, Pool, Relu, Softmax
from qemu_nn.quantizer.fusion import Clamp, find_clamps
from qemu_nn.quantizer.policies import CandidateGrid, compute_square_error
from qemu_nn.quantizer.ranges import get_range_method

RNG = np.random.default_rng(51)


@pytest.mark.parametrize(
    ("ends", "scale", "zero"),
    [
        ((0.0, 255.0), 1.0, -128),
        ((-1.0, 1.0), 2 / 255, -1),  # -128 + 127.5 is -0.5: away from zero
        ((-127.0, 128.0), 1.0, -1),
        ((-128.0, 127.0), 1.0, 0),
        ((0.5, 2.55), 0.01, -128),  # 0 is in every range
        ((-2.55, -0.5), 0.01, 127),
        ((-0.1, 25.4), 0.1, -127),
        ((0.0, 0.0), 1 / 255, -128),
    ],
)
def test_a_range_has_256_steps_and_0_is_one_of_them(ends, scale, zero):
    held = affine_format(*ends)
    assert held == Format("int8", held.scale, zero)
    assert held.scale == pytest.approx(scale, rel=2e-7)
    assert held.scale == float(np.float32(held.scale))


@given(st.floats(-1e6, 0), st.floats(0, 1e6))
def test_what_is_in_the_range_is_off_by_a_step_at_most_and_0_by_nothing(low, high):
    held = affine_format(low, high)
    x = np.linspace(low, high, 50)
    back = held.dequantize(held.quantize(x))
    assert np.abs(back - x).max() <= 1.01 * held.scale + 1e-30
    assert held.dequantize(held.quantize(np.zeros(1))) == 0
    least, most = held.ends
    assert least <= 0 <= most


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("most", [1e39, 3e38])
def test_a_range_that_float32_does_not_hold_is_an_error(most):
    with pytest.raises(Error, match="no format represents"):
        affine_format(-most, most)


@pytest.mark.parametrize("ends", [(-1.0, 1.0), (-1.0, 0.25), (0.0, 1.0), (0.0, 0.0)])
def test_16_bits_have_no_zero_point_and_hold_the_largest_magnitude(ends):
    held = affine_format(*ends, "int16")
    assert held == Format("int16", float(np.float32(1 / 32767)), 0)
    assert held.limits == (-32768, 32767)


@pytest.mark.parametrize(
    ("held", "text"),
    [
        (Format("int8", 0.0235294, -128), "0.02353*(q+128)"),
        (Format("int8", 0.5, 3), "0.5*(q-3)"),
        (Format("int16", 0.25), "0.25*q"),
        (power_of_two("int8", 7), "Q0.7"),
    ],
)
def test_formats_are_spelled_as_what_they_mean(held, text):
    assert str(held) == text


def test_a_tensor_has_the_format_that_is_known_of_it():
    assert Tensor("x", (1,), "int8", 5).format == power_of_two("int8", 5)
    assert Tensor("x", (1,), "int8", None, 0.5, 3).format == Format("int8", 0.5, 3)
    assert Tensor("x", (1,), "int16").format == power_of_two("int16", 0)


def test_a_format_quantizes_as_the_functions_for_its_kind():
    x = np.array([0.5, 1.5, -0.5, -1.5, 1000.0])
    assert power_of_two("int8", 0).quantize(x).tolist() == [0, 2, 0, -2, 127]  # half to even
    assert Format("int8", 1.0, 1).quantize(x).tolist() == [2, 3, 0, -1, 127]  # away from zero
    assert Format("int8", 0.5, 1).scale_unrounded(x).tolist() == [2, 4, 0, -2, 2001]


@pytest.mark.parametrize(
    ("ends", "limits"),
    [
        ((-math.inf, math.inf), (-128, 127)),
        ((0.0, math.inf), (-28, 127)),
        ((0.0, 6.0), (-28, 92)),
        ((-1.0, 1.0), (-48, -8)),
        ((-100.0, 100.0), (-128, 127)),
        ((0.024, 0.026), (-28, -27)),  # half a step goes away from zero
    ],
)
def test_limits_are_the_nearest_integers_within_the_type(ends, limits):
    found = activation_limits(*ends, Format("int8", 0.05, -28))
    assert (found["act_min"], found["act_max"]) == limits


def test_weights_and_biases_round_halves_away_from_zero():
    x = np.array([[0.5, -0.5, 1.5, -1.5], [10.0, -10.0, 1000.0, -1000.0]])
    scales = np.array([[1.0], [4.0]])
    assert quantize_symmetric(x, scales, 127).tolist() == [[1, -1, 2, -2], [3, -3, 127, -127]]


def test_a_sum_is_computed_in_steps_of_twice_the_larger_scale():
    found = add_scaling(0.5, 0.125, 0.25)
    assert found == {
        "left_shift": 20,
        **{"input_1_mult": 2**30, "input_1_shift": 0},
        **{"input_2_mult": 2**30, "input_2_shift": -2},
        **{"out_mult": 2**30, "out_shift": -17},
    }


# ---- ranges ----


def test_minmax_is_the_range_and_a_percentile_a_magnitude():
    values = np.concatenate([np.linspace(-1, 3, 1000), [100.0]])
    assert get_range_method("minmax").choose_activation_range(make_statistics(values)) == (-1, 100)
    low, high = get_range_method(99.9).choose_activation_range(make_statistics(values))
    assert (low, high) == (-1, pytest.approx(3, abs=0.1))
    assert get_range_method("50").choose_weight_range(values) == pytest.approx(1.0, abs=0.1)
    assert get_range_method("minmax").choose_weight_range(-values) == 100


def test_mse_chooses_each_end_for_itself():
    values = np.concatenate([np.repeat(np.linspace(-4, 1, 500), 4000), [-16.0, 8.0]])
    low, high = get_range_method("mse").choose_activation_range(make_statistics(values))
    assert -6 < low < -3
    assert high < 3
    grid = CandidateGrid(24 / 255, -16.0, 8.0)
    better = CandidateGrid((high - low) / 255, low, high)
    found = make_statistics(values)
    assert compute_square_error(found, better) < compute_square_error(found, grid) / 2


@pytest.mark.parametrize("method", ["mse", "kl"])
def test_what_has_no_outliers_keeps_most_of_its_range(method):
    values = RNG.uniform(0, 6, 100_000)
    low, high = get_range_method(method).choose_activation_range(make_statistics(values))
    assert (low, high) == (pytest.approx(0, abs=1e-3), values.max())
    assert get_range_method(method).choose_weight_range(values) == values.max()
    assert get_range_method(method).choose_activation_range(make_statistics(np.zeros(3))) == (0, 0)


# ---- fusion ----


def network(*nodes, outputs=None):
    nodes = tuple(FloatNode(*node) for node in nodes)
    return FloatGraph("net", "x", (4, 4, 2), "NHWC", nodes, outputs or (nodes[-1].name,))


CONV = Conv(np.ones((2, 1, 1, 2)))


def test_an_activation_is_computed_along_where_it_alone_reads():
    graph = network(
        ("conv", CONV, ("x",)),
        ("relu", Relu(), ("conv",)),
        ("clip", Clip(-1.0, 2.0), ("relu",)),
        ("pool", Pool("max", (2, 2)), ("clip",)),
        ("six", Relu(limit=6.0), ("pool",)),
        ("sum", Elementwise("add"), ("six", "six")),
        ("leaky", Relu(slope=0.5), ("sum",)),
        ("soft", Softmax(2), ("leaky",)),
        ("cut", Relu(limit=0.5), ("soft",)),
    )
    assert find_clamps(graph) == {
        "conv": Clamp("clip", 0.0, 2.0),
        "pool": Clamp("six", 0.0, 6.0),
        "sum": Clamp("sum"),
        "leaky": Clamp("leaky"),
        "soft": Clamp("soft"),
        "cut": Clamp("cut", 0.0, 0.5),
    }


@pytest.mark.parametrize("kind", ["maximum", "minimum"])
def test_what_has_no_limits_of_its_own_leaves_them_to_a_call(kind):
    both = ("most", Elementwise(kind), ("x", "x"))
    assert set(find_clamps(network(both, ("relu", Relu(), ("most",))))) == {"most", "relu"}


def test_what_is_read_elsewhere_stays():
    nodes = (("conv", CONV, ("x",)), ("relu", Relu(), ("conv",)))
    assert find_clamps(network(*nodes, outputs=("relu", "conv")))["conv"] == Clamp("conv")
    twice = network(*nodes, ("sum", Elementwise("add"), ("conv", "relu")))
    assert find_clamps(twice)["conv"] == Clamp("conv")


def test_limits_apart_come_to_one_value():
    nodes = (
        ("conv", CONV, ("x",)),
        ("a", Clip(0.0, 1.0), ("conv",)),
        ("b", Clip(3.0, 5.0), ("a",)),
    )
    assert find_clamps(network(*nodes))["conv"] == Clamp("b", 3.0, 3.0)
