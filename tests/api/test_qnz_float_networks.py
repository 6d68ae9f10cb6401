"""A .qnz gives back the float network that was saved, alone or as a reference, and nothing else."""

import json
import zipfile
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import qemu_nn
from qemu_nn.api import golden as pipeline
from qemu_nn.errors import ModelError
from qemu_nn.ir.float_graph import FloatGraph, FloatNode
from qemu_nn.operators import (
    OPERATORS,
    Affine,
    ArgMax,
    Clip,
    Concat,
    Conv,
    ConvTranspose,
    Dense,
    DepthToSpace,
    Elementwise,
    Gather,
    Identity,
    Lstm,
    MatMul,
    Normalize,
    Pad,
    Pool,
    PRelu,
    Reduce,
    Relu,
    Reshape,
    Resize,
    Shuffle,
    Sigmoid,
    Slice,
    Softmax,
    SpaceToDepth,
    Tanh,
    Transpose,
)
from qemu_nn.operators.curve import gelu
from qemu_nn.qnz.package import load_package, save_package

EVERY = (
    Conv(np.full((4, 3, 3, 4), 0.1, np.float32), np.arange(4.0), (1, 2), (1, 1, 1, 1), (1, 1), 1),
    Relu(0.1, 6.0),
    Relu(),
    Clip(-1.0, float("inf")),
    PRelu(np.array([0.1, 0.2, 0.3, 0.4])),
    Affine(np.array(1 / 3), np.array([1.0, 2.0, 3.0, 4.0])),
    Pool("max", (2, 2), (1, 1), (1, 1, 1, 0), True, False),
    SpaceToDepth(2, False),
    DepthToSpace(2),
    ConvTranspose(np.full((4, 3, 3, 4), 0.1), np.arange(4.0), (2, 1), (1, 1, 0, 1)),
    Resize("nearest", (5, 4), half_pixel=True),
    Gather(1, (3, 2, 1, 0)),
    Normalize((0, 1), 1e-3, False),
    gelu(),
    Pad(((0, 0), (1, -1), (0, 0)), 0.25),
    Shuffle(2, 2),
    Transpose((2, 0, 1)),
    Slice(0, 1, 3),
    Sigmoid(),
    Tanh(),
    Identity(),
    Reshape((40,)),
    Dense(np.ones((5, 40))),
    Softmax(0, True),
)


def everything():
    """Return a network with one of each operator."""
    names = ["x", *(f"layer {i} é\n" for i in range(len(EVERY)))]
    nodes = [FloatNode(n, o, (s,)) for n, o, s in zip(names[1:], EVERY, names)]
    last = names[-1]
    nodes.append(FloatNode("sum", Elementwise("add"), (last, last)))
    nodes.append(FloatNode("both", Concat(0), ("sum", last)))
    nodes.append(FloatNode("row", Reshape((1, 10)), ("both",)))
    nodes.append(FloatNode("square", MatMul(True), ("row", "row")))
    nodes.append(FloatNode("mean", Reduce("mean", (0, 1)), ("square",)))
    nodes.append(FloatNode("best", ArgMax(1), ("row",)))
    gates = np.ones((4, 3, 10)), np.ones((4, 3, 3)), np.ones((4, 3))
    nodes.append(FloatNode("last", Lstm(*gates), ("row",)))
    ends = ("both", "sum", "mean", "best", "last")
    return FloatGraph("net", "x", (5, 8, 4), "NHWC", tuple(nodes), ends, ("a", "b"))


def same(a, b):
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and np.array_equal(a, b)
    return type(a) is type(b) and a == b


def assert_same(a, b):
    for field in fields(FloatGraph):
        if field.name != "nodes":
            assert same(getattr(a, field.name), getattr(b, field.name)), field.name
    assert len(a.nodes) == len(b.nodes)
    for one, other in zip(a.nodes, b.nodes):
        assert (one.name, one.inputs) == (other.name, other.inputs)
        assert type(one.operator) is type(other.operator)
        for field in fields(one.operator):
            values = [getattr(node.operator, field.name) for node in (one, other)]
            assert same(*values), f"{one.name}: {field.name}"


def test_the_network_of_this_test_has_every_operator():
    assert {type(node.operator).__name__ for node in everything().nodes} == set(OPERATORS)


def test_a_float_network_comes_back_as_it_was(tmp_path):
    path = tmp_path / "net.qnz"
    pipeline.FloatNetwork(everything()).save(path)
    network = qemu_nn.load(path)
    assert isinstance(network, pipeline.FloatNetwork)
    assert_same(network.graph, everything())
    first = path.read_bytes()
    network.save(path)
    assert path.read_bytes() == first


