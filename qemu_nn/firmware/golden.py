"""Goldens for the firmware engineer: the correct result of every layer, as files and as C.

A golden set is a folder with three files for every golden: `<name>.npy`, `<name>.bin`
(little-endian) and `<name>.h`. The name is `x<input>/<layer>`, or `x<input>/t<step>/<layer>` for a
recurrent network. The folder also has golden_check.c and .h, golden_table.h, and manifest.json,
which lists all files. Alternatively, one .npz file has the arrays and the manifest, for programs
other than C.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any, Callable, Optional

import numpy as np

from ..errors import Error, ModelError
from ..io.archive import (
    LIMIT,
    MOST_ENTRIES,
    format_npy,
    open_archive,
    to_little_endian,
    write_archive,
)
from ..ir.formats import find_differing
from ..ir.graph import Graph
from ..ir.tensors import Tensor
from ..runtime.plan import CLOBBER
from ..targets import Profile
from .c_text import format_dimensions, format_golden_table, format_header, make_symbol
from .folder import Listed, format_checksum, read_earlier_files, replace_folder

FORMAT = "qemu_nn golden"
VERSION = 1
MANIFEST = "manifest.json"

_TEMPLATES = ("golden_check.c", "golden_check.h")

#: Names that Windows keeps for devices, whatever the ending.
_RESERVED = {"con", "prn", "aux", "nul"} | {f"{p}{n}" for p in ("com", "lpt") for n in range(10)}


#: Layer -> its result for one input, [T, *shape] in a recurrent network, else [*shape].
Trace = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Golden:
    """Golden of one layer for one input, or of the input or a state itself.

    tensor: the layer's, for its format, if any. group: "", or its folder inside the input's: "t0"
    at that time step, "start" before the first. others: profile in words -> CRC-32 of its different
    result.
    """

    layer: str
    values: np.ndarray
    tensor: Optional[Tensor] = None
    group: str = ""
    others: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class About:
    """Origin of a golden set. model: hash of the model; core: as the user named the device."""

    network: str
    model: str
    version: str
    core: str
    profile: Profile


@dataclass(frozen=True)
class GoldenSet:
    """Result of golden().

    Attributes
    ----------
    folder : Path
        The folder of the set, or its archive.
    inputs : int
        Inputs that it has goldens of.
    names : tuple of str
        The goldens in program order, such as "x0/conv1".
    nbytes : int
        Bytes of all goldens.
    stems : mapping of str to str
        Layer -> the last part of its goldens' names.
    """

    folder: Path
    inputs: int
    names: tuple[str, ...] = field(repr=False)
    nbytes: int
    stems: Mapping[str, str] = field(repr=False)


def write(
    folder: Path, about: About, samples: Iterable[Iterable[Golden]], force: bool = False
) -> GoldenSet:
    """Write a golden set atomically, from the goldens of each input.

    The folder must be new, empty, or contain only an earlier golden set, which is replaced; edited
    files only with `force`. Raises Error for further content, OSError if it cannot be written.
    """
    folder = Path(folder).resolve()
    with replace_folder(folder, _list_earlier, force) as fresh:
        writer = _Writer(_open_writer(fresh), about, with_c=True)
        for sample in samples:
            writer.add(sample)
        nbytes = writer.finish()
    names = tuple(golden["name"] for golden in writer.goldens)
    return GoldenSet(folder, writer.inputs, names, nbytes, writer.names.stems)


def write_one(path: Path, about: About, samples: Iterable[Iterable[Golden]]) -> GoldenSet:
    """Write a golden set atomically as one .npz file: arrays, and manifest.json.

    Raises Error if the path is a file other than a golden set, or the set is too large or cannot be
    written.
    """
    path = Path(path).resolve()
    entries: dict[str, bytes] = {}
    if path.exists() and not _is_golden(path):
        raise Error(f"{path} is no golden set: remove it, or choose another name")
    writer = _Writer(entries.__setitem__, about, with_c=False)
    for sample in samples:
        writer.add(sample)
    nbytes = writer.finish()
    if len(entries) > MOST_ENTRIES or nbytes > LIMIT:
        raise Error(
            f"{len(entries)} goldens of {nbytes} bytes are too many for one archive: choose "
            "format='folder', or fewer inputs"
        )
    write_archive(path, entries)
    names = tuple(golden["name"] for golden in writer.goldens)
    return GoldenSet(path, writer.inputs, names, nbytes, writer.names.stems)


def _is_golden(path: Path) -> bool:
    try:
        with open_archive(path) as archive:
            return FORMAT.encode() in archive.read(MANIFEST)
    except ModelError:
        return False


def _list_earlier(folder: Path) -> Listed:
    """Return the files of an earlier golden set in this folder; none for further content."""
    files = read_earlier_files(folder / MANIFEST, FORMAT)
    return {MANIFEST: None, **files} if files else {}


class Names:
    """Names of layers that every file system and C accept.

    Each is unique, stable, and at most 40 characters long, the limit of the device link. Of several
    names that TFLite's converter joined ("relu;conv;bias"), the first is used.
    """

    def __init__(self) -> None:
        self.stems: dict[str, str] = {}
        self._taken = set(_RESERVED)
        self._next: dict[str, int] = {}

    def __getitem__(self, layer: str) -> str:
        if layer not in self.stems:
            name = stem = re.sub(r"[^A-Za-z0-9_]", "_", layer.partition(";")[0])[:40] or "_"
            while name.lower() in self._taken:
                self._next[stem] = self._next.get(stem, 1) + 1
                end = f"_{self._next[stem]}"
                name = stem[: 40 - len(end)] + end
            self._taken.add(name.lower())
            self.stems[layer] = name
        return self.stems[layer]


def name_stems(graph: Graph, layers: Iterable[str]) -> dict[str, str]:
    """Return tensor -> its name in goldens and C, of a network with these layers."""
    names = Names()
    every = (*(t.name for t in graph.states), *(t.name for t in graph.inputs), *layers)
    return {name: names[name] for name in every}


def _describe_integers(tensor: Optional[Tensor]) -> dict[str, Any]:
    """Return the format of a golden's integers: fraction bits, or a scale and a zero point."""
    if tensor is None or tensor.scale is None:
        return {"frac": tensor.frac if tensor else None}
    return {"frac": None, "scale": tensor.scale, "zero_point": tensor.zero_point}


