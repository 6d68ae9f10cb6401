"""quantize_model of the NPU's kit: each argument does what the manual's chapter 4.3.1 says."""

import tracemalloc
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ndk_networks import check_layer_by_layer, networks, start

import qemu_nn.ndk as ndk
from qemu_nn.errors import Error, ModelError
from qemu_nn.ndk.layers import Layer, get_network_output
from qemu_nn.ndk.quant_tools.numpy_net import run_layers
from qemu_nn.wuqi.check import list_warnings
from qemu_nn.wuqi.shifts import ORDERS, Fractions, assign_fractions

RNG = np.random.default_rng(77)
CONV = [
    start(2, 4, 4),
    Layer("Convolution", name="conv", bottom="x", top="c", num_output=3, kernel_size=3),
    Layer("ReLU", name="relu", bottom="c", top="r"),
    Layer("InnerProduct", name="fc", bottom="r", top="y", num_output=4),
]
REAL = {
    "conv_weight": RNG.normal(size=(3, 2, 3, 3)) / 3,
    "conv_bias": RNG.normal(size=3) / 2,
    "fc_weight": RNG.normal(size=(4, 3, 2, 2)),
    "fc_bias": RNG.normal(size=4),
}
DATA = RNG.normal(size=(40, 8, 2, 4, 4))
LINE = [start(1, 1, 1), Layer("InnerProduct", name="fc", bottom="x", top="y", num_output=1)]


def batches(data=DATA):
    for batch in data:
        yield {"input": batch}


def quantize(layers=CONV, params=REAL, bits=8, data=DATA, **how):
    return ndk.quantize.quantize_model(layers, params, bits, batches(data), **how)[1]


def line(weight, bias, values, **how):
    """Return the parameters of a network y = weight x + bias."""
    params = {"fc_weight": np.full((1, 1, 1, 1), weight), "fc_bias": np.array([bias])}
    return quantize(LINE, params, data=np.reshape(values, (1, -1, 1, 1, 1)), **how)


def noise(params, bits, data=DATA, layers=CONV):
    """Mean square of the distance from the float network's outputs."""
    x, (name,) = np.concatenate(data), get_network_output(layers)
    real = run_layers(x, layers, [name], params)[name]
    return np.mean((real - run_layers(x, layers, [name], params, True, bits)[name]) ** 2)


@pytest.mark.parametrize(("bits", "least"), [(8, 30), (16, 75)])
def test_outputs_come_close_to_the_float_network_s(bits, least):
    layers, params = ndk.quantize.quantize_model(CONV, REAL, bits, batches())
    assert [layer.name for layer in layers] == [layer.name for layer in CONV]
    assert params["conv_quant_weight"].dtype == np.dtype(f"int{bits}")
    np.testing.assert_array_equal(params["conv_weight"], REAL["conv_weight"])
    found = ndk.quantize.compare_float_and_quant(
        layers, params, ["y"], bits, data_generator=batches()
    )
    assert found["y_qsnr"] > least
    assert not list_warnings(layers, params)


def test_minmax_takes_the_finest_fraction_that_holds_the_range():
    for most, frac in ((1.0, 6), (127 / 128, 7), (0.99, 7), (2.0, 5), (127.0, 0), (130.0, -1)):
        found = line(most, 0.0, [-most / 3, most])
        assert found["x_frac"] == frac, most
        assert found["fc_frac_weight"].tolist() == [frac]


def test_each_output_channel_has_its_own_fractions():
    real = {**REAL, "conv_weight": REAL["conv_weight"] * np.array([1, 8, 0]).reshape(3, 1, 1, 1)}
    found = quantize(params=real)
    finest = found["conv_frac_weight"]
    assert finest[0] - finest[1] in (2, 3, 4)
    assert finest[2] == finest[1]  # a channel of zeros takes the least
    assert abs(found["conv_quant_weight"]).max((1, 2, 3)).tolist()[2] == 0


