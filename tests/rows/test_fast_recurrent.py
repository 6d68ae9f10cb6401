"""Fast rows of recurrent layers, with the states they leave; sigmoid and tanh on every input."""

import itertools

import numpy as np
import pytest
from bits import hold

from qemu_nn.functions import FUNCTIONS

CASES = {f.name: f.cases[0] for f in FUNCTIONS.values() if f.cases}


def drawn(name, rng, params, fill=None, **most):
    """Arrays of a call: random, or all at one end of their type."""
    found = dict(params)
    for array in FUNCTIONS[name].arrays:
        limits, shape = np.iinfo(array.dtype), array.shape(params)
        if array.name.endswith("bias") and fill is None:
            size = most.get("bias", 1000)
            found[array.name] = rng.integers(-size, size, shape).astype(array.dtype)
        elif fill is None:
            values = rng.integers(limits.min, limits.max, shape, endpoint=True)
            found[array.name] = values.astype(array.dtype)
        else:
            found[array.name] = np.full(shape, getattr(limits, fill), array.dtype)
    return found


SIZES = ((1, 1, 1, 1), (40, 64, 2, 8), (3, 7, 3, 5), (17, 9, 1, 16), (16, 8, 2, 10), (5, 33, 1, 37))


@pytest.mark.parametrize("fill", [None, "min", "max"])
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("name", ["arm_svdf_s8", "arm_svdf_state_s16_s8"])
def test_svdf_has_the_bits_and_states_of_the_plain_row(name, sizes, fill):
    rng = np.random.default_rng(1)
    own = dict(zip(("input_size", "units", "rank", "time_batches"), sizes))
    for batches, offset, more in itertools.product((1, 3), (-128, 127), (-6, -2, 3)):
        params = {**CASES[name], **own, "batches": batches, "input_offset": offset}
        params.update(in_shift=CASES[name]["in_shift"] + more, out_shift=-8 + more)
        hold(name, drawn(name, rng, params, fill))


@pytest.mark.parametrize("name", ["arm_svdf_s8", "arm_svdf_state_s16_s8"])
def test_sums_that_helium_doubles_are_left_to_the_plain_row(name):
    params = {**CASES[name], "input_size": 9000, "units": 5, "rank": 1, "time_batches": 2}
    params.update(in_shift=2, input_offset=127, out_shift=-8)
    hold(name, drawn(name, np.random.default_rng(1), params, "min"))


@pytest.mark.parametrize("sizes", [(1, 1), (28, 20), (7, 8), (8, 9), (3, 33)])
@pytest.mark.parametrize("states", [(0, 0), (1, 0), (1, 1)])
@pytest.mark.parametrize("type", ["s8", "s16"])
def test_lstm_has_the_bits_and_states_of_the_plain_row(type, states, sizes):
    name = f"arm_lstm_unidirectional_{type}"
    rng = np.random.default_rng(2)
    own = dict(
        zip(("input_size", "hidden_size", "has_cell_state", "has_hidden_state"), sizes + states)
    )
    for major, clip, power in itertools.product((0, 1), (0, 3000), (-11, -20, 2)):
        params = {**CASES[name], **own, "time_major": major, "batch_size": 2, "time_steps": 4}
        params.update(cell_clip=clip, cell_scale_power=power, output_offset=5)
        hold(name, drawn(name, rng, params))
    for fill in ("min", "max"):
        hold(name, drawn(name, rng, {**CASES[name], **own}, fill))


@pytest.mark.parametrize("bias", [2**20, 2**30, 2**31 - 1, 2**31, 2**40])
@pytest.mark.parametrize("features", [5, 600])
def test_lstm_of_sums_that_leave_32_bits(bias, features):
    name = "arm_lstm_unidirectional_s16"
    rng = np.random.default_rng(3)
    params = {**CASES[name], "input_size": features, "hidden_size": 9, "time_steps": 3}
    arguments = drawn(name, rng, params, bias=bias)
    hold(name, arguments)
    for key in [key for key in arguments if key.endswith("weights")]:
        arguments[key][:] = -128
    arguments["input"][:] = -32768
    hold(name, arguments)


EVERY = np.arange(-32768, 32768, dtype=np.int16)


def test_activations_of_every_input():
    for left, type in itertools.product(range(-30, 15), (0, 1)):
        hold(
            "arm_nn_activation_s16",
            {"size": 65536, "left_shift": left, "type": type, "input": EVERY},
        )


@pytest.mark.parametrize("name", ["tflm_logistic_s16", "tflm_tanh_s16"])
def test_activations_of_every_input_and_scale(name):
    scales = [(m, s) for m in (1, 16384, 20000, 32767) for s in (0, 1, 5, 14, 31)]
    for multiplier, shift in (*scales, (0, 0), (0, 1)):
        params = {"length": 65536, "input_multiplier": multiplier, "input_left_shift": shift}
        hold(name, {**params, "input": EVERY})


@pytest.mark.parametrize("length", range(20))
def test_activations_of_every_tail(length):
    params = {"size": length, "left_shift": 0, "type": 1, "input": EVERY[::3000][:length].copy()}
    hold("arm_nn_activation_s16", params)
