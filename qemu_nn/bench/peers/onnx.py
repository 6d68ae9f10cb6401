"""ONNX Runtime: the network as an ONNX model of quantized operators, u8 activations, s8 weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Callable, Union

import numpy as np

from ...ir.graph import Graph
from .chain import INPUT, PeerLayer, convert_chain


def prepare(graph: Graph, x: np.ndarray, threads: int) -> Callable[[], np.ndarray]:
    """Return a function that computes the scores, u8, of the batch x, int8 [N, *input shape].

    Raises ImportError without ONNX or ONNX Runtime, Error for networks that it cannot run.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    model = _Model(len(x)).build(graph.name, graph.input.shape, convert_chain(graph))
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
        self._scales_of: dict[str, tuple[float, int]] = {}

    def build(self, name: str, input_shape: tuple[int, ...], layers: Sequence[PeerLayer]) -> bytes:
        """Return the model of these layers, serialized."""
        first = next(layer for layer in layers if layer.sources[0] == INPUT)
        self._scales_of[INPUT] = first.scales[0], first.zeros[0] + 128
        for layer in layers:
            self._append(layer)
        last = layers[-1].name
        helper, u8 = self._onnx.helper, self._onnx.TensorProto.UINT8
        fed = helper.make_tensor_value_info(
            INPUT, u8, (self._batch, *_move_channels_first(input_shape))
        )
        scores = helper.make_tensor_value_info(last, u8, (self._batch, layers[-1].output[-1]))
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

    def _add_scales(
        self, name: str, scale: Union[float, np.ndarray], zero: Union[np.generic, np.ndarray]
    ) -> list[str]:
        """Return the names of a scale and a zero point, or of one for each element of the first
        axis.
        """
        return [
            self._constant(f"{name}.scale", np.array(scale, np.float32)),
            self._constant(f"{name}.zero", np.array(zero)),
        ]

    def _add_dequantize(self, name: str, scale: float, zero: np.generic, reader: str) -> str:
        parts = [name, *self._add_scales(f"{reader}.dequantize", scale, zero)]
        return self._node("DequantizeLinear", parts, f"{reader}.real")

    def _add_constant_dequantize(
        self, name: str, values: np.ndarray, scale: Union[float, np.ndarray]
    ) -> str:
        zero = np.zeros(np.shape(scale), values.dtype)
        parts = [self._constant(name, values), *self._add_scales(f"{name}.dequantize", scale, zero)]
        axis = {"axis": 0} if np.ndim(scale) else {}
        return self._node("DequantizeLinear", parts, f"{name}.real", **axis)

    def _append(self, layer: PeerLayer) -> None:
        """Dequantize, compute in floats, quantize."""
        sources = []
        for name in layer.sources:
            scale, zero = self._scales_of[name]
            sources.append(
                self._add_dequantize(name, scale, np.uint8(zero), f"{layer.name}.{name}")
            )
        if layer.kind in ("dense", "softmax") and len(layer.input) == 3:
            sources = [self._add_flatten(layer, sources[0])]
        real = getattr(self, f"_{layer.kind}")(layer, [*sources, *self._weights(layer)])
        if layer.relu:
            real = self._node("Relu", [real], f"{layer.name}.relu")
        scale, zero = self._scales_of[layer.sources[0]]
        if layer.relu:
            scale, zero = layer.scales[1], 0  # rectified: all of the range is used
        elif layer.kind == "softmax":
            scale, zero = 2.0**-8, 0
        elif layer.weights is not None or layer.kind == "add":
            scale, zero = layer.scales[1], layer.zeros[1] + 128
        self._scales_of[layer.name] = scale, zero
        parts = [real, *self._add_scales(f"{layer.name}.quantize", scale, np.uint8(zero))]
        self._node("QuantizeLinear", parts, layer.name)

    def _add_flatten(self, layer: PeerLayer, source: str) -> str:
        """Return the image as vectors, in a quantized group of its own."""
        flat = self._node("Flatten", [source], f"{layer.name}.flat", axis=1)
        scale, zero = self._scales_of[layer.sources[0]]
        parts = self._add_scales(f"{layer.name}.flat_again", scale, np.uint8(zero))
        whole = self._node("QuantizeLinear", [flat, *parts], f"{layer.name}.flat_u8")
        return self._node("DequantizeLinear", [whole, *parts], f"{layer.name}.flat_real")

    def _weights(self, layer: PeerLayer) -> list[str]:
        if layer.weights is None or layer.bias is None:
            return []
        weights = layer.weights
        if layer.kind == "convolve":
            weights = weights.transpose(0, 3, 1, 2)
        elif layer.kind == "depthwise":
            weights = weights.transpose(3, 0, 1, 2)
        elif len(layer.input) == 3:  # columns from HWC to CHW, the order of Flatten
            height, width, channels = layer.input
            grid = weights.reshape(len(weights), height, width, channels)
            weights = grid.transpose(0, 3, 1, 2).reshape(len(weights), -1)
        values, scale = np.ascontiguousarray(weights), layer.weight_scale
        before, _ = self._scales_of[layer.sources[0]]
        return [
            self._add_constant_dequantize(f"{layer.name}.weights", values, scale),
            self._add_constant_dequantize(f"{layer.name}.bias", layer.bias, before * scale),
        ]

    def _add_windowed(
        self, operator: str, layer: PeerLayer, inputs: Sequence[str], **more: Any
    ) -> str:
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

    def _convolve(self, layer: PeerLayer, inputs: Sequence[str]) -> str:
        return self._add_windowed("Conv", layer, inputs)

    def _depthwise(self, layer: PeerLayer, inputs: Sequence[str]) -> str:
        return self._add_windowed("Conv", layer, inputs, group=layer.output[-1])

    def _maxpool(self, layer: PeerLayer, inputs: Sequence[str]) -> str:
        return self._add_windowed("MaxPool", layer, inputs)

    def _avepool(self, layer: PeerLayer, inputs: Sequence[str]) -> str:
        window = layer.window
        assert window is not None
        if window.kernel == layer.input[:2] and layer.output[:2] == (1, 1):
            return self._node("GlobalAveragePool", inputs, f"{layer.name}.result")
        return self._add_windowed("AveragePool", layer, inputs)

    def _dense(self, layer: PeerLayer, inputs: Sequence[str]) -> str:
        return self._node("Gemm", inputs, f"{layer.name}.result", transB=1)

    def _add(self, layer: PeerLayer, inputs: Sequence[str]) -> str:
        return self._node("Add", inputs, f"{layer.name}.result")

    def _softmax(self, layer: PeerLayer, inputs: Sequence[str]) -> str:
        return self._node("Softmax", inputs, f"{layer.name}.result", axis=1)


def _move_channels_first(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return an HWC shape as CHW."""
    return (shape[-1], *shape[:-1])