def test_a_relu_s_output_decides_for_the_layer_before_it():
    values = np.array([-100.0, 0.9])
    layers = [*LINE, Layer("ReLU", name="relu", bottom="y", top="r")]
    params = {"fc_weight": np.ones((1, 1, 1, 1)), "fc_bias": np.zeros(1)}
    found = quantize(layers, params, data=values.reshape(1, 2, 1, 1, 1))
    assert found["y_frac"] == found["r_frac"] == 7
    layers[2] = Layer("ReLU", name="relu", bottom="y", top="r", negative_slope=0.5)
    found = quantize(layers, params, data=values.reshape(1, 2, 1, 1, 1))
    assert found["y_frac"] == found["r_frac"] == 0


def test_an_input_without_negative_values_is_unsigned_at_8_bits_unless_the_user_says_no():
    data = abs(DATA) / abs(DATA).max()
    assert quantize(data=data)["x_signed"] is False
    assert quantize(data=data)["x_frac"] == 7
    assert quantize(data=data * 255 / 256)["x_frac"] == 8
    assert quantize(data=data, bits=16)["x_signed"] is True
    assert quantize(data=data, usr_param_dict={"x_signed": True})["x_signed"] is True
    layers = [CONV[0], Layer("ReLU", name="relu", bottom="x", top="r")]
    assert quantize(layers, {}, data=data)["x_signed"] is True


def test_the_user_s_fractions_are_obeyed():
    user = {"conv_weight_frac": 3, "conv_bias_frac": [2, 3, 4], "x_frac": 4, "y_frac": 1}
    found = quantize(usr_param_dict=user)
    assert found["conv_frac_weight"].tolist() == [3, 3, 3]
    assert found["conv_frac_bias"].tolist() == [2, 3, 4]
    assert (found["x_frac"], found["y_frac"]) == (4, 1)
    np.testing.assert_array_equal(
        found["conv_quant_weight"], np.floor(REAL["conv_weight"] * 8 + 0.5)
    )
    assert quantize(usr_param_dict={"r_frac": 2})["c_frac"] == 2
    with pytest.raises(Error, match="c, r share one fraction"):
        quantize(usr_param_dict={"r_frac": 2, "c_frac": 3})


def test_fractions_that_no_hardware_has_are_the_user_s_choice_and_are_told(capsys):
    quantize(usr_param_dict={"x_frac": 0, "conv_weight_frac": 0, "r_frac": 5})
    assert "warning: layer 'conv' (Convolution): it shifts its sum by -5" in capsys.readouterr().out


def heavy():
    """Many values near 0, and one far away."""
    values = np.random.default_rng(3).laplace(size=4000)
    values[0] = 33
    return values


@pytest.mark.parametrize("method", ["MSE", "KL"])
def test_a_method_is_that_of_its_tensor_alone(method):
    layers = [start(10, 20, 20), *LINE[1:]]
    params = {"fc_weight": heavy().reshape(1, 10, 20, 20), "fc_bias": np.ones(1)}
    data = heavy().reshape(1, 1, 10, 20, 20)
    plain = quantize(layers, params, data=data)
    for name in ("x", "fc_weight"):
        found = quantize(layers, params, data=data, method_dict={name: method})
        key = "x_frac" if name == "x" else "fc_frac_weight"
        other = "fc_frac_weight" if name == "x" else "x_frac"
        assert np.max(found[key] - plain[key]) > 0
        np.testing.assert_array_equal(found[other], plain[other])


def test_mse_is_the_least_mean_square_error_of_all_fractions():
    values = heavy()
    found = line(1.0, 0.0, values, method_dict={"x": "MSE"})["x_frac"]
    errors = {
        n: np.mean((np.clip(np.rint(values * 2.0**n), -128, 127) / 2.0**n - values) ** 2)
        for n in range(-3, 9)
    }
    assert found == min(errors, key=errors.get) == 2
    assert line(1.0, 0.0, values)["x_frac"] == 1


