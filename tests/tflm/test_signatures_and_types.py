"""Several signatures of a file; types and quantizations that are refused by name."""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from tflite_files import File

import qemu_nn
from qemu_nn.cli.main import main
from qemu_nn.errors import Error, ModelError
from qemu_nn.importers.tflite import examine

#: Numbers of types in the schema that the library lacks.
INT2, UINT4 = 19, 20


@pytest.fixture
def two(tmp_path):
    """Return a file of two signatures: a maximum with 0, and one with 5."""
    net = File()
    other = net.graph()
    for graph, limit in ((net, 0), (other, 5)):
        x, y = graph.input((1, 3)), graph.output((1, 3))
        bound = graph.tensor((1, 3), "INT8", 0.5, data=[limit] * 3)
        graph.operator("MAXIMUM", [x, bound], [y])
    net.signatures += [("low", 0), ("high", 1)]
    return net.save(tmp_path)


def run(network):
    return network.session().run(np.int8([[-9, 3, 7]]))["output"].tolist()


def test_each_signature_is_a_network(two):
    assert run(qemu_nn.load(two)) == run(qemu_nn.load(two, signature="low")) == [[0, 3, 7]]
    assert run(qemu_nn.load(two, signature="high")) == [[5, 5, 7]]


def test_an_unknown_signature_is_refused_with_the_choices(two):
    with pytest.raises(ModelError, match="it has no signature 'best'; have: 'low', 'high'"):
        qemu_nn.load(two, signature="best")


def test_damaged_signatures_are_a_note_and_cannot_be_chosen(tmp_path):
    net = File()
    x, y = net.input((1, 3)), net.output((1, 3))
    net.operator("MAXIMUM", [x, net.tensor((1, 3), "INT8", 0.5, data=[1] * 3)], [y])
    net.signatures += [("k" * 2000, 0), ("low", 0)]
    path = net.save(tmp_path)
    (note,) = qemu_nn.load(path).notes
    assert note.startswith("its signatures are ignored: the name 'kkkk")
    with pytest.raises(ModelError, match=r"net\.tflite: the name 'kkkk"):
        qemu_nn.load(path, signature="low")


def test_a_signature_of_another_format_is_refused(tmp_path):
    path = tmp_path / "net.onnx"
    path.write_bytes(b"")
    with pytest.raises(Error, match=r"takes .* not signature="):
        qemu_nn.load(path, signature="low")


def test_info_lists_the_signatures(two):
    result = CliRunner().invoke(main, ["info", str(two), "--signature", "high"])
    assert result.exit_code == 0
    want = "it has 2 signatures: 'low' (graph 0), 'high' (graph 1); this network is graph 1"
    assert want in result.output.replace("It has", "it has")
    assert json.loads(CliRunner().invoke(main, ["info", str(two), "--json"]).output)


def weights(type=None, **entry):
    """Return a file of a dense layer whose weights have a type or details."""
    net = File()
    data = np.zeros((4, 4), np.int8)
    w = net.tensor((4, 4), "INT8", 0.5, data=data)
    scales = net.tensor((4, 2), "BFLOAT16", name="block scales")
    net.tensors[w] |= {key: value for key, value in entry.items() if value is not None}
    if type is not None:
        net.tensors[w]["type"] = type
        net.buffers[1] = bytes(4)
    assert scales == 1
    x, y = net.input((1, 4)), net.output((1, 4))
    net.operator("FULLY_CONNECTED", [x, w, -1], [y], "FullyConnectedOptions")
    return net


@pytest.mark.parametrize(
    ("net", "words"),
    [
        (weights(INT2), "tensor 0 .* is INT2; it must be one of INT4, INT8"),
        (weights(UINT4), "tensor 0 .* is UINT4; it must be one of INT4, INT8"),
        (weights(77), "is of the unknown type 77"),
        (
            weights(details=(2, 1, 2)),
            "blockwise scales of BFLOAT16, tensor 1 .'block scales'., for blocks of 2 elements; "
            "it must have scales and zero points along one axis",
        ),
        (weights(details=(3, 9, 0)), "has scales along several axes"),
        (weights(details=(1, 0, 0)), "has a custom quantization"),
        (weights(details=(9, 0, 0)), "has a quantization of the unknown kind 9"),
    ],
    ids=["INT2", "UINT4", "77", "blockwise", "several axes", "custom", "unknown"],
)
def test_later_types_and_quantizations_are_refused_by_name(net, words, tmp_path):
    path = net.save(tmp_path)
    with pytest.raises(ModelError, match=words):
        qemu_nn.load(path)
    (reason,) = examine(path).reasons
    assert "FULLY_CONNECTED (operator 0)" in reason


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (
            "edgetpu-custom-op",
            "it holds commands for Google's Edge TPU; give the file that edgetpu_compiler read",
        ),
    ],
)
def test_commands_of_accelerators_are_called_that(name, words, tmp_path):
    net = File()
    net.operator(f"CUSTOM:{name}", [net.input((1, 4))], [net.output((1, 4))])
    net.changes["new_code_only"] = True
    path = net.save(tmp_path)
    with pytest.raises(ModelError) as refused:
        qemu_nn.load(path)
    (reason,) = examine(path).reasons
    for said in (str(refused.value), reason):
        assert said.endswith(f"{name} (operator 0): {words}")


def test_a_custom_operator_has_the_frameworks_text(tmp_path):
    net = File()
    net.operator("CUSTOM:Mine", [net.input((1, 4))], [net.output((1, 4))])
    with pytest.raises(ModelError, match="refuses it: Failed to get registration from op code CUS"):
        qemu_nn.load(net.save(tmp_path))


def test_a_file_that_ends_in_lite_is_checked(two):
    path = two.rename(two.with_suffix(".lite"))
    assert qemu_nn.check(path).run
    assert qemu_nn.check(path.parent).run
