"""Declares the extension modules: qemu_nn._native, the C core with cffi, and qemu_nn._runner, which
runs plans. Both use the stable ABI; csrc/sdk and csrc/wasm are not part of them.
"""

import os
import sys
from pathlib import Path
from sysconfig import get_config_var

import numpy as np
from cffi import FFI
from setuptools import Extension

ROOT = Path(__file__).resolve().parent.parent
CSRC = Path("csrc")
INTERFACE = CSRC / "include"


def _declarations() -> str:
    """Return the interface without preprocessor lines: the same text is the C header and the cffi
    cdef.
    """
    families = ("", "_s", "_e", "_f", "_movement", "_signal", "_ethosu")
    parts = (*(f"qn_params{family}.h" for family in families), "qn.h")
    text = "\n".join((ROOT / INTERFACE / part).read_text(encoding="utf-8") for part in parts)
    lines = text.splitlines()
    return "\n".join(line for line in lines if not line.startswith("#"))


def _relative(pattern: str) -> list[str]:
    found = (ROOT / CSRC).rglob(pattern)
    apart = ("sdk", "wasm")  # built for applications, and for browsers
    return sorted(p.relative_to(ROOT).as_posix() for p in found if p.parent.name not in apart)


def _compile_args() -> list[str]:
    """Return what the product is compiled with; an optimization or debug option in CFLAGS goes
    before.
    """
    if os.name == "nt":
        return ["/O2", "/std:c11", "/experimental:c11atomics"]
    own = os.environ.get("CFLAGS", "").split()
    optimize = [] if any(flag.startswith("-O") for flag in own) else ["-O3"]
    strict = ["-std=c11", "-ffp-contract=off"]  # a*b + c is rounded twice, on every host
    small = ["-fvisibility=hidden", "-ffunction-sections", *([] if _debug() else ["-g0"])]
    small.append("-fno-asynchronous-unwind-tables")  # 2 % of a wheel; no code unwinds
    return [*optimize, *strict, *small, "-pthread"]


def _link_args() -> list[str]:
    """Return linker options.

    On Linux functions are sorted by name: the compression of wheels looks back 32 KiB, and similar
    functions closer together save 5 % of the wheel.
    """
    if os.name == "nt":
        return []
    by_name = ["-Wl,--sort-section=name"] if sys.platform.startswith("linux") else []
    strip = ["-Wl,-s"] if sys.platform.startswith("linux") and not _debug() else []
    return ["-pthread", *by_name, *strip]


def _debug() -> bool:
    """True if the CFLAGS of this build ask for debug information."""
    return any(flag.startswith("-g") for flag in os.environ.get("CFLAGS", "").split())


builder = FFI()
builder.cdef(_declarations())
builder.cdef('extern "Python" int32_t qn_python_stops(void);')
builder.set_source(
    "qemu_nn._native",
    '#include "qn.h"',
    sources=_relative("*.c"),
    depends=_relative("*.h") + _relative("*.inc"),
    include_dirs=[INTERFACE.as_posix()],
    extra_compile_args=_compile_args(),
    extra_link_args=_link_args(),
)

_STABLE_ABI = not get_config_var("Py_GIL_DISABLED")  # free-threaded Pythons have none

runner = Extension(
    "qemu_nn._runner",
    sources=["qemu_nn/runtime/runner.c"],
    depends=[path for path in _relative("*.h") if path.startswith(INTERFACE.as_posix())],
    include_dirs=[INTERFACE.as_posix(), np.get_include()],
    define_macros=[("Py_LIMITED_API", "0x03090000")] if _STABLE_ABI else [],
    extra_compile_args=_compile_args(),
    extra_link_args=_link_args(),
    py_limited_api=_STABLE_ABI,
)
