"""Rewriting of a network into calls that operators of .tflite files compute, with equal outputs.

Work that the operator cannot express becomes separate calls: padding other than SAME and VALID,
limits other than a fused activation's, and broadcasts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from ...errors import ModelError
from ...functions import FUNCTIONS
from ...ir.graph import Graph, Node, Tensor
from ...ir.tensors import make_free_name
from ...operators import Shape
from .windows import find_activation, find_padding, get_window_extent

_COPY = "arm_reshape_s8"

#: Functions of windows over an image.
_WINDOWS = frozenset(
    f"{name}_{type}"
    for name in (
        "arm_convolve_wrapper",
        "arm_depthwise_conv_wrapper",
        "arm_max_pool",
        "arm_avgpool",
    )
    for type in ("s8", "s16", "s4")
)

#: Family of functions -> the wrapper that TensorFlow Lite Micro calls, with equal outputs.
_WRAPPERS = {
    f"{stem}_{type}": f"{stem}_wrapper_{type}"
    for stem in ("arm_convolve", "arm_depthwise_conv")
    for type in ("s8", "s16", "s4")
}


def rewrite(graph: Graph) -> Graph:
    """Return the rewritten network; raise ModelError with the name of an unsupported call."""
    state = _Rewriting(graph)
    for node in graph.nodes:
        state.add(node)
    outputs = tuple(dict.fromkeys(state.renamed.get(name, name) for name in graph.outputs))
    if any(name in {tensor.name for tensor in graph.inputs} for name in outputs):
        raise ModelError(
            f"{graph.name}: an output is a reshaped input; every output must be computed"
        )
    return replace(graph, nodes=tuple(state.nodes), outputs=outputs, arrays=state.arrays)


@dataclass
class _Rewriting:
    """The rewritten calls so far. renamed: reshaped tensor -> the tensor with the same elements."""

    graph: Graph
    nodes: list[Node] = field(default_factory=list)
    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    renamed: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.arrays = dict(self.graph.arrays)
        self.tensors = self.graph.tensors

    def add(self, node: Node) -> None:
        """Add one call, unchanged or as several calls."""
        node = replace(node, inputs=tuple(self.renamed.get(n, n) for n in node.inputs))
        wrapper = _WRAPPERS.get(node.function.family)
        if wrapper is not None and not node.builds:  # calls from further operators have builds
            node = replace(node, function=FUNCTIONS[wrapper])
        if node.function.name == _COPY:
            self.renamed[node.name] = node.inputs[0]
            return
        if node.function.name in ("arm_maximum_s8", "arm_minimum_s8"):
            node = self._broadcast_inputs(node)
        elif node.function.name in _WINDOWS and find_padding(node.params) is None:
            node = self._add_border(node)
        if "act_min" in node.params and node.output.scale is not None:
            self.nodes += self._clamp(node)
        else:
            self.nodes.append(node)

    def call(
        self,
        like: Tensor,
        part: str,
        function: str,
        params: Mapping[str, int],
        inputs: tuple[str, ...],
        shape: Shape = (),
    ) -> Node:
        """Return a call for an intermediate tensor; `like` gives format and stem of the name."""
        name = make_free_name(f"{like.name}/{part}", self.tensors)
        shape = shape or like.shape
        order = like.order if len(shape) == len(like.shape) else ()
        output = replace(like, name=name, shape=shape, order=order)
        self.tensors[name] = output
        return Node(FUNCTIONS[function], params, inputs, output)

    def _broadcast_inputs(self, node: Node) -> Node:
        """Broadcast both inputs of CMSIS-NN's maximum and minimum to the output's shape."""
        shapes = [tuple(node.params[f"input{i}_{axis}"] for axis in "nhwc") for i in (1, 2)]
        whole = tuple(map(max, *shapes))
        inputs = list(node.inputs)
        for index, shape in enumerate(shapes):
            if shape != whole:
                source = self.tensors[inputs[index]]
                made = self.call(
                    replace(source, name=node.name),
                    f"whole{index + 1}",
                    f"tflm_broadcast_{node.function.type}",
                    broadcast_params(shape, whole),
                    (source.name,),
                    whole,
                )
                self.nodes.append(made)
                inputs[index] = made.name
        own = (1,) * (4 - len(node.output.shape)) + node.output.shape
        whole = own if math.prod(own) == math.prod(whole) and len(own) == 4 else whole
        params = {f"input{i}_{axis}": n for i in (1, 2) for axis, n in zip("nhwc", whole)}
        return replace(node, inputs=tuple(inputs), params=params)

    def _add_border(self, node: Node) -> Node:
        """Replace the padding of a call by a border that a separate call adds to the image."""
        params, function = node.params, node.function
        if "avgpool" in function.name:
            raise ModelError(
                f"{node.name} ({function.name}): its padding is neither SAME nor VALID, and "
                "averages do not count padding; give the model an average pooling without padding"
            )
        source = self.tensors[node.inputs[0]]
        front, behind, sides = [0], [0], {}
        for axis in "hw":
            last = (params[f"output_{axis}"] - 1) * params[f"stride_{axis}"]
            needed = last + get_window_extent(params, axis)
            front.append(params[f"pad_{axis}"])
            behind.append(max(needed - params[f"input_{axis}"] - front[-1], 0))
            whole = front[-1] + params[f"input_{axis}"] + behind[-1]
            sides.update({f"input_{axis}": whole, f"pad_{axis}": 0})
        made = {**params, **sides}
        if find_padding(made) != "VALID":
            raise ModelError(
                f"{node.name} ({function.name}): its windows end before its image; they must cover "
                "the image"
            )
        batches, _, _, depth = function.inputs[0].shape(params)
        ends = [batches, params["input_h"], params["input_w"], depth]
        value = source.zero_point if "max_pool" not in function.name else source.format.limits[0]
        borders = {"pad_value": value}
        for axis, a, n, b in zip("nhwc", [*front, 0], ends, [*behind, 0]):
            borders.update({f"pre_{axis}": a, f"input_{axis}": n, f"post_{axis}": b})
        padded = self.call(
            replace(source, name=node.name),
            "padded",
            "arm_pad_s8" if source.dtype == "int8" else "tflm_pad_s16",
            borders,
            node.inputs,
            function.inputs[0].shape(made)[0 if batches > 1 else 1 :],
        )
        self.nodes.append(padded)
        return replace(node, params=made, inputs=(padded.name,))

    def _clamp(self, node: Node) -> Iterator[Node]:
        """Yield a call, and the calls that clamp its output to act_min and act_max."""
        output, params = node.output, node.params
        if find_activation(params, output.format) is not None:
            yield node
            return
        least, most = output.format.limits
        low, high = params["act_min"], params["act_max"]
        steps = [("maximum", low)] * (low > least) + [("minimum", high)] * (high < most)
        last = node.inputs[0]
        if not _only_limits(node):
            first = self.call(output, "unlimited", node.function.name, {}, ())
            unlimited = {**params, "act_min": least, "act_max": most}
            yield replace(node, params=unlimited, output=first.output)
            last = first.name
        for at, (kind, value) in enumerate(steps, 1):
            for limit in self._limit(node, kind, value):
                yield limit
            inputs = (last, limit.name)
            done = self.call(output, f"{kind}/kept", *_choose_function(kind, output), inputs)
            last = done.name
            yield done if at < len(steps) else replace(done, output=output)

    def _limit(self, node: Node, kind: str, value: int) -> Iterator[Node]:
        """Yield a constant, and its broadcast to the shape of a node's output."""
        output, type = node.output, node.function.type
        constant = self.call(output, kind, f"tflm_constant_{type}", {"length": 1}, (), (1,))
        self.arrays[constant.name] = np.array([value], output.dtype)
        yield replace(constant, weights=constant.name)
        if math.prod(output.shape) > 1:
            copies = broadcast_params((1,) * len(output.shape), output.shape)
            function = f"tflm_broadcast_{type}"
            yield self.call(output, f"{kind}/whole", function, copies, (constant.name,))


def _only_limits(node: Node) -> bool:
    """True if a call is a max pooling over single elements, so that it only clamps."""
    ones = ("filter_h", "filter_w", "stride_h", "stride_w")
    return "max_pool" in node.function.name and all(node.params[name] == 1 for name in ones)


def _choose_function(kind: str, output: Tensor) -> tuple[str, dict[str, int]]:
    """Return the function for the maximum or minimum of two tensors, and its arguments."""
    if output.dtype == "int16":
        return f"tflm_{kind}_s16", {"length": math.prod(output.shape)}
    whole = (1,) * (4 - len(output.shape)) + output.shape
    sides = {f"input{i}_{axis}": n for i in (1, 2) for axis, n in zip("nhwc", whole)}
    return f"arm_{kind}_s8", sides


def broadcast_params(shape: Shape, whole: Shape) -> dict[str, int]:
    """Return the arguments of a broadcast, without axes of size 1."""
    sides = [(a, b) for a, b in zip(shape, whole) if b > 1]
    sides = [(1, 1)] * (4 - len(sides)) + sides
    inner = {f"input_{axis}": a for axis, (a, _) in zip("nhwc", sides)}
    return {**inner, **{f"output_{axis}": b for axis, (_, b) in zip("nhwc", sides)}}
