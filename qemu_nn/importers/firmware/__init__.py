"""Firmware that calls CMSIS-NN: C and C++ sources become the network that they compute.

A process of its own parses and executes the source as far as values are known (reading.py); its
network has the form of a network.json.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import IO, Any, Optional, Union

import numpy as np

from ...errors import Error, ModelError
from ...io import files
from ...io.archive import format_npy, write_archive
from ...io.optional_deps import require_installed
from ...io.typed_json import Fields
from ...ir.model_file import ModelFile
from ..network_json import build
from . import child

#: Processor seconds, and bytes of address space, that reading a source may take.
_SECONDS, _MEMORY = 120, 4096 * files.MEGABYTE

#: Factor of the time limit, for a loaded host.
_PATIENCE = 4

#: Problems named in a message; further ones are counted.
_NAMED = 5

#: Names of inputs, each with a shape or None, as a caller gives them.
Inputs = Union[str, Mapping[str, Optional[Sequence[int]]], None]


@dataclass(frozen=True, eq=False)
class Described:
    """The network of a source as network.json has it, with its arrays.

    problems: what could not be followed, each with file and line; the network is incomplete then.
    notes: what else was left out.
    """

    path: Path
    values: Mapping[str, Any]
    arrays: Mapping[str, np.ndarray]
    problems: tuple[str, ...]
    notes: tuple[str, ...]

    def write(self, path: Path) -> None:
        """Write a network.json, and weights.npz next to it."""
        text = json.dumps(self.values, indent=1) + "\n"
        entries = {f"{name}.npy": format_npy(array) for name, array in self.arrays.items()}
        with files.naming(path):
            write_archive(path.parent / "weights.npz", entries)
            files.write_bytes(path, text.encode("ascii"))


def read(
    path: Path,
    include: Sequence[Union[str, Path]] = (),
    defines: Optional[Mapping[str, object]] = None,
    inputs: Inputs = None,
    function: Optional[str] = None,
) -> ModelFile:
    """Read the network that a source computes; see describe()."""
    found = describe(path, include, defines, inputs, function)
    if found.problems:
        more = len(found.problems) - _NAMED
        named = "; ".join(found.problems[:_NAMED]) + (f"; and {more} more" if more > 0 else "")
        raise ModelError(
            f"{path}: not all of its layers could be followed: {named}. Write what is known with "
            f"qemu-nn import {path.name} -o network.json, and complete it"
        )
    where = f"the network of {path}"
    graph = build(Fields(found.values, where), found.arrays, path.stem)
    return ModelFile(graph, notes=found.notes)


def describe(
    path: Path,
    include: Sequence[Union[str, Path]] = (),
    defines: Optional[Mapping[str, object]] = None,
    inputs: Inputs = None,
    function: Optional[str] = None,
) -> Described:
    """Return the network of a source and what could not be followed.

    include: folders of headers, and of sources with definitions. defines: macros. inputs: the
    buffer or argument of the input, or a mapping to its shape. function: the one that runs the
    network. Raises ModelError if no layer is found, Error without libclang.
    """
    require_installed("clang", "firmware", "reading firmware")
    wanted = {
        "path": str(path.resolve()),
        "include": [str(Path(folder).resolve()) for folder in _as_list(include)],
        "defines": {str(name): str(value) for name, value in (defines or {}).items()},
        "inputs": _as_inputs(inputs),
        "function": function,
    }
    with TemporaryDirectory(prefix="qemu_nn_firmware_") as work, TemporaryFile() as answered:
        _ask({**wanted, "work": work}, answered, str(path))
        answered.seek(0)
        found = json.loads(answered.readline())
        if "error" in found:
            raise (ModelError if found["kind"] == "ModelError" else Error)(found["error"])
        arrays = {}
        for name, dtype, shape in found["arrays"]:
            raw = answered.read(math.prod(shape) * np.dtype(dtype).itemsize)
            arrays[name] = np.frombuffer(raw, dtype).reshape(shape)
    problems, notes = tuple(found["problems"]), tuple(found["notes"])
    return Described(path, found["network"], arrays, problems, notes)


def _as_list(include: object) -> Sequence[Union[str, Path]]:
    if isinstance(include, (str, os.PathLike)):
        return [Path(include)]
    if not isinstance(include, Sequence):
        raise Error("include must be a list of folders")
    return include


def _as_inputs(inputs: Inputs) -> dict[str, list[int]]:
    """Return the name of the input -> its shape, empty if it is not given."""
    if inputs is None:
        return {}
    if isinstance(inputs, str):
        return {inputs: []}
    if not isinstance(inputs, Mapping) or len(inputs) != 1:
        raise Error("inputs must be the name of the input's buffer, or {name: shape}")
    try:
        return {str(name): [int(n) for n in shape or ()] for name, shape in inputs.items()}
    except (TypeError, ValueError):
        raise Error("inputs must be {name: shape} with a shape of integers") from None


def _ask(wanted: Mapping[str, Any], answered: IO[bytes], where: str) -> None:
    """Let a process of its own read a source; raise ModelError if it crashes or hangs."""
    limits = {"path": list(map(str, sys.path)), "memory": _MEMORY, "seconds": _SECONDS}
    with TemporaryFile() as asked:
        for line in (limits, wanted):
            asked.write(json.dumps(line).encode("ascii") + b"\n")
        asked.seek(0)
        try:
            done = subprocess.run(
                [sys.executable, child.__file__],
                stdin=asked,
                stdout=answered,
                stderr=subprocess.DEVNULL,
                timeout=_PATIENCE * _SECONDS,
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
                creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
            )
        except subprocess.TimeoutExpired:
            done = None
        except OSError as error:
            reason = files.get_reason(error)
            raise Error(f"cannot start {sys.executable} to read {where}: {reason}") from None
    if done is None or done.returncode:
        raise ModelError(
            f"{where} cannot be read: the compiler crashes on it, or takes more than {_SECONDS} s"
        )
