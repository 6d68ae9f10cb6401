"""Inputs, outputs and names of .tflite files: what is cut, renamed, or the same tensor twice."""

import numpy as np
import pytest
from tflite_cases import Net, inputs

import qemu_nn
from qemu_nn.errors import ModelError


def dense(net, x, count=3, name=None):
    w = net.weights((count, net.tensors[x]["shape"][-1]), 0, False)
    y = net.tensor((1, count), "INT8", 0.06, -5, name=name)
    net.operator("FULLY_CONNECTED", [x, w, -1], [y], "FullyConnectedOptions")
    return y


def load(net, folder):
    return qemu_nn.load(net.save(folder))


def plain(folder):
    net = Net()
    net.outputs.append(dense(net, net.begin(8), name="scores"))
    return load(net, folder)


def with_real_ends():
    net = Net()
    net.inputs.append(net.tensor((1, 8), "FLOAT32", name="real"))
    x = net.middle(8, zero=3)
    net.operator("QUANTIZE", net.inputs, [x], "QuantizeOptions")
    y = dense(net, x, name="scores")
    net.outputs.append(net.tensor((1, 3), "FLOAT32", name="probabilities"))
    net.operator("DEQUANTIZE", [y], net.outputs, "DequantizeOptions")
    return net


def test_real_ends_are_cut(tmp_path):
    graph, whole = load(with_real_ends(), tmp_path).graph, plain(tmp_path).graph
    assert (graph.input.name, graph.input.spelled) == ("t1", whole.input.spelled)
    assert graph.outputs == ("scores",)
    assert [node.function.name for node in graph.nodes] == ["arm_fully_connected_s8"]
    x = inputs("x", graph.input)
    results = [qemu_nn.Network(each).session().run(x)["scores"] for each in (graph, whole)]
    assert np.array_equal(*results)


def test_a_real_input_may_be_quantized_twice_in_one_way_alone(tmp_path):
    for scale, message in ((0.05, None), (0.07, "the input: it is quantized in two formats")):
        net = with_real_ends()
        again = net.tensor((1, 8), "INT8", scale, 3)
        net.operators.insert(0, ("QUANTIZE", net.inputs, [again], "QuantizeOptions", {}))
        net.outputs.append(dense(net, again))
        if message is None:
            assert len(load(net, tmp_path).graph.nodes) == 2
        else:
            with pytest.raises(ModelError, match=message):
                load(net, tmp_path)


def test_outputs_are_those_of_the_file_in_its_order(tmp_path):
    net = Net()
    first = dense(net, net.begin(8), name="first")
    second = dense(net, first, name="second")
    net.outputs += [second, first]
    assert load(net, tmp_path).graph.outputs == ("second", "first")


def test_an_output_in_another_shape_is_what_the_call_makes(tmp_path):
    net = Net()
    first = dense(net, net.begin(8), name="first")
    shaped = net.tensor((1, 3, 1), "INT8", 0.06, -5, name="shaped")
    net.operator("EXPAND_DIMS", [first, net.one(2)], [shaped], "ExpandDimsOptions")
    net.outputs += [dense(net, first, name="second"), shaped]
    graph = load(net, tmp_path).graph
    assert graph.outputs == ("second", "shaped")
    assert graph.node("shaped").output.shape == (3, 1)
    assert graph.node("second").inputs == ("shaped",)


def test_outputs_in_two_shapes_and_repeated_outputs_are_copies(tmp_path):
    net = Net()
    first = dense(net, net.begin(8), name="first")
    shaped = net.tensor((1, 3, 1), "INT8", 0.06, -5, name="shaped")
    net.operator("EXPAND_DIMS", [first, net.one(2)], [shaped], "ExpandDimsOptions")
    net.outputs += [shaped, first, shaped]
    graph = load(net, tmp_path).graph
    assert graph.outputs == ("shaped", "first", "first/copy")
    assert [graph.node(name).output.shape for name in graph.outputs] == [(3, 1), (3,), (3, 1)]
    assert graph.node("shaped").inputs == graph.node("first/copy").inputs == ("first",)


def test_each_tensor_gets_a_name_of_its_own(tmp_path):
    net = Net()
    x = net.begin(8)
    for name in ("same", "same", "", "new\nline", "same"):
        x = dense(net, x, name=name)
    net.outputs.append(x)
    graph = load(net, tmp_path).graph
    names = [node.name for node in graph.nodes]
    assert names == ["same", "same_2", "tensor6", "new_line", "same_3"]


def test_a_network_of_several_samples_at_a_time_is_one_of_larger_samples(tmp_path):
    net = Net()
    x = net.input((4, 8), 0.05, 3)
    w = net.weights((3, 8), 0, False)
    y = net.output((4, 3), 0.06, -5)
    net.operator("FULLY_CONNECTED", [x, w, -1], [y], "FullyConnectedOptions")
    network = load(net, tmp_path)
    assert network.graph.input.shape == (4, 8)
    assert network.session().run(np.zeros((2, 4, 8), np.int8))["output"].shape == (2, 4, 3)
