"""Turns csrc/, all but sdk/, into the one extension module qemu_nn._native (cffi, abi3)."""

import os
from pathlib import Path

from cffi import FFI

ROOT = Path(__file__).resolve().parent.parent
CSRC = Path("csrc")


def _declarations() -> str:
    """The interface without preprocessor lines: the same text is the C header and the cffi cdef."""
    parts = ("qn_params.h", "qn_params_s.h", "qn.h")
    text = "\n".join((ROOT / CSRC / part).read_text(encoding="utf-8") for part in parts)
    lines = text.splitlines()
    return "\n".join(line for line in lines if not line.startswith("#"))


def _relative(pattern: str) -> list[str]:
    found = (ROOT / CSRC).rglob(pattern)
    return sorted(path.relative_to(ROOT).as_posix() for path in found if path.parent.name != "sdk")


builder = FFI()
builder.cdef(_declarations())
builder.cdef('extern "Python" int32_t qn_python_stops(void);')
builder.set_source(
    "qemu_nn._native",
    '#include "qn.h"',
    sources=_relative("*.c"),
    depends=_relative("*.h") + _relative("*.inc"),
    include_dirs=[CSRC.as_posix()],
    extra_compile_args=["/O2", "/std:c11"] if os.name == "nt" else ["-O3", "-std=c11", "-pthread"],
    extra_link_args=[] if os.name == "nt" else ["-pthread"],
)
