"""Lowering of float networks with powers of two as scales to calls of ESP-DL."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Callable, Optional

import numpy as np

from ..errors import ModelError
from ..functions import FUNCTIONS
from ..functions.float_semantics import get_pads
from ..ir.builds import ESP_DL_CHIPS as CHIPS
from ..ir.float_graph import FloatGraph, FloatNode
from ..ir.formats import quantize
from ..ir.graph import Graph, Node, Tensor
from ..ir.tensors import CHANNELS_LAST
from ..operators import (
    Clip,
    Concat,
    Conv,
    Curve,
    Dense,
    Elementwise,
    Identity,
    Operator,
    Pool,
    Relu,
    Reshape,
    Shape,
    Sigmoid,
    Softmax,
    Tanh,
)
from ..quantizer.assign import Formats
from .prepare import remove_groups

#: Operators that move no element: their output is their input.
_SAME = (Reshape, Identity)

#: Functions of one element that a table of 256 results computes.
_TABLES = (Relu, Clip, Sigmoid, Tanh, Curve)


def count_bias_bits(chip: str) -> int:
    """Return the bits of a bias on a chip of builds.ESP_DL_CHIPS."""
    return 20 if chip == "esp32s3" else 32


def prepare_esp_dl(graph: FloatGraph) -> tuple[FloatGraph, list[str]]:
    """Return the network in operators with functions of ESP-DL, and notes on the cost.

    Values are unchanged, but a softmax at the end is removed: the scores before have its order.
    """
    nodes: list[FloatNode] = []
    notes: list[str] = []
    outputs = list(graph.outputs)
    for node in graph.nodes:
        operator = node.operator
        at_end = node.name in outputs and not graph.readers(node.name)
        if isinstance(operator, Softmax) and at_end:
            outputs[outputs.index(node.name)] = node.inputs[0]
            notes.append(f"{node.name}: it is left out; the output is {node.inputs[0]}")
            continue
        if isinstance(operator, Conv) and not _is_depthwise(operator):
            operator = remove_groups(node.name, operator, notes)
        nodes.append(replace(node, operator=operator))
    return replace(graph, nodes=tuple(nodes), outputs=tuple(dict.fromkeys(outputs))), notes


def _is_depthwise(conv: Conv) -> bool:
    return conv.groups > 1 and conv.groups == len(conv.weights) and conv.weights.shape[-1] == 1


@dataclass
class _Lowering:
    """Calls so far. holder: tensor -> the device's tensor with its elements."""

    graph: FloatGraph
    formats: Formats
    chip: int
    holder: dict[str, str] = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)
    arrays: dict[str, np.ndarray] = field(default_factory=dict)

    def frac(self, name: str) -> int:
        return self.formats.tensors[name]

    def shape(self, name: str) -> Shape:
        return self.graph.shapes[name]

    def call(
        self,
        node: FloatNode,
        function: str,
        params: Mapping[str, int],
        weights: Optional[np.ndarray] = None,
        bias: Optional[np.ndarray] = None,
        inputs: Optional[tuple[str, ...]] = None,
    ) -> None:
        """Append the call that computes a node."""
        own = {}
        for role, array in (("weights", weights), ("bias", bias)):
            if array is not None:
                own[role] = f"{node.name}_{role}"
                self.arrays[own[role]] = array
        sources = inputs or tuple(self.holder[name] for name in node.inputs)
        told = {**params, **({"chip": self.chip} if "chip" in FUNCTIONS[function].params else {})}
        output = Tensor(node.name, self.shape(node.name), "int8", self.frac(node.name))
        made = Node(FUNCTIONS[function], told, sources, output, own.get("weights"), own.get("bias"))
        self.nodes.append(made)

    def scale(self, node: FloatNode, *factors: int) -> dict[str, int]:
        """Return the shift of products with so many fraction bits."""
        return {"right_shift": sum(factors) - self.frac(node.name)}


def describe_limited_biases(graph: FloatGraph, formats: Formats, bits: int) -> Iterator[str]:
    """Yield a sentence for each layer with a bias that so many bits do not hold."""
    for node in graph.nodes:
        bias = node.operator.bias if isinstance(node.operator, (Conv, Dense)) else None
        if bias is None:
            continue
        frac = formats.tensors[node.inputs[0]] + formats.weights[node.name]
        largest, most = float(np.abs(bias).max()), float(np.ldexp(1.0, bits - 1 - frac))
        if largest > most:
            yield (
                f"{node.name}: a bias of {largest:.4g} is limited to {most:.4g}, the most of "
                f"{bits} bits with {frac} fraction bits; larger weights or inputs raise this limit"
            )


