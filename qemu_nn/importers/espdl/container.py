"""Containers of ESP-DL: a model in a file of its own, or several in a pack."""

from __future__ import annotations

import hashlib
import struct
from typing import Optional

from ...errors import ModelError
from ...io.arguments import have

#: Bytes before a model: signature, mode of encryption, bytes that follow, zeros.
_HEADER = 16

#: Pack -> the place of its count of models; three numbers for each model follow.
_PACKS = {b"PDL1": 4, b"PDL2": 4, b"PDL3": 56}

#: Places of the size and of the checksum of a PDL3.
_PACK_SIZE, _CHECKSUM = 20, slice(24, 56)

#: Most models of a pack, and characters of a name.
_MODELS, _NAME = 1000, 1000


def open_model(data: bytes, name: Optional[str]) -> bytes:
    """Return the FlatBuffer of a model in the bytes of a file.

    name: that of a model in a pack; None for the only one. Raises ModelError for damage, an
    encrypted model, or a name that is missing or unknown.
    """
    start = data[:4]
    if start in _PACKS:
        return _open_plain(_find_model(data, start, name))
    if name is not None:
        raise ModelError(f"it is no pack of models, but model= is {name!r}; leave model= out")
    return _open_plain(data)


def _open_plain(data: bytes) -> bytes:
    """Return what follows the header of a model."""
    if not data:
        raise ModelError("it is empty: write or download the model again")
    if data[:4] == b"EDL1":
        raise ModelError(
            "it has the form EDL1, whose tensors are not stored in blocks of 16 bytes as those of "
            "EDL2; export the model again with a later esp-ppq"
        )
    if data[:4] != b"EDL2":
        raise ModelError("it is no model of ESP-DL: it begins neither with 'EDL2' nor as a pack")
    if len(data) < _HEADER:
        raise ModelError(f"it is damaged: it has {len(data)} bytes, fewer than its header")
    mode, size = struct.unpack_from("<II", data, 4)
    if mode == 1:
        raise ModelError("it is encrypted (AES-128); export the model without encryption")
    if mode:
        raise ModelError(f"its mode is {mode}; ESP-DL knows 0 (plain) and 1 (encrypted)")
    if not 8 <= size <= len(data) - _HEADER:
        raise ModelError(
            f"it is damaged: its model has {size} bytes, and {len(data) - _HEADER} follow its "
            "header"
        )
    return data[_HEADER : _HEADER + size]


def _find_model(data: bytes, kind: bytes, name: Optional[str]) -> bytes:
    """Return the bytes of a pack from one of its models on."""
    at = _PACKS[kind]
    if len(data) < at + 4:
        raise ModelError(f"it is damaged: a pack of {len(data)} bytes has no list of models")
    (count,) = struct.unpack_from("<I", data, at)
    if not 0 < count <= min(_MODELS, (len(data) - at - 4) // 12):
        raise ModelError(f"it is damaged: its pack has {count} models in {len(data)} bytes")
    if kind == b"PDL3":
        _check_sum(data)
    found: dict[str, int] = {}
    for entry in struct.iter_unpack("<III", data[at + 4 : at + 4 + 12 * count]):
        place, start, length = entry
        if length > _NAME or start + length > len(data) or place >= len(data):
            raise ModelError("it is damaged: a model of its pack is outside the file")
        text = data[start : start + length].rstrip(b"\0").decode(errors="replace")
        found.setdefault(text, place)
    if name is None and len(found) > 1:
        raise ModelError(
            f"it is a pack of {len(found)} models; name one of them by model=; {have(found, None)}"
        )
    if name is not None and name not in found:
        raise ModelError(f"its pack has no model {name!r}; {have(found, name)}")
    return data[found[name] if name is not None else next(iter(found.values())) :]


def _check_sum(data: bytes) -> None:
    """Raise ModelError unless the checksum of a pack is that of its bytes."""
    (size,) = struct.unpack_from("<I", data, _PACK_SIZE)
    if not _CHECKSUM.stop <= size <= len(data):
        raise ModelError(f"it is damaged: its pack has {size} bytes, its file {len(data)}")
    whole = data[: _CHECKSUM.start] + bytes(32) + data[_CHECKSUM.stop : size]
    if hashlib.sha256(whole).digest() != data[_CHECKSUM]:
        raise ModelError("it is damaged: the checksum of its pack does not match")
