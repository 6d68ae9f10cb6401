"""Recurrent layers: SVDF with a state that runs keep, and LSTM over a whole sequence."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...errors import ModelError
from .call import SUFFIXES, Converter, TfliteCall, check_same_format, check_same_type
from .parser import TfliteTensor
from .scaling import multiplier
from .values import TfliteValue
from .windows import filter_scales, read_bias

#: Scales of the gates of an LSTM: inputs and outputs of sigmoid and tanh.
_GATE_INPUT, _GATE_OUTPUT = 2.0**-12, 2.0**-15

#: Gates in the order of Arm's arrays -> indices of weights, recurrent weights and bias.
_GATES = {
    "forget": (2, 6, 13),
    "input_gate": (1, 5, 12),
    "cell": (3, 7, 14),
    "output_gate": (4, 8, 15),
}

#: Unsupported inputs of an LSTM -> their names.
UNSUPPORTED_INPUTS = {
    **dict.fromkeys((9, 10, 11), "peepholes"),
    **dict.fromkeys((16, 17), "a projection"),
    **dict.fromkeys((20, 21, 22, 23), "layer normalization"),
}


def _read_matrix(
    call: TfliteCall, index: int, rows: int, columns: int, *types: str
) -> tuple[float, np.ndarray]:
    """Return the scale and the elements of weights [rows, columns] with one scale."""
    tensor, data = call.constant(index, *types)
    if tensor.shape != (rows, columns):
        raise ModelError(
            f"its weights, {tensor}, are {list(tensor.shape)}; they must be {[rows, columns]}"
        )
    if len(tensor.scales) != 1:
        raise ModelError(
            f"its weights, {tensor}, have {len(tensor.scales)} scales; they must have one"
        )
    return float(filter_scales(tensor, 0)[0]), data


def svdf(call: TfliteCall) -> None:
    """Convert SVDF; ignore its fused activation, because the device's kernels have none.

    The framework clamps a state of 8 bits to the limits of 16 bits. It passes the state's zero
    point only to the precomputed weight sums that Helium uses.
    """
    call.check_counts(5, 5)
    x, output, state = call.value(), call.output(), call.state(4)
    options = call.read_options("SVDFOptions")
    features, times = call.tensor(1), call.tensor(2)
    if check_same_type(x, output) != "s8" or state.dtype not in ("int8", "int16"):
        raise ModelError(
            f"its input is {x.dtype} and its state {state.dtype}; input and output must be int8, "
            "and the state int8 or int16"
        )
    if state.dtype == "int16" and state.zero:
        raise ModelError(f"its state is int16 with the zero point {state.zero}; it must be 0")
    if len(x.shape) != 2 or len(features.shape) != 2 or len(times.shape) != 2:
        raise ModelError(
            f"its input is {list(x.shape)} and its weights {list(features.shape)} and "
            f"{list(times.shape)}; all must have 2 axes"
        )
    (batches, columns), filters, steps = x.shape, features.shape[0], times.shape[1]
    rank = options.integer("Rank", 1, filters)
    units = filters // rank
    if (
        filters % rank
        or output.shape != (batches, units)
        or state.size != batches * filters * steps
    ):
        raise ModelError(
            f"its output is {list(output.shape)} and its state {list(state.shape)}; {filters} "
            f"filters of rank {rank} over {steps} time steps need [{batches}, {units}] and "
            f"{batches * filters * steps} elements"
        )
    feature_scale, feature = _read_matrix(call, 1, filters, columns, "INT8")
    time_scale, time = _read_matrix(
        call, 2, filters, steps, "INT8" if state.dtype == "int8" else "INT16"
    )
    factors = (
        _divide_in_float32(x.scale, feature_scale, state.scale),
        _divide_in_float32(state.scale, time_scale, output.scale),
    )
    values = read_bias(call, 3, "s8", units)
    if values is None:
        raise ModelError("its bias is missing; the device's kernels require one")
    params = {
        **{"batches": batches, "input_size": columns, "units": units, "rank": rank},
        **{"time_batches": steps, "input_offset": x.zero, "output_offset": output.zero},
        **{"in_act_min": -32768, "in_act_max": 32767},
        **{"out_act_min": -128, "out_act_max": 127},
    }
    if state.dtype == "int8":
        params["state_offset"] = -state.zero
    for name, factor in zip(("in", "out"), factors):
        params[f"{name}_multiplier"], params[f"{name}_shift"] = multiplier(factor)
    weights = np.concatenate([feature.reshape(-1), time.reshape(-1)]).astype(state.dtype)
    used = _copy_guarded(call, state)
    function = "arm_svdf_s8" if state.dtype == "int8" else "arm_svdf_state_s16_s8"
    if state.dtype == "int8" and not state.zero:
        limits = {"in_act_min": -128, "in_act_max": 127}
        call.record_build("svdf_limits", function, {**params, **limits}, weights, values)
    elif state.dtype == "int8":
        own = {name: value for name, value in params.items() if name != "state_offset"}
        zero, sums = state.zero, time.astype(np.int64).sum(1).reshape(units, rank).sum(1)
        limits = {"in_act_min": -128 + zero, "in_act_max": 127 + zero, "newest_offset": zero}
        start = (values - zero * sums).astype(np.uint64).astype(np.uint32).view(np.int32)
        call.record_build("svdf_limits", "tflm_svdf_s8", {**own, **limits}, weights, start)
    call.put(function, params, [x, used], output, weights, values)
    _assign_guarded(call, state, used)


def _copy_guarded(call: TfliteCall, state: TfliteValue) -> TfliteValue:
    """Return a state; in a branch of IF return a copy for _assign_guarded()."""
    if call.builder.where.guard is None:
        return state
    copy = replace(state, name=call.builder.make_name(state.name, "branch"))
    call.builder.keep(copy)
    function, params = f"tflm_assign_variable_{SUFFIXES[state.dtype]}", {"length": state.size}
    call.add_part("begun", state, function, params, [copy, state])
    return copy


def _assign_guarded(call: TfliteCall, state: TfliteValue, used: TfliteValue) -> None:
    guard = call.builder.where.guard
    if guard is None:
        return
    suffix, params = SUFFIXES[state.dtype], {"length": state.size}
    ends = [used, state] if guard.holds else [state, used]
    kept = call.add_part("kept", state, f"tflm_choose_{suffix}", params, [guard.condition, *ends])
    call.add_part("assigned", state, f"tflm_assign_variable_{suffix}", params, [state, kept])


def _divide_in_float32(first: float, second: float, third: float) -> float:
    with np.errstate(over="ignore", under="ignore"):
        return float(np.float32(first) * np.float32(second) / np.float32(third))


def lstm(call: TfliteCall) -> None:
    """Convert UNIDIRECTIONAL_SEQUENCE_LSTM: a call computes a whole sequence from zero states."""
    call.check_counts(24, 24)
    options, x, output = (
        call.read_options("UnidirectionalSequenceLSTMOptions"),
        call.value(),
        call.output(),
    )
    for index, name in UNSUPPORTED_INPUTS.items():
        if call.has_input(index):
            raise ModelError(f"it has {name} (input {index}); this is not supported")
    kind = options.choice("FusedActivationFunction", "ActivationFunctionType")
    clip = options.number("CellClip")
    if kind != "TANH" or clip < 0 or options.number("ProjClip"):
        raise ModelError(
            f"its activation is {kind}, its cell clip {clip} and its projection clip "
            f"{options.number('ProjClip')}; they must be TANH, at least 0 and 0"
        )
    suffix, cell = check_same_type(x, output), _cell_scale(call.tensor(19))
    hidden = call.describe(18)
    check_same_format(hidden, output)
    if len(x.shape) != 3 or x.shape[:2] != output.shape[:2] or len(output.shape) != 3:
        raise ModelError(
            f"its input is {list(x.shape)} and its output {list(output.shape)}; both must have 3 "
            "axes, and batches and time steps must be equal"
        )
    major = options.flag("TimeMajor")
    (first, second, columns), units = x.shape, output.shape[2]
    steps, batches = (first, second) if major else (second, first)
    if hidden.size != batches * units:
        raise ModelError(
            f"its state is {list(hidden.shape)}; it must have {units} elements for each of "
            f"{batches} batches"
        )
    params = {
        **{"time_major": int(major), "batch_size": batches, "time_steps": steps},
        **{"input_size": columns, "hidden_size": units, "has_cell_state": 0, "has_hidden_state": 0},
        **{"input_offset": -x.zero, "output_offset": output.zero},
        "cell_clip": min(int(clip / cell), 32767),
        "cell_scale_power": round(float(np.log2(cell))),
    }
    for name, factor in {
        "forget_to_cell": _GATE_OUTPUT * cell / cell,
        "input_to_cell": _GATE_OUTPUT * _GATE_OUTPUT / cell,
        "output": _GATE_OUTPUT * _GATE_OUTPUT / output.scale,
    }.items():
        params[f"{name}_multiplier"], params[f"{name}_shift"] = multiplier(factor)
    weights: list[np.ndarray] = []
    biases: list[np.ndarray] = []
    for gate, (at, again, added) in _GATES.items():
        params[f"{gate}_activation_type"] = int(gate == "cell")
        own = read_bias(call, added, suffix, units)
        if own is None:
            raise ModelError(f"its bias, input {added}, is missing; it is required")
        for part, source, index, start in (
            ("input", x, at, own),
            ("hidden", hidden, again, np.zeros(units, own.dtype)),
        ):
            scale, data = _read_matrix(call, index, units, source.shape[-1], "INT8")
            names = f"{gate}_{part}_multiplier", f"{gate}_{part}_shift"
            product = float(np.float32(source.scale) * np.float32(scale))
            params[names[0]], params[names[1]] = multiplier(product / _GATE_INPUT)
            weights.append(data.reshape(-1))
            sums = data.astype(np.int64).sum(axis=1)
            biases.append((start.astype(np.int64) - source.zero * sums).astype(own.dtype))
    arrays = (np.concatenate(weights), np.concatenate(biases))
    cells = call.describe(19)
    if cells.size != hidden.size:
        raise ModelError(
            f"its cell state is {list(cells.shape)} and its hidden state {list(hidden.shape)}; "
            "both must have as many elements"
        )
    if call.builder.where.graphs:
        why = "it keeps a state inside of a branch or a loop; that is not supported"
        call.reject("lstm_state", f'{why}: choose kernels="cmsis-nn"')
    else:
        kept = {name: value for name, value in params.items() if not name.startswith("has_")}
        call.record_build(
            "lstm_state", f"tflm_lstm_{suffix}", kept, *arrays, states=(cells, hidden)
        )
    call.put(f"arm_lstm_unidirectional_{suffix}", params, [x], output, *arrays)


def _cell_scale(tensor: TfliteTensor) -> float:
    """Return the scale of the cell state."""
    scales = tensor.scales
    if tensor.type != "INT16" or len(scales) != 1 or not 0 < scales[0] < np.inf:
        raise ModelError(f"its cell state, {tensor}, must be INT16 with one scale")
    return float(scales[0])


RECURRENT: dict[str, Converter] = {"SVDF": svdf, "UNIDIRECTIONAL_SEQUENCE_LSTM": lstm}
