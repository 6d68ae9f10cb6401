"""LiteRT (TensorFlow Lite with XNNPACK): the network as an int8 flatbuffer model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Callable, Optional, Union

import numpy as np

from ...errors import Error
from ...ir.graph import Graph
from .chain import INPUT, PeerLayer, Window, convert_chain

#: The version of most operators that takes int8.
_INT8 = 2


def prepare(graph: Graph, x: np.ndarray, threads: int) -> Callable[[], np.ndarray]:
    """Return a function that computes the batch x, int8 [N, *input shape]: set the input, invoke,
    get the scores.

    The scores are int8. Raises ImportError without LiteRT, Error for unsupported networks.
    """
    from ai_edge_litert.interpreter import Interpreter

    content = _Model(graph.input.shape, len(x)).build(convert_chain(graph))
    interpreter = Interpreter(model_content=content, num_threads=threads)
    interpreter.allocate_tensors()
    source = interpreter.get_input_details()[0]["index"]
    target = interpreter.get_output_details()[0]["index"]

    def infer() -> np.ndarray:
        interpreter.set_tensor(source, x)
        interpreter.invoke()
        return np.asarray(interpreter.get_tensor(target))

    return infer


class _Model:
    """A model with a fixed batch, written layer by layer."""

    def __init__(self, input_shape: tuple[int, ...], batch: int) -> None:
        from ai_edge_litert import schema_py_generated

        self._schema: Any = schema_py_generated
        self._batch = batch
        self._buffers = [self._schema.BufferT()]
        self._tensors: list[Any] = []
        self._operators: list[Any] = []
        self._codes: list[int] = []
        self._input_shape = (batch, *input_shape)
        self._indices: dict[str, int] = {}
        self._last = 0

    def build(self, layers: Sequence[PeerLayer]) -> bytes:
        """Return the flatbuffer of these layers."""
        import flatbuffers

        first = next(layer for layer in layers if layer.sources[0] == INPUT)
        scale, zero = first.scales[0], first.zeros[0]
        self._indices[INPUT] = self._tensor(INPUT, self._input_shape, [scale], zero=zero)
        for layer in layers:
            self._append(layer)
        graph = self._schema.SubGraphT()
        graph.tensors, graph.operators = self._tensors, self._operators
        graph.inputs, graph.outputs = [0], [self._last]
        model = self._schema.ModelT()
        model.version, model.subgraphs, model.buffers = 3, [graph], self._buffers
        model.operatorCodes = [self._code(code) for code in self._codes]
        builder = flatbuffers.Builder(1 << 20)
        builder.Finish(model.Pack(builder), b"TFL3")
        return bytes(builder.Output())

    def _code(self, code: int) -> Any:
        entry = self._schema.OperatorCodeT()
        entry.builtinCode, entry.deprecatedBuiltinCode = code, code
        entry.version = 4 if code == self._schema.BuiltinOperator.FULLY_CONNECTED else _INT8
        return entry

    def _tensor(
        self,
        name: str,
        shape: tuple[int, ...],
        scales: Union[Sequence[float], np.ndarray],
        content: Optional[np.ndarray] = None,
        axis: int = 0,
        zero: int = 0,
    ) -> int:
        """Return a tensor and its index; more than one scale: one for each element of the axis."""
        tensor, quantization = self._schema.TensorT(), self._schema.QuantizationParametersT()
        is_bias = content is not None and content.dtype == np.int32
        tensor.type = getattr(self._schema.TensorType, "INT32" if is_bias else "INT8")
        tensor.name, tensor.shape, tensor.buffer = name, list(shape), 0
        scales = [float(scale) for scale in scales]
        quantization.scale, quantization.zeroPoint = scales, [zero] * len(scales)
        quantization.quantizedDimension = axis
        tensor.quantization = quantization
        if content is not None:
            buffer = self._schema.BufferT()
            buffer.data = np.frombuffer(content.tobytes(), np.uint8)
            tensor.buffer = len(self._buffers)
            self._buffers.append(buffer)
        self._tensors.append(tensor)
        return len(self._tensors) - 1

    def _append(self, layer: PeerLayer) -> None:
        """Add one operator, its weights and its output."""
        inputs = [self._indices[name] for name in layer.sources]
        if layer.weights is not None and layer.bias is not None:
            channels = len(layer.bias)
            axis = layer.weights.ndim - 1 if layer.kind == "depthwise" else 0
            name, shape = layer.name, layer.weights.shape
            scales = np.broadcast_to(layer.weight_scale, channels)
            inputs.append(self._tensor(f"{name}_weights", shape, scales, layer.weights, axis))
            scales = layer.scales[0] * scales
            inputs.append(self._tensor(f"{name}_bias", (channels,), scales, layer.bias))
        is_softmax = layer.kind == "softmax"
        scale, zero = (2.0**-8, -128) if is_softmax else (layer.scales[1], layer.zeros[1])
        shape = (self._batch, *layer.output)
        self._last = self._indices[layer.name] = self._tensor(layer.name, shape, [scale], zero=zero)
        self._operate(layer, inputs)

    def _operate(self, layer: PeerLayer, inputs: list[int]) -> None:
        code, kind, options = getattr(self, f"_{layer.kind}")(layer)
        operator = self._schema.OperatorT()
        if code not in self._codes:
            self._codes.append(code)
        operator.opcodeIndex = self._codes.index(code)
        operator.inputs, operator.outputs = inputs, [self._last]
        operator.builtinOptionsType = getattr(self._schema.BuiltinOptions, kind)
        operator.builtinOptions = options
        self._operators.append(operator)

    def _add_windowed(self, options: Any, layer: PeerLayer) -> Any:
        assert layer.window is not None
        options.strideH, options.strideW = layer.window.stride
        options.padding = getattr(self._schema.Padding, _padding(layer, layer.window))
        options.fusedActivationFunction = self._add_activation(layer)
        return options

    def _add_activation(self, layer: PeerLayer) -> int:
        names = self._schema.ActivationFunctionType
        return int(names.RELU if layer.relu else names.NONE)

    def _convolve(self, layer: PeerLayer) -> tuple[int, str, Any]:
        options = self._add_windowed(self._schema.Conv2DOptionsT(), layer)
        return self._schema.BuiltinOperator.CONV_2D, "Conv2DOptions", options

    def _depthwise(self, layer: PeerLayer) -> tuple[int, str, Any]:
        options = self._add_windowed(self._schema.DepthwiseConv2DOptionsT(), layer)
        options.depthMultiplier = 1
        return self._schema.BuiltinOperator.DEPTHWISE_CONV_2D, "DepthwiseConv2DOptions", options

    def _pool(self, layer: PeerLayer) -> Any:
        assert layer.window is not None
        options = self._add_windowed(self._schema.Pool2DOptionsT(), layer)
        options.filterHeight, options.filterWidth = layer.window.kernel
        return options

    def _maxpool(self, layer: PeerLayer) -> tuple[int, str, Any]:
        return self._schema.BuiltinOperator.MAX_POOL_2D, "Pool2DOptions", self._pool(layer)

    def _avepool(self, layer: PeerLayer) -> tuple[int, str, Any]:
        return self._schema.BuiltinOperator.AVERAGE_POOL_2D, "Pool2DOptions", self._pool(layer)

    def _dense(self, layer: PeerLayer) -> tuple[int, str, Any]:
        options = self._schema.FullyConnectedOptionsT()
        options.fusedActivationFunction = self._add_activation(layer)
        return self._schema.BuiltinOperator.FULLY_CONNECTED, "FullyConnectedOptions", options

    def _add(self, layer: PeerLayer) -> tuple[int, str, Any]:
        options = self._schema.AddOptionsT()
        options.fusedActivationFunction = self._add_activation(layer)
        return self._schema.BuiltinOperator.ADD, "AddOptions", options

    def _softmax(self, layer: PeerLayer) -> tuple[int, str, Any]:
        options = self._schema.SoftmaxOptionsT()
        options.beta = 1.0
        return self._schema.BuiltinOperator.SOFTMAX, "SoftmaxOptions", options


def _padding(layer: PeerLayer, window: Window) -> str:
    """Return the name of a padding with the same output size; its windows may be one
    pixel later.
    """
    before = layer.input[:2]
    if layer.output[:2] == tuple(-(-b // s) for b, s in zip(before, window.stride)):
        return "SAME"
    fit = tuple((b - k) // s + 1 for b, k, s in zip(before, window.kernel, window.stride))
    if layer.output[:2] == fit:
        return "VALID"
    raise Error(
        f"the input {list(before)} of {layer.name} needs a padding that LiteRT does not have"
    )
