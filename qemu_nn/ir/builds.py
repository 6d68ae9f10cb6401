"""The calls of a network in a build of TensorFlow Lite Micro."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import replace
from typing import Union

from ..errors import Error, Refused
from ..functions import FUNCTIONS
from ..functions.esp_nn_rules import EspCall, compute_as
from ..functions.tflm_builds import DIFFERENCES, ESP_FACTS
from ..releases import name_in_network
from ..targets import DEFAULT_CORE, Profile, Target
from .graph import Graph, Node, Tensor

#: Start of the names of functions of ESP-DL, whose argument `chip` counts in this list.
_ESP_DL, ESP_DL_CHIPS = "esp_dl_", ("esp32", "esp32s3", "esp32p4")

#: Value of `chip` where neither the file of a network nor its reader tells the chip.
UNKNOWN_CHIP = -1

#: Start of the effect of a call of ESP-NN.
_ESP_NN = "ESP-NN "


def build_calls(graph: Graph, profile: Profile) -> Graph:
    """Return the network with the calls of the profile's build.

    Raises Refused if the build cannot run it, or its result is unknown.
    """
    nodes = tuple(_build_node(graph, node, profile) for node in graph.nodes)
    if nodes == graph.nodes:
        return graph
    if any(each.inputs for node in graph.nodes for each in node.builds):
        nodes = _list_read(nodes, graph.outputs)
    return replace(graph, nodes=nodes, states=(*graph.states, *_list_more_states(graph, profile)))


def _list_read(nodes: Sequence[Node], outputs: Iterable[str]) -> tuple[Node, ...]:
    """Return the nodes that the outputs need."""
    needed, kept = {*outputs}, []
    for node in reversed(nodes):
        if node.name in needed:
            kept.append(node)
            needed.update(node.inputs)
    return tuple(kept[::-1])


def add_states(graph: Graph, profile: Profile) -> Graph:
    """Return the network of a profile's build if it has additional states; else the network
    unchanged.
    """
    return build_calls(graph, profile) if _list_more_states(graph, profile) else graph


def _list_more_states(graph: Graph, profile: Profile) -> list[Tensor]:
    builds = (build for node in graph.nodes for build in node.builds)
    held = (build for build in builds if DIFFERENCES[build.difference].applies_to(profile))
    return [state for build in held for state in build.states]


def calls_esp_dl(graph: Graph) -> bool:
    """True if calls of a network are of ESP-DL."""
    return any(node.function.name.startswith(_ESP_DL) for node in graph.nodes)


def find_target(graph: Graph, target: Union[str, Target]) -> Target:
    """Return the device of a target; instead of the default, the chip of a network of ESP-DL.

    Raises Error if the network is of ESP-DL and its file does not tell the chip.
    """
    wanted = Target.of(target)
    if wanted != Target(DEFAULT_CORE, tflm=wanted.tflm) or not calls_esp_dl(graph):
        return wanted
    chips = {node.params["chip"] for node in graph.nodes if "chip" in node.params}
    if UNKNOWN_CHIP in chips or len(chips) > 1:
        raise Error(
            f"{graph.name} calls ESP-DL, and its file does not tell the chip that it is for; give "
            "one as the target: esp32s3, esp32p4"
        )
    return wanted.on(ESP_DL_CHIPS[chips.pop() if chips else 0])


def _build_node(graph: Graph, node: Node, profile: Profile) -> Node:
    if profile.esp_dl and node.function.name.startswith(_ESP_DL) and "chip" in node.params:
        return replace(node, params={**node.params, "chip": ESP_DL_CHIPS.index(profile.path)})
    held = [b for b in node.builds if DIFFERENCES[b.difference].applies_to(profile)]
    facts = {build.difference for build in held} & ESP_FACTS
    for build in held:
        if build.difference in facts:
            continue
        if build.function is None:
            raise Refused(f"{graph.name}: layer {node.name!r}: {build.refused}")
        names = ("function", "params", "weights", "bias", "effect")
        call = {name: getattr(build, name) for name in names}
        inputs = (*(build.inputs or node.inputs), *(state.name for state in build.states))
        node = replace(node, **call, inputs=inputs, builds=())
        break
    else:
        if profile.kernels == "reference" and not node.effect.startswith(_ESP_NN):
            node = replace(node, effect="")
    if profile.esp_nn:
        return _call_esp_nn(graph, node, profile, facts)
    if profile.path == "npu":
        return node
    name = name_in_network(node.function.name, profile.cmsis)
    return node if name == node.function.name else replace(node, function=FUNCTIONS[name])


def _call_esp_nn(graph: Graph, node: Node, profile: Profile, facts: Container[str]) -> Node:
    """Return the call that has the bits of ESP-NN on a chip of the ESP32 family.

    facts: differences of ESP_FACTS that the call has.
    """
    if node.function.name.startswith("executorch_"):
        raise Refused(
            f"{graph.name}: layer {node.name!r} is of ExecuTorch's cortex_m backend, which "
            "needs a Cortex-M; give one as the target, or convert the network to .tflite"
        )
    if "esp_mul_broadcast" in facts:
        return node
    call = EspCall(node.function.name, node.params, has_scratch="esp_softmax_scratch" not in facts)
    try:
        found = compute_as(call, profile)
    except Refused as error:
        raise Refused(f"{graph.name}: layer {node.name!r}: {error}") from None
    if found is call:
        return node
    effect = f"{_ESP_NN}{profile.esp_nn}: {'; '.join(found.warnings)}"
    return replace(node, function=FUNCTIONS[found.function], params=found.params, effect=effect)
