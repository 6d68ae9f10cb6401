"""run_layers computes what is asked for, some samples at a time, and the bits do not show it."""

import tracemalloc

import numpy as np
import pytest
from ndk_networks import everything, parameters, start

import qemu_nn.ndk as ndk
from qemu_nn.ndk.layers import Layer, get_tensor_name_list
from qemu_nn.ndk.quant_tools.numpy_net import build_numpy_layers, get_layer_weight_bias, run_layers
from qemu_nn.operators import Conv
from qemu_nn.wuqi import numpy_net

KINDS = {
    "float": {},
    "chip": {"quant": True},
    "chip's averages": {"quant": True, "hw_aligned": True},
    "weights": {"quant": True, "quant_weight_only": True},
    "features": {"quant": True, "quant_feature_only": True},
}
WIDE = [
    start(2, 32, 32),
    Layer("Convolution", name="one", bottom="x", top="a", num_output=16, kernel_size=1),
    Layer("ReLU", name="relu", bottom="a", top="r"),
    Layer("Convolution", name="two", bottom="r", top="b", num_output=4, kernel_size=8, stride=8),
    Layer("InnerProduct", name="fc", bottom="b", top="y", num_output=3),
]


def wide():
    """Parameters of WIDE."""
    rng = np.random.default_rng(4)
    shapes = {"one": (16, 2, 1, 1), "two": (4, 16, 8, 8), "fc": (3, 4, 4, 4)}
    real = {f"{name}_weight": rng.normal(size=shape) / 9 for name, shape in shapes.items()}
    real |= {f"{name}_bias": rng.normal(size=shape[0]) for name, shape in shapes.items()}
    data = iter([{"input": rng.normal(size=(2, 2, 32, 32))}])
    return ndk.quantize.quantize_model(WIDE, real, 8, data)[1]


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("how", KINDS.values(), ids=KINDS)
def test_a_batch_gives_what_its_samples_give_one_by_one(bits, how, monkeypatch):
    layers, params = everything(), parameters(bits)
    names = get_tensor_name_list(layers, feature_only=True)
    arrays = get_tensor_name_list(layers)[len(names) :]
    params.update(get_layer_weight_bias(arrays, params, True, bits))
    x = np.random.default_rng(2).normal(size=(7, 3, 8, 8)) * 3
    net = build_numpy_layers(layers, params, bitwidth=bits, **{"quant": False, **how})
    single = [run_layers(x[i : i + 1], layers, names, numpy_layers=net) for i in range(7)]
    expected = {name: np.concatenate([each[name] for each in single]) for name in names}
    for block in (1, 2200, 2**20):  # one sample at a time, three, all
        monkeypatch.setattr(numpy_net, "_BLOCK", block)
        for asked in (names, *([name] for name in names), ["y", "x"]):
            found = run_layers(x, layers, asked, numpy_layers=net)
            assert list(found) == asked
            for name, values in found.items():
                assert values.dtype == np.float64
                if how.get("quant") and "quant_weight_only" not in how:
                    np.testing.assert_array_equal(values, expected[name], name)
                else:  # float matrix products depend on their sides
                    np.testing.assert_allclose(values, expected[name], 1e-9, 1e-12, err_msg=name)


def test_no_samples_give_empty_tensors():
    for quant in (False, True):
        found = run_layers(np.zeros((0, 2, 32, 32)), WIDE, ["r", "y"], wide(), quant)
        assert {name: values.shape for name, values in found.items()} == {
            "r": (0, 16, 32, 32),
            "y": (0, 3, 1, 1),
        }


@pytest.mark.parametrize("how", KINDS.values(), ids=KINDS)
def test_what_is_not_asked_for_takes_no_memory(how):
    net = build_numpy_layers(WIDE, wide(), **{"quant": False, **how})
    x = np.random.default_rng(3).normal(size=(100, 2, 32, 32))
    run_layers(x[:1], WIDE, ["r"], numpy_layers=net)
    for name, elements in (("y", 3), ("r", 16 * 32 * 32)):
        tracemalloc.start()
        run_layers(x, WIDE, [name], numpy_layers=net)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert most < 8 * len(x) * elements + 9_000_000, name


def test_float_layers_behind_what_is_asked_for_are_not_computed(monkeypatch):
    computed = []
    evaluate = Conv.evaluate

    def counted(self, *inputs):
        computed.append(self.weights.shape[0])
        return evaluate(self, *inputs)

    monkeypatch.setattr(Conv, "evaluate", counted)
    params = wide()
    for asked, expected in ((["r"], [16]), (["a", "y"], [16, 4, 3])):
        computed.clear()
        run_layers(np.zeros((1, 2, 32, 32)), WIDE, asked, params)
        assert computed == expected


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_an_image_of_one_channel_is_summed_over_the_taps(kind):
    rng = np.random.default_rng(6)
    x = rng.normal(size=(2, 6, 5, 1)).astype(kind)
    weights, bias = rng.normal(size=(3, 2, 3, 1)), rng.normal(size=3)
    found = Conv(weights, bias, (2, 1), (1, 0, 0, 1), (2, 1)).evaluate(x)
    around = np.zeros((2, 7, 6), kind)
    around[:, 1:, :5] = x[..., 0]
    assert found.shape == (2, 3, 4, 3)
    for n, i, j, out in np.ndindex(found.shape):
        total = kind(0)
        for down, right in np.ndindex(2, 3):
            total += around[n, 2 * i + 2 * down, j + right] * kind(weights[out, down, right, 0])
        assert found[n, i, j, out] == pytest.approx(total + kind(bias[out]), rel=1e-5, abs=1e-6)
