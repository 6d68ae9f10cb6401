"""The published .tflite networks: TensorFlow Lite Micro's own numbers, in every tensor."""

import json
from functools import cache

import numpy as np
import pytest
from paths import SHARED

import qemu_nn
from qemu_nn.importers.tflite.network import convert
from qemu_nn.importers.tflite.parser import read

FOLDER = SHARED / "models_tflite"
NAMES = ("hello_world_int8", "kws_ref_model", "pretrainedResnet_quant")

pytestmark = [
    pytest.mark.caps,
    pytest.mark.skipif(not FOLDER.is_dir(), reason=f"the published networks are not in {FOLDER}"),
    pytest.mark.parametrize("name", NAMES),
]


@cache
def recorded(name):
    with np.load(FOLDER / f"{name}_golden.npz") as stored:
        return dict(stored)


@cache
def table(name):
    return json.loads((FOLDER / f"{name}_golden.json").read_text())


@cache
def network(name):
    return qemu_nn.load(FOLDER / f"{name}.tflite")


def inputs(name, shape):
    x = recorded(name)["inputs"]
    return x.reshape(len(x), *shape)


def check_outputs(name, found, rows=slice(None)):
    (values,) = found.values()
    expected = recorded(name)["output_tflm"][rows]
    assert np.array_equal(values.reshape(expected.shape), expected)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_batch_computes_what_the_device_does(name, threads):
    graph = network(name).graph
    session = network(name).session(threads=threads)
    check_outputs(name, session.run(inputs(name, graph.input.shape)))


@pytest.mark.parametrize("target", ["cortex-m0", "cortex-m3", "cortex-m4", "cortex-m55"])
def test_every_core_computes_the_same(name, target):
    graph = network(name).graph
    check_outputs(name, network(name).session(target).run(inputs(name, graph.input.shape)))


def test_one_input_at_a_time_and_a_saved_network_compute_the_same(name, tmp_path):
    network(name).save(tmp_path / "net.qnz")
    loaded = qemu_nn.load(tmp_path / "net.qnz")
    assert loaded.graph.nodes == network(name).graph.nodes
    assert loaded.graph.input == network(name).graph.input
    x = inputs(name, loaded.graph.input.shape)
    session = loaded.session()
    for i in range(len(x)):
        check_outputs(name, session.run(x[i : i + 1]), slice(i, i + 1))


def test_every_tensor_has_the_recorded_numbers(name):
    graph, arrays, about = network(name).graph, recorded(name), table(name)
    traced = network(name).session().run(inputs(name, graph.input.shape), trace=True)
    names = {tensor["index"]: tensor["name"] for tensor in about["tensors"]}
    made = {op["outputs"][0]: op for op in about["ops"]}
    seen = set()
    for key, tensors in about["intermediates"].items():
        for index, array in tensors.items():
            source = int(index)
            while made[source]["op"] == "RESHAPE":  # the same numbers, under an earlier name
                source = made[source]["inputs"][0]
            expected = arrays.get(f"tflm_{array}", arrays[array])
            got = traced[names[source]][int(key[2:])]
            assert np.array_equal(got, expected.reshape(got.shape)), array
            seen.add(names[source])
    assert seen == {node.name for node in graph.nodes}


def test_multipliers_and_shifts_are_those_of_the_device(name):
    graph, arrays = network(name).graph, recorded(name)
    names = {tensor["index"]: tensor["name"] for tensor in table(name)["tensors"]}
    for op in table(name)["ops"]:
        if f"op{op['index']}_multiplier" not in arrays:
            continue
        node = graph.node(names[op["outputs"][0]])
        expected = [arrays[f"op{op['index']}_{part}"] for part in ("multiplier", "shift")]
        if node.function.stack:
            found = graph.arrays[node.bias][1:]
        else:
            found = [[node.params["multiplier"]], [node.params["shift"]]]
        count = np.shape(expected[0])[0]
        assert np.array_equal(np.broadcast_to(found, (2, count)), expected), op["index"]
        for key, value in op["derived"].items():
            if key in node.params and isinstance(value, int):
                assert node.params[key] == value, (op["index"], key)


def test_formats_are_those_of_the_file(name):
    graph = network(name).graph
    by_name = {tensor["name"]: tensor for tensor in table(name)["tensors"]}
    for tensor in (graph.input, *(node.output for node in graph.nodes)):
        entry = by_name[tensor.name]
        assert [tensor.scale] == entry["scale"]
        assert [tensor.zero_point] == entry["zero_point"]
        assert (1, *tensor.shape) == tuple(entry["shape"])


def test_every_truncation_is_refused(name, tmp_path):
    data = (FOLDER / f"{name}.tflite").read_bytes()
    path = tmp_path / "net.tflite"
    for size in range(0, len(data) - 16, max(len(data) // 50, 1)):
        path.write_bytes(data[:size])
        with pytest.raises(qemu_nn.errors.ModelError):
            convert(read(path))
