"""Readers of model files; each module reads one format and is independent of the rest."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import Error, ModelError
from ..io.files import read_start
from ..ir.float_graph import FloatGraph
from ..ir.model_file import ModelFile

#: Bytes at the start of a file that a probe sees.
PROBED_BYTES = 64


@dataclass(frozen=True)
class Reader:
    """A format of model files, and the module that reads it.

    suffixes: endings of its file names, in lower case. module: the name of a module with
    `read(path, **options) -> ModelFile`, imported on first use. options: the arguments that read()
    takes. probe: true of the first bytes of a file if the format has a signature and they match.
    """

    suffixes: tuple[str, ...]
    module: str
    options: tuple[str, ...] = ()
    probe: Callable[[bytes], bool] = lambda start: False

    def read(self, path: Path, options: dict[str, Any]) -> ModelFile:
        """Read a file of this format.

        Raises ModelError for a file that is damaged or unsupported, Error if an option is for
        another format or a library is missing.
        """
        for name in options:
            if name not in self.options:
                have = f"takes {', '.join(self.options)}" if self.options else "takes no options"
                raise Error(f"{path}: reading {self.suffixes[0]} files {have}, not {name}=")
        found: ModelFile = importlib.import_module(self.module).read(path, **options)
        return found


def _signature(offset: int, bytes_: bytes) -> Callable[[bytes], bool]:
    """Return the probe of a format that has a signature at an offset."""
    return lambda start: start[offset : offset + len(bytes_)] == bytes_


def _has_esp_dl_signature(start: bytes) -> bool:
    """True for a model of ESP-DL, or a pack of them."""
    return start[:4] in (b"EDL1", b"EDL2", b"PDL1", b"PDL2", b"PDL3")


_CUT = ("input", "output")
#: Suffixes of firmware's sources.
FIRMWARE = (".c", ".cpp", ".cc", ".cxx", ".ino")
_FIRMWARE = ("include", "defines", "inputs", "function")

#: The formats of this package, one line each.
READERS = (
    Reader((".onnx",), f"{__name__}.onnx", _CUT),
    Reader((".h5", ".hdf5", ".keras"), f"{__name__}.keras", _CUT, _signature(0, b"\x89HDF")),
    Reader((".pb",), f"{__name__}.tensorflow", (*_CUT, "signature")),
    Reader((".prototxt",), f"{__name__}.caffe", (*_CUT, "weights")),
    Reader((".pt2",), f"{__name__}.pt2", _CUT),
    Reader(
        (".tflite", ".lite"), f"{__name__}.tflite", (*_CUT, "signature"), _signature(4, b"TFL3")
    ),
    Reader((".pte",), f"{__name__}.pte", ("method",), _signature(4, b"ET12")),
    Reader((".espdl",), f"{__name__}.espdl", ("model", "target"), _has_esp_dl_signature),
    Reader(
        (".npz", ".vela_bin_stream"), f"{__name__}.ethosu", (), _signature(0, b"vela_bin_stream")
    ),
    Reader((".json",), f"{__name__}.network_json"),
    Reader(FIRMWARE, f"{__name__}.firmware", _FIRMWARE),
)

#: Suffix -> the reason why no reader takes such files, and the remedy.
_REFUSED = dict.fromkeys(
    (".pt", ".pth"),
    "PyTorch's pickled objects are not read; write the network with torch.onnx.export() or "
    "torch.export.save()",
)


def read_model(path: Path, readers: Sequence[Reader] = READERS, **options: Any) -> ModelFile:
    """Read a model file by the reader of its suffix, or of its first bytes.

    options: arguments of the format; None means absent. Raises ModelError for a file without a
    reader, a damaged file, or unsupported content. Raises Error for an option of a different format
    or a missing library.
    """
    given = {name: value for name, value in options.items() if value is not None}
    return _reader_of(path, readers).read(path, given)


def _reader_of(path: Path, readers: Sequence[Reader]) -> Reader:
    suffix = path.suffix.lower()
    for reader in readers:
        if suffix in reader.suffixes:
            return reader
    if suffix in _REFUSED:
        raise ModelError(f"{path}: {_REFUSED[suffix]}")
    start = read_start(path, PROBED_BYTES)
    for reader in readers:
        if reader.probe(start):
            return reader
    have = ", ".join(suffix for reader in readers for suffix in reader.suffixes)
    raise ModelError(f"{path} has no known format; have: {have}")


def read_float(path: Path, **options: Any) -> FloatGraph:
    """Read the float network of a model file; raise Error if the file is quantized, else as
    read_model().

    options: as read_model() takes them.
    """
    found = read_model(path, **options)
    if found.reference is None:
        raise Error(f"{path} is quantized; a float network is required")
    return found.reference
