"""A network with random weights, built call by call, its activations kept in range."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Optional

import numpy as np

from ..functions import FUNCTIONS, NPU_FUNCTIONS, Array
from ..ir.formats import limits
from ..ir.graph import Graph, Node, Tensor
from .s8_calls import draw_affine_arrays, is_affine
from .wuqi_calls import draw_npu_arrays

#: Root mean square of a layer's output, in 8-bit units, to which its weights are scaled.
_SIGNAL = 40.0

#: Elements that arm_relu_q7 can count.
_LONGEST = 65535

#: Effect of an op on the root mean square; other ops preserve it.
_CHANGE = {"relu": math.sqrt(0.5), "maxpool": math.sqrt(2.0), "avepool": 0.5}


class Builder:
    """Builder of a network: appends calls, each reading the latest tensor of its input type.

    Weights are uniform and scaled to keep the signal at _SIGNAL: saturated or vanishing activations
    would distort the measured work of a layer.
    """

    def __init__(self, name: str, shape: tuple[int, ...], dtype: str = "int8") -> None:
        self._rng = np.random.default_rng(1)
        self._name = name
        self._last = Tensor("input", shape, dtype)
        self._inputs = [self._last]
        self._latest = {dtype: self._last}
        self._unit = limits(dtype)[1] / 127 if dtype != "float32" else 1.0
        self._rms = 256 * self._unit / math.sqrt(12)
        self._nodes: list[Node] = []
        self._states: list[Tensor] = []
        self._arrays: dict[str, np.ndarray] = {}

    def call(
        self,
        name: str,
        function: str,
        given: Mapping[str, int],
        shape: Optional[tuple[int, ...]] = None,
    ) -> None:
        """Append a call with the given C arguments; choose its weights and their shifts.

        shape: of the output, if it differs from the function's declaration.
        """
        declared = FUNCTIONS.get(function) or NPU_FUNCTIONS[function]
        params, own = dict(given), {}
        if function in NPU_FUNCTIONS:
            arrays = draw_npu_arrays(self._rng, declared, params)
            own = {role: f"{name}_{role}" for role in arrays}
            self._arrays.update((own[role], array) for role, array in arrays.items())
        elif is_affine(declared):
            arrays = draw_affine_arrays(self._rng, declared, params)
            own = {role: f"{name}_{role}" for role in arrays}
            self._arrays.update((own[role], array) for role, array in arrays.items())
        elif declared.weights is not None:
            outputs = declared.output.shape(params)[-1]
            own = self._weigh(name, declared.weights, outputs, params)
        self._rms *= _CHANGE.get(declared.op.split("_")[0], 1.0)
        output = Tensor(name, shape or declared.output.shape(params), declared.output.dtype)
        tables = declared.tables() if declared.tables else {}
        inputs = tuple(
            self._source(f"{name}_{array.name}", array, params, tables.get(array.name))
            for array in declared.list_read_inputs(params)
        )
        self._nodes.append(
            Node(declared, params, inputs, output, own.get("weights"), own.get("bias"))
        )
        self._last = self._latest[output.dtype] = output

    def _source(
        self, name: str, array: Array, params: Mapping[str, int], table: Optional[np.ndarray]
    ) -> str:
        """Return the latest tensor of this type; else an input, a state, or a constant: positions,
        or the table of this name.
        """
        if array.below:
            table = self._rng.integers(array.below, size=array.shape(params)).astype(array.dtype)
        if table is not None:
            return self._constant(name, table)
        latest = self._latest.get(array.dtype)
        if latest is not None and latest.nbytes == array.nbytes(params) and not array.state:
            return latest.name
        own = Tensor(name, array.shape(params), array.dtype)
        (self._states if array.state else self._inputs).append(own)
        return own.name

    def _constant(self, name: str, values: np.ndarray) -> str:
        """Return a call that brings these values."""
        self._arrays[f"{name}_weights"] = values.ravel()
        constant = FUNCTIONS[f"tflm_constant_{'f32' if values.dtype.kind == 'f' else 's32'}"]
        output = Tensor(name, values.shape, str(values.dtype))
        self._nodes.append(Node(constant, {"length": values.size}, (), output, f"{name}_weights"))
        return name

    def _weigh(
        self, name: str, weights: Array, outputs: int, params: dict[str, int]
    ) -> dict[str, str]:
        """Return weights that use at least half of their range, and a bias of a quarter of the
        signal.
        """
        shape, dtype = weights.shape(params), weights.dtype
        most, terms = int(np.iinfo(dtype).max), math.prod(shape) // outputs
        gain = math.sqrt(3) * _SIGNAL * self._unit / (self._rms * math.sqrt(terms))
        out_shift = max(0, math.floor(math.log2(most / gain)))
        params.update(out_shift=out_shift, bias_shift=max(0, out_shift - 2))
        widths = {"weights": min(most, round(gain * 2**out_shift)), "bias": most // 2}
        for role, size in (("weights", shape), ("bias", (outputs,))):
            values = self._rng.integers(-widths[role], widths[role], size, endpoint=True)
            self._arrays[f"{name}_{role}"] = values.astype(dtype)
        self._rms = _SIGNAL * self._unit
        return {"weights": f"{name}_weights", "bias": f"{name}_bias"}

    def image(self, name: str, function: str, kernel: int, out: int, **params: int) -> None:
        """Append a square window over the last image, to an image of `out` x `out`."""
        dim, _, channels = self._last.shape
        params.update(dim_im_in=dim, ch_im_in=channels, dim_kernel=kernel, dim_im_out=out)
        self.call(name, function, params)

    def oblong(
        self,
        name: str,
        function: str,
        kernel: tuple[int, int],
        padding: tuple[int, int],
        stride: int,
        out: tuple[int, int],
        **params: int,
    ) -> None:
        """Append a window over the last image; pairs are (y, x)."""
        height, width, channels = self._last.shape
        pairs = {"dim_im_in": (height, width), "dim_kernel": kernel, "padding": padding}
        pairs.update(stride=(stride, stride), dim_im_out=out)
        geometry = {
            f"{n}_{axis}": pair[i] for n, pair in pairs.items() for i, axis in enumerate("yx")
        }
        self.call(name, function, {"ch_im_in": channels, **geometry, **params})

    def relu(self, name: str) -> None:
        """Rectify the last tensor, unless it is larger than the function's limit."""
        shape = self._last.shape
        if math.prod(shape) > _LONGEST:
            return
        kind = "q7" if self._inputs[0].dtype == "int8" else "q15"
        self.call(name, f"arm_relu_{kind}", {"size": math.prod(shape)}, shape)

    def dense(self, name: str, function: str, rows: int) -> None:
        """Append a fully connected layer on all of the last tensor."""
        self.call(name, function, {"dim_vec": math.prod(self._last.shape), "num_of_rows": rows})

    def softmax(self) -> None:
        """Append the base-2 softmax of the last vector."""
        self.call("softmax", "arm_softmax_q7", {"dim_vec": math.prod(self._last.shape)})

    def graph(self) -> Graph:
        """Return the network so far; its output is the last tensor."""
        nodes = tuple(self._nodes)
        states = tuple(self._states)
        last = nodes[-1].name
        return Graph(self._name, tuple(self._inputs), nodes, (last,), self._arrays, None, states)
