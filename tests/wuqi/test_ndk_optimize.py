"""Merging layers of the NPU: fewer of them, and the same values."""

import copy

import numpy as np
import pytest
from ndk_networks import start

import qemu_nn.ndk as ndk
from qemu_nn.errors import ModelError
from qemu_nn.ndk.layers import Layer, get_network_output
from qemu_nn.ndk.quant_tools.numpy_net import run_layers

RNG = np.random.default_rng(13)


def normal(*shape):
    return RNG.normal(size=shape)


def conv(bottom="x", name="conv", pad=0, group=1, **more):
    own = {"num_output": 4, "kernel_size": 3, "pad": (pad,) * 4, "group": group, **more}
    return Layer("Convolution", name=name, bottom=bottom, top=name, **own)


def scale(bottom, name, kind="Scale", **more):
    return Layer(kind, name=name, bottom=bottom, top=name, **more)


def parameters(layers, channels=4):
    params = {}
    for layer in layers:
        if layer.type == "Convolution":
            params[f"{layer.name}_weight"] = normal(4, channels // layer.group, 3, 3)
            if layer.bias_term:
                params[f"{layer.name}_bias"] = normal(4)
        if layer.type in ("Scale", "BatchNorm"):
            params[f"{layer.name}_weight"] = normal(channels)
        if layer.type in ("Bias", "BatchNorm") or (layer.type == "Scale" and layer.bias_term):
            params[f"{layer.name}_bias"] = normal(channels)
        if layer.type == "InnerProduct":
            params[f"{layer.name}_weight"] = normal(3, channels, 6, 6)
            params[f"{layer.name}_bias"] = normal(3)
    return params


def merged(layers, tmp_path=None):
    """Return the optimized layers, after a comparison with the given ones, and the log."""
    params = parameters(layers)
    before = copy.deepcopy((layers, params))
    log = tmp_path / "merge.log" if tmp_path else None
    after, fewer = ndk.optimize.merge_layers(layers, params, fname_log=log)
    assert [repr(layer) for layer in layers] == [repr(layer) for layer in before[0]]
    for key, value in before[1].items():
        np.testing.assert_array_equal(params[key], value)
    x = normal(2, 4, 8, 8)
    outputs = get_network_output(layers)
    assert get_network_output(after) == outputs
    expected, got = (
        run_layers(x, *pair) for pair in ((layers, outputs, params), (after, outputs, fewer))
    )
    for name in outputs:
        np.testing.assert_allclose(got[name], expected[name], atol=1e-9)
    return [layer.name for layer in after], log.read_text().splitlines() if log else None


@pytest.mark.parametrize("kind", ["BatchNorm", "Scale", "Bias"])
@pytest.mark.parametrize("group", [1, 2, 4])
@pytest.mark.parametrize("bias_term", [True, False])
def test_what_follows_a_convolution_merges_into_it(kind, group, bias_term, tmp_path):
    layers = [
        start(4, 8, 8),
        conv(pad=1, group=group, bias_term=bias_term),
        scale("conv", "s", kind),
    ]
    names, log = merged(layers, tmp_path)
    assert names == ["input", "conv"]
    assert log == [f"s ({kind}): merged into conv before it"]


@pytest.mark.parametrize("group", [1, 2, 4])
def test_what_precedes_a_convolution_without_padding_merges_into_it(group):
    assert merged([start(4, 8, 8), scale("x", "s"), conv("s", group=group)])[0] == ["input", "conv"]


def test_with_padding_only_a_scale_without_offset_merges_forward(tmp_path):
    shifted = [start(4, 8, 8), scale("x", "s"), conv("s", pad=1)]
    names, log = merged(shifted, tmp_path)
    assert names == ["input", "s", "conv"]
    assert log == ["s (Scale): stays; padding of conv would lack its offset"]
    plain = [start(4, 8, 8), scale("x", "s", bias_term=False), conv("s", pad=1)]
    assert merged(plain)[0] == ["input", "conv"]


def test_a_chain_merges_whole_and_a_dense_layer_takes_what_is_before_it():
    layers = [
        start(4, 8, 8),
        conv(),
        scale("conv", "b", "BatchNorm"),
        scale("b", "s"),
        scale("s", "o", "Bias"),
    ]
    assert merged(layers)[0] == ["input", "conv"]
    relu = Layer("ReLU", name="r", bottom="conv", top="r")
    dense = Layer("InnerProduct", name="fc", bottom="s", top="fc", num_output=3)
    assert merged([start(4, 8, 8), conv(), relu, scale("r", "s"), dense])[0] == [
        "input",
        "conv",
        "r",
        "fc",
    ]


def test_what_others_read_stays(tmp_path):
    both = Layer("Eltwise", name="e", bottom=["conv", "s"], top="e")
    names, log = merged([start(4, 8, 8), conv(), scale("conv", "s"), both], tmp_path)
    assert names == ["input", "conv", "s", "e"]
    assert "no layer with weights reads or feeds it alone" in log[0]


def test_normalization_becomes_part_of_the_network():
    layers = [start(4, 8, 8), conv()]
    params = parameters(layers)
    weight, bias = normal(4), normal(4)
    after, more = ndk.optimize.add_pre_norm(layers, params, weight, bias)
    assert [layer.type for layer in after] == ["Input", "Scale", "Convolution"]
    x = normal(2, 4, 8, 8)
    normed = x * weight[:, None, None] + bias[:, None, None]
    expected = run_layers(normed, layers, ["conv"], params)["conv"]
    np.testing.assert_allclose(run_layers(x, after, ["conv"], more)["conv"], expected, atol=1e-9)
    fewer = ndk.optimize.merge_layers(after, more)
    assert len(fewer[0]) == 2
    np.testing.assert_allclose(
        run_layers(x, fewer[0], ["conv"], fewer[1])["conv"], expected, atol=1e-9
    )
    with pytest.raises(ModelError, match="weight has 3 elements, but must have 1 or 4"):
        ndk.optimize.add_pre_norm(layers, params, np.ones(3), np.zeros(4))


def test_missing_parameters_are_named():
    with pytest.raises(ModelError, match="lack 's_weight'"):
        ndk.optimize.merge_layers([start(4, 8, 8), scale("x", "s")], {})


def test_fully_connected_weights_may_be_flat_but_not_transposed():
    dense = Layer("InnerProduct", name="fc", bottom="s", top="y", num_output=3, bias_term=False)
    layers = [start(2, 2, 2), scale("x", "s"), dense]
    params = {"s_weight": normal(2), "s_bias": normal(2), "fc_weight": normal(3, 8)}
    merged, found = ndk.optimize.merge_layers(layers, params)
    assert [layer.name for layer in merged] == ["input", "fc"]
    x = normal(4, 2, 2, 2)
    expected = run_layers(x, layers, ["y"], params)["y"]
    np.testing.assert_allclose(run_layers(x, merged, ["y"], found)["y"], expected, atol=1e-12)
    with pytest.raises(ModelError, match=r"\[8, 3\], but must be \[3, 2, 2, 2\] or \[3, 8\]"):
        ndk.optimize.merge_layers(layers, {**params, "fc_weight": normal(8, 3)})
