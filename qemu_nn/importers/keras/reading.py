"""Reading of Keras files, untrusted: a description in JSON, and arrays in HDF5."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import ModelError
from ...io import files
from ...io.archive import open_archive
from ...io.typed_json import parse_json
from ..hdf5 import LIMIT, Contents, read_hdf5

_CONFIG, _METADATA, _WEIGHTS = "config.json", "metadata.json", "model.weights.h5"

#: Parts of layers in .keras files that have weights, in the order of .h5 files.
_PARTS = (
    *("layer", "cell", "forward_layer/cell", "backward_layer/cell"),
    *("query_dense", "key_dense", "value_dense", "output_dense"),
)

#: Attributes of a .h5: the description, and the names of a layer's weights, possibly in several
#: parts.
_ATTRIBUTES = r"model_config|keras_version|weight_names\d*"


@dataclass(frozen=True)
class Stored:
    """Contents of a model file.

    config: of the model. by_name: true for .h5 files, whose weights are in groups of layers.
    version: of the Keras that wrote it, as far as it is known.
    """

    path: Path
    config: dict[str, Any]
    contents: Contents
    by_name: bool
    version: str = ""

    def arrays(self, name: str, place: str, owners: Sequence[str] = ()) -> list[np.ndarray]:
        """Return the weights of a layer, in order: by its name (.h5), or by its place (.keras).

        owners: the models around the layer, the outermost first, but without the whole one. A .h5
        has all weights of a model inside it in one group.
        """
        own = f"model_weights/{name}"
        if self.by_name and owners and not self._names(own):
            return self._inner_arrays(name, owners)
        group = own if self.by_name else f"{place}/vars"
        if group not in self.contents.groups:
            raise ModelError(f"{self.path} has no {group!r}")
        if self.by_name:
            names = self._names(group)
            return [self._array(f"{group}/{each}") for each in names]
        every = Counter(
            each.rpartition("/")[0] for each in (*self.contents.arrays, *self.contents.unfit)
        )
        groups = [group, *(f"{place}/{part}/vars" for part in _PARTS)]
        return [self._array(f"{own}/{index}") for own in groups for index in range(every[own])]

    def _names(self, group: str) -> list[str]:
        return _weight_names(self.contents.texts.get(group, {}))

    def _inner_arrays(self, name: str, owners: Sequence[str]) -> list[np.ndarray]:
        """Return the weights of a layer in a model inside the whole one."""
        group = f"model_weights/{owners[0]}"
        found = [each for each in self._names(group) if name in each.split("/")[:-1]]
        below = f"/{owners[-1]}/{name}/"  # layers of different models may have one name
        found = [each for each in found if below in f"/{each}"] or found
        if not found:
            raise ModelError(f"{self.path} has no weights of {name!r} in {group!r}")
        return [self._array(f"{group}/{each}") for each in found]

    def _array(self, name: str) -> np.ndarray:
        if name in self.contents.unfit:
            raise ModelError(f"{self.path}: the array {name} {self.contents.unfit[name]}")
        if name not in self.contents.arrays:
            raise ModelError(f"{self.path} has no {name!r}")
        values = self.contents.arrays[name]
        if not np.isfinite(values).all():
            raise ModelError(f"{self.path}: the array {name} has values that are not finite")
        return values


def read_stored(path: Path) -> Stored:
    """Return the content of a model file; raise ModelError for any other file."""
    if path.suffix.lower() == ".keras":
        with open_archive(path) as archive:
            config = _model(archive.read(_CONFIG), f"{path}: {_CONFIG}")
            data = archive.read(_WEIGHTS)
            told = parse_json(archive.read(_METADATA), f"{path}: {_METADATA}").values
        contents = _hdf5(data, f"{path}: {_WEIGHTS}", "layers")
        return Stored(path, config, contents, False, str(told.get("keras_version", "")))
    contents = _hdf5(files.read_bytes(path, LIMIT), str(path), "model_weights")
    described = contents.texts[""].get("model_config")
    if not isinstance(described, str):
        raise ModelError(
            f"{path} has no description of a model, perhaps only weights: save the whole model"
        )
    config = _model(described.encode("utf-8", "surrogateescape"), f"{path}: model_config")
    return Stored(path, config, contents, True, str(contents.texts[""].get("keras_version", "")))


def _hdf5(data: bytes, where: str, group: str) -> Contents:
    return read_hdf5(data, where, "keras", group, _ATTRIBUTES)


def _model(data: bytes, where: str) -> dict[str, Any]:
    return dict(parse_json(data, where).values)


def _weight_names(texts: Mapping[str, Any]) -> list[str]:
    """Return the attribute weight_names, or its joined parts."""
    parts = sorted((n for n in texts if n.startswith("weight_names")), key=lambda n: (len(n), n))
    return [name for part in parts for name in texts[part]]
