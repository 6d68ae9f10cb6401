"""Recorded model files: the project's own, and files next to the clone."""

from functools import cache

import numpy as np
from paths import GOLDEN, SHARED


class Recorded:
    """Files of one kind: an archive of the project's own, and a folder with more of them."""

    def __init__(self, archive, folder, suffix):
        self.archive, self.folder, self.suffix = GOLDEN / archive, SHARED / folder, suffix

    @cache  # noqa: B019
    def own(self):
        """Return the project's own files: name -> name of an array -> the array."""
        with np.load(self.archive) as arrays:
            found = {}
            for key in arrays:
                name, _, part = key.partition("/")
                found.setdefault(name, {})[part] = arrays[key]
            return found

    def names(self):
        """Return all names."""
        more = self.folder.glob(f"*{self.suffix}") if self.folder.is_dir() else ()
        return sorted({*self.own(), *(path.stem for path in more)})

    def arrays(self, name):
        """Return the arrays that were recorded with a file."""
        if name in self.own():
            return self.own()[name]
        with np.load(self.folder / f"{name}_golden.npz") as arrays:
            return {key: arrays[key] for key in arrays}

    def file(self, name, folder):
        """Return the path of the file; a file of the project's own is written to the folder."""
        if name not in self.own():
            return self.folder / f"{name}{self.suffix}"
        path = folder / f"{name}{self.suffix}"
        path.write_bytes(self.own()[name]["file"].tobytes())
        return path


PTE = Recorded("executorch.npz", "pte", ".pte")
QDQ = Recorded("onnx_quantized.npz", "qdq", ".onnx")

#: Files of tests/support/qdq_cases.py.
QDQ_CASES = Recorded("onnx_cases.npz", "onnx_cases", ".onnx")
