"""Every report of a network's memory has the bytes of the exported firmware."""

import re
import warnings

import affine_networks
import networks
import numpy as np
import pytest
from tflite_cases import CASES

import qemu_nn
from qemu_nn.api import golden as pipeline
from qemu_nn.errors import DeviceWarning
from qemu_nn.ir.float_graph import FloatGraph, FloatNode
from qemu_nn.ir.graph import Graph, Memory
from qemu_nn.operators import Conv, Elementwise, Relu

pytest.importorskip("jinja2", reason="export needs jinja2")


def quantized(scheme, bits=8):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(20, 8, 8, 2)).astype(np.float32)
    nodes = (
        FloatNode("conv", Conv(rng.normal(size=(4, 3, 3, 2)), pads=(1, 1, 1, 1)), ("x",)),
        FloatNode("relu", Relu(), ("conv",)),
        FloatNode("sum", Elementwise("add"), ("relu", "conv")),
    )
    graph = FloatGraph("net", "x", (8, 8, 2), "NHWC", nodes, ("sum",))
    return qemu_nn.quantize(pipeline.FloatNetwork(graph), x, scheme=scheme, bits=bits).graph


def with_a_buffer_that_nothing_uses():
    graph = networks.classifier(memory=True)
    memory = graph.memory
    memory = Memory({**memory.buffers, "spare": 1000}, memory.calls, memory.input, memory.states)
    return Graph(graph.name, (graph.input,), graph.nodes, graph.outputs, graph.arrays, memory)


def case(name):
    return lambda tmp_path: qemu_nn.load(CASES[name]().save(tmp_path)).graph


GRAPHS = {
    "the example": lambda _: pipeline.example()[0].graph,
    "q7": lambda _: networks.classifier(),
    "q7 in its firmware's memory": lambda _: networks.classifier(memory=True),
    "a buffer that nothing uses": lambda _: with_a_buffer_that_nothing_uses(),
    "recurrent q15": lambda _: networks.recurrent(),
    "s8": lambda _: affine_networks.small(),
    "tflite": lambda tmp_path: case("convolve_same")(tmp_path),
    "tflite with states": lambda tmp_path: case("svdf_s8")(tmp_path),
    "quantized to powers of two": lambda _: quantized("power2"),
    "quantized affine": lambda _: quantized("affine"),
    "quantized to 16 bits": lambda _: quantized("affine", 16),
}


@pytest.mark.parametrize("core", ["cortex-m4", "cortex-m55"])
@pytest.mark.parametrize("name", GRAPHS)
def test_info_the_header_and_the_reports_of_the_export_agree(name, core, tmp_path):
    network = pipeline.Network(GRAPHS[name](tmp_path))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeviceWarning)
        written = qemu_nn.export(network, tmp_path / "firmware", target=core)
        told = pipeline.describe(network, core).facts
    header = (tmp_path / "firmware" / "network.h").read_text()
    declared = sum(map(int, re.findall(r"int8_t bytes\[(\d+)\];", header)))
    assert told["activation_bytes"] == written.ram == declared
    assert f"#define NETWORK_RAM {declared}\n" in header
    assert f"#define NETWORK_FLASH {told['weight_bytes']}\n" in header
    parts = re.findall(r"\w+ ([\d,]+)(?: \+|,|$)", told["activation_memory"])
    assert sum(int(part.replace(",", "")) for part in parts) == declared
