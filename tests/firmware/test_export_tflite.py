"""Published .tflite networks as firmware: TensorFlow Lite Micro's numbers, in its own memory."""

import re

import numpy as np
import pytest
from exported import check, flip, needs, write
from paths import SHARED

import qemu_nn
from qemu_nn.api import golden as pipeline
from qemu_nn.runtime.arena import plan_tensor_arena

FOLDER = SHARED / "models_tflite"

#: Network -> the head of the arena that TensorFlow Lite Micro reports, without scratch memory.
HEADS = {"hello_world_int8": 32, "kws_ref_model": 16000, "pretrainedResnet_quant": 49152}

pytestmark = [
    pytest.mark.compiles,
    pytest.mark.skipif(not FOLDER.is_dir(), reason=f"the published networks are not in {FOLDER}"),
    pytest.mark.parametrize("name", sorted(HEADS)),
]


def load(name):
    return qemu_nn.load(FOLDER / f"{name}.tflite")


@pytest.mark.parametrize(
    "target", [pytest.param("pc", marks=needs("pc")), pytest.param("m4", marks=needs("m4"))]
)
def test_the_self_test_holds_what_the_device_computed(name, target, tmp_path):
    network = load(name)
    with np.load(FOLDER / f"{name}_golden.npz") as stored:
        x, expected = stored["inputs"][:2], stored["output_tflm"][:2]
    folder = write(tmp_path / "net", network, data=x.reshape(2, *network.graph.input.shape))
    assert check(folder, target)[0] == 0
    for i in range(2):
        last = folder / "goldens" / f"x{i}" / f"{stem(network.graph.outputs[0])}.npy"
        np.testing.assert_array_equal(np.load(last).ravel(), expected[i].ravel())


def stem(name):
    return re.sub("[^A-Za-z0-9_]", "_", name.partition(";")[0])[:40]


@needs("pc")
def test_a_wrong_weight_is_found_in_its_layer(name, tmp_path):
    network = load(name)
    folder = write(tmp_path / "net", network)
    layer = stem(next(node.name for node in network.graph.nodes if node.weights))
    flip(folder, f"{layer.lower()}_wt")
    lines = check(folder)[1]
    wrong = [line.split()[1] for line in lines if line.startswith("FAIL layer")]
    assert wrong[:1] == [f"layer=x0/{layer}"]
    assert set(wrong) <= {f"layer=x0/{layer}", f"layer=x1/{layer}"}


def test_memory_without_scratch_is_what_tflite_micro_reports(name):
    graph = load(name).graph
    plan = plan_tensor_arena(graph, {node.name: {} for node in graph.nodes})
    assert plan.arena.nbytes == HEADS[name]


def test_the_report_fits_a_terminal(name):
    text = pipeline.describe(load(name)).text()
    assert max(map(len, text.splitlines())) < 260