def test_a_quantized_network_keeps_its_reference(tmp_path):
    path = tmp_path / "net.qnz"
    device, x, _ = pipeline.example()
    replace(device, reference=everything()).save(path)
    network = qemu_nn.load(path)
    assert isinstance(network, pipeline.Network)
    assert_same(network.reference, everything())
    expected = device.session().run(x)
    for name, values in network.session().run(x).items():
        np.testing.assert_array_equal(values, expected[name])


def test_weights_that_are_not_finite_are_not_saved(tmp_path):
    graph = FloatGraph(
        "net", "x", (1,), None, (FloatNode("d", Dense(np.array([[np.nan]])), ("x",)),), ("d",)
    )
    with pytest.raises(ModelError, match="net: d: weights has values that are not finite"):
        save_package(None, tmp_path / "net.qnz", graph)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "net.qnz"
    save_package(None, path, everything())
    return path


def edited(path, change):
    """Write the file with its float.json changed."""
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    document = json.loads(entries["float.json"])
    change(document)
    entries["float.json"] = json.dumps(document).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in entries.items():
            archive.writestr(name, data)


def node(document, kind):
    return next(n for n in document["nodes"] if n["operator"] == kind)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda d: d.update(version=2), "version 2; this qemu_nn reads 1"),
        (lambda d: d.update(arrays=3), "not expected"),
        (lambda d: d.update(arrays=-5), "not expected"),
        (lambda d: d.update(layout="NWHC"), "the layout NWHC"),
        (lambda d: d["nodes"].pop(), "the output 'last' is none of its tensors"),
        (lambda d: node(d, "Relu").update(operator="Gelu"), "operator 'Gelu' is unknown"),
        (
            lambda d: node(d, "Relu")["fields"].pop("slope"),
            "Relu must have exactly the fields slope, limit",
        ),
        (lambda d: node(d, "Relu")["fields"].update(slope=0.5), "'slope' must be a string"),
        (lambda d: node(d, "Relu")["fields"].update(slope="nan"), "'slope' is not a number"),
        (lambda d: node(d, "Relu")["fields"].update(slope="x"), "not a hexadecimal number"),
        (lambda d: node(d, "Pool")["fields"].update(kernel=[2]), "'kernel' must be"),
        (lambda d: node(d, "Pool")["fields"].update(kernel=[2, 2.0]), "'kernel' must be"),
        (lambda d: node(d, "Pool")["fields"].update(ceil=1), "'ceil' must be"),
        (lambda d: node(d, "Pool")["fields"].update(kernel=[2**40, 2]), "'kernel' must be"),
        (lambda d: node(d, "Pool")["fields"].update(kind="min"), "no pooling 'min'"),
        (lambda d: node(d, "Shuffle")["fields"].update(axis=7), "no axis 7"),
        (lambda d: node(d, "Curve")["fields"].update(steps=["sin"]), "has 1 steps and"),
        (lambda d: node(d, "Curve")["fields"].update(constants={"array": 0}), "one axis"),
        (lambda d: node(d, "Gather")["fields"].update(places=[4]), "places are not all within"),
        (lambda d: node(d, "Normalize")["fields"].update(axes=[0, 0]), "are not axes of"),
        (
            lambda d: node(d, "ConvTranspose")["fields"].update(stride=[2**30, 2**30]),
            "between strides",
        ),
        (lambda d: node(d, "Conv")["fields"].update(weights={"array": 1}), "4 axes"),
        (
            lambda d: node(d, "Conv")["fields"].update(weights={"array": 99}),
            "has no entry floats/99",
        ),
        (lambda d: node(d, "Conv")["fields"].update(weights=None), "'weights'"),
    ],
)
def test_a_file_with_anything_else_in_it_is_refused(saved, change, reason):
    edited(saved, change)
    with pytest.raises(ModelError, match=reason):
        load_package(saved)


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.data())
def test_a_damaged_file_is_refused_or_read_never_worse(saved, data):
    content = bytearray(saved.read_bytes())
    broken = saved.with_name("broken.qnz")
    if data.draw(st.booleans()):
        content = content[: data.draw(st.integers(0, len(content) - 1))]
    else:
        for _ in range(data.draw(st.integers(1, 4))):
            content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    broken.write_bytes(content)
    try:
        load_package(broken)
    except ModelError as error:
        assert str(error)  # noqa: PT017
