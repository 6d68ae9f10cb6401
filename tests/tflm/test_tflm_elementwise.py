"""Elementwise operators of TensorFlow Lite Micro on quantized tensors compute what was recorded."""

import numpy as np
import pytest
from paths import GOLDEN
from recorded_archives import ARCHIVES
from recorded_tflite import UNDEFINED
from tflite_cases import CASES, Net, inputs

import qemu_nn
from qemu_nn import cmsis
from qemu_nn.errors import Error, ModelError, Refused
from qemu_nn.functions import scaling
from qemu_nn.functions.tflm_tables import make_elu_table

RECORDED = ARCHIVES["tflm_elementwise"]
OPERATORS = np.load(GOLDEN / "tflite_operators.npz")

#: Operators whose bytes depend on memory after a computed operand.
ASTRAY = [name for name in RECORDED.names() if name in UNDEFINED]
KINDS = qemu_nn.Target(kernels="reference")


def given(name):
    arrays = RECORDED.arrays(name)
    return [arrays[key] for key in sorted(arrays) if key.startswith("input_")]


def run(network, arrays, target="cortex-m4"):
    """Return the output for arrays of samples, one for each of the network's inputs."""
    shapes = [(-1, *tensor.shape) for tensor in network.graph.inputs]
    arrays = [array.reshape(shape) for array, shape in zip(arrays, shapes)]
    results = network.session(target).run(arrays if len(arrays) > 1 else arrays[0])
    return results[network.graph.outputs[-1]]


# ---- the rows of MAXIMUM and MINIMUM ----


@pytest.mark.parametrize("name", ASTRAY)
def test_rows_that_the_device_reads_behind_an_operand_are_refused(name, tmp_path):
    network = RECORDED.load(name, tmp_path)
    with pytest.raises(
        Refused, match=r'rows 0, 2, 4, .* then unknown memory after it; choose kernels="reference"'
    ):
        run(network, given(name))
    numpy = np.maximum if name.startswith("max") else np.minimum
    first, second = given(name)
    assert np.array_equal(
        run(network, [first, second], KINDS).ravel(), numpy(first, second).ravel()
    )


@pytest.mark.parametrize("name", ASTRAY)
def test_every_second_row_is_what_was_recorded_with_an_arena_of_zeros(name):
    """Return the numbers of the refusal: half of the rows, then bytes of the arena."""
    numpy = np.maximum if name.startswith("max") else np.minimum
    first, second = given(name)
    rows, other = (first, second) if first.size < second.size else (second, first)
    read = np.zeros_like(rows)
    read[:, :, :3] = rows[:, :, ::2]
    want = RECORDED.arrays(name)["output_0"]
    assert np.array_equal(numpy(read, other)[:, :, :3], want[:, :, :3])


@pytest.mark.filterwarnings("ignore::qemu_nn.errors.DeviceWarning")
def test_constant_rows_go_on_with_the_bytes_of_the_file(tmp_path):
    network = qemu_nn.load(CASES["choice_maximum_rows"]().save(tmp_path))
    x = inputs("choice_maximum_rows", network.graph.input)
    read = np.int8([88, 36, 15, 0, 4, 4]).reshape(6, 1, 1)  # of 88 25 36 79 15 55 | 0 0 4 0 4 0
    assert np.array_equal(run(network, [x]), np.maximum(x, read))
    own = np.int8([88, 25, 36, 79, 15, 55]).reshape(6, 1, 1)
    assert np.array_equal(run(network, [x], KINDS), np.maximum(x, own))


def test_the_device_is_warned_of_where_rows_go_on(tmp_path):
    network = qemu_nn.load(CASES["choice_maximum_rows"]().save(tmp_path))
    effects = [node.effect for node in network.graph.nodes if node.effect]
    (effect,) = effects
    assert "every second row of tensor 1 ('t1'), then the bytes after it" in effect


# ---- differences and quotients, by the month of the build ----


