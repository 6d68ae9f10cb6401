"""The WebAssembly core of pages: a file of the package, which wheels have."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path
from typing import Optional

from ...errors import Error
from ...io.optional_deps import format_install_command

#: The core.
CORE = Path(__file__).with_name("core.wasm")

_ROOT = Path(__file__).resolve().parents[3]

#: The sources of a clone; None in an installation.
SOURCES: Optional[Path] = _ROOT / "csrc" if (_ROOT / "csrc" / "wasm").is_dir() else None

_HOW = (
    f"{format_install_command('page')} and python -m qemu_nn.exporters.page.build in a clone of "
    "qemu_nn"
)


@functools.cache
def read_core() -> bytes:
    """Return the core.

    Raises Error if this installation has none, or one of other sources than the clone's.
    """
    try:
        core = CORE.read_bytes()
    except FileNotFoundError:
        raise Error(f"this installation has no WebAssembly core: {_HOW}") from None
    if SOURCES is not None and not core.endswith(bytes.fromhex(digest_sources())):
        raise Error(f"the WebAssembly core is of other sources than csrc: {_HOW}")
    return core


def digest_sources() -> str:
    """Return a digest of all C sources of the clone."""
    assert SOURCES is not None
    digest = hashlib.sha256()
    for path in sorted(SOURCES.rglob("*")):
        if path.suffix in (".c", ".h", ".inc"):
            digest.update(f"{path.relative_to(SOURCES).as_posix()}\0".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()
