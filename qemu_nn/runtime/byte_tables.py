"""Bytes through tables, in C."""

from __future__ import annotations

import numpy as np

from .._native import ffi, lib


def look_up(x: np.ndarray, tables: np.ndarray) -> np.ndarray:
    """Return tables[c, x[..., c]] for bytes x, uint8 [..., C], and tables of bytes, [C, 256]."""
    x, tables = np.ascontiguousarray(x), np.ascontiguousarray(tables)
    channels = len(tables)
    assert x.dtype == np.uint8
    assert tables.itemsize == 1
    assert tables.shape[1:] == (256,)
    assert x.size % channels == 0
    out = np.empty(x.shape, tables.dtype)
    if out.size:
        arrays = [ffi.from_buffer("uint8_t[]", each) for each in (out, x, tables)]
        lib.qn_look_up(*arrays, x.size // channels, channels)
    return out
