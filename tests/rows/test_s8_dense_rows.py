"""Rows of the dense and recurrent layers of the s8 API = their contracts, in Python's integers.

Random calls, under every profile: cores that were not recorded, and what only single rounding,
Helium, or sums that leave 32 bits show.
"""

import numpy as np
import pytest
import recordings_s8
from bits import DRAWN
from hypothesis import given, settings
from integers import clamp, requantize, requantize64, requantize_lane, saturate, wrap

from qemu_nn import cmsis
from qemu_nn.errors import Refused
from qemu_nn.functions import FUNCTIONS
from qemu_nn.releases import Call
from qemu_nn.targets import all_profiles, is_affine
from qemu_nn.testing.calls import draw_all_arguments

pytestmark = [pytest.mark.caps, pytest.mark.rows]

DEVICES = [p for p in all_profiles() if is_affine(p.cmsis)]


def scaled(x, multiplier, shift, device, lane=False):
    """Requantize a sum; lane: Helium has it in a vector."""
    change = requantize_lane if lane and device.path == "mve" else requantize
    number = Call("", False, device.path, device.rounding, device.cmsis).number
    return wrap(change(wrap(int(x), 32), int(multiplier), number, int(shift)), 32)


def placed(value, p):
    """Add the output's offset, in 32 bits on every core."""
    return wrap(value + p["output_offset"], 32)


def wide(x, weights, bias, device, bias_in_head=False):
    """Return a sum of 64 bits whose first 512 products some cores add in 32."""
    products = x.astype(np.int64) * weights
    head, tail = int(products[:512].sum()), int(products[512:].sum())
    early = bias_in_head and device.path == "mve"
    head += int(bias) if early else 0
    head = wrap(head, 32) if device.path in ("dsp", "mve") else head
    return head + tail + (0 if early else int(bias))


# ---- fully connected ----


def nibbles(packed, shape):
    """Filters of four bits, low halves first."""
    both = np.stack([packed << 4 >> 4, packed >> 4], axis=-1)
    return both.ravel()[: np.prod(shape)].reshape(shape)


def dense(p, device, type):
    shape = (p["output_c"], p["input_c"])
    x = p["input"].astype(np.int64)
    narrow = type == "s4"
    filter = nibbles(p["filter_packed_s4"], shape) if narrow else p["filter"].astype(np.int64)
    if type == "s16":
        return [
            [
                clamp(
                    requantize64(wide(row, weights, bias, device), p["multiplier"], p["shift"]),
                    *(p["act_min"], p["act_max"]),
                )
                for weights, bias in zip(filter, p["bias"])
            ]
            for row in x
        ]
    offset = 0 if narrow else p["filter_offset"]
    sums = (x + p["input_offset"]) @ (filter + offset).T + p["bias"]
    pairs = zip(*(np.broadcast_to(p[name], len(filter)) for name in ("multiplier", "shift")))
    pairs = list(pairs)
    return [
        [
            clamp(placed(scaled(acc, *pair, device), p), p["act_min"], p["act_max"])
            for acc, pair in zip(row, pairs)
        ]
        for row in sums
    ]


# ---- products of matrices ----


def products(p, device, type):
    lhs, rhs = (p[name].astype(np.int64) for name in ("lhs", "rhs"))
    if type == "s8":
        lhs, rhs = lhs + p["lhs_offset"], rhs + p["rhs_offset"]
    sums = lhs @ rhs.swapaxes(-1, -2)
    lanes = sums.shape[-1] // 4 * 4
    out = np.empty(sums.shape, np.int64)
    for at, acc in np.ndenumerate(sums):
        if type == "s16":
            value = requantize64(int(acc), p["multiplier"], p["shift"])
        else:
            value = scaled(acc, p["multiplier"], p["shift"], device, at[-1] < lanes)
            value = placed(value, p)
        out[at] = clamp(value, p["act_min"], p["act_max"])
    return out


# ---- SVDF ----


def svdf(p, device, type):
    """Return the output, and the state after the call."""
    filters, group = len(p["weights_feature"]), 4 if type == "s8" else 3
    lanes = filters // group * group
    sums = (p["input"].astype(np.int64) - p["input_offset"]) @ p["weights_feature"].T
    if type == "s8" and device.path == "mve":
        sums -= p["input_offset"] * p["state_offset"] * p["weights_feature"].shape[1]
    state = np.roll(p["state"].astype(np.int64), -1, axis=-1)
    for (n, f), acc in np.ndenumerate(sums):
        value = scaled(acc, p["in_multiplier"], p["in_shift"], device, f < lanes)
        newest = clamp(value, p["in_act_min"], p["in_act_max"])
        state[n, f, -1] = wrap(newest, 8 * p["state"].itemsize)
    over_time = (state * p["weights_time"]).sum(axis=-1).reshape(len(state), -1, p["rank"])
    out = [
        [
            clamp(
                placed(scaled(acc, p["out_multiplier"], p["out_shift"], device, True), p),
                *(p["out_act_min"], p["out_act_max"]),
            )
            for acc in row
        ]
        for row in over_time.sum(axis=-1) + p["bias"]
    ]
    return out, {"state": state}


# ---- LSTM ----

with np.load(recordings_s8.FOLDER / "lstm.npz") as arrays:
    TABLE = arrays["sigmoid_table_uint16"].astype(int).tolist()


