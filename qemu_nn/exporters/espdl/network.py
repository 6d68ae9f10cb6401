"""Conversion of calls of ESP-DL to the operators of a file."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...errors import ModelError
from ...ir.graph import Graph, Node, Tensor
from .schema import FileConstant, FileGraph, FileNode, FileValue

#: Type of elements -> channels of a block of weights on an ESP32-S3 and ESP32-P4; generic C has
#: none.
_BLOCK = {"int8": 16, "int16": 8}

#: Type of elements -> the attribute that chooses kernels.
_KINDS = {"int8": "S8", "int16": "S16", "float32": "F32"}


@dataclass
class _Conversion:
    """A file so far. shapes: of its tensors, with the axis of samples. sources: call that repeats
    elements -> its input, as operators of two tensors do so themselves.
    """

    graph: Graph
    blocks: bool
    file: FileGraph
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    exponents: dict[str, int] = field(default_factory=dict)
    dtypes: dict[str, str] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)

    def describe(self, tensor: Tensor) -> FileValue:
        """Describe a tensor of the network."""
        shape, exponent = (1, *tensor.shape), -(tensor.frac or 0)
        self.shapes[tensor.name], self.exponents[tensor.name] = shape, exponent
        self.dtypes[tensor.name] = tensor.dtype
        return FileValue(tensor.name, tensor.dtype, shape, exponent)

    def constant(
        self, name: str, data: np.ndarray, shape: tuple[int, ...], exponent: int, label: str = ""
    ) -> str:
        """Add a constant; return its name."""
        value = FileValue(name, data.dtype.name, shape, exponent)
        self.file.constants.append(FileConstant(value, data, label))
        return name

    def view(self, node: Node, index: int, shape: tuple[int, ...]) -> str:
        """Return an input in a shape, reshaped if its own is another."""
        name = node.inputs[index]
        if self.shapes[name] == shape:
            return name
        made = f"{node.name}/input{index}"
        wanted = self.constant(f"{made}/shape", np.array(shape, np.int64), (len(shape),), 0)
        exponent, dtype = self.exponents[name], self.dtypes[name]
        kind = {"quant_type": _KINDS[dtype]}
        self.file.nodes.append(FileNode("Reshape", (name, wanted), made, kind))
        self.file.values.append(FileValue(made, dtype, shape, exponent))
        self.shapes[made], self.exponents[made] = shape, exponent
        return made

    def add(self, node: Node, operator: str, *inputs: str, **attributes: object) -> None:
        """Add the operator that computes a node."""
        told = {"quant_type": _KINDS[self.dtypes[node.inputs[0]]], **attributes}
        self.file.nodes.append(FileNode(operator, inputs, node.name, told))  # type: ignore[arg-type]

    def array(self, name: str | None) -> np.ndarray:
        """Return an array of the network."""
        assert name is not None
        return self.graph.arrays[name]


def convert(graph: Graph, chip: str) -> FileGraph:
    """Return the network of a file for a chip.

    Raises ModelError that names a call without an operator.
    """
    made = _Conversion(graph, chip != "esp32", FileGraph(graph.name))
    made.file.inputs = [made.describe(tensor) for tensor in graph.inputs]
    values = {}
    for node in graph.nodes:
        kind = node.function.name
        repeats = kind.startswith("tflm_broadcast")
        if graph.states or not (kind in _WRITERS or repeats):
            raise ModelError(f"layer {node.name!r} calls {kind}, which .espdl files do not have")
        if node.params.get("batches", 1) != 1 and "conv" in kind:
            raise ModelError(f"layer {node.name!r} has several images of one sample")
        value = made.describe(node.output)
        if repeats:
            made.sources[node.name] = node.inputs[0]
            continue
        values[node.name] = value
        _WRITERS[kind](made, node)
    made.file.values += [value for name, value in values.items() if name not in graph.outputs]
    made.file.outputs = [values[name] for name in graph.outputs]
    return made.file


def _weights(made: _Conversion, node: Node, packed: np.ndarray, shape: tuple[int, ...]) -> str:
    """Add weights; return their name. Their exponent is the output's less shift and input's."""
    exponent = made.exponents[node.name] - node.params["right_shift"]
    exponent -= made.exponents[node.inputs[0]]
    width = _BLOCK[packed.dtype.name]
    label = f"layout ==> (N/{width})HWC{width}" if made.blocks else "layout ==> NHWC"
    return made.constant(f"{node.name}/weights", packed, shape, exponent, label)


def _bias(made: _Conversion, node: Node) -> str:
    bias = made.array(node.bias).reshape(-1)
    exponent = made.exponents[node.name] - node.params["right_shift"]
    return made.constant(f"{node.name}/bias", bias, bias.shape, exponent)


def _pack(made: _Conversion, weights: np.ndarray) -> np.ndarray:
    """Return weights [out, ...] flat, whole blocks of channels first: [blocks, ..., width]."""
    width = _BLOCK[weights.dtype.name]
    whole = len(weights) // width * width if made.blocks else 0
    head = weights[:whole].reshape(-1, width, *weights.shape[1:])
    return np.concatenate([np.moveaxis(head, 1, -1).reshape(-1), weights[whole:].reshape(-1)])


def _activation(node: Node) -> str:
    return "Relu" if node.params["rectified"] else "Linear"


def _window(node: Node) -> dict[str, list[int]]:
    """Return the attributes of a window."""
    p = node.params
    kernel, stride, before = ([p[f"{n}_{a}"] for a in "hw"] for n in ("filter", "stride", "pad"))
    after = [
        max(0, (p[f"output_{a}"] - 1) * step + (taps - 1) * p.get(f"dilation_{a}", 1) + 1 - side)
        for a, step, taps, side in zip(
            "hw", stride, kernel, (p[f"input_{a}"] + pad for a, pad in zip("hw", before))
        )
    ]
    return {"kernel_shape": kernel, "strides": stride, "pads": [*before, *after]}


def _convolve(made: _Conversion, node: Node) -> None:
    p, depthwise = node.params, "depthwise" in node.function.name
    kernel = (p["filter_h"], p["filter_w"])
    weights = made.array(node.weights)
    if depthwise:
        channels = weights.reshape(*kernel, p["input_c"])
        packed, shape = _pack_depthwise(made, channels), (*kernel, p["input_c"], 1)
    else:
        packed = _pack(made, weights.reshape(p["output_c"], *kernel, p["input_c"]))
        shape = (*kernel, p["input_c"], p["output_c"])
    image = (1, p["input_h"], p["input_w"], p["input_c"])
    inputs = (made.view(node, 0, image), _weights(made, node, packed, shape), _bias(made, node))
    made.add(
        node,
        "Conv",
        *inputs,
        **_window(node),
        dilations=[p["dilation_h"], p["dilation_w"]],
        group=p["input_c"] if depthwise else 1,
        activation=_activation(node),
    )


def _pack_depthwise(made: _Conversion, weights: np.ndarray) -> np.ndarray:
    """Return weights [h, w, out] flat, whole blocks of channels first: [blocks, h, w, width]."""
    width = _BLOCK[weights.dtype.name]
    whole = weights.shape[2] // width * width if made.blocks else 0
    head = weights[..., :whole].reshape(*weights.shape[:2], -1, width)
    return np.concatenate([np.moveaxis(head, 2, 0).reshape(-1), weights[..., whole:].reshape(-1)])


def _dense(made: _Conversion, node: Node) -> None:
    p = node.params
    weights = made.array(node.weights).reshape(p["output_c"], 1, 1, p["input_c"])
    shape = (1, 1, p["input_c"], p["output_c"])
    rows = made.shapes[node.name][:-1]
    inputs = (
        made.view(node, 0, (*rows, p["input_c"])),
        _weights(made, node, _pack(made, weights), shape),
        _bias(made, node),
    )
    made.add(node, "Gemm", *inputs, activation=_activation(node), transB=0, alpha=1.0, beta=1.0)


def _pool(made: _Conversion, node: Node) -> None:
    p = node.params
    image = made.view(node, 0, (1, p["input_h"], p["input_w"], p["channels"]))
    average = {"count_include_pad": 1} if "average" in node.function.name else {}
    operator = "AveragePool" if average else "MaxPool"
    made.add(node, operator, image, **_window(node), ceil_mode=0, **average)


def _table(made: _Conversion, node: Node) -> None:
    table = made.array(node.weights).reshape(-1)
    name = f"{node.name}/lut"
    made.constant(name, table, table.shape, made.exponents[node.name])
    made.add(node, "LUT", made.view(node, 0, made.shapes[node.name]), lut=name)


def _same_shape(operator: str) -> Callable[[_Conversion, Node], None]:
    def write(made: _Conversion, node: Node) -> None:
        shape = made.shapes[node.name]
        views = [
            made.sources.get(name) or made.view(node, at, shape)
            for at, name in enumerate(node.inputs)
        ]
        made.add(node, operator, *views)

    return write


def _concatenate(made: _Conversion, node: Node) -> None:
    shape = made.shapes[node.name]
    first = [made.shapes[name] for name in node.inputs]
    axes = [at for at in range(len(shape)) if first[0][at : at + 1] != shape[at : at + 1]]
    axis = axes[0] if axes else len(shape) - 1
    made.add(node, "Concat", *node.inputs, axis=axis)


def _clip(made: _Conversion, node: Node) -> None:
    ends = [
        made.constant(
            f"{node.name}/{name}",
            np.array([node.params[name]], made.dtypes[node.name]),
            (1,),
            made.exponents[node.inputs[0]],
        )
        for name in ("low", "high")
    ]
    made.add(node, "Clip", made.view(node, 0, made.shapes[node.name]), *ends)


def _leaky(made: _Conversion, node: Node) -> None:
    alpha = float(np.int32(node.params["alpha_bits"]).view(np.float32))
    made.add(node, "LeakyRelu", made.view(node, 0, made.shapes[node.name]), alpha=alpha)


def _slopes(made: _Conversion, node: Node) -> None:
    slopes = made.array(node.weights).reshape(-1)
    exponent = -node.params["alpha_right_shift"]
    name = made.constant(f"{node.name}/slope", slopes, (slopes.size, 1, 1), exponent)
    made.add(node, "PRelu", made.view(node, 0, made.shapes[node.name]), name)


def _softmax(made: _Conversion, node: Node) -> None:
    shape, p = made.shapes[node.name], node.params
    axis = next(
        at
        for at in range(1, len(shape))
        if math.prod(shape[:at]) == p["outer"] and shape[at] == p["size"]
    )
    operator = "LogSoftmax" if "log" in node.function.name else "Softmax"
    made.add(node, operator, made.view(node, 0, shape), axis=axis)


def _quantize(made: _Conversion, node: Node) -> None:
    told = {"quant_type": _KINDS[made.dtypes[node.name]]}
    made.file.nodes.append(FileNode("QuantizeLinear", (node.inputs[0],), node.name, told))


def _resize(made: _Conversion, node: Node) -> None:
    p = node.params
    ratios = [p[f"output_{axis}"] / p[f"input_{axis}"] for axis in "hw"]
    scales = np.array([1, 1, *ratios], np.float32)
    name = made.constant(f"{node.name}/scales", scales, (4,), 0)
    linear = "linear" in node.function.name
    corners = "align_corners" if p.get("align_corners") else "half_pixel"
    image = made.view(node, 0, (1, p["input_h"], p["input_w"], p["channels"]))
    made.add(
        node,
        "Resize",
        *(image, "", name),
        mode="linear" if linear else "nearest",
        coordinate_transformation_mode=corners if linear else "asymmetric",
        nearest_mode="floor",
    )


def _for_types(**writers: Callable[[_Conversion, Node], None]) -> dict[str, Any]:
    """Return writers of functions of 8 and of 16 bits."""
    return {f"{name}_{type}": own for name, own in writers.items() for type in ("s8", "s16")}


_WRITERS: Mapping[str, Callable[[_Conversion, Node], None]] = {
    **_for_types(esp_dl_conv=_convolve, esp_dl_depthwise_conv=_convolve, esp_dl_dense=_dense),
    **_for_types(arm_max_pool=_pool, esp_dl_average_pool=_pool, esp_dl_lut=_table),
    **_for_types(esp_dl_relu=_same_shape("Relu"), esp_dl_prelu=_slopes),
    **_for_types(esp_dl_add=_same_shape("Add"), esp_dl_sub=_same_shape("Sub")),
    **_for_types(esp_dl_mul=_same_shape("Mul"), tflm_concatenation=_concatenate),
    **_for_types(esp_dl_quantize_f32=_quantize),
    **{f"esp_dl_{kind}softmax_s{bits}_f32": _softmax for kind in ("", "log_") for bits in (8, 16)},
    **{f"esp_dl_resize_{kind}_s8": _resize for kind in ("nearest", "linear")},
    "esp_dl_clip_s16": _clip,
    "esp_dl_leaky_relu_s16": _leaky,
}
