"""Small frozen graphs, written as TensorFlow writes them."""

import numpy as np
import pytest

import qemu_nn

pytest.importorskip("google.protobuf")

from qemu_nn.importers.tensorflow.schema import new

FLOAT, DOUBLE, INT32, UINT8, STRING, INT64, BFLOAT16, HALF = 1, 2, 3, 4, 7, 9, 14, 19
NUMBERS = {"float32": FLOAT, "float64": DOUBLE, "int32": INT32, "uint8": UINT8, "int64": INT64}


class Type(int):
    """The number of an element type, as an attribute."""


class Called(str):
    """The name of a function, as an attribute."""


def shape_of(message, dims):
    """Fill a Shape message."""
    for size in dims:
        dim = new("Dim")
        dim.size = size
        message.dim.append(dim.SerializeToString())


def tensor(array, **listed):
    """Serialize an array as a Tensor message; listed: field=numbers instead of its bytes."""
    message = new("Tensor")
    array = np.asarray(array)
    message.dtype = NUMBERS[array.dtype.name]
    shape_of(message.tensor_shape, array.shape)
    for field, numbers in listed.items():
        getattr(message, field).extend(numbers)
    if not listed:
        message.tensor_content = array.tobytes()
    return message


def value(given):
    """Serialize a Value message: tuples are shapes, lists are lists of integers."""
    message = new("Value")
    kinds = {Type: "type", bool: "b", int: "i", float: "f"}
    if isinstance(given, Called):
        message.func.name = given.encode()
    elif isinstance(given, str):
        message.s = given.encode()
    elif isinstance(given, tuple):
        message.shape.SetInParent()
        shape_of(message.shape, given)
    elif isinstance(given, list):
        message.list.i.extend(given)
    elif type(given) in kinds:
        setattr(message, kinds[type(given)], given)
    else:
        message.tensor.CopyFrom(given)
    return message


def node(name, op, inputs="", **attributes):
    """Serialize a node; inputs: names with spaces between."""
    message = new("Node")
    message.name, message.op = name.encode(), op.encode()
    message.input.extend(each.encode() for each in inputs.split())
    for key, given in attributes.items():
        attribute = new("Attribute")
        attribute.key, attribute.value = key.encode(), value(given).SerializeToString()
        message.attr.append(attribute.SerializeToString())
    return message.SerializeToString()


def const(name, array, **listed):
    """Serialize a Const of floats (float32), or of integers (int32)."""
    array = np.asarray(array)
    narrow = array.astype({"f": np.float32, "i": np.int32}[array.dtype.kind])
    return node(name, "Const", value=tensor(narrow, **listed))


def placeholder(*dims, name="x", dtype=FLOAT):
    return node(name, "Placeholder", dtype=Type(dtype), shape=dims)


def graph(*nodes):
    message = new("Graph")
    message.node.extend(nodes)
    return message.SerializeToString()


def load(folder, *nodes, **choice):
    """Write nodes as a frozen graph, or the bytes of a whole file, and load them."""
    path = folder / "net.pb"
    path.write_bytes(graph(*nodes))
    return qemu_nn.load(path, **choice)


def run(folder, x, *nodes, **choice):
    """Return the only output of the nodes for inputs x."""
    network = load(folder, *nodes, **choice)
    return network.evaluate(np.asarray(x))[network.graph.outputs[0]]


def over(folder, x, *nodes, **choice):
    """Return the output of the nodes for a tensor "x" of the shape of x, with any batch."""
    return run(folder, x, placeholder(-1, *np.shape(x)[1:]), *nodes, **choice)
