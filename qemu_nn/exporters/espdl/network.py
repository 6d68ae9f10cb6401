"""Conversion of calls of ESP-DL to the operators of a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from ...errors import ModelError
from ...ir.graph import Graph, Node, Tensor
from .schema import FileConstant, FileGraph, FileNode, FileValue

#: Channels of a block of weights on an ESP32-S3 and ESP32-P4; generic C has none.
_BLOCK = 16
_LABELS = {True: f"layout ==> (N/{_BLOCK})HWC{_BLOCK}", False: "layout ==> NHWC"}


@dataclass
class _Conversion:
    """A file so far. shapes: of its tensors, with the axis of samples."""

    graph: Graph
    blocks: bool
    file: FileGraph
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    exponents: dict[str, int] = field(default_factory=dict)

    def describe(self, tensor: Tensor) -> FileValue:
        """Describe a tensor of the network."""
        assert tensor.frac is not None
        shape = (1, *tensor.shape)
        self.shapes[tensor.name], self.exponents[tensor.name] = shape, -tensor.frac
        return FileValue(tensor.name, tensor.dtype, shape, -tensor.frac)

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
        self.file.nodes.append(FileNode("Reshape", (name, wanted), made, {"quant_type": "S8"}))
        exponent = self.exponents[name]
        self.file.values.append(FileValue(made, "int8", shape, exponent))
        self.shapes[made], self.exponents[made] = shape, exponent
        return made

    def add(self, node: Node, operator: str, *inputs: str, **attributes: object) -> None:
        """Add the operator that computes a node."""
        told = {"quant_type": "S8", **attributes}
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
        if kind not in _WRITERS or node.output.frac is None or graph.states:
            raise ModelError(f"layer {node.name!r} calls {kind}, which .espdl files do not have")
        if node.params.get("batches", 1) != 1 and "conv" in kind:
            raise ModelError(f"layer {node.name!r} has several images of one sample")
        values[node.name] = made.describe(node.output)
        _WRITERS[kind](made, node)
    made.file.values += [value for name, value in values.items() if name not in graph.outputs]
    made.file.outputs = [values[name] for name in graph.outputs]
    return made.file


def _weights(made: _Conversion, node: Node, packed: np.ndarray, shape: tuple[int, ...]) -> str:
    """Add weights; return their name. Their exponent is the output's less shift and input's."""
    exponent = made.exponents[node.name] - node.params["right_shift"]
    exponent -= made.exponents[node.inputs[0]]
    label = _LABELS[made.blocks]
    return made.constant(f"{node.name}/weights", packed, shape, exponent, label)


def _bias(made: _Conversion, node: Node) -> str:
    bias = made.array(node.bias).reshape(-1)
    exponent = made.exponents[node.name] - node.params["right_shift"]
    return made.constant(f"{node.name}/bias", bias, bias.shape, exponent)


def _pack(made: _Conversion, weights: np.ndarray) -> np.ndarray:
    """Return weights [out, ...] flat, whole blocks of channels first: [out / 16, ..., 16]."""
    whole = len(weights) // _BLOCK * _BLOCK if made.blocks else 0
    head = weights[:whole].reshape(-1, _BLOCK, *weights.shape[1:])
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
    """Return weights [h, w, out] flat, whole blocks of channels first: [out / 16, h, w, 16]."""
    whole = weights.shape[2] // _BLOCK * _BLOCK if made.blocks else 0
    head = weights[..., :whole].reshape(*weights.shape[:2], -1, _BLOCK)
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
        views = [made.view(node, at, shape) for at in range(len(node.inputs))]
        made.add(node, operator, *views)

    return write


def _concatenate(made: _Conversion, node: Node) -> None:
    shape = made.shapes[node.name]
    first = [made.shapes[name] for name in node.inputs]
    axes = [at for at in range(len(shape)) if first[0][at : at + 1] != shape[at : at + 1]]
    axis = axes[0] if axes else len(shape) - 1
    made.add(node, "Concat", *node.inputs, axis=axis)


_WRITERS: Mapping[str, Callable[[_Conversion, Node], None]] = {
    **dict.fromkeys(("esp_dl_conv_s8", "esp_dl_depthwise_conv_s8"), _convolve),
    "esp_dl_dense_s8": _dense,
    **dict.fromkeys(("arm_max_pool_s8", "esp_dl_average_pool_s8"), _pool),
    "esp_dl_lut_s8": _table,
    "esp_dl_relu_s8": _same_shape("Relu"),
    "esp_dl_add_s8": _same_shape("Add"),
    "esp_dl_sub_s8": _same_shape("Sub"),
    "esp_dl_mul_s8": _same_shape("Mul"),
    "tflm_concatenation_s8": _concatenate,
}