def test_few_bins_can_not_tell_fractions_apart_that_many_do():
    values = np.random.default_rng(665).laplace(size=4000)
    values[0] = 128.28
    found = [
        line(1.0, 0.0, values, method_dict={"x": "KL"}, factor_num_bin=n)["x_frac"] for n in (0, 4)
    ]
    assert found == [0, 2]


@pytest.mark.parametrize("method", ["MSE", "KL"])
def test_at_16_bits_no_method_is_worse_than_the_whole_range(method):
    names = ["x", "c", "r", "y", "conv_weight", "fc_weight", "conv_bias", "fc_bias"]
    plain = noise(quantize(bits=16), 16)
    found = noise(quantize(bits=16, method_dict=dict.fromkeys(names, method)), 16)
    assert found <= 1.05 * plain


@pytest.mark.parametrize("method", ["MSE", "KL"])
@pytest.mark.parametrize("largest", [4.1, 5.0, 7.9])
def test_at_16_bits_a_few_values_beyond_a_power_of_two_do_not_saturate(method, largest):
    values = np.random.default_rng(5).normal(size=40000)
    values *= largest / np.abs(values).max()
    how = {"bits": 16, "method_dict": {"x": method}}
    assert (
        line(1.0, 0.0, values, **how)["x_frac"] == line(1.0, 0.0, values, bits=16)["x_frac"] == 12
    )


@pytest.mark.parametrize("method", ["MSE", "KL"])
def test_many_channels_at_16_bits_take_the_memory_of_their_values(method):
    many = {"fc_weight": RNG.normal(size=(500, 3, 2, 2)), "fc_bias": RNG.normal(size=500)}
    layers = [*CONV[:-1], Layer("InnerProduct", name="fc", bottom="r", top="y", num_output=500)]
    quantize(layers, {**REAL, **many}, 16)  # what is loaded once
    tracemalloc.start()
    names = ["x", "r", "y", "fc_weight", "fc_bias"]
    quantize(layers, {**REAL, **many}, 16, method_dict=dict.fromkeys(names, method))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16e6


def test_layer_by_layer_the_statistics_are_those_of_the_layers_that_are_fixed_already():
    user = {"conv_weight_frac": -3, "conv_bias_frac": 0}  # all weights become 0
    found = {
        aggressive: quantize(aggressive=aggressive, usr_param_dict=user, num_step=2)
        for aggressive in (True, False)
    }
    assert not found[True]["conv_quant_weight"].any()
    assert found[False]["r_frac"] > found[True]["r_frac"]
    assert found[False]["y_frac"] >= found[True]["y_frac"]


def counted(data, taken):
    for batch in data:
        taken.append(1)
        yield {"input": batch}


@pytest.mark.parametrize(("aggressive", "count"), [(True, 3 + 2), (False, 3 + 3 * 2)])
def test_batches_are_taken_once_and_only_as_many_as_are_asked_for(aggressive, count):
    taken = []
    how = {"aggressive": aggressive, "num_step_pre": 3, "num_step": 2}
    ndk.quantize.quantize_model(CONV, REAL, 8, counted(DATA, taken), **how)
    assert len(taken) == count


def test_the_range_is_that_of_all_batches_that_are_asked_for():
    data = np.ones((5, 1, 1, 1, 1)) * [
        [[[[1.0]]]],
        [[[[2.0]]]],
        [[[[4.0]]]],
        [[[[8.0]]]],
        [[[[16.0]]]],
    ]
    params = {"fc_weight": np.ones((1, 1, 1, 1)), "fc_bias": np.zeros(1)}
    user = {"x_signed": True}
    for pre, steps, frac in ((1, 0, 6), (2, 0, 5), (1, 2, 4), (2, 2, 3), (20, 100, 2)):
        how = {"num_step_pre": pre, "num_step": steps, "usr_param_dict": user}
        assert quantize(LINE, params, data=data, **how)["x_frac"] == frac


def test_a_gaussian_approximation_is_accepted_and_does_nothing():
    plain, other = quantize(), quantize(gaussian_approx=True)
    assert plain.keys() == other.keys()
    for key, value in plain.items():
        np.testing.assert_array_equal(value, other[key])


