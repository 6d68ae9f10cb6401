"""Reading of results that a self-test printed, from the log of a terminal.

A self-test that is built with -DQN_DUMP prints each result in lines of hexadecimal bytes, and a
check of all of them:

    DATA x0/conv1 32 0003f7ff...
    CRC x0/conv1 size=512 crc32=8d2c01aa
"""

from __future__ import annotations

import re
import zlib
from pathlib import Path

from ..errors import Error
from ..io import files
from ..io.files import MEGABYTE, read_bytes
from .text_dumps import decode_text

_DATA = re.compile(r"\bDATA ([A-Za-z0-9_/]+) (\d{1,10}) ((?:[0-9a-f]{8})+)\s*$")
_CHECK = re.compile(r"\bCRC ([A-Za-z0-9_/]+) size=(\d{1,10}) crc32=([0-9a-f]{8})\s*$")

#: Most bytes of a log.
_LIMIT = 512 * MEGABYTE


def read_log(path: Path) -> dict[str, bytes]:
    """Return the results in a log, by the names of their goldens.

    A result that was printed again replaces the former. Raises Error if the file cannot be read,
    has no results, or lost some of their bytes.
    """
    try:
        files.check_regular(path)
        text = decode_text(read_bytes(path, _LIMIT))
    except OSError as error:
        raise Error(f"cannot read {path}: {files.get_reason(error)}") from None
    parts: dict[str, bytearray] = {}
    found: dict[str, bytes] = {}
    for number, line in enumerate(text.splitlines(), 1):
        data, check = _DATA.search(line), _CHECK.search(line)
        if data:
            name, offset, digits = data.groups()
            held = parts.setdefault(name, bytearray())
            if int(offset) != len(held):
                raise _make_loss_error(path, number, name)
            held += bytes.fromhex(digits)
        elif check:
            name, size, crc = check.groups()
            content = bytes(parts.pop(name, b""))[: int(size)]
            if len(content) != int(size) or zlib.crc32(content) != int(crc, 16):
                raise _make_loss_error(path, number, name)
            found[name] = content
    if not found:
        raise Error(
            f"{path} has no results of a self-test: build it with -DQN_DUMP (make DUMP=1), "
            "or name a folder of dumps, files with the names of goldens; a single dump is "
            "compared with the file of its golden, such as goldens/x0/conv1.npy"
        )
    return found


def _make_loss_error(path: Path, line: int, name: str) -> Error:
    return Error(
        f"{path}, line {line}: bytes of {name} are missing or changed: the terminal lost some; "
        "use a lower speed, or flow control by hardware"
    )