def lower_esp_dl(graph: FloatGraph, formats: Formats, chip: str) -> Graph:
    """Return the calls of a network for a chip of builds.ESP_DL_CHIPS.

    Raises ModelError that names every operator without a function.
    """
    if formats.bits != 8:
        raise ModelError(f"{graph.name}: bits is {formats.bits}; networks of ESP-DL have 8 bits")
    made = _Lowering(graph, formats, CHIPS.index(chip))
    made.holder.update({name: name for name in graph.starts})
    problems = []
    for node in graph.nodes:
        kind = type(node.operator)
        made.holder[node.name] = node.name
        try:
            if isinstance(node.operator, _SAME) or _is_fused(graph, node):
                made.holder[node.name] = made.holder[node.inputs[0]]
            elif kind in _MAKERS:
                _MAKERS[kind](made, node, node.operator)
            else:
                raise ModelError("there is no function for it in ESP-DL; scheme='affine' has one")
        except ModelError as problem:
            problems.append(f"{kind.__name__} {node.name!r}: {problem}")
    if problems:
        raise ModelError(f"{graph.name} cannot run on the device: " + "; ".join(problems))
    starts = tuple(
        Tensor(
            *(name, shape, "int8", formats.tensors[name]),
            order=CHANNELS_LAST if name in graph.moved else (),
        )
        for name, shape in graph.starts.items()
    )
    outputs = tuple(dict.fromkeys(made.holder[name] for name in graph.outputs))
    nodes = tuple(made.nodes)
    return Graph(graph.name, starts, nodes, outputs, made.arrays, classes=graph.classes)


def _is_fused(graph: FloatGraph, node: FloatNode) -> bool:
    """True for a rectifier that the layer before it computes."""
    operator = node.operator
    if not isinstance(operator, Relu) or operator.slope or operator.limit is not None:
        return False
    source = node.inputs[0]
    maker = next((each for each in graph.nodes if each.name == source), None)
    alone = len(graph.readers(source)) == 1 and source not in graph.outputs
    return maker is not None and isinstance(maker.operator, (Conv, Dense)) and alone


def _has_rectifier(graph: FloatGraph, node: FloatNode) -> int:
    return int(any(_is_fused(graph, reader) for reader in graph.readers(node.name)))


def _quantize_bias(made: _Lowering, bias: Optional[np.ndarray], frac: int, rows: int) -> np.ndarray:
    """Return a bias with the fraction bits of the products, within the bits of the chip."""
    real = np.zeros(rows) if bias is None else bias
    end = 2 ** (count_bias_bits(CHIPS[made.chip]) - 1)
    steps: np.ndarray = np.rint(np.ldexp(np.asarray(real, np.float64), frac))
    return steps.clip(-end, end - 1).astype(np.int32)


def _convolve(made: _Lowering, node: FloatNode, conv: Conv) -> None:
    if min(conv.pads) < 0:
        raise ModelError(f"its pads {conv.pads} crop the input; crop it by a slice before")
    source, depthwise = node.inputs[0], _is_depthwise(conv)
    weights = quantize(conv.weights, made.formats.weights[node.name], "int8")
    product = made.frac(source) + made.formats.weights[node.name]
    params = {**_window(made, node, conv.kernel, conv.stride, conv.pads), "batches": 1}
    params.update(zip(("dilation_h", "dilation_w"), conv.dilation))
    params["input_c"] = made.shape(source)[2]
    if not depthwise:
        params["output_c"] = len(weights)
    if depthwise:
        weights = weights[..., 0].transpose(1, 2, 0).copy()
    params.update(made.scale(node, product), rectified=_has_rectifier(made.graph, node))
    bias = _quantize_bias(made, conv.bias, product, len(conv.weights))
    made.call(node, f"esp_dl_{'depthwise_' * depthwise}conv_s8", params, weights, bias)


def _window(made: _Lowering, node: FloatNode, *sides: Any) -> dict[str, int]:
    """Return the arguments of a window: kernel, stride, pads."""
    images = (made.shape(name) for name in (node.inputs[0], node.name))
    named = zip(("filter", "stride", "pad", "input", "output"), (*sides, *images))
    return {f"{name}_{axis}": pair[i] for name, pair in named for i, axis in enumerate("hw")}


