"""Search for faults of firmware, with the memory that an export plans."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from ..analysis.fault_search import FaultSearch, Place
from ..errors import Error
from ..firmware.memory import Layout, plan_layout
from ..ir.graph import Graph
from ..runtime.plan import plan
from ..targets import Profile


def fault_search(graph: Graph, profile: Profile) -> FaultSearch:
    """Return the search for faults of a network on a device."""
    with suppress(Error):  # a network that cannot be exported has no known memory
        layout = plan_layout(plan(graph, profile))
        return FaultSearch(graph, profile, tuple(_iterate_places(graph, layout)))
    return FaultSearch(graph, profile)


def _iterate_places(graph: Graph, layout: Layout) -> Iterator[Place]:
    """Yield all memory that a run writes, in its order."""
    for tensor, address in zip(graph.inputs, layout.inputs):
        yield Place(f"the input {tensor.name}", tensor.name, address, tensor.nbytes)
    for call in layout.calls:
        name = call.step.node.name
        for what, block in call.scratch.items():
            yield Place(f"scratch memory {what} of {name}", "", block.address, block.nbytes)
        yield Place(f"the output of {name}", name, call.output, call.step.sizes.output)
