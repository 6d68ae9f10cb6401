"""Models in memory, content of files or objects of frameworks, written as files for the readers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import BadZipFile, ZipFile

from ..errors import Error
from ..io.files import write_bytes
from ..io.optional_deps import require


def is_model(given: object) -> bool:
    """True if load() takes an object: the content of a file, or a framework's model."""
    return isinstance(given, (bytes, bytearray, memoryview)) or _kind(given) is not None


@contextmanager
def written(model: Any) -> Iterator[Path]:
    """Yield a file of such a model, which is deleted afterwards."""
    with TemporaryDirectory(prefix="qemu_nn_load_") as folder:
        path = Path(folder) / "model"
        kind = _kind(model)
        if kind is None:
            path = path.with_suffix(_suffix(bytes(model)))
            write_bytes(path, bytes(model))
        elif kind == "onnx":
            path = path.with_suffix(".onnx")
            write_bytes(path, model.SerializeToString())
        elif kind == "keras":
            path = path.with_suffix(".keras")
            model.save(path)
        elif kind == "program":
            path = path.with_suffix(".pt2")
            require("torch", "torch", "a program of torch.export").export.save(model, path)
        else:
            raise Error(
                "a torch.nn.Module has no fixed shapes: give torch.export.export(module, inputs), "
                "or qemu_nn.from_pytorch(module, inputs, calibration)"
            )
        yield path


def _suffix(content: bytes) -> str:
    """Return the suffix of a format whose first bytes are no signature; "" leaves it to readers."""
    is_flatbuffer = content[4:8] in (b"TFL3", b"ET12")  # may begin with the same byte
    if content[:1] == b"\x08" and not is_flatbuffer:  # ModelProto's first field is its version
        return ".onnx"
    if not content.startswith(b"PK"):
        return ""
    with suppress(BadZipFile), ZipFile(BytesIO(content)) as archive:
        names = archive.namelist()
        return ".qnz" if "graph.json" in names else ".keras" if "config.json" in names else ".pt2"
    return ""


def _kind(given: object) -> Any:
    """Return "onnx", "keras", "program" or "module" for a framework's model; None for others."""
    for kind in type(given).__mro__:
        home = kind.__module__.partition(".")[0]
        if home == "onnx" and kind.__name__ == "ModelProto":
            return "onnx"
        if home in ("keras", "tf_keras", "tensorflow") and kind.__name__ == "Model":
            return "keras"
        if home == "torch" and kind.__name__ in ("ExportedProgram", "Module"):
            return "program" if kind.__name__ == "ExportedProgram" else "module"
    return None
