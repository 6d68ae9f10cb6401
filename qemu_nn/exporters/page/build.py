"""Builds the WebAssembly core from csrc/: python -m qemu_nn.exporters.page.build, in a clone."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ...errors import Error
from ...io.files import write_bytes
from ...io.optional_deps import require
from .core import CORE, SOURCES, digest_sources

#: Sources of fast rows of processors, of threads, and of applications.
_LEFT_OUT = re.compile(r"_(avx|amx|neon|i8mm)|/(sdk|runtime)/")

_OPTIONS = (
    *("-target", "wasm32-wasi", "-O2", "-g0", "-msimd128", "-std=c11", "-ffp-contract=off"),
    *("-fvisibility=hidden", "-ffunction-sections"),
)
_LINK = ("-mexec-model=reactor", "-Wl,--gc-sections", "-Wl,--strip-all")


def build() -> None:
    """Compile the sources and write the core next to this module.

    Raises Error if the compiler is missing or fails, or this installation has no sources.
    """
    if SOURCES is None:
        raise Error("this installation has no csrc folder: build the core in a clone of qemu_nn")
    require("ziglang", "page", "building the WebAssembly core")
    sources = [p for p in sorted(SOURCES.rglob("*.c")) if not _LEFT_OUT.search(p.as_posix())]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = [f"{folder}/{at}.o" for at in range(len(sources))]
        include = f"-I{SOURCES / 'include'}"
        for done in pool.map(
            lambda pair: _run(*_OPTIONS, include, "-c", str(pair[0]), "-o", pair[1]),
            zip(sources, objects),
        ):
            assert done is None
        module = Path(folder) / "core.wasm"
        _run(*_OPTIONS, *_LINK, *objects, "-o", str(module))
        write_bytes(CORE, module.read_bytes() + _digest_section(digest_sources()))
    print(f"{CORE}: {CORE.stat().st_size:,} bytes")


def _run(*arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "ziglang", "cc", *arguments], capture_output=True, text=True
    )
    if done.returncode:
        raise Error(f"the compiler of ziglang failed: {done.stderr[-2000:]}")


def _digest_section(digest: str) -> bytes:
    """Return a custom section "qn" of a module, which browsers skip; it ends with the digest."""
    content = bytes([2]) + b"qn" + bytes.fromhex(digest)
    return bytes([0, len(content)]) + content


if __name__ == "__main__":
    build()
