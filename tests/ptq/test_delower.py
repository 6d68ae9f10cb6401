"""The float network is recovered from a lowered one; networks that were not lowered are refused."""

import builtins
import sys
from dataclasses import replace

import numpy as np
import pytest
from flat_options import grouped
from trainable_networks import SCHEMES, images, quantized

import qemu_nn
from qemu_nn.api.delower import recovered
from qemu_nn.errors import Error
from qemu_nn.ir.float_graph import FloatGraph, FloatNode
from qemu_nn.operators import Concat, Conv, Sigmoid
from qemu_nn.ptq.pipeline import make_reference


def profile(network):
    return network.session().profile


@pytest.mark.parametrize("name", SCHEMES)
def test_formats_and_integers_of_every_scheme_are_found_again(name, tmp_path):
    network = quantized(name)
    found = recovered(network, profile(network))
    assert set(found.layers) == {"conv", "depth", "scores"}
    assert found.layers["conv"].weights.shape == (6, 3, 3, 2)
    graph = found.lowered(found.formats, found.layers)
    assert graph.arrays.keys() == network.graph.arrays.keys()
    for key, array in graph.arrays.items():
        np.testing.assert_array_equal(array, network.graph.arrays[key])
    network.save(tmp_path / "net.qnz")
    again = qemu_nn.load(tmp_path / "net.qnz")
    np.testing.assert_array_equal(
        recovered(again, profile(again)).layers["depth"].weights, found.layers["depth"].weights
    )


@pytest.mark.parametrize("how", [{}, {"ram": 800, "minutes": 0}], ids=["s8", "s8 and s16"])
def test_changes_of_formats_are_found_again_behind_training(how):
    """Check a trained network, whose float network has the operators as identities."""
    rng = np.random.default_rng(0)
    nodes = (
        FloatNode("a", Conv(rng.normal(size=(4, 3, 3, 2)), None), ("x",)),
        FloatNode("fixed", Sigmoid(), ("a",)),
        FloatNode("b", Conv(rng.normal(size=(4, 3, 3, 2)), None), ("x",)),
        FloatNode("both", Concat(2), ("fixed", "b")),
        FloatNode("c", Conv(rng.normal(size=(3, 1, 1, 8)), None), ("both",)),
    )
    net = qemu_nn.FloatNetwork(FloatGraph("net", "x", (8, 8, 2), "NHWC", nodes, ("c",)))
    x = rng.normal(size=(8, 8, 8, 2))
    network = qemu_nn.quantize(net, x, **grouped("affine", **how))
    changes = [n for n in network.graph.nodes if n.function.name.startswith("tflm_requantize")]
    assert len({node.function.name for node in changes}) == 1 + len(how)
    found = recovered(network, profile(network))
    trained = replace(network, reference=make_reference(network.reference, found.graph))
    again = recovered(trained, profile(network))
    assert [(n.name, n.inputs) for n in again.graph.nodes] == [
        (n.name, n.inputs) for n in found.graph.nodes
    ]


def test_what_quantize_did_not_make_is_refused():
    network = quantized("s8")
    with pytest.raises(Error, match="no float network to train"):
        recovered(replace(network, reference=None), profile(network))
    node = network.graph.node("scores")
    arrays = {
        **network.graph.arrays,
        node.bias: network.graph.arrays[node.bias] - np.array([[0], [9], [0]], np.int32),
    }
    with pytest.raises(Error, match="not those that quantize"):
        recovered(replace(network, graph=replace(network.graph, arrays=arrays)), profile(network))
    network = quantized("s8 and s16")
    names = {node.name: f"my {node.name}" for node in network.reference.nodes}
    nodes = (
        replace(n, name=names[n.name], inputs=tuple(names.get(i, i) for i in n.inputs))
        for n in network.reference.nodes
    )
    other = replace(network.reference, nodes=tuple(nodes), outputs=("my softmax",))
    with pytest.raises(Error, match="not those that quantize"):
        recovered(replace(network, reference=other), profile(network))


@pytest.mark.parametrize("verb", ["fine_tune", "trainable"])
def test_without_torch_the_error_names_the_command(verb, monkeypatch):
    real = builtins.__import__

    def without(name, *rest, **more):
        if name == "torch" or name.startswith("torch."):
            raise ImportError("no torch", name="torch")
        return real(name, *rest, **more)

    for name in ("api.trainer", "api.trainable"):
        monkeypatch.delitem(sys.modules, f"qemu_nn.{name}", raising=False)
    for name in [name for name in sys.modules if name.startswith("qemu_nn.training.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", without)
    more = [images(8)] if verb == "fine_tune" else []
    with pytest.raises(Error, match=rf"{verb}\(\) needs torch.*pip install '\.\[train\]'"):
        getattr(qemu_nn, verb)(quantized("q7", 4), *more)
