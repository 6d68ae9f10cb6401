"""Damaged files of the NPU's kit, and parameters that do not fit: an Error, never anything else."""

import random
from contextlib import suppress

import numpy as np
import pytest
from ndk_networks import everything, parameters

import qemu_nn.ndk as ndk
from qemu_nn.errors import Error
from qemu_nn.ndk.layers import get_network_output, get_tensor_name_list
from qemu_nn.ndk.quant_tools.numpy_net import run_layers
from qemu_nn.wuqi.check import list_warnings

ODD = ["-1", "0", "65536", "2147483648", "9" * 20, "1e400", "nan", "-0.5", "true", '""', "{", "}"]
X = np.random.default_rng(6).normal(size=(2, 3, 8, 8))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Write the files of a network with a layer of every type, float and fixed-point parameters."""
    folder, params = tmp_path_factory.mktemp("kit"), parameters(8)
    for key in [key for key in params if "_quant_" in key]:
        params[key.replace("_quant", "")] = params[key] / 16
    ndk.modelpack.save_to_file(everything(), folder / "a.prototxt", params, folder / "a.npz")
    return folder, params


def use(layers, params):
    """Whatever can be done with a network; each part is done or refused."""
    outputs = get_network_output(layers)
    for part in (
        lambda: list_warnings(layers, params),
        lambda: run_layers(X, layers, outputs, params, True, 8),
        lambda: run_layers(X, layers, outputs, params),
        lambda: ndk.quantize.quantize_model(layers, params, 8, iter([{"input": X}])),
        lambda: ndk.optimize.merge_layers(layers, params),
        lambda: ndk.quantize.compare_float_and_quant(
            *(layers, params, get_tensor_name_list(layers), 8),
            data_generator=iter([{"input": X}]),
        ),
    ):
        with suppress(Error):
            part()


def load_and_use(text, arrays):
    with suppress(Error):
        use(*ndk.modelpack.load_from_file(text, arrays))


@pytest.mark.parametrize("seed", range(6))
def test_a_damaged_text_is_used_or_refused(files, tmp_path, seed):
    rng, text = random.Random(seed), (files[0] / "a.prototxt").read_text()
    for _ in range(40):
        lines = text.split("\n")
        for _ in range(rng.choice([1, 1, 2, 4])):
            place, other = rng.randrange(len(lines)), rng.choice(lines)
            name = lines[place].split(":")[0]
            lines[place : place + 1] = rng.choice(
                [
                    [],
                    [lines[place], other],
                    [f"{name}: {rng.choice(ODD)}"],
                    [f"{name}:{other.partition(':')[2]}"],
                    [lines[place][: rng.randrange(len(lines[place]) + 1)]],
                ]
            ) or [""]
        damaged = tmp_path / "damaged.prototxt"
        damaged.write_text("\n".join(lines))
        load_and_use(damaged, files[0] / "a.npz")


@pytest.mark.parametrize("seed", range(3))
def test_damaged_arrays_are_used_or_refused(files, tmp_path, seed):
    rng, blob = random.Random(seed), (files[0] / "a.npz").read_bytes()
    for _ in range(40):
        damaged = bytearray(blob)
        for _ in range(rng.choice([1, 3, 20])):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        if rng.random() < 0.3:
            del damaged[rng.randrange(len(damaged)) :]
        (tmp_path / "damaged.npz").write_bytes(damaged)
        load_and_use(files[0] / "a.prototxt", tmp_path / "damaged.npz")


@pytest.mark.parametrize("seed", range(6))
def test_parameters_that_do_not_fit_are_used_or_refused(files, seed):
    rng, params = random.Random(seed), files[1]
    for _ in range(25):
        changed = dict(params)
        for _ in range(rng.choice([1, 1, 2])):
            key = rng.choice(list(changed))
            value = np.asarray(changed.pop(key))
            choices = [
                *(0, -1, 99, 2**40, -(2**40), 2**63 - 1, 1.5, float("nan"), float("inf"), True),
                *(value.astype(kind) for kind in (float, np.float32, np.uint8, complex, bool)),
                *(value.ravel()[:-1], np.stack([value, value]), np.zeros(0), value * 1e30),
                *(value * np.nan, None),
            ]
            chosen = rng.choice(choices)
            if chosen is not None:
                changed[key] = chosen
        use(everything(), changed)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda p: p.update(x_frac=1.5), "x_frac is 1.5, but must be an integer in -1000..1000"),
        (lambda p: p.update(x_frac=2**40), "but must be an integer in -1000..1000"),
        (lambda p: p.update(conv_frac_weight=2**40), "frac_weight outside -1000"),
        (lambda p: p.update(conv_quant_weight=np.zeros((4, 3, 3, 2), int)), r"\[4, 3, 3, 3\]"),
        (
            lambda p: p.update(fc_quant_bias=np.zeros(4, int)),
            r"quant_bias is \[4\], but must be \[5\]",
        ),
        (lambda p: p.update(fc_quant_bias=np.full(5, 128)), "not 8-bit integers"),
        (lambda p: p.update(r_signed=False), "'r' unsigned, but only the network's input can"),
    ],
)
def test_fixed_point_parameters_say_what_is_wrong_with_them(files, change, reason):
    params = dict(files[1])
    change(params)
    with pytest.raises(Error, match=reason):
        run_layers(X, everything(), ["y"], params, True, 8)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda p: p.update(conv_weight=np.zeros((4, 3, 3, 2))), r"must be \[4, 3, 3, 3\]"),
        (lambda p: p.update(bn_weight=np.zeros(3)), r"its weight is \[3\], but must be \[4\]"),
        (
            lambda p: p.update(fc_bias=np.full(5, np.nan)),
            "fc_bias has values that are not finite",
        ),
        (lambda p: p.pop("fc_weight"), "the parameters lack 'fc_weight'"),
    ],
)
def test_float_parameters_say_what_is_wrong_with_them(files, change, reason):
    params = dict(files[1])
    change(params)
    with pytest.raises(Error, match=reason):
        run_layers(X, everything(), ["y"], params)
