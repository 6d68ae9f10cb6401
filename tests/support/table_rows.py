"""Outputs of rows that look up a table of a function."""

import numpy as np

from qemu_nn.functions import FUNCTIONS
from qemu_nn.kernels import table as kernels
from qemu_nn.targets import all_profiles
from qemu_nn.testing.cases import CASES as EVERY

DEVICES = [p for p in all_profiles() if p.cmsis == "7.0.0"]  # releases do not part here
TABLES = (
    *(f"tflm_requantize_{t}" for t in ("s8_s8", "s8_u8", "u8_s8", "s8_s16")),
    *(f"tflm_{name}_s8" for name in ("relu", "leaky_relu", "logistic", "tanh")),
    "tflm_rescale_u8",
)
CASES = {case.function: case for case in EVERY if case.function in TABLES}


def rows_here(name):
    function = FUNCTIONS[name]
    return [r for r in kernels.list_rows(function.op, function.type) if r.runs_here()]


def outputs(name, params, x, weights=None, in_place=False):
    """Yield each device with row -> output."""
    function = FUNCTIONS[name]
    dtype = np.dtype(function.output.dtype)
    for device in DEVICES:
        found = {}
        for row in (r for r in rows_here(name) if r.claims(device)):
            struct = kernels.make_params(row.op, device, function.struct_values(params))
            given = x.copy()
            out = given if in_place and dtype.itemsize == 1 else np.full(x.shape, 85, dtype)
            kernels.call(row, struct, [given], out.view(dtype), weights)
            found[row.variant] = out.view(dtype)
        yield device, found
