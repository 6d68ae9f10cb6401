"""Limits of the NPU: each is told for a layer that breaks it, and not for one that just fits."""

import numpy as np
import pytest
from ndk_networks import everything, parameters, start

from qemu_nn.ndk.layers import Layer, check_layers
from qemu_nn.wuqi.check import list_warnings


def conv(**changes):
    values = {"num_output": 16, "kernel_size": (3, 3), "stride": (1, 1), "pad": (1, 1, 1, 1)}
    return Layer("Convolution", name="c", bottom="x", top="c", **{**values, **changes})


def pool(**changes):
    values = {"kernel_size": (2, 2), "stride": (2, 2)}
    return Layer("Pooling", name="p", bottom="x", top="p", **{**values, **changes})


def log(bottom="f"):
    return Layer("LogSoftmax", name="log", bottom=bottom, top="y")


def softmax():
    return Layer("Softmax", name="s", bottom="f", top="s")


def dense(bottom="x", name="f"):
    return Layer("InnerProduct", name=name, bottom=bottom, top=name, num_output=4)


def relu(bottom, name):
    return Layer("ReLU", name=name, bottom=bottom, top=name)


@pytest.mark.parametrize(
    "layers",
    [
        [start(16, 32, 32), conv()],
        [start(16, 32, 32), conv(kernel_size=(16, 16), pad=(0, 0, 0, 0), stride=1)],
        [start(16, 32, 32), conv(stride=6, kernel_size=2, pad=(0, 0, 0, 0))],
        [start(16, 64, 64), conv(dilation=6, kernel_size=6, pad=(0, 0, 0, 0))],
        [start(16, 8, 8), conv(group=16)],
        [start(32, 8, 8), conv(group=2, num_output=32)],
        [start(455, 8, 8), conv()],
        [start(16, 32, 32), pool()],
        [start(4, 16, 16), dense(), log()],
        [start(4, 16, 16), dense(), softmax()],
        [start(4, 8, 8), conv(), relu("c", "r"), conv()][:3],
    ],
    ids=range(11),
)
def test_what_just_fits_is_not_warned_of(layers, capsys):
    assert list_warnings(layers) == []
    assert check_layers(layers) is False
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("layers", "text"),
    [
        ([conv()], "first layer must be an Input"),
        ([start(3, 8, 8), conv(), conv()], "2 layers are called 'c'"),
        ([start(3, 8, 8), relu("q", "r")], "reads 'q', which no layer makes"),
        (
            [start(3, 40, 40), conv(kernel_size=17, pad=(8,) * 4)],
            "kernel is 17 x 17, must be at most 16 on a side (§6.7)",
        ),
        (
            [start(3, 8, 8), conv(stride=(1, 2), pad=(1, 1, 1, 0))],
            "stride is 1 x 2, must be the same",
        ),
        (
            [start(3, 64, 64), conv(stride=7, kernel_size=1, pad=(0,) * 4)],
            "stride is 7 x 7, must be at most 6",
        ),
        (
            [start(3, 64, 64), conv(dilation=7, pad=(7,) * 4)],
            "dilation is 7 x 7, must be at most 6",
        ),
        (
            [start(3, 64, 64), conv(dilation=(1, 2), pad=(1, 1, 2, 2))],
            "dilation is 1 x 2, must be the same",
        ),
        (
            [start(3, 64, 64), conv(dilation=6, kernel_size=7, pad=(0,) * 4)],
            "spans 37 x 37, must span at most 32",
        ),
        ([start(4, 8, 8), conv(group=2)], "each of its 2 groups has 8 outputs"),
        ([start(3, 8, 8), conv(group=2)], "group 2 does not divide 3 and 16"),
        ([start(456, 8, 8), conv()], "sums of 4104, must have at most 4096 with 16 bits"),
        ([start(911, 8, 8), conv()], "sums of 8199, must have at most 8192 with 8 bits"),
        ([start(3, 8, 8), conv(stride=2)], "leave 1 of the height unread; pad or crop"),
        ([start(3, 9, 8), pool()], "leave 1 of the height"),
        ([start(3, 34, 34), pool(kernel_size=17, stride=1)], "at most 16 on a side (§6.8)"),
        ([start(3, 17, 8), dense()], "its input is 17 x 8, must be at most 16 x 16 (§6.6)"),
        (
            [start(3, 8, 8), conv(), relu("c", "r"), relu("r", "s")],
            "follows another nonlinear layer, 'r' (§6.3)",
        ),
        (
            [start(4, 8, 8), Layer("Slice", name="s", bottom="x", top=["a", "b"], slice_point=[2])],
            "may not be the first layer (§6.12)",
        ),
        (
            [start(4, 8, 8), conv(), Layer("Eltwise", name="e", bottom=["c", "c"], top="e")],
            "reads a tensor twice (§6.14)",
        ),
        (
            [
                start(4, 8, 8),
                conv(),
                relu("c", "r"),
                Layer("Eltwise", name="e", bottom=["c", "r"], top="e", operation="max"),
            ],
            "its operation is 'max', must be 'sum'",
        ),
        (
            [start(4, 8, 8), conv(), relu("c", "r"), log("r")],
            "may only follow an ungrouped Convolution",
        ),
        (
            [
                start(16, 8, 8),
                conv(group=16),
                Layer("ShuffleChannel", name="m", bottom="c", top="m", group=2),
            ],
            "may only follow an ungrouped",
        ),
        ([start(4, 8, 8), conv(), log("c")], "height of 8, must be 1 (§6.16)"),
        (
            [start(4, 1, 17), conv(kernel_size=1, pad=(0,) * 4), log("c")],
            "a width 17, must have at most 16 with 16 bits",
        ),
        (
            [start(4, 8, 8), dense(), softmax(), dense("s", "g")],
            "no Softmax in fixed point",
        ),
    ],
)
def test_a_broken_limit_is_told_with_its_section(layers, text, capsys):
    (found, *_) = [each for each in list_warnings(layers) if text in each] or [None]
    assert found, list_warnings(layers)
    assert "§" in found
    assert check_layers(layers) is True
    assert f"warning: {found}" in capsys.readouterr().out


