"""Every command on an .espdl network."""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from espdl_cases import CASES, classifier, streaming
from espdl_files import Model

import qemu_nn
from qemu_nn.cli.main import main

S3 = ("--target", "esp32s3")

pytestmark = pytest.mark.filterwarnings("ignore::qemu_nn.errors.DeviceWarning")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a folder with a classifier, a stream, and data, and enter it."""
    monkeypatch.chdir(tmp_path)
    classifier().write(tmp_path / "net.espdl")
    streaming().write(tmp_path / "stream.espdl")
    rng = np.random.default_rng(0)
    x = rng.normal(0, 0.5, (12, 6, 6, 3)).astype(np.float32)
    np.savez("data.npz", x=x, y=np.arange(12) % 10)
    np.save("codes.npy", rng.integers(-128, 128, (3, 6, 6, 3)).astype(np.int8))
    np.save("steps.npy", rng.integers(-128, 128, (2, 5, 2, 4)).astype(np.int8))
    return tmp_path


def run(*arguments, code=0):
    done = CliRunner().invoke(main, list(arguments))
    assert done.exit_code == code, done.output
    return done.output


def test_info_tells_layers_profile_and_origin(folder):
    said = run("info", "net.espdl", *S3)
    assert "ESP-DL 3.3.9, esp32s3" in said
    assert "esp_dl_depthwise_conv_s8" in said
    assert "exported for an ESP32-S3 or ESP32-P4" in said
    assert "give one as the target: esp32s3, esp32p4" in run("info", "net.espdl", code=2)
    assert "give such a target" in run("info", "net.espdl", "--target", "m4", code=2)
    assert json.loads(run("info", "net.espdl", *S3, "--json"))["network"] == "net"
    assert "exist for CMSIS-NN only" in run("info", "net.espdl", *S3, "--cycles", code=2)


@pytest.mark.parametrize(
    ("blocks", "target", "chip"), [(True, "esp32p4", "esp32p4"), (False, None, "esp32")]
)
def test_the_chip_of_the_file_is_the_default_target(folder, blocks, target, chip):
    classifier(blocks, target).write(folder / "own.espdl")
    wanted = f"ESP-DL 3.3.9, {chip}"
    data = ("-d", "codes.npy")
    assert wanted in run("info", "own.espdl")
    assert "1 of 1 networks run" in run("check", "own.espdl")
    run("run", "own.espdl", *data, "-o", "out.npz")
    x = np.load("codes.npy")
    expected = qemu_nn.load("own.espdl").session(chip).run(x)["y"]
    np.testing.assert_array_equal(np.load("out.npz")["y"], expected)
    run("golden", "own.espdl", *data, "-o", "goldens", "--format", "folder")
    assert f'"{chip}"' in (folder / "goldens/manifest.json").read_text()
    assert wanted in run("datasheet", "own.espdl", "-d", "data.npz")
    assert "ESP-DL" in run("variants", "own.espdl", *data)
    assert f"set-target {chip} build" in run("export", "own.espdl", *data, "-o", "made")
    assert "exist for CMSIS-NN only" in run("info", "own.espdl", "--cycles", code=2)
    run("import", "own.espdl", "-o", "own.qnz")
    assert wanted in run("info", "own.qnz")


def test_run_writes_scores_of_floats_and_of_codes(folder):
    network = qemu_nn.load("net.espdl")
    run("run", "net.espdl", *S3, "-d", "codes.npy", "-o", "out.npz", "--threads", "2")
    x = np.load("codes.npy")
    np.testing.assert_array_equal(np.load("out.npz")["y"], network.session("esp32s3").run(x)["y"])
    floats = np.arange(-40, 68, dtype=np.float32).reshape(1, 6, 6, 3) / 64
    scores = network.predict(floats, target="esp32s3")
    codes = (floats * 64).astype(np.int8)
    np.testing.assert_array_equal(scores, network.session("esp32s3").run(codes)["y"] / 16)
    run("run", "stream.espdl", *S3, "-d", "steps.npy", "-o", "steps.npz")
    assert np.load("steps.npz")["y"].shape == (2, 5, 2, 5)


def test_goldens_are_compared_with_a_device(folder):
    run("golden", "net.espdl", *S3, "-d", "codes.npy", "-o", "goldens", "--format", "folder")
    network = qemu_nn.load("net.espdl")
    result = network.session("esp32s3").run(np.load("codes.npy"))["y"]
    (folder / "dump/x0").mkdir(parents=True)
    np.save("dump/x0/y.npy", result[0])
    assert "DIFFERS" not in run("compare", "goldens", "dump")
    np.save("dump/x0/y.npy", result[0] ^ 1)
    assert "DIFFERS" in run("compare", "goldens", "dump", code=1)


def test_analyze_and_evaluate_use_the_weights_of_the_file(folder):
    said = run("analyze", "net.espdl", *S3, "-d", "data.npz")
    assert "output sqnr" in said
    assert "quantized accuracy" in said
    assert "accuracy" in run("evaluate", "net.espdl", *S3, "-d", "data.npz")
    said = run("analyze", "stream.espdl", *S3, "-d", "steps.npy", code=2)
    assert "keeps a state" in said


def test_variants_shows_which_layer_parts_first(folder):
    said = run("variants", "net.espdl", *S3, "-d", "codes.npy")
    assert "ESP-DL 3.3.9, esp32p4" in said
    said = run("variants", "net.espdl", *S3, "--releases", code=2)
    assert "esp32s3 runs kernels that have no states of CMSIS-NN" in said


def test_check_counts_what_runs(folder):
    model = Model()
    model.inputs.append(model.value("x", "int8", (1, 4), -5))
    model.outputs.append(model.value("y", "int8", (1, 4), -5))
    model.node("Einsum", ["x"], ["y"], quant_type="S8")
    model.write(folder / "sum.espdl")
    said = run("check", ".", *S3, code=1)
    assert "2 of 3 networks run" in said
    assert "not supported: Einsum 'Einsum_0' (node 0)" in said
    assert "runs on chips of the ESP32 family, not on m4" in run(
        "check", "net.espdl", "--target", "m4", code=1
    )


def test_import_keeps_the_network_and_its_notes(folder):
    run("import", "net.espdl", "-o", "net.qnz")
    run("run", "net.qnz", *S3, "-d", "codes.npy", "-o", "again.npz")
    x, network = np.load("codes.npy"), qemu_nn.load("net.espdl")
    np.testing.assert_array_equal(np.load("again.npz")["y"], network.session("esp32s3").run(x)["y"])
    assert qemu_nn.load("net.qnz").notes == network.notes
    said = run("import", "net.espdl", "-o", "net.tflite", code=2)
    assert "has power-of-two formats" in said


def test_datasheet_and_bench_name_the_library(folder):
    said = run("datasheet", "net.espdl", *S3, "-d", "data.npz")
    assert "ESP-DL 3.3.9, esp32s3" in said
    assert "exist for CMSIS-NN only" in said
    assert "net" in run("bench", "net.espdl", *S3)


def test_floats_of_softmax_are_outputs_of_every_command(folder):
    CASES["softmax"]().write(folder / "softmax.espdl")
    np.save("rows.npy", np.random.default_rng(1).integers(-99, 99, (2, 4, 10)).astype(np.int8))
    run("run", "softmax.espdl", *S3, "-d", "rows.npy", "-o", "out.npz")
    made = np.load("out.npz")["y"]
    assert made.dtype == np.float32
    np.testing.assert_allclose(made.sum(-1), 1, rtol=1e-5)
    run("golden", "softmax.espdl", *S3, "-d", "rows.npy", "-o", "g", "--format", "folder")
    assert "esp_dl_softmax_s8_f32" in run("info", "softmax.espdl", *S3)
