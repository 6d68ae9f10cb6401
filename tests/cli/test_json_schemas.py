"""Every command's --json has a schema in the package, and prints what the schema describes."""

import json
import shutil
from importlib import resources
from pathlib import Path

import affine_networks
import click
import ndk_classifier
import networks
import numpy as np
import pytest
from click.testing import CliRunner
from ethosu_programs import write_pair
from fake_devices import FakeDevice
from json_schema import find_faults, iterate_parts
from paths import ROOT

import qemu_nn
from qemu_nn.api import validate as validation
from qemu_nn.cli.main import main
from qemu_nn.ndk.layers import Layer
from qemu_nn.ndk.modelpack import save_to_file

DEMO = Path(qemu_nn.__file__).parent / "demo"
MODEL, TFLITE, FLOAT = (DEMO / f"digits.{ending}" for ending in ("qnz", "tflite", "onnx"))
FOLDER = resources.files("qemu_nn.cli") / "schemas"
SCHEMAS = {Path(each.name).stem: json.loads(each.read_text("utf-8")) for each in FOLDER.iterdir()}
DATA = ("-d", "data.npz")
NET, NPU = "npu/net.prototxt", ("-d", "npu/data.npz")

#: A file that vela compiled, and its original.
COMPILED = ("net_vela.tflite", "--original", "net.tflite")

#: Schema -> commands without --json.
COMMANDS = {
    "info": [
        ("info", *COMPILED),
        ("info", "net_vela.tflite"),
        ("info", MODEL),
        ("info", "recurrent.qnz"),
        ("info", "memory.qnz"),
        ("info", "affine.qnz"),
        ("info", MODEL, "--fit", "stm32f411"),
    ],
    "info-float": [("info", FLOAT)],
    "info-chips": [("info", MODEL, "--fit", "stm32f411,rp2040")],
    "info-cycles": [
        ("info", MODEL, "--cycles"),
        ("info", MODEL, "--cycles", "--target", "stm32f411"),
        ("info", "affine.qnz", "--cycles", "--target", "m55"),
    ],
    "check": [("check", MODEL, "recurrent.qnz")],
    "check-golden": [("check", MODEL, "--golden", "goldens")],
    "diff": [("diff", MODEL, "affine.qnz"), ("diff", MODEL, MODEL), ("diff", FLOAT, FLOAT)],
    "evaluate": [("evaluate", MODEL, *DATA), ("evaluate", MODEL, *DATA, "--profiles", "all")],
    "evaluate-several": [("evaluate", MODEL, "quantized.qnz", *DATA)],
    "import": [("import", MODEL, "-o", "import.qnz"), ("import", *COMPILED, "-o", "vela.qnz")],
    "import-float": [("import", FLOAT, "-o", "float.qnz")],
    "quantize": [
        ("quantize", FLOAT, *DATA, "-o", "again.qnz"),
        ("quantize", FLOAT, *DATA, "-o", "again.qnz", "--scheme", "affine"),
    ],
    "analyze": [("analyze", "quantized.qnz", *DATA)],
    "datasheet": [
        ("datasheet", MODEL, *DATA, "--target", "stm32f411"),
        ("datasheet", MODEL, "--target", "m0"),
    ],
    "variants": [("variants", MODEL), ("variants", *COMPILED)],
    "kernels": [("kernels",)],
    "chips": [("chips",)],
    "run": [
        ("run", MODEL, "-d", "x.npy"),
        ("run", MODEL, "-d", "x.npy", "--real"),
        ("run", MODEL, "-d", "x.npy", "-o", "out.npz"),
        ("run", MODEL, "-d", "x.npy", "--labels", "y.npy"),
    ],
    "golden": [("golden", MODEL, "-d", "x.npy", "-o", "more")],
    "compare": [("compare", "goldens", "goldens"), ("compare", "goldens", "dumps")],
    "page": [("page", MODEL, "-o", "page.html", "--beside", "m0")],
    "export": [("export", MODEL, "-o", "firmware", "--fit", "stm32f411")],
    "bench": [("bench", MODEL)],
    "conformance": [("conformance", "arm_relu_q7*")],
    "validate": [("validate", MODEL, "--on", "tcp:fake:1", "--limit", "1")],
    "demo": [("demo", "-o", "demo_goldens"), ("demo", "-o", "demo_goldens", "--files", "demo")],
    "sdk": [("sdk",)],
    "ndk-quantize": [("ndk", "quantize", "npu/float.prototxt", *NPU, "-o", "npu/again.prototxt")],
    "ndk-run": [
        ("ndk", "run", NET, *NPU, "-o", "out.npz"),
        ("ndk", "run", NET, *NPU, "-o", "out.npz", "--labels", "npu/data.npz", "--trace"),
    ],
    "ndk-evaluate": [("ndk", "evaluate", NET, *NPU)],
    "ndk-analyze": [("ndk", "analyze", NET, *NPU)],
    "ndk-compare": [("ndk", "compare", NET, *NPU)],
    "ndk-pack": [("ndk", "pack", NET, "-o", "pack")],
    "ndk-check": [("ndk", "check", NET), ("ndk", "check", "npu/limits.prototxt")],
}

#: Commands with the schema of another one.
SAME = {"ndk-evaluate": "evaluate"}

#: Schemas whose commands need PyTorch, another runtime, CMSIS-NN's sources or a refused file.
ELSEWHERE = {"fine-tune", "compare-runtime", "which-cmsis", "info-refused"}


