"""Fixed-point training: the module computes what the chip does, and training makes it better."""

import builtins
import itertools
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import qemu_nn.ndk as ndk
from qemu_nn.errors import Error, ModelError
from qemu_nn.ndk.layers import Layer, check_layers
from qemu_nn.ndk.quant_tools.numpy_net import run_layers
from qemu_nn.ndk.quantize import quantize_model, quantize_model_with_training
from qemu_nn.wuqi.numpy_net import read_weights
from qemu_nn.wuqi.shapes import infer_feature_shapes

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install torch")
torch.set_num_threads(1)

from qemu_nn.ndk.quant_train_torch.quant_layer import QuantizedNet  # noqa: E402
from qemu_nn.wuqi.torch.nodes import log_softmax, lookup, quantize  # noqa: E402
from qemu_nn.wuqi.training import groups  # noqa: E402

BITS = pytest.mark.parametrize("bits", [8, 16])
CONV = {"kernel_size": (3, 2), "stride": (2, 1), "dilation": (1, 2)}

#: Layers that run alone between the input [4, 6, 6] and the output, by name.
SINGLE = {
    "conv": ("Convolution", {"num_output": 6, **CONV, "pad": (2, 1, 0, 3), "group": 2}),
    "cut": ("Convolution", {"num_output": 3, **CONV, "pad": (1, -2, 0, -1), "bias_term": False}),
    "fc": ("InnerProduct", {"num_output": 5}),
    "bn": ("BatchNorm", {}),
    "scale": ("Scale", {"bias_term": False}),
    "bias": ("Bias", {}),
    "relu": ("ReLU", {}),
    "leaky": ("ReLU", {"negative_slope": 0.3}),
    "steep": ("ReLU", {"negative_slope": 3.9}),
    "six": ("ReLU6", {}),
    "sigmoid": ("Sigmoid", {}),
    "tanh": ("TanH", {}),
    "log": ("LogSoftmax", {}),
    "max": ("Pooling", {**CONV, "pad": (2, 1, 1, 1)}),
    "mean": ("Pooling", {**CONV, "pad": (1, 2, 1, 0), "pool": "AVE"}),
    "edge": ("Pooling", {"kernel_size": 3, "pad": (1, 2, 2, 0), "pool": "AVE"}),
    "drop": ("Pooling", {"kernel_size": 2, "stride": 2, "pad": (0, -1, 0, -1), "pool": "AVE"}),
    "shuffle": ("ShuffleChannel", {"group": 2}),
}


def start(*dim):
    return Layer("Input", name="input", top="x", dim=(1, *dim))


def weights_for(layer, source, count, bits, rng):
    """Random weights and bias at the ends of their range, fractions by channel."""
    half, found = 2 ** (bits - 1), {}
    channels, height, width = source
    shape = {
        "Convolution": lambda: (count, channels // layer.group, *layer.kernel_size),
        "InnerProduct": lambda: (count, channels, height, width),
    }.get(layer.type, lambda: (count,))()
    if layer.type != "Bias":
        values = rng.choice([-half, half - 1, 0, 1, -1, int(rng.integers(-half, half))], shape)
        found[f"{layer.name}_quant_weight"] = values.astype(f"int{bits}")
        found[f"{layer.name}_frac_weight"] = rng.integers(bits - 3, bits, count)
    if getattr(layer, "bias_term", True):
        found[f"{layer.name}_quant_bias"] = rng.integers(-half, half, count).astype(f"int{bits}")
        low = 0 if layer.type == "Bias" else 2
        found[f"{layer.name}_frac_bias"] = rng.integers(low, 4, count)
    return found


def inputs(bits, frac, rng, signed=True, shape=(4, 6, 6)):
    """Samples on their grid: random, all lowest, all highest, one-hot."""
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 255)
    q = rng.integers(low, high + 1, (8, *shape))
    q[1], q[2], q[3] = low, high, 0
    q[3, -1, 0, -1] = high
    q[4:6] //= 16
    return np.ldexp(q.astype(np.float64), -frac)


