"""The networks of the benchmarks on the NPU: geometry and numbers of their q7 twins."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Callable

import numpy as np

from ..functions import NPU_FUNCTIONS
from ..functions.wuqi import LOG_ENTRIES
from ..ir.graph import Graph, Node, Tensor
from .networks import lenet5, mobilenet_025_96, mobilenet_100_224

Params = Mapping[str, int]
Size = tuple[int, ...]


def lenet5_npu() -> Graph:
    """Return `lenet5` for the NPU at 8 bits."""
    return _convert_to_npu(lenet5())


def mobilenet_025_96_npu() -> Graph:
    """Return `mobilenet_025_96` for the NPU at 8 bits."""
    return _convert_to_npu(mobilenet_025_96())


def mobilenet_100_224_npu() -> Graph:
    """Return `mobilenet_100_224` for the NPU at 8 bits, up to its rectifiers."""
    return _convert_to_npu(mobilenet_100_224())


def _convert_to_npu(graph: Graph) -> Graph:
    """Return each call as a layer of the NPU; a softmax becomes a log-softmax."""
    arrays: dict[str, np.ndarray] = {}
    shapes = {graph.input.name: graph.input.shape}
    nodes = []
    for node in graph.nodes:
        op = node.function.op.split("_")[0]
        nodes.append(_CALLS[op](graph, node, shapes[node.inputs[0]], arrays))
        shapes[node.name] = node.output.shape
    return Graph(f"{graph.name}_npu", graph.inputs, tuple(nodes), graph.outputs, arrays)


def _call(node: Node, function: str, params: Params, **own: str) -> Node:
    output = Tensor(node.name, node.output.shape, node.output.dtype)
    return Node(
        NPU_FUNCTIONS[f"npu_{function}_s8"],
        dict(params),
        node.inputs,
        output,
        own.get("weights"),
        own.get("bias"),
    )


def _get_windows(node: Node, size: Size) -> dict[str, int]:
    """Return the geometry of a square or oblong function in the NPU's words."""
    p = node.params
    window = {"in_h": size[0], "in_w": size[1], "dilation_h": 1, "dilation_w": 1}
    window.update(out_h=node.output.shape[0], out_w=node.output.shape[1])
    for axis, old, pad in (("h", "y", "pad_n"), ("w", "x", "pad_w")):
        for name, source in ((f"kernel_{axis}", "dim_kernel"), (f"stride_{axis}", "stride")):
            window[name] = p[source] if source in p else p[f"{source}_{old}"]
        window[pad] = p["padding"] if "padding" in p else p[f"padding_{old}"]
    return window


def _make_weighted(
    graph: Graph,
    node: Node,
    arrays: dict[str, np.ndarray],
    params: Params,
    weights: np.ndarray,
) -> Node:
    pairs = f"{node.name}_start_shift"
    starts = graph.arrays[node.bias or ""].astype(np.int64) << node.params["bias_shift"]
    arrays[pairs] = np.stack([starts, np.full_like(starts, node.params["out_shift"])], 1)
    arrays[f"{node.name}_weights"] = np.ascontiguousarray(weights)
    return _call(node, "convolve", params, weights=f"{node.name}_weights", bias=pairs)


def _convolve(graph: Graph, node: Node, size: Size, arrays: dict[str, np.ndarray]) -> Node:
    own = {"group": 1, "depth": size[2], "out_c": node.output.shape[2]}
    weights = graph.arrays[node.weights or ""]
    return _make_weighted(graph, node, arrays, {**_get_windows(node, size), **own}, weights)


def _depthwise(graph: Graph, node: Node, size: Size, arrays: dict[str, np.ndarray]) -> Node:
    own = {"group": size[2], "depth": 1, "out_c": size[2]}
    weights = graph.arrays[node.weights or ""].reshape(-1, size[2]).T
    return _make_weighted(graph, node, arrays, {**_get_windows(node, size), **own}, weights)


def _dense(graph: Graph, node: Node, size: Size, arrays: dict[str, np.ndarray]) -> Node:
    height, width, depth = size if len(size) == 3 else (1, 1, math.prod(size))
    window = {"in_h": height, "in_w": width, "kernel_h": height, "kernel_w": width}
    window.update(dict.fromkeys(("stride_h", "stride_w", "dilation_h", "dilation_w"), 1))
    own = {"group": 1, "depth": depth, "out_c": node.output.shape[-1]}
    params = {**window, **own, "out_h": 1, "out_w": 1, "pad_n": 0, "pad_w": 0}
    return _make_weighted(graph, node, arrays, params, graph.arrays[node.weights or ""])


def _pool(kind: str) -> Callable[[Graph, Node, Size, dict[str, np.ndarray]], Node]:
    def convert(graph: Graph, node: Node, size: Size, arrays: dict[str, np.ndarray]) -> Node:
        own = {"channels": size[2], "pad_s": 0, "hw_aligned": 1, "up": 0, "down": 0}
        return _call(node, f"{kind}_pool", {**_get_windows(node, size), **own})

    return convert


def _relu(graph: Graph, node: Node, size: Size, arrays: dict[str, np.ndarray]) -> Node:
    return _call(node, "relu", {"length": math.prod(size), "slope": 0})


def _softmax(graph: Graph, node: Node, size: Size, arrays: dict[str, np.ndarray]) -> Node:
    distances = np.arange(LOG_ENTRIES["s8"]) / 16
    table = np.floor(np.log1p(np.exp(-distances)) * 16).astype(np.int8)
    arrays[f"{node.name}_table"] = table
    params = {"pixels": 1, "channels": math.prod(size)}
    return _call(node, "log_softmax", params, weights=f"{node.name}_table")


_CALLS = {
    "convolve": _convolve,
    "depthwise": _depthwise,
    "fully": _dense,
    "maxpool": _pool("max"),
    "avepool": _pool("average"),
    "relu": _relu,
    "softmax": _softmax,
}

#: Name -> the function that builds the network, all for the NPU.
NPU_NETWORKS: dict[str, Callable[[], Graph]] = {
    build.__name__: build for build in (lenet5_npu, mobilenet_025_96_npu, mobilenet_100_224_npu)
}