def test_a_log_softmax_is_dropped_with_a_warning_or_fed_what_it_can_hold(capsys):
    layers = [*CONV, Layer("LogSoftmax", name="log", bottom="y", top="p")]
    real = {**REAL, "fc_bias": REAL["fc_bias"] + 30}
    kept, params = ndk.quantize.quantize_model(layers, real, 8, batches())
    assert [layer.name for layer in kept] == ["input", "conv", "relu", "fc"]
    assert "the LogSoftmax 'log' is left out; compute it on the CPU" in capsys.readouterr().out
    kept, params = ndk.quantize.quantize_model(
        layers, real, 8, batches(), num_step_pre=40, drop_logsoftmax=False
    )
    assert len(kept) == 5
    assert params["y_frac"] == params["p_frac"] == 4
    moved = params["fc_bias"] - real["fc_bias"]
    np.testing.assert_allclose(moved, moved[0])
    x = np.concatenate(DATA)
    top = run_layers(x, layers, ["y"], params)["y"].max()
    assert 7.5 < top < 8
    want = run_layers(x, layers, ["p"], real)["p"].reshape(len(x), -1)
    got = run_layers(x, kept, ["p"], params, True, 8)["p"].reshape(len(x), -1)
    assert (want.argmax(1) == got.argmax(1)).mean() > 0.95


@pytest.mark.parametrize("order", ORDERS)
def test_what_comes_first_in_the_order_moves_least(order):
    """Against all triples within the hardware's shifts, of which the least moved one is taken."""
    letters, low, high = "fwb", -4, 40

    @given(*[st.integers(0, 34)] * 3)
    def check(out, product, bias):
        wanted = dict(zip(letters, (out, product, bias)))
        best = min(
            (
                dict(zip(letters, each))
                for each in product_of(low, high)
                if 0 <= each[1] - each[0] <= 15 and 0 <= each[1] - each[2] <= 15
            ),
            key=lambda each: [abs(each[k] - wanted[k]) for k in order],
        )
        asked = Fractions(out, np.array([product]), np.array([bias]))
        found = assign_fractions(order, asked, Fractions(), 15)
        assert (found.out, *found.products, *found.bias) == tuple(best.values())

    check()


def product_of(low, high):
    return product(range(low, high, 1), repeat=3)


def test_orders_of_priority_differ_where_the_shifts_are_too_narrow():
    small = {order: line(2.0**-20, 1.0, [1.0, -1.0], priority_mode=order) for order in ORDERS}
    for order, found in small.items():
        weights_first = order[0] == "w"
        assert (found["fc_frac_weight"][0] == 26) == weights_first, order
        assert (found["y_frac"] == 6) != weights_first, order
    user = {"x_frac": 0}
    for order, (w, b, y) in {"fwb": (13, 13, 13), "wfb": (0, 0, 0), "bwf": (15, 15, 13)}.items():
        found = line(
            100.0,
            0.002,
            [1e-4, -1e-4],
            priority_mode=order,
            usr_param_dict=user,
            compensate_floor_on_bias=False,
        )
        assert (found["fc_frac_weight"][0], found["fc_frac_bias"][0], found["y_frac"]) == (w, b, y)


@pytest.mark.parametrize("bits", [8, 16])
def test_half_a_step_on_the_bias_rounds_to_the_nearest(bits):
    real = {**REAL, "conv_bias": np.array([0.011, 0.02, -0.03])}
    plain = quantize(params=real, bits=bits, compensate_floor_on_bias=False)
    other = quantize(params=real, bits=bits)
    np.testing.assert_array_equal(plain["conv_quant_weight"], other["conv_quant_weight"])
    assert min(plain["conv_frac_bias"]) > other["c_frac"] + 3
    for found, half in ((plain, 0.0), (other, 2.0 ** -(other["c_frac"] + 1))):
        fracs = found["conv_frac_bias"]
        expected = np.floor(np.ldexp(real["conv_bias"] + half, fracs) + 0.5)
        np.testing.assert_array_equal(found["conv_quant_bias"], expected)
    assert noise(other, bits) < noise(plain, bits)


