"""Quantized .onnx files of 16 bits, of wide weights, and those that no call stands for."""

import math

import numpy as np
import pytest
from recorded_files import QDQ_CASES

import qemu_nn
from qemu_nn.errors import ModelError

onnx = pytest.importorskip("onnx")
from qdq_cases import SCALES, File, conv, gemm, one  # noqa: E402


def saved(tmp_path, file):
    path = tmp_path / "net.onnx"
    onnx.save(file.model(), str(path))
    return path


def loaded(tmp_path, name):
    return qemu_nn.load(QDQ_CASES.file(name, tmp_path))


@pytest.mark.parametrize("name", ["s16_net", "a16_net"])
def test_analysis_knows_that_zero_points_are_in_the_biases(tmp_path, name):
    network = loaded(tmp_path, name)
    x = np.random.default_rng(0).uniform(-0.1, 0.1, (8, 3, 8, 8))
    layers = {layer.name: layer for layer in qemu_nn.analyze(network, x).layers}
    assert layers["r_q"].single.sqnr > 60


def test_notes_say_what_is_no_call_of_16_bits(tmp_path):
    notes = "\n".join(loaded(tmp_path, "a16_net").notes)
    assert "CMSIS-NN's arithmetic" in notes
    assert "zero points of these 16-bit layers are part of their 64-bit biases" in notes
    assert "computed in float32" in notes
    assert "a_q" in notes
    assert "float32" not in "\n".join(loaded(tmp_path, "s16_net").notes)


def test_weights_of_8_bits_without_a_sign_keep_their_largest(tmp_path):
    file = File(0, "int16")
    conv(file, wide=True)
    file.constants["w"][:] = 255
    file.constants["w_z"][...] = 0
    network = qemu_nn.load(saved(tmp_path, file))
    x = np.full((1, *network.graph.input.shape), 3, np.int16)
    middle = network.session().run(x)["y_q"][0, 2, 2]
    scale = 2e-4 * float(file.constants["w_s"]) / 1e-3
    want = (255 * 3 * 6 * 9 + file.constants["b"]) * scale
    assert np.abs(middle - want).max() < 1


@pytest.mark.parametrize(
    ("dtype", "zero", "make", "why"),
    [
        ("int16", 0, lambda f: one(f, "Reciprocal", 2e-4), "no function of 16 bits"),
        ("int16", 0, lambda f: one(f, "Log", 2e-4), "no value for some of the input's integers"),
    ],
)
def test_what_no_call_computes_is_refused_with_the_reason(tmp_path, dtype, zero, make, why):
    file = File(0, dtype, zero)
    make(file)
    with pytest.raises(ModelError, match=why):
        qemu_nn.load(saved(tmp_path, file))


def test_between_pairs_of_8_bits_a_table_computes_what_16_bits_have_not(tmp_path):
    file = File(0, "int16")
    first = file.tensor("x", (1, 256), 1e-3)
    file.add("Identity", [first], "a")
    file.add("Gelu", [file.pair("a", 0.03, 0, "int8")], "b")
    file.add("Identity", [file.pair("b", 0.03, 0, "int8")], "c")
    file.end("c", 1e-3)
    network = qemu_nn.load(saved(tmp_path, file))
    x = np.linspace(-3.8, 3.8, 256)[None]
    want = [v / 2 * (1 + math.erf(v / math.sqrt(2))) for v in x[0]]
    assert np.abs(network.predict(x)[0] - want).max() < 0.033  # a step, and a little of the input's


def test_a_transposed_layer_has_channels_for_the_zero_point_of_its_input(tmp_path):
    network = loaded(tmp_path, "a16_transposed")
    assert "are channels of their inputs" in "\n".join(network.notes)
    assert network.graph.nodes[0].output.shape == (7, 5, 10)
    x = np.random.default_rng(0).uniform(-0.1, 0.1, (8, 6, 7, 5))
    layers = {layer.name: layer for layer in qemu_nn.analyze(network, x).layers}
    assert layers["y_q"].single.sqnr > 60


def test_layers_with_weights_of_16_bits_are_computed_in_float32(tmp_path):
    file = File(0, "int16")
    gemm(file)
    file.constants["w"] = file.constants["w"].astype(np.int16) * 100
    file.constants["w_z"] = np.zeros((), np.int16)
    network = qemu_nn.load(saved(tmp_path, file))
    assert any("computed in float32" in note for note in network.notes)
    assert "tflm_batch_matmul_f32" in [node.function.name for node in network.graph.nodes]


def test_dynamic_quantization_is_refused_with_a_way_out(tmp_path):
    nodes = [
        onnx.helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
        onnx.helper.make_node("MatMulInteger", ["q", "w", "z"], ["y"]),
    ]
    weights = onnx.numpy_helper.from_array(np.ones((4, 4), np.int8), "w")
    ends = [
        [onnx.helper.make_tensor_value_info(n, kind, [1, 4])] for n, kind in (("x", 1), ("y", 6))
    ]
    graph = onnx.helper.make_graph(nodes, "net", *ends, [weights])
    onnx.save(onnx.helper.make_model(graph), str(tmp_path / "net.onnx"))
    with pytest.raises(ModelError, match="quantize the file statically"):
        qemu_nn.load(tmp_path / "net.onnx")


def test_a_layer_of_two_types_is_refused_with_a_way_out(tmp_path):
    file = File(0, "int16")
    conv(file)
    file.constants["y_z"] = np.zeros((), np.int8)
    with pytest.raises(ModelError, match=r"reads int16 and computes int8: give both the same"):
        qemu_nn.load(saved(tmp_path, file))


def test_groups_become_one_filter_with_the_same_sums(tmp_path):
    network = loaded(tmp_path, "s16_grouped")
    weights = network.graph.arrays["y_q/weights"]
    assert weights.shape == (len(SCALES), 3, 3, 6)
    assert not weights[:2, ..., 3:].any()
    assert "become one filter" in "\n".join(network.notes)
