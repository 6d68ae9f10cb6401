"""Reports of networks with several inputs and of every type of elements."""

import json
import shutil
import subprocess

import numpy as np
import pytest
from choosing_networks import LENGTH, chosen, counted, declared

import qemu_nn
from qemu_nn.analysis.compare import measure_difference
from qemu_nn.api.golden import compare, describe, golden
from qemu_nn.errors import Error
from qemu_nn.ir.graph import Graph, Node, Tensor
from qemu_nn.runtime.session import draw_inputs

TYPES = {
    "s8": ("int8", {"scale": 0.5}),
    "s16": ("int16", {"scale": 0.5}),
    "u8": ("uint8", {"scale": 0.5, "zero_point": 3}),
    "s32": ("int32", {}),
    "f32": ("float32", {}),
    "b8": ("bool", {}),
}


def network(suffix):
    dtype, form = TYPES[suffix]
    return chosen(suffix, dtype, **form)


@pytest.fixture
def added(tmp_path):
    """Return a sum of two inputs in different formats; one input is broadcast."""
    from tflite_cases import Net

    net = Net()
    inputs = [net.input((1, *shape), scale) for shape, scale in (((4, 3), 0.05), ((1, 3), 0.02))]
    for index, name in zip(inputs, ("left", "right")):
        net.tensors[index]["name"] = name
    net.operator("ADD", inputs, [net.output((1, 4, 3), 0.06)], "AddOptions")
    return net.save(tmp_path)


def test_a_sum_of_two_inputs_is_analyzed(added, tmp_path):
    rng = np.random.default_rng(5)
    real = {"left": rng.uniform(-6, 6, (70, 4, 3)), "right": rng.uniform(-3, 3, (70, 1, 3))}
    report = qemu_nn.analyze(added, real)
    assert report.samples == 70
    assert [layer.name for layer in report.layers] == ["left", "right", "output"]
    assert [layer.function for layer in report.layers][:2] == [None, None]
    assert all(20 < layer.whole.sqnr < 60 for layer in report.layers)
    exact = real["left"] + real["right"]
    assert report.layers[2].high == pytest.approx(exact.max())
    np.savez(tmp_path / "x.npz", x0=real["left"], x1=real["right"])
    assert qemu_nn.analyze(added, tmp_path / "x.npz").csv() == report.csv()
    network = qemu_nn.load(added)
    integers = {t.name: t.format.quantize(real[t.name]) for t in network.graph.inputs}
    assert qemu_nn.analyze(network, integers).layers[0].whole.sqnr == np.inf
    assert "left" in report.html()


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (np.zeros((2, 4, 3)), "the network has 2 inputs: give an .npz file or a dictionary"),
        ({"left": np.zeros((2, 4, 3))}, "name the inputs 'left', 'right', or x0, x1"),
        (
            {"x0": np.zeros((2, 4, 3)), "x1": np.zeros((3, 1, 3))},
            "have different numbers of samples",
        ),
        ({"x0": np.zeros((2, 4, 3)), "x1": np.zeros((2, 4, 3))}, "the network takes samples"),
        ({"x0": np.zeros((0, 4, 3)), "x1": np.zeros((0, 1, 3))}, "have no samples"),
    ],
)
def test_data_that_do_not_fit_the_inputs_are_refused(data, sentence, added):
    with pytest.raises(Error, match=sentence):
        qemu_nn.analyze(added, data)


@pytest.mark.parametrize("suffix", TYPES)
def test_a_network_shows_all_its_inputs(suffix):
    found = network(suffix)
    dtype = TYPES[suffix][0]
    text = repr(found)
    assert f"which: bool 1, a: {dtype} {LENGTH}" in text
    assert f"b: {dtype} {LENGTH}" in text
    facts = describe(found).facts
    assert facts["inputs"].startswith(f"which: bool 1, a: {dtype} {LENGTH}")
    assert facts["outputs"].startswith(f"out: {dtype} {LENGTH}")
    assert "states" not in facts
    listed = json.loads(describe(found).json())["inputs"]
    assert [each["name"] for each in listed] == [tensor.name for tensor in found.graph.inputs]
    assert [each["dtype"] for each in listed] == [tensor.dtype for tensor in found.graph.inputs]
    assert "which" in found._repr_html_()


def test_states_are_shown():
    facts = describe(counted()).facts
    assert facts["states"] == f"kept: int8 {LENGTH}"
    assert (facts["input"], facts["outputs"]) == (f"int8 {LENGTH}", f"old: int8 {LENGTH}")


@pytest.mark.parametrize("suffix", TYPES)
def test_analysis_of_calls_without_a_meaning_says_so(suffix):
    found = network(suffix)
    x = dict(zip(("which", "a", "b"), draw_inputs(found.graph, 3)))
    scaled = "cannot compare chosen with floats: out: .* has no float meaning"
    plain = "chosen has no float reference to compare with"
    with pytest.raises(Error, match=scaled if TYPES[suffix][1] else plain):
        qemu_nn.analyze(found, x)


def test_analysis_of_a_network_that_keeps_a_state_says_so():
    kept = Tensor("kept", (LENGTH,), "int8", scale=0.5)
    x, old, new = (Tensor(name, (LENGTH,), "int8", scale=0.5) for name in ("x", "old", "new"))
    read = declared("tflm_read_variable_s8", length=LENGTH)
    write = declared("tflm_assign_variable_s8", length=LENGTH)
    nodes = (
        Node(inputs=("kept",), output=old, **read),
        Node(inputs=("kept", "x"), output=new, **write),
    )
    graph = Graph("counted", (x,), nodes, ("old",), {}, states=(kept,))
    with pytest.raises(Error, match="keeps a state, or has loops, which no float network does"):
        qemu_nn.analyze(qemu_nn.Network(graph), np.zeros((2, LENGTH)))


@pytest.mark.parametrize("suffix", TYPES)
def test_goldens_of_every_type_compile_and_compare(suffix, tmp_path):
    found = network(suffix)
    x = draw_inputs(found.graph, 2)
    if suffix == "f32":
        x[1][0, :3] = x[2][0, :3] = np.nan, np.inf, -np.inf
    golden(found, x, tmp_path / "golden")
    assert compare(tmp_path / "golden", tmp_path / "golden").same
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    qemu_nn.export(found, tmp_path / "firmware", data=x)
    made = subprocess.run(
        ["make", "-C", str(tmp_path / "firmware")], capture_output=True, text=True, check=False
    )
    assert made.returncode == 0, made.stderr
    assert "PASS: 0 failures" in made.stdout
    assert "warning" not in made.stderr


def test_real_numbers_differ_by_value_and_nan_equals_nan():
    want = np.array([np.nan, 1.0, 2.0], np.float32)
    found = measure_difference(want, np.array([np.nan, 1.5, 2.0], np.float32))
    assert (found.index, found.got, found.want, found.largest) == (1, 1.5, 1.0, 0.5)
    assert found.differing == 1
    wide = measure_difference(np.array([-(2**63)]), np.array([2**63 - 1]))
    assert wide.largest == 2**64 - 1
