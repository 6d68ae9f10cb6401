"""Reader of .tflite files: quantized networks as on the device, and float networks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Optional

from ...errors import Error, ModelError
from ...io.files import read_bytes
from ...ir.graph import Graph
from ...ir.model_file import ModelFile
from .ethosu import describe_programs
from .floats import convert_float
from .metadata import Metadata as Metadata
from .metadata import clean_label as clean_label
from .metadata import read_metadata as read_metadata
from .network import convert, holds_floats
from .parser import FILE_LIMIT, TfliteModel, parse
from .support_report import SupportReport as SupportReport
from .support_report import examine as examine
from .tflm_memory import find_tflm_figures


def read(
    path: Path,
    signature: Optional[str] = None,
    input: Optional[str] = None,
    output: Optional[str] = None,
) -> ModelFile:
    """Read the network, class names, preprocessing and notes of a file.

    signature: the key of one of several signatures; default: the first graph of the file, as on the
    device. input, output: tensors between which a float network is cut out; default: its ends.

    A file without quantized activations holds a float network. In quantized networks activations
    are int8, or int16 with int8 weights. The calls are CMSIS-NN functions, and
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
    own = model.number == first.number  # the metadata are those of the first graph
    if holds_floats(model):
        real = convert_float(model, input, output)
        shapes = [real.shapes[name] for name in real.outputs]
        said = read_metadata(path, data, list(real.starts.values()), shapes) if own else Metadata()
        notes = (*said.notes, *_note_preprocessing(said), *_note_signatures(model))
        return ModelFile(reference=replace(real, classes=said.labels), notes=notes)
    if input is not None or output is not None:
        raise Error(f"{path}: a quantized file is read whole: leave out input= and output=")
    graph = convert(model)
    shapes = [graph.node(name).output.shape for name in graph.outputs]
    starts = [start.shape for start in graph.inputs]
    said = read_metadata(path, data, starts, shapes) if own else Metadata()
    if said.labels:
        graph = replace(graph, classes=said.labels)
    programs = describe_programs(graph)
    memory = None if programs else find_tflm_figures(model, graph)  # vela plans the arena
    notes = (*said.notes, *_note_signatures(model), *programs)
    return ModelFile(graph, None, said.preprocessing, notes, tflm_figures=memory)


def _note_preprocessing(said: Metadata) -> list[str]:
    """Return a note on the preprocessing of a float network, whose data need it."""
    if said.preprocessing is None:
        return []
    spelled = said.preprocessing.spelled
    return [f"its metadata prepare inputs as {spelled}: give data this Preprocessing"]


def _note_signatures(model: TfliteModel) -> list[str]:
    """Return a note that lists several signatures of a file; devices do not read them."""
    try:
        keys = model.signatures
    except ModelError as error:
        return [f"its signatures are ignored: {error}"]
    if len(keys) < 2:
        return []
    listed = ", ".join(f"{key!r} (graph {number})" for key, number in keys.items())
    return [f"it has {len(keys)} signatures: {listed}; this network is graph {model.number}"]


def read_network(path: Path, data: bytes) -> Graph:
    """Return the network in the bytes of a file; see read()."""
    return convert(parse(path, data))