def test_a_bias_that_half_a_step_takes_over_the_edge_gets_a_wider_range():
    found = line(0.1, 0.0155, [1.0])
    assert found["y_frac"] == 10
    assert found["fc_frac_bias"].tolist() == [12]
    assert found["fc_quant_bias"].tolist() == [round((0.0155 + 2.0**-11) * 4096)]


def test_channels_far_apart_are_brought_together_as_one_output_can_serve():
    far = np.array([1, 2.0**-25, 1]).reshape(3, 1, 1, 1)
    real = {**REAL, "conv_weight": REAL["conv_weight"] * far}
    for order in ORDERS:
        found = quantize(params=real, priority_mode=order)
        assert np.ptp(found["conv_frac_weight"]) <= 15
        assert not list_warnings(CONV, found, 8)


def test_a_sum_is_shifted_no_further_than_the_hardware_can():
    conv = {"num_output": 2, "kernel_size": 1}
    layers = [
        start(2, 4, 4),
        *(Layer("Convolution", name=n, bottom="x", top=f"{n}y", **conv) for n in "ab"),
        Layer("Eltwise", name="sum", bottom=["ay", "by"], top="y"),
    ]
    real = {f"{n}_weight": RNG.normal(size=(2, 2, 1, 1)) for n in "ab"}
    real |= {f"{n}_bias": np.zeros(2) for n in "ab"}
    assert quantize(layers, real)["y_frac"] < 10
    assert quantize(layers, real, usr_param_dict={"ay_frac": 25})["y_frac"] == 10


def test_where_the_batches_end_the_first_ones_must_do():
    how = {"data": DATA[:1], "num_step_pre": 1}
    for aggressive in (True, False):
        assert quantize(aggressive=aggressive, **how)["y_frac"] == 3


def test_a_log_tells_why(tmp_path):
    quantize(
        log_dir=tmp_path / "a" / "b",
        method_dict={"conv_weight": "MSE"},
        usr_param_dict={"y_frac": 1},
    )
    text = (tmp_path / "a" / "b" / "quantize_model.log").read_text()
    assert "conv_weight: MSE asks for" in text
    assert "MINMAX asks for" in text
    assert "y: 1 fraction bits" in text


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("aggressive", [True, False])
def test_random_networks_keep_the_limits_and_compute_what_the_manual_says(bits, aggressive):
    @given(networks())
    def check(network):
        layers, params, x = network
        try:  # two layers may want two fractions for one tensor
            layers, params = ndk.quantize.quantize_model(
                *(layers, params, bits, iter([{"input": x}] * 30)),
                aggressive=aggressive,
                num_step_pre=1,
                num_step=1,
                drop_logsoftmax=False,
            )
        except ModelError as error:
            if "another layer needs" in str(error):
                return
            raise
        if any("its product" in text for text in list_warnings(layers, params, bits)):
            return  # of a ScaleByTensor whose output has a fixed fraction
        check_layer_by_layer(layers, params, x * 1.5, bits, hw_aligned=True)

    check()


