"""Fast rows of transposed convolutions: phases with many taps, few and none; tails."""

import itertools

import bits
import numpy as np
import pytest
from hosts import fast_variants
from s8_layer_calls import HIGH, WHOLE

from qemu_nn.functions import FUNCTIONS
from qemu_nn.kernels import table as kernels
from qemu_nn.targets import profile

NAME = "arm_transpose_conv_wrapper_s8"

#: size, filter, stride, pad, outputs.
AXES = (
    (5, 3, 2, 0, 11),
    (5, 4, 2, 2, 10),
    (5, 3, 2, 2, 8),
    (7, 1, 3, 0, 21),
    (4, 5, 3, 3, 11),
    (9, 2, 2, 0, 18),
    (2, 5, 1, 2, 4),
    (37, 3, 1, 1, 37),
    (3, 2, 4, 0, 12),
)


def axis(letter, size, filter, stride, pad, out):
    found = {"input": size, "filter": filter, "stride": stride, "pad": pad, "output": out}
    found.update(dilation=1, pad_offset=0)
    return {f"{name}_{letter}": n for name, n in found.items()}


def called(rng, h, w, depth, out, offset):
    params = {**axis("h", *h), **axis("w", *w), "batches": 2, "input_c": depth, "output_c": out}
    params.update(input_offset=offset, output_offset=4, **WHOLE)
    limits = {"bias": (-2000, 2000), "multiplier": (2**30, HIGH), "shift": (-12, -7)}
    arrays = {
        a.name: rng.integers(*limits.get(a.name, (-128, 127)), a.shape(params), endpoint=True)
        for a in FUNCTIONS[NAME].arrays
    }
    types = {a.name: a.dtype for a in FUNCTIONS[NAME].arrays}
    return {**params, **{name: array.astype(types[name]) for name, array in arrays.items()}}


def hold(arguments, devices):
    bits.hold(NAME, arguments, devices, none_leaves_it=True)


@pytest.mark.parametrize("h", AXES)
@pytest.mark.parametrize("w", AXES)
def test_every_phase_has_the_bits_of_the_plain_row(h, w):
    rng = np.random.default_rng(1)
    device = profile("scalar", "7.0.0")
    for (depth, out), offset in itertools.product(((1, 1), (3, 17), (20, 65)), (-127, 0, 128)):
        hold(called(rng, h, w, depth, out, offset), [device])


@pytest.mark.parametrize("shift", [-20, -1, 0, 3])
@pytest.mark.parametrize("depth", [4, 20])
def test_sums_that_wrap_around_and_lanes_of_helium(shift, depth):
    devices = [profile(p, "7.0.0", r) for p in ("scalar", "mve") for r in ("double", "single")]
    arguments = called(np.random.default_rng(2), AXES[1], AXES[1], depth, 19, 128)
    arguments["input"][:] = 127
    arguments["filter"][:] = 127
    arguments["bias"][:] = HIGH
    arguments["shift"][:] = shift
    hold(arguments, devices)
    arguments["bias"][:] = 7
    hold(arguments, devices)


def test_there_are_such_rows():
    if kernels.cpu_features() & kernels.FEATURES["avx2"]:
        assert "avx2" in fast_variants(NAME)
