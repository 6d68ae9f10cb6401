"""One HTML file with a network, its core and all that the page shows."""

from __future__ import annotations

import base64
import html
import json
import zlib
from collections.abc import Mapping
from datetime import date
from importlib import resources
from typing import Any

from ...errors import printable
from ...io.version import __version__
from .core import read_core


def fill_page(title: str, document: Mapping[str, Any]) -> str:
    """Return the page of a document, which page.js describes; the core is added to it.

    Raises Error if this installation has no core.
    """
    core = base64.b64encode(zlib.compress(read_core(), 9)).decode()
    data = json.dumps({**document, "core": core}, separators=(",", ":")).replace("<", "\\u003c")
    page = _read("page.html")
    for name, text in (
        ("TITLE", html.escape(printable(title))),
        ("MADE", f"qemu_nn {__version__}, {date.today().isoformat()}"),
        ("STYLE", _read("page.css")),
        ("SCRIPT", _read("network.js") + _read("sound.js") + _read("page.js")),
        ("DOCUMENT", data),  # last: no marker in it is replaced
    ):
        page = page.replace(f"@{name}@", text)
    return page


def _read(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text("utf-8")
