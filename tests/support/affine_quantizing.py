"""Float networks of a list of nodes, quantized by TFLite's scheme, and their noise."""

import math

import numpy as np
from flat_options import grouped

import qemu_nn
from qemu_nn.api import golden as pipeline
from qemu_nn.ir.float_graph import FloatGraph, FloatNode
from qemu_nn.operators import Conv, Dense, Elementwise, Pool, Relu, Reshape, Sigmoid, Softmax


def float_network(nodes, shape=(4, 4, 2), outputs=None):
    """Return a network in NHWC with the last node as output."""
    layout = "NHWC" if len(shape) == 3 else None
    nodes = tuple(FloatNode(*node) for node in nodes)
    outputs = outputs or (nodes[-1].name,)
    return pipeline.FloatNetwork(FloatGraph("net", "x", shape, layout, nodes, outputs))


def affine(nodes, data, outputs=None, **how):
    shape = (data[0] if isinstance(data, tuple) else data).shape[1:]
    network = float_network(nodes, shape, outputs)
    return qemu_nn.quantize(network, data, **grouped("affine", **{"method": "minmax", **how}))


def values(quantized, x):
    """Return tensor -> dequantized result of the device for float inputs."""
    graph = quantized.graph
    traced = quantized.session().run(graph.input.format.quantize(x), trace=True)
    return {node.name: node.output.format.dequantize(traced[node.name]) for node in graph.nodes}


def noise(quantized, x):
    """Signal to noise of the output in dB."""
    name = quantized.graph.outputs[0]
    exact = qemu_nn.FloatNetwork(quantized.reference).evaluate(x, trace=True)[name]
    got = values(quantized, x)[name].reshape(exact.shape)
    return 10 * math.log10(np.sum(exact.astype(float) ** 2) / np.sum((got - exact) ** 2))


def tflite_multiplier(real):
    fraction, exponent = math.frexp(real)
    return round(fraction * 2**31), exponent


def classifier(x):
    """Convolutions of every kind, a sum, a gate, a dense layer, softmax."""
    rng = np.random.default_rng(3)
    nodes = [
        (
            "grouped",
            Conv(rng.normal(size=(8, 3, 3, 2)), None, (2, 2), (0, 0, 1, 1), groups=2),
            ("x",),
        ),
        ("relu", Relu(limit=6.0), ("grouped",)),
        (
            "dw",
            Conv(rng.normal(size=(8, 3, 3, 1)), np.ones(8), pads=(1, 1, 1, 1), groups=8),
            ("relu",),
        ),
        ("gate", Sigmoid(), ("dw",)),
        ("gated", Elementwise("multiply"), ("gate", "relu")),
        ("sum", Elementwise("add"), ("gated", "relu")),
        ("pool", Pool("average", (2, 2), (2, 2)), ("sum",)),
        ("flat", Reshape((32,)), ("pool",)),
        ("fc", Dense(rng.normal(size=(3, 32)) / 8, np.ones(3)), ("flat",)),
        ("prob", Softmax(0), ("fc",)),
    ]
    return float_network(nodes, x.shape[1:])
