"""Differences between two networks, layer by layer, with their sizes."""

import json
from dataclasses import replace

import affine_networks
import numpy as np
import pytest
from click.testing import CliRunner
from float_classifiers import float_network
from networks import classifier, recurrent

import qemu_nn
from qemu_nn import Network
from qemu_nn.api.golden import FloatNetwork
from qemu_nn.cli.main import main
from qemu_nn.functions import FUNCTIONS
from qemu_nn.ir.graph import Graph

KINDS = {
    "q7": Network(classifier()),
    "memory": Network(classifier(memory=True)),
    "recurrent": Network(recurrent()),
    "affine": Network(affine_networks.small()),
    "float": float_network(),
}


def changed(graph, index, **fields):
    """Return the same network with another node."""
    nodes = list(graph.nodes)
    nodes[index] = replace(nodes[index], **fields)
    return replace(graph, nodes=tuple(nodes))


def told(first, second):
    found = qemu_nn.diff(first, second)
    return [(c.layer, c.what, c.count, c.largest) for c in found.changes]


def call(*arguments):
    result = CliRunner().invoke(main, [str(a) for a in arguments])
    assert isinstance(result.exception, (SystemExit, type(None))), result.exception
    return result.exit_code, result.output


@pytest.mark.parametrize("kind", KINDS)
def test_a_network_is_the_same_as_its_file_under_any_name(kind, tmp_path):
    network = KINDS[kind]
    network.save(tmp_path / "other.qnz")
    found = qemu_nn.diff(network, tmp_path / "other.qnz")
    assert found.same, found.text()
    assert "are the same in all" in found.text()


def test_weights_tell_how_many_differ_and_by_how_much():
    graph = classifier()
    name = graph.nodes[0].weights
    weights = graph.arrays[name].copy()
    weights.flat[3] = -128
    weights.flat[9] = weights.flat[9] + 1 if weights.flat[9] < 100 else weights.flat[9] - 1
    most = float(int(graph.arrays[name].flat[3]) + 128)
    other = replace(graph, arrays={**graph.arrays, name: weights})
    assert told(Network(graph), Network(other)) == [(graph.nodes[0].name, "weights", 2, most)]


def test_weights_of_another_shape_have_no_count():
    first, second = float_network(), float_network()
    node = first.graph.nodes[0]
    bias = replace(node, operator=replace(node.operator, bias=None))
    graph = replace(second.graph, nodes=(bias, *second.graph.nodes[1:]))
    assert told(first, FloatNetwork(graph)) == [(node.name, "bias", None, None)]


def test_formats_differ_to_the_last_digit():
    graph = affine_networks.small()
    node = graph.nodes[0]
    scale = np.nextafter(node.output.scale, 1.0)
    output = replace(node.output, scale=float(scale))
    ((layer, what, _, _),) = told(Network(graph), Network(changed(graph, 0, output=output)))
    assert (layer, what) == (node.name, "output")


def test_parameters_functions_and_layers():
    graph = classifier()
    params = {**graph.nodes[0].params, "out_shift": graph.nodes[0].params["out_shift"] + 1}
    found = qemu_nn.diff(Network(graph), Network(changed(graph, 0, params=params)))
    (change,) = found.changes
    assert (change.what, change.second - change.first) == ("out_shift", 1)
    last = graph.nodes[-1]
    short = replace(graph, nodes=graph.nodes[:-1], outputs=(graph.nodes[-2].name,))
    found = qemu_nn.diff(Network(graph), Network(short))
    assert [(c.layer, c.what, c.second) for c in found.changes] == [
        ("", "outputs", graph.nodes[-2].name),
        (last.name, "layer", None),
    ]
    found = qemu_nn.diff(Network(short), Network(graph))
    assert (found.changes[-1].first, found.changes[-1].second) == (None, last.function.name)


