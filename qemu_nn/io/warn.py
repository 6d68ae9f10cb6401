"""Warnings at the line of the program that calls this package."""

from __future__ import annotations

import sys
import warnings


def warn(text: str, kind: type[Warning]) -> None:
    """Warn at the line that called this package; kind: DeviceWarning or InputWarning."""
    package, level, frame = __name__.partition(".")[0], 1, sys._getframe()
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        level, frame = level + 1, frame.f_back
    warnings.warn(text, kind, stacklevel=level)
