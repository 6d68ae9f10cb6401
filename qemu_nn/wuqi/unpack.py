"""Decoding of packed networks: layers and fixed-point parameters, as in docs/npu_pack.md."""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import ModelError
from ..functions.wuqi import CODES, LOG_ENTRIES
from .layers import WEIGHTED, Layer, has_bias
from .pack_format import HEADER, MAGIC, MOST, POOLS, TABLED, TYPES, VERSION, encode
from .pack_reader import Cursor
from .shapes import Shape, check_layer

_NAMES = list(TYPES)


def decode(data: bytes, name: str) -> tuple[int, list[Layer], dict[str, Any]]:
    """Return bit width, layers and parameters of a pack. Raises ModelError for any other bytes."""
    bitwidth, tensors, layers = _open_pack(data, name)
    cursor = Cursor(data[:-4], name, HEADER.size)
    params: dict[str, Any] = {}
    shapes: dict[str, Shape] = {}
    for _ in range(tensors):
        tensor = cursor.text()
        *shape, frac, signed = cursor.unpack("<3IiB")
        shapes[tensor] = (shape[0], shape[1], shape[2])
        params |= {f"{tensor}_frac": frac, f"{tensor}_signed": bool(signed)}
    decoded: list[Layer] = []
    unmade = iter(list(shapes))
    for _ in range(layers):
        layer = _layer(cursor, list(shapes), unmade, shapes)
        check_layer(layer)
        decoded.append(layer)
        _parameters(cursor, layer, shapes, params, bitwidth)
    if cursor.at != len(data) - 4:
        raise cursor.error("has bytes after its last layer")
    if encode(bitwidth, decoded, params) != data:
        raise cursor.error("differs from the form in which this package writes its network")
    return bitwidth, decoded, params


def _open_pack(data: bytes, name: str) -> tuple[int, int, int]:
    """Return bit width and counts of tensors and layers, once the whole file is known to be one."""
    if data[:8] != MAGIC:
        raise ModelError(f"{name} is not a packed network: its first bytes differ")
    if len(data) < HEADER.size + 4:
        raise ModelError(f"{name} ends within its header")
    _, version, header, size, bitwidth, tensors, layers = HEADER.unpack_from(data)
    if version != VERSION:
        raise ModelError(
            f"{name} has version {version} of the format; this package reads {VERSION}"
        )
    if size != len(data) or header != HEADER.size:
        raise ModelError(f"{name} has {len(data)} bytes, not {size}; it is truncated or altered")
    if zlib.crc32(data[:-4]) != struct.unpack("<I", data[-4:])[0]:
        raise ModelError(f"{name} is damaged: its checksum differs")
    if bitwidth not in (8, 16) or max(tensors, layers) > MOST:
        raise ModelError(f"{name} has {bitwidth} bits, {tensors} tensors and {layers} layers")
    return bitwidth, tensors, layers


def _layer(
    cursor: Cursor, names: Sequence[str], unmade: Iterator[str], shapes: Mapping[str, Shape]
) -> Layer:
    name = cursor.text()
    kind, reads, makes = cursor.unpack("<3B")
    ids = cursor.unpack(f"<{reads}I")
    tops = [top for _, top in zip(range(makes), unmade)]
    if kind >= len(_NAMES) or max(ids, default=-1) >= len(names) or len(tops) < makes:
        raise cursor.error(f"has an unknown type or tensor at layer {name!r}")
    type, own = _NAMES[kind], {}
    for key, count in TYPES[type].items():
        own[key] = _attribute(key, cursor.unpack(f"<{count}i"))
    if type == "Input" and tops:
        own["dim"] = (1, *shapes[tops[0]])
    if type == "Slice":
        own["slice_point"] = np.cumsum([shapes[top][0] for top in tops])[:-1].tolist()
    return Layer(type, name, _names([names[index] for index in ids]), _names(tops), **own)


def _names(names: list[str]) -> Any:
    return names if len(names) > 1 else names[0] if names else None


def _attribute(key: str, values: tuple[int, ...]) -> Any:
    if key == "negative_slope":
        return values[0] / 64
    if key == "pool":
        return POOLS[values[0]] if values[0] in (0, 1) else str(values[0])
    return values if len(values) > 1 else values[0]


def _parameters(
    cursor: Cursor,
    layer: Layer,
    shapes: Mapping[str, Shape],
    params: dict[str, Any],
    bits: int,
) -> None:
    """Skip a table; read weights and biases into the parameters."""
    if layer.type in TABLED:
        entries = (LOG_ENTRIES if layer.type == "LogSoftmax" else CODES)[f"s{bits}"]
        cursor.array(entries, f"<i{bits // 8}")
    for role, there in (("weight", layer.type in WEIGHTED), ("bias", has_bias(layer))):
        if not there:
            continue
        fracs = cursor.array(cursor.unpack("<I")[0], "<i4").astype(np.int64)
        values = cursor.array(cursor.unpack("<I")[0], f"<i{bits // 8}")
        if role == "weight" and layer.type in ("InnerProduct", "Convolution"):
            shape = _weight_shape(layer, shapes)
            if min(shape) < 1 or math.prod(shape) != values.size:
                raise cursor.error(f"has {values.size} weights at layer {layer.name!r}")
            values = values.reshape(shape)
        params[f"{layer.name}_quant_{role}"] = values
        params[f"{layer.name}_frac_{role}"] = int(fracs[0]) if fracs.size == 1 else fracs


def _weight_shape(layer: Layer, shapes: Mapping[str, Shape]) -> tuple[int, ...]:
    """Return [out, channels, height, width] of a Convolution's or InnerProduct's weights."""
    own, (channels, height, width) = layer.attributes(), shapes[layer.bottoms[0]]
    if layer.type == "InnerProduct":
        return (own["num_output"], channels, height, width)
    depth = channels // own["group"] if own["group"] > 0 else 0
    return (own["num_output"], depth, *own["kernel_size"])
