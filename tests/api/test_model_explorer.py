"""Node data of Model Explorer have a value for each operator that its adapter shows."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import qemu_nn
from qemu_nn.cli.main import main

DEMO = Path(qemu_nn.__file__).parent / "demo"

#: Names of the outputs of operators, as the adapter of ai-edge-model-explorer 0.1.34 reads them.
OUTPUTS = ["relu1", "pool1", "relu2", "pool2", "pool2/1x64", "fc", "softmax"]

#: Operators that move nothing: their layers are left out.
SHAPES = {"pool2/1x64"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Write node data of the package's network by the command line."""
    folder = tmp_path_factory.mktemp("overlay") / "data"
    with np.load(DEMO / "digits.npz") as arrays:
        np.save(folder.parent / "x.npy", arrays["x"][:40])
    command = ["analyze", str(DEMO / "digits.tflite"), "-d", str(folder.parent / "x.npy")]
    result = CliRunner().invoke(main, [*command, "--model-explorer", str(folder)])
    assert result.exit_code == 0, result.output
    return folder


def read(folder):
    return {path.stem: json.loads(path.read_text("utf-8")) for path in folder.glob("*.json")}


def test_each_figure_is_a_file_with_all_layers(folder):
    found = read(folder)
    figures = ("sqnr_db", "sqnr_alone_db", "saturated_percent", "cycles", "weight_bytes")
    assert set(found) == {*figures, "memory_bytes"}
    for name, data in found.items():
        assert data["name"] == name
        assert list(data["results"]) == [each for each in OUTPUTS if each not in SHAPES]
        assert [stop["stop"] for stop in data["gradient"]] == [0, 1]
    cycles = qemu_nn.estimate(DEMO / "digits.tflite").layers.records()
    assert found["cycles"]["results"]["fc"]["value"] == cycles[4]["cycles"]
    with np.load(DEMO / "digits.npz") as arrays:
        report = qemu_nn.analyze(DEMO / "digits.tflite", arrays["x"][:40])
    ratios = {layer.name: layer.whole.sqnr for layer in report.layers}
    shown = found["sqnr_db"]["results"]
    assert {name: entry["value"] for name, entry in shown.items()} == {n: ratios[n] for n in shown}


def test_the_wheel_loads_the_files_and_knows_their_names(folder):
    builder = pytest.importorskip("model_explorer.node_data_builder")
    adapters = pytest.importorskip("model_explorer.builtin_tflite_flatbuffer_adapter")
    converted = adapters.BuiltinTfliteFlatbufferAdapter().convert(str(DEMO / "digits.tflite"), {})
    (graph,) = converted["graphCollections"][0].graphs
    shown = [
        attribute["value"]
        for node in graph["nodes"]
        if node["label"] not in ("pseudo_const", "GraphInputs")
        for output in node.get("outputsMetadata", ())
        for attribute in output["attrs"]
        if attribute["key"] == "tensor_name"
    ]
    assert sorted(shown) == sorted(OUTPUTS)
    for data in read(folder).values():
        results = {
            name: builder.NodeDataResult(entry["value"]) for name, entry in data["results"].items()
        }
        gradient = [builder.GradientItem(**each) for each in data["gradient"]]
        made = builder.GraphNodeData(results, name=data["name"], gradient=gradient)
        told = json.loads(made.to_json_string())
        assert all(told[key] == data[key] for key in ("name", "results", "gradient"))
