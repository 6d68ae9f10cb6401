"""Preprocessing in C: a table from raw bytes to codes, and the expected result of its self-test.

A table is exact on any core and with any compiler, unlike float arithmetic: a compiler may contract
a*b + c, and a core without a floating-point unit takes long for it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Optional, Union

import numpy as np

from ..operators import Transpose
from ..runtime.host import Host
from .c_text import format_comment, format_lines

#: Types of raw samples with a table, and their least values.
_FIRST = {"uint8": 0, "int8": -128}

#: Types of inputs that a table has codes of.
_CODES = ("int8", "uint8", "int16")

#: Elements of raw samples that are prepared at a time.
_BLOCK = 2**20

#: Odd number whose multiples identify the position of an element.
_STEP = 2654435761


def preprocess(host: Host) -> Mapping[str, Any]:
    """Return the template values of a preprocessing; lacking: the reason for missing C."""
    steps = host.preprocessing
    if steps is None:
        return {"raw": "", "lacking": ""}
    raw = steps.dtype or "uint8"
    table = _make_table(host, raw)
    if isinstance(table, str):
        return {"raw": "", "lacking": table}
    shape, layout = _start(host)
    channels, size = shape[-1], math.prod(shape)
    first = layout is not None and steps.layout == "NCHW"
    turns = -(-256 * channels // size)
    raws = np.concatenate([_make_sample(turn, shape, raw) for turn in range(turns)])
    axes = f"[{channels}][{size // channels}]" if first else f"[{size // channels}][{channels}]"
    if len(table) > 1:
        rows = [",\n     ".join(format_lines(row)) for row in table]
        text, size_of = ",\n".join(f"    {{{row}}}" for row in rows), f"[{channels}][256]"
    else:
        text, size_of = "    " + ",\n    ".join(format_lines(table)), "[256]"
    return {
        "numbers": format_comment(
            "The input is (raw * scale - mean) / std, rounded into its format: "
            f"scale {steps.scale}, mean {list(steps.mean)}, std {list(steps.std)}."
        ),
        "raw": f"{raw}_t",
        "lacking": "",
        "type": f"{host.graph.input.dtype}_t",
        "axes": axes,
        "pixels": size // channels,
        "channels": channels,
        "first": first,
        "lowest": _FIRST[raw],
        "several": len(table) > 1,
        "size": size_of,
        "table": text,
        "turns": turns,
        "sum": _sum(_compute_codes(host, raws)),
        "step": _STEP,
    }


def _make_table(host: Host, raw: str) -> Union[np.ndarray, str]:
    """Return codes [channels, 256] of all values, a single row if the channels are equal; or the
    reason for none.
    """
    if raw not in _FIRST:
        return f"raw samples of {raw} have too many values for a table"
    if host.graph.input.dtype not in _CODES:
        return f"its input is {host.graph.input.dtype}, of which a table has no codes"
    if host.before is not None:
        return "the host computes steps in floats before the input"
    if host.graph.input.order or any(isinstance(each, Transpose) for each in host.front):
        return "the host transposes the input"
    shape, _ = _start(host)
    values = (np.arange(256) + _FIRST[raw]).astype(raw)
    size = math.prod(shape)
    held = np.empty((256, shape[-1]), host.graph.input.dtype)
    many = max(1, _BLOCK // size)
    for start in range(0, 256, many):
        part = values[start : start + many]
        flat = np.broadcast_to(part.reshape(-1, *[1] * len(shape)), (len(part), *shape))
        codes = _compute_codes(host, flat).reshape(len(part), -1, shape[-1])
        held[start : start + many] = codes[:, 0]
        if (codes != codes[:, :1]).any():
            return "the network's own normalization differs from pixel to pixel"
    table = held.T
    rows: np.ndarray = table[:1] if (table == table[:1]).all() else table
    return rows


def _start(host: Host) -> tuple[tuple[int, ...], Optional[str]]:
    """Return shape and layout of a sample, with at least one axis."""
    shape, layout = host.start
    return shape or (1,), layout


def _make_sample(turn: int, shape: tuple[int, ...], raw: str) -> np.ndarray:
    """Return a raw sample [1, *shape] of the self-test; together they contain each value in each
    channel.
    """
    pixels, channels = math.prod(shape[:-1]), shape[-1]
    values = turn * pixels + np.arange(pixels)[:, None] + 85 * np.arange(channels)
    return (values % 256 + _FIRST[raw]).astype(raw).reshape(1, *shape)


def _compute_codes(host: Host, raws: np.ndarray) -> np.ndarray:
    """Compute from raw samples, channels last."""
    shape, layout = host.start
    steps = raws.reshape(len(raws), *shape)
    codes = host.codes(steps[:, np.newaxis] if host.graph.states else steps, layout)
    assert isinstance(codes, np.ndarray)  # a preprocessing is for one input
    return codes.reshape(len(raws), -1)


def _sum(codes: np.ndarray) -> int:
    """Return all codes and their places, in a number of 32 bits."""
    places = (2 * np.arange(codes.shape[1], dtype=np.uint64) + 1) * np.uint64(_STEP)
    values = codes.astype(np.int64).astype(np.uint64) & np.uint64(0xFFFFFFFF)
    products = (places & np.uint64(0xFFFFFFFF)) * values & np.uint64(0xFFFFFFFF)
    return int(products.sum(dtype=np.uint64) & np.uint64(0xFFFFFFFF))
