"""What a quantized network was lowered from is found again, and what is no such network refused."""

import builtins
import sys
from dataclasses import replace

import numpy as np
import pytest
from trainable_networks import SCHEMES, images, quantized

import qemu_nn
from qemu_nn.api.recover import recovered
from qemu_nn.errors import Error


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


def test_what_quantize_did_not_make_is_refused():
    network = quantized("s8")
    with pytest.raises(Error, match="no float network to train"):
        recovered(replace(network, reference=None), profile(network))
    node = network.graph.node("scores")
    other = replace(node, params={**node.params, "multiplier": node.params["multiplier"] - 9})
    nodes = tuple(other if each is node else each for each in network.graph.nodes)
    with pytest.raises(Error, match="not those that quantize"):
        recovered(replace(network, graph=replace(network.graph, nodes=nodes)), profile(network))


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
