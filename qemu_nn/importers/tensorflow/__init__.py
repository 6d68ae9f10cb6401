"""TensorFlow: frozen graphs (.pb) and SavedModel folders, read without TensorFlow."""

from __future__ import annotations

from pathlib import Path
from typing import Optional

from ...errors import ModelError
from ...io import files
from ...ir.float_graph import FloatGraph
from ...ir.model_file import ModelFile
from .network import network
from .reading import read_nodes
from .saved_model import is_saved_model, read_saved_model

_LIMIT = 128 * files.MEGABYTE


def read(
    path: Path,
    input: Optional[str] = None,
    output: Optional[str] = None,
    signature: Optional[str] = None,
) -> ModelFile:
    """Read the float network of a frozen GraphDef or of the saved_model.pb of a SavedModel.

    Tensors have the names of the nodes, inputs and outputs of a SavedModel those of its signature.
    input, output: tensors ("Reshape" or "Reshape:0") that limit the network; by default the
    Placeholders and the only node without readers. signature: of a SavedModel. Raises ModelError
    with one sentence for an unusable file, Error without protobuf.
    """
    try:
        return ModelFile(reference=_network(path, input, output, signature))
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from None


def _network(
    path: Path, input: Optional[str], output: Optional[str], signature: Optional[str]
) -> FloatGraph:
    data = files.read_bytes(path, _LIMIT)
    if is_saved_model(data):
        saved = read_saved_model(path.parent, data, signature)
        return network(path.absolute().parent.name, saved.nodes, input, output, saved.outputs)
    if signature is not None:
        raise ModelError("a frozen graph has no signatures: leave out signature=")
    return network(path.stem, read_nodes(data), input, output)
