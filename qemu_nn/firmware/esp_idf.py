"""Networks as components of ESP-IDF: .tflite files in esp-tflite-micro, .espdl files in ESP-DL.

The project has a self-test on goldens, and a second project with the link of `qemu-nn validate`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..ir.tflm_memory import TflmMemory
from ..targets import core_words
from . import link
from .c_text import quote_bytes, sanitize_comment
from .project import Firmware, load_template, render, write_manifest
from .tflm import Common, Watched, count_arena, find_method, format_arrays, list_samples

#: Template -> path in the project; {name} is that of the component.
_FILES = {
    "esp_idf/CMakeLists.txt": "CMakeLists.txt",
    "esp_idf/sdkconfig.defaults": "sdkconfig.defaults",
    "esp_idf/README.md": "README.md",
    "esp_idf/main_CMakeLists.txt": "main/CMakeLists.txt",
    "esp_idf/component_CMakeLists.txt": "components/{name}/CMakeLists.txt",
    "esp_idf/idf_component.yml": "components/{name}/idf_component.yml",
}

#: The same for the project with the link.
_LINK = {
    "esp_idf/link_CMakeLists.txt": "link/CMakeLists.txt",
    "esp_idf/sdkconfig.defaults": "link/sdkconfig.defaults",
    "esp_idf/link_main_CMakeLists.txt": "link/main/CMakeLists.txt",
    "esp_idf/link_main.c": "link/main/main.c",
    "tflm/link_network.c": "link/main/link_network.c",
}

#: The same of a component of TensorFlow Lite Micro, but for its self-test.
_TFLITE = {
    "tflm/network.h": "components/{name}/include/{name}.h",
    "tflm/network.cc": "components/{name}/{name}.cc",
}

#: The same of a component of ESP-DL, and its self-test.
_ESP_DL = {
    "esp_dl/main.c": "main/main.c",
    "esp_dl/network.h": "components/{name}/include/{name}.h",
    "esp_dl/network.cc": "components/{name}/{name}.cc",
}


@dataclass(frozen=True)
class TfliteFile:
    """A .tflite file: its bytes, the operators in it, its variables, its memory.

    watched: results that the link reports.
    """

    data: bytes
    operators: Sequence[str]
    variables: int
    memory: TflmMemory
    watched: Sequence[Watched]


@dataclass(frozen=True)
class EspDlFile:
    """An .espdl file: its bytes.

    layers: the tensor's name in the file, its name in goldens, and its bytes, of each result that
    the link reports.
    """

    data: bytes
    layers: Sequence[tuple[str, str, int]]


def write_tflite(folder: Path, common: Common, file: TfliteFile) -> Firmware:
    """Write a project that runs a file in esp-tflite-micro."""
    memory = file.memory
    arena = count_arena(memory.head, memory.tail)
    values = {
        **_make_values(common, [each.stem for each in file.watched], "tflite"),
        **{"runtime": "esp-tflite-micro", "pinned": "ESP-NN"},
        **{"head": memory.head, "arena": arena, "variables": file.variables},
        "operators": [*dict.fromkeys(map(find_method, file.operators))],
        **{"npu": "", "filled": (), "runs_in": "in TensorFlow Lite Micro"},
    }
    # The self-test compares the outputs alone.
    contents = _render(_TFLITE, {**values, "watched": file.watched})
    contents.update(_render({"tflm/main.c": "main/main.c"}, {**values, "watched": ()}))
    _write(folder, common, values, file.watched, contents, file.data)
    return Firmware(arena, len(file.data))


def write_esp_dl(folder: Path, common: Common, file: EspDlFile) -> Firmware:
    """Write a project that runs a file in ESP-DL; its memory is that of the emulator's plan."""
    graph = common.plan.graph
    ends = (graph.inputs, [graph.tensors[name] for name in graph.outputs])
    inputs, outputs = ([(quote_bytes(t.name), t.nbytes) for t in end] for end in ends)
    values = {
        **_make_values(common, [stem for _, stem, _ in file.layers], "espdl"),
        **{"runtime": "ESP-DL", "pinned": "ESP-DL", "npu": ""},
        **{"inputs": inputs, "outputs": outputs},
        "layers": [(quote_bytes(tensor), *rest) for tensor, *rest in file.layers],
    }
    _write(folder, common, values, file.layers, _render(_ESP_DL, values), file.data)
    return Firmware(common.plan.arena_bytes, len(file.data))


def _make_values(common: Common, layers: Sequence[str], suffix: str) -> dict[str, Any]:
    """Return the values of templates that both kinds share. layers: those that the link reports."""
    graph, name, about = common.plan.graph, common.name, common.about
    samples = list_samples(graph, common.goldens, common.steps)
    return {
        **{"name": name, "upper": name.upper(), "guard": f"{name.upper()}_H"},
        **{
            "network": sanitize_comment(graph.name)[:80],
            "version": about.version,
            "file": f"{name}.{suffix}",
        },
        **{"profile": str(common.plan.profile), "esp_nn": "", "esp_dl": ""},
        **common.plan.profile.espressif,
        **{"chip": about.core, "spelled": core_words([about.core])},
        **{"states": bool(graph.states), "is_link": False},
        "samples": samples,
        "checks": sum(len(step["outputs"]) for sample in samples for step in sample),
        "caveats": common.plan.warnings,
        "description": link.make_description(graph, about, layers),
        "link_inputs": [tensor.nbytes for tensor in graph.inputs],
        "link_outputs": [graph.tensors[each].nbytes for each in graph.outputs],
    }


def _render(templates: Mapping[str, str], values: Mapping[str, Any]) -> dict[str, bytes]:
    """Return path in the project -> content."""
    return {path: render(key, values).encode() for key, path in templates.items()}


def _write(
    folder: Path,
    common: Common,
    values: Mapping[str, Any],
    watched: Sequence[Any],
    own: Mapping[str, bytes],
    data: bytes,
) -> None:
    """Write both projects, the file and the manifest. own: the files of one kind alone."""
    of_link = {"is_link": True, "functions": values["runtime"], "watched": watched}
    contents = {**_render(_FILES, values), **_render(_LINK, {**values, **of_link}), **own}
    for each in ("link.h", "link.c"):
        contents[f"link/main/{each}"] = load_template(each).encode()
    model = {f"{common.name}_model": data}
    contents["components/{name}/{name}_model.c"] = format_arrays(values["file"], model)
    contents[values["file"]] = data
    for path, content in contents.items():
        place = folder / path.format(name=common.name)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    write_manifest(folder, common.about)
