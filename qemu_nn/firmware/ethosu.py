"""Networks with command streams of an Ethos-U as firmware: the file in TensorFlow Lite Micro, or a
program that the driver starts; with a self-test on goldens and the link of `qemu-nn validate`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import link
from .project import Firmware, load_template, render, write_manifest
from .tflm import Common, Watched, count_arena, find_method, format_arrays, list_samples

#: Templates of both kinds -> path in the project; {name} is that of the network.
_FILES = {
    "ethosu/CMakeLists.txt": "CMakeLists.txt",
    "ethosu/Makefile": "Makefile",
    "ethosu/README.md": "README.md",
    "ethosu/npu.c": "npu.c",
    "tflm/link_network.c": "link/link_network.c",
    "tflm/main.c": "main.c",
    "tflm/network.h": "{name}.h",
}

#: Bytes for what releases of the framework keep besides the structures of the one that is counted.
_MARGIN = 2048

#: Files of the link that serial ports of emulated boards need, which have no Ethos-U.
_OF_BOARDS = ("link/board.c", "link/uart")


@dataclass(frozen=True)
class Filled:
    """A state in the arena that starts at its zero point: its offset there, bytes, the byte."""

    offset: int
    nbytes: int
    byte: int


@dataclass(frozen=True)
class NpuCommon(Common):
    """Parts of both kinds of export. npu: the NPU. fast: bytes of its fast memory, 0 for none."""

    npu: str
    fast: int


@dataclass(frozen=True)
class File:
    """A .tflite file: its bytes, operators, variables, bytes of tensors and of structures."""

    data: bytes
    operators: Sequence[str]
    variables: int
    head: int
    tail: int
    watched: Sequence[Watched]
    filled: Sequence[Filled]


@dataclass(frozen=True)
class Stream:
    """A program alone: its command tensor, constants, bytes of the arena, and offsets there."""

    commands: bytes
    constants: bytes
    arena: int
    inputs: Sequence[int]
    outputs: Sequence[int]


def write_file(folder: Path, common: NpuCommon, file: File) -> Firmware:
    """Write a project that runs a file in TensorFlow Lite Micro."""
    name, arena = common.name, count_arena(file.head, file.tail + _MARGIN)
    sources = [f"{name}.cc", f"{name}_model.c", "npu.c"]
    layers = [each.stem for each in file.watched]
    values: dict[str, Any] = {
        **_make_values(common, layers, sources),
        **{"npu": "tflm", "runs_in": "in TensorFlow Lite Micro"},
        "operators": [*dict.fromkeys(map(find_method, file.operators))],
        "cmsis_nn": any(each != "ethos-u" for each in file.operators),
        **{"variables": file.variables, "head": file.head, "arena": arena},
        **{"watched": file.watched, "filled": file.filled},
        "functions": "TensorFlow Lite Micro",
    }
    ends = {stem for stem in layers if stem in values["ends"]}
    values["checks"] = values["runs"] * (len(layers) + len(values["ends"]) - len(ends))
    model = format_arrays(f"{name}.tflite", {f"{name}_model": file.data}, "NETWORK_MODEL_SECTION")
    contents = {f"{name}_model.c": model, f"{name}.tflite": file.data}
    contents[f"{name}.cc"] = render("tflm/network.cc", values).encode("ascii")
    _write(folder, common, values, contents)
    return Firmware(arena + common.fast, len(file.data))


def write_stream(folder: Path, common: NpuCommon, stream: Stream) -> Firmware:
    """Write a project that gives a command stream to the driver."""
    name = common.name
    sources = [f"{name}.c", f"{name}_stream.c", "npu.c"]
    arrays = {f"{name}_commands": stream.commands, f"{name}_constants": stream.constants or b"\0"}
    values: dict[str, Any] = {
        **_make_values(common, [], sources),
        **{"npu": "direct", "runs_in": "as a command stream", "watched": ()},
        **{"arena": stream.arena, "inputs": stream.inputs, "outputs": stream.outputs},
        "command_bytes": len(stream.commands),
        "constant_bytes": len(stream.constants),
        "functions": "the driver of the Ethos-U",
    }
    values["checks"] = values["runs"] * len(values["ends"])
    contents = {f"{name}.c": render("ethosu/direct.c", values).encode("ascii")}
    contents[f"{name}_stream.c"] = format_arrays("The program", arrays, "NETWORK_MODEL_SECTION")
    _write(folder, common, values, contents)
    flash = len(stream.commands) + len(stream.constants)
    return Firmware(stream.arena + common.fast, flash)


def _make_values(
    common: NpuCommon, layers: Sequence[str], sources: Sequence[str]
) -> dict[str, Any]:
    """Return the values of templates that both kinds share."""
    graph, name, goldens = common.plan.graph, common.name, common.goldens
    outputs = [graph.tensors[each] for each in graph.outputs]
    samples = list_samples(graph, goldens, common.steps)
    return {
        **{"name": name, "upper": name.upper(), "guard": f"{name.upper()}_H"},
        **{"network": graph.name[:80], "profile": str(common.plan.profile)},
        **{"version": common.about.version, "npu_name": common.npu, "fast": common.fast},
        **{"states": bool(graph.states), "sources": sources, "samples": samples},
        "ends": {goldens.stems[each] for each in graph.outputs},
        "runs": sum(map(len, samples)),
        "description": link.make_description(graph, common.about, layers),
        "link_inputs": [tensor.nbytes for tensor in graph.inputs],
        "link_outputs": [tensor.nbytes for tensor in outputs],
        "caveats": common.plan.warnings,
    }


def _write(
    folder: Path, common: NpuCommon, values: Mapping[str, Any], own: Mapping[str, bytes]
) -> None:
    """Write the files of both kinds, those of one, and the manifest."""
    contents = {path: render(key, values).encode("ascii") for key, path in _FILES.items()}
    for path, name in link.FILES.items():
        if not path.startswith(_OF_BOARDS):
            contents[path] = load_template(name).encode("ascii")
    for path, content in {**contents, **own}.items():
        place = folder / path.format(name=common.name)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    write_manifest(folder, common.about)
