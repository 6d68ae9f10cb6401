"""Variables of a SavedModel: TensorFlow's checkpoint, an index in LevelDB's form and its data."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

import numpy as np

from ...errors import ModelError
from ...io import files
from ...io.crc32c import masked_crc32c
from . import tensors
from .reading import decode
from .schema import parse

_MOST_INDEX_BYTES = 64 * files.MEGABYTE
_FOOTER, _MAGIC = 48, 0xDB4775248B80FB57
_TRAILER = 5  # of a block: its compression, and the checksum of block and compression
_SNAPPY = 1
#: The key of a string that describes the saved objects; a checksum of its length precedes it.
_OBJECTS, _CHECKSUM = "_CHECKPOINTABLE_OBJECT_GRAPH", 4
#: Most bytes that a block may have after decompression, and most entries of an index.
_MOST_BLOCK_BYTES, _MOST_ENTRIES = 16 * files.MEGABYTE, 1_000_000


@dataclass(frozen=True)
class Bundle:
    """A checkpoint: its path without an ending, its entries by key, and its number of files."""

    path: Path
    entries: Mapping[bytes, bytes]
    shards: int

    def data_bytes(self) -> int:
        """Return the bytes of all files of arrays."""
        found = self.path.parent.glob(f"{self.path.name}.data-*")
        return sum(path.stat().st_size for path in found if path.is_file())

    def read(self, key: str) -> np.ndarray:
        """Return the array of a variable; raise ModelError if it is missing or damaged."""
        where, entry = f"the variable {key!r}", self._entry(key)
        if entry.slices:
            raise ModelError(f"{where} is stored in slices; save the model without partitions")
        try:
            dtype, shape = tensors.stored_type(entry.dtype), tensors.dims(entry.shape)
        except ModelError as error:
            raise ModelError(f"{where}: {error}") from None
        if min(shape, default=0) < 0 or entry.size != math.prod(shape) * dtype.itemsize:
            raise ModelError(f"{where} {list(shape)} of {dtype} cannot have {entry.size} bytes")
        data = self._read_bytes(entry, where)
        if masked_crc32c(data) != entry.crc32c:
            raise ModelError(f"{where} is damaged: its checksum does not match")
        return tensors.widen(np.frombuffer(data, dtype).reshape(shape), entry.dtype)

    def find_keys(self) -> dict[str, str]:
        """Return name of a variable -> key, from the description of objects if there is one.

        Names of several variables are left out.
        """
        if _OBJECTS.encode() not in self.entries:
            return {}
        data = self._read_bytes(self._entry(_OBJECTS), "the description of objects")
        length, at = _read_varint(data, 0)
        content = data[at + _CHECKSUM :]
        if len(content) != length:
            raise ModelError(
                "the length of the description of objects differs from its declaration"
            )
        found: dict[str, set[str]] = {}
        for node in parse("Objects", content).nodes:
            for attribute in parse("Object", node).attributes:
                stored = parse("Stored", attribute)
                keys = found.setdefault(decode(stored.full_name), set())
                keys.add(decode(stored.checkpoint_key))
        return {name: keys.pop() for name, keys in found.items() if len(keys) == 1}

    def _entry(self, key: str) -> Any:
        if key.encode() not in self.entries:
            raise ModelError(f"the variable {key!r} is not in {self.path.name}.index")
        return parse("BundleEntry", self.entries[key.encode()])

    def _read_bytes(self, entry: Any, where: str) -> bytes:
        name = f"{self.path.name}.data-{entry.shard_id:05d}-of-{self.shards:05d}"
        path = self.path.with_name(name)
        try:
            with files.open_regular(path) as stream:
                end = entry.offset + entry.size
                if min(entry.offset, entry.size) < 0 or end > path.stat().st_size:
                    raise ModelError(f"{where} is outside of {name}")
                stream.seek(entry.offset)
                return stream.read(entry.size)
        except OSError as error:
            raise ModelError(f"cannot read {path}: {files.get_reason(error)}") from None


def read_bundle(path: Path) -> Bundle:
    """Return the checkpoint of a path without an ending; raise ModelError if it is damaged."""
    index = path.with_name(f"{path.name}.index")
    data = files.read_bytes(index, _MOST_INDEX_BYTES)
    try:
        entries = _read_table(data)
        header = parse("BundleHeader", entries.pop(b"", b""))
    except (ModelError, struct.error, IndexError) as error:
        raise ModelError(
            f"{index.name} is damaged or not the index of a checkpoint: {error}"
        ) from None
    if header.endianness:
        raise ModelError(
            f"{index.name} was written on a big-endian computer, which is not supported"
        )
    return Bundle(path, entries, header.num_shards)


def _read_table(data: bytes) -> dict[bytes, bytes]:
    """Return key -> value of a sorted table as LevelDB writes it."""
    if len(data) < _FOOTER or struct.unpack("<Q", data[-8:])[0] != _MAGIC:
        raise ModelError("its end is not that of a table")
    footer = data[-_FOOTER:]
    _, at = _read_handle(footer, 0)
    index, _ = _read_handle(footer, at)
    found: dict[bytes, bytes] = {}
    for _, value in _iterate_block(_read_block(data, index)):
        handle, _ = _read_handle(value, 0)
        for key, each in _iterate_block(_read_block(data, handle)):
            found[key] = each
            if len(found) > _MOST_ENTRIES:
                raise ModelError(f"it has more than {_MOST_ENTRIES} entries")
    return found


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    """Return a number of up to 64 bits, and the position after it."""
    value = 0
    for shift in range(0, 64, 7):
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
    raise ModelError("it has a number of more than 64 bits")


def _read_handle(data: bytes, at: int) -> tuple[tuple[int, int], int]:
    """Return offset and size of a block, and the position after them."""
    offset, at = _read_varint(data, at)
    size, at = _read_varint(data, at)
    return (offset, size), at


def _read_block(data: bytes, handle: tuple[int, int]) -> bytes:
    """Return a block's content, checked and decompressed."""
    offset, size = handle
    end = offset + size
    if end + _TRAILER > len(data):
        raise ModelError("a block is outside of the file")
    (crc,) = struct.unpack("<I", data[end + 1 : end + _TRAILER])
    if masked_crc32c(data[offset : end + 1]) != crc:
        raise ModelError("the checksum of a block does not match")
    content, kind = data[offset:end], data[end]
    if kind not in (0, _SNAPPY):
        raise ModelError(f"its compression {kind} is not supported; have: none, snappy")
    return _decompress(content) if kind == _SNAPPY else content


