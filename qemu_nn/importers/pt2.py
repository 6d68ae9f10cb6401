"""torch.export: float networks from .pt2 files, converted by PyTorch's own exporter to ONNX.

PyTorch's documentation says that it runs code in such a file. Therefore a file is inspected first,
and refused if it contains more than a graph of ATen operators and arrays.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import tempfile
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, Optional

from ..errors import Error, ModelError
from ..io.files import MEGABYTE, read_bytes
from ..io.optional_deps import require
from ..ir.model_file import ModelFile
from . import onnx

#: Most bytes of a file, and of its unpacked content.
_LIMIT = 512 * MEGABYTE

#: Records of an archive, after its name: those that are read, and those that are never executed.
_JSON = re.compile(r"models/model\.json|data/(weights|constants)/model_\w+_config\.json")
_KNOWN = re.compile(
    r"data/(weights/weight|constants/tensor)_\d+|data/sample_inputs/model\.pt|archive_format"
    r"|archive_version|byteorder|\.data/\w+|\.format_version|\.storage_alignment"
)
_SAMPLES = "data/sample_inputs/model.pt"

#: Keys of the JSON that PyTorch would look up or evaluate -> their legal values.
_HARMLESS = {
    "target": re.compile(r"torch\.ops\.aten\.\w+\.\w+|_?operator\.getitem"),
    "expr_str": re.compile(r"-?\d+|[A-Za-z_]\w*"),
    "path_name": re.compile(r"(weight|tensor)_\d+"),
}
_EMPTY = ("guards_code", "use_pickle", "as_custom_obj", "custom_obj_values")


def read(path: Path, input: Optional[str] = None, output: Optional[str] = None) -> ModelFile:
    """Read a network by way of PyTorch's exporter to ONNX; its tensors keep the names in ONNX.

    Raises ModelError with one sentence for a file that is damaged, that holds more than a graph of
    ATen operators, or that uses what is not supported; Error where PyTorch is missing.
    """
    samples = _look_through(path)
    torch = require("torch", "pt2", "reading .pt2 files")
    require("onnxscript", "pt2", "reading .pt2 files")
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder, f"{path.stem}.onnx")
        _convert(torch, path, samples, written)
        try:
            return onnx.read(written, input, output)
        except Error as error:
            raise ModelError(str(error).replace(written.name, path.name)) from None


def _look_through(path: Path) -> bytes:
    """Return the pickled samples of a file without other code; they are inspected later."""
    try:
        with zipfile.ZipFile(io.BytesIO(read_bytes(path, _LIMIT))) as archive:
            records = {name.partition("/")[2]: name for name in archive.namelist()}
            if len(records) < len(archive.namelist()):
                raise ModelError(f"{path.name}: it has two records of one name")
            if sum(entry.file_size for entry in archive.infolist()) > _LIMIT:
                raise ModelError(f"{path.name}: it unpacks to more than 512 MiB")
            texts = [archive.read(name) for part, name in records.items() if _JSON.fullmatch(part)]
            samples = archive.read(records[_SAMPLES]) if _SAMPLES in records else b""
        found = [json.loads(text) for text in texts]
    except Error:
        raise
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, RuntimeError):
        raise ModelError(f"{path.name}: it is no file of torch.export, or damaged") from None
    if "models/model.json" not in records:
        raise ModelError(f"{path.name}: it is no file of torch.export: it has no model.json")
    for part in records:
        if not (_JSON.fullmatch(part) or _KNOWN.fullmatch(part)):
            raise _explain_refusal(path, f"the record {part[:80]!r}")
    for key, value in (pair for each in found for pair in _pairs(each)):
        allowed = _HARMLESS.get(key)
        if allowed is not None and not (isinstance(value, str) and allowed.fullmatch(value)):
            raise _explain_refusal(path, f"the {key} {str(value)[:80]!r}")
        if key in _EMPTY and value:
            raise _explain_refusal(path, f"{key}, which may be code")
        if key == "inputs" and _divides(value):
            raise ModelError(
                f"{path.name}: an average has a divisor of its own (divisor_override), which "
                "PyTorch loses on the way to ONNX; leave it out, and multiply by what it changed"
            )
    return samples


def _divides(inputs: Any) -> bool:
    """True if an operator's inputs contain a divisor."""
    named = [each for each in inputs if isinstance(each, dict)] if isinstance(inputs, list) else []
    given = [each.get("arg") for each in named if each.get("name") == "divisor_override"]
    return any(not (isinstance(arg, dict) and arg.get("as_none")) for arg in given)


def _pairs(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield keys and values of all mappings in a value."""
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, dict):
            yield from one.items()
            left += one.values()
        elif isinstance(one, list):
            left += one


def _convert(torch: ModuleType, path: Path, samples: bytes, written: Path) -> None:
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            if samples:  # PyTorch would retry, and then run pickled code
                torch.load(io.BytesIO(samples), weights_only=True)
            program = torch.export.load(path)
            torch.onnx.export(program, (), str(written), dynamo=True, verbose=False)
    except Exception as error:
        said = str(error).strip().partition("\n")[0][:200] or type(error).__name__
        raise ModelError(f"{path.name}: PyTorch cannot convert it to ONNX: {said}") from None


def _explain_refusal(path: Path, what: str) -> ModelError:
    return ModelError(
        f"{path.name}: it contains {what}, so it is not given to PyTorch, which may run "
        "code of a file; if you trust it, convert it to ONNX with torch.onnx.export()"
    )
