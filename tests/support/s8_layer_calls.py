"""Calls of layers of the s8 API on random data, in each rounding."""

import bits
import numpy as np

from qemu_nn.functions import FUNCTIONS
from qemu_nn.targets import profile

ROUNDINGS = ("double", "single")
WHOLE = {"act_min": -128, "act_max": 127}
HIGH, LOW = 2**31 - 1, -(2**31)


def hold(name, arguments, roundings=ROUNDINGS, core="cortex-m3"):
    devices = [profile(core, "7.0.0", rounding) for rounding in roundings]
    bits.hold(name, arguments, devices, none_leaves_it=True)


def one_pair(rng, columns, rows, batches=1):
    shape = {"batches": batches, "input_c": columns, "output_c": rows, "filter_offset": 0}
    drawn = {"input": (batches, columns), "filter": (rows, columns)}
    return {
        **{**shape, "input_offset": 9, "output_offset": -3, **WHOLE},
        **{"multiplier": 1518500250, "shift": -8 - columns.bit_length() // 2},
        **{k: rng.integers(-128, 128, v).astype(np.int8) for k, v in drawn.items()},
        "bias": rng.integers(-3000, 3000, rows).astype(np.int32),
    }


def window(axis, size, kernel, stride, dilation, pad, out):
    found = {"input": size, "filter": kernel, "stride": stride, "dilation": dilation, "pad": pad}
    return {f"{name}_{axis}": n for name, n in {**found, "output": out}.items()}


#: Size, kernel, stride, dilation, pad, outputs: windows outside the image on either side, tails of
#: every tile, and windows of usual networks.
AXES = (
    (7, 3, 1, 1, 1, 7),
    (7, 3, 2, 1, 0, 4),
    (1, 1, 1, 1, 0, 1),
    (5, 3, 1, 1, 5, 17),
    (5, 2, 3, 3, 9, 9),
    (37, 5, 1, 1, 2, 37),
    (6, 4, 1, 2, 3, 6),
    (2, 3, 5, 1, 1, 3),
)


def called(name, rng, windows, offset, **channels):
    """Return a call on random images, weights and scales, with sums in the output's range."""
    params = {**windows, **channels, "batches": 2, "input_offset": offset, "output_offset": 4}
    params.update(WHOLE)
    function = FUNCTIONS[name]
    shapes = {array.name: (array.shape(params), array.dtype) for array in function.arrays}
    limits = {"bias": 2000, "multiplier": HIGH, "shift": -7, "input": 127}
    found = {}
    for key, (shape, dtype) in shapes.items():
        most = limits.get(key, 127)
        low = 2**30 if key == "multiplier" else -12 if key == "shift" else -most - 1
        found[key] = rng.integers(low, most, shape, endpoint=True).astype(dtype)
    return {**params, **found}