def test_a_sum_before_a_relu6_is_not_shifted_to_the_left():
    conv = {"num_output": 2, "kernel_size": 1}
    layers = [
        start(2, 4, 4),
        Layer("Convolution", name="a", bottom="x", top="s", **conv),
        Layer("Convolution", name="b", bottom="x", top="t", **conv),
        Layer("Eltwise", name="sum", bottom=["s", "t"], top="u"),
        Layer("ReLU6", name="six", bottom="u", top="y"),
    ]
    real = {f"{name}_weight": RNG.normal(size=(2, 2, 1, 1)) * 20 for name in "ab"}
    real |= {"a_bias": np.zeros(2), "b_bias": np.zeros(2)}
    found = quantize(layers, real)
    assert found["s_frac"] == found["t_frac"] == found["u_frac"] == found["y_frac"] == 4
    layers[4] = Layer("ReLU", name="six", bottom="u", top="y")
    assert quantize(layers, real)["s_frac"] < 2


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ({"bits": 4}, "bitwidth is 4, but must be the integer 8 or 16"),
        ({"priority_mode": "fff"}, "priority_mode is 'fff', but must be one of fwb"),
        ({"method_dict": {"conv_weight": "MAX"}}, "'conv_weight' has the method 'MAX'"),
        (
            {"method_dict": {"nothing": "KL"}},
            "method_dict: there is no tensor 'nothing'; have: x, c",
        ),
        ({"factor_num_bin": 9}, "factor_num_bin is 9, but must be in 0..8"),
        ({"num_step_pre": 0}, "num_step_pre is 0"),
        ({"data": []}, "data_generator yields no batch"),
        ({"data": DATA * np.nan}, "not finite"),
        ({"data": DATA[:, :, :, 1:]}, r"has the shape \[8, 2, 3, 4\], but the network takes"),
        ({"layers": []}, "layer_list is empty"),
        ({"params": {}}, "the parameters lack 'conv_weight'"),
        (
            {"params": {**REAL, "conv_bias": np.full(3, np.inf)}},
            "conv_bias has values that are not finite",
        ),
        ({"params": {**REAL, "conv_weight": np.ones((3, 2, 2, 2))}}, "layer 'conv'"),
        ({"usr_param_dict": {"conv_weight_frac": [1, 2]}}, "an integer, or one for each channel"),
        ({"usr_param_dict": {"conv_frac_weight": 1.5}}, "an integer, or one for each channel"),
        ({"usr_param_dict": {"y_frac": 1.5}}, "y_frac is 1.5, but must be an integer"),
        ({"usr_param_dict": {"z_frac": 1}}, "z_frac.: there is no such tensor; have: x, c"),
        ({"usr_param_dict": {"y_frac": [3]}}, r"y_frac is \[3\], but must be an integer"),
        ({"usr_param_dict": {"y_frac": ["a"]}}, r"y_frac is \['a'\], but must be an integer"),
        (
            {"usr_param_dict": {"y_frc": 3}},
            "'y_frc': a key is TENSOR_frac or TENSOR_signed; have: x, c",
        ),
        ({"usr_param_dict": {"q_signed": True}}, "'q_signed': there is no such tensor; have: x, c"),
        ({"bits": 8.0}, "bitwidth is 8.0, but must be the integer 8 or 16"),
        ({"bits": "8"}, "bitwidth is '8', but must be the integer 8 or 16"),
        ({"bits": ["a"]}, r"bitwidth is \['a'\], but must be the integer 8 or 16"),
        ({"method_dict": {"conv_weight": ["a"]}}, r"'conv_weight' has the method \['a'\]"),
        ({"num_step": "5"}, "num_step is '5', but must be an integer"),
        (
            {"params": {**REAL, "fc_weight": np.ones((12, 4))}},
            r"is \[12, 4\], but must be \[4, 3, 2, 2\]",
        ),
        ({"usr_param_dict": {"x_signed": False}, "bits": 16}, "'x' is unsigned"),
    ],
)
def test_what_can_not_be_meant_is_refused(how, reason):
    with pytest.raises(Error, match=reason):
        quantize(**how)


@pytest.mark.parametrize(
    ("source", "reason"),
    [(None, "a NoneType, not"), (batches, "a function, not a generator; call it: data")],
)
def test_what_gives_no_batches_is_refused(source, reason):
    with pytest.raises(Error, match=f"data_generator is {reason}"):
        ndk.quantize.quantize_model(CONV, REAL, 8, source)
    if source is not None:
        with pytest.raises(Error, match=reason):
            ndk.quantize.analyze_tensor_distribution(
                CONV, REAL, [CONV[0].top], data_generator=source, quant=False
            )


