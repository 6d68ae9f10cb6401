"""Recurrent layers and attention of Keras."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from ...operators import (
    Affine,
    Concat,
    Dense,
    Elementwise,
    Gather,
    Lstm,
    MatMul,
    Operator,
    Reshape,
    Softmax,
    Transpose,
)
from ..recurrent import Cell, add_lstm, add_steps, last_step
from .building import KerasBuilder
from .config import OPERANDS, KerasLayer

Converter = Callable[[KerasLayer, KerasBuilder, list[str]], str]

#: Class of a layer -> the gates in its arrays, in this package's order.
_GATES = {"LSTM": (0, 1, 2, 3), "GRU": (0, 1, 2), "SimpleRNN": (0,)}

#: Options of recurrent layers that must have these values.
_REQUIRED = {"return_state": False, "stateful": False, "time_major": False}


def _recurrent(layer: KerasLayer, build: KerasBuilder, inputs: list[str]) -> str:
    backwards = layer.flag("go_backwards", False)
    made = _add_direction(layer, build, inputs[0], layer.name, layer.weights, backwards)
    steps, _ = build.shapes[made]
    if not layer.flag("return_sequences", False):
        return _take_last(layer, build, made, layer.name, backwards)
    if backwards:  # outputs are in the order of computation
        return build.add(layer.name, Gather(0, tuple(range(steps))[::-1]), made)
    return build.add(layer.name, Reshape(build.shapes[made]), made)


def _adder(build: KerasBuilder, name: str) -> Callable[..., str]:
    def add(part: str, operator: Operator, *inputs: str) -> str:
        return build.add(f"{name}/{part}", operator, *inputs)

    return add


def _take_last(
    layer: KerasLayer, build: KerasBuilder, hidden: str, name: str, backwards: bool
) -> str:
    steps, units = build.shapes[hidden]
    last = last_step(_adder(build, name), hidden, steps, units, backwards)
    return build.add(name, Reshape((units,)), last)


def _add_direction(
    layer: KerasLayer,
    build: KerasBuilder,
    source: str,
    name: str,
    arrays: list[np.ndarray],
    backwards: bool,
) -> str:
    """Add the states of one direction, in the order of the input's time steps."""
    shape = build.shapes[source]
    if len(shape) != 2:
        raise layer.error(f"its input {list(shape)} must be [steps, inputs]")
    weights, recurrent, bias, more = _split(layer, arrays)
    add = _adder(build, name)
    if layer.kind == "LSTM":
        lstm = Lstm(weights, recurrent, bias + more)
        return add_lstm(add, source, lstm, shape[0], backwards)
    activation = str(layer.options.get("activation") or "tanh")
    after = layer.kind != "GRU" or layer.flag("reset_after", True)
    cell = Cell(weights, recurrent, bias, more, after, activation)
    return add_steps(add, source, cell, shape[0], backwards)


