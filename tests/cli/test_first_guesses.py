"""First guesses of new users, on the command line and in Python: each answer says what to do."""

import shutil
import warnings
from pathlib import Path

import float_classifiers
import numpy as np
import pytest
from click.testing import CliRunner

import qemu_nn
from qemu_nn import InputWarning, cmsis
from qemu_nn.cli.main import main
from qemu_nn.targets import Target

DEMO = Path(qemu_nn.__file__).parent / "demo"
QNZ, TFLITE, ONNX = (DEMO / f"digits.{ending}" for ending in ("qnz", "tflite", "onnx"))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a working folder with the example's files, and data of several kinds."""
    for path in DEMO.iterdir():
        if path.is_file():
            shutil.copy(path, tmp_path)
    with np.load(DEMO / "digits.npz") as arrays:
        np.savez(tmp_path / "test.npz", x=arrays["x"] / np.float32(128), y=arrays["y"])
        np.save(tmp_path / "x64.npy", arrays["x"][:3].astype(np.int64))
        np.savez(tmp_path / "late.npz", x=arrays["x"], y=arrays["y"] + 1)
    np.savez(tmp_path / "other.npz", images=np.zeros((2, 8, 8, 1)), labels=np.zeros(2))
    (tmp_path / "arrays").mkdir()
    shutil.copy(tmp_path / "late.npz", tmp_path / "arrays")
    (tmp_path / "empty.tflite").touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def answer(*arguments, code=2):
    result = CliRunner().invoke(main, [str(each) for each in arguments])
    assert result.exit_code == code, result.output
    return " ".join(result.output.split())


GUESSES = {
    "run digits.tflite -i test.npz": "No such option '-i'. Did you mean --data?",
    "info digits.tflite --core m4": "No such option '--core'. Did you mean --target?",
    "run digits.tflite -d -": "standard input is not read: name a file",
    "check digits.tflite --fit stm32f411": "check has none; export, info have it.",
    "--target m4 info digits.tflite": "Options follow their command: qemu-nn COMMAND --target",
    "info .": "name a file in it, such as digits.onnx, digits.qnz, digits.tflite",
    "info empty.tflite": "empty.tflite is empty",
    "info digits.tflite --fit arduino": "no core or chip 'arduino'",
    "evaluate digits.tflite -d arrays": "name a file in it: late.npz",
    "evaluate digits.tflite -d late.npz": "one label is 10, but labels must be classes 0..9",
    "run digits.tflite -d x64.npy": "x64.npy are int64, all in -128..127",
    "run digits.tflite -d other.npz": "name the inputs 'x', and labels 'y'",
    "compare test.npz digits.npz": "is no golden set",
    "compare x64.npy test.npz": "x64.npy is no golden: give the folder",
    "datasheet digits.tflite -o sheet.pdf": "name a file that ends in .html",
}


@pytest.mark.parametrize("guess", GUESSES)
def test_the_answer_says_what_to_do(folder, guess):
    assert GUESSES[guess] in answer(*guess.split())


def test_help_is_a_command():
    assert answer("help", code=0) == answer("--help", code=0)
    assert answer("help", "info", code=0) == answer("info", "--help", code=0)


def test_one_golden_is_compared_with_one_dump(folder):
    np.save("x.npy", np.load("test.npz")["x"][:1])
    answer("golden", "digits.qnz", "-d", "x.npy", "-o", "goldens", code=0)
    golden = folder / "goldens" / "x0" / "softmax.npy"
    if not golden.exists():
        golden = folder / "goldens" / "softmax.npy"
    values = np.load(golden).ravel()
    Path("dump.txt").write_text(" ".join(map(str, values)), "utf-8")
    assert "all 1 dumps are equal" in answer("compare", golden, "dump.txt", code=0)
    values[3] += 1
    Path("dump.txt").write_text(" ".join(map(str, values)), "utf-8")
    assert "index=3" in answer("compare", golden, "dump.txt", code=1)
    assert "is compared with the file of its golden" in answer("compare", "goldens", "dump.txt")


def test_a_tflite_file_comes_of_the_default_scheme(folder):
    pytest.importorskip("onnx", reason="reads the float network")
    answer("quantize", "digits.onnx", "-d", "test.npz", "-o", "net.tflite", code=0)
    assert qemu_nn.load("net.tflite").predict(np.zeros((1, 8, 8, 1))).shape == (1, 10)
    power2 = ("quantize", "digits.onnx", "-d", "test.npz", "-o", "net.tflite", "--cmsis", "5.9.0")
    assert "add --scheme affine" in answer(*power2)


def test_networks_are_quantized_for_an_esp32():
    made = qemu_nn.quantize(
        float_classifiers.classifier(), float_classifiers.data(), target="esp32s3"
    )
    usual = qemu_nn.quantize(float_classifiers.classifier(), float_classifiers.data())
    x = np.moveaxis(float_classifiers.data(3), 1, -1)
    np.testing.assert_array_equal(made.predict(x), usual.predict(x, target=Target("esp32s3")))


@pytest.mark.parametrize(
    ("codes", "kind"), [(None, np.uint8), (False, np.uint8), (None, np.float32)]
)
def test_bytes_for_a_float_network_are_a_warning(codes, kind):
    pixels = np.random.default_rng(0).integers(0, 256, float_classifiers.data(9).shape).astype(kind)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        qemu_nn.quantize(float_classifiers.classifier(), qemu_nn.Dataset(pixels, codes=codes))
    words = [str(each.message) for each in told if each.category is InputWarning]
    expected = codes is None and kind is np.uint8
    assert any("which the float network reads unchanged" in each for each in words) == expected


def test_methods_of_other_libraries_are_answered():
    network = qemu_nn.load(QNZ)
    with pytest.raises(AttributeError, match=r"use session\(\)\.run\(codes\), predict"):
        _ = network.run
    with pytest.raises(AttributeError, match=r"use qemu_nn\.evaluate\(network, \.\.\.\)"):
        _ = network.evaluate
    assert not hasattr(network, "__wrapped__")
    with pytest.raises(TypeError, match="takes keywords only: data, size"):
        cmsis.arm_relu_q7(np.zeros(3, np.int8), 3)
    with pytest.raises(AttributeError, match="did you mean arm_relu_q7"):
        _ = cmsis.arm_reluq7
    x, y = np.zeros((4, 8, 8, 1), np.float32), np.zeros(4, np.int64)
    with pytest.raises(qemu_nn.Error, match=r"single samples and labels, but must yield batches"):
        qemu_nn.evaluate(network, zip(x, y))
