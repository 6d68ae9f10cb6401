"""Functions of a network that bare CMSIS-NN does not have, and calls in float32."""

from __future__ import annotations

import math
from collections.abc import Iterable

from ..errors import ModelError
from ..ir.graph import Graph, Node

#: Most layers that a sentence names.
_NAMED = 6


def tell_functions(graph: Graph, runtime: str) -> list[str]:
    """Return notes on such calls; raise ModelError for a call that the runtime lacks.

    runtime: "tflm" or "cmsis-nn".
    """
    foreign = [
        node for node in graph.nodes if not node.function.name.startswith(("arm_", "esp_dl_"))
    ]
    if runtime == "cmsis-nn" and foreign:
        calls = ", ".join(sorted({node.function.name for node in foreign}))
        raise ModelError(
            f"{graph.name} cannot run on CMSIS-NN alone: {_list(foreign)} call {calls}; "
            "runtime='tflm' brings their C code"
        )
    notes = []
    if foreign:
        names = ", ".join(sorted({node.function.name for node in foreign}))
        notes.append(f"CMSIS-NN does not have {names}; an export brings their C code")
    floats = [node for node in graph.nodes if "_f32" in node.function.name]
    if not floats:
        return notes
    size = sum(math.prod(node.output.shape) for node in floats)
    largest = max(4 * math.prod(node.output.shape) for node in floats)
    return [
        *notes,
        f"{_list(floats)}: computed in float32 between dequantize and quantize, by {len(floats)} "
        f"calls that write {size:,} floats, up to {largest:,} bytes at a time; a core without a "
        "floating-point unit takes some 50 cycles for each",
    ]


def _list(nodes: Iterable[Node]) -> str:
    """Return the names of layers, without those of their parts."""
    names = [*dict.fromkeys(node.name.partition("/float")[0] for node in nodes)]
    names = [name.partition("/number")[0] for name in names]
    names = [*dict.fromkeys(names)]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
