"""Content of a model file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional

from .float_graph import FloatGraph
from .graph import Graph
from .input_summary import InputSummary
from .original import Original
from .preprocessing import Preprocessing
from .tflm_memory import TflmFigures


@dataclass(frozen=True)
class ModelFile:
    """The content of a model file: a quantized network, a float network, or both.

    graph: the quantized network. reference: the float network; if there is a graph, the network
    that the graph was quantized from. before, after: steps in floats that the host computes, from
    the inputs of the file to those of the graph, and from the outputs of the graph to those of the
    file. preprocessing: the conversion of raw samples to inputs of
    the graph. notes: sentences about how the file was read, or how its network was made.
    tflm_figures: memory of the framework that runs the file. calibration: figures of the inputs
    that the graph was calibrated with. curve: columns and rows of a table of how it was made.
    original: the network that a compiler of an NPU read.
    """

    graph: Optional[Graph] = None
    reference: Optional[FloatGraph] = None
    preprocessing: Optional[Preprocessing] = None
    notes: tuple[str, ...] = ()
    before: Optional[FloatGraph] = None
    after: Optional[FloatGraph] = None
    tflm_figures: Optional[TflmFigures] = None
    calibration: Optional[InputSummary] = None
    curve: Optional[tuple[tuple[str, ...], tuple[tuple[Any, ...], ...]]] = None
    original: Optional[Original] = None
