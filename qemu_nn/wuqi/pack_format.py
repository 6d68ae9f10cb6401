"""Encoding of a packed network: layers and fixed-point parameters, as in docs/npu_pack.md."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import ModelError
from .as_fixed import make_fixed_graph
from .layers import WEIGHTED, Layer, get_tensor_name_list, has_bias
from .shapes import Shape, infer_feature_shapes

MAGIC, VERSION = b"NPUPACK\x1a", 1
HEADER = struct.Struct("<8s6I")

#: Most tensors, most layers and most feature bytes of a pack, and the largest fraction.
MOST, FEATURE_BYTES, LARGEST_FRAC = 65535, 2**28, 1024

#: Layer type, in the order of the numbers in the file -> its attributes there, and the number of
#: integers of each.
TYPES: dict[str, dict[str, int]] = {
    "Input": {},
    "Sigmoid": {},
    "ReLU": {"negative_slope": 1},
    "ReLU6": {},
    "TanH": {},
    "InnerProduct": {"num_output": 1, "bias_term": 1},
    "Convolution": {
        "num_output": 1,
        "kernel_size": 2,
        "stride": 2,
        "pad": 4,
        "dilation": 2,
        "group": 1,
        "bias_term": 1,
    },
    "Pooling": {"kernel_size": 2, "stride": 2, "pad": 4, "dilation": 2, "pool": 1},
    "BatchNorm": {},
    "Bias": {},
    "Scale": {"bias_term": 1},
    "Slice": {},
    "Concat": {},
    "Eltwise": {},
    "LogSoftmax": {},
    "ShuffleChannel": {"group": 1},
    "ScaleByTensor": {},
}
_NAMES = list(TYPES)
POOLS = ["MAX", "AVE"]
TABLED = ("Sigmoid", "TanH", "LogSoftmax")


def encode(bitwidth: int, layers: Sequence[Layer], params: Mapping[str, Any]) -> bytes:
    """Encode a network as the bytes of its pack. Raises ModelError for networks that do not run on
    the NPU.
    """
    graph = make_fixed_graph(layers, params, bitwidth)
    shapes = infer_feature_shapes(layers)
    names = get_tensor_name_list(layers, feature_only=True)
    _check(bitwidth, layers, params, shapes)
    parts: list[Any] = [_tensor(name, shapes[name], params) for name in names]
    for layer in layers:
        parts.append(_head(layer, names))
        if layer.type in TABLED:
            parts.append(graph.arrays[f"{layer.tops[0]}_weights"].astype(f"<i{bitwidth // 8}"))
        if layer.type in WEIGHTED:
            parts += _array(params, layer.name, "weight", bitwidth)
        if has_bias(layer):
            parts += _array(params, layer.name, "bias", bitwidth)
    body = b"".join(part if isinstance(part, bytes) else part.tobytes() for part in parts)
    total = HEADER.size + len(body) + 4
    head = HEADER.pack(MAGIC, VERSION, HEADER.size, total, bitwidth, len(names), len(layers))
    return head + body + struct.pack("<I", zlib.crc32(head + body))


def _check(
    bitwidth: int, layers: Sequence[Layer], params: Mapping[str, Any], shapes: Mapping[str, Shape]
) -> None:
    """Raise ModelError for networks that the file format cannot represent."""
    tops, names = list(shapes), [layer.name for layer in layers]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ModelError(f"two layers are called {twice!r}; names must be unique")
    if len(tops) > MOST:
        raise ModelError(f"the network has {len(tops)} tensors; a pack has {MOST} at most")
    size = sum(c * h * w for c, h, w in shapes.values()) * bitwidth // 8
    if size > FEATURE_BYTES:
        raise ModelError(f"the features have {size} bytes; a pack has {FEATURE_BYTES} at most")
    for name in tops[1:]:
        if not params.get(f"{name}_signed", True):
            raise ModelError(
                f"tensor {name!r} is unsigned, but only the network's input can be unsigned"
            )


def _text(name: str) -> bytes:
    data = name.encode("utf-8", "replace")
    if not 1 <= len(data) <= 255 or "\0" in name or data.decode("utf-8") != name:
        raise ModelError(f"the name {name[:40]!r} must be 1 to 255 bytes of UTF-8 without zeros")
    return bytes([len(data)]) + data


def _encode_fraction(value: int, of: str) -> int:
    if not -LARGEST_FRAC <= value <= LARGEST_FRAC:
        raise ModelError(
            f"{of} has {value} fraction bits; they must be -{LARGEST_FRAC}..{LARGEST_FRAC}"
        )
    return value


def _tensor(name: str, shape: Shape, params: Mapping[str, Any]) -> bytes:
    frac = _encode_fraction(int(params[f"{name}_frac"]), name)
    signed = bool(params.get(f"{name}_signed", True))
    return _text(name) + struct.pack("<3IiB", *shape, frac, signed)


def _head(layer: Layer, names: Sequence[str]) -> bytes:
    """Return name, type, tensors and attributes of a layer; its tops are the next tensors."""
    if max(len(layer.bottoms), len(layer.tops)) > 255:
        raise ModelError(
            f"layer {layer.name!r} has more than 255 inputs or outputs, the most of a pack"
        )
    ids = [names.index(name) for name in layer.bottoms]
    counts = [_NAMES.index(layer.type), len(ids), len(layer.tops)]
    own = [number for key in TYPES[layer.type] for number in _integers(layer, key)]
    packed = struct.pack(f"<3B{len(ids)}I", *counts, *ids)
    try:
        return _text(layer.name) + packed + struct.pack(f"<{len(own)}i", *own)
    except struct.error:
        raise ModelError(
            f"layer {layer.name!r} has an attribute that does not fit into 32 bits"
        ) from None


def _integers(layer: Layer, key: str) -> list[int]:
    value = getattr(layer, key)
    if key == "negative_slope":
        return [round(value * 64)]
    if key == "pool":
        return [POOLS.index(value)]
    return [int(item) for item in (value if isinstance(value, tuple) else (value,))]


def _array(params: Mapping[str, Any], layer: str, role: str, bits: int) -> Iterator[Any]:
    fracs = np.asarray(params[f"{layer}_frac_{role}"]).ravel().tolist()
    yield struct.pack("<I", len(fracs))
    yield np.array([_encode_fraction(frac, f"the {role} of {layer}") for frac in fracs], "<i4")
    values = np.asarray(params[f"{layer}_quant_{role}"])
    yield struct.pack("<I", values.size)
    yield np.ascontiguousarray(values, f"<i{bits // 8}")
