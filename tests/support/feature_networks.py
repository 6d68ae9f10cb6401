"""Networks on features of sound, and files of sound."""

import wave

import qemu_nn
from qemu_nn.functions import FUNCTIONS
from qemu_nn.ir.graph import Graph, Node, Tensor


def chain():
    return qemu_nn.chain(qemu_nn.micro_frontend(), hops=(160,))


def network(steps=4, **form):
    """Return a network whose output is its input."""
    declared = FUNCTIONS["tflm_read_variable_s8"]
    shape, form = (steps, 40), {"scale": 0.5, **form}
    node = Node(declared, {"length": 40 * steps}, ("in",), Tensor("out", shape, "int8", **form))
    return qemu_nn.Network(
        Graph("net", (Tensor("in", shape, "int8", **form),), (node,), ("out",), {})
    )


def put(path, samples, rate=16000):
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, rate, 0, "NONE", ""))
        file.writeframes(samples.astype("<i2").tobytes())
    return path
