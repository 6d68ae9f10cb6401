"""A float network of two branches that are added, its data, and its quantized forms."""

import numpy as np

from qemu_nn.ir.float_graph import FloatGraph, FloatNode
from qemu_nn.operators import Conv, Dense, Elementwise, Pool, Relu, Reshape
from qemu_nn.ptq.schemes import get_scheme
from qemu_nn.quantizer.statistics import observe
from qemu_nn.targets import profile


def network(limit=None, slope=0.25, seed=3):
    """Return a network of a depthwise layer, two branches with a sum, a pool and a dense layer.

    Its channels have very different ranges.
    """
    rng = np.random.default_rng(seed)

    def conv(out, size, depth, groups=1):
        spread = 2.0 ** rng.uniform(-3, 3, (out, 1, 1, 1))
        weights = rng.normal(size=(out, size, size, depth)) / size * spread
        pads = (size // 2,) * 4
        return Conv(weights, rng.normal(size=out) * spread.ravel(), pads=pads, groups=groups)

    nodes = [
        FloatNode("first", conv(8, 3, 2), ("x",)),
        FloatNode("relu", Relu(limit=limit), ("first",)),
        FloatNode("depthwise", conv(8, 3, 1, groups=8), ("relu",)),
        FloatNode("leaky", Relu(slope=slope), ("depthwise",)),
        FloatNode("point", conv(8, 1, 8), ("leaky",)),
        FloatNode("side", conv(8, 1, 8), ("leaky",)),
        FloatNode("sum", Elementwise("add"), ("point", "side")),
        FloatNode("relu2", Relu(), ("sum",)),
        FloatNode("pool", Pool("average", (3, 3), (3, 3)), ("relu2",)),
        FloatNode("flat", Reshape((32,)), ("pool",)),
        FloatNode("dense", Dense(rng.normal(size=(5, 32)) / 9, rng.normal(size=5)), ("flat",)),
    ]
    return FloatGraph("net", "x", (6, 6, 2), "NHWC", tuple(nodes), ("dense",))


def inputs(count=12, seed=4):
    return np.random.default_rng(seed).normal(size=(count, 6, 6, 2))


SCHEMES = {
    "power2": ("power2", "5.9.0", 8),
    "power2-16": ("power2", "5.9.0", 16),
    "affine": ("affine", "7.0.0", 8),
    "affine-16": ("affine", "7.0.0", 16),
}


def scheme(name):
    kind, cmsis, bits = SCHEMES[name]
    return get_scheme(kind, profile("cortex-m4", cmsis, None), None, bits, "minmax", "minmax")


def lowered(name, graph, x):
    """Return a network's scheme, formats, and graph of operators that have functions."""
    own = scheme(name)
    prepared, _ = own.prepare(graph)
    return own, own.assign_formats(prepared, observe(prepared, [x]), {}), prepared


def on_grid(values, steps, limits):
    integers = values / steps
    inside = (np.rint(integers) >= limits[0]) & (np.rint(integers) <= limits[1])
    return np.allclose(integers, np.rint(integers), atol=1e-6) and inside.all()


def same(first, second):
    ours, theirs = first.graph, second.graph
    return ours.nodes == theirs.nodes and all(
        np.array_equal(ours.arrays[name], theirs.arrays[name]) for name in ours.arrays
    )
