"""Files of an export for build systems; each names CMSIS-NN as the project's own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Callable

#: Build system -> path in an export -> template. {name} in a path is the network's.
SYSTEMS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "cmake": {"CMakeLists.txt": "CMakeLists.txt"},
        "meson": {"meson.build": "meson.build", "meson_options.txt": "meson_options.txt"},
        "zephyr": {
            "zephyr/module.yml": "zephyr_module.yml",
            "zephyr/Kconfig": "zephyr_Kconfig",
            "zephyr/CMakeLists.txt": "zephyr_CMakeLists.txt",
        },
        "cmsis-toolbox": {"network.clayer.yml": "clayer.yml"},
        "cmsis-pack": {"qemu_nn.{name}.pdsc": "pdsc"},
        "arduino": {"library.properties": "library.properties"},
        "platformio": {"library.json": "library.json"},
    }
)

#: Build systems that compile every file of src/ and nothing else.
_WITH_FOLDER = ("arduino", "platformio")

_BROUGHT = ("network.c", "preprocess.c", "floats.c", "weights.c", "tflm/", "local/")

#: Files of the network that no program may include, besides its headers.
_TEST_HEADERS = ("goldens/", "kernels/", "link/", "boards/")


def list_sources(paths: Iterable[str]) -> dict[str, list[str]]:
    """Return the C files and headers of the network, and the stand-ins for Arm's, from an export's
    paths.
    """
    paths = sorted(paths)
    sources = [path for path in paths if path.endswith(".c")]
    headers = [path for path in paths if path.endswith((".h", ".hpp"))]
    return {
        "sources": [path for path in sources if path.startswith(_BROUGHT)],
        "kernels": [path for path in sources if path.startswith("kernels/")],
        "headers": [path for path in headers if not path.startswith(_TEST_HEADERS)],
    }


def make_files(
    systems: Iterable[str], values: Mapping[str, Any], render: Callable[[str], str]
) -> dict[str, str]:
    """Return the files of these build systems; render: fills a template by its name."""
    chosen, name = set(systems), values["name"]
    files = {
        path.format(name=name): render(template)
        for system in SYSTEMS
        if system in chosen
        for path, template in SYSTEMS[system].items()
    }
    if chosen & {*_WITH_FOLDER}:
        files.update(_make_source_folder(values["sources"], name))
    return files


def _make_source_folder(sources: Iterable[str], name: str) -> dict[str, str]:
    """Return the folder src/ of a library whose build compiles all files in it."""
    files = {f"src/{path.replace('/', '_')}": f'#include "../{path}"\n' for path in sources}
    return {**files, f"src/{name}.h": f'#include "../{name}.h"\n'}