def curve(v, tanh):
    """Sigmoid or tanh of v in steps of the table."""
    bits = 8 if tanh else 9
    size = abs(v)
    i, rest = size >> bits, size & (2**bits - 1)
    r = (0xFFFF << 8) if tanh else (0x7FFF << 10)
    if i < 255:
        r = (TABLE[i] << bits) + rest * (TABLE[i + 1] - TABLE[i])
    if tanh:
        r -= 2**23
        return ((r if v >= 0 else -r - 1) + 2**7) >> 8
    return ((r if v >= 0 else 2**25 - r - 1) + 2**9) >> 10


def gate(p, name, x, hidden, j, device, type):
    """Compute one gate of one unit."""

    def half(side, values):
        weights, bias = p[f"{name}_{side}_weights"][j], p[f"{name}_{side}_effective_bias"][j]
        multiplier, shift = (p[f"{name}_{side}_{part}"] for part in ("multiplier", "shift"))
        if type == "s16":
            return requantize64(wide(values, weights, bias, device, True), multiplier, shift)
        acc = int((values.astype(np.int64) * weights).sum()) + int(bias)
        return scaled(acc, multiplier, shift, device, j < p["hidden_size"] // 4 * 4)

    total = saturate(half("input", x), 16)
    if hidden is not None:
        total = saturate(wrap(half("hidden", hidden) + total, 32), 16)
    return curve(3 * total, p[f"{name}_activation_type"] == 1)


def next_unit(p, cell, gates, device, bits):
    """Compute the cell and the output of one unit."""
    forget, remember, new, show = gates
    kept = scaled(forget * cell, p["forget_to_cell_multiplier"], p["forget_to_cell_shift"], device)
    more = scaled(remember * new, p["input_to_cell_multiplier"], p["input_to_cell_shift"], device)
    cell = saturate(more + saturate(kept, 16), 16)
    if p["cell_clip"]:
        cell = clamp(cell, -p["cell_clip"], p["cell_clip"])
    left = p["cell_scale_power"] + 12
    v = 3 * cell << left if left >= 0 else (3 * cell + 2 ** (-left - 1)) >> -left
    out = scaled(show * curve(v, True), p["output_multiplier"], p["output_shift"], device)
    return cell, saturate(placed(out, p), bits)


def lstm(p, device, type):
    """Return the output, and the states after the call that have arrays."""
    steps, batches, size = p["time_steps"], p["batch_size"], p["hidden_size"]
    x = p["input"] if p["time_major"] else p["input"].swapaxes(0, 1)
    out = np.zeros((steps, batches, size), p["input"].dtype)
    cells = np.zeros((batches, size), np.int64)
    if p["has_hidden_state"]:
        cells[:] = p["cell_state"]
    for n in range(batches):
        hidden = p["hidden_state"][n] if p["has_hidden_state"] else None
        for t in range(steps):
            for j in range(size):
                names = ("forget", "input_gate", "cell", "output_gate")
                gates = [gate(p, name, x[t, n], hidden, j, device, type) for name in names]
                bits = 8 * out.itemsize
                cells[n, j], out[t, n, j] = next_unit(p, int(cells[n, j]), gates, device, bits)
            hidden = out[t, n]
    kept = {"cell_state": cells, "hidden_state": out[-1]}
    kept = {name: value for name, value in kept.items() if p[f"has_{name}"]}
    return out if p["time_major"] else out.swapaxes(0, 1), kept


# ---- the comparison ----


def has_no_bits(p, device):
    """Offsets of filters where Helium has them wrong, and states that 7.0.0 cannot be given."""
    filters = device.path == "mve" and p.get("filter_offset", 0) != 0
    return filters or (device.cmsis == "7.0.0" and p.get("has_hidden_state", 0))


MEANING = {
    **{f"arm_fully_connected_{kind}": dense for kind in ("s8", "per_channel_s8", "wrapper_s8")},
    **{f"arm_fully_connected_{kind}": dense for kind in ("s16", "s4")},
    **{f"arm_batch_matmul_{kind}": products for kind in ("s8", "s16")},
    "arm_svdf_s8": svdf,
    "arm_svdf_state_s16_s8": svdf,
    **{f"arm_lstm_unidirectional_{kind}": lstm for kind in ("s8", "s16")},
}


@pytest.mark.parametrize("name", MEANING)
@settings(max_examples=12)
@given(rng=DRAWN)
def test_a_call_is_its_contract_in_integers(name, rng):
    function = FUNCTIONS[name]
    drawn = draw_all_arguments(rng, function)
    for device in DEVICES:
        arguments = {
            array.name: drawn[array.name].copy() if array.state else drawn[array.name]
            for array in function.arrays
        }
        arguments.update((p, drawn[p]) for p in function.params)
        try:
            got = cmsis.invoke(function, arguments, device, "ref", in_place=True)
        except Refused:
            if has_no_bits(drawn, device):
                continue
            raise
        meaning = MEANING[name](drawn, device, function.type)
        want, kept = meaning if isinstance(meaning, tuple) else (meaning, {})
        np.testing.assert_array_equal(got, want, f"{name} {device}")
        for state, value in kept.items():
            np.testing.assert_array_equal(arguments[state], value, f"{name} {device} {state}")
