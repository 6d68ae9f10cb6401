"""A network as one header of plain macros: shifts, weights and biases, each a #define."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..functions.shapes import Extent, Half
from ..ir.graph import Graph, Node, Tensor
from .c_text import format_lines, sanitize_comment
from .golden import describe_format
from .symbols import Symbols, list_constants, reserve_macro


def format_one_header(graph: Graph, symbols: Symbols) -> str:
    """Write `#define CONV1_OUT_SHIFT 9`, `#define CONV1_WEIGHT {1, 2}` and so on, layer by layer.

    Arrays are flat, in the device's order; known formats are `#define CONV1_DEC_BITS 5`.
    """
    parts = [f"/* {sanitize_comment(graph.name)}: shifts, weights and biases as macros. */"]
    parts += ["#ifndef LAYERS_H", "#define LAYERS_H"]
    parts += ["\n".join(_iterate_definitions(graph, symbols)), "#endif", ""]
    return "\n".join(parts)


def _iterate_definitions(graph: Graph, symbols: Symbols) -> Iterator[str]:
    taken: set[str] = set()

    def define(stem: str, what: str, value: object) -> str:
        return f"#define {reserve_macro(stem, what, taken)} {value}"

    def formats(stem: str, tensor: Tensor) -> Iterator[str]:
        if tensor.frac is not None:
            yield define(stem, "DEC_BITS", tensor.frac)
        if tensor.scale is not None:
            yield define(stem, "SCALE", f"{tensor.scale!r}f")
            yield define(stem, "ZERO_POINT", _format_number(tensor.zero_point))

    for tensor in graph.inputs:
        if describe_format(tensor):
            yield ""
            yield from formats(symbols.stems[tensor.name], tensor)
    for layer in symbols.layers:
        node = layer.node
        yield ""
        yield f"/* {layer.words} */"
        yield from formats(layer.stem, node.output)
        scalars = _list_scalars(node)
        for name, value in node.params.items():
            if name in scalars:
                yield define(layer.stem, name.upper(), _format_number(value))
        for constant in list_constants(graph, node).values():
            what = "WEIGHT" if constant.part == "wt" else constant.part.upper()
            yield define(layer.stem, what, _format_braced(constant.values))


def _format_number(value: int) -> str:
    return str(value) if value >= 0 else f"({value})"


def _list_scalars(node: Node) -> set[str]:
    """Return the shifts of a call; of an affine one, all arguments except sizes."""
    if node.output.scale is None:
        return {"out_shift", "bias_shift"} & set(node.params)
    function = node.function
    sizes = {axis for array in (*function.arrays, function.output) for axis in _flatten(array.axes)}
    return set(node.params) - sizes


def _flatten(axes: tuple[Extent, ...]) -> Iterator[str]:
    for axis in axes:
        if isinstance(axis, (tuple, Half)):
            yield from _flatten(axis.parts if isinstance(axis, Half) else axis)
        elif isinstance(axis, str):
            yield axis


def _format_braced(values: np.ndarray) -> str:
    return "{" + ", \\\n    ".join(format_lines(values)) + "}"