def assert_equal(layers, params, x, bits, hw_aligned=True):
    """Check that the module in double precision gives the kernels' values, and keeps the
    parameters.
    """
    net = QuantizedNet(layers, params, bitwidth=bits, hw_aligned=hw_aligned, for_training=False)
    got = net.double()(torch.from_numpy(x))
    got = got if isinstance(got, dict) else {net.outputs[0]: got}
    for given_params in (params, net.get_param_dict()):
        want = run_layers(x, layers, net.outputs, given_params, True, bits, hw_aligned)
        for name in net.outputs:
            np.testing.assert_array_equal(got[name].detach().numpy(), want[name], err_msg=name)


@BITS
@pytest.mark.parametrize("hw_aligned", [False, True])
@pytest.mark.parametrize("name", SINGLE)
def test_every_layer_gives_the_bits_of_its_kernel(name, bits, hw_aligned):
    kind, own = SINGLE[name]
    layers = [start(4, 6, 6), Layer(kind, name=name, bottom="x", top="y", **own)]
    rng = np.random.default_rng(3)
    more = 0 if bits == 8 else 8
    frac = {"TanH": 5}.get(kind, 4) + more
    out = {"TanH": 7 + more, "Sigmoid": 7 + more}.get(kind, frac)
    for step in (-2, 0, 1) if own.get("pool") == "AVE" else (0,):
        params = {"x_frac": frac, "y_frac": out + step}
        if kind in ("Convolution", "InnerProduct", "BatchNorm", "Scale", "Bias"):
            count = own.get("num_output", 4)
            params |= {"y_frac": frac - 1}
            params |= weights_for(layers[1], (4, 6, 6), count, bits, rng)
        assert_equal(layers, params, inputs(bits, frac, rng), bits, hw_aligned)


@BITS
def test_layers_of_several_tensors_give_the_bits_of_their_kernels(bits):
    more = 0 if bits == 8 else 8
    layers = [
        start(4, 6, 6),
        Layer("Slice", name="cut", bottom="x", top=["a", "b"], slice_point=[1]),
        Layer("Concat", name="join", bottom=["b", "a", "b"], top="j"),
        Layer("Pooling", name="mean", bottom="x", top="m", kernel_size=6, pool="AVE"),
        Layer("ScaleByTensor", name="se", bottom=["x", "m"], top="s"),
        Layer("Eltwise", name="sum", bottom=["x", "s"], top="e"),
        Layer("ReLU", name="relu", bottom="x", top="r"),
        Layer("Eltwise", name="several", bottom=["x", "s", "r"], top="o"),
    ]
    fracs = dict.fromkeys(["x", "a", "b", "j", "s", "r"], 3 + more)
    fracs |= {"m": 4 + more, "e": 2 + more, "o": 1 + more}
    params = {f"{name}_frac": frac for name, frac in fracs.items()}
    assert_equal(layers, params, inputs(bits, 3 + more, np.random.default_rng(4)), bits)


def test_an_unsigned_input_gives_the_bits_of_its_kernel():
    kind, own = SINGLE["conv"]
    layers = [start(4, 6, 6), Layer(kind, name="conv", bottom="x", top="y", **own)]
    rng = np.random.default_rng(5)
    params = {"x_frac": 4, "x_signed": False, "y_frac": 3}
    params |= weights_for(layers[1], (4, 6, 6), 6, 8, rng)
    assert_equal(layers, params, inputs(8, 4, rng, signed=False), 8)


