"""Programs of an Ethos-U in a network: the NPUs that they are compiled for."""

from __future__ import annotations

import numpy as np

from ..errors import Error
from ..ethosu.container import name_configuration
from ..ir.graph import Graph, Node
from ..targets import Target

#: Function of a call that runs a command stream.
PROGRAM = "ethosu_program"


def list_programs(graph: Graph) -> list[Node]:
    """Return the calls that run command streams."""
    return [node for node in graph.nodes if node.function.name == PROGRAM]


def name_npu(graph: Graph, node: Node) -> str:
    """Return the NPU that the stream of a call is compiled for."""
    assert node.weights is not None
    words = np.ascontiguousarray(graph.arrays[node.weights]).view(np.uint8)[:4].view("<u4")
    return name_configuration(int(words[0]))


def check_npu(graph: Graph, target: Target) -> None:
    """Raise Error if the target's NPU cannot run the network's command streams."""
    compiled = sorted({name_npu(graph, node) for node in list_programs(graph)})
    npus = target.npus
    if npus is None:
        return
    for name in compiled:
        if name not in npus:
            if not npus:
                raise Error(
                    f"{graph.name} is compiled for {name}, and {target.device} has no Ethos-U; "
                    f"give the target {name}, or a chip or a core next to it"
                )
            has = f"{'is' if len(npus) == 1 else 'has'} {' and '.join(npus)}"
            raise Error(
                f"{graph.name} is compiled for {name}, and {target.device} {has}; compile it for "
                f"{npus[0]} with vela, or give the target {name}"
            )
    if not compiled and len(npus) == 1:
        raise Error(
            f"{graph.name} has no command stream of an Ethos-U, which {target.device} needs; "
            "compile it with vela, or give the core, such as cortex-m55"
        )
