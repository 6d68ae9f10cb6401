"""Network as a component of ESP-IDF that runs in esp-tflite-micro, with a self-test on goldens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..ir.graph import Graph
from ..ir.tensors import Tensor
from ..ir.tflm_memory import TflmMemory
from ..runtime.plan import Plan
from ..targets import core_words
from .golden import About, GoldenSet
from .project import Firmware, render, write_manifest

#: Operator -> method of the resolver, if the rule of find_method() does not give it.
_METHODS = {
    **{"BATCH_MATMUL": "AddBatchMatMul", "CUMSUM": "AddCumSum", "PADV2": "AddPadV2"},
    "TFLite_Detection_PostProcess": "AddDetectionPostprocess",
    "UNIDIRECTIONAL_SEQUENCE_LSTM": "AddUnidirectionalSequenceLSTM",
}

#: Template -> path in the project; {name} is that of the component.
_FILES = {
    "CMakeLists.txt": "CMakeLists.txt",
    "sdkconfig.defaults": "sdkconfig.defaults",
    "README.md": "README.md",
    "main_CMakeLists.txt": "main/CMakeLists.txt",
    "main.c": "main/main.c",
    "component_CMakeLists.txt": "components/{name}/CMakeLists.txt",
    "idf_component.yml": "components/{name}/idf_component.yml",
    "network.h": "components/{name}/include/{name}.h",
    "network.cc": "components/{name}/{name}.cc",
}

#: Factor of the interpreter's structures: these compilers do not shorten enumerations.
_TAIL = 1.5


@dataclass(frozen=True)
class Content:
    """A network's file: its bytes, the operators in it, its variables, and its memory."""

    data: bytes
    operators: Sequence[str]
    variables: int
    memory: TflmMemory


def find_method(operator: str) -> str:
    """Return the method of MicroMutableOpResolver that adds an operator.

    Examples
    --------
    >>> find_method("CONV_2D"), find_method("SignalFramer")
    ('AddConv2D', 'AddFramer')
    """
    if operator in _METHODS:
        return _METHODS[operator]
    if not operator.isupper():
        return f"Add{operator.removeprefix('Signal')}"
    return "Add" + "".join(word.capitalize() for word in operator.split("_")).replace("2d", "2D")


def write(
    folder: Path, plan: Plan, about: About, goldens: GoldenSet, steps: int, name: str, file: Content
) -> Firmware:
    """Write the project into a folder with the golden set of the same profile.

    steps: time steps of each golden input, 1 if the network is not recurrent.
    """
    graph, memory = plan.graph, file.memory
    arena = -(-(memory.head + int(_TAIL * memory.tail)) // 1024) * 1024
    samples = _list_samples(graph, goldens, steps)
    values = {
        **{"name": name, "upper": name.upper(), "guard": f"{name.upper()}_H"},
        **{"network": graph.name[:80], "profile": str(plan.profile), "version": about.version},
        **{"chip": about.core, "spelled": core_words([about.core])},
        "esp_nn": plan.profile.esp_nn,
        **{"head": memory.head, "arena": arena, "states": bool(graph.states)},
        "operators": [*dict.fromkeys(map(find_method, file.operators))],
        "variables": file.variables,
        "samples": samples,
        "checks": sum(len(step["outputs"]) for sample in samples for step in sample),
        "caveats": plan.warnings,
    }
    contents = {path: render(f"esp_idf/{key}", values).encode() for key, path in _FILES.items()}
    contents["components/{name}/{name}_model.c"] = _format_model(name, file.data)
    contents["{name}.tflite"] = file.data
    for path, content in contents.items():
        place = folder / path.format(name=name)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    write_manifest(folder, about)
    return Firmware(arena, len(file.data))


def _list_samples(
    graph: Graph, goldens: GoldenSet, steps: int
) -> list[list[Mapping[str, list[tuple[str, int]]]]]:
    """Return the names and bytes of the goldens of each step of each input."""
    outputs = [graph.tensors[name] for name in graph.outputs]

    def find(prefix: str, tensors: Sequence[Tensor]) -> list[tuple[str, int]]:
        return [(f"{prefix}/{goldens.stems[t.name]}", t.nbytes) for t in tensors]

    return [
        [
            {"inputs": find(prefix, graph.inputs), "outputs": find(prefix, outputs)}
            for prefix in ([f"x{i}/t{t}" for t in range(steps)] if graph.states else [f"x{i}"])
        ]
        for i in range(goldens.inputs)
    ]


def _format_model(name: str, data: bytes) -> bytes:
    """Return the file as a C array at a multiple of 16 bytes."""
    rows = (", ".join(map(str, data[i : i + 20])) for i in range(0, len(data), 20))
    lines = [f"/* {name}.tflite. */", "#define ALIGNED __attribute__((aligned(16)))"]
    lines += ["", f"const unsigned char {name}_model[] ALIGNED = {{"]
    lines += [*(f"    {row}," for row in rows), "};", ""]
    return "\n".join(lines).encode("ascii")