def _iterate_block(block: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the entries of a block; each key repeats the start of the one before."""
    (restarts,) = struct.unpack("<I", block[-4:])
    end, position, key = len(block) - 4 * (restarts + 1), 0, b""
    if end < 0:
        raise ModelError("a block is shorter than its list of keys")
    while position < end:
        shared, position = _read_varint(block, position)
        own, position = _read_varint(block, position)
        size, position = _read_varint(block, position)
        if shared > len(key) or position + own + size > end:
            raise ModelError("an entry is outside of its block")
        key = key[:shared] + block[position : position + own]
        position += own
        yield key, block[position : position + size]
        position += size


def _decompress(data: bytes) -> bytes:
    """Return the content of a block compressed by Snappy."""
    length, at = _read_varint(data, 0)
    if length > _MOST_BLOCK_BYTES:
        raise ModelError(f"a block would have {length} bytes, more than {_MOST_BLOCK_BYTES}")
    made = bytearray()
    while at < len(data) and len(made) <= length:
        size, distance, at = _read_element(data, at)
        if distance is None:
            made += data[at : at + size]
            at += size
            continue
        if not 0 < distance <= len(made):
            raise ModelError("a compressed block copies bytes from before its start")
        for _ in range(size):  # a copy may overlap its own result
            made.append(made[-distance])
    if len(made) != length:
        raise ModelError(f"a compressed block has {len(made)} bytes instead of {length}")
    return bytes(made)


def _read_element(data: bytes, position: int) -> tuple[int, Optional[int], int]:
    """Return the size of a literal or a copy, the distance of a copy, and the position after."""
    tag, position = data[position], position + 1
    kind, upper = tag & 3, tag >> 2
    if kind == 0:
        if upper < 60:
            return upper + 1, None, position
        more = upper - 59
        return int.from_bytes(data[position : position + more], "little") + 1, None, position + more
    if kind == 1:
        return (upper & 7) + 4, (upper >> 3) << 8 | data[position], position + 1
    width = 2 if kind == 2 else 4
    return upper + 1, int.from_bytes(data[position : position + width], "little"), position + width
