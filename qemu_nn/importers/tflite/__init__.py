"""Reader of quantized networks in .tflite files, as TensorFlow Lite Micro runs them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Optional

from ...io.files import read_bytes
from ...ir.graph import Graph
from ...ir.model_file import ModelFile
from .metadata import Metadata as Metadata
from .metadata import clean_label as clean_label
from .metadata import read_metadata as read_metadata
from .network import convert
from .parser import FILE_LIMIT, TfliteModel, parse
from .support_report import SupportReport as SupportReport
from .support_report import examine as examine
from .tflm_memory import find_tflm_figures


def read(path: Path, signature: Optional[str] = None) -> ModelFile:
    """Read the quantized network, class names, preprocessing and notes of a file.

    signature: the key of one of several signatures; default: the first graph of the file, as on the
    device.

    Activations are int8, or int16 with int8 weights. The calls are CMSIS-NN functions, and
    `tflm_...` functions for operators that TensorFlow Lite Micro computes itself. Tensors keep the
    file's names and have the shapes of one sample. The network omits a QUANTIZE at an input and a
    DEQUANTIZE at an output: its inputs and outputs are integers.

    Raises
    ------
    ModelError
        If the file is damaged or uses an unsupported feature.
    """
    data = read_bytes(path, FILE_LIMIT)
    first = parse(path, data)
    model = first.select(signature)
    graph = convert(model)
    said = read_metadata(path, data, graph) if model.number == first.number else Metadata()
    if said.labels:
        graph = replace(graph, classes=said.labels)
    memory = find_tflm_figures(model, graph)
    notes = (*said.notes, *_note_signatures(model))
    return ModelFile(graph, None, said.preprocessing, notes, tflm_figures=memory)


def _note_signatures(model: TfliteModel) -> list[str]:
    """Return a note that lists several signatures of a file."""
    keys = model.signatures
    if len(keys) < 2:
        return []
    listed = ", ".join(f"{key!r} (graph {number})" for key, number in keys.items())
    return [f"it has {len(keys)} signatures: {listed}; this network is graph {model.number}"]


def read_network(path: Path, data: bytes) -> Graph:
    """Return the network in the bytes of a file; see read()."""
    return convert(parse(path, data))