def _dense(made: _Lowering, node: FloatNode, dense: Dense) -> None:
    source, (rows, columns) = node.inputs[0], dense.weights.shape
    weights = quantize(dense.weights, made.formats.weights[node.name], "int8")
    product = made.frac(source) + made.formats.weights[node.name]
    params = {"batches": math.prod(made.shape(source)) // columns, "input_c": columns}
    params.update(output_c=rows, rectified=_has_rectifier(made.graph, node))
    params.update(made.scale(node, product))
    bias = _quantize_bias(made, dense.bias, product, rows)
    made.call(node, "esp_dl_dense_s8", params, weights, bias)


def _pool(made: _Lowering, node: FloatNode, pool: Pool) -> None:
    params = {**_window(made, node, pool.kernel, pool.stride, pool.pads), "batches": 1}
    params["channels"] = made.shape(node.inputs[0])[2]
    if pool.kind == "max":
        made.call(node, "arm_max_pool_s8", {**params, "act_min": -128, "act_max": 127})
        return
    cut = get_pads({**params, "dilation_h": 1, "dilation_w": 1})
    if any(side > pad for side, pad in zip(cut, pool.pads)) or (
        any(pool.pads) and not pool.count_pads
    ):
        raise ModelError("its averages leave padding out; ESP-DL divides by the whole window")
    made.call(
        node, "esp_dl_average_pool_s8", {**params, **made.scale(node, made.frac(node.inputs[0]))}
    )


def _table(made: _Lowering, node: FloatNode, operator: Operator) -> None:
    """Append a table of the results of all 256 inputs."""
    x = np.ldexp(np.arange(-128.0, 128.0), -made.frac(node.inputs[0]))
    with np.errstate(all="ignore"):
        steps = np.ldexp(operator.evaluate(x[None])[0], made.frac(node.name))
    if not np.isfinite(steps).all():
        raise ModelError("its function has no finite result for some input")
    rounded = np.rint(steps) if CHIPS[made.chip] == "esp32p4" else np.floor(steps + 0.5)
    table = rounded.clip(-128, 127).astype(np.int8)
    made.call(node, "esp_dl_lut_s8", {"block_size": math.prod(made.shape(node.name))}, table)


def _rectify(made: _Lowering, node: FloatNode, relu: Relu) -> None:
    if relu.slope or relu.limit is not None or made.frac(node.inputs[0]) != made.frac(node.name):
        _table(made, node, relu)
    else:
        made.call(node, "esp_dl_relu_s8", {"block_size": math.prod(made.shape(node.name))})


def _elementwise(made: _Lowering, node: FloatNode, operator: Elementwise) -> None:
    if operator.kind not in ("add", "subtract", "multiply"):
        raise ModelError(f"there is no function for the {operator.kind} of two tensors")
    shape = made.shape(node.name)
    if any(made.shape(name) != shape for name in node.inputs):
        raise ModelError(
            f"its inputs have the shapes {[list(made.shape(name)) for name in node.inputs]}; both "
            "must be equal here"
        )
    params = {"block_size": math.prod(shape)}
    if operator.kind == "multiply":
        params.update(made.scale(node, *map(made.frac, node.inputs)), row_size=math.prod(shape))
    made.call(node, f"esp_dl_{operator.kind[:3]}_s8", params)


def _concatenate(made: _Lowering, node: FloatNode, concat: Concat) -> None:
    """Append a join of two tensors, and one more for each further input."""
    shape = made.shape(node.name)
    axis = concat.axis % len(shape)
    outer = math.prod(shape[:axis])
    widths = [math.prod(made.shape(name)) // outer for name in node.inputs]
    joined, width = made.holder[node.inputs[0]], widths[0]
    sides = made.shape(node.inputs[0])[axis]
    for at, (name, more) in enumerate(zip(node.inputs[1:], widths[1:]), 1):
        params = {"outer": outer, "inner1": width, "inner2": more}
        sides, width = sides + made.shape(name)[axis], width + more
        made.call(node, "tflm_concatenation_s8", params, inputs=(joined, made.holder[name]))
        if at < len(widths) - 1:
            joined = made.graph.make_unused_name(f"{node.name}/joined{at}")
            part = (*shape[:axis], sides, *shape[axis + 1 :])
            output = replace(made.nodes[-1].output, name=joined, shape=part)
            made.nodes[-1] = replace(made.nodes[-1], output=output)


_MAKERS: Mapping[type, Callable[[_Lowering, FloatNode, Any], None]] = {
    **dict.fromkeys(_TABLES, _table),
    Conv: _convolve,
    Dense: _dense,
    Pool: _pool,
    Relu: _rectify,
    Elementwise: _elementwise,
    Concat: _concatenate,
}
