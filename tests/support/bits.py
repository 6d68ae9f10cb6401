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
    """So many generators, each with the number of its seed before what a failing test prints.

    Hypothesis, which does more, takes as long for that as a call takes.
    """
    for seed in range(first, first + count):
        print(f"Random({seed}):")
        yield Random(seed)


def calls(name, arguments, devices=DEVICES):
    """What each row leaves, by device and row: the output, and the inputs with their states."""
    function = FUNCTIONS[name]
    params = {key: arguments[key] for key in function.params}
    weights, bias = function.weights_of(arguments), function.bias_of(arguments)
    rows, shape = kernels.rows_of(function.op, function.type), function.output.shape(params)
    for device in devices:
        if params.get("has_hidden_state") and device.cmsis == "7.0.0":
            continue  # which has no such state
        found, struct = {}, kernels.make_params(rows[0].op, device, function.struct_values(params))
        for row in rows:
            if row.serves(device, struct):
                inputs = [arguments[array.name].copy() for array in function.inputs]
                out = np.full(shape, 85, function.output.dtype)
                kernels.call(row, struct, inputs, out, weights, bias)
                found[row.variant] = [out, *inputs]
        yield device, found


def hold(name, arguments, devices=DEVICES, none_leaves_it=False):
    """Every row of this host that takes a call equals the plain one; none_leaves_it: and all fast
    ones take it, but for those that leave calls to others."""
    function = FUNCTIONS[name]
    plain = {r.variant for r in kernels.rows_of(function.op, function.type) if r.kind == "plain"}
    for device, found in calls(name, arguments, devices):
        assert not none_leaves_it or found.keys() >= {*fast_variants(name)}
        (defined,) = plain & found.keys()
        for variant, got in found.items():
            for ours, wanted in zip(got, found[defined]):
                assert_same(ours, wanted, variant, device)
