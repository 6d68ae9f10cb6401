"""Recorded model files: the project's own, and those beside it."""

from functools import cache

import numpy as np
from paths import GOLDEN, SHARED


class Recorded:
    """Files of one kind: an archive of the project's own, and a folder with more of them."""

    def __init__(self, archive, folder, suffix):
        self.archive, self.folder, self.suffix = GOLDEN / archive, SHARED / folder, suffix

    @cache  # noqa: B019
    def own(self):
        """The project's own: name -> name of an array -> the array."""
        with np.load(self.archive) as arrays:
            found = {}
            for key in arrays:
                name, _, part = key.partition("/")
                found.setdefault(name, {})[part] = arrays[key]
            return found

    def names(self):
        """All names."""
        more = self.folder.glob(f"*{self.suffix}") if self.folder.is_dir() else ()
        return sorted({*self.own(), *(path.stem for path in more)})

    def arrays(self, name):
        """What was recorded with a file."""
        if name in self.own():
            return self.own()[name]
        with np.load(self.folder / f"{name}_golden.npz") as arrays:
            return {key: arrays[key] for key in arrays}

    def file(self, name, folder):
        """The file, written to a folder where it is the project's own."""
        if name not in self.own():
            return self.folder / f"{name}{self.suffix}"
        path = folder / f"{name}{self.suffix}"
        path.write_bytes(self.own()[name]["file"].tobytes())
        return path


PTE = Recorded("executorch.npz", "pte", ".pte")
QDQ = Recorded("onnx_quantized.npz", "qdq", ".onnx")

#: Those of tests/support/qdq_cases.py, which stand for themselves.
QDQ_CASES = Recorded("onnx_cases.npz", "onnx_cases", ".onnx")
