"""Values of the templates of floats.c: formats of inputs and outputs, and names of classes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Optional

from ..ir.graph import Graph
from ..ir.tensors import Tensor
from .c_text import sanitize_comment, wrap_lines

#: Types with conversions from and to floats.
_INTEGERS = ("int8", "int16", "uint8")


def add_floats(graph: Graph, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the template values of floats.c: inputs and outputs with their formats, and the
    signatures; `floats` is None if a format is unknown.
    """
    tensors = graph.tensors
    formats = [_describe(tensor) for tensor in graph.inputs]
    formats += [_describe(tensors[name]) for name in graph.outputs]
    if None in formats:
        return {"floats": None}
    arguments = [*values["inputs"], *values["outputs"]]
    described = [{**each, "format": format} for each, format in zip(arguments, formats)]
    count = len(values["inputs"])
    name = values["name"]
    declared = [f"const float *{each['argument']}" for each in values["inputs"]]
    declared += [f"float *{each['argument']}" for each in values["outputs"]]
    run_in = [f"{name}_context *context", *declared]
    gone = [each["argument"] for each in values["outputs"] if not each["stays"]]
    return {
        "inputs": described[:count],
        "outputs": described[count:],
        "classes": _list_classes(graph),
        "floats": {
            "lacking": f"{gone[0]} is overwritten before a run ends" if gone else "",
            "rounds": any(not each["format"]["real"] for each in described[:count]),
            "run": wrap_lines(f"int {name}_run_float(", declared, ")", 0),
            "run_in": wrap_lines(f"int {name}_run_float_in(", run_in, ")", 0),
        },
    }


def _describe(tensor: Tensor) -> Optional[dict[str, Any]]:
    """Return a format in C; None if floats have no integers of this tensor."""
    if tensor.dtype == "float32":
        return {"real": True}
    if tensor.dtype not in _INTEGERS or (tensor.frac is None and tensor.scale is None):
        return None
    format = tensor.format
    low, high = format.limits
    power = format.frac is not None
    scale = math.ldexp(1.0, -format.frac) if format.frac is not None else format.scale
    return {
        "real": False,
        "even": int(power),
        "into": f"* {_spell(1 / scale)}" if power else f"/ {_spell(scale)}",
        "scale": _spell(scale),
        "zero_point": format.zero_point,
        "low": low,
        "high": high,
    }


def _spell(value: float) -> str:
    """Return a float constant with exactly the bits of this value in 32 bits."""
    text = f"{value:.9g}"
    return f"{text}f" if set(text) & set(".e") else f"{text}.0f"


def _list_classes(graph: Graph) -> Sequence[str]:
    """Return the class names as C strings, if there is one output with as many elements."""
    if len(graph.outputs) != 1 or not graph.classes:
        return ()
    if math.prod(graph.tensors[graph.outputs[0]].shape) != len(graph.classes):
        return ()
    return tuple(map(_quote, graph.classes))


def _quote(text: str) -> str:
    """Return a C string of UTF-8, in octal escapes where a character may end it."""
    plain = sanitize_comment(text) == text and '"' not in text
    return f'"{text}"' if plain else '"' + "".join(f"\\{byte:03o}" for byte in text.encode()) + '"'
