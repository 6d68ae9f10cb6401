"""Values of the templates of floats.c: formats of inputs and outputs, and names of classes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Optional

from ..ir.graph import Graph
from ..ir.tensors import Tensor
from .blob import BlobWriter
from .c_text import sanitize_comment, wrap_lines

#: Types with conversions from and to floats.
_INTEGERS = ("int8", "int16", "uint8")


def add_floats(
    graph: Graph, values: Mapping[str, Any], blob: Optional[BlobWriter] = None
) -> dict[str, Any]:
    """Return the template values of floats.c: inputs and outputs with their formats, and the
    signatures; `floats` is None if a format is unknown.

    blob: takes the scales and zero points, if any.
    """
    tensors = [*graph.inputs, *(graph.tensors[name] for name in graph.outputs)]
    if not all(map(_has_format, tensors)):
        return {"floats": None}
    formats = [_describe(tensor, blob) for tensor in tensors]
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


def _has_format(tensor: Tensor) -> bool:
    """True if floats have elements of this tensor."""
    known = tensor.frac is not None or tensor.scale is not None
    return tensor.dtype == "float32" or (tensor.dtype in _INTEGERS and known)


def _describe(tensor: Tensor, blob: Optional[BlobWriter]) -> dict[str, Any]:
    """Return a format in C."""
    if tensor.dtype == "float32":
        return {"real": True}
    real, integer = (_spell, str) if blob is None else (blob.add_real, blob.add_integer)
    format = tensor.format
    low, high = format.limits
    power = format.frac is not None
    scale = math.ldexp(1.0, -format.frac) if format.frac is not None else format.scale
    return {
        "real": False,
        "even": int(power),
        "into": f"* {real(1 / scale)}" if power else f"/ {real(scale)}",
        "scale": real(scale),
        "zero_point": integer(format.zero_point),
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