PLAIN = ["conv", "bn", "scale", "bias", "relu", "leaky", "max", "edge", "shuffle", "split", "fc"]


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.sampled_from(PLAIN), min_size=1, max_size=5), st.sampled_from([8, 16]), st.data()
)
def test_random_networks_give_the_bits_of_the_kernels(names, bits, data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**31)))
    frac = 4 + (bits == 16) * 8
    layers, source, shape, params = [start(4, 6, 6)], "x", (4, 6, 6), {"x_frac": frac}
    for i, name in enumerate(names):
        top, called = f"t{i}", f"layer{i}"
        if name == "split":
            parts = [f"{top}a", f"{top}b"]
            layers.append(Layer("Slice", name=called, bottom=source, top=parts, slice_point=[2]))
            layers.append(Layer("Concat", name=f"{called}j", bottom=parts[::-1], top=top))
            params |= {f"{part}_frac": frac for part in parts}
        else:
            kind, own = SINGLE[name]
            own = own | {"num_output": 4, "pad": (1, 1, 1, 1)} if name == "conv" else own
            own = own | {"num_output": 4} if name == "fc" else own
            layers.append(Layer(kind, name=called, bottom=source, top=top, **own))
        before, shape = shape, infer_feature_shapes(layers)[top]
        params[f"{top}_frac"] = frac
        if name in ("conv", "bn", "scale", "bias", "fc"):
            params |= weights_for(layers[-1], before, shape[0], bits, rng)
        source = top
    assert_equal(layers, params, inputs(bits, frac, rng), bits, data.draw(st.booleans()))


# Nodes


def test_a_node_rounds_down_and_passes_gradients_within_its_range_only():
    step = torch.tensor(0.25)
    x = [-32.26, -32.25, -32.0, -0.1, 0.0, 0.3, 31.75, 31.76, 40.0]
    x = torch.tensor(x, requires_grad=True)
    y = quantize(x, step, 8)
    assert y.tolist() == [-32, -32, -32, -0.25, 0, 0.25, 31.75, 31.75, 31.75]
    y.sum().backward()
    assert x.grad.tolist() == [0, 0, 1, 1, 1, 1, 1, 0, 0]


def test_tables_have_the_gradients_of_their_functions():
    for kind, function in (("Sigmoid", torch.sigmoid), ("TanH", torch.tanh)):
        x = torch.linspace(-3, 3, 13, dtype=torch.float64, requires_grad=True)
        (own,) = torch.autograd.grad(lookup(x, kind, 8).sum(), x)
        (real,) = torch.autograd.grad(function(x).sum(), x)
        assert torch.equal(own, real)
    x = torch.linspace(-3, 3, 12, dtype=torch.float64).reshape(3, 4, 1, 1).requires_grad_()
    (own,) = torch.autograd.grad(log_softmax(x, 8)[:, 1].sum(), x)
    (real,) = torch.autograd.grad(torch.log_softmax(x, 1)[:, 1].sum(), x)
    assert torch.equal(own, real)


# The module's arguments


def small():
    """Return one convolution with floats besides different integers."""
    conv = Layer("Convolution", name="a.b", bottom="x", top="y", num_output=1, kernel_size=1)
    params = {"a.b_weight": np.full((1, 1, 1, 1), 0.8), "a.b_bias": np.array([0.3])}
    params |= {"a.b_quant_weight": np.ones((1, 1, 1, 1), np.int8), "a.b_frac_weight": 1}
    params |= {"a.b_quant_bias": np.array([3], np.int8), "a.b_frac_bias": 2}
    return [start(1, 1, 1), conv], params | {"x_frac": 2, "y_frac": 1}


def value(**more):
    layers, params = small()
    net = QuantizedNet(layers, params, **more).double()
    return net(torch.full((1, 1, 1, 1), 1.75, dtype=torch.float64)).item()


def test_each_kind_of_node_can_be_left_out():
    near = pytest.approx
    assert value() == 1.0  # floor2(1.75 * 0.5 + floor4(0.3 + 0.25))
    assert value(quant_output=False) == 1.75 * 0.5 + 0.25  # and nothing on top of the bias
    assert value(quant_output=False, quant_weight=False) == near(1.75 * 0.8 + 0.25, abs=1e-6)
    assert value(quant_output=False, quant_bias=False) == near(1.75 * 0.5 + 0.3, abs=1e-6)
    assert value(for_training=False) == 1.5  # floor2(1.75 * 0.5 + 0.75)


