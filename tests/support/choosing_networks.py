"""Networks that choose one of two inputs, or return the input of the step before."""

import qemu_nn
from qemu_nn.functions import FUNCTIONS
from qemu_nn.ir.graph import Graph, Node, Tensor

LENGTH = 6


def declared(name, **params):
    function = FUNCTIONS[name]
    return {"function": function, "params": function.parse_params(params)}


def chosen(suffix="s8", dtype="int8", **form):
    """Return a network that chooses one of two tensors by a truth value."""
    ends = [Tensor(name, (LENGTH,), dtype, **form) for name in ("a", "b", "out")]
    call = declared(f"tflm_choose_{suffix}", length=LENGTH)
    node = Node(inputs=("which", "a", "b"), output=ends[2], **call)
    inputs = (Tensor("which", (1,), "bool"), ends[0], ends[1])
    return qemu_nn.Network(Graph("chosen", inputs, (node,), ("out",), {}))


def counted():
    """Return a network whose output is the input of the time step before."""
    state, x = Tensor("kept", (LENGTH,), "int8"), Tensor("x", (LENGTH,), "int8")
    nodes = (
        Node(inputs=("kept",), output=Tensor("old", (LENGTH,), "int8"), **_variable("read")),
        Node(inputs=("kept", "x"), output=Tensor("new", (LENGTH,), "int8"), **_variable("assign")),
    )
    return qemu_nn.Network(Graph("counted", (x,), nodes, ("old",), {}, states=(state,)))


def _variable(verb):
    return declared(f"tflm_{verb}_variable_s8", length=LENGTH)
