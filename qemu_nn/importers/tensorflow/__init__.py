"""TensorFlow: frozen graphs (.pb), read without TensorFlow."""

from __future__ import annotations

from pathlib import Path
from typing import Optional

from ...errors import ModelError
from ...ir.model_file import ModelFile
from .network import network
from .reading import read_nodes


def read(path: Path, input: Optional[str] = None, output: Optional[str] = None) -> ModelFile:
    """Read the float network of a frozen GraphDef; tensors have the names of the nodes.

    input, output: tensors ("Reshape" or "Reshape:0") between which the network is cut out; by
    default the only Placeholder and the only node that no other reads. Raises ModelError with one
    sentence for a file that cannot be used, Error where protobuf is missing.
    """
    try:
        return ModelFile(reference=network(path.stem, read_nodes(path), input, output))
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from None
