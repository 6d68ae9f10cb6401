"""Small ONNX models built in the tests, and what the ONNX reference evaluator computes of them."""

import numpy as np
import pytest

from qemu_nn.importers.onnx import read
from qemu_nn.runtime.evaluate import evaluate

onnx = pytest.importorskip("onnx")
reference = pytest.importorskip("onnx.reference")
helper, numpy_helper = onnx.helper, onnx.numpy_helper


def value(name, shape, kind=None):
    return helper.make_tensor_value_info(name, kind or onnx.TensorProto.FLOAT, shape)


def node(op, inputs, outputs="y", **attributes):
    """inputs, outputs: names in one string, "-" for one that is left out."""
    names = [["" if name == "-" else name for name in text.split()] for text in (inputs, outputs)]
    return helper.make_node(op, *names, **attributes)


def model(nodes, shape, constants=None, opset=20, outputs="y", batch="n", **graph):
    """Return a model with the float input "x" [batch, *shape]; constants: name -> array."""
    tensors = [numpy_helper.from_array(a, name) for name, a in (constants or {}).items()]
    graph = helper.make_graph(
        nodes,
        "test",
        [value("x", [batch, *shape])],
        [value(name, None) for name in outputs.split()],
        tensors,
        **graph,
    )
    imports = [helper.make_opsetid("", opset)]
    return helper.make_model(graph, opset_imports=imports, ir_version=8)


def write(folder, proto):
    path = folder / "net.onnx"
    path.write_bytes(proto.SerializeToString())
    return path


def loaded(folder, proto, **cut):
    return read(write(folder, proto), **cut).reference


def inputs(shape, samples=2):
    return np.random.default_rng(5).normal(size=(samples, *shape)).astype(np.float32) * 2


def agrees(folder, proto, shape):
    """Load a model, check its outputs by the reference evaluator, and return the float network.

    The reference gets one sample at a time, as a batch of 1 in the file means.
    """
    graph, x = loaded(folder, proto), inputs(shape)
    found = evaluate(graph, x)
    evaluator = reference.ReferenceEvaluator(proto)
    for i in range(len(x)):
        expected = dict(zip(graph.outputs, evaluator.run(None, {"x": x[i : i + 1]})))
        for name, wanted in expected.items():
            wanted = wanted.reshape(graph.shapes[name])
            limit = 1e-5 * max(np.abs(wanted).max(), 1e-3)
            np.testing.assert_allclose(found[name][i], wanted, rtol=0, atol=limit)
    return graph
