"""Lowering of float networks with powers of two as scales to calls of ESP-DL."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Callable, Optional

import numpy as np

from ..errors import ModelError
from ..functions import FUNCTIONS
from ..functions.esp_dl import fold_axes
from ..functions.float_semantics import get_pads
from ..functions.tflm_float import bits as get_bits
from ..ir.builds import ESP_DL_CHIPS as CHIPS
from ..ir.float_graph import FloatGraph, FloatNode
from ..ir.formats import compute_dec_bit, limits, quantize
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
    PRelu,
    Relu,
    Reshape,
    Resize,
    Shape,
    Sigmoid,
    Softmax,
    Tanh,
)
from ..operators.resize import find_nearest
from ..quantizer.assign import Formats
from .prepare import remove_groups

#: Operators that move no element: their output is their input.
_SAME = (Reshape, Identity)

#: Functions of one element that a table computes.
_TABLES = (Relu, Clip, Sigmoid, Tanh, Curve)


#: Integers from one place of a table of 16 bits to the next, as esp-ppq writes them.
_STEP = 32


def count_bias_bits(chip: str, bits: int) -> int:
    """Return the bits of a bias on a chip of builds.ESP_DL_CHIPS, of a layer of so many bits."""
    if bits == 16:
        return 40
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

    @property
    def dtype(self) -> str:
        """Type of the elements."""
        return f"int{self.formats.bits}"

    @property
    def type(self) -> str:
        """The type at the end of the names of functions."""
        return f"s{self.formats.bits}"

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
        output: Optional[Tensor] = None,
    ) -> None:
        """Append the call that computes a node, or another output for it."""
        own = {}
        for role, array in (("weights", weights), ("bias", bias)):
            if array is not None:
                own[role] = f"{node.name}_{role}"
                self.arrays[own[role]] = array
        sources = inputs or tuple(self.holder[name] for name in node.inputs)
        told = {**params, **({"chip": self.chip} if "chip" in FUNCTIONS[function].params else {})}
        if output is None:
            output = Tensor(node.name, self.shape(node.name), self.dtype, self.frac(node.name))
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
            count = int((np.abs(bias) > most).sum())
            yield (
                f"{node.name}: a bias of {largest:.4g} is limited to {most:.4g}, the most of "
                f"{bits} bits with {frac} fraction bits, and loses {largest - most:.4g}; so are "
                f"{count} of {bias.size} biases; larger weights or inputs raise this limit"
            )


def lower_esp_dl(graph: FloatGraph, formats: Formats, chip: str) -> Graph:
    """Return the calls of a network for a chip of builds.ESP_DL_CHIPS.

    Raises ModelError that names every operator without a function.
    """
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
            *(name, shape, made.dtype, formats.tensors[name]),
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
    end = 2 ** (count_bias_bits(CHIPS[made.chip], made.formats.bits) - 1)
    steps: np.ndarray = np.rint(np.ldexp(np.asarray(real, np.float64), frac))
    return steps.clip(-end, end - 1).astype(np.int32 if made.formats.bits == 8 else np.int64)


def _convolve(made: _Lowering, node: FloatNode, conv: Conv) -> None:
    if min(conv.pads) < 0:
        raise ModelError(f"its pads {conv.pads} crop the input; crop it by a slice before")
    source, depthwise = node.inputs[0], _is_depthwise(conv)
    weights = quantize(conv.weights, made.formats.weights[node.name], made.dtype)
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
    name = f"esp_dl_{'depthwise_' * depthwise}conv_{made.type}"
    made.call(node, name, params, weights, bias)


def _window(made: _Lowering, node: FloatNode, *sides: Any) -> dict[str, int]:
    """Return the arguments of a window: kernel, stride, pads."""
    images = (made.shape(name) for name in (node.inputs[0], node.name))
    named = zip(("filter", "stride", "pad", "input", "output"), (*sides, *images))
    return {f"{name}_{axis}": pair[i] for name, pair in named for i, axis in enumerate("hw")}


def _dense(made: _Lowering, node: FloatNode, dense: Dense) -> None:
    source, (rows, columns) = node.inputs[0], dense.weights.shape
    weights = quantize(dense.weights, made.formats.weights[node.name], made.dtype)
    product = made.frac(source) + made.formats.weights[node.name]
    params = {"batches": math.prod(made.shape(source)) // columns, "input_c": columns}
    params.update(output_c=rows, rectified=_has_rectifier(made.graph, node))
    params.update(made.scale(node, product))
    bias = _quantize_bias(made, dense.bias, product, rows)
    made.call(node, f"esp_dl_dense_{made.type}", params, weights, bias)


def _pool(made: _Lowering, node: FloatNode, pool: Pool) -> None:
    params = {**_window(made, node, pool.kernel, pool.stride, pool.pads), "batches": 1}
    params["channels"] = made.shape(node.inputs[0])[2]
    if pool.kind == "max":
        low, high = limits(made.dtype)
        made.call(node, f"arm_max_pool_{made.type}", {**params, "act_min": low, "act_max": high})
        return
    cut = get_pads({**params, "dilation_h": 1, "dilation_w": 1})
    if any(side > pad for side, pad in zip(cut, pool.pads)) or (
        any(pool.pads) and not pool.count_pads
    ):
        raise ModelError("its averages leave padding out; ESP-DL divides by the whole window")
    params.update(made.scale(node, made.frac(node.inputs[0])))
    made.call(node, f"esp_dl_average_pool_{made.type}", params)


def _table(made: _Lowering, node: FloatNode, operator: Operator) -> None:
    """Append a table of the results of all 256 inputs, or of each 32nd one of 16 bits."""
    small = made.formats.bits == 8
    places = np.arange(-128.0, 128.0) if small else np.arange(-32768.0, 32769.0, _STEP)
    x = np.ldexp(places, -made.frac(node.inputs[0]))
    with np.errstate(all="ignore"):
        steps = np.ldexp(operator.evaluate(x[None])[0], made.frac(node.name))
    if not np.isfinite(steps).all():
        raise ModelError("its function has no finite result for some input")
    rounded = np.rint(steps) if CHIPS[made.chip] == "esp32p4" else np.floor(steps + 0.5)
    table = rounded.clip(*limits(made.dtype)).astype(made.dtype)
    params = {"block_size": math.prod(made.shape(node.name))}
    if not small:
        params["places"] = table.size
    made.call(node, f"esp_dl_lut_{made.type}", params, table)


def _rectify(made: _Lowering, node: FloatNode, relu: Relu) -> None:
    params = {"block_size": math.prod(made.shape(node.name))}
    if relu.limit is not None and not relu.slope and made.formats.bits == 16:
        _clip(made, node, Clip(0.0, relu.limit))
    elif relu.slope and relu.limit is None and made.formats.bits == 16:
        exponents = {"input_exponent": -made.frac(node.inputs[0]), "alpha_bits": 0}
        params.update(exponents, output_exponent=-made.frac(node.name))
        params["alpha_bits"] = get_bits(relu.slope)
        made.call(node, "esp_dl_leaky_relu_s16", params)
    elif relu.slope or relu.limit is not None or made.frac(node.inputs[0]) != made.frac(node.name):
        _table(made, node, relu)
    else:
        made.call(node, f"esp_dl_relu_{made.type}", params)


def _clip(made: _Lowering, node: FloatNode, clip: Clip) -> None:
    """Append limits, which need no table; of 8 bits a table as esp-ppq writes it."""
    if made.formats.bits == 8:
        _table(made, node, clip)
        return
    frac = made.frac(node.inputs[0])
    ends = quantize(np.array([clip.low, clip.high]), frac, made.dtype)
    params = {"block_size": math.prod(made.shape(node.name)), **made.scale(node, frac)}
    made.call(node, "esp_dl_clip_s16", {**params, "low": int(ends[0]), "high": int(ends[1])})


def _slopes(made: _Lowering, node: FloatNode, prelu: PRelu) -> None:
    """Append slopes of channels, with the most fraction bits that hold them."""
    shape = made.shape(node.name)
    slope = np.asarray(prelu.slope)
    channels = shape[-1]
    if len(shape) != 3 or slope.size not in (1, channels) or slope.shape[-1:] != (slope.size,):
        raise ModelError(
            f"its slope is {list(slope.shape)} of {list(shape)}; ESP-DL has one for each channel "
            "of an image"
        )
    whole = np.broadcast_to(slope.ravel(), channels)
    frac = min(compute_dec_bit(float(np.abs(whole).max()), made.formats.bits), 31)
    if frac < 0:
        raise ModelError(f"its largest slope is {np.abs(whole).max():.4g}; it must be below 128")
    params = {"outer": math.prod(shape[:-1]), "inner": channels, "input_right_shift": 0}
    params["alpha_right_shift"] = frac
    made.call(node, f"esp_dl_prelu_{made.type}", params, quantize(whole, frac, made.dtype))


def _softmax(made: _Lowering, node: FloatNode, softmax: Softmax) -> None:
    """Append a softmax of floats, and the integers of its results."""
    shape, axis = made.shape(node.name), softmax.axis
    floats = Tensor(made.graph.make_unused_name(f"{node.name}/floats"), shape, "float32", None)
    params = {"outer": math.prod(shape[:axis]), "size": shape[axis]}
    params.update(inner=math.prod(shape[axis + 1 :]))
    params["input_exponent"] = -made.frac(node.inputs[0])
    name = f"esp_dl_{'log_' * softmax.log}softmax_{made.type}_f32"
    made.call(node, name, params, output=floats)
    params = {"block_size": math.prod(shape), "right_shift": -made.frac(node.name)}
    made.call(node, f"esp_dl_quantize_f32_{made.type}", params, inputs=(floats.name,))


def _resize(made: _Lowering, node: FloatNode, resize: Resize) -> None:
    if made.formats.bits != 8:
        raise ModelError("ESP-DL 3.3.9 leaves resized images of 16 bits unwritten; use bits=8")
    source, result = made.shape(node.inputs[0]), made.shape(node.name)
    corners, linear = resize.align_corners, resize.kind == "bilinear"
    if linear and not corners and not resize.half_pixel:
        raise ModelError("ESP-DL centers pixels, or corner pixels with align_corners")
    params = {"batches": 1, "channels": source[2]}
    for at, axis in enumerate("hw"):
        before, after = source[at], result[at]
        scale = np.float32(after) / np.float32(before)
        if corners and linear:
            scale = np.float32(after - 1) / np.float32(before - 1) if before > 1 else np.float32(1)
        inverse = np.float32(1) / scale
        places = np.float32(np.arange(after)) * inverse
        near = np.minimum(np.floor(places).astype(int), before - 1)
        own = find_nearest(before, after, corners, resize.half_pixel)
        if not linear and tuple(near) != own:
            raise ModelError("ESP-DL takes the pixel at floor(place * input / output), not these")
        params.update({f"input_{axis}": before, f"output_{axis}": after})
        params[f"inverse_{axis}_bits"] = get_bits(float(inverse))
    params.update(input_exponent=-made.frac(node.inputs[0]), output_exponent=-made.frac(node.name))
    if linear:
        params.update(align_corners=int(corners), axes=2)
    made.call(node, f"esp_dl_resize_{'linear' if linear else 'nearest'}_s8", params)


def _elementwise(made: _Lowering, node: FloatNode, operator: Elementwise) -> None:
    if operator.kind not in ("add", "subtract", "multiply"):
        raise ModelError(f"there is no function for the {operator.kind} of two tensors")
    shape = made.shape(node.name)
    shapes = [made.shape(name) for name in node.inputs]
    if len(shape) > 3 and any(each != shape for each in shapes):
        raise ModelError(f"it broadcasts {list(map(list, shapes))}; at most 3 axes are supported")
    params = {"block_size": math.prod(shape)}
    if operator.kind == "multiply":
        row_size = fold_axes(*((1, *each) for each in shapes))
        params.update(made.scale(node, *map(made.frac, node.inputs)), row_size=row_size)
    sources = tuple(_broadcast(made, node, at) for at in (0, 1))
    made.call(node, f"esp_dl_{operator.kind[:3]}_{made.type}", params, inputs=sources)


def _broadcast(made: _Lowering, node: FloatNode, at: int) -> str:
    """Return an operand in the shape of the output; append the call that repeats its elements."""
    source, shape = node.inputs[at], made.shape(node.name)
    if math.prod(made.shape(source)) == math.prod(shape):
        return made.holder[source]
    params = {}
    for name, own in (("input", made.shape(source)), ("output", shape)):
        sides = (1,) * (4 - len(own)) + own
        params.update({f"{name}_{axis}": side for axis, side in zip("nhwc", sides)})
    name = f"{node.name}/{('first', 'second')[at]}"
    output = Tensor(name, shape, made.dtype, made.frac(source))
    function = f"tflm_broadcast_{made.type}"
    made.call(node, function, params, inputs=(made.holder[source],), output=output)
    return name


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
        function = f"tflm_concatenation_{made.type}"
        made.call(node, function, params, inputs=(joined, made.holder[name]))
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
    Clip: _clip,
    PRelu: _slopes,
    Softmax: _softmax,
    Resize: _resize,
    Elementwise: _elementwise,
    Concat: _concatenate,
}
