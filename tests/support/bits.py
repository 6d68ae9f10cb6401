"""Arrays compared bit for bit, calls drawn at random, and every row of a call: what sweeps do
thousands of times."""

from random import Random

import numpy as np
from hosts import fast_variants
from hypothesis import strategies as st

from qemu_nn.functions import FUNCTIONS
from qemu_nn.kernels import table as kernels
from qemu_nn.targets import all_profiles, is_affine
from qemu_nn.testing.rows import assert_same

#: Those with the s8 API.
DEVICES = [p for p in all_profiles() if is_affine(p.cmsis)]

#: Draws whatever is asked of it; one of hypothesis would make a failing call small, and takes as
#: long as the calls.
DRAWN = st.integers(0, 2**32 - 1).map(Random)


def draws(count, first=0):
    """Yield `count` generators and print each seed for the output of a failing test.

    Hypothesis needs as much time for a draw as a call takes.
    """
    for seed in range(first, first + count):
        print(f"Random({seed}):")
        yield Random(seed)


def calls(name, arguments, devices=DEVICES):
    """Yield each device with row -> the output, the inputs and the states after the call."""
    function = FUNCTIONS[name]
    params = {key: arguments[key] for key in function.params}
    weights, bias = function.weights_of(arguments), function.bias_of(arguments)
    rows, shape = kernels.list_rows(function.op, function.type), function.output.shape(params)
    for device in devices:
        if params.get("has_hidden_state") and device.cmsis == "7.0.0":
            continue  # which has no such state
        found, struct = {}, kernels.make_params(rows[0].op, device, function.struct_values(params))
        for row in rows:
            if row.serves(struct):
                inputs = [arguments[array.name].copy() for array in function.inputs]
                out = np.full(shape, 85, function.output.dtype)
                kernels.call(row, struct, inputs, out, weights, bias)
                found[row.variant] = [out, *inputs]
        yield device, found


def hold(name, arguments, devices=DEVICES, none_leaves_it=False):
    """Check that every row of this host that takes a call gives the bits of the plain row.

    none_leaves_it: all fast rows must take the call, except rows that may refuse legal calls.
    """
    function = FUNCTIONS[name]
    plain = {r.variant for r in kernels.list_rows(function.op, function.type) if r.kind == "plain"}
    for device, found in calls(name, arguments, devices):
        assert not none_leaves_it or found.keys() >= {*fast_variants(name)}
        (defined,) = plain & found.keys()
        for variant, got in found.items():
            for ours, wanted in zip(got, found[defined]):
                assert_same(ours, wanted, variant, device)
