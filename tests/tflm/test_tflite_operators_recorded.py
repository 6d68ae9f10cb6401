"""Every operator of .tflite files computes what TensorFlow Lite Micro was recorded computing."""

import json

import numpy as np
import pytest
from paths import GOLDEN
from tflite_cases import CASES, REFERENCE, STEPS, inputs
from tflite_files import File

import qemu_nn

RECORDED = np.load(GOLDEN / "tflite_operators.npz")


@pytest.mark.parametrize("name", CASES)
def test_an_operator_computes_what_was_recorded(name, tmp_path):
    network = qemu_nn.load(CASES[name]().save(tmp_path))
    network.save(tmp_path / "net.qnz")
    graph = qemu_nn.load(tmp_path / "net.qnz").graph
    assert graph.nodes == network.graph.nodes
    steps = STEPS if graph.states else ()
    kernels = "reference" if name in REFERENCE else "cmsis-nn"
    results = network.session(target=qemu_nn.Target(kernels=kernels)).run(
        inputs(name, graph.input, steps=steps)
    )
    results = {key: values for key, values in results.items() if key in graph.outputs}
    assert list(results) == list(graph.outputs)
    expected = [RECORDED[key] for key in RECORDED.files if key.rpartition("/")[0] == name]
    assert len(results) == len(expected) > 0
    for got, each in zip(results.values(), expected):
        assert np.array_equal(got, each.reshape(got.shape))
        assert len(np.unique(each)) > 1, "a constant proves nothing"


ELEMENTWISE = np.load(GOLDEN / "tflite_elementwise.npz")
ACTIVATIONS = {"none": "NONE", "relu": "RELU", "relu6": "RELU6"}


@pytest.mark.parametrize(
    "case", json.loads(str(ELEMENTWISE["manifest"]))["cases"], ids=lambda case: case["id"]
)
def test_sums_and_concatenations_of_tflite_as_recorded(case, tmp_path):
    """Return the operands: the network's input first, then constants."""
    params, net = case["params"], File()
    arrays = [ELEMENTWISE[key] for key in case["inputs"].values()]
    formats = list(zip(params["input_scales"], params["input_zero_points"]))
    type = case["dtype"].upper()
    inputs = [net.input(params["input_shapes"][0], *formats[0], type)]
    for array, each in zip(arrays[1:], formats[1:]):
        inputs.append(net.tensor(array.shape, type, *each, data=array))
    scale, zero = params["output_scale"], params["output_zero_point"]
    y = net.output(params["output_shape"], scale, zero, type)
    if case["op"] == "ADD":
        kind = ACTIVATIONS[params["activation"]]
        net.operator("ADD", inputs, [y], "AddOptions", FusedActivationFunction=kind)
    else:
        net.operator("CONCATENATION", inputs, [y], "ConcatenationOptions", Axis=params["axis"])
    if type == "UINT8":
        with pytest.raises(qemu_nn.Error, match="TensorFlow Lite Micro"):
            qemu_nn.load(net.save(tmp_path))
        return
    network = qemu_nn.load(net.save(tmp_path))
    got = network.session().run(arrays[0].reshape(1, *network.graph.input.shape))["output"]
    assert np.array_equal(got.ravel(), ELEMENTWISE[case["outputs"]["expected"]].ravel())
