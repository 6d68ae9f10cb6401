"""Header of a report: files of the network and the data, and costs."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Union

from ..errors import Error
from ..targets import Target
from .golden import describe
from .network import Network


def costs(network: Network, target: Union[str, Target]) -> dict[str, int]:
    """Return bytes and multiply-accumulates on a device; none where its memory has no plan."""
    try:
        facts = describe(network, target).facts
    except Error:
        return {}
    names = ("weight_bytes", "activation_bytes", "macs")
    return {name: value for name in names if isinstance(value := facts[name], int)}


def file_name(given: Any) -> str:
    """Return the name of a file or folder that a caller gives; "" for what is in memory."""
    return Path(given).name if isinstance(given, (str, Path)) else ""
