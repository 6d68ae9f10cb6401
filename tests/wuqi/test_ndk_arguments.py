"""No argument of the kit is ignored, and a wrong one is named in a sentence."""

import numpy as np
import pytest

import qemu_nn.ndk as ndk
from qemu_nn.errors import Error
from qemu_nn.ndk.layers import Layer
from qemu_nn.ndk.quant_tools.numpy_net import (
    build_numpy_layers,
    get_layer_weight_bias,
    run_layers,
)

POOLED = [
    Layer("Input", "in", top="x", dim=(1, 1, 4, 4)),
    Layer(
        *("Pooling", "p", "x", "y"), kernel_size=(3, 3), stride=(1, 1), pad=(1, 1, 1, 1), pool="AVE"
    ),
]
FRACS = {"x_frac": 0, "y_frac": 0, "x_signed": True}
PIXELS = np.full((1, 1, 4, 4), 36.0)

SUMMED = [
    Layer("Input", "in", top="x", dim=(1, 2, 4, 4)),
    Layer(*("Convolution", "c", "x", "t"), num_output=2, kernel_size=(3, 3), pad=(1, 1, 1, 1)),
    Layer("Scale", "s", "t", "y"),
]


@pytest.fixture
def floats():
    rng = np.random.default_rng(0)
    shapes = {"c_weight": (2, 2, 3, 3), "c_bias": 2, "s_weight": 2, "s_bias": 2}
    return {name: rng.normal(size=shape) for name, shape in shapes.items()}


def batches():
    rng = np.random.default_rng(1)
    return iter([{"input": rng.normal(size=(4, 2, 4, 4))} for _ in range(3)])


@pytest.fixture
def quantized(floats):
    return ndk.quantize.quantize_model(SUMMED, floats, 8, batches())


def pooled(**how):
    return run_layers(PIXELS, POOLED, ["y"], **how)["y"]


@pytest.mark.parametrize("aligned", [False, True])
def test_a_built_network_runs_with_the_averages_that_are_asked_for(aligned):
    wanted = pooled(param_dict=FRACS, quant=True, hw_aligned=aligned)
    for built_aligned in (False, True):
        built = build_numpy_layers(POOLED, FRACS, hw_aligned=built_aligned)
        got = pooled(numpy_layers=built, hw_aligned=aligned)
        np.testing.assert_array_equal(got, wanted)
        assert pooled(numpy_layers=built, hw_aligned=not aligned).tolist() != wanted.tolist()
        kept = pooled(numpy_layers=built)
        assert (kept == wanted).all() == (built_aligned == aligned)


def test_a_built_network_rounds_the_side_that_is_asked_for(quantized):
    layers, params = quantized
    x = np.random.default_rng(2).normal(size=(2, 2, 4, 4))
    built = build_numpy_layers(layers, params)
    for side in ("quant_weight_only", "quant_feature_only"):
        want = run_layers(x, layers, ["y"], params, quant=True, **{side: True})["y"]
        got = run_layers(x, layers, ["y"], numpy_layers=built, **{side: True})["y"]
        np.testing.assert_array_equal(got, want)
    whole = run_layers(x, layers, ["y"], numpy_layers=built)["y"]
    assert whole.tolist() != got.tolist()


@pytest.mark.parametrize("other", [{"quant": False}, {"bitwidth": 16}])
def test_a_built_network_of_another_width_is_refused(other):
    built = build_numpy_layers(POOLED, FRACS)
    with pytest.raises(Error, match="numpy_layers was built with"):
        pooled(numpy_layers=built, **other)


def test_a_list_of_its_layers_is_a_built_network(quantized):
    layers, params = quantized
    x = np.random.default_rng(3).normal(size=(2, 2, 4, 4))
    want = run_layers(x, layers, ["y"], params, quant=True)["y"]
    got = run_layers(x, layers, ["y"], numpy_layers=list(build_numpy_layers(layers, params)))["y"]
    np.testing.assert_array_equal(got, want)
    part = list(build_numpy_layers(layers, params))[:-1]
    with pytest.raises(Error, match="are not those of build_numpy_layers"):
        run_layers(x, layers, ["y"], numpy_layers=part)


def test_layers_of_a_quantized_network_are_not_merged(quantized):
    layers, params = quantized
    for change in (
        lambda: ndk.optimize.merge_layers(layers, params),
        lambda: ndk.optimize.add_pre_norm(layers, params, 2.0, 1.0),
    ):
        with pytest.raises(Error, match=r"needs a float network.*call it before quantize_model"):
            change()


def test_one_parameter_is_an_array_as_the_manual_says(floats, quantized):
    np.testing.assert_array_equal(get_layer_weight_bias(["c_weight"], floats), floats["c_weight"])
    several = get_layer_weight_bias(["c_weight", "c_bias"], floats)
    assert list(several) == ["c_weight", "c_bias"]
    params = quantized[1]
    got = get_layer_weight_bias(["c_bias"], params, quant=True)
    want = params["c_quant_bias"] * 2.0 ** -params["c_frac_bias"]
    np.testing.assert_array_equal(got, want)


X = np.zeros((1, 2, 4, 4))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda f, _: run_layers(X, SUMMED, "y", f),
            r"is a text, but must be a list of names: give \['y'\]",
        ),
        (
            lambda f, _: get_layer_weight_bias("c_weight", f),
            r"is a text, but must be a list of names: give \['c_weight'\]",
        ),
        (
            lambda f, _: run_layers(X, ["a"], ["y"], f),
            "contains 'a', but must contain Layer objects only",
        ),
        (
            lambda f, _: run_layers(X, SUMMED[0], ["y"], f),
            r"is one Layer, but must be a list of layers: give \[in\]",
        ),
        (
            lambda *_: build_numpy_layers(SUMMED, None),
            "param_dict is None, but must be a dictionary",
        ),
        (
            lambda *_: ndk.optimize.merge_layers(SUMMED, None),
            "param_dict is None, but must be a dictionary",
        ),
        (lambda f, _: ndk.layers.check_layers(SUMMED[0], f), "is one Layer"),
        (
            lambda f, _: ndk.quantize.quantize_model(SUMMED[0], f, 8, batches()),
            "layer_list is one Layer, but must be a list of layers",
        ),
        (
            lambda _, p: ndk.utils.save_quantized_feature_to_header(p / "a.h", X, 8, 7.5),
            "frac must be an integer, not 7.5",
        ),
        (
            lambda _, p: ndk.utils.save_quantized_feature_to_header(
                p / "a.h", X, 8, 7, name_in_header="int"
            ),
            "name_in_header is 'int', but must be a C identifier",
        ),
    ],
)
def test_a_wrong_argument_is_a_sentence(floats, tmp_path, call, words):
    with pytest.raises(Error, match=words):
        call(floats, tmp_path)
    assert not list(tmp_path.iterdir())


def test_the_name_of_a_pack_has_no_ending(quantized, tmp_path):
    layers, params = quantized
    with pytest.raises(Error, match=r"is 'a\.bin', but must be a name without"):
        ndk.modelpack.modelpack(8, layers, params, tmp_path, model_name="a.bin")