def test_layers_whose_nodes_do_not_work_are_those_of_the_float_network():
    rng = np.random.default_rng(7)
    for name, (kind, own) in SINGLE.items():
        layers = [start(4, 6, 6), Layer(kind, name=name, bottom="x", top="y", **own)]
        frac = {"TanH": 5}.get(kind, 4)
        params = {"x_frac": frac, "y_frac": {"TanH": 7, "Sigmoid": 7}.get(kind, frac)}
        if kind in ("Convolution", "InnerProduct", "BatchNorm", "Scale", "Bias"):
            params |= weights_for(layers[1], (4, 6, 6), own.get("num_output", 4), 8, rng)
            roles = [r for r in ("weight", "bias") if f"{name}_quant_{r}" in params]
            params |= read_weights([f"{name}_{r}" for r in roles], params, True)
        if own.get("dilation", 1) != 1 and kind == "Pooling":
            continue  # which the float network does not have
        net = QuantizedNet(layers, params, hw_aligned=False).double()
        net.quantized = set()
        x = rng.normal(0, 9, (3, 4, 6, 6))
        y = net(torch.from_numpy(x)).detach().numpy()
        real = run_layers(x, layers, ["y"], params)["y"]
        np.testing.assert_allclose(y, real, rtol=1e-6, atol=1e-6, err_msg=name)


def test_a_width_of_16_bits_saturates_later():
    layers, params = small()
    params["a.b_quant_bias"] = np.array([127], np.int8)
    params["a.b_frac_bias"] = -1
    params["y_frac"] = 0
    x = torch.zeros((1, 1, 1, 1), dtype=torch.float64)
    for bits, found in ((8, 127.0), (16, 254.0)):
        net = QuantizedNet(layers, params, bitwidth=bits, for_training=False)
        assert net.double()(x).item() == found


def test_parameters_have_their_layers_names_and_the_fractions_are_buffers():
    layers, params = small()
    net = QuantizedNet(layers, params)
    assert [name for name, _ in net.named_parameters()] == ["a_b.weight", "a_b.bias"]
    steps = {name: float(b) for name, b in net.named_buffers() if name.endswith("_step")}
    assert steps == {"a_b.weight_step": 0.5, "a_b.bias_step": 0.25}
    again = QuantizedNet(layers, params)
    again.load_state_dict(net.state_dict())
    found = net.get_param_dict()
    assert found["a.b_weight"] == pytest.approx(0.8)
    assert found["a.b_bias"] == pytest.approx(0.3)  # without what was added for rounding
    assert found["a.b_quant_bias"].dtype == np.int8


def test_what_the_module_can_not_be_made_of_is_an_error():
    layers, params = small()
    for key in ("x_frac", "a.b_frac_weight", "a.b_weight"):
        less = {k: v for k, v in params.items() if k != key}
        with pytest.raises(ModelError, match=key):
            QuantizedNet(layers, less)
    with pytest.raises(ModelError, match="quant_bias"):
        QuantizedNet(
            *(layers, {k: v for k, v in params.items() if k != "a.b_quant_bias"}),
            for_training=False,
        )
    with pytest.raises(ModelError, match=r"its weight is \[1, 2, 1, 1\], but must be"):
        QuantizedNet(layers, params | {"a.b_weight": np.ones((1, 2, 1, 1))})
    with pytest.raises(ModelError, match="finite"):
        QuantizedNet(layers, params | {"a.b_weight": np.full((1, 1, 1, 1), np.nan)})
    with pytest.raises(ModelError, match="shifts its sum"):
        QuantizedNet(layers, params | {"y_frac": 9})
    with pytest.raises(Error, match="bitwidth is 4, but must be the integer 8 or 16"):
        QuantizedNet(layers, params, bitwidth=4)
    with pytest.raises(Error, match="a batch is"):
        QuantizedNet(layers, params)(torch.zeros(1, 2, 1, 1))
    with pytest.raises(Error, match="no floating-point tensor"):
        QuantizedNet(layers, params)(np.zeros((1, 1, 1, 1)))
    with pytest.raises(ModelError, match="Softmax"):
        QuantizedNet([layers[0], Layer("Softmax", name="s", bottom="x", top="y")], params)
    with pytest.raises(ModelError, match="must be an Input"):
        QuantizedNet(layers[1:], params)


