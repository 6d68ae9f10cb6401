"""The NPU kit's interface: networks as layers, in files, run float and as the chip does."""

import shutil
import subprocess

import npu_oracle as oracle
import numpy as np
import pytest
from ndk_networks import check_layer_by_layer, everything, parameters, start

import qemu_nn.ndk as ndk
from qemu_nn.errors import Error, ModelError
from qemu_nn.ndk.layers import Layer, get_net_input_output, get_network_output, get_tensor_name_list
from qemu_nn.ndk.quant_tools.numpy_net import build_numpy_layers, get_layer_weight_bias, run_layers

RNG = np.random.default_rng(8)


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("hw_aligned", [False, True])
def test_every_layer_computes_what_the_manual_says_of_the_integers_before_it(bits, hw_aligned):
    layers, params = everything(), parameters(bits)
    check_layer_by_layer(layers, params, RNG.normal(size=(2, 3, 8, 8)) * 2, bits, hw_aligned)


def test_an_unsigned_input_uses_all_of_its_codes():
    layers = [
        start(2, 3, 3),
        Layer(
            "Convolution",
            name="c",
            bottom="x",
            top="y",
            num_output=1,
            kernel_size=1,
            bias_term=False,
        ),
    ]
    params = {"x_frac": 0, "x_signed": False, "y_frac": -2, "c_frac_weight": 0}
    params["c_quant_weight"] = np.ones((1, 2, 1, 1), np.int64)
    x = np.full((1, 2, 3, 3), 255.0)
    assert (run_layers(x, layers, ["y"], params, True, 8)["y"] == 4 * (510 // 4)).all()
    with pytest.raises(ModelError, match="needs a bit width of 8"):
        run_layers(x, layers, ["y"], params, True, 16)


def floats(layers, params):
    """Float parameters that the quantized ones stand for."""
    names = [n for n in get_tensor_name_list(layers) if n.rpartition("_")[2] in ("weight", "bias")]
    return get_layer_weight_bias(names, params, quant=True)


def test_the_float_network_is_what_the_fixed_one_comes_close_to():
    layers, params = everything(), parameters(16)
    small = {k: v // 16 for k, v in params.items() if "_quant_" in k}  # so that nothing saturates
    params = {**params, **small}
    names = get_tensor_name_list(layers, feature_only=True)
    x = RNG.normal(size=(3, 3, 8, 8)) / 4
    fixed = run_layers(x, layers, names, params, True, 16)
    real = run_layers(x, layers, names, floats(layers, params))
    for name in names:
        assert np.abs(fixed[name] - real[name]).max() < 0.05, name


def test_weights_or_features_alone_can_be_on_their_grid():
    layers, params = everything(), parameters(8)
    x = RNG.normal(size=(2, 3, 8, 8))
    exact = floats(layers, params)
    weights = run_layers(x, layers, ["y"], params, True, quant_weight_only=True)
    np.testing.assert_array_equal(weights["y"], run_layers(x, layers, ["y"], exact)["y"])
    features = run_layers(x, layers, ["c", "y"], {**params, **exact}, True, quant_feature_only=True)
    scaled = np.ldexp(features["c"], params["c_frac"])
    np.testing.assert_array_equal(scaled, np.floor(scaled))
    with pytest.raises(Error, match="leave one out"):
        run_layers(x, layers, ["y"], params, True, quant_weight_only=True, quant_feature_only=True)


def test_layers_built_once_give_the_same_and_need_no_parameters(capsys):
    layers, params = everything(), parameters(8)
    x = RNG.normal(size=(2, 3, 8, 8))
    built = build_numpy_layers(layers, params, quant=True, bitwidth=8)
    got = run_layers(x, layers, ["y"], numpy_layers=built, log_on=True, use_ai_framework=False)
    np.testing.assert_array_equal(got["y"], run_layers(x, layers, ["y"], params, True)["y"])
    assert "y: [2, 5, 1, 1]" in capsys.readouterr().out
    with pytest.raises(Error, match="has neither param_dict"):
        run_layers(x, layers, ["y"])
    with pytest.raises(Error, match="no tensor 'q'; have: x, c"):
        run_layers(x, layers, ["q"], params)
    with pytest.raises(Error, match=r"\[N, C, H, W\]"):
        run_layers(x[0], layers, ["y"], params, True)


def test_built_layers_are_the_list_of_the_network_s_layers():
    from qemu_nn.ndk.quant_tools.quant_layers import QuantLayer

    layers, params = everything(), parameters(8)
    built = build_numpy_layers(layers, params, quant=True, bitwidth=8)
    assert len(built) == len(layers)
    assert all(isinstance(each, QuantLayer) for each in built)
    assert [each.name for each in built] == ndk.layers.get_layer_name_list(layers)
    assert built[1].type == "Convolution"
    assert built[1] in built[:2]
    np.testing.assert_array_equal(built[1].weight, params["conv_quant_weight"])
    assert (built[-1].weight, built[-1].bias) == (None, None)
    exact = floats(layers, params)
    real = build_numpy_layers(layers, exact, quant=False)
    np.testing.assert_array_equal(real[1].weight, exact["conv_weight"])
    with pytest.raises(Error, match=r"not those of build_numpy_layers\(\)"):
        run_layers(np.zeros((1, 3, 8, 8)), layers, ["y"], numpy_layers=built[1:])


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("count", [3, 4, 7])
def test_a_sum_of_several_is_exact_before_its_one_shift(bits, count):
    names = [f"t{i}" for i in range(count)]
    layers = [
        start(3, 2, 5),
        *(
            Layer("ReLU", name=f"relu_{name}", bottom="x", top=name, negative_slope=i / 4)
            for i, name in enumerate(names)
        ),
        Layer("Eltwise", name="sum", bottom=names, top="y"),
    ]
    x = RNG.integers(-(2 ** (bits - 1)), 2 ** (bits - 1), (2, 3, 2, 5)).astype(float)
    for shift in (0, 2, 15):
        params = {f"{name}_frac": 0 for name in ["x", *names]} | {"y_frac": -shift}
        check_layer_by_layer(layers, params, x, bits, hw_aligned=True)
    real = run_layers(x, layers, [*names, "y"], {})
    np.testing.assert_array_equal(real["y"], sum(real[name] for name in names))


@pytest.mark.parametrize("width", [8.0, "8", ["a"], True, None, 4])
def test_a_width_that_is_none_is_a_sentence_everywhere(width, tmp_path):
    layers, params, x = everything(), parameters(8), np.zeros((1, 3, 8, 8))
    name = tmp_path / "f"
    for call in (
        lambda: run_layers(x, layers, ["y"], params, True, width or 0),  # None is the default
        lambda: build_numpy_layers(layers, params, True, width),
        lambda: get_layer_weight_bias(["conv_weight"], params, True, width),
        lambda: ndk.modelpack.modelpack(width, layers, params, tmp_path),
        lambda: ndk.utils.save_quantized_feature_to_header(name, x, width, 3),
        lambda: ndk.quantize.compare_float_and_quant(layers, params, ["conv_weight"], width),
        lambda: ndk.quantize.quantize_model_with_training(layers, width, params, iter([])),
    ):
        with pytest.raises(Error, match=r"but must be the integer 8 or 16|needs torch"):
            call()


def test_transposed_fully_connected_weights_are_refused():
    layers = [start(12, 1, 1), Layer("InnerProduct", "fc", "x", "y", num_output=4)]
    real = {"fc_weight": np.ones((12, 4)), "fc_bias": np.zeros(4)}
    fixed = {"fc_quant_weight": np.ones((12, 4), np.int8), "fc_quant_bias": np.zeros(4, np.int8)}
    fixed |= {"x_frac": 0, "y_frac": 0, "fc_frac_weight": 0, "fc_frac_bias": 0}
    text = r"'fc' \(InnerProduct\): its {} is \[12, 4\], but must be \[4, 12, 1, 1\] or \[4, 12\]"
    with pytest.raises(ModelError, match=text.format("weight")):
        run_layers(np.ones((1, 12, 1, 1)), layers, ["y"], real)
    with pytest.raises(ModelError, match=text.format("quant_weight")):
        run_layers(np.ones((1, 12, 1, 1)), layers, ["y"], fixed, True)


def test_names_of_tensors_and_layers():
    layers = everything()
    assert ndk.layers.get_layer_name_list(layers)[:3] == ["input", "conv", "relu"]
    names = get_tensor_name_list(layers)
    assert names[:2] == ["x", "c"]
    assert names[-5:] == ["bn_bias", "scale_weight", "bias_bias", "fc_weight", "fc_bias"]
    assert get_network_output(layers) == ["y", "z"]
    assert get_net_input_output(layers) == (["x"], ["y", "z"])


def test_files_give_back_what_was_saved(tmp_path):
    layers, params = everything(), {**parameters(8), "x_signed": True, "é weight": np.float32(0.1)}
    text, arrays = tmp_path / "net.prototxt", tmp_path / "net.npz"
    ndk.modelpack.save_to_file(layers, text, params, arrays)
    again, got = ndk.modelpack.load_from_file(text, arrays)
    assert [repr(layer) for layer in again] == [repr(layer) for layer in layers]
    assert got.keys() == params.keys()
    for key, value in params.items():
        np.testing.assert_array_equal(got[key], value)
        assert type(got[key]) in (np.ndarray, int, bool, float)
    with pytest.raises(Error, match="give fname_npz"):
        ndk.modelpack.save_to_file(layers, text, params)


def test_names_of_any_kind_survive_the_text(tmp_path):
    odd = 'a "quoted"\\back\nline # no comment {'
    layers = [start(1, 2, 2), Layer("Sigmoid", name=odd, bottom="x", top=odd)]
    path = tmp_path / "net.prototxt"
    ndk.modelpack.save_to_file(layers, path)
    np.savez(tmp_path / "none.npz", a=1)
    again, _ = ndk.modelpack.load_from_file(path, tmp_path / "none.npz")
    assert (again[1].name, again[1].top) == (odd, odd)


def test_the_manual_s_own_spelling_is_read(tmp_path):
    (tmp_path / "m.prototxt").write_text(
        """layer {
          name: "input"  type: "Input"  top: "net_input"
          input_param { shape { dim: 1 # useless
            dim: 3 dim: 32 dim: 32 } }
        }
        layer { name: "pool1" type: "Pooling" bottom: "net_input" top: "out"
          pooling_param { kernel_size_h: 3 kernel_size_w: 2 stride_h: 2 stride_w: 2
            pad_n: 1 pad_s: -1 pad_w: 0 pad_e: 1 dilation_h: 1 dilation_w: 1 pool: MAX } }"""
    )
    np.savez(tmp_path / "m.npz", a=1)
    (_, pool), _ = ndk.modelpack.load_from_file(tmp_path / "m.prototxt", tmp_path / "m.npz")
    assert (pool.kernel_size, pool.stride, pool.pad, pool.pool) == (
        (3, 2),
        (2, 2),
        (1, -1, 0, 1),
        "MAX",
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not a list of layers"),
        ("layer {", "ends in the middle|expected the name of a field"),
        ("layer }", "no value"),
        ('layer { name: "a" }', "no name or no type"),
        ('layer { name: "a" type: "Gelu" }', "no layer type 'Gelu'"),
        ('layer { name: "a" type: "ReLU" relu_param { speed: 1 } }', "ReLU has no 'speed'"),
        ('layer { name: "a" type: "ReLU" mystery: 1 }', "no field 'mystery'"),
        ('layer { name: "a" name: "b" type: "ReLU" }', "2 fields 'name'"),
        ('layer { name: "a" type: "Convolution" }', "lacks num_output, kernel_size"),
        ("layer " + "{ a " * 50, "nested too deeply"),
        ("layer { name: ] }", "no name or no type|not the text"),
    ],
)
def test_other_texts_are_refused_with_the_reason(tmp_path, text, reason):
    (tmp_path / "m.prototxt").write_text(text)
    np.savez(tmp_path / "m.npz", a=1)
    with pytest.raises(ModelError, match=reason):
        ndk.modelpack.load_from_file(tmp_path / "m.prototxt", tmp_path / "m.npz")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"c_frac": None}, "'conv' .*lacks the parameter 'c_frac'"),
        ({"conv_quant_weight": None}, "'conv' .*lacks the parameter 'conv_quant_weight'"),
        ({"conv_quant_weight": np.full((4, 3, 3, 3), 128)}, "not 8-bit integers"),
        ({"conv_frac_weight": np.array([1, 2])}, "has the frac_weight"),
        ({"c_frac": 20}, r"shifts its sum by -\d+ bits, but must shift by 0..15"),
        ({"conv_frac_bias": 30}, r"shifts its bias by -\d+ bits, but must shift by 0..15"),
        (
            {"r_frac": 4},
            "'relu' .*has the fractions c 3, r 4 for its tensors",
        ),
        ({"t_frac": 6}, "'gate' .*has 6 fraction bits for 't', but needs 7"),
    ],
)
def test_parameters_that_no_hardware_takes_name_the_layer(change, reason):
    params = {**parameters(8), **{k: v for k, v in change.items() if v is not None}}
    for key in [k for k, v in change.items() if v is None]:
        del params[key]
    with pytest.raises(ModelError, match=reason):
        build_numpy_layers(everything(), params)


