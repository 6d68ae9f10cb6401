"""TensorFlow Lite: quantized networks from .tflite files, as TensorFlow Lite Micro runs them."""

from __future__ import annotations

from pathlib import Path

from ...ir.graph import Graph
from .metadata import Metadata as Metadata
from .metadata import label as label
from .metadata import metadata as metadata
from .network import convert
from .parser import parse, read
from .support_report import Examined as Examined
from .support_report import examined as examined


def load(path: Path) -> Graph:
    """The quantized network of a file: int8, or int16 with weights of int8.

    Its calls are those of CMSIS-NN, and functions `tflm_...` for what TensorFlow Lite Micro
    computes itself; tensors have the file's names and the shapes of one sample. Where a file begins
    with QUANTIZE or ends with DEQUANTIZE, the network begins and ends with the integers. Raises
    ModelError with one sentence for a file that is damaged or uses what is not supported; Error
    where the libraries `tflite` and `flatbuffers` are missing.
    """
    return convert(read(path))


def parsed(path: Path, data: bytes) -> Graph:
    """The network of the bytes that a file has or will have; see load()."""
    return convert(parse(path, data))
