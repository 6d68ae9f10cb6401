"""Float networks of one operator, and their form on the functions of the s8 API."""

import numpy as np

from qemu_nn.api import golden as pipeline
from qemu_nn.ir.float_graph import FloatGraph, FloatNode
from qemu_nn.lowering import lower_s8, prepare_s8
from qemu_nn.lowering.dequantize import dequantize_graph
from qemu_nn.operators import (
    Clip,
    Concat,
    Elementwise,
    Pad,
    Pool,
    PRelu,
    Relu,
    Reshape,
    Shuffle,
    Sigmoid,
    Slice,
    Softmax,
    Tanh,
    Transpose,
)
from qemu_nn.quantizer.assign_affine import assign_affine_formats
from qemu_nn.quantizer.ranges import Ranges
from qemu_nn.quantizer.statistics import observe
from qemu_nn.runtime.evaluate import iterate_tensors


def quantized(nodes, shape=(4, 6, 8), dtype="int8", outputs=None):
    """Quantize a network and return it and its calibration data; outputs: by default the last
    node.
    """
    nodes = tuple(FloatNode(*node) for node in nodes)
    layout = "NHWC" if len(shape) == 3 else None
    graph = FloatGraph("net", "x", shape, layout, nodes, outputs or (nodes[-1].name,))
    x = np.random.default_rng(42).normal(size=(40, *shape))
    prepared, _ = prepare_s8(graph, dtype=dtype)
    statistics = observe(prepared, [x])
    formats = assign_affine_formats(prepared, statistics, Ranges(dtype=dtype), Ranges())
    return pipeline.Network(lower_s8(prepared, formats), graph), x


def errors(made, x):
    """Return tensor -> two largest errors in quantization steps, of calls named as float nodes.

    The first error is against the float network. The second one is against the dequantized network,
    with the shapes and the order of the calls.
    """
    graph = made.graph
    real = dict(iterate_tensors(made.reference, x))
    meant = dict(iterate_tensors(dequantize_graph(graph), x))
    traced = made.session().run(graph.input.format.quantize(x), trace=True)
    found = {}
    for node in graph.nodes:
        if node.name in real:
            held, got = node.output.format, traced[node.name]
            exact = real[node.name].reshape(got.shape)
            clipped = np.clip(meant[node.name].reshape(got.shape), *held.ends)
            both = np.abs(np.array([exact, clipped]) - held.dequantize(got)).max()
            found[node.name] = both / held.scale
    return found


def functions(made):
    return {node.name: node.function.name for node in made.graph.nodes}


CASES = {
    "concat": ([("out", Concat(2), ("x", "x"))], "tflm_concatenation_s8"),
    "concat rows": ([("out", Concat(0), ("x", "x"))], "tflm_concatenation_s8"),
    "slice": ([("out", Slice(2, 1, 8, 3), ("x",))], "tflm_slice_s8"),
    "slice rows": ([("out", Slice(0, 1, 3), ("x",))], "tflm_slice_s8"),
    "pad": ([("out", Pad(((0, 1), (2, 0), (0, 0))), ("x",))], "arm_pad_s8"),
    "pad with ones": ([("out", Pad(((1, 1), (0, 0), (3, 0)), 1.0), ("x",))], "arm_pad_s8"),
    "transpose": ([("out", Transpose((2, 0, 1)), ("x",))], "arm_transpose_s8"),
    "transpose all": ([("out", Transpose((2, 1, 0)), ("x",))], "arm_transpose_s8"),
    "transpose four": (
        [("deep", Reshape((4, 3, 2, 8)), ("x",)), ("out", Transpose((1, 3, 0, 2)), ("deep",))],
        "arm_transpose_s8",
    ),
    "shuffle": ([("out", Shuffle(4, 2), ("x",))], "arm_transpose_s8"),
    "shuffle rows": ([("out", Shuffle(2, 0), ("x",))], "arm_transpose_s8"),
    "maximum": (
        [("less", Relu(), ("x",)), ("out", Elementwise("maximum"), ("x", "less"))],
        "arm_maximum_s8",
    ),
    "minimum": (
        [("less", Clip(-1.0, 1.0), ("x",)), ("out", Elementwise("minimum"), ("x", "less"))],
        "arm_minimum_s8",
    ),
    "spread minimum": (
        [("one", Pool("max", (4, 6)), ("x",)), ("out", Elementwise("minimum"), ("x", "one"))],
        "arm_minimum_s8",
    ),
    "leaky": ([("out", Relu(slope=0.125), ("x",))], "tflm_leaky_relu_s8"),
    "one slope": ([("out", PRelu(np.array([[[0.25]]])), ("x",))], "tflm_leaky_relu_s8"),
    "sigmoid": ([("out", Sigmoid(), ("x",))], "tflm_logistic_s8"),
    "tanh": ([("out", Tanh(), ("x",))], "tflm_tanh_s8"),
    "softmax": ([("out", Softmax(axis=2), ("x",))], "arm_softmax_s8"),
    "difference": (
        [("half", Relu(), ("x",)), ("out", Elementwise("subtract"), ("half", "x"))],
        "tflm_sub_s8",
    ),
    "gate": (
        [("one", Pool("average", (4, 6)), ("x",)), ("out", Elementwise("multiply"), ("x", "one"))],
        "arm_elementwise_mul_s8",
    ),
    "spread sum": (
        [("one", Pool("average", (1, 6)), ("x",)), ("out", Elementwise("add"), ("one", "x"))],
        "arm_elementwise_add_s8",
    ),
    "relu": ([("out", Relu(limit=1.0), ("x",))], "arm_max_pool_s8"),
    "clip": ([("out", Clip(-0.5, 0.75), ("x",))], "arm_max_pool_s8"),
}