# Training


def task(seed=0, count=32):
    """Yield batches without end; the label is the brightest of four corners of the image."""
    rng = np.random.default_rng(seed)
    while True:
        labels = rng.integers(0, 4, count)
        x = rng.normal(0, 0.5, (count, 1, 6, 6))
        for i, label in enumerate(labels):
            x[i, 0, 3 * (label // 2) : 3 * (label // 2) + 3, 3 * (label % 2) :][:, :3] += 0.6
        yield {"input": x, "output": labels.reshape(-1, 1, 1, 1)}


def network():
    rng = np.random.default_rng(1)
    layers = [
        start(1, 6, 6),
        Layer("Convolution", name="conv", bottom="x", top="c", num_output=16, kernel_size=3),
        Layer("ReLU", name="relu", bottom="c", top="r"),
        Layer("Pooling", name="pool", bottom="r", top="p", kernel_size=2, stride=2, pool="AVE"),
        Layer("InnerProduct", name="fc", bottom="p", top="y", num_output=4),
    ]
    params = {"conv_weight": rng.normal(0, 0.3, (16, 1, 3, 3)), "conv_bias": rng.normal(0, 0.1, 16)}
    params |= {"fc_weight": rng.normal(0, 0.2, (4, 16, 2, 2)), "fc_bias": np.zeros(4)}
    return layers, params


def test_without_parameters_training_begins_with_random_weights(tmp_path):
    layers, _ = network()
    layers.insert(2, Layer("Scale", name="scale", bottom="c", top="s"))
    layers[3].bottom = "s"
    how = {"num_step_train": 150, "layer_group": 9, "log_dir": tmp_path}
    found = [
        quantize_model_with_training(layers, 8, None, task(), rnd_seed=seed, **how)[1]
        for seed in (3, 3, 4)
    ]
    np.testing.assert_array_equal(found[0]["fc_weight"], found[1]["fc_weight"])
    assert (found[0]["fc_weight"] != found[2]["fc_weight"]).any()
    assert right(layers, found[0]) > 0.6  # by chance: 0.25


def trained(tmp_path, **more):
    layers, params = network()
    bits = more.pop("bitwidth", 8)
    own = {"data_generator": task(), "log_dir": tmp_path, "num_step_train": 15, "layer_group": 9}
    return quantize_model_with_training(layers, bits, params, **{**own, **more})


def right(layers, params, bits=8):
    batch = next(task(99, 400))
    y = run_layers(batch["input"], layers, ["y"], params, True, bits, True)["y"]
    return (y.argmax(1).ravel() == batch["output"].ravel()).mean()


@BITS
def test_training_makes_the_chips_network_better_and_returns_what_it_computes(
    tmp_path, bits, capsys
):
    layers, params = network()
    more = {"num_step_pre": 2, "num_step": 2, "factor_num_bin": 0}
    plain = quantize_model(layers, params, bits, task(), **more)[1]
    own = {"num_step_train": 60, "num_step_log": 20, "layer_group": 2}
    layers, found = quantize_model_with_training(
        layers, bits, plain, task(), log_dir=tmp_path, **own
    )
    before = right(layers, plain, bits)
    assert right(layers, found, bits) > before + 0.3
    losses = [line for line in capsys.readouterr().out.splitlines() if ": loss" in line]
    assert len(losses) == 6
    assert "accuracy" in losses[0]
    numbers = [float(line.split("loss ")[1].split(",")[0]) for line in losses]
    assert numbers[-1] < numbers[0]
    check = {name: found[name].dtype for name in ("conv_quant_weight", "fc_quant_bias")}
    assert set(check.values()) == {np.dtype(f"int{bits}")}
    x = np.ldexp(np.floor(np.ldexp(next(task(5))["input"], found["x_frac"])), -found["x_frac"])
    x = x.clip(-(2.0 ** (bits - 1 - found["x_frac"])), (2 ** (bits - 1) - 1) / 2 ** found["x_frac"])
    assert_equal(layers, found, x, bits)
    for name in ("conv_weight", "fc_weight"):  # the float numbers are those that were rounded
        own, frac = name.split("_")[0], found[name.replace("_", "_frac_")]
        steps = np.ldexp(found[name], frac.reshape(-1, 1, 1, 1))
        error = np.abs(steps - found[f"{own}_quant_weight"])
        assert error[np.abs(steps) < 2 ** (bits - 1) - 2].max() <= 0.5 + 2.0 ** (bits - 22)


def test_the_trained_module_gives_the_bits_of_its_own_parameters(tmp_path):
    layers, params = network()
    layers, params = quantize_model(layers, params, 8, task(), num_step_pre=2, num_step=2)
    net = QuantizedNet(layers, params)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    x = torch.from_numpy(np.round(next(task())["input"] * 4) / 4)
    net(x.float()).square().mean().backward()
    optimizer.step()
    y = net.double()(x).detach().numpy()
    found = run_layers(x.numpy(), layers, ["y"], net.get_param_dict(), True, 8, True)["y"]
    np.testing.assert_array_equal(y, found)


def test_the_same_seed_gives_the_same_parameters_and_leaves_the_callers_alone(tmp_path):
    def loss(outputs, targets):
        return torch.nn.functional.cross_entropy(
            torch.dropout(outputs, 0.5, True)[:, :, 0, 0], targets.ravel()
        )

    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    found = [trained(tmp_path, loss_fn=loss, rnd_seed=seed)[1] for seed in (5, 5, 6)]
    assert torch.equal(torch.rand(3), expected)
    for key, one in found[0].items():
        np.testing.assert_array_equal(one, found[1][key])
    assert (found[0]["fc_weight"] != found[2]["fc_weight"]).any()


def test_groups_are_those_of_the_manual():
    layers = list(range(6))
    assert groups(layers, 2) == [[0, 1, 2], [3, 4], [5]]
    assert groups(layers, 1) == [[0, 1], [2], [3], [4], [5]]
    assert groups(layers, 5) == groups(layers, 7) == [layers]


def test_a_group_is_frozen_after_it_and_one_with_nothing_to_train_is_skipped(tmp_path):
    asked = []

    def optimizer(parameters):
        asked.append(len(parameters))
        return torch.optim.SGD(parameters, lr=0.05)

    layers, params = network()
    layers.append(Layer("ReLU", name="last", bottom="y", top="z"))
    own = {"data_generator": task(), "log_dir": tmp_path, "num_step_train": 2, "layer_group": 1}
    quantize_model_with_training(layers, 8, params, optimizer=optimizer, **own)
    assert asked == [4, 2, 2, 2]  # conv; relu, pool and fc without conv; nothing for the last
    first, second, last = (
        ndk.modelpack.load_from_file(tmp_path / f"group_{k}.prototxt", tmp_path / f"group_{k}.npz")
        for k in (1, 2, 5)
    )
    for role in ("weight", "bias"):
        np.testing.assert_array_equal(first[1][f"conv_{role}"], last[1][f"conv_{role}"])
    assert (first[1]["fc_weight"] != second[1]["fc_weight"]).any()
    assert len(last[0]) == len(layers)


def test_a_layer_can_have_one_fraction_for_all_channels(tmp_path):
    layers, found = trained(tmp_path, perlayer_quant_layer_names=["conv"])
    assert isinstance(found["conv_frac_weight"], int)
    assert isinstance(found["conv_frac_bias"], int)
    assert len(found["fc_frac_weight"]) == 4
    assert not check_layers(layers[:4], found)


def test_inputs_are_rounded_into_their_format(tmp_path):
    def moved(by):
        for batch in task():
            grid = np.floor(batch["input"] * 16).clip(-128, 127) / 16
            yield {"input": grid + by, "output": batch["output"]}

    layers, params = network()
    more = {"num_step_pre": 2, "num_step": 2}
    user = {"x_frac": 4, "x_signed": True}
    plain = quantize_model(layers, params, 8, task(), usr_param_dict=user, **more)[1]
    own = {"log_dir": tmp_path, "num_step_train": 5, "layer_group": 9}
    found = [
        quantize_model_with_training(layers, 8, plain, moved(by), **own)[1]["conv_weight"]
        for by in (0, 1 / 32, 1 / 16)
    ]
    np.testing.assert_array_equal(found[0], found[1])
    assert (found[0] != found[2]).any()


def test_given_fractions_stay_and_only_missing_ones_take_batches(tmp_path):
    taken = []

    def counted():
        for batch in task():
            taken.append(1)
            yield batch

    chosen = trained(tmp_path, data_generator=counted())[1]
    assert len(taken) == 120 + 15
    given_fracs = {k: v for k, v in chosen.items() if "_frac" in k or k.endswith("_signed")}
    given_fracs["conv_weight_frac"] = given_fracs.pop("conv_frac_weight") - 1
    given_fracs["conv_frac_bias"] -= 1
    taken.clear()
    layers, params = network()
    own = {"log_dir": tmp_path, "num_step_train": 3, "layer_group": 9}
    found = quantize_model_with_training(layers, 8, params | given_fracs, counted(), **own)[1]
    assert len(taken) == 3
    np.testing.assert_array_equal(found["conv_frac_weight"], given_fracs["conv_weight_frac"])
    assert found["c_frac"] == chosen["c_frac"]


def test_labels_and_sources_of_every_form_train_alike(tmp_path):
    def labels(form):
        for batch in task():
            yield batch["input"], form(batch["output"])

    forms = [
        lambda y: y,
        lambda y: y.ravel(),
        lambda y: y.astype(np.float32),
        lambda y: np.eye(4)[y.ravel()][:, :, None, None],
    ]
    found = [trained(tmp_path)[1]["fc_weight"]]
    for form in forms:
        source = labels(form)
        own = {"data_generator": None}
        found.append(trained(tmp_path, input_fn=lambda s=source: next(s), **own)[1]["fc_weight"])
        found.append(trained(tmp_path, input_fn=lambda f=form: labels(f), **own)[1]["fc_weight"])
    found.append(trained(tmp_path, input_fn=labels(forms[0]), data_generator=None)[1]["fc_weight"])
    for each in found:
        np.testing.assert_array_equal(each, found[0])


def test_a_loss_of_ones_own_gets_outputs_and_targets(tmp_path):
    seen = []

    def loss(outputs, targets):
        seen.append((tuple(outputs.shape), tuple(targets.shape), targets.dtype))
        return (outputs**2).mean()

    small = trained(tmp_path, loss_fn=loss, optimizer=lambda p: torch.optim.SGD(p, lr=0.5))[1]
    assert seen[0] == ((32, 4, 1, 1), (32, 1, 1, 1), torch.int64)
    assert np.abs(small["fc_weight"]).mean() < np.abs(network()[1]["fc_weight"]).mean()


def test_event_files_are_written_where_tensorboard_is_installed(tmp_path, capsys):
    pytest.importorskip("tensorboard", reason="tensorboard is not installed")
    trained(tmp_path, num_step_log=5)
    assert list(tmp_path.glob("events.out.tfevents*"))


def test_without_tensorboard_a_line_says_what_to_install(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    trained(tmp_path, num_step_train=1)
    assert "pip install tensorboard" in capsys.readouterr().out


def test_without_torch_the_error_names_the_command(monkeypatch, tmp_path):
    real = builtins.__import__

    def without(name, *rest, **more):
        if name == "torch" or name.startswith("torch."):
            raise ImportError("no torch", name="torch")
        return real(name, *rest, **more)

    modules = sys.modules
    homes = ("qemu_nn.wuqi.torch.", "qemu_nn.ndk.quant_train_torch.")
    for name in [name for name in modules if name.startswith(homes)]:
        monkeypatch.delitem(modules, name)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(Error, match=r"pip install '\.\[train\]'"):
        trained(tmp_path)


def foreign(package):
    """Return an object of a class of another package."""
    return type("Adam", (), {"__module__": f"{package}.optimizers", "__call__": lambda self: 0})()


def nan_loss(outputs, targets):
    return outputs.mean() * float("nan")


WRONG = [
    ({"optimizer": foreign("tensorflow")}, r"TensorFlow's.*torch\.optim"),
    ({"loss_fn": foreign("keras")}, r"TensorFlow's.*torch\.nn"),
    (
        {"optimizer": torch.optim.SGD([torch.zeros(1, requires_grad=True)], 0.1)},
        "an optimizer of other parameters",
    ),
    ({"optimizer": "adam"}, "optimizer is a str"),
    ({"loss_fn": 3}, "loss_fn is a int"),
    ({"optimizer": lambda p: None}, "returned a NoneType"),
    ({"loss_fn": lambda outputs, targets: 1.0}, "returned a float"),
    ({"loss_fn": lambda outputs, targets: outputs}, "returned a tensor"),
    ({"loss_fn": lambda outputs, targets: outputs.detach().mean()}, "without a gradient"),
    ({"loss_fn": nan_loss}, "nan at step 1 of group 1 of 1"),
    ({"data_generator": None}, "give one of them"),
    ({"input_fn": lambda: None}, "give one of them"),
    ({"data_generator": 3}, "not a generator"),
    ({"data_generator": iter([3])}, '"input" and "output"'),
    ({"data_generator": iter([{"input": np.zeros((1, 2)), "output": [1]}])}, r"\[N, C, H, W\]"),
    ({"data_generator": itertools.islice(task(), 125)}, "ended before step 6"),
    ({"data_generator": None, "input_fn": lambda: iter([3])}, "pairs"),
    ({"num_step_train": 0}, "num_step_train"),
    ({"num_step_log": 1.5}, "num_step_log"),
    ({"layer_group": 0}, "layer_group"),
    ({"rnd_seed": -1}, "rnd_seed"),
    ({"rnd_seed": "a"}, "rnd_seed"),
    ({"perlayer_quant_layer_names": ["cnv"]}, "no layer 'cnv'"),
    ({"perlayer_quant_layer_names": "conv"}, r"give \['conv'\]"),
    ({"bitwidth": 4}, "bitwidth"),
]


@pytest.mark.parametrize(("wrong", "match"), WRONG, ids=lambda each: None)
def test_what_can_not_be_meant_is_an_error(tmp_path, wrong, match):
    with pytest.raises(Error, match=match):
        trained(tmp_path, **wrong)


def test_inputs_and_labels_that_do_not_fit_are_errors(tmp_path):
    good = next(task())
    for labels, match in (
        (np.full(32, 4), "from 0 to 3"),
        (np.full(32, 0.5), "from 0 to 3"),
        (np.zeros((32, 2)), "one-hot"),
        (np.zeros(31), "give one for each"),
        (np.array(["a"] * 32), "give one for each"),
    ):
        batch = {"input": good["input"], "output": labels}
        with pytest.raises(Error, match=match):
            trained(tmp_path, data_generator=itertools.repeat(batch))
    bad = {"input": np.full((1, 1, 6, 6), np.inf), "output": [0]}
    with pytest.raises(Error, match="not finite"):
        trained(tmp_path, data_generator=itertools.repeat(bad))


def test_a_fraction_that_is_no_integer_is_an_error(tmp_path):
    layers, params = network()
    for frac in ("a", 2.5, None):
        with pytest.raises(Error, match=r"c_frac is .*, but must be an integer"):
            quantize_model_with_training(
                layers, 8, params | {"c_frac": frac}, task(), log_dir=tmp_path
            )


def test_a_log_softmax_at_the_end_is_refused_with_advice(tmp_path):
    layers, params = network()
    layers.append(Layer("LogSoftmax", name="log", bottom="y", top="z"))
    with pytest.raises(Error, match=r"'log'.*remove it from the layer list"):
        quantize_model_with_training(layers, 8, params, task(), log_dir=tmp_path)


def test_the_module_is_found_where_the_manual_has_it():
    assert ndk.quant_train_torch.quant_layer.QuantizedNet is QuantizedNet
    assert ndk.quantize.quantize_model_with_training is quantize_model_with_training
