"""Parameters of channels whose sums meet each integer between two ends."""

import numpy as np
from bits import DEVICES

BYTES = np.arange(-128, 128)
ONE_OF_EACH = {d.rounding: d for d in reversed(DEVICES)}.values()


def channels_of(rng, count, shifts):
    """Bias, multiplier and shift: sums of neighbouring channels go on where those of one end."""
    bias = (np.arange(count) - count // 2) * 32000 + rng.integers(-500, 500, count)
    multiplier = rng.integers(2**30, 2**31, count)
    multiplier[:3] = 2**30, 2**31 - 1, 0
    shift = rng.integers(min(shifts), max(shifts) + 1, count)
    rows = {"bias": bias, "multiplier": multiplier, "shift": shift}
    return {name: row.astype(np.int32) for name, row in rows.items()}


def same(value, *names):
    return {f"{name}_{axis}": value for name in names for axis in "hw"}


def last_step(limits):
    least, most, offset = limits
    return {"act_min": least, "act_max": most, "output_offset": offset}


def unclamped_call(seed):
    """Return arguments of arm_convolve_1x1_s8_fast whose sums are within the output's limits.

    A row may compute any value after the last sum, but not replace a sum too early.
    """
    rng, count = np.random.default_rng(seed), 1024
    offset = (128, 1, 127, 128)[seed]
    params = {
        **{"batches": 1, "input_c": 1, "filter_c": 1, "output_c": count, "input_offset": offset},
        **same(16, "input", "output"),
        **same(1, "filter", "stride", "dilation"),
        **same(0, "pad"),
        **last_step((3, 127, 3) if seed % 2 else (-128, 127, -128)),
    }
    arrays = channels_of(rng, count, (-7, -1))
    arrays["bias"] = rng.integers(-40, 40, count).astype(np.int32)
    weights = rng.integers(-4, 5, (count, 1, 1, 1)).astype(np.int8)
    arguments = {**params, **arrays, "input": BYTES.astype(np.int8).reshape(1, 16, 16, 1)}
    return {**arguments, "filter": weights}
