"""Lowering of long short-term memories to calls of the s8 and s16 functions."""

from __future__ import annotations

import math

import numpy as np

from ..ir.formats import quantize_symmetric
from ..operators import Lstm
from ..operators.recurrent import GATES
from .s8_context import S8Site

#: Scales of the gates: inputs and outputs of sigmoid and tanh.
_GATE_INPUT, _GATE_OUTPUT = 2.0**-12, 2.0**-15

#: Gates in the order of Arm's arrays: the names of their arguments -> their place in GATES.
_ORDER = {
    "forget": GATES.index("forget"),
    "input_gate": GATES.index("input"),
    "cell": GATES.index("cell"),
    "output_gate": GATES.index("output"),
}

#: The largest integer of a weight, and the types of biases.
_MOST = 127
_BIASES = {"s8": np.int32, "s16": np.int64}


def remember(site: S8Site, operator: Lstm) -> None:
    """Append the call of a whole sequence; the tensor of cell states only has a range."""
    if operator.cells:
        return
    source, cells, output = site.formats
    steps, inputs = site.shapes[0]
    power = math.ceil(math.log2(max(map(abs, cells.ends)))) - 15
    cell = 2.0**power
    params = {
        **{"time_major": 0, "batch_size": 1, "time_steps": steps, "input_size": inputs},
        **{"hidden_size": operator.bias.shape[1], "has_cell_state": 0, "has_hidden_state": 0},
        **{"input_offset": -source.zero_point, "output_offset": output.zero_point},
        **{"cell_clip": 0, "cell_scale_power": power},
    }
    for name, factor in {
        "forget_to_cell": _GATE_OUTPUT,
        "input_to_cell": _GATE_OUTPUT * _GATE_OUTPUT / cell,
        "output": _GATE_OUTPUT * _GATE_OUTPUT / output.scale,
    }.items():
        params[f"{name}_multiplier"], params[f"{name}_shift"] = site.make_scaling(factor)
    weights: list[np.ndarray] = []
    biases: list[np.ndarray] = []
    dtype = _BIASES[site.suffix]
    for gate, index in _ORDER.items():
        params[f"{gate}_activation_type"] = int(gate == "cell")
        for part, form, matrix, bias in (
            ("input", source, operator.weights[index], operator.bias[index]),
            ("hidden", output, operator.recurrent[index], np.zeros(len(operator.bias[index]))),
        ):
            scale = float(np.float32(max(float(np.abs(matrix).max()) / _MOST, 2.0**-30)))
            product = float(np.float32(form.scale) * np.float32(scale))  # as TFLM rounds it
            pair = site.make_scaling(product / _GATE_INPUT)
            params[f"{gate}_{part}_multiplier"], params[f"{gate}_{part}_shift"] = pair
            codes = quantize_symmetric(matrix, np.array(scale), _MOST)
            start = quantize_symmetric(bias, np.array(form.scale * scale), 2**31 - 1)
            weights.append(codes.astype(np.int8).ravel())
            biases.append((start - form.zero_point * codes.sum(axis=1)).astype(dtype))
    arrays = np.concatenate(weights), np.stack(biases)
    function = f"arm_lstm_unidirectional_{site.suffix}"
    site.call(function, params, *arrays, sources=site.sources[:1])