@pytest.mark.parametrize("kind", ["sub", "sub_from"])
@pytest.mark.parametrize(("month", "differing"), [("2026-08", 0), ("2026-10", 1), ("2022-12", 1)])
def test_ratios_of_a_difference_are_float32_but_in_some_builds(kind, month, differing, tmp_path):
    name = f"with_constant_{kind}"
    network = qemu_nn.load(CASES[name]().save(tmp_path))
    x = inputs(name, network.graph.input)
    got = run(network, [x], target=qemu_nn.Target(tflm=month)).ravel()
    apart = got.astype(int) - OPERATORS[f"{name}/0"].ravel()
    assert np.any(apart) == differing
    assert np.abs(apart).max() == differing


@pytest.mark.parametrize(("name", "differing"), [("div_same", 2), ("div_relu6", 1)])
def test_the_ratio_of_a_quotient_is_float32_but_in_october(name, differing, tmp_path):
    network = RECORDED.load(name, tmp_path)
    apart = run(network, given(name), target=qemu_nn.Target(tflm="2026-10")).ravel().astype(int)
    apart -= RECORDED.arrays(name)["output_0"].ravel()
    assert np.count_nonzero(apart) == differing


# ---- what stops a device ----

ZEROS = ("input_1_zero_point", "input_2_zero_point", "output_zero_point")
DIV = {**dict.fromkeys(ZEROS, 0), "multiplier": 2**30, "act_min": -128, "act_max": 127}


def divided(x, y, shift, **more):
    return cmsis.tflm_div_s8(
        input1=np.int8([x]), input2=np.int8([y]), **{**DIV, "shift": shift}, **more
    )


def test_a_quotient_whose_shift_leaves_31_bits_is_an_error():
    assert divided(1, 1, 0)[0] in (0, 1)  # 0 - 0 - 30
    assert divided(0, 127, 6)[0] == 0
    with pytest.raises(Refused):
        divided(0, 127, 5)  # 5 - 6 - 31
    with pytest.raises(Refused):
        divided(100, 1, 25)  # 25 - 0 - 24: to the left
    with pytest.raises(Refused):
        divided(1, 0, 6)
    with pytest.raises(Refused):
        divided(0, 1, 6, rounding="single")


def quotient(values, scale):
    net = Net()
    x, y = net.begin(3), net.end(3, scale=scale)
    c = net.tensor((3,), "INT8", 0.01, 0, np.array(values))
    net.operator("DIV", [x, c], [y], "DivOptions")
    return net


@pytest.mark.parametrize(
    ("values", "scale", "message"),
    [
        ((1, 0, 2), 0.1, "its divisor contains zeros"),
        ((1, 2, 100), 1e3, "right by more than 31 bits for every numerator"),
    ],
)
def test_divisors_at_which_every_device_stops_are_refused(values, scale, message, tmp_path):
    with pytest.raises(ModelError, match=message):
        qemu_nn.load(quotient(values, scale).save(tmp_path))


def test_an_input_at_which_the_device_stops_ends_the_run(tmp_path):
    network = qemu_nn.load(quotient((100, 101, 102), 0.5).save(tmp_path))
    assert run(network, [np.int8([[100, 100, 100]])]).shape == (1, 3)
    with pytest.raises(
        Refused, match=r"net: layer '.*' stops at sample 0, as it does on the device: DIV by 0"
    ):
        run(network, [np.int8([[3, 3, 3]])])  # the zero point


def test_roots_of_negative_numbers_are_errors():
    params = {"output_zero_point": 0, "multiplier": 2**30, "shift": 5}
    x = np.arange(-128, 128).astype(np.int8)
    assert cmsis.tflm_rsqrt_s8(input=x, input_zero_point=-128, **params)[0] == 127
    with pytest.raises(Refused):
        cmsis.tflm_rsqrt_s8(input=x, input_zero_point=-127, **params)


# ---- what no recording covers ----


