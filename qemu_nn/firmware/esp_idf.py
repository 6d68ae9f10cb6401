"""Network as a component of ESP-IDF that runs in esp-tflite-micro, with a self-test on goldens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..ir.tflm_memory import TflmMemory
from ..runtime.plan import Plan
from ..targets import core_words
from .golden import About, GoldenSet
from .project import Firmware, render, write_manifest
from .tflm import count_arena, find_method, format_arrays, list_samples

#: Template -> path in the project; {name} is that of the component.
_FILES = {
    "esp_idf/CMakeLists.txt": "CMakeLists.txt",
    "esp_idf/sdkconfig.defaults": "sdkconfig.defaults",
    "esp_idf/README.md": "README.md",
    "esp_idf/main_CMakeLists.txt": "main/CMakeLists.txt",
    "tflm/main.c": "main/main.c",
    "esp_idf/component_CMakeLists.txt": "components/{name}/CMakeLists.txt",
    "esp_idf/idf_component.yml": "components/{name}/idf_component.yml",
    "tflm/network.h": "components/{name}/include/{name}.h",
    "tflm/network.cc": "components/{name}/{name}.cc",
}


@dataclass(frozen=True)
class Content:
    """A network's file: its bytes, the operators in it, its variables, and its memory."""

    data: bytes
    operators: Sequence[str]
    variables: int
    memory: TflmMemory


def write(
    folder: Path, plan: Plan, about: About, goldens: GoldenSet, steps: int, name: str, file: Content
) -> Firmware:
    """Write the project into a folder with the golden set of the same profile.

    steps: time steps of each golden input, 1 if the network is not recurrent.
    """
    graph, memory = plan.graph, file.memory
    arena = count_arena(memory.head, memory.tail)
    samples = list_samples(graph, goldens, steps)
    values = {
        **{"name": name, "upper": name.upper(), "guard": f"{name.upper()}_H"},
        **{"network": graph.name[:80], "profile": str(plan.profile), "version": about.version},
        **{"chip": about.core, "spelled": core_words([about.core])},
        "esp_nn": plan.profile.esp_nn,
        **{"head": memory.head, "arena": arena, "states": bool(graph.states)},
        "operators": [*dict.fromkeys(map(find_method, file.operators))],
        "variables": file.variables,
        **{"npu": "", "watched": (), "filled": (), "runs_in": "in TensorFlow Lite Micro"},
        "samples": samples,
        "checks": sum(len(step["outputs"]) for sample in samples for step in sample),
        "caveats": plan.warnings,
    }
    contents = {path: render(key, values).encode() for key, path in _FILES.items()}
    model = format_arrays(f"{name}.tflite", {f"{name}_model": file.data})
    contents["components/{name}/{name}_model.c"] = model
    contents["{name}.tflite"] = file.data
    for path, content in contents.items():
        place = folder / path.format(name=name)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    write_manifest(folder, about)
    return Firmware(arena, len(file.data))
