"""The flash that reports count is what an export stores."""

import numpy as np
import pytest
from paths import SHARED
from tflite_cases import CASES

import qemu_nn
from qemu_nn.api import golden as pipeline
from qemu_nn.errors import ModelError
from qemu_nn.firmware.symbols import make_symbols
from qemu_nn.ir.stored import layer_bytes, list_stored_arrays, weight_bytes

MODELS = sorted(
    path
    for folder in ("models_tflite", "models_tflite2", "models_q7")
    for path in (SHARED / folder).rglob("*")
    if path.suffix == ".tflite" or path.name == "network.json"
)


@pytest.mark.skipif(not MODELS, reason="no shared networks")
@pytest.mark.parametrize("path", MODELS, ids=lambda path: f"{path.parent.name}-{path.stem}"[:50])
def test_reports_count_what_the_export_of_a_recorded_network_stores(path, tmp_path):
    try:
        network = pipeline.load_quantized(path)
    except ModelError as error:  # of another library
        if "is unknown" not in str(error):
            raise
        pytest.skip(f"cannot be loaded: {error}")
    graph = network.graph
    names = [each.name for each in (*graph.inputs, *graph.states, *graph.nodes)]
    stored = make_symbols(graph, {name: f"n{number}" for number, name in enumerate(names)}).arrays
    exported = sum(constant.values.nbytes for constant in stored.values())
    assert weight_bytes(graph) == exported
    assert pipeline.describe(network).facts["weight_bytes"] == exported


@pytest.mark.parametrize("state", ["s8", "s16"])
def test_feature_weights_of_svdf_have_one_byte(state, tmp_path):
    pytest.importorskip("jinja2", reason="the export of C needs jinja2")
    network = qemu_nn.load(CASES[f"svdf_{state}"]().save(tmp_path))
    (node,) = (n for n in network.graph.nodes if "svdf" in n.function.name)
    parts = {each.argument: each.values for each in list_stored_arrays(network.graph, node)}
    assert parts["weights_feature"].dtype == np.int8
    assert parts["weights_time"].dtype == (np.int8 if state == "s8" else np.int16)
    assert layer_bytes(network.graph, node) == sum(values.nbytes for values in parts.values())
    exported = qemu_nn.export(network, tmp_path / "firmware").flash
    assert exported == weight_bytes(network.graph)
    assert network.fit("stm32f411").weights == exported
    rows = {row["layer"]: row for row in pipeline.describe(network).layers.records()}
    assert rows[node.name]["weight_bytes"] == layer_bytes(network.graph, node)
