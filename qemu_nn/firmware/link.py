"""Device side of `qemu-nn validate`, as files of an export; docs/protocol.md defines it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Optional

from ..ir.graph import Graph, Tensor
from .golden import About

#: Path in an export -> template.
FILES = {
    "link/link.h": "link.h",
    "link/link.c": "link.c",
    "link/cycles.h": "link_cycles.h",
    "link/board.c": "link_board.c",
    "link/pc.c": "link_pc.c",
    "link/uart.h": "link_uart.h",
    "link/uart_cmsdk.c": "link_uart_cmsdk.c",
    "link/uart_nrf51.c": "link_uart_nrf51.c",
    **{
        f"link/examples/{name}": f"link_{name}"
        for name in ("arduino.ino", "semihosting.c", "stm32_hal.c", "zephyr.c")
    },
}

#: Characters of C text in a line.
_LINE = 80


def make_description(
    graph: Graph, about: About, layers: Optional[Sequence[str]] = None
) -> list[str]:
    """Return the lines of a C string with JSON that describes the device's network.

    layers: the layers that the device reports, None for all. The JSON object is left open: the
    compiler adds the rest.
    """
    profile = about.profile
    said = {
        "network": graph.name[:80],
        "model": about.model,
        "qemu_nn": about.version,
        "core": about.core,
        "path": profile.path,
        "cmsis": profile.cmsis,
        "rounding": profile.rounding,
        "kernels": profile.kernels,
        "tflm": profile.tflm,
        **profile.espressif,
        "inputs": _list_sizes(graph.inputs),
        "outputs": _list_sizes([graph.tensors[name] for name in graph.outputs]),
        **({} if layers is None else {"layers": list(layers)}),
    }
    text = json.dumps(said).rstrip("}") + ", "
    pieces = [text[i : i + _LINE] for i in range(0, len(text), _LINE)]
    return ['"' + _escape(piece) + '"' for piece in pieces]


def _list_sizes(tensors: Sequence[Tensor]) -> list[list[Any]]:
    return [[tensor.name[:80], tensor.nbytes] for tensor in tensors]


def _escape(text: str) -> str:
    """Escape ASCII for a C string, without trigraphs."""
    return "".join("\\" + c if c in '"\\?' else c for c in text)


def make_values(graph: Graph, about: About) -> Mapping[str, Any]:
    """Return the values of link_network.c, as `link` of its template."""
    return {"description": make_description(graph, about)}
