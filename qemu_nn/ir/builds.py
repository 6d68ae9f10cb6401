"""A network as a build of TensorFlow Lite Micro calls its kernels."""

from __future__ import annotations

from dataclasses import replace

from ..errors import Refused
from ..functions.tflm_builds import DIFFERENCES
from ..targets import Profile
from .graph import Graph, Node


def built(graph: Graph, profile: Profile) -> Graph:
    """The network with the calls of the profile's build. Raises Refused where that cannot run it,
    or nobody can say what it computes."""
    nodes = tuple(_built(graph, node, profile) for node in graph.nodes)
    return graph if nodes == graph.nodes else replace(graph, nodes=nodes)


def _built(graph: Graph, node: Node, profile: Profile) -> Node:
    for build in node.builds:
        if not DIFFERENCES[build.difference].holds(profile):
            continue
        if build.function is None:
            raise Refused(f"{graph.name}: layer {node.name!r}: {build.refused}")
        names = ("function", "params", "weights", "bias", "effect")
        return replace(node, **{name: getattr(build, name) for name in names}, builds=())
    return replace(node, effect="") if node.effect and profile.kernels == "reference" else node
