"""Inputs from the user's files: one or several, floats, sequences."""

import json
from pathlib import Path

import numpy as np
import pytest
from choosing_networks import LENGTH, chosen, counted
from click.testing import CliRunner

from qemu_nn.cli.main import main
from qemu_nn.errors import Error


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    arrays = {
        "which": rng.integers(0, 2, (5, 1)).astype(bool),
        "a": rng.integers(-128, 128, (5, LENGTH)).astype(np.int8),
        "b": rng.integers(-128, 128, (5, LENGTH)).astype(np.int8),
    }
    for name, values in arrays.items():
        np.save(f"{name}.npy", values)
    np.savez("named.npz", **arrays)
    np.savez("numbered.npz", **dict(zip(("x0", "x1", "x2"), arrays.values())))
    np.savez("some.npz", which=arrays["which"], a=arrays["a"])
    chosen(scale=0.5).save("net.qnz")
    counted().save("counted.qnz")
    return arrays


def call(*arguments):
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


WAYS = {
    "an .npz with names": ["named.npz"],
    "an .npz with numbers": ["numbered.npz"],
    "each by name": ["b=b.npy", "which=which.npy", "a=a.npy"],
    "each by number": ["x2=b.npy", "x0=which.npy", "a=a.npy"],
    "in order": ["which.npy", "a.npy", "b.npy"],
}


@pytest.mark.parametrize("way", WAYS)
def test_several_inputs_come_from_files(way, data):
    options = [part for text in WAYS[way] for part in ("-d", text)]
    code, text = call("run", "net.qnz", *options, "-o", "out.npz")
    assert code == 0, text
    want = np.where(data["which"], data["a"], data["b"])
    np.testing.assert_array_equal(np.load("out.npz")["out"], want)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (["a.npy"], "chosen has the inputs 'which', 'a', 'b': give one .npz file"),
        (["a=a.npy", "b=b.npy"], "chosen has the inputs"),
        (["a=a.npy", "x1=a.npy", "b=b.npy"], "--data names 'a' twice"),
        (["some.npz"], "name the inputs 'which', 'a', 'b', or x0, x1"),
        (["a=a.npy", "b=b.npy", "which.npy"], "chosen has the inputs"),
        (["which=none.npy", "a=a.npy", "b=b.npy"], "none.npy"),
        (["x9=a.npy", "a=a.npy", "b=b.npy"], "there is no input 'x9'; have: 'which', 'a', 'b'"),
    ],
)
def test_inputs_that_do_not_fit_are_a_sentence(given, sentence, data):
    options = [part for text in given for part in ("-d", text)]
    code, text = call("run", "net.qnz", *options, "-o", "out.npz")
    assert code == 2
    assert sentence in text


def test_real_numbers_of_one_of_several_inputs_are_quantized(data):
    np.save("real.npy", data["a"] * np.float32(0.5))
    code, _ = call(
        *("run", "net.qnz", "-o", "out.npz"),
        *("-d", "which=which.npy", "-d", "a=real.npy", "-d", "b=b.npy"),
    )
    assert code == 0
    want = np.where(data["which"], data["a"], data["b"])
    np.testing.assert_array_equal(np.load("out.npz")["out"], want)


def test_real_numbers_for_a_real_input_stay(data):
    chosen("f32", "float32").save("real.qnz")
    np.savez("x.npz", x0=data["which"], x1=data["a"] / 3, x2=data["b"] / 7)  # float64
    code, text = call("run", "real.qnz", "-d", "x.npz", "-o", "out.npz")
    assert (code, "quantized" in text) == (0, False), text
    want = np.where(data["which"], data["a"] / 3, data["b"] / 7).astype(np.float32)
    np.testing.assert_array_equal(np.load("out.npz")["out"], want)


def test_goldens_exports_and_variants_take_several_inputs(data):
    assert call("golden", "net.qnz", "-d", "named.npz", "-o", "golden")[0] == 0
    assert call("compare", "golden", "golden")[0] == 0
    assert call("export", "net.qnz", "-d", "numbered.npz", "-o", "firmware")[0] == 0
    goldens = json.loads(Path("firmware/goldens/manifest.json").read_text())["goldens"]
    assert [entry["name"] for entry in goldens][:4] == ["x0/which", "x0/a", "x0/b", "x0/out"]
    assert call("variants", "net.qnz", "-d", "named.npz")[0] == 0


@pytest.mark.parametrize(
    ("shape", "hint"),
    [
        ((7, LENGTH), "N samples of T time steps; for one sequence of 7 steps give [1, 7, 6]"),
        ((LENGTH,), "for one sample give [1, 1, 6]"),
        ((7, 2, 5), None),
    ],
)
def test_a_sequence_without_its_samples_is_explained(shape, hint, data):
    x = np.zeros(shape, np.int8)
    with pytest.raises(Error, match=r"must have the shape \[N, T, 6\]") as caught:
        counted().session().run(x)
    assert ("give" in str(caught.value)) == (hint is not None)
    assert hint is None or hint in str(caught.value)
    np.save("x.npy", x)
    code, text = call("run", "counted.qnz", "-d", "x.npy", "-o", "out.npz")
    if len(shape) == 2:  # one sequence is a batch of one
        assert (code, np.load("out.npz")["old"].shape) == (0, (1, *shape))
    else:
        assert code == 2
        assert str(list(shape)) in text


def test_sequences_come_with_samples_and_steps(data):
    x = np.arange(4 * 3 * LENGTH, dtype=np.int8).reshape(4, 3, LENGTH)
    for given in (x, x[:, :, None]):  # a batch of 1 in each step, too
        np.save("x.npy", given)
        assert call("run", "counted.qnz", "-d", "x.npy", "-o", "out.npz")[0] == 0
        np.testing.assert_array_equal(np.load("out.npz")["old"][:, 1:], x[:, :-1])


def test_another_type_is_told_how_to_convert(data):
    network = chosen("s32", "int32")
    x = [data["which"], data["a"].astype(np.int64), data["b"].astype(np.int32)]
    with pytest.raises(
        Error, match=r"must be int32, but is int64: convert it with astype\('int32'"
    ):
        network.session().run(x)
    with pytest.raises(Error, match="must be bool, but is int8"):
        network.session().run([data["which"].astype(np.int8), *x[1:]])
