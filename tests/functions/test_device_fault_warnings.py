"""A convolution of CMSIS 5.6.0 stops a real Cortex-M4: users are told, firmware never has it."""

import re
import warnings
from pathlib import Path

import networks
import numpy as np
import pytest
from exported import write
from paths import SHARED

import qemu_nn
from qemu_nn import cmsis
from qemu_nn.api.golden import FloatNetwork, Network
from qemu_nn.errors import DeviceWarning, Error, ModelError
from qemu_nn.ir.float_graph import FloatGraph, FloatNode
from qemu_nn.ir.graph import Graph, Tensor
from qemu_nn.operators import Conv

MODEL = SHARED / "defects" / "odd_channels.onnx"
HINT = "hard fault .* here 5; use cmsis='5.9.0' or an even number of channels"

SQUARE = {"dim_im_in": 4, "dim_kernel": 3, "padding": 1, "stride": 1, "dim_im_out": 4}
SHIFTS = {"bias_shift": 0, "out_shift": 7}


def convolution(channels, **device):
    """Return a square call and one that is not square."""
    image, wt = np.zeros((4, 4, channels), np.int8), np.zeros((2, 3, 3, channels), np.int8)
    call = {"Im_in": image, "wt": wt, "bias": np.zeros(2, np.int8), **SHIFTS, **device}
    cmsis.arm_convolve_HWC_q7_basic(**call, **SQUARE)
    pairs = {f"{stem}_{axis}": n for stem, n in SQUARE.items() for axis in "xy"}
    cmsis.arm_convolve_HWC_q7_basic_nonsquare(**call, **pairs)


@pytest.mark.parametrize("core", ["cortex-m4", "cortex-m7", "cortex-m33"])
def test_a_call_that_stops_the_device_warns(core):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", DeviceWarning)
        convolution(5, target=core, cmsis="5.6.0")
    names = ("arm_convolve_HWC_q7_basic", "arm_convolve_HWC_q7_basic_nonsquare")
    assert len(told) == 2
    for name, each in zip(names, told):
        assert re.match(f"{name}: .*{HINT}", str(each.message))
    assert {Path(each.filename).name for each in told} == {Path(__file__).name}


@pytest.mark.parametrize(
    ("channels", "device"),
    [
        (5, {"cmsis": "5.9.0"}),
        (5, {"cmsis": "5.6.0", "target": "cortex-m3"}),
        (3, {"cmsis": "5.6.0"}),
        (6, {"cmsis": "5.6.0"}),
    ],
)
def test_different_calls_do_not_warn(channels, device):
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeviceWarning)
        convolution(channels, **device)


def network():
    """Return one convolution of 5 channels."""
    params = {**SQUARE, **SHIFTS, "ch_im_in": 5, "ch_im_out": 2}
    conv = networks.node("conv", "arm_convolve_HWC_q7_basic", ["x"], 5, ("wt", "bias"), **params)
    arrays = {"wt": np.ones((2, 3, 3, 5), np.int8), "bias": np.zeros(2, np.int8)}
    return Network(Graph("odd", (Tensor("x", (4, 4, 5), "int8", 7),), (conv,), ("conv",), arrays))


def test_a_network_warns_and_names_the_layer():
    with pytest.warns(DeviceWarning, match="odd: layer 'conv': .*" + HINT):
        network().session(target=qemu_nn.Target("cortex-m4", cmsis="5.6.0"))


def test_it_is_not_exported(tmp_path):
    with pytest.raises(Error, match="odd: layer 'conv' .*" + HINT):
        write(tmp_path / "firmware", network(), target=qemu_nn.Target("cortex-m4", cmsis="5.6.0"))
    assert not (tmp_path / "firmware").exists()
    write(tmp_path / "firmware", network(), target=qemu_nn.Target("cortex-m3", cmsis="5.6.0"))


def test_quantization_does_not_choose_it():
    weights = np.random.default_rng(1).normal(size=(2, 3, 3, 5))
    conv = Conv(weights, np.zeros(2), pads=(1, 1, 1, 1))
    nodes = (FloatNode("conv", conv, ("x",)),)
    net = FloatNetwork(FloatGraph("net", "x", (4, 4, 5), "NHWC", nodes, ("conv",)))
    x = np.random.default_rng(2).normal(size=(8, 4, 4, 5))
    with pytest.raises(ModelError, match="Conv 'conv': CMSIS 5.6.0.*" + HINT):
        qemu_nn.quantize(net, x, target=qemu_nn.Target("cortex-m4", cmsis="5.6.0"), scheme="power2")
    assert qemu_nn.quantize(
        net, x, target=qemu_nn.Target("cortex-m4", cmsis="5.9.0"), scheme="power2"
    ).graph.nodes


@pytest.mark.skipif(not MODEL.exists(), reason=f"{MODEL} is missing")
def test_the_network_that_showed_it_is_refused():
    pytest.importorskip("onnx")
    net = qemu_nn.load(MODEL)
    x = np.random.default_rng(2).normal(size=(4, *net.graph.shape))
    with pytest.raises(ModelError, match="ends in a hard fault"):
        qemu_nn.quantize(net, x, target=qemu_nn.Target("cortex-m4", cmsis="5.6.0"), scheme="power2")
    assert qemu_nn.quantize(
        net, x, target=qemu_nn.Target("cortex-m3", cmsis="5.6.0"), scheme="power2"
    ).graph.nodes