class _Writer:
    """Writer of a golden set: its files, and their lists."""

    def __init__(self, store: Callable[[str, bytes], object], about: About, with_c: bool) -> None:
        self._store = store
        self._about = about
        self._with_c = with_c
        self.names = Names()
        self._files: list[dict[str, Any]] = []
        self.goldens: list[dict[str, Any]] = []
        self.inputs = 0

    def add(self, sample: Iterable[Golden]) -> None:
        """Add the goldens of the next input, in program order."""
        for golden in sample:
            self._add(golden)
        self.inputs += 1

    def _add(self, golden: Golden) -> None:
        parts = [f"x{self.inputs}", golden.group, self.names[golden.layer]]
        name = "/".join(part for part in parts if part)
        values, tensor = to_little_endian(golden.values), golden.tensor
        entry = {
            "name": name,
            "input": self.inputs,
            "layer": golden.layer,
            "dtype": values.dtype.name,
            "shape": list(values.shape),
            **_describe_integers(tensor),
            "crc32": f"{crc32(values):08x}",
            "others": {profile: f"{crc:08x}" for profile, crc in golden.others.items()},
        }
        self.goldens.append(entry)
        self._put(f"{name}.npy", format_npy(values))
        if self._with_c:
            self._add_c(name, entry, values, tensor)

    def _add_c(
        self, name: str, entry: Mapping[str, Any], values: np.ndarray, tensor: Optional[Tensor]
    ) -> None:
        """Write the golden as a C header."""
        self._put(f"{name}.bin", values.tobytes())
        words = self._comment(entry, describe_format(tensor) if tensor else None)
        text = format_header(make_symbol(name), values, words, self._about.profile.cmsis)
        self._put(f"{name}.h", text.encode("ascii"))

    def _comment(self, entry: Mapping[str, Any], known: Optional[str]) -> list[str]:
        about = self._about
        return [
            f"{entry['name']}: {entry['layer']} of {about.network}, input {entry['input']}",
            f"shape {format_dimensions(entry['shape'])}, "
            f"{known or _describe_unknown(entry['dtype'])}",
            _describe_device(about),
            f"CRC-32 of the little-endian bytes: 0x{entry['crc32']}",
        ]

    def _put(self, path: str, content: bytes) -> None:
        self._store(path, content)
        self._files.append({"path": path, "size": len(content), "crc32": format_checksum(content)})

    def finish(self) -> int:
        """Write the lists of goldens; return the bytes of all files."""
        if self._with_c:
            self._finish_c()
        profile = self._about.profile
        manifest = {
            "format": FORMAT,
            "version": VERSION,
            "qemu_nn": self._about.version,
            "network": self._about.network,
            "model": self._about.model,
            "profile": {
                "core": self._about.core,
                "path": profile.path,
                "cmsis": profile.cmsis,
                "rounding": profile.rounding,
                **profile.build,
                **profile.espressif,
            },
            "inputs": self.inputs,
            "goldens": self.goldens,
            "files": self._files,
        }
        content = (json.dumps(manifest, indent=1) + "\n").encode("ascii")
        self._store(MANIFEST, content)
        size: int = len(content) + sum(file["size"] for file in self._files)
        return size

    def _finish_c(self) -> None:
        """Write the C code that checks the goldens."""
        for template in _TEMPLATES:
            source = (files(__package__) / "templates" / template).read_text(encoding="ascii")
            self._put(template, source.encode("ascii"))
        names = [(entry["input"], entry["name"], entry["dtype"]) for entry in self.goldens]
        self._put("golden_table.h", format_golden_table(self._about.network, names).encode("ascii"))


