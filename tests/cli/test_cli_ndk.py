"""The command line of the NPU's kit, on files."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from ndk_classifier import LAYERS, PARAMS, X
from ndk_networks import start

import qemu_nn.ndk as ndk
from qemu_nn.cli.main import main
from qemu_nn.ndk.layers import Layer
from qemu_nn.ndk.quant_tools.numpy_net import run_layers

#: The output of `ndk check` for a network without faults.
FINE = "it breaks no limit of the hardware\n"


def qemu_nn(*arguments, code=0):
    result = CliRunner().invoke(main, [str(each) for each in arguments])
    assert result.exit_code == code, result.output
    return result.output


@pytest.fixture
def folder(tmp_path):
    """float.prototxt and .npz, data.npz with classes, and net.prototxt and .npz at 8 bits."""
    ndk.modelpack.save_to_file(LAYERS, tmp_path / "float.prototxt", PARAMS, tmp_path / "float.npz")
    y = run_layers(X, LAYERS, ["y"], PARAMS)["y"].reshape(100, 3).argmax(1)
    np.savez(tmp_path / "data.npz", x=X, y=y)
    quantize(tmp_path, "net.prototxt")
    return tmp_path


def quantize(folder, name, *more):
    data, output = folder / "data.npz", folder / name
    return qemu_nn("ndk", "quantize", folder / "float.prototxt", "-d", data, "-o", output, *more)


def loaded(folder, name="net"):
    return ndk.modelpack.load_from_file(folder / f"{name}.prototxt", folder / f"{name}.npz")


def test_quantize_is_quantize_model_on_the_data(folder):
    layers, params = loaded(folder)
    data = ({"input": X[i : i + 64]} for i in (0, 64))
    expected = ndk.quantize.quantize_model(LAYERS, PARAMS, 8, data)
    assert [layer.name for layer in layers] == [layer.name for layer in expected[0]]
    assert params.keys() == expected[1].keys()
    for key, value in expected[1].items():
        np.testing.assert_array_equal(params[key], value)


def test_every_option_of_quantize_reaches_it(folder):
    text = quantize(folder, "b.prototxt", "--frac", "y=1", "--method", "x=MSE", "--bits", "16")
    assert re.search(r"fc +InnerProduct +1 ", text)
    assert loaded(folder, "b")[1]["fc_quant_weight"].dtype == np.int16
    quantize(folder, "c.prototxt", "--no-drop-logsoftmax", "--log-dir", folder / "log")
    assert len(loaded(folder, "c")[0]) == 5
    assert "x: " in (folder / "log" / "quantize_model.log").read_text()
    plain, more = loaded(folder)[1], ("--priority-mode", "bwf", "--no-compensate-floor-on-bias")
    quantize(folder, "d.prototxt", *more, "--num-step-pre", "1", "--num-step", "0")
    assert any((plain[k] != v).any() for k, v in loaded(folder, "d")[1].items() if "_bias" in k)
    quantize(folder, "e.prototxt", "--no-aggressive", "--factor-num-bin", "1", "--no-merge")
    assert len(loaded(folder, "e")[0]) == 4


def test_run_writes_the_chip_s_integers_or_the_float_network_s_numbers(folder):
    layers, params = loaded(folder)
    net, data, out = folder / "net.prototxt", folder / "data.npz", folder / "out.npz"
    text = qemu_nn("ndk", "run", net, "-d", data, "-o", out, "--trace", "--labels", data)
    assert re.search(r"accuracy: \d\d.\d\d % \(\d+ of 100\)", text)
    expected = run_layers(X, layers, ["x", "c", "y"], params, True, 8, hw_aligned=True)
    with np.load(out) as found:
        for name, values in expected.items():
            assert found[name].dtype == np.int8
            np.testing.assert_array_equal(found[name] * 2.0 ** -params[f"{name}_frac"], values)
    text = qemu_nn("ndk", "run", net, "-d", data, "-o", out, "--float", "--labels", data)
    assert "accuracy: 100.00 % (100 of 100)" in text
    with np.load(out) as found:
        assert list(found) == ["y"]
        np.testing.assert_allclose(found["y"], run_layers(X, layers, ["y"], params)["y"])


def test_analyze_and_compare_print_the_kit_s_figures(folder):
    layers, params = loaded(folder)
    net, data = folder / "net.prototxt", folder / "data.npz"
    how = ("--tensor", "y", "--tensor", "fc_weight", "--json", "-o", folder / "csv")
    rows = json.loads(qemu_nn("ndk", "analyze", net, "-d", data, *how, "--num-bin", 5))
    y = run_layers(X, layers, ["y"], params, True, 8, hw_aligned=True)["y"]
    assert [row["tensor"] for row in rows] == ["y", "fc_weight"]
    assert rows[0]["max"] == y.max()
    assert {path.name for path in (folder / "csv").iterdir()} == {"stats.csv", "prob.csv"}
    rows = json.loads(qemu_nn("ndk", "analyze", net, "-d", data, *how, "--float"))
    real = run_layers(X, layers, ["y"], params)["y"]
    assert rows[0]["max"] == real.max()
    rows = json.loads(qemu_nn("ndk", "compare", net, "-d", data, *how))
    assert rows[0]["maxae"] == abs(y - real).max()
    assert rows[0]["qsnr"] > 20
    assert (folder / "csv" / "comp_results.csv").exists()
    assert "top1err" in qemu_nn("ndk", "compare", net, "-d", data, "--max-abs-val", 2)


def test_a_limit_leaves_the_first_samples(folder):
    net, data, out = folder / "net.prototxt", folder / "data.npz", folder / "some.npz"
    layers, params = loaded(folder)
    some = ("-d", data, "--limit", 7)
    how = ("--tensor", "y", "--json", *some)
    y = run_layers(X[:7], layers, ["y"], params, True, 8, hw_aligned=True)["y"]
    (row,) = json.loads(qemu_nn("ndk", "analyze", net, *how))
    assert (row["min"], row["max"]) == (y.min(), y.max())
    real = run_layers(X[:7], layers, ["y"], params)["y"]
    (row,) = json.loads(qemu_nn("ndk", "compare", net, *how))
    assert row["maxae"] == abs(y - real).max()
    assert json.loads(qemu_nn("ndk", "evaluate", net, *some, "--json"))["samples"] == 7
    text = qemu_nn("ndk", "run", net, "-d", data, "-o", out, "--labels", data, "--limit", 7)
    assert "of 7)" in text
    with np.load(out) as found:
        assert len(found["y"]) == 7


def test_pack_writes_what_load_pack_reads(folder):
    text = qemu_nn("ndk", "pack", folder / "net.prototxt", "-o", folder / "out", "--name", "small")
    assert text.strip().endswith("small.bin")
    bits, layers, params = ndk.modelpack.load_pack(folder / "out" / "small.bin")
    assert bits == 8
    found = run_layers(X, layers, ["y"], params, True, 8, True)
    layers, params = loaded(folder)
    expected = run_layers(X, layers, ["y"], params, True, 8, True)
    np.testing.assert_array_equal(found["y"], expected["y"])


def test_check_holds_a_network_to_the_limits_of_the_width_it_is_to_have(tmp_path):
    conv = Layer("Convolution", name="c", bottom="x", top="y", num_output=1, kernel_size=3)
    params = {"c_weight": np.ones((1, 512, 3, 3)), "c_bias": np.ones(1)}
    path = tmp_path / "net.prototxt"
    ndk.modelpack.save_to_file([start(512, 4, 4), conv], path, params, tmp_path / "net.npz")
    assert qemu_nn("ndk", "check", path, "--bits", "8") == FINE
    assert "at most 4096 with 16 bits" in qemu_nn("ndk", "check", path, "--bits", "16", code=1)
    assert "at most 4096 with 16 bits" in qemu_nn("ndk", "check", path, code=1)


def test_check_exits_with_1_where_a_limit_is_broken(folder):
    assert qemu_nn("ndk", "check", folder / "net.prototxt") == FINE
    layers = [LAYERS[0], Layer("Eltwise", name="sum", bottom=["x", "x"], top="y")]
    text, arrays = folder / "sum.prototxt", folder / "sum.npz"
    ndk.modelpack.save_to_file(layers, text, {"x_frac": 3, "y_frac": 3}, arrays)
    assert "it may not be the first layer (§6.14)" in qemu_nn("ndk", "check", text, code=1)


def test_a_model_file_is_cut_where_the_options_say(tmp_path):
    pytest.importorskip("onnx")
    from onnx_models import model, node, write

    nodes = [node("Sigmoid", "x", "a"), node("Relu", "a", "b"), node("Tanh", "b", "y")]
    path = write(tmp_path, model(nodes, (2, 3, 4)))
    ends = ("--input-tensor", "a", "--output-tensor", "b")
    assert "follows another nonlinear layer" in qemu_nn("ndk", "check", path, code=1)
    assert qemu_nn("ndk", "check", path, *ends) == FINE
    layers, _ = ndk.onnx_interface.load_from_onnx(path, input="a", output="b")
    assert [layer.type for layer in layers] == ["Input", "ReLU"]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (
            ["quantize", "float.prototxt", "-d", "data.npz", "-o", "net.qnz"],
            "must be a .prototxt",
        ),
        (["quantize", "gone.prototxt", "-d", "data.npz", "-o", "a.prototxt"], "gone"),
        (
            ["quantize", "float.prototxt", "-d", "data.npz", "-o", "a.prototxt", "--frac", "y"],
            "--frac is 'y', but must be TENSOR=VALUE",
        ),
        (
            ["quantize", "float.prototxt", "-d", "data.npz", "-o", "a.prototxt", "--frac", "y=a"],
            "--frac has the fraction 'a', but it must be an integer",
        ),
        (
            ["run", "net.prototxt", "-d", "data.npz", "-o", "out.npy"],
            "must be an .npz file in a folder",
        ),
        (
            ["run", "net.prototxt", "-d", "labels.npy", "-o", "out.npz"],
            "must be one input or more",
        ),
        (
            ["run", "net.onnx", "-d", "data.npz", "-o", "out.npz"],
            "net.onnx is not a .prototxt file",
        ),
        (
            ["run", "net.prototxt", "-d", "data.npz", "-o", "new.npz", "--labels", "data.npy"],
            "labels are",
        ),
        (
            ["check", "net.prototxt", "--input-tensor", "c"],
            "cannot be used with net.prototxt",
        ),
        (["run", "net.prototxt", "-d", "none.npy", "-o", "out.npz"], "must be one input or more"),
        (["run", "net.prototxt", "-d", "nan.npy", "-o", "out.npz"], "contains NaN"),
        (
            ["run", "net.prototxt", "-d", "last.npy", "-o", "out.npz"],
            "takes [N, 2, 6, 6]",
        ),
        (
            ["run", "float.prototxt", "-d", "data.npz", "-o", "out.npz"],
            "quantize the network first",
        ),
        (["analyze", "net.prototxt", "-d", "data.npz", "--tensor", "z"], "no tensor 'z'"),
        (["compare", "net.prototxt", "-d", "labels.npy"], "takes samples [2, 6, 6]"),
        (["pack", "float.prototxt", "-o", "out"], "quantize the network first"),
        (["check", "data.npz"], "data.npz: it has arrays and no network"),
    ],
)
def test_what_can_not_be_done_is_one_sentence(folder, monkeypatch, arguments, reason):
    monkeypatch.chdir(folder)
    np.save("labels.npy", np.arange(4))
    np.save("none.npy", X[:0])
    np.save("data.npy", X)
    np.save("nan.npy", np.full_like(X, np.nan))
    np.save("last.npy", np.moveaxis(X, 1, -1))
    output = qemu_nn("ndk", *arguments, code=2)
    assert reason in output
    assert "Traceback" not in output
    assert not Path("new.npz").exists()


@pytest.mark.parametrize(
    "verb",
    [
        ("run", "-d", "data.npz", "-o", "out.npz"),
        ("evaluate", "-d", "data.npz"),
        ("analyze", "-d", "data.npz"),
        ("compare", "-d", "data.npz"),
        ("pack", "-o", "out"),
        ("check",),
    ],
    ids=lambda verb: verb[0],
)
def test_bits_that_the_parameters_contradict_are_refused(folder, monkeypatch, verb):
    monkeypatch.chdir(folder)
    quantize(folder, "wide.prototxt", "--bits", "16")
    name, *more = verb
    for net, has, other in (("net.prototxt", 8, 16), ("wide.prototxt", 16, 8)):
        text = qemu_nn("ndk", name, net, *more, "--bits", other, code=2)
        assert f"--bits is {other}, but the parameters are {has}-bit integers" in text
        qemu_nn("ndk", name, net, *more, "--bits", has)


def test_bits_say_what_other_integers_are(folder):
    layers, params = loaded(folder)
    wide = {k: v.astype(np.int64) if "_quant_" in k else v for k, v in params.items()}
    ndk.modelpack.save_to_file(layers, folder / "any.prototxt", wide, folder / "any.npz")
    for bits in (8, 16):
        out = folder / "out.npz"
        qemu_nn(
            *("ndk", "run", folder / "any.prototxt", "-d", folder / "data.npz", "-o", out),
            *("--bits", bits),
        )
        assert np.load(out)["y"].dtype == f"int{bits}"


@pytest.mark.parametrize(
    "verb", [("run", "-d", "data.npz", "-o", "o.npz"), ("analyze", "-d", "data.npz")]
)
def test_real_numbers_have_no_bits(folder, monkeypatch, verb):
    monkeypatch.chdir(folder)
    name, *more = verb
    text = qemu_nn("ndk", name, "net.prototxt", *more, "--float", "--bits", 8, code=2)
    assert "--float computes in floats" in text
