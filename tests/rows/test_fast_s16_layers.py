"""Fast rows of 16-bit layers: sums that leave 32 bits, first products that wrap around, every shift
and multiplier, pixels that come alone, and tails."""

import itertools

import bits
import numpy as np
import pytest
from hosts import fast_variants
from s8_layer_calls import AXES, window

from qemu_nn.functions import FUNCTIONS
from qemu_nn.kernels import table as kernels
from qemu_nn.targets import profile

WHOLE = {"act_min": -32768, "act_max": 32767}
CONVOLVE, DEPTHWISE, DENSE = (
    f"arm_{name}_s16" for name in ("convolve_wrapper", "depthwise_conv_wrapper", "fully_connected")
)
NONE = {"input_offset": 0, "output_offset": 0}


def hold(name, arguments, paths=("scalar", "dsp", "mve"), roundings=("double", "single")):
    devices = [profile(*of) for of in itertools.product(paths, ["7.0.0"], roundings)]
    bits.hold(name, arguments, devices, none_leaves_it=True)


def called(name, rng, windows, **changes):
    """Return a call whose outputs are mostly inside their range."""
    params = {**windows, "batches": 2, **NONE, **WHOLE, **changes}
    function = FUNCTIONS[name]
    if "bias_is_int32" in function.params:
        params.setdefault("bias_is_int32", 0)
    found = {}
    for array in function.arrays:
        shape, dtype = array.shape(params), array.dtype_in(params)
        if array.name == "multiplier":
            found["multiplier"] = rng.integers(2**30, 2**31, shape).astype(dtype)
        elif array.name == "shift":
            found["shift"] = rng.integers(-12, -6, shape).astype(dtype)
        else:
            most = {"bias": 2**20, "input": 2**15}.get(array.name, 128)
            found[array.name] = rng.integers(-most, most, shape).astype(dtype)
    return {**params, **found}


@pytest.mark.parametrize("narrow", [0, 1])
@pytest.mark.parametrize("h", AXES)
@pytest.mark.parametrize("w", AXES)
def test_convolutions_have_the_bits_of_the_plain_row(h, w, narrow):
    rng = np.random.default_rng(1)
    windows = {**window("h", *h), **window("w", *w)}
    for depth, out in ((1, 1), (3, 17), (8, 33), (5, 65)):
        channels = {"input_c": depth, "filter_c": depth, "output_c": out, "bias_is_int32": narrow}
        hold(CONVOLVE, called(CONVOLVE, rng, windows, **channels), ("scalar", "mve"))


@pytest.mark.parametrize("h", AXES)
@pytest.mark.parametrize("w", AXES)
def test_depthwise_convolutions_have_the_bits_of_the_plain_row(h, w):
    rng = np.random.default_rng(2)
    windows = {**window("h", *h), **window("w", *w)}
    for channels, more in (
        (1, 1),
        (7, 1),
        (16, 1),
        (31, 1),
        (33, 1),
        (64, 1),
        (5, 3),
        (33, 2),
        (3, 16),
        (1, 18),
    ):
        sides = {"input_c": channels, "ch_mult": more}
        hold(DEPTHWISE, called(DEPTHWISE, rng, windows, **sides), ("scalar",))


def dense(rng, columns, rows, batches=1, **changes):
    sides = {"batches": batches, "input_c": columns, "output_c": rows, "filter_offset": 0}
    return {
        **{**sides, **NONE, **WHOLE, "multiplier": 1518500250, "shift": -12},
        "input": rng.integers(-32768, 32768, (batches, columns)).astype(np.int16),
        "filter": rng.integers(-128, 128, (rows, columns)).astype(np.int8),
        "bias": rng.integers(-(2**20), 2**20, rows),
        **changes,
    }


@pytest.mark.parametrize("rows", [1, 7, 8, 9, 15, 16, 17, 32, 33, 48, 63, 64, 65, 80, 129])
def test_dense_layers_of_every_tail(rows):
    rng = np.random.default_rng(rows)
    for columns, batches in itertools.product((1, 2, 7, 8, 36), (1, 2, 5, 13)):
        hold(DENSE, dense(rng, columns, rows, batches), ("scalar",))


