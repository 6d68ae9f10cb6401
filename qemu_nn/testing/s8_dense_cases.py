"""Calls that stand for the products of matrices and the recurrent layers of the s8 and s16 API."""

from __future__ import annotations

_S8, _S16 = {"act_min": -128, "act_max": 127}, {"act_min": -32768, "act_max": 32767}


def _scale(prefix: str, shift: int) -> dict[str, int]:
    return {f"{prefix}multiplier": 2**30 + 12345, f"{prefix}shift": shift}


def _dense(columns: int, rows: int, shift: int, range: dict[str, int]) -> dict[str, int]:
    sides = {"batches": 1, "input_c": columns, "output_c": rows}
    offsets = {"input_offset": 0, "filter_offset": 0, "output_offset": 0}
    return {**sides, **offsets, **range, **_scale("", shift)}


def _square(size: int, shift: int, range: dict[str, int]) -> dict[str, int]:
    """Two matrices, one pair of them."""
    sides = {f"{side}_{axis}": 1 for side in ("lhs", "rhs") for axis in "nh"}
    sides.update({f"{side}_{axis}": size for side in ("lhs", "rhs") for axis in "wc"})
    offsets = {"lhs_offset": 3, "rhs_offset": 5, "output_offset": 0}
    return {**sides, "adj_x": 0, "adj_y": 1, **offsets, **range, **_scale("", shift)}


def _svdf(features: int, units: int, memory: int, state: dict[str, int]) -> dict[str, int]:
    found = {"batches": 1, "input_size": features, "units": units, "rank": 2}
    found.update(time_batches=memory, input_offset=3, output_offset=0)
    for side, range in (("in", state), ("out", _S8)):
        found.update({f"{side}_{name}": value for name, value in range.items()})
    if state == _S8:
        found["state_offset"] = 0
    shifts = (-8, -8) if state == _S8 else (-1, -23)
    return {**found, **_scale("in_", shifts[0]), **_scale("out_", shifts[1])}


def _lstm(features: int, hidden: int, steps: int, gate: int, output: int) -> dict[str, int]:
    """gate, output: shifts that keep gates and outputs off their ends."""
    found = {"time_major": 0, "batch_size": 1, "time_steps": steps, "input_size": features}
    found.update(hidden_size=hidden, has_cell_state=0, has_hidden_state=0, input_offset=0)
    found.update(cell_clip=0, cell_scale_power=-11, output_offset=0)
    scales = {"forget_to_cell": -14, "input_to_cell": -18, "output": output}
    for name in ("forget", "input_gate", "cell", "output_gate"):
        scales.update({f"{name}_{half}": gate for half in ("input", "hidden")})
        found[f"{name}_activation_type"] = int(name == "cell")
    for name, shift in scales.items():
        found.update(_scale(f"{name}_", shift))
    return found


#: Function and arguments.
DENSE_CASES: tuple[tuple[str, dict[str, int]], ...] = (
    ("arm_fully_connected_s16", _dense(256, 256, -9, _S16)),
    ("arm_fully_connected_s4", _dense(256, 256, -7, _S8)),
    ("arm_batch_matmul_s8", _square(64, -10, _S8)),
    ("arm_batch_matmul_s16", _square(64, -17, _S16)),
    ("arm_svdf_s8", _svdf(40, 64, 8, _S8)),
    ("arm_svdf_state_s16_s8", _svdf(40, 64, 8, _S16)),
    ("arm_lstm_unidirectional_s8", _lstm(28, 20, 28, -3, -21)),
    ("arm_lstm_unidirectional_s16", _lstm(28, 20, 28, -10, -15)),
)