@pytest.mark.oracle("tflm_l2_normalization_s8")
def test_rows_are_divided_by_their_length():
    """Off by one at most of what is exact; recorded roots have the same multipliers."""
    rng = np.random.default_rng(1)
    x = rng.integers(-128, 128, (50, 33)).astype(np.int8)
    got = cmsis.tflm_l2_normalization_s8(input=x, input_zero_point=5)
    real = (x - 5.0) / np.sqrt(((x - 5.0) ** 2).sum(axis=1, keepdims=True)) * 128
    assert np.abs(np.clip(real, -128, 127) - got).max() <= 0.6
    assert not cmsis.tflm_l2_normalization_s8(
        input=np.full((1, 4), 5, np.int8), input_zero_point=5
    ).any()


@pytest.mark.oracle("tflm_logical_and_b8", "tflm_logical_or_b8", "tflm_logical_not_b8")
def test_logic_is_that_of_numpy():
    x, y = np.array([0, 0, 1, 1], bool), np.array([0, 1, 0, 1], bool)
    for name, want in (
        ("logical_and", x & y),
        ("logical_or", x | y),
        ("equal", x == y),
        ("not_equal", x != y),
    ):
        assert np.array_equal(getattr(cmsis, f"tflm_{name}_b8")(input1=x, input2=y), want)
    assert np.array_equal(cmsis.tflm_logical_not_b8(input=x), ~x)


@pytest.mark.oracle("tflm_select_{type}")
@pytest.mark.parametrize(("type", "dtype"), [("s8", "int8"), ("s16", "int16"), ("f32", "float32")])
def test_a_choice_moves_elements(type, dtype):
    condition = np.array([1, 0, 0, 1, 0], bool)
    x, y = np.arange(5).astype(dtype), np.arange(-5, 0).astype(dtype)
    got = getattr(cmsis, f"tflm_select_{type}")(condition=condition, x=x, y=y)
    assert np.array_equal(got, np.where(condition, x, y))


@pytest.mark.oracle("tflm_{kind}_s16")
@pytest.mark.parametrize("kind", ["maximum", "minimum"])
def test_16_bit_extremes_are_those_of_numpy(kind):
    rng = np.random.default_rng(2)
    x, y = rng.integers(-(2**15), 2**15, (2, 100)).astype(np.int16)
    got = getattr(cmsis, f"tflm_{kind}_s16")(input1=x, input2=y)
    assert np.array_equal(got, getattr(np, kind)(x, y))


@pytest.mark.oracle("tflm_prelu_s16")
def test_a_16_bit_slope_rounds_twice():
    """Check 0.37: a product rounded to halves of a step, then to steps, halves away from zero."""
    x = np.arange(-32768, 32768, 7).astype(np.int16)
    factor, shift = scaling.quantize_multiplier(0.37)
    assert shift == -1
    names = ("identity_multiplier", "identity_shift", "alpha_multiplier", "alpha_shift")
    params = dict(zip(names, (2**30, 1, factor, shift)))
    zeros = {"input_zero_point": 0, "output_zero_point": 0, "alpha_zero_point": 1}
    got = cmsis.tflm_prelu_s16(input=x[:, None], alpha=np.int8([3]), **params, **zeros)
    halves = (x.astype(np.int64) * 2 * factor + 2**30) >> 31
    steps = np.sign(halves) * ((np.abs(halves) + 1) // 2)
    assert np.array_equal(got.ravel(), np.where(x < 0, steps, x))


def test_entries_of_a_table_that_hang_on_the_last_bit_of_an_exponential_are_counted():
    assert make_elu_table(0.0010416986187919974, 0, 0.004992378409951925, -70)[1] == 1
    assert make_elu_table(0.001, 0, 0.005, -70)[1] == 0


def test_scales_that_no_function_takes_are_errors():
    for wrong, message in (
        (lambda: scaling.compare_scaling(0.5, 1.0), "above 0 and below 1"),
        (lambda: scaling.scale_hard_swish(1.0, 1e-3), "at least 1/128"),
        (lambda: scaling.log_softmax_scaling(np.nextafter(2.0**-26, 1)), r"above 2\^-26"),
        (lambda: scaling.compute_rsqrt_factor(1e-45, 1e-38), "RSQRT has no factor"),
    ):
        with pytest.raises(Error, match=message):
            wrong()
