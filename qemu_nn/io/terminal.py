"""The terminal that a program prints to: its width, and whether it shows colours."""

from __future__ import annotations

import os
import shutil
import sys
from typing import Optional, TextIO


def terminal_width() -> Optional[int]:
    """Return the columns of the terminal that stdout is; None if it is a file or a pipe."""
    return shutil.get_terminal_size().columns if is_terminal(sys.stdout) else None


def has_colours(stream: TextIO) -> bool:
    """True if a stream is a terminal with colours, and NO_COLOR does not forbid them."""
    forbidden = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return is_terminal(stream) and not forbidden


def is_terminal(stream: object) -> bool:
    """True if a stream is a terminal; programs may replace sys.stdout, and close it."""
    isatty = getattr(stream, "isatty", None)
    return isatty is not None and not getattr(stream, "closed", False) and bool(isatty())