def _open_writer(folder: Path) -> Callable[[str, bytes], None]:
    """Return a function that writes files, and their folders."""

    def store(path: str, content: bytes) -> None:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)

    return store


def _describe_device(about: About) -> str:
    """Return the core and the profile of goldens, to be read."""
    profile = about.profile
    if profile.espressif:
        return f"{about.core}, {profile}"
    library = f"CMSIS {profile.cmsis}, rounding {profile.rounding}{_build(profile)}"
    return f"{about.core} ({profile.path}), {library}"


def _build(profile: Profile) -> str:
    """Return the non-default properties of TensorFlow Lite Micro's build, to append in words."""
    return "".join(f", {name} {value}" for name, value in profile.build.items())


# ---- results of one run as goldens in program order ----


def describe_format(tensor: Tensor) -> Optional[str]:
    """Return the value of an integer q of a tensor: Q0.7, or 0.0235 x (q+128); None if unknown.

    The text is safe in a comment.
    """
    known = tensor.frac is not None or tensor.scale is not None
    return str(tensor.format).replace("*", " x ") if known else None


def _describe_unknown(dtype: str) -> str:
    """Describe the elements of a tensor without a format; some types never have one."""
    return "unknown Q format" if dtype in ("int8", "int16", "uint8") else dtype


def crc32(values: np.ndarray) -> int:
    """Return the CRC-32 of an array's little-endian bytes."""
    return zlib.crc32(to_little_endian(values).tobytes())


def iterate_sample(
    graph: Graph, x: Trace, start: Trace, trace: Trace, others: Mapping[str, Trace]
) -> Iterator[Golden]:
    """Yield the goldens of one sample: the start states, then for each time step inputs and all
    layers.

    x: input -> its values, [T, *shape] of a recurrent network. start: state -> its values. others:
    a further profile in words -> its results. Its missing layers are omitted. For the remains of a
    destroyed input, it has the whole input, because it does not destroy it.
    """
    known = graph.tensors
    for name, values in start.items():
        yield Golden(name, values, known[name], "start")
    others = {profile: {**x, **other} for profile, other in others.items()}
    read = {f"{CLOBBER}{node.name}": node.inputs[0] for node in graph.nodes if node.inputs}
    steps = range(len(x[graph.input.name])) if graph.states else ()
    groups = [(f"t{step}", (step,)) for step in steps] if graph.states else [("", ())]
    for group, at in groups:
        for name, values in x.items():
            yield Golden(name, values[at], known[name], group)
        for layer, values in trace.items():
            computed = {
                profile: other.get(layer, other.get(read.get(layer, "")))
                for profile, other in others.items()
            }
            present = {profile: v[at] for profile, v in computed.items() if v is not None}
            crcs = _list_differing(values[at], present)
            yield Golden(layer, values[at], known.get(layer), group, crcs)


def _list_differing(values: np.ndarray, others: Trace) -> dict[str, int]:
    """Return profile -> CRC-32 of its result, if it differs from the values."""
    return {
        profile: crc32(other)
        for profile, other in others.items()
        if find_differing(other.ravel(), values.ravel()).any()
    }
