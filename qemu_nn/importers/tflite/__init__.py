"""TensorFlow Lite: quantized networks from .tflite files, as TensorFlow Lite Micro runs them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ...io.files import read_bytes
from ...ir.graph import Graph
from ...ir.model_file import ModelFile
from .metadata import Metadata as Metadata
from .metadata import label as label
from .metadata import metadata as metadata
from .network import convert
from .parser import FILE_LIMIT, parse
from .support_report import Examined as Examined
from .support_report import examined as examined


def read(path: Path) -> ModelFile:
    """Read a file: its quantized network, class names and preprocessing, with notes.

    Activations are int8, or int16 with weights of int8.

    Its calls are those of CMSIS-NN, and functions `tflm_...` for what TensorFlow Lite Micro
    computes itself; tensors have the file's names and the shapes of one sample. Where a file begins
    with QUANTIZE or ends with DEQUANTIZE, the network begins and ends with the integers. Raises
    ModelError with one sentence for a file that is damaged or uses what is not supported; Error
    where the libraries `tflite` and `flatbuffers` are missing.
    """
    data = read_bytes(path, FILE_LIMIT)
    graph = parsed(path, data)
    said = metadata(path, data, graph)
    if said.labels:
        graph = replace(graph, classes=said.labels)
    return ModelFile(graph, None, said.preprocessing, said.notes)


def parsed(path: Path, data: bytes) -> Graph:
    """Return the network of the bytes of a file; see read()."""
    return convert(parse(path, data))
