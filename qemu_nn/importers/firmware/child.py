"""Reads firmware for this package, which runs this file in a process of its own.

stdin: a line of JSON with the limits of this process, and one that says what is wanted. stdout: a
line of JSON with the network, and the elements of its arrays, one after the other.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any


def _read(wanted: dict[str, Any]) -> tuple[dict[str, Any], list[Any]]:
    from qemu_nn.errors import Error
    from qemu_nn.importers.firmware.reading import describe_source
    from qemu_nn.importers.firmware.source import Options

    options = Options(tuple(map(Path, wanted["include"])), wanted["defines"])
    rest = wanted["function"], wanted["inputs"], Path(wanted["work"])
    try:
        found = describe_source(Path(wanted["path"]), options, *rest)
    except Error as error:
        return {"error": str(error), "kind": type(error).__name__}, []
    except Exception as error:  # code of any form may come
        text = f"{wanted['path']} cannot be followed: {type(error).__name__}: {error}"
        return {"error": text, "kind": "ModelError"}, []
    arrays = [[n, a.dtype.name, list(a.shape)] for n, a in found.arrays.items()]
    answer = {"network": found.values, "notes": found.notes, "arrays": arrays}
    return {**answer, "problems": found.problems}, list(found.arrays.values())


def main() -> None:
    """Answer one request, within the limits of its first line."""
    limits = json.loads(sys.stdin.buffer.readline())
    sys.path[:] = limits["path"]
    from qemu_nn.importers.hdf5_child import lower_limit

    sys.setrecursionlimit(20000)
    lower_limit("RLIMIT_CORE", 0)
    lower_limit("RLIMIT_AS", limits["memory"])
    lower_limit("RLIMIT_CPU", limits["seconds"])
    found, arrays = _read(json.loads(sys.stdin.buffer.readline()))
    sys.stdout.buffer.write(json.dumps(found).encode("ascii") + b"\n")
    for array in arrays:
        sys.stdout.buffer.write(array.tobytes())


if __name__ == "__main__":
    main()
