"""Files of an export for CMake, CMSIS-Toolbox, Zephyr and Arduino."""

from __future__ import annotations

from collections.abc import Iterable

#: Path in an export -> template.
FILES = {
    "CMakeLists.txt": "CMakeLists.txt",
    "network.clayer.yml": "clayer.yml",
    "zephyr/module.yml": "zephyr_module.yml",
    "zephyr/Kconfig": "zephyr_Kconfig",
    "zephyr/CMakeLists.txt": "zephyr_CMakeLists.txt",
    "library.properties": "library.properties",
}

_BROUGHT = ("network.c", "preprocess.c", "tflm/", "local/")


def list_sources(paths: Iterable[str]) -> dict[str, list[str]]:
    """Return the C files of the network, and the stand-ins for Arm's, from an export's paths."""
    found = sorted(path for path in paths if path.endswith(".c"))
    return {
        "sources": [path for path in found if path.startswith(_BROUGHT)],
        "kernels": [path for path in found if path.startswith("kernels/")],
    }


def make_arduino_folder(sources: Iterable[str], name: str) -> dict[str, str]:
    """Return the folder src/ of an Arduino library, which compiles every file in it and nothing
    else.
    """
    files = {f"src/{path.replace('/', '_')}": f'#include "../{path}"\n' for path in sources}
    return {**files, f"src/{name}.h": f'#include "../{name}.h"\n'}
