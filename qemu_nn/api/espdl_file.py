"""Saves networks of ESP-DL as .espdl files, each read again before it is written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..errors import ModelError
from ..exporters import espdl as exporter
from ..importers import espdl as importer
from ..io.files import write_bytes
from ..ir.builds import ESP_DL_CHIPS
from ..ir.graph import Graph


def save_espdl(graph: Graph, path: Path) -> None:
    """Write a network as an .espdl file for its chip, whole or not at all; see as_espdl()."""
    write_bytes(path, as_espdl(graph))


def as_espdl(graph: Graph) -> bytes:
    """Return a network as the bytes of an .espdl file for the chip of its calls.

    The file, read by load(), is the same calls with the same arguments and arrays. Raises
    ModelError that names what such files do not hold.
    """
    chip = next((node.params["chip"] for node in graph.nodes if "chip" in node.params), None)
    if chip is None:
        raise ModelError(
            f"{graph.name} does not call ESP-DL, whose networks alone are .espdl files: quantize "
            "it with scheme='power2' and target='esp32s3', or save it as .qnz"
        )
    data = exporter.write(graph, ESP_DL_CHIPS[chip])
    if _list_calls(importer.read_network(graph.name, data)) != _list_calls(graph):
        raise ModelError(f"no .espdl file represents {graph.name}: save it as .qnz")
    return data


def _list_calls(graph: Graph) -> list[tuple[Any, ...]]:
    """Return the calls in order, with arguments and bytes of arrays, without the chip."""
    calls = []
    for node in graph.nodes:
        params = sorted((name, n) for name, n in node.params.items() if name != "chip")
        arrays = (name and graph.arrays[name].tobytes() for name in (node.weights, node.bias))
        calls.append((node.name, node.function.name, params, node.output.frac, *arrays))
    return calls
