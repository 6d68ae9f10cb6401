"""Networks in whose layers tests plant the faults of firmware."""

from dataclasses import replace

import networks
import numpy as np

from qemu_nn.ir.graph import Graph, Tensor
from qemu_nn.testing.s8_builder import AffineBuilder

_CONV = "dim_im_in_x dim_im_in_y ch_im_in ch_im_out dim_kernel_x dim_kernel_y padding_x padding_y"
_CONV += " stride_x stride_y dim_im_out_x dim_im_out_y bias_shift out_shift"


def affine():
    """Return s8 layers whose activations clamp, and whose channels have different scales."""
    network = AffineBuilder("affine", (12, 10, 3))
    around = network.convolve("conv", 8, (3, 4), 2)
    network.depthwise("dw", (3, 3))
    inner = network.convolve("pw", 8, (1, 1), relu=False)
    network.add("sum", around, inner)
    network.average("pool")
    network.dense("dense", 24, relu=False)
    network.dense("last", 20, relu=False)
    graph = network.graph()
    new = {
        "conv": {"input_offset": 12, "act_min": -90, "act_max": 80},
        "dw": {"act_min": -100},
    }
    nodes = (replace(n, params={**n.params, **new.get(n.name, {})}) for n in graph.nodes)
    return replace(graph, nodes=tuple(nodes))


def keywords():
    """Return q7 layers with windows, strides and padding that are not square."""
    rng = np.random.default_rng(3)
    shapes = {"conv1": (6, 5, 4, 1), "conv2": (8, 4, 3, 6), "dense1": (16, 224), "dense2": (24, 16)}
    arrays = {}
    for name, shape in shapes.items():
        arrays[f"{name}_wt"] = rng.integers(-100, 100, shape, np.int8)
        arrays[f"{name}_bias"] = rng.integers(-100, 100, shape[0], np.int8)

    def layer(name, function, source, params):
        own = (f"{name}_wt", f"{name}_bias")
        return networks.node(name, function, [source], None, own, **params)

    def conv(name, source, *values):
        params = dict(zip(_CONV.split(), values))
        return layer(name, "arm_convolve_HWC_q7_basic_nonsquare", source, params)

    def dense(name, source, *values):
        params = dict(zip(("dim_vec", "num_of_rows", "bias_shift", "out_shift"), values))
        return layer(name, "arm_fully_connected_q7", source, params)

    nodes = (
        conv("conv1", "data", 10, 16, 1, 6, 4, 5, 1, 2, 1, 2, 9, 8, 3, 7),
        networks.node("relu1", "arm_relu_q7", ["conv1"], size=432),
        conv("conv2", "relu1", 9, 8, 6, 8, 3, 4, 0, 1, 2, 1, 4, 7, 4, 9),
        networks.node("relu2", "arm_relu_q7", ["conv2"], size=224),
        dense("dense1", "relu2", 224, 16, 5, 10),
        networks.node("relu3", "arm_relu_q7", ["dense1"], size=16),
        dense("dense2", "relu3", 16, 24, 3, 8),
    )
    return Graph("keywords", (Tensor("data", (16, 10, 1), "int8"),), nodes, ("dense2",), arrays)


NETWORKS = {"affine": affine, "keywords": keywords}


def inputs(graph, count=2):
    shape = (count, *graph.input.shape)
    return np.random.default_rng(5).integers(-128, 128, shape, np.int8)
