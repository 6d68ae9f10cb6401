"""Weights in the orders in which ESP-DL's kernels read them.

The file has the shape [height, width, in, out] whatever the order is. Generic C reads the channels
of the output one after the other. The ESP32-S3 and P4 read blocks of 16 channels of int8, or 8 of
int16, next to each other; the rest of the channels is in the order of generic C.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Optional

import numpy as np

from ...errors import ModelError
from ...ir.builds import ESP_DL_CHIPS, UNKNOWN_CHIP
from .model import EspConstant

#: Channels of a block.
BLOCK = {"int8": 16, "int16": 8}

#: Target of the exporter -> true if weights are in blocks.
_TARGETS = {
    **dict.fromkeys(("c", "esp32", "esp32s2", "esp32c3", "esp32c6"), False),
    **dict.fromkeys(("esp32s3", "esp32p4"), True),
}

#: Names of both orders.
ORDERS = {True: "of the ESP32-S3 and ESP32-P4", False: "of generic C"}


def are_in_blocks(
    target: Optional[str], asked: Optional[str], constants: Iterable[EspConstant]
) -> Optional[bool]:
    """True if the weights of a file are in blocks, False if not, None if nothing tells.

    target: that the file names. asked: the target that the caller names. Raises ModelError for
    an unknown target, or if the file contradicts itself or the caller.
    """
    said = {}
    for name, value in (("the file says target", target), ("target=", asked)):
        if value is not None:
            if value not in _TARGETS:
                raise ModelError(
                    f"{name} {value[:40]!r}, which is not supported; have: {', '.join(_TARGETS)}"
                )
            said[f"{name} {value!r}"] = _TARGETS[value]
    for constant in constants:
        blocks = _read_label(constant.label)
        if blocks is not None:
            said.setdefault(f"the label of {constant.name[:60]!r}", blocks)
    found = [*said.items()]
    for what, blocks in found[1:]:
        if blocks != found[0][1]:
            raise ModelError(
                f"its weights are in the order {ORDERS[found[0][1]]} by {found[0][0]}, but "
                f"{ORDERS[blocks]} by {what}; export it again"
            )
    return found[0][1] if found else None


def find_chip(
    target: Optional[str], blocks: Optional[bool], constants: Iterable[EspConstant]
) -> int:
    """Return the position in builds.ESP_DL_CHIPS of the chip of a file: its target; the ESP32-P4
    if weights have an exponent for each channel, which no other chip has kernels for; generic C if
    weights are in its order; UNKNOWN_CHIP if nothing tells.
    """
    if target in ESP_DL_CHIPS:
        return ESP_DL_CHIPS.index(target)
    if blocks and any(len(each.exponents) > 1 for each in constants):
        return ESP_DL_CHIPS.index("esp32p4")
    return UNKNOWN_CHIP if blocks or (target is None and blocks is None) else 0


def needs_blocks(chip: str) -> bool:
    """True if the kernels of a chip read weights in blocks."""
    return _TARGETS[chip]


def _read_label(label: str) -> Optional[bool]:
    """Return the order that the exporter's label of a tensor names."""
    order = label.rpartition("==>")[2].strip().removesuffix("_UNALIGNED")
    if order in ("NHWC", "NWC"):
        return False
    blocks = ("(N/16)HWC16", "(N/16)WC16", "(N/8)HWC8", "(N/8)WC8", "N16HWC16", "N8HWC8")
    return True if order in blocks else None


def unpack_filters(constant: EspConstant, blocks: Optional[bool]) -> np.ndarray:
    """Return weights [out, height, width, in] of a tensor [height, width, in, out]."""
    h, w, c, out = constant.shape
    if not _has_blocks(constant, out, blocks):
        return constant.data.reshape(out, h, w, c)
    width = BLOCK[constant.dtype]
    whole = out // width * width
    head = constant.data[: whole * h * w * c].reshape(out // width, h, w, c, width)
    head = head.transpose(0, 4, 1, 2, 3).reshape(whole, h, w, c)
    rest = constant.data[whole * h * w * c :].reshape(out - whole, h, w, c)
    return np.concatenate([head, rest])


def unpack_depthwise(constant: EspConstant, blocks: Optional[bool]) -> np.ndarray:
    """Return weights [height, width, out] of a tensor [height, width, out, 1]."""
    h, w, out, _ = constant.shape
    if not _has_blocks(constant, out, blocks):
        return constant.data.reshape(h, w, out)
    width = BLOCK[constant.dtype]
    whole = out // width * width
    head = constant.data[: whole * h * w].reshape(out // width, h, w, width)
    head = head.transpose(1, 2, 0, 3).reshape(h, w, whole)
    rest = constant.data[whole * h * w :].reshape(h, w, out - whole)
    return np.concatenate([head, rest], axis=2)


def _has_blocks(constant: EspConstant, out: int, blocks: Optional[bool]) -> bool:
    """True if some channels of a tensor are in blocks.

    Raises ModelError if that decides about the weights and nothing tells.
    """
    width = BLOCK.get(constant.dtype)
    if width is None:
        raise ModelError(f"its weights {constant} must be int8 or int16")
    inner = math.prod(constant.shape) // max(out, 1)
    if out < width or inner <= 1:
        return False  # both orders are the same
    if blocks is None:
        raise ModelError(
            f"the weights {constant} have no label, and the file names no target; name the "
            "chip that it was exported for, such as load(path, target='esp32s3') or "
            "target='c'"
        )
    return blocks
