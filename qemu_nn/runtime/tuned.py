"""Rows that `qemu-nn bench --tune` found to be faster on this host than the planner's own."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Optional

from ..errors import ModelError
from ..io.files import make_folder, read_bytes, write_bytes
from ..io.processor import processor
from ..io.typed_json import parse_json
from ..io.version import __version__
from ..ir.graph import Node
from ..kernels.table import FEATURES, cpu_features

#: Environment variable: the folder of the file, or "none".
CACHE = "QEMU_NN_CACHE"

#: Bytes of a file that is read.
_MOST = 2**20

#: Scalar arguments that are part of a geometry, beside the shapes of arrays.
_WINDOW = ("stride", "dilation", "pad")


def call_of(node: Node) -> str:
    """A call by its op and its geometry: calls of the same one take the same time."""
    function, params = node.function, node.params
    arrays = [array for array in (*function.inputs, function.weights, function.output) if array]
    shapes = ["x".join(map(str, array.shape(params))) for array in arrays]
    window = [f"{n}={v}" for n, v in params.items() if any(word in n for word in _WINDOW)]
    return " ".join([f"{function.op}_{function.type}", *shapes, *window])


def tuned_file() -> Optional[Path]:
    """Where choices for this host, capped as it is, are kept; None: nowhere."""
    folder = _folder()
    if folder is None:
        return None
    host = hashlib.sha256(json.dumps(_host()).encode()).hexdigest()[:12]
    return folder / f"rows-{__version__}-{host}.json"


def tuned_rows() -> dict[str, str]:
    """Calls as call_of() has them -> variants; none from a file that is missing or damaged.

    Bits do not depend on it: whoever reads it takes only rows that claim the same ones.
    """
    folder = _folder()
    path = tuned_file() if folder is not None and folder.is_dir() else None
    if path is None:
        return {}
    try:
        content = parse_json(read_bytes(path, _MOST), str(path))
        if any(content.text(name) != value for name, value in _host().items()):
            return {}
        rows = content.object("rows")
        return {call: rows.text(call) for call in rows.values}
    except ModelError:
        return {}


def save_tuned(rows: Mapping[str, str]) -> Path:
    """Write the choices of this host; where. Raises ModelError with the reason."""
    path = tuned_file()
    if path is None:
        raise ModelError(f"there is no folder for what is measured: set {CACHE} to one")
    make_folder(path.parent)
    content = {**_host(), "rows": dict(sorted(rows.items()))}
    write_bytes(path, json.dumps(content, indent=1).encode())
    return path


def _host() -> dict[str, str]:
    """What choices are good for."""
    sets = [name for name, feature in FEATURES.items() if cpu_features() & feature]
    return {
        "qemu_nn": __version__,
        "processor": processor(),
        "instruction sets": " ".join(sets) or "none",
    }


def _folder() -> Optional[Path]:
    """The folder of the environment, or the package's own one among the user's caches."""
    given = os.environ.get(CACHE, "")
    if given:
        return None if given == "none" else Path(given)
    try:
        if sys.platform == "win32":
            base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
        elif sys.platform == "darwin":
            base = Path.home() / "Library" / "Caches"
        else:
            base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:  # nobody's home
        return None
    return base / "qemu_nn" if base.is_absolute() else None
