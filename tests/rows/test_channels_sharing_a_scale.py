"""Depthwise layers whose channels share one scale: all lanes of a channel hold its numbers."""

import numpy as np
import pytest
from bits import draws, hold
from layer_calls import same_s8

from qemu_nn.functions import FUNCTIONS

pytestmark = [pytest.mark.caps, pytest.mark.rows]


def depthwise_call(rng, name, channels, kernel):
    """Return a layer of weights of 8 or 4 bits whose sums differ in size under one scale."""
    function, numbers = FUNCTIONS[name], np.random.default_rng(rng.getrandbits(32))
    params = same_s8(rng.randint(1, 9), 1, 1, kernel, channels, input_offset=128, ch_mult=1)
    params = {key: params[key] for key in function.params}
    arrays = {a.name: numbers.integers(-128, 128, a.shape(params), "int8") for a in function.arrays}
    weights = arrays[function.arrays[1].name]
    weights >>= numbers.integers(0, 7, channels, "int8") if weights.shape[-1] == channels else 0
    scale = {"multiplier": rng.randint(2**30, 2**31 - 1), "shift": rng.randint(-9, -6)}
    arrays.update({n: np.full(channels, value, np.int32) for n, value in scale.items()})
    arrays["bias"] = numbers.integers(-1000, 1000, channels, "int32")
    return {**params, **arrays}


@pytest.mark.parametrize("channels", [1, 2, 3, 4, 7, 8, 16])
@pytest.mark.parametrize("kernel", [1, 3, 5])
@pytest.mark.parametrize("type", ["s8", "s4"])
def test_channels_of_one_scale_have_their_own_sums(type, kernel, channels):
    name = f"arm_depthwise_conv_wrapper_{type}"
    for rng in draws(6):
        hold(name, depthwise_call(rng, name, channels, kernel))


def test_two_channels_of_one_scale_in_one_vector():
    """Run the smallest such call: one weight, two channels, two pixels."""
    name = "arm_depthwise_conv_wrapper_s8"
    params = same_s8(1, 1, 1, 1, 2, input_w=2, output_w=2, ch_mult=1)
    params.update(input_offset=128, output_offset=-128)
    arrays = {"input": np.full((1, 1, 2, 2), 11), "filter": np.array([-1, 50]).reshape(1, 1, 1, 2)}
    call = {key: params[key] for key in FUNCTIONS[name].params}
    call.update({key: array.astype(np.int8) for key, array in arrays.items()})
    call.update(bias=np.array([213, 941], np.int32))
    call.update(multiplier=np.full(2, 1857032791, np.int32), shift=np.full(2, -6, np.int32))
    hold(name, call)
