"""Offsets of outputs that are no zero points of 8 bits: Arm's code adds them in 32 bits."""

from random import Random

import numpy as np
import pytest

from qemu_nn import cmsis
from qemu_nn.errors import Error, Refused
from qemu_nn.functions import FUNCTIONS
from qemu_nn.kernels import table as kernels
from qemu_nn.targets import all_profiles, is_affine
from qemu_nn.testing.calls import draw_all_arguments

MOST = 2**30
EXTREMES = (128, 129, -129, 32767, -32769, MOST, -MOST)
NAMES = {
    f.name: next(n for n in ("output_offset", "out_offset") if n in f.params)
    for f in FUNCTIONS.values()
    if {"output_offset", "out_offset"} & {*f.params}
    and not f.name.startswith("tflm_")
    and (f.type != "s16" or f.op == "lstm_unidirectional")
}
NAMES.pop("arm_elementwise_mul_acc_s16", None)
DEVICES = [p for p in all_profiles() if is_affine(p.cmsis)]


def plain(function, device):
    """Return the row that defines the bits on a device."""
    rows = kernels.list_rows(function.op, function.type)
    return next(row.variant for row in rows if row.kind == "plain" and row.claims(device))


def legal(rng, function, device, offset):
    """Arguments that the contract takes, with an offset of ours."""
    for _ in range(200):
        drawn = {**draw_all_arguments(rng, function), NAMES[function.name]: offset}
        arguments = {n: drawn[n] for n in (*function.params, *(a.name for a in function.arrays))}
        try:
            return arguments, cmsis.invoke(
                function, dict(arguments), device, plain(function, device)
            )
        except Error:
            continue
    raise AssertionError(f"no call of {function.name} is legal on {device}")


@pytest.mark.parametrize("name", NAMES)
def test_every_row_adds_far_offsets_as_the_plain_one_does(name):
    function, rng = FUNCTIONS[name], Random(name)
    rows = [r for r in kernels.list_rows(function.op, function.type) if r.kind == "fast"]
    devices = [d for d in DEVICES if "even" not in name or d.path == "mve"]
    for offset in EXTREMES:
        device = rng.choice(devices)
        arguments, want = legal(rng, function, device, offset)
        values = function.struct_values({n: arguments[n] for n in function.params})
        for row in rows:
            if row.serves(kernels.make_params(row.op, device, values)):
                got = cmsis.invoke(function, dict(arguments), device, row.variant)
                np.testing.assert_array_equal(got, want, f"{row} {device} {offset}")


@pytest.mark.parametrize("name", NAMES)
def test_offsets_that_could_leave_32_bits_are_refused(name):
    function, word = FUNCTIONS[name], NAMES[name]
    device = DEVICES[4] if "even" in name else DEVICES[0]
    arguments, _ = legal(Random(1), function, device, MOST)
    with pytest.raises(Refused, match=f"{word} must be in -1073741824..1073741824, is 1073741825"):
        cmsis.invoke(function, {**arguments, word: MOST + 1}, device)


def test_the_offset_of_arms_own_test_of_packed_weights():
    """Check sums 0, 1 and -1, as arm_fully_connected_s4 has them in Arm's unit test int4_6."""
    one = {"input": np.ones((1, 2), np.int8), "input_offset": 0, "filter_offset": 0}
    packed = np.array([0x01, 0xF1 - 256], np.int8)  # rows 1 0, and 1 -1
    got = cmsis.arm_fully_connected_s4(
        **{**one, "filter_packed_s4": packed, "bias": np.array([-130, -1], np.int32)},
        **{"output_offset": 128, "act_min": -128, "act_max": 127, "multiplier": 2**30, "shift": 1},
    )
    assert got.tolist() == [[-1, 127]]