@pytest.mark.parametrize("columns", [509, 510, 511, 512, 513, 1020, 1023, 5000])
@pytest.mark.parametrize("rows", [1, 17, 33, 70])
def test_sums_of_64_bits(columns, rows):
    """Yield products of the largest magnitude, of either sign, and random ones."""
    rng = np.random.default_rng(columns)
    for x, weight in itertools.product((-32768, 32767), (-128, 127)):
        arguments = dense(rng, columns, rows, 5, shift=-22)
        arguments["input"][:] = x
        arguments["filter"][:] = weight
        hold(DENSE, arguments)
    hold(DENSE, dense(rng, columns, rows, 5))


@pytest.mark.parametrize("first", [511, 512, 513])
def test_512_products_that_wrap_around_on_some_cores(first):
    arguments = dense(np.random.default_rng(1), 600, 3, 1, shift=-15, multiplier=2**30)
    arguments["input"][:] = -32768
    arguments["filter"][:] = 0
    arguments["filter"][1, :first] = -128
    hold(DENSE, arguments)


@pytest.mark.parametrize("size", [7, 8])
@pytest.mark.parametrize("weight", [-128, -127, 127])
def test_the_last_of_an_odd_number_of_pixels_sums_up_in_32_bits(size, weight):
    windows = {**window("h", size, 3, 1, 1, 0, size - 2), **window("w", size, 3, 1, 1, 0, size - 2)}
    channels = {"input_c": 72, "filter_c": 72, "output_c": 18}
    for x in (-32768, 32767):
        call = called(CONVOLVE, np.random.default_rng(3), windows, **channels)
        call["input"][:] = x
        call["filter"][:] = weight
        call["shift"][:] = -18
        hold(CONVOLVE, call)


EDGE = 2**31 - 1 - 127 * 32768


@pytest.mark.parametrize("bias", [EDGE - 1, EDGE, EDGE + 1, 2**31, 2**40, 2**63 - 1])
def test_biases_that_take_sums_out_of_32_bits(bias):
    rng = np.random.default_rng(4)
    signs = np.array([1, -1], np.int64)
    for x, weight in itertools.product((-32768, 32767), (-127, 127)):
        arguments = dense(rng, 1, 2, bias=signs * bias, shift=-17)
        arguments["input"][:] = x
        arguments["filter"][:] = [[weight], [-weight]]
        hold(DENSE, arguments)
        hold(DENSE, {**arguments, "bias": np.array([-(2**63), -bias])})


MULTIPLIERS = (0, 1, 2**15 - 1, 2**15, 2**30, 1518500250, 0x7FFEFFFF, 0x7FFF0000, 2**31 - 1)


@pytest.mark.parametrize("shift", range(-33, 10))
def test_every_shift_and_multiplier(shift):
    """Return a convolution of one pixel whose sums consist of the bias alone."""
    sums = [s * (2**n + d) for n in (0, 14, 20, 30) for d in (-1, 0, 1) for s in (1, -1)]
    triples = itertools.product(sums, (*MULTIPLIERS, -1, -(2**31), -(2**30)))
    bias, multiplier = np.array([*triples], np.int64).T
    ones = {**window("h", 1, 1, 1, 1, 0, 1), **window("w", 1, 1, 1, 1, 0, 1)}
    channels = {"input_c": 1, "filter_c": 1, "output_c": len(bias)}
    for narrow in (0, 1):
        call = called(CONVOLVE, np.random.default_rng(5), ones, bias_is_int32=narrow, **channels)
        call["filter"][:] = 0
        call["bias"] = bias.astype(call["bias"].dtype)
        call["multiplier"] = multiplier.astype(np.int32)
        call["shift"][:] = shift
        hold(CONVOLVE, call, ("scalar", "mve"))
        hold(CONVOLVE, {**call, "act_min": -300, "act_max": 77}, ("scalar",))


def test_there_are_such_rows():
    if kernels.cpu_features() & kernels.FEATURES["avx2"]:
        assert all("avx2" in fast_variants(name) for name in (CONVOLVE, DEPTHWISE, DENSE))
