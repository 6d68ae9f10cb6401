"""What a planned network is and costs, layer by layer and in all."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..graph import Graph, Node, Tensor
from ..layers.base import extent
from ..runtime.plan import Plan, Step
from .table import Cell, Table, spell

_LAYER = (
    *("layer", "function", "output", "format", "bias_shift", "out_shift"),
    *("macs", "weight_bytes", "scratch_bytes", "kernel"),
)


@dataclass(frozen=True)
class Summary:
    """A network on a device: its layers as a table, and facts about the whole by name."""

    facts: Mapping[str, Cell]
    layers: Table

    def text(self) -> str:
        """The table, then a line for each fact, for a terminal."""
        return f"{self.layers.text()}\n\n{facts_text(self.facts)}"

    def csv(self) -> str:
        """The layers alone, as CSV."""
        return self.layers.csv()

    def json(self) -> str:
        """One object: the facts, and the list of layers."""
        return json.dumps({**self.facts, "layers": self.layers.records()}, indent=2)


def facts_text(facts: Mapping[str, Cell]) -> str:
    """A line for each fact, for a terminal."""
    width = max(map(len, facts))
    return "\n".join(
        f"{name.replace('_', ' '):<{width}}  {spell(value)}" for name, value in facts.items()
    )


def summarize(plan: Plan, scratch: Mapping[str, int]) -> Summary:
    """The summary of a plan; scratch: layer -> bytes that the device's function asks for.

    activation_bytes is all memory beside weights: the firmware's buffers where they are known,
    otherwise what the planner needs; scratch_bytes is the most that one call asks for.
    """
    rows = tuple(
        _layer(plan.graph, node, scratch[node.name], kernel)
        for step in plan.steps
        for node, kernel in _computed(step)
    )
    layers = Table(_LAYER, rows)
    memory = plan.graph.memory
    activations = sum(memory.buffers.values()) if memory else plan.arena_bytes
    facts: dict[str, Cell] = {
        "network": plan.graph.name,
        "profile": str(plan.profile),
        "input": _shape(plan.graph.input),
        "input_format": plan.graph.input.spelled,
        "macs": sum(_macs(node) for node in plan.graph.nodes),
        "weight_bytes": sum(array.nbytes for array in plan.graph.arrays.values()),
        "activation_bytes": activations,
        "activation_memory": "the firmware's buffers" if memory else "planned, scratch included",
        "scratch_bytes": max(scratch.values()),
    }
    return Summary(facts, layers)


def _computed(step: Step) -> Iterator[tuple[Node, str]]:
    """The layers that a step computes, and how."""
    yield step.node, str(step.row)
    if step.relu:
        yield step.relu, f"with {step.node.name}"


def _layer(graph: Graph, node: Node, scratch: int, kernel: str) -> tuple[Cell, ...]:
    arrays = [graph.arrays[name] for name in (node.weights, node.bias) if name is not None]
    return (
        node.name,
        node.function.name,
        _shape(node.output),
        node.output.spelled,
        node.params.get("bias_shift"),
        node.params.get("out_shift"),
        _macs(node),
        sum(array.nbytes for array in arrays),
        scratch,
        kernel,
    )


def _macs(node: Node) -> int:
    return extent(node.function.macs, node.params)


def _shape(tensor: Tensor) -> str:
    return f"{tensor.dtype} {'x'.join(map(str, tensor.shape))}"
