"""Variables, and recurrent layers: SVDF and LSTM."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ...errors import ModelError
from ...functions.scaling import quantize_multiplier
from ...ir.graph import Tensor
from .building import TfliteGraphBuilder, TfliteSite, add_batch_axis, describe, to_little_endian
from .scales import compute_multiplier, find_scale, find_weight_scales
from .schema import FileGraph, FileTensor
from .windows import CallConverter

#: Scales of the gates of an LSTM: inputs and outputs of sigmoid and tanh.
_GATE_INPUT, _GATE_OUTPUT = 2.0**-12, 2.0**-15

#: Gates in the order of the arrays -> indices of weights, recurrent weights and bias.
_GATES = {
    "forget": (2, 6, 13),
    "input_gate": (1, 5, 12),
    "cell": (3, 7, 14),
    "output_gate": (4, 8, 15),
}

#: Number of inputs of the operator; indices of the hidden and the cell state.
_INPUTS, _HIDDEN, _CELL = 24, 18, 19


# ---- variables ----


def add_handle(file: TfliteGraphBuilder, state: Tensor) -> int:
    """Return the index of a variable's resource tensor; add its VAR_HANDLE once."""
    if state.name not in file.handles:
        name = file.make_name(f"{state.name}/handle")
        file.handles[state.name] = file.add(FileTensor(name, (), "RESOURCE"))
        shared = state.name[: -len("/state")] if state.name.endswith("/state") else state.name
        made = (file.handles[state.name],)
        file.add_operator(
            "VAR_HANDLE", (), made, "VarHandleOptions", Container="", SharedName=shared
        )
    return file.handles[state.name]


def _is_state(site: TfliteSite, index: int) -> bool:
    return any(site.node.inputs[index] == state.name for state in site.file.graph.states)


def read(site: TfliteSite) -> None:
    """Convert to READ_VARIABLE; convert a copy of a tensor that is no state to RESHAPE."""
    if not _is_state(site, 0):
        shape = site.whole
        size = site.file.constant(np.array(shape, np.int32))
        site.put("RESHAPE", [site.view_input(0), size], "ReshapeOptions", NewShape=shape)
        return
    site.put("READ_VARIABLE", [add_handle(site.file, site.source())], "ReadVariableOptions")


def assign(site: TfliteSite) -> None:
    """Convert to ASSIGN_VARIABLE."""
    if _is_state(site, 1):
        raise ModelError("it copies a state, as branches do; save the network as .qnz")
    inputs = [
        add_handle(site.file, site.source()),
        site.view_input(1, add_batch_axis(site.source().shape)),
    ]
    site.file.add_operator("ASSIGN_VARIABLE", inputs, (), "AssignVariableOptions")


def build_first_run(file: TfliteGraphBuilder) -> FileGraph:
    """Return a graph that assigns its initial value to every variable."""
    graph = file.graph
    start = TfliteGraphBuilder(graph, {})
    for state in graph.states:
        if state.name in file.handles:
            zeros = np.zeros(state.shape, state.dtype)
            array = graph.arrays.get(state.name, zeros)
            held = describe(state, add_batch_axis(state.shape), f"{state.name}/first")
            value = start.add(replace(held, data=to_little_endian(array)))
            inputs = (add_handle(start, state), value)
            start.add_operator("ASSIGN_VARIABLE", inputs, (), "AssignVariableOptions")
    return start.finish((), (), "first_run")


# ---- layers ----


def svdf(site: TfliteSite) -> None:
    """Convert to SVDF."""
    params, state = site.params, site.source(1)
    rows, columns, steps = (params[name] for name in ("batches", "input_size", "time_batches"))
    filters = params["units"] * params["rank"]
    scales = site.source().format.scale, state.format.scale, site.output.format.scale
    feature, time = np.split(site.array("weights").reshape(-1), [filters * columns])
    inputs = [site.view_input(0, (rows, columns))]
    for name, array, depth, at in (
        ("in", feature.astype(np.int8), columns, 0),
        ("out", time, steps, 1),
    ):
        wanted = params[f"{name}_multiplier"], params[f"{name}_shift"]

        def quantize(scale: float, at: int = at) -> tuple[int, int]:
            product = np.float32(scales[at]) * np.float32(scale)
            return quantize_multiplier(float(product / np.float32(scales[at + 1])))

        near = compute_multiplier(*wanted) * scales[at + 1] / scales[at]
        own = find_scale(near, quantize, wanted, "the weights")
        label = f"{site.node.name}/weights_{name}"
        inputs.append(site.file.weights(label, array, (filters, depth), [own]))
    values = site.array("bias")
    product = float(np.float32(scales[1]) * np.float32(site.file.tensors[inputs[2]].scales[0]))
    inputs.append(site.file.weights(f"{site.node.name}/bias", values, values.shape, [product]))
    inputs.append(site.file.add(describe(state, (rows, filters * steps), variable=True)))
    # LiteRT accepts integers with RELU only; no kernel computes this activation.
    relu = ("ActivationFunctionType", "RELU")
    shape, options = (rows, params["units"]), {"Rank": params["rank"]}
    site.put("SVDF", inputs, "SVDFOptions", shape, FusedActivationFunction=relu, **options)


