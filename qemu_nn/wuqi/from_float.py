"""Conversion of float networks to lists of layers: padding explicit, channels first, no
reshapes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional

import numpy as np

from ..errors import DeviceWarning, ModelError
from ..io.warn import warn
from ..ir.float_graph import FloatGraph, FloatNode
from ..operators import (
    Affine,
    Concat,
    Conv,
    Dense,
    Elementwise,
    Identity,
    Operator,
    Pool,
    Relu,
    Reshape,
    Shuffle,
    Sigmoid,
    Slice,
    Softmax,
    Tanh,
)
from ..optimize.layout import move_channels_last
from ..optimize.tidy import merge_pads, recognise_shuffles, tidy
from .geometry import fit_pads, iterate_global_factors, to_image_shape
from .layers import Layer

Loaded = tuple[list[Layer], dict[str, Any]]


def from_float(graph: FloatGraph) -> Loaded:
    """Return the layers and float parameters that compute a float network.

    Only a softmax at the end has a layer; it warns with a DeviceWarning, because packing makes it a
    LogSoftmax.
    """
    for run_pass in (tidy, recognise_shuffles, move_channels_last, tidy, merge_pads, tidy):
        graph = run_pass(graph)
    return _Converter(graph).convert_network()


class _Converter:
    """The layers so far.

    An image [h, w, c] of the float network is a feature (c, h, w) here. A vector is the image that
    it was flattened from, or (n, 1, 1).
    """

    def __init__(self, graph: FloatGraph) -> None:
        self.graph = graph
        self.layers: list[Layer] = []
        self.params: dict[str, Any] = {}
        self.stands: dict[str, str] = {}
        self.images: dict[str, tuple[int, int, int]] = {}

    def convert_network(self) -> Loaded:
        """Return the layers and parameters of the whole network."""
        start = self.graph.input
        height, width, channels = to_image_shape(self._input_shape())
        dim = (1, channels, height, width)
        self.layers.append(Layer("Input", f"{start}/input", None, start, dim=dim))
        self.images[start], self.stands[start] = (height, width, channels), start
        for node in self.graph.nodes:
            try:
                self._convert(node, node.operator)
            except ModelError as error:
                raise ModelError(f"{type(node.operator).__name__} {node.name!r}: {error}") from None
        for name in self.graph.outputs:
            self._rename(self.stands[name], name)
        return self.layers, self.params

    def _rename(self, old: str, new: str) -> None:
        """Rename the input of an output reshape to the output's name."""

        def rename_output(names: Any) -> Any:
            if isinstance(names, list):
                return [new if name == old else name for name in names]
            return new if names == old else names

        for layer in self.layers if old != new else []:
            layer.bottom, layer.top = rename_output(layer.bottom), rename_output(layer.top)

    def _input_shape(self) -> Sequence[int]:
        """Return the input's shape, or that of the one-channel image to which it is reshaped."""
        shape, first = self.graph.shape, self.graph.nodes[0]
        if isinstance(first.operator, Reshape) and len(self.graph.readers(self.graph.input)) == 1:
            to = first.operator.to
            return to if len(to) == 3 and to[2] == 1 else shape
        return shape

    def _convert(self, node: FloatNode, operator: Operator) -> None:
        source = self.stands[node.inputs[0]]
        if isinstance(operator, (Reshape, Identity)):
            self._keep(node, source)
        elif isinstance(operator, Conv):
            self._conv(node, operator)
        elif isinstance(operator, Dense):
            self._dense(node, operator)
        elif isinstance(operator, Pool):
            self._pool(node, operator)
        elif isinstance(operator, Affine):
            self._affine(node, operator)
        elif isinstance(operator, Slice):
            self._slice(node, operator)
        else:
            kind, own = self._convert_plain(node, operator)
            sources = [self.stands[name] for name in node.inputs]
            self._add(kind, node, sources[0] if len(sources) == 1 else sources, **own)

    def _keep(self, node: FloatNode, source: str) -> None:
        """Add a reshape between an image and its vector: the same feature."""
        image, to = self.images[source], self.graph.shapes[node.name]
        if len(to) == 3 and to != image and sorted(to)[:2] != [1, 1]:
            raise ModelError(
                f"it reshapes an image {list(image)} to {list(to)}, for which the NPU has no layer"
            )
        self.stands[node.name] = source

    def _add(
        self, kind: str, node: FloatNode, bottom: Any, name: Optional[str] = None, **own: Any
    ) -> None:
        """Append a layer; name: of the layer and its tensor, if it differs from the node's."""
        top = name or node.name
        self.layers.append(Layer(kind, top, bottom, top, **own))
        if name is None:
            self.images[top] = to_image_shape(self.graph.shapes[node.name])
            self.stands[top] = top

    def _convert_plain(self, node: FloatNode, operator: Operator) -> tuple[str, dict[str, Any]]:
        """Return type and attributes of a layer without weights."""
        if isinstance(operator, Relu):
            if operator.limit is None:
                return "ReLU", {"negative_slope": operator.slope}
            if operator.limit == 6 and not operator.slope:
                return "ReLU6", {}
            raise ModelError(f"it clamps at {operator.limit}; the NPU clamps at 6 only")
        if isinstance(operator, Sigmoid):
            return "Sigmoid", {}
        if isinstance(operator, Tanh):
            return "TanH", {}
        if isinstance(operator, Concat) and operator.axis == len(self.graph.shapes[node.name]) - 1:
            return "Concat", {}
        if isinstance(operator, Shuffle) and operator.axis == 2:
            return "ShuffleChannel", {"group": operator.groups}
        if isinstance(operator, Softmax):
            return self._softmax(node, operator), {}
        if isinstance(operator, Elementwise):
            return self._elementwise(node, operator), {
                "operation": "sum"
            } if operator.kind == "add" else {}
        raise ModelError("the NPU has no layer for it")

    def _softmax(self, node: FloatNode, operator: Softmax) -> str:
        if self.graph.readers(node.name):
            raise ModelError("the NPU has it only at the end of a network")
        if operator.log:
            return "LogSoftmax"
        text = f"{node.name}: in fixed point the softmax becomes a LogSoftmax"
        warn(text, DeviceWarning)
        return "Softmax"

    def _elementwise(self, node: FloatNode, operator: Elementwise) -> str:
        first, second = (self.graph.shapes[name] for name in node.inputs)
        if operator.kind == "add" and first == second:
            return "Eltwise"
        gate = len(second) == 3 and second[:2] == (1, 1) and first[2:] == second[2:]
        if operator.kind == "multiply" and gate:
            return "ScaleByTensor"
        raise ModelError(
            f"it needs the {operator.kind} of {list(first)} and {list(second)}; the NPU has it "
            "for equal shapes, and for channels by one number"
        )

    def _conv(self, node: FloatNode, conv: Conv) -> None:
        size = to_image_shape(self.graph.shapes[node.inputs[0]])
        reach = [d * (k - 1) + 1 for d, k in zip(conv.dilation, conv.kernel)]
        pads = fit_pads(size, reach, conv.stride, conv.pads, self.images_out(node))
        self._weights(node.name, conv.weights.transpose(0, 3, 1, 2), conv.bias)
        own: dict[str, Any] = {
            "kernel_size": conv.kernel,
            "stride": conv.stride,
            "dilation": conv.dilation,
        }
        own |= {"group": conv.groups, "pad": pads, "num_output": len(conv.weights)}
        bottom = self.stands[node.inputs[0]]
        self._add("Convolution", node, bottom, bias_term=conv.bias is not None, **own)

    def images_out(self, node: FloatNode) -> tuple[int, int]:
        """Return height and width of the output of a node."""
        return to_image_shape(self.graph.shapes[node.name])[:2]

    def _weights(self, name: str, weights: np.ndarray, bias: Optional[np.ndarray]) -> None:
        self.params[f"{name}_weight"] = np.ascontiguousarray(weights, np.float64)
        if bias is not None:
            self.params[f"{name}_bias"] = np.asarray(bias, np.float64)

    def _dense(self, node: FloatNode, dense: Dense) -> None:
        source = self.stands[node.inputs[0]]
        height, width, channels = self.images[source]
        if dense.weights.shape[1] != height * width * channels:
            raise ModelError(
                "it reads a part of an image; the NPU's fully connected layers read whole "
                "images only"
            )
        weights = dense.weights.reshape(-1, height, width, channels).transpose(0, 3, 1, 2)
        self._weights(node.name, weights, dense.bias)
        own: dict[str, Any] = {
            "num_output": len(dense.weights),
            "bias_term": dense.bias is not None,
        }
        self._add("InnerProduct", node, source, **own)

    def _pool(self, node: FloatNode, pool: Pool) -> None:
        if pool.kind == "average" and pool.count_pads and any(pool.pads):
            raise ModelError("it counts padding in averages; the NPU does not")
        size = to_image_shape(self.graph.shapes[node.inputs[0]])
        kind = {"max": "MAX", "average": "AVE"}[pool.kind]
        bottom, kernel = self.stands[node.inputs[0]], pool.kernel
        if kernel == size[:2] and not any(pool.pads):
            for index, factor in enumerate(iterate_global_factors(kernel)):
                name = f"{node.name}/{index}"
                self._add(
                    "Pooling", node, bottom, name, kernel_size=factor, stride=factor, pool=kind
                )
                bottom, kernel = name, (kernel[0] // factor, kernel[1] // factor)
            self._add("Pooling", node, bottom, kernel_size=kernel, pool=kind)
            return
        pads = fit_pads(size, kernel, pool.stride, pool.pads, self.images_out(node))
        own: dict[str, Any] = {"kernel_size": kernel, "stride": pool.stride, "pad": pads}
        self._add("Pooling", node, bottom, pool=kind, **own)

    def _affine(self, node: FloatNode, affine: Affine) -> None:
        channels = self.graph.shapes[node.name][-1]
        both = [np.asarray(a, np.float64) for a in (affine.scale, affine.offset)]
        if any(
            a.size not in (1, channels) or (a.size > 1 and a.shape[-1] != channels) for a in both
        ):
            raise ModelError("it scales single elements; the NPU scales whole channels only")
        scale, offset = (np.broadcast_to(a.ravel(), (channels,)).copy() for a in both)
        self._weights(node.name, scale, offset)
        self._add("Scale", node, self.stands[node.inputs[0]])

    def _slice(self, node: FloatNode, cut: Slice) -> None:
        """Merge all slices of one tensor into a layer; unread parts also get a name."""
        source = self.stands[node.inputs[0]]
        if node.name in self.stands:
            return
        shape = self.graph.shapes[node.inputs[0]]
        cuts = [n for n in self.graph.readers(node.inputs[0]) if isinstance(n.operator, Slice)]
        if any(c.operator.axis != len(shape) - 1 or c.operator.step != 1 for c in cuts):  # type: ignore[attr-defined]
            raise ModelError(
                "it slices another axis than channels, or by steps; the NPU slices channels, "
                "with a step of 1"
            )
        ends = {(c.operator.start, c.operator.stop): c.name for c in cuts}  # type: ignore[attr-defined]
        points = sorted({0, shape[-1], *(end for pair in ends for end in pair)})
        parts = list(zip(points, points[1:]))
        if any(pair not in parts for pair in ends) or len(ends) < len(cuts):
            raise ModelError(
                "its slices of one tensor overlap or leave gaps; on the NPU they must do neither"
            )
        tops = [ends.get(pair, f"{node.name}/{pair[0]}") for pair in parts]
        own = {"slice_point": points[1:-1]}
        self.layers.append(Layer("Slice", f"{node.name}/slice", source, tops, **own))
        for part in cuts:
            self.stands[part.name] = part.name
            self.images[part.name] = to_image_shape(self.graph.shapes[part.name])
