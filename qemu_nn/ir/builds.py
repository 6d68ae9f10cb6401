"""The calls of a network in a build of TensorFlow Lite Micro."""

from __future__ import annotations

from dataclasses import replace

from ..errors import Refused
from ..functions.tflm_builds import DIFFERENCES
from ..targets import Profile
from .graph import Graph, Node, Tensor


def build_calls(graph: Graph, profile: Profile) -> Graph:
    """Return the network with the calls of the profile's build.

    Raises Refused if the build cannot run it, or its result is unknown.
    """
    nodes = tuple(_build_node(graph, node, profile) for node in graph.nodes)
    if nodes == graph.nodes:
        return graph
    return replace(graph, nodes=nodes, states=(*graph.states, *_list_more_states(graph, profile)))


def add_states(graph: Graph, profile: Profile) -> Graph:
    """Return the network of a profile's build if it has additional states; else the network
    unchanged.
    """
    return build_calls(graph, profile) if _list_more_states(graph, profile) else graph


def _list_more_states(graph: Graph, profile: Profile) -> list[Tensor]:
    builds = (build for node in graph.nodes for build in node.builds)
    held = (build for build in builds if DIFFERENCES[build.difference].applies_to(profile))
    return [state for build in held for state in build.states]


def _build_node(graph: Graph, node: Node, profile: Profile) -> Node:
    for build in node.builds:
        if not DIFFERENCES[build.difference].applies_to(profile):
            continue
        if build.function is None:
            raise Refused(f"{graph.name}: layer {node.name!r}: {build.refused}")
        names = ("function", "params", "weights", "bias", "effect")
        call = {name: getattr(build, name) for name in names}
        inputs = (*node.inputs, *(state.name for state in build.states))
        return replace(node, **call, inputs=inputs, builds=())
    return replace(node, effect="") if node.effect and profile.kernels == "reference" else node
