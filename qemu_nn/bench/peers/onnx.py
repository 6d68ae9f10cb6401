"""ONNX Runtime: the network as an ONNX model of quantized operators, u8 activations, s8 weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Callable

import numpy as np

from ...graph import Graph
from .chain import UNIT, Layer, chain


def prepare(graph: Graph, x: np.ndarray, threads: int) -> Callable[[], np.ndarray]:
    """What computes the batch x, int8 [N, *input shape], and returns the scores, u8.

    Raises ImportError where ONNX or ONNX Runtime is missing, Error for networks it can not run.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    model = _Model(len(x)).build(graph.name, graph.input.shape, chain(graph))
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    shifted = (x.astype(np.int16) + 128).astype(np.uint8)
    fed = {"input": np.ascontiguousarray(np.moveaxis(shifted, -1, 1))}

    def infer() -> np.ndarray:
        return np.asarray(session.run(None, fed)[0])

    return infer


class _Model:
    """A model in which every layer is a float operator between dequantize and quantize (QDQ).

    The runtime fuses each such group into one integer operator. Images are NCHW.
    """

    def __init__(self, batch: int) -> None:
        import onnx

        self._onnx: Any = onnx
        self._batch = batch
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._last, self._scale, self._zero = "input", UNIT, 128

    def build(self, name: str, input_shape: tuple[int, ...], layers: Sequence[Layer]) -> bytes:
        """The model of these layers, serialized."""
        for layer in layers:
            self._append(layer)
        helper, u8 = self._onnx.helper, self._onnx.TensorProto.UINT8
        fed = helper.make_tensor_value_info("input", u8, (self._batch, *_first(input_shape)))
        scores = helper.make_tensor_value_info(self._last, u8, (self._batch, layers[-1].output[-1]))
        graph = helper.make_graph(self._nodes, name, [fed], [scores], self._constants)
        opset = [helper.make_opsetid("", 17)]
        model = helper.make_model(graph, opset_imports=opset, ir_version=8)
        return bytes(model.SerializeToString())

    def _constant(self, name: str, value: np.ndarray) -> str:
        self._constants.append(self._onnx.numpy_helper.from_array(value, name))
        return name

    def _node(self, operator: str, inputs: Sequence[str], output: str, **attributes: Any) -> str:
        node = self._onnx.helper.make_node(operator, list(inputs), [output], **attributes)
        self._nodes.append(node)
        return output

    def _scaled(self, name: str, scale: float, zero: np.generic) -> list[str]:
        """The names of a scale and a zero point."""
        return [
            self._constant(f"{name}.scale", np.array(scale, np.float32)),
            self._constant(f"{name}.zero", np.array(zero)),
        ]

    def _dequantized(self, name: str, scale: float, zero: np.generic) -> str:
        parts = [name, *self._scaled(f"{name}.dequantize", scale, zero)]
        return self._node("DequantizeLinear", parts, f"{name}.real")

    def _append(self, layer: Layer) -> None:
        """Dequantize, compute in real numbers, quantize."""
        source = self._dequantized(self._last, self._scale, np.uint8(self._zero))
        if layer.kind in ("dense", "softmax") and len(layer.input) == 3:
            source = self._flattened(layer, source)
        real = getattr(self, f"_{layer.kind}")(layer, [source, *self._weights(layer)])
        if layer.relu:
            real = self._node("Relu", [real], f"{layer.name}.relu")
        self._scale = layer.scales[1]
        if layer.relu:
            self._zero = 0  # rectified: all of the range is used
        elif layer.weights is not None:
            self._zero = 128
        if layer.kind == "softmax":
            self._scale, self._zero = 2.0**-8, 0
        zero = np.uint8(self._zero)
        parts = [real, *self._scaled(f"{layer.name}.quantize", self._scale, zero)]
        self._last = self._node("QuantizeLinear", parts, layer.name)

    def _flattened(self, layer: Layer, source: str) -> str:
        """The image as vectors, in a quantized group of its own."""
        flat = self._node("Flatten", [source], f"{layer.name}.flat", axis=1)
        parts = self._scaled(f"{layer.name}.flat_again", self._scale, np.uint8(self._zero))
        whole = self._node("QuantizeLinear", [flat, *parts], f"{layer.name}.flat_u8")
        return self._node("DequantizeLinear", [whole, *parts], f"{layer.name}.flat_real")

    def _weights(self, layer: Layer) -> list[str]:
        if layer.weights is None or layer.bias is None:
            return []
        weights = layer.weights
        if layer.kind == "convolve":
            weights = weights.transpose(0, 3, 1, 2)
        elif layer.kind == "depthwise":
            weights = weights.transpose(3, 0, 1, 2)
        elif len(layer.input) == 3:  # columns from HWC to the CHW that Flatten leaves
            height, width, channels = layer.input
            grid = weights.reshape(len(weights), height, width, channels)
            weights = grid.transpose(0, 3, 1, 2).reshape(len(weights), -1)
        named = self._constant(f"{layer.name}.weights", np.ascontiguousarray(weights))
        bias = self._constant(f"{layer.name}.bias", layer.bias)
        return [
            self._dequantized(named, UNIT, np.int8(0)),
            self._dequantized(bias, self._scale * UNIT, np.int32(0)),
        ]

    def _windowed(self, operator: str, layer: Layer, inputs: Sequence[str], **more: Any) -> str:
        window = layer.window
        assert window is not None
        return self._node(
            operator,
            inputs,
            f"{layer.name}.result",
            kernel_shape=window.kernel,
            strides=window.stride,
            pads=(*window.padding, *window.after),
            **more,
        )

    def _convolve(self, layer: Layer, inputs: Sequence[str]) -> str:
        return self._windowed("Conv", layer, inputs)

    def _depthwise(self, layer: Layer, inputs: Sequence[str]) -> str:
        return self._windowed("Conv", layer, inputs, group=layer.output[-1])

    def _maxpool(self, layer: Layer, inputs: Sequence[str]) -> str:
        return self._windowed("MaxPool", layer, inputs)

    def _avepool(self, layer: Layer, inputs: Sequence[str]) -> str:
        window = layer.window
        assert window is not None
        if window.kernel == layer.input[:2] and layer.output[:2] == (1, 1):
            return self._node("GlobalAveragePool", inputs, f"{layer.name}.result")
        return self._windowed("AveragePool", layer, inputs)

    def _dense(self, layer: Layer, inputs: Sequence[str]) -> str:
        return self._node("Gemm", inputs, f"{layer.name}.result", transB=1)

    def _softmax(self, layer: Layer, inputs: Sequence[str]) -> str:
        return self._node("Softmax", inputs, f"{layer.name}.result", axis=1)


def _first(shape: tuple[int, ...]) -> tuple[int, ...]:
    """An HWC shape as CHW."""
    return (shape[-1], *shape[:-1])