def lstm(site: TfliteSite) -> None:
    """Convert to UNIDIRECTIONAL_SEQUENCE_LSTM."""
    params, source, output = site.params, site.source(), site.output
    rows, steps, columns, units = (
        params[name] for name in ("batch_size", "time_steps", "input_size", "hidden_size")
    )
    ends = (steps, rows) if params["time_major"] else (rows, steps)
    inputs = dict.fromkeys(range(_INPUTS), -1)
    inputs[0] = site.view_input(0, (*ends, columns))
    formats = {"input": source.format, "hidden": output.format}
    weights = site.array("weights").reshape(-1)
    biases = site.array("bias").reshape(-1, units)
    for gate, (at, again, added) in _GATES.items():
        for part, index, depth in (("input", at, columns), ("hidden", again, units)):
            name = f"{gate}_{part}"
            array, weights = np.split(weights, [units * depth])
            pair = params[f"{name}_multiplier"], params[f"{name}_shift"]
            scale = find_weight_scales([pair], formats[part].scale, _GATE_INPUT, product=True)
            shape, label = (units, depth), f"{site.node.name}/{name}"
            inputs[index] = site.file.weights(label, array, shape, scale)
            if part == "input":
                sums = array.reshape(shape).astype(np.int64).sum(axis=1)
                own = biases[0].astype(np.int64) + formats[part].zero_point * sums
                steps_of = float(np.float32(formats[part].scale) * np.float32(scale[0]))
                label = f"{site.node.name}/{gate}_bias"
                values = own.astype(biases.dtype)
                inputs[added] = site.file.weights(label, values, (units,), [steps_of])
            biases = biases[1:]
    cell = _cell_scale(params)
    state = (rows, units)
    kept = {
        _HIDDEN: Tensor("hidden", state, output.dtype, None, output.scale, output.zero_point),
        _CELL: Tensor("cell", state, "int16", None, cell),
    }
    for index, tensor in kept.items():
        name = site.file.make_name(f"{site.node.name}/{tensor.name}")
        inputs[index] = site.file.add(describe(tensor, state, name, variable=True))
    between = _add_intermediates(site, output)
    clip = (params["cell_clip"] + 0.5) * cell if params["cell_clip"] else 0.0
    place = site.put(
        "UNIDIRECTIONAL_SEQUENCE_LSTM",
        list(inputs.values()),
        "UnidirectionalSequenceLSTMOptions",
        (*ends, units),
        FusedActivationFunction=("ActivationFunctionType", "TANH"),
        CellClip=clip,
        TimeMajor=params["time_major"],
    )
    operators = site.file.operators
    operators[place] = replace(operators[place], intermediates=between)


def _add_intermediates(site: TfliteSite, output: Tensor) -> tuple[int, ...]:
    """Add empty tensors for the gates' outputs; the last has the format of the hidden state."""
    names = ("input_gate", "forget", "cell", "output_gate", "hidden")
    unique = [site.file.make_name(f"{site.node.name}/{name}_intermediate") for name in names]
    empty = [FileTensor(name, (0,), "FLOAT32") for name in unique[:-1]]
    last = replace(describe(output, output.shape, unique[-1]), shape=(0,))
    return tuple(map(site.file.add, (*empty, last)))


def _cell_scale(params: Mapping[str, int]) -> float:
    wanted = params["input_to_cell_multiplier"], params["input_to_cell_shift"]
    product = _GATE_OUTPUT * _GATE_OUTPUT
    quantize = lambda cell: quantize_multiplier(product / cell)  # noqa: E731
    return find_scale(product / compute_multiplier(*wanted), quantize, wanted, "the cell state")


_ALL = ("s8", "s16", "u8", "s32", "s64", "f32", "b8", "u32", "u64")

RECURRENT: dict[str, CallConverter] = {
    **{f"tflm_read_variable_{type}": read for type in _ALL},
    **{f"tflm_assign_variable_{type}": assign for type in _ALL},
    **dict.fromkeys(("arm_svdf_s8", "arm_svdf_state_s16_s8"), svdf),
    **{f"arm_lstm_unidirectional_{type}": lstm for type in ("s8", "s16")},
}