@pytest.mark.parametrize("aligned", [True, False])
@pytest.mark.parametrize(("bits", "signed"), [(8, True), (8, False), (16, True)])
def test_a_header_holds_the_numbers_aligned_and_packed(tmp_path, aligned, bits, signed):
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler named cc")
    x = RNG.normal(size=(1, 2, 3, 5)) * 60
    ndk.utils.save_quantized_feature_to_header(
        tmp_path / "f.h", x, bits, 1, signed=signed, name_in_header="net_in", aligned=aligned
    )
    (tmp_path / "p.c").write_text(
        '#include <stdio.h>\n#include "f.h"\n'
        "int main(void) {\n"
        "    for (unsigned i = 0; i < sizeof net_in / sizeof net_in[0]; i++)\n"
        '        printf("%d\\n", net_in[i]);\n'
        "    return 0;\n}\n"
    )
    command = [compiler, "-Wall", "-Werror", "-o", tmp_path / "p", tmp_path / "p.c"]
    subprocess.run(command, check=True)
    printed = subprocess.run([tmp_path / "p"], check=True, capture_output=True, text=True).stdout
    low, high = oracle.LIMITS[f"{'s' if signed else 'u'}{bits}"]
    values = np.clip(np.floor(x * 2), low, high).astype(int)
    if aligned:
        values = np.pad(values, ((0, 0),) * 3 + ((0, 32 // (bits // 8) - 5),))
    assert [int(line) for line in printed.split()] == values.ravel().tolist()


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ({"bit_width": 4}, "is 4, but must be the integer 8 or 16"),
        ({"name_in_header": "1a"}, "must be a C identifier"),
    ],
)
def test_headers_that_can_not_be_are_refused(tmp_path, how, reason):
    how = {"bit_width": 8, "frac": 0, **how}
    with pytest.raises(Error, match=reason):
        ndk.utils.save_quantized_feature_to_header(tmp_path / "f.h", np.zeros((1, 1, 1, 1)), **how)


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ({"type": "Gelu"}, "no layer type 'Gelu'; have: Input"),
        ({"type": "ReLU", "speed": 1}, "no attribute 'speed'; have: negative_slope"),
        ({"type": "Convolution", "num_output": 3}, "lacks kernel_size"),
        ({"type": "Pooling", "kernel_size": (1, 2, 3)}, "but must be 2 integers"),
        ({"type": "Pooling", "kernel_size": (1.5, 2)}, "but must be 2 integers"),
        ({"type": "Pooling", "kernel_size": ["a", "b"]}, "but must be 2 integers"),
        ({"type": "Slice", "slice_point": ["a"]}, "slice_point is .'a'., but must be integers"),
        ({"type": "InnerProduct", "num_output": 2.5}, "num_output is 2.5, but must be an integer"),
        ({"type": "InnerProduct", "num_output": "2"}, "num_output is '2', but must be an integer"),
        (
            {"type": "Scale", "bias_term": "false"},
            "bias_term is 'false', but must be True or False",
        ),
        ({"type": "ReLU", "negative_slope": "a"}, "negative_slope is 'a', but must be a number"),
    ],
)
def test_layers_that_can_not_be_are_refused(how, reason):
    with pytest.raises(ModelError, match=reason):
        Layer(name="a", bottom="x", top="y", **how)
