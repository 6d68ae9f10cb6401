"""A network of s8 calls with random weights, built tensor by tensor, its activations in range."""

from __future__ import annotations

import math
from typing import Optional

import numpy as np

from ..functions import FUNCTIONS
from ..functions.scaling import quantize_multiplier, scale_softmax
from ..ir.graph import Graph, Node
from ..ir.tensors import Tensor

#: Target root mean square of a layer's sums, in steps of its output.
_SIGNAL = 60.0
#: The same of random bytes.
_BYTES = 256 / math.sqrt(12)
#: Scale of a rectified tensor, whose range is 0..6, and of any other one.
_RECTIFIED, _SIGNED = 6 / 255, 8 / 255

_WHOLE = {"act_min": -128, "act_max": 127}


class AffineBuilder:
    """Builder of a network of s8 calls; each method returns the name of its output.

    Padding is TFLite's SAME; images padded by `pad` get no further padding. Rectified tensors have
    the zero point -128, all further ones 0, so the range of an output includes the rectifier, as in
    TFLite's networks.
    """

    def __init__(self, name: str, shape: tuple[int, ...]) -> None:
        self._rng = np.random.default_rng(1)
        self._name = name
        self._input = Tensor("input", shape, "int8", scale=1 / 255, zero_point=-128)
        self._tensors = {"input": self._input}
        self._rms = {"input": _BYTES}
        self._nodes: list[Node] = []
        self._arrays: dict[str, np.ndarray] = {}
        self._padded: set[str] = set()
        self.last = "input"

    def pad(self, name: str) -> str:
        """Pad the last tensor with one pixel of zeros, as PyTorch's exporters do."""
        source = self._tensors[self.last]
        height, width, channels = source.shape
        sizes = {"input_n": 1, "input_h": height, "input_w": width, "input_c": channels}
        border = {f"{end}_{axis}": int(axis in "hw") for end in ("pre", "post") for axis in "nhwc"}
        params = {"pad_value": source.zero_point, **sizes, **border}
        shape = (height + 2, width + 2, channels)
        output = Tensor(name, shape, "int8", None, source.scale, source.zero_point)
        self._padded.add(name)
        return self._append("arm_pad_s8", params, (self.last,), output, self._rms[self.last])

    def convolve(
        self,
        name: str,
        channels: int,
        kernel: tuple[int, int],
        stride: int = 1,
        relu: bool = True,
        source: Optional[str] = None,
    ) -> str:
        """Return a convolution of the last tensor, or of `source`."""
        source = source or self.last
        window, out = self._window(source, kernel, stride)
        depth = self._tensors[source].shape[-1]
        own = {**window, "filter_c": depth, "output_c": channels}
        return self._add_weighted(
            name, "arm_convolve_wrapper_s8", source, own, (*out, channels), relu
        )

    def depthwise(self, name: str, kernel: tuple[int, int], stride: int = 1) -> str:
        """Return a depthwise convolution of the last tensor, rectified."""
        window, out = self._window(self.last, kernel, stride)
        shape = (*out, self._tensors[self.last].shape[-1])
        function = "arm_depthwise_conv_wrapper_s8"
        return self._add_weighted(name, function, self.last, {**window, "ch_mult": 1}, shape, True)

    def dense(self, name: str, rows: int, relu: bool = True) -> str:
        """Return a fully connected layer on all of the last tensor."""
        columns = math.prod(self._tensors[self.last].shape)
        own = {"batches": 1, "input_c": columns, "output_c": rows, "filter_offset": 0}
        return self._add_weighted(name, "arm_fully_connected_s8", self.last, own, (rows,), relu)

    def add(self, name: str, first: str, second: str, relu: bool = True) -> str:
        """Return the sum of two tensors."""
        a, b = self._tensors[first], self._tensors[second]
        range, zero = (_RECTIFIED, -128) if relu else (_SIGNED, 0)
        output = Tensor(name, a.shape, "int8", scale=range, zero_point=zero)
        scales = [tensor.scale or 1.0 for tensor in (a, b)]
        twice = 2 * max(scales)
        params = {"left_shift": 20, "out_offset": zero, "block_size": math.prod(a.shape), **_WHOLE}
        for number, (tensor, scale) in enumerate(zip((a, b), scales), 1):
            params[f"input_{number}_offset"] = -tensor.zero_point
            multiplier, shift = quantize_multiplier(scale / twice)
            params.update({f"input_{number}_mult": multiplier, f"input_{number}_shift": shift})
        multiplier, shift = quantize_multiplier(twice / (2**20 * range))
        params.update(out_mult=multiplier, out_shift=shift)
        return self._append("arm_elementwise_add_s8", params, (first, second), output, _SIGNAL)

    def average(self, name: str) -> str:
        """Return the average of each channel of the last tensor."""
        source = self._tensors[self.last]
        height, width, channels = source.shape
        sides = {"input_h": height, "input_w": width, "filter_h": height, "filter_w": width}
        fixed = dict.fromkeys(("batches", "stride_h", "stride_w", "output_h", "output_w"), 1)
        params = {**fixed, **sides, "channels": channels, "pad_h": 0, "pad_w": 0, **_WHOLE}
        output = Tensor(name, (1, 1, channels), "int8", None, source.scale, source.zero_point)
        return self._append("arm_avgpool_s8", params, (self.last,), output, self._rms[self.last])

    def softmax(self, name: str = "softmax") -> str:
        """Append the softmax of the last vector."""
        source = self._tensors[self.last]
        mult, shift, diff_min = scale_softmax(1.0, source.scale or 1.0)
        sides = {"num_rows": 1, "row_size": math.prod(source.shape)}
        params = {**sides, "mult": mult, "shift": shift, "diff_min": diff_min}
        output = Tensor(name, source.shape, "int8", scale=2.0**-8, zero_point=-128)
        return self._append("arm_softmax_s8", params, (self.last,), output, _SIGNAL)

    def graph(self) -> Graph:
        """Return the network so far; its output is the last tensor."""
        return Graph(self._name, (self._input,), tuple(self._nodes), (self.last,), self._arrays)

    def _window(
        self, source: str, kernel: tuple[int, int], stride: int
    ) -> tuple[dict[str, int], tuple[int, int]]:
        height, width, channels = self._tensors[source].shape
        found = {"batches": 1, "input_c": channels}
        out = []
        for axis, size, side in (("h", height, kernel[0]), ("w", width, kernel[1])):
            fit = size - side + 1 if source in self._padded else size
            out.append(-(-fit // stride))
            total = max((out[-1] - 1) * stride + side - size, 0)
            one = {"input": size, "filter": side, "stride": stride, "dilation": 1}
            one.update(pad=total // 2, output=out[-1])
            found.update({f"{key}_{axis}": value for key, value in one.items()})
        return found, (out[0], out[1])

    def _add_weighted(
        self,
        name: str,
        function: str,
        source: str,
        own: dict[str, int],
        shape: tuple[int, ...],
        relu: bool,
    ) -> str:
        """Return a layer with random weights whose multipliers bring its sums to _SIGNAL."""
        declared, zero = FUNCTIONS[function], -128 if relu else 0
        offsets = {"input_offset": -self._tensors[source].zero_point, "output_offset": zero}
        params = {**own, **offsets, **_WHOLE}
        assert declared.weights is not None
        weights = declared.weights.shape(params)
        terms = math.prod(weights) // shape[-1]
        real = _SIGNAL / (self._rms[source] * _BYTES * math.sqrt(terms))
        self._arrays[f"{name}_weights"] = self._rng.integers(-127, 128, weights).astype(np.int8)
        bias = self._rng.integers(-10, 11, shape[-1]) / real
        rows = [bias.astype(np.int32)]
        if declared.stack:
            each = real * self._rng.uniform(0.8, 1.2, shape[-1])
            pairs = np.array([quantize_multiplier(float(value)) for value in each])
            rows += [pairs[:, 0], pairs[:, 1]]
        else:
            params["multiplier"], params["shift"] = quantize_multiplier(real)
        stacked = np.array(rows, np.int32)
        self._arrays[f"{name}_bias"] = stacked if declared.stack else stacked[0]
        scale = _RECTIFIED if relu else _SIGNED
        output = Tensor(name, shape, "int8", scale=scale, zero_point=zero)
        rms = _SIGNAL * math.sqrt(0.5) if relu else _SIGNAL
        arrays = (f"{name}_weights", f"{name}_bias")
        return self._append(function, params, (source,), output, rms, arrays)

    def _append(
        self,
        function: str,
        params: dict[str, int],
        inputs: tuple[str, ...],
        output: Tensor,
        rms: float,
        arrays: tuple[Optional[str], Optional[str]] = (None, None),
    ) -> str:
        self._nodes.append(Node(FUNCTIONS[function], params, inputs, output, *arrays))
        self._tensors[output.name], self._rms[output.name] = output, rms
        self.last = output.name
        return output.name