def renamed(graph):
    def new(name):
        return f"new_{name}"

    nodes = tuple(
        replace(
            node,
            inputs=tuple(map(new, node.inputs)),
            output=replace(node.output, name=new(node.name)),
        )
        for node in graph.nodes
    )
    inputs = tuple(replace(tensor, name=new(tensor.name)) for tensor in graph.inputs)
    outputs = tuple(map(new, graph.outputs))
    return Graph(graph.name, inputs, nodes, outputs, graph.arrays, classes=graph.classes)


def test_renamed_layers_are_paired_by_what_they_compute():
    graph = classifier()
    changes = told(Network(graph), Network(renamed(graph)))
    assert {what for layer, what, _, _ in changes if layer} == {"name"}
    assert len([1 for layer, *_ in changes if layer]) == len(graph.nodes)


def test_preparation_on_the_host_counts():
    network = Network(classifier())
    prepared = replace(network, preprocessing=qemu_nn.Preprocessing(scale=0.5))
    assert [what for _, what, _, _ in told(network, prepared)] == ["preprocessing"]


def test_what_a_state_holds_after_reset_counts():
    graph = recurrent()
    state = graph.states[0]
    held = np.full(state.shape, 3, state.dtype)
    other = replace(graph, arrays={**graph.arrays, state.name: held})
    ((_, what, _, _),) = told(Network(graph), Network(other))
    assert what == f"state {state.name}"


def test_a_float_and_a_quantized_network_are_not_compared():
    with pytest.raises(qemu_nn.Error, match=r"is a quantized network and .* a float one"):
        qemu_nn.diff(KINDS["q7"], KINDS["float"])
    with pytest.raises(qemu_nn.Error, match="must be the result of load"):
        qemu_nn.diff(KINDS["q7"], 3)


def test_a_tflite_file_and_its_qnz_are_the_same(tmp_path):
    pytest.importorskip("flatbuffers", reason="writes .tflite files")
    from tflite_cases import CASES

    path = CASES["convolve_relu"]().save(tmp_path)
    qemu_nn.load(path).save(tmp_path / "net.qnz")
    code, text = call("diff", path, tmp_path / "net.qnz")
    assert code == 0, text


def test_the_command_line_tells_and_exits_with_1(tmp_path):
    KINDS["q7"].save(tmp_path / "a.qnz")
    graph = classifier()
    params = {**graph.nodes[0].params, "out_shift": graph.nodes[0].params["out_shift"] + 1}
    Network(changed(graph, 0, params=params)).save(tmp_path / "b.qnz")
    assert call("diff", tmp_path / "a.qnz", tmp_path / "a.qnz")[0] == 0
    code, text = call("diff", tmp_path / "a.qnz", tmp_path / "b.qnz")
    assert code == 1
    assert "differ; changes: 1, layers that differ: 1\n" in text
    assert "out_shift" in text
    code, text = call("diff", tmp_path / "a.qnz", tmp_path / "b.qnz", "--json")
    document = json.loads(text)
    assert (code, document["same"], len(document["changes"])) == (1, False, 1)
    code, text = call("diff", tmp_path / "a.qnz", tmp_path / "b.qnz", "--csv")
    assert len(text.splitlines()) == 2
    assert call("diff", tmp_path / "a.qnz", tmp_path / "none.qnz")[0] == 2


def test_of_two_functions_the_arguments_of_one_alone_are_left_out():
    graph = classifier()
    node = next(n for n in graph.nodes if n.function.name == "arm_convolve_HWC_q7_basic")
    sides = {"dim_im_in", "dim_kernel", "padding", "stride", "dim_im_out"}
    params = {name: value for name, value in node.params.items() if name not in sides}
    for name in sides:
        params.update({f"{name}_x": node.params[name], f"{name}_y": node.params[name]})
    other = FUNCTIONS["arm_convolve_HWC_q7_basic_nonsquare"]
    place = graph.nodes.index(node)
    twin = changed(graph, place, function=other, params=params)
    found = qemu_nn.diff(Network(graph), Network(twin))
    assert [change.what for change in found.changes] == ["function"]