def test_a_tensor_that_two_layers_want_in_two_fractions_is_refused():
    layers = [*LINE, Layer("Sigmoid", name="s", bottom="y", top="a")]
    layers += [Layer("TanH", name="t", bottom="y", top="b")]
    params = {"fc_weight": np.ones((1, 1, 1, 1)), "fc_bias": np.zeros(1)}
    with pytest.raises(ModelError, match="layer 't' \\(TanH\\): it needs 5 fraction bits for y"):
        quantize(layers, params, data=np.ones((1, 1, 1, 1, 1)))
    with pytest.raises(Error, match="of y are 3, but the hardware fixes 4"):
        quantize(layers[:3], params, data=np.ones((1, 1, 1, 1, 1)), usr_param_dict={"y_frac": 3})


def test_the_caller_s_generator_gives_the_next_batch_afterwards():
    source = batches()
    ndk.quantize.quantize_model(CONV, REAL, 8, source, num_step_pre=2, num_step=3)
    np.testing.assert_array_equal(next(source)["input"], DATA[5])
    ndk.quantize.quantize_model(CONV, REAL, 8, source, num_step_pre=2, num_step=3)
    np.testing.assert_array_equal(next(source)["input"], DATA[11])


@pytest.mark.parametrize("option", ["num_step_pre", "num_step"])
def test_more_batches_than_anyone_counts_are_all_there_are(option):
    quantize = ndk.quantize.quantize_model
    found = [quantize(CONV, REAL, 8, batches(), **{option: n})[1] for n in (10**20, 10**6)]
    for name, array in found[1].items():
        np.testing.assert_array_equal(found[0][name], array)


def test_warnings_are_those_of_the_width(capsys):
    layers = [
        start(512, 3, 3),
        Layer("Convolution", name="c", bottom="x", top="y", num_output=16, kernel_size=3),
    ]
    params = {"c_weight": RNG.normal(size=(16, 512, 3, 3)), "c_bias": np.zeros(16)}
    for bits, words in ((8, ""), (16, "sums of 4608, must have at most 4096 with 16 bits")):
        quantize(layers, params, bits, RNG.normal(size=(2, 1, 512, 3, 3)))
        printed = capsys.readouterr().out
        assert words in printed
        assert bool(printed) == bool(words)


def test_a_softmax_is_taken_away_or_becomes_its_logarithm(capsys):
    layers = [*CONV, Layer("Softmax", name="end", bottom="y", top="p")]
    kept, _ = ndk.quantize.quantize_model(layers, REAL, 8, batches())
    assert [layer.type for layer in kept] == [layer.type for layer in CONV]
    assert "the Softmax 'end' is left out" in capsys.readouterr().out
    logs, params = ndk.quantize.quantize_model(layers, REAL, 8, batches(), drop_logsoftmax=False)
    assert (logs[-1].type, layers[-1].type) == ("LogSoftmax", "Softmax")
    scores = run_layers(DATA[0], logs, ["p"], params, True)["p"]
    real = run_layers(DATA[0], layers, ["p"], REAL)["p"]
    np.testing.assert_allclose(real.sum(1), 1)
    assert np.abs(np.exp(scores) - real).max() < 0.2


def test_a_sum_of_several_is_quantized_and_comes_close():
    conv = {"num_output": 3, "kernel_size": 1}
    names = ["a", "b", "c", "d"]
    layers = [
        start(2, 4, 4),
        *(Layer("Convolution", name=f"conv_{n}", bottom="x", top=n, **conv) for n in names),
        Layer("Eltwise", name="sum", bottom=names, top="y"),
    ]
    rng = np.random.default_rng(8)
    params = {f"conv_{n}_weight": rng.normal(size=(3, 2, 1, 1)) for n in names}
    params |= {f"conv_{n}_bias": rng.normal(size=3) for n in names}
    for bits, most in ((8, 0.1), (16, 1e-5)):
        found = quantize(layers, params, bits)
        assert noise(found, bits, layers=layers) < most
        x = DATA[0][:2]
        check_layer_by_layer(layers, found, x, bits, hw_aligned=True)