def _split(
    layer: KerasLayer, arrays: list[np.ndarray]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the arrays with the gates on their first axis; check the options."""
    for key, value in _REQUIRED.items():
        if layer.flag(key, value) != value:
            raise layer.error(f"its {key} is {layer.options[key]!r}; it must be {value}")
    allowed = ("tanh", "relu") if layer.kind == "SimpleRNN" else ("tanh",)
    layer.choice("activation", "tanh", *allowed)
    if layer.kind != "SimpleRNN":
        layer.choice("recurrent_activation", "sigmoid", "sigmoid")
    gates = len(_GATES[layer.kind])
    if len(arrays) not in (2, 3) or any(array.ndim > 2 for array in arrays):
        raise layer.error(f"it has {len(arrays)} arrays; it must have a kernel of each kind")
    kernel, again = arrays[:2]
    units = again.shape[0]
    if kernel.shape[1:] != (gates * units,) or again.shape != (units, gates * units):
        raise layer.error(f"its kernels are {list(kernel.shape)} and {list(again.shape)}")
    bias = arrays[2] if len(arrays) == 3 else np.zeros(gates * units, np.float32)
    if bias.size not in (gates * units, 2 * gates * units):
        raise layer.error(f"its bias has {bias.size} elements")
    both = np.zeros((2, gates, units))
    both[: bias.size // (gates * units)] = bias.reshape(-1, gates, units)
    weights, recurrent = (a.T.reshape(gates, units, -1) for a in (kernel, again))
    return np.ascontiguousarray(weights), np.ascontiguousarray(recurrent), both[0], both[1]


def _inner(layer: KerasLayer, key: str = "layer") -> KerasLayer:
    """Return the layer that another one wraps, with no weights of its own."""
    entry: Any = layer.options.get(key)
    if not isinstance(entry, dict) or not isinstance(entry.get("config"), dict):
        raise layer.error("it does not describe the layer that it wraps")
    kind = str(entry.get("class_name"))
    return KerasLayer(kind, layer.name, entry["config"], [], {}, layer.version)


def _bidirectional(layer: KerasLayer, build: KerasBuilder, inputs: list[str]) -> str:
    inner = _inner(layer)
    if inner.kind not in _GATES:
        raise layer.error(f"it wraps {inner.kind!r}; have: {', '.join(_GATES)}")
    half = len(layer.weights) // 2
    sequences, ends = inner.flag("return_sequences", False), []
    for number, backwards in enumerate((False, True)):
        name = f"{layer.name}/{'backward' if backwards else 'forward'}"
        own = layer.weights[number * half : (number + 1) * half]
        made = _add_direction(inner, build, inputs[0], name, own, backwards)
        ends.append(made if sequences else _take_last(inner, build, made, name, backwards))
    mode = layer.choice("merge_mode", "concat", "concat", "sum", "mul", "ave")
    if mode == "concat":
        return build.add(layer.name, Concat(len(build.shapes[ends[0]]) - 1), *ends)
    if mode == "ave":
        total = build.add(f"{layer.name}/sum", Elementwise("add"), *ends)
        return build.add(layer.name, Affine(np.array(0.5), np.array(0.0)), total)
    kinds = {"sum": "add", "mul": "multiply"}
    return build.add(layer.name, Elementwise(kinds[mode]), *ends)


def _attention(layer: KerasLayer, build: KerasBuilder, inputs: list[str]) -> str:
    """Convert MultiHeadAttention of query, value and perhaps key."""
    masks = [value for value in layer.call.get(OPERANDS) or [] if value is not None]
    named = [k for k in ("attention_mask", "use_causal_mask") if layer.call.get(k)]
    if masks or named or len(inputs) not in (2, 3):
        raise layer.error("it has a mask, which is not supported")
    query, value = inputs[:2]
    key = inputs[2] if len(inputs) == 3 else value
    use_bias = layer.flag("use_bias", True)
    arrays = layer.arrays(*[3, 2] * 3, 3, 1) if use_bias else layer.arrays(*[3] * 4)
    step = 2 if use_bias else 1
    kernels = arrays[::step]
    biases = arrays[1::step] if use_bias else [np.zeros(0)] * 4
    depth = kernels[0].shape[2]
    parts = [
        _add_heads(build, layer.name, part, source, kernel, bias, factor)
        for part, source, kernel, bias, factor in (
            ("query", query, kernels[0], biases[0], depth**-0.5),
            ("key", key, kernels[1], biases[1], 1.0),
            ("value", value, kernels[2], biases[2], 1.0),
        )
    ]
    add = _adder(build, layer.name)
    scores = add("scores", MatMul(transposed=True), parts[0], parts[1])
    mixed = add("mixed", MatMul(), add("weights", Softmax(2), scores), parts[2])
    heads, steps, size = build.shapes[mixed]
    joined = add(
        "joined", Reshape((steps, heads * size)), add("steps", Transpose((1, 0, 2)), mixed)
    )
    matrix = kernels[3].reshape(heads * size, -1).T
    bias = biases[3].reshape(-1) if use_bias else None
    return build.add(layer.name, Dense(np.ascontiguousarray(matrix), bias), joined)


def _add_heads(
    build: KerasBuilder,
    name: str,
    part: str,
    source: str,
    kernel: np.ndarray,
    bias: np.ndarray,
    factor: float,
) -> str:
    """Add the projection of a sequence to heads [heads, steps, size], times a factor."""
    add = _adder(build, f"{name}/{part}")
    inputs, heads, size = kernel.shape
    matrix = kernel.reshape(inputs, heads * size).T * np.float32(factor)
    own = bias.reshape(-1) * np.float32(factor) if bias.size else None
    flat = add("flat", Dense(np.ascontiguousarray(matrix), own), source)
    split = add("split", Reshape((build.shapes[source][0], heads, size)), flat)
    return add("heads", Transpose((1, 0, 2)), split)


CONVERTERS: dict[str, tuple[bool, Converter]] = {
    **dict.fromkeys(_GATES, (True, _recurrent)),
    "Bidirectional": (True, _bidirectional),
    "MultiHeadAttention": (True, _attention),
}
