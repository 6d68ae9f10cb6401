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

    input, output: tensors ("Reshape" or "Reshape:0") that limit the network; by default the only
    Placeholder and the only node without readers. Raises ModelError with one sentence for an
    unusable file, Error without protobuf.
    """
    try:
        return ModelFile(reference=network(path.stem, read_nodes(path), input, output))
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from None
