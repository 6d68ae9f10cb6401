"""Networks of each kind, with names that are hard to print."""

import affine_networks
from float_classifiers import float_network
from networks import classifier, node, recurrent

from qemu_nn import Preprocessing
from qemu_nn.api.golden import Network
from qemu_nn.ir.graph import Graph, Tensor

HOSTILE = "<script>alert(1)</script>\x1b[2J\n" + 10_000 * "long"


def many(count):
    """Return a network of `count` rectifiers in a row."""
    names = ["x", *(f"{HOSTILE}{i}" for i in range(count))]
    nodes = tuple(
        node(n, "arm_relu_q7", [source], 7, size=4) for source, n in zip(names, names[1:])
    )
    return Graph(HOSTILE, (Tensor("x", (4,), "int8", 7),), nodes, (names[-1],), {})


STEPS = Preprocessing(256, 224, scale=1 / 255, mean=[0.485, 0.456] * 9, std=0.25)

NETWORKS = {
    "prepared": Network(recurrent(), float_network().graph, ("coarser",), STEPS),
    "q7": Network(classifier(), float_network().graph, ("conv1: coarser",) * 50),
    "memory": Network(classifier(memory=True)),
    "recurrent": Network(recurrent()),
    "affine": Network(affine_networks.small()),
    "float": float_network(),
    "many": Network(many(300)),
}
