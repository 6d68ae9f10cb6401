"""Weights and parameters of quantization in one binary blob, which firmware loads at run time.

    offset  bytes
    0       4      "QNNW"
    4       4      version of this form, 1
    8       4      bytes of the blob
    12      4      interface: the network's calls, shapes and addresses, as a hash
    16      4      first bytes of the model's hash
    20      8      0
    28      4      CRC-32 of all bytes but these four
    32      4 * n  numbers: integers and floats of 32 bits
    ...            arrays, each at a multiple of 16

All is little-endian. A blob fits firmware if their interfaces are equal.
"""

from __future__ import annotations

import hashlib
import json
import re
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..functions.prototypes import C_TYPES
from ..io.archive import to_little_endian
from ..ir.graph import Graph
from ..targets import Profile
from .c_text import format_comment, format_lines, sanitize_comment
from .memory import Layout
from .symbols import LayerSymbols, Macro, Symbols

VERSION, ALIGNMENT = 1, 16

_MAGIC = b"QNNW"
_HEADER = struct.Struct("<4sIIII8xI")

#: Arguments that come from the ranges of values, and so differ between models of one structure.
_RANGES = re.compile(
    r"((?!pad_|batch_|ch_)\w+_)?(mult|multiplier|shift|lshift|zero_point\w*|act_min|act_max)"
    r"|(?!pad_|batch_|ch_)\w+_offset|diff_min|pad_value|cell_clip|cell_scale_power|int_width"
    r"|input_range_radius"
)


@dataclass(frozen=True)
class Blob:
    """Content of a blob.

    offsets: symbol of an array -> its place. interface: see above.
    """

    content: bytes
    offsets: Mapping[str, int]
    interface: int


class BlobWriter:
    """Collector of the numbers of a blob, which C reads by their index."""

    def __init__(self, name: str) -> None:
        self._name = name.upper()
        self._numbers: list[bytes] = []

    def add_integer(self, value: int) -> str:
        """Add an integer; return its C text."""
        self._numbers.append(struct.pack("<i", value))
        return f"{self._name}_INTEGER({len(self._numbers) - 1})"

    def add_real(self, value: float) -> str:
        """Add a float; return its C text."""
        self._numbers.append(struct.pack("<f", value))
        return f"{self._name}_REAL({len(self._numbers) - 1})"

    def move_numbers(self, symbols: Symbols) -> Symbols:
        """Return the symbols of a network, whose formats and quantization are in the blob."""
        layers = tuple(map(self._move_layer, symbols.layers))
        inputs = {key: tuple(map(self._move, macros)) for key, macros in symbols.inputs.items()}
        return replace(symbols, layers=layers, inputs=inputs)

    def _move_layer(self, layer: LayerSymbols) -> LayerSymbols:
        params = {
            param: self._move(macro) if _RANGES.fullmatch(param) else macro
            for param, macro in layer.params.items()
        }
        return replace(layer, params=params, numbers=tuple(map(self._move, layer.numbers)))

    def _move(self, macro: Macro) -> Macro:
        value = macro.value.strip("()")
        real = value.endswith("f")
        text = self.add_real(float(value[:-1])) if real else self.add_integer(int(value))
        return replace(macro, value=text)

    def finish(
        self, graph: Graph, layout: Layout, symbols: Symbols, profile: Profile, model: str
    ) -> Blob:
        """Return the blob. model: the hash of the network."""
        content = bytearray(_HEADER.size) + b"".join(self._numbers)
        offsets = {}
        for symbol, constant in symbols.arrays.items():
            content += bytes(-len(content) % ALIGNMENT)
            offsets[symbol] = len(content)
            content += to_little_endian(constant.values).tobytes()
        content += bytes(-len(content) % ALIGNMENT)
        interface = _hash_interface(graph, layout, symbols, profile, offsets)
        head = (_MAGIC, VERSION, len(content), interface, int(model[:8], 16))
        start = _HEADER.pack(*head, 0)[:-4]
        crc = zlib.crc32(bytes(content[_HEADER.size :]), zlib.crc32(start))
        content[: _HEADER.size] = _HEADER.pack(*head, crc)
        return Blob(bytes(content), offsets, interface)


def _hash_interface(
    graph: Graph,
    layout: Layout,
    symbols: Symbols,
    profile: Profile,
    offsets: Mapping[str, int],
) -> int:
    """Return a hash of all that the compiled calls of a network fix."""
    fixed = [
        {name: value for name, value in node.params.items() if not _RANGES.fullmatch(name)}
        for node in graph.nodes
    ]
    calls = [
        [
            node.function.name,
            sorted(params.items()),
            [macro.name for macro in (*layer.params.values(), *layer.numbers)],
            sorted(layer.arrays.items()),
            [str(address) for address in (*call.inputs, call.output)],
        ]
        for node, params, layer, call in zip(graph.nodes, fixed, symbols.layers, layout.calls)
    ]
    arrays = [[symbol, offsets[symbol], each.values.dtype.name, each.values.size]
              for symbol, each in symbols.arrays.items()]  # fmt: skip
    tensors = [[tensor.name, tensor.dtype, list(tensor.shape)] for tensor in graph.inputs]
    said = [
        str(profile),
        tensors,
        list(graph.outputs),
        calls,
        arrays,
        sorted(layout.buffers.items()),
    ]
    digest = hashlib.sha256(json.dumps(said, sort_keys=True).encode()).digest()
    return int.from_bytes(digest[:4], "little")


def make_values(blob: Blob, symbols: Symbols) -> dict[str, Any]:
    """Return the template values of a blob; weights.h has each array as a macro."""
    return {
        "size": len(blob.content),
        "interface": f"0x{blob.interface:08x}",
        "lines": format_lines(np.frombuffer(blob.content, np.uint8)),
        "arrays": [
            {
                "comment": format_comment(sanitize_comment(": ".join(filter(None, constant.key)))),
                "symbol": symbol,
                "type": C_TYPES[constant.values.dtype.name],
                "offset": blob.offsets[symbol],
            }
            for symbol, constant in symbols.arrays.items()
        ],
    }
