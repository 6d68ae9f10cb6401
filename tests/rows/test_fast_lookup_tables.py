"""Fast rows that look up what they were told at plan time: every byte, every tail, and softmax
where a device divides by 2^32 and more."""

import numpy as np
import pytest
from table_rows import CASES, TABLES, outputs, rows_here

from qemu_nn.functions import FUNCTIONS
from qemu_nn.kernels import table as kernels
from qemu_nn.testing.rows import assert_same, draw_call


def hold(name, params, x, **how):
    for device, found in outputs(name, params, x, **how):
        for variant, got in found.items():
            want = found.get("ref", found.get("mve"))
            assert_same(got, want, variant, device, params)


def factors():
    return np.array([0.37, 5.0], np.float32).view(np.int32)


@pytest.mark.parametrize("name", TABLES)
def test_every_byte_and_every_tail(name):
    function = FUNCTIONS[name]
    every = np.random.default_rng(1).permutation(np.arange(256).repeat(3)).astype(np.uint8)
    every = every.view(np.dtype(function.inputs[0].dtype))
    weights = factors() if function.weights else None
    for length in (*range(67), 95, 96, 97, 127, 128, 129, 768):
        params = {**CASES[name].params, "length": length}
        for in_place in (False, True):
            hold(name, params, every[:length], weights=weights, in_place=in_place)


@pytest.mark.parametrize("name", [name for name in TABLES if name != "tflm_rescale_u8"])
def test_every_byte_of_calls_as_they_come(name):
    function = FUNCTIONS[name]
    every = np.arange(256).astype(np.uint8).view(np.dtype(function.inputs[0].dtype))
    for seed in range(25):
        arguments = draw_call(function, rows_here(name)[-1], seed).arguments
        params = {key: arguments[key] for key in function.params} | {"length": 256}
        hold(name, params, every)


SOFTMAX = ("arm_softmax_s8", "arm_softmax_s8_s16", "arm_softmax_u8")
USUAL = {"mult": 1717986944, "shift": 22, "diff_min": -248}


@pytest.mark.parametrize("name", SOFTMAX)
@pytest.mark.parametrize("size", [*range(1, 20), 95, 96, 97, 128, 1000])
def test_rows_of_every_length(name, size):
    rng = np.random.default_rng(size)
    dtype = np.dtype(FUNCTIONS[name].inputs[0].dtype)
    x = rng.integers(0, 256, (3, size)).astype(np.uint8).view(dtype)
    for more in ({}, {"diff_min": -20}, {"shift": 18, "mult": 2**30}):
        for in_place in (False, True):
            params = {"num_rows": 3, "row_size": size, **USUAL, **more}
            hold(name, params, x, in_place=in_place)


@pytest.mark.parametrize("name", SOFTMAX)
@pytest.mark.parametrize("size", [511, 512, 513, 1023, 2050, 4095])
def test_classes_as_likely_as_the_best(name, size):
    """Check from 512 elements on, where the 8-bit division is by 2^32 and more."""
    dtype = np.dtype(FUNCTIONS[name].inputs[0].dtype)
    x = np.zeros((3, size), dtype)
    x[1, ::2] = 1
    x[2, : size // 3] = 100
    hold(name, {"num_rows": 3, "row_size": size, **USUAL}, x)
    hold(name, {"num_rows": 3, "row_size": size, **USUAL, "shift": 3}, x)


@pytest.mark.parametrize("name", SOFTMAX)
@pytest.mark.parametrize(
    "params", [{"diff_min": 1}, {"mult": 0}, {"diff_min": 0}, {"mult": 2**31 - 1}]
)
def test_rows_with_nothing_to_divide_by_and_with_one_class(name, params):
    dtype = np.dtype(FUNCTIONS[name].inputs[0].dtype)
    x = np.arange(40).astype(np.uint8).view(dtype).reshape(4, 10)
    hold(name, {"num_rows": 4, "row_size": 10, **USUAL, **params}, x)


def test_there_are_such_rows():
    if kernels.cpu_features() & kernels.FEATURES["avx2"]:
        assert all("avx2" in [r.variant for r in rows_here(n)] for n in (*TABLES, *SOFTMAX))
