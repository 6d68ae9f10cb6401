"""The files of Keras: a description in JSON, and arrays in HDF5, neither of them trusted."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Union

import numpy as np

from ... import files
from ...archive import open_archive
from ...errors import Error, ModelError
from ...extras import require
from ...fields import parse_json

#: Most bytes of a file, and of all arrays in it.
_LIMIT = 256 * files.MEGABYTE

_CONFIG, _WEIGHTS = "config.json", "model.weights.h5"


@dataclass
class Stored:
    """An open model file. config: of the model; the arrays are read when they are asked for."""

    path: Path
    config: dict[str, Any]
    h5: Any
    by_name: bool
    size: int

    def arrays(self, name: str, place: str) -> list[np.ndarray]:
        """The weights of a layer, in order: by its name (.h5), or by its place (.keras)."""
        if self.by_name:
            group = _hard(self.h5, f"model_weights/{name}", self.path)
            return [self._array(group, each) for each in _weight_names(group)]
        group = _hard(self.h5, f"{place}/vars", self.path)
        return [self._array(group, str(index)) for index in range(len(group))]

    def _array(self, group: Any, name: str) -> np.ndarray:
        data = _hard(group, name, self.path)
        where = f"{self.path}: the array {data.name}"
        if data.dtype.kind != "f" or data.is_virtual or data.external:
            raise ModelError(f"{where} is not a plain array of floats")
        claimed = math.prod(data.shape) * data.dtype.itemsize
        self.size += claimed
        if self.size > _LIMIT or (data.id.get_storage_size() < claimed and data.chunks is None):
            raise ModelError(
                f"{where} is said to have the shape {list(data.shape)}, which it has not"
            )
        values = np.asarray(data[()], np.float64 if data.dtype.itemsize > 4 else np.float32)
        if not np.isfinite(values).all():
            raise ModelError(f"{where} has values that are not finite")
        return values


@contextmanager
def opened(path: Path) -> Iterator[Stored]:
    """A model file; whatever h5py stumbles over in it is a ModelError."""
    h5py = require("h5py", "keras", f"reading {path.suffix} files")
    try:
        if path.suffix.lower() == ".keras":
            with open_archive(path) as archive:
                config = _model(archive.read(_CONFIG), f"{path}: {_CONFIG}")
                data: Union[io.BytesIO, Path] = io.BytesIO(archive.read(_WEIGHTS))
        else:
            if path.stat().st_size > _LIMIT:
                raise ModelError(f"{path} has more than {_LIMIT // files.MEGABYTE} MiB")
            config, data = {}, path
        with h5py.File(data, "r") as h5:
            if not config:
                config = _model(_described(h5, path), f"{path}: model_config")
            yield Stored(path, config, h5, path.suffix.lower() != ".keras", 0)
    except Error:
        raise
    except (OSError, RuntimeError, ValueError, TypeError, KeyError, AttributeError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise ModelError(f"{path} is damaged, or no model of Keras") from None


def _described(h5: Any, path: Path) -> bytes:
    if "model_config" not in h5.attrs:
        raise ModelError(
            f"{path} holds no description of a model, only weights perhaps; save the whole model"
        )
    config = h5.attrs["model_config"]
    return config if isinstance(config, bytes) else str(config).encode()


def _model(data: bytes, where: str) -> dict[str, Any]:
    return dict(parse_json(data, where).values)


def _hard(group: Any, name: str, path: Path) -> Any:
    """A member of a group, reached by hard links alone: no other file, no detours."""
    h5py = require("h5py", "keras", "reading Keras files")
    for part in name.split("/"):
        link = group.get(part, getlink=True) if hasattr(group, "get") else None
        if not isinstance(link, h5py.HardLink):
            raise ModelError(f"{path} has no {name!r} under {group.name}")
        group = group[part]
    return group


def _weight_names(group: Any) -> list[str]:
    """The attribute weight_names, which long lists are split over."""
    parts = [name for name in group.attrs if re.fullmatch(r"weight_names\d*", name)]
    found: list[str] = []
    for name in sorted(parts, key=lambda part: (len(part), part)):
        found += [n.decode() if isinstance(n, bytes) else str(n) for n in group.attrs[name]]
    return found