def test_a_tensor_of_two_layers_of_several_inputs_is_told():
    layers = [
        start(4, 8, 8),
        conv(),
        relu("c", "r"),
        Layer("Eltwise", name="e", bottom=["c", "r"], top="e"),
        Layer("Concat", name="j", bottom=["e", "r"], top="j"),
    ]
    told = " ".join(list_warnings(layers))
    assert "'j' reads 'r', too" in told
    assert "'e' reads 'r', too" in told


def test_fixed_point_parameters_are_checked_when_there_are_any():
    layers = [start(3, 8, 8), conv(num_output=4, stride=2, pad=(1, 0, 1, 0))]
    layers[1].name = "conv"
    params = {k: v for k, v in parameters(8).items() if k.startswith(("conv", "x_", "c_"))}
    assert list_warnings(layers, params) == []
    assert "shifts its sum" in list_warnings(layers, {**params, "c_frac": 20})[0]
    assert len(everything()) > 10


WIDE = [
    [start(512, 8, 8), conv()],
    [start(4, 1, 24), conv(kernel_size=1, pad=(0,) * 4), log("c")],
]


@pytest.mark.parametrize("layers", WIDE, ids=["sums", "width"])
def test_limits_of_16_bits_are_none_of_8(layers):
    assert check_layers(layers, bitwidth=8) is False
    assert check_layers(layers, bitwidth=16) is True
    assert check_layers(layers) is True


def test_fixed_point_parameters_tell_which_width_s_limits_hold(capsys):
    layers = [start(512, 8, 8), conv()]
    params = {"x_frac": 0, "c_frac": 0, "c_frac_weight": 0, "c_frac_bias": 0}
    params |= {"c_quant_bias": np.zeros(16, np.int8)}
    shape = (16, 512, 3, 3)
    for dtype, broken in (("int8", False), ("int64", False), ("int16", True)):
        weights = np.full(shape, 300 if broken else 3, dtype)
        assert check_layers(layers, {**params, "c_quant_weight": weights}) is broken, dtype
    params["c_quant_bias"] = np.zeros(16, np.int16)
    assert check_layers(layers, {**params, "c_quant_weight": np.zeros(shape, np.int16)}) is True
    assert "sums of 4608, must have at most 4096 with 16 bits" in capsys.readouterr().out


def small():
    return [start(4, 3, 3), conv(num_output=2), relu("c", "r"), dense("r")], {
        "c_weight": np.ones((2, 4, 3, 3)),
        "c_bias": np.ones(2),
        "f_weight": np.ones((4, 2, 3, 3)),
        "f_bias": np.ones((4, 1, 1)),
    }


def test_float_parameters_that_fit_are_not_warned_of():
    layers, params = small()
    assert check_layers(layers, params) is False
    flat = params["f_weight"].reshape(4, 18)
    assert check_layers(layers, {**params, "f_weight": flat}) is False


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("c_weight", None, "the parameters lack 'c_weight' (§6.7)"),
        ("f_bias", None, "the parameters lack 'f_bias' (§6.6)"),
        (
            "c_bias",
            np.array([1, np.nan]),
            "layer 'c' (Convolution): c_bias has values that are not finite",
        ),
        ("c_weight", np.full((2, 4, 3, 3), np.inf), "c_weight has values that are not finite"),
        ("c_bias", ["a", "b"], "c_bias has values that are not finite"),
        ("c_bias", [[1], [1, 2]], "c_bias has values that are not finite"),
        ("c_bias", np.ones(3), "layer 'c' (Convolution): its bias is [3], but must be [2] (§6.7)"),
        ("c_weight", np.ones((4, 2, 3, 3)), "its weight is [4, 2, 3, 3], but must be [2, 4, 3, 3]"),
        (
            *("f_weight", np.ones((18, 4))),
            "layer 'f' (InnerProduct): its weight is [18, 4], but must be [4, 2, 3, 3] or [4, 18]",
        ),
    ],
)
def test_float_parameters_that_are_wrong_are_named(key, value, text, capsys):
    layers, params = small()
    params[key] = value
    assert check_layers(layers, {k: v for k, v in params.items() if v is not None}) is True
    printed = capsys.readouterr().out
    assert text in printed
    assert printed.count("warning") == 1
