"""A network as one header of plain macros: shifts, weights and biases, each a #define."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..graph import Graph
from .c_array import in_comment, lines
from .symbols import Symbols, macro_name


def one_header(graph: Graph, symbols: Symbols) -> str:
    """`#define CONV1_OUT_SHIFT 9`, `#define CONV1_WEIGHT {1, 2}` and so on, layer by layer.

    Arrays are flat and in the order the device reads them; formats that are known are
    `#define CONV1_DEC_BITS 5`.
    """
    parts = [f"/* {in_comment(graph.name)}: shifts, weights and biases as macros. */"]
    parts += ["#ifndef LAYERS_H", "#define LAYERS_H"]
    parts += ["\n".join(_definitions(graph, symbols)), "#endif", ""]
    return "\n".join(parts)


def _definitions(graph: Graph, symbols: Symbols) -> Iterator[str]:
    taken: set[str] = set()

    def define(stem: str, what: str, value: object) -> str:
        return f"#define {macro_name(stem, what, taken)} {value}"

    if graph.input.frac is not None:
        yield ""
        yield define(symbols.stems[graph.input.name], "DEC_BITS", graph.input.frac)
    for layer in symbols.layers:
        node = layer.node
        yield ""
        yield f"/* {layer.words} */"
        if node.output.frac is not None:
            yield define(layer.stem, "DEC_BITS", node.output.frac)
        for shift in ("out_shift", "bias_shift"):
            if shift in node.params:
                yield define(layer.stem, shift.upper(), node.params[shift])
        for name, what in ((node.weights, "WEIGHT"), (node.bias, "BIAS")):
            if name is not None:
                yield define(layer.stem, what, _braced(graph.arrays[name]))


def _braced(values: np.ndarray) -> str:
    return "{" + ", \\\n    ".join(lines(values)) + "}"
