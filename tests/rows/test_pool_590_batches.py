"""Pooling of the s8 and s16 API in CMSIS 5.9.0: one image, whatever the batch says."""

import numpy as np
import pytest

import qemu_nn
from qemu_nn import cmsis
from qemu_nn.errors import Refused

WINDOW = {"filter_h": 2, "filter_w": 2, "stride_h": 2, "stride_w": 2, "pad_h": 0, "pad_w": 0}
SHAPE = {"input_h": 4, "input_w": 4, "channels": 3, "output_h": 2, "output_w": 2, **WINDOW}
FUNCTIONS = ["arm_max_pool_s8", "arm_max_pool_s16", "arm_avgpool_s8", "arm_avgpool_s16"]


def pooled(function, batches, **device):
    dtype = np.int16 if function.endswith("s16") else np.int8
    x = np.random.default_rng(1).integers(-128, 128, (batches, 4, 4, 3)).astype(dtype)
    given = {**SHAPE, "batches": batches, "act_min": -128, "act_max": 127}
    return getattr(cmsis, function)(input=x, **given, **device)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_several_images_are_refused_where_the_device_computes_the_first_alone(function):
    with pytest.raises(Refused, match=r"computes the first image .* of the other 2 as it was"):
        pooled(function, 3, cmsis="5.9.0")
    one, three = pooled(function, 1, cmsis="5.9.0"), pooled(function, 3, cmsis="7.0.0")
    np.testing.assert_array_equal(one, pooled(function, 1, cmsis="7.0.0"))
    assert three.shape == (3, *one.shape[1:])


@pytest.mark.parametrize("name", ["pool_max", "pool_average", "pool_max_s16"])
def test_a_tflite_network_of_pools_alone_takes_the_release_of_the_others(name, tmp_path):
    from tflite_cases import CASES

    network = qemu_nn.load(CASES[name]().save(tmp_path))
    assert network.profile().cmsis == "7.0.0"
    assert network.profile(target=qemu_nn.Target(cmsis="5.9.0")).cmsis == "5.9.0"


def test_a_network_of_both_apis_takes_the_release_that_has_both():
    from qemu_nn.kernels.devices import profile_for

    pool = ("max_pool", "s8")
    assert profile_for([pool, ("convolve", "q7")]).cmsis == "5.9.0"
    assert profile_for([("relu", "q7")]).cmsis == "5.9.0"
    assert profile_for([pool, ("softmax", "s8")]).cmsis == "7.0.0"