def output_of(*arguments):
    result = CliRunner().invoke(main, [str(each) for each in arguments])
    assert result.exit_code in (0, 1), (arguments, result.output, result.exception)
    return result.stdout


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return a folder with networks, data, goldens and dumps."""
    folder = tmp_path_factory.mktemp("json")
    qemu_nn.Network(networks.recurrent()).save(folder / "recurrent.qnz")
    qemu_nn.Network(networks.classifier(memory=True)).save(folder / "memory.qnz")
    qemu_nn.Network(affine_networks.small()).save(folder / "affine.qnz")
    with np.load(DEMO / "digits.npz") as arrays:
        x, y = arrays["x"][:20], arrays["y"][:20]
    np.savez(folder / "data.npz", x=x, y=y)
    np.save(folder / "x.npy", x[:2])
    np.save(folder / "y.npy", y[:2])
    output_of("quantize", FLOAT, "-d", folder / "data.npz", "-o", folder / "quantized.qnz")
    output_of("golden", MODEL, "-d", folder / "x.npy", "-o", folder / "goldens")
    dumps = shutil.copytree(folder / "goldens", folder / "dumps")
    changed = np.load(dumps / "x0" / "conv1.npy")
    changed.flat[3] += 1
    np.save(dumps / "x0" / "conv1.npy", changed)
    (dumps / "x0" / "fc.bin").write_bytes(b"1")
    (dumps / "strange.bin").write_bytes(b"1")
    write_npu_files(folder / "npu")
    write_pair(folder)
    return folder


def write_npu_files(folder):
    """Write a float network, a quantized one, one that the hardware does not run, and data."""
    folder.mkdir()
    np.savez(folder / "data.npz", x=ndk_classifier.X, y=np.zeros(len(ndk_classifier.X), np.int64))
    layers, params = ndk_classifier.LAYERS, ndk_classifier.PARAMS
    save_to_file(layers, folder / "float.prototxt", params, folder / "float.npz")
    output_of(
        "ndk",
        "quantize",
        folder / "float.prototxt",
        "-d",
        folder / "data.npz",
        "-o",
        folder / "net.prototxt",
    )
    layers = [layers[0], Layer("Eltwise", name="sum", bottom=["x", "x"], top="y")]
    params = {"x_frac": 3, "y_frac": 3}
    save_to_file(layers, folder / "limits.prototxt", params, folder / "limits.npz")


def runs():
    return [(name, run) for name, each in COMMANDS.items() for run in each]


@pytest.mark.parametrize(("name", "arguments"), runs(), ids=str)
def test_a_command_prints_what_its_schema_describes(files, tmp_path, monkeypatch, name, arguments):
    work = shutil.copytree(files, tmp_path / "work")
    monkeypatch.chdir(work)
    if name == "validate":
        monkeypatch.setattr(validation, "connect", lambda _: FakeDevice(qemu_nn.load(MODEL)))
    if name == "page":
        monkeypatch.setattr("qemu_nn.exporters.page.document.read_core", lambda: b"\0asm")
    document = json.loads(output_of(*arguments, "--json"), parse_constant=pytest.fail)
    faults = [*find_faults(document, SCHEMAS[SAME.get(name, name)])]
    assert not faults, faults[:5]


def test_verdicts_shapes_and_scales_are_no_texts(files, monkeypatch):
    monkeypatch.chdir(files)
    layers = json.loads(output_of("info", "affine.qnz", "--json"))["layers"]
    assert layers[0]["output"]["shape"] == list(
        qemu_nn.load("affine.qnz").graph.nodes[0].output.shape
    )
    assert isinstance(layers[0]["format"]["scale"], float)
    assert json.loads(output_of("check", MODEL, "--json"))[0]["runs"] is True
    texts = output_of("info", "affine.qnz", "--json") + output_of("check", MODEL, "--json")
    assert '"yes"' not in texts
    assert "*(q" not in texts


def iterate_commands(group, context, start=""):
    """Yield every command, those of groups with the name of the group before theirs."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from iterate_commands(command, context, f"{start}{name}-")
        else:
            yield f"{start}{name}", command


def test_every_command_has_json_and_a_schema():
    commands = dict(iterate_commands(main, click.Context(main)))
    assert {"run", "demo", "sdk", "ndk-run"} <= set(commands)
    del commands["serve"]  # a server, which prints its address alone
    for name, command in commands.items():
        assert any("--json" in option.opts for option in command.params), name
        assert SAME.get(name, name) in SCHEMAS, name
    assert set(SCHEMAS) | set(SAME) == set(COMMANDS) | ELSEWHERE


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_property_is_described(name):
    schema = SCHEMAS[name]
    assert schema["title"]
    parts = [*iterate_parts(schema)]
    assert parts
    assert not [place for place, each in parts if not each.get("description")]
    page = (ROOT / "docs" / "json.md").read_text(encoding="utf-8")
    assert f"`{name}.json`" in page


def test_what_a_schema_does_not_describe_is_a_fault():
    schema = SCHEMAS["compare"]
    good = {"same": True, "dumps": [], "missing": [], "ignored": []}
    assert not [*find_faults(good, schema)]
    for bad in (
        {**good, "same": "yes"},
        {**good, "more": 1},
        {"same": True},
        [good],
        {**good, "dumps": [1]},
    ):
        assert [*find_faults(bad, schema)]
