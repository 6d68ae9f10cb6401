"""Fast rows of s8 sums and products, on every pair of elements that there is."""

import itertools

import numpy as np
import pytest

from qemu_nn import cmsis
from qemu_nn.functions import FUNCTIONS
from qemu_nn.functions.scaling import quantize_multiplier
from qemu_nn.kernels import table as kernels
from qemu_nn.targets import profile
from qemu_nn.testing.rows import assert_same

EVERY = np.arange(-128, 128, dtype=np.int8)
PAIRS = {"input1": np.repeat(EVERY, 256), "input2": np.tile(EVERY, 256), "block_size": 65536}
RANGES = ((-128, 127), (-128, -1), (5, 5))
HIGH = 2**31 - 1


def hold(name, params, paths=("scalar",), count=65536):
    """Check that every fast row of this host that accepts the call equals the plain one."""
    function = FUNCTIONS[name]
    arguments = {**params, **{k: v[:count] for k, v in PAIRS.items() if k != "block_size"}}
    arguments["block_size"] = count
    struct = function.struct_values(
        function.parse_params({k: v for k, v in arguments.items() if k in function.params})
    )
    rows = kernels.list_rows(function.op, function.type)
    for device in (profile(path, "7.0.0", r) for path in paths for r in ("double", "single")):
        plain = next(r for r in rows if r.kind == "plain" and r.claims(device))
        want = cmsis.invoke(function, arguments, device, plain.variant)
        for row in rows:
            if row.kind == "fast" and row.serves(kernels.make_params(row.op, device, struct)):
                got = cmsis.invoke(function, arguments, device, row.variant)
                assert_same(got, want, row, device)


def sum_of(scales, zeros, limits=RANGES[0], left_shift=20):
    """Return a sum with TFLite's parameters: scales and zero points of inputs and output."""
    twice = 2 * max(scales[:2])
    factors = (scales[0] / twice, scales[1] / twice, twice / (2**left_shift * scales[2]))
    names = ("input_1", "input_2", "out")
    params = {"left_shift": left_shift, "act_min": limits[0], "act_max": limits[1]}
    for name, factor, zero in zip(names, factors, zeros):
        multiplier, shift = quantize_multiplier(factor)
        params |= {f"{name}_mult": multiplier, f"{name}_shift": shift}
        params[f"{name}_offset"] = zero if name == "out" else -zero
    return params


@pytest.mark.parametrize("limits", RANGES)
@pytest.mark.parametrize("zeros", [(0, 0, 0), (-128, 127, -128), (127, -128, 127), (-5, 9, 1)])
def test_sums_of_all_pairs(zeros, limits):
    """Check scales that make every second sum a tie, scales that make none, and random ones."""
    for scales in ((1, 1, 2), (1, 1, 1), (1, 1, 1.001), (0.5, 1, 3), (0.023, 0.0171, 0.0319)):
        hold("arm_elementwise_add_s8", sum_of(scales, zeros, limits))


def test_sums_with_scales_as_they_come():
    rng = np.random.default_rng(1)
    for _ in range(60):
        first, second, out = np.exp(rng.uniform(-2, 2, 3))
        zeros = tuple(int(z) for z in rng.integers(-128, 128, 3))
        hold("arm_elementwise_add_s8", sum_of((first, second, out * 2), zeros))


@pytest.mark.parametrize("inputs", ["equal", "near", "apart", "subtracted"])
def test_sums_as_networks_have_them(inputs):
    """Zero points at the ends, outputs that saturate, ties of equal scales, ReLU, and the negative
    multiplier that ExecuTorch subtracts by.
    """
    rng = np.random.default_rng(len(inputs))
    for _ in range(12):
        first, second = (
            2.0 ** rng.uniform(-3, 3, 2) if inputs == "apart" else rng.uniform(0.5, 2, 2)
        )
        second = first if inputs == "equal" else second
        out = first * 2.0 ** rng.integers(-1, 3) if inputs == "equal" else 1
        zeros = rng.choice([-128, -128, 0, 127, int(rng.integers(-128, 128))], 3).tolist()
        low = rng.choice([-128, zeros[2], -128 + int(rng.integers(100))])
        params = sum_of((first, second, out), zeros, (int(low), int(rng.choice([127, 127, low]))))
        if inputs == "subtracted":
            params["input_2_mult"] *= -1
        hold("arm_elementwise_add_s8", params)


@pytest.mark.parametrize("left_shift", [0, 3, 15, 16, 20, 21])
def test_sums_with_any_left_shift_and_any_factor(left_shift):
    """Check short shifts, for which the DSP extension computes different bits."""
    ends = itertools.product((0, 1, 2**30, HIGH), (0, -1, -31), (-1, -20, -31))
    for mult, shift, out_shift in ends:
        params = sum_of((1, 1, 1), (3, -7, 5), left_shift=left_shift)
        params |= {"input_1_mult": mult, "input_1_shift": shift, "input_2_mult": HIGH}
        params |= {"out_mult": HIGH, "out_shift": out_shift}
        hold("arm_elementwise_add_s8", params, ("scalar", "dsp", "mve"), 4096)


@pytest.mark.parametrize("limits", RANGES)
@pytest.mark.parametrize("zeros", [(0, 0, 0), (-128, 127, -128), (127, -128, 127)])
def test_products_of_all_pairs(zeros, limits):
    params = {f"input_{i}_offset": -zeros[i - 1] for i in (1, 2)} | {"out_offset": zeros[2]}
    params |= {"act_min": limits[0], "act_max": limits[1]}
    for mult, shift in itertools.product((0, 1, 2**30, 1518500250, HIGH), (-31, -9, -7, -1, 0, 5)):
        hold("arm_elementwise_mul_s8", {**params, "out_mult": mult, "out_shift": shift})


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 15, 16, 17, 31, 33])
def test_tails_have_the_bits_of_the_plain_row(count):
    hold("arm_elementwise_add_s8", sum_of((1, 2, 2), (1, 2, 3)), count=count)
