"""Header of a report: files of the network and the data, and costs."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any, Union

from ..errors import Error
from ..targets import Target
from .estimate import estimate
from .golden import describe
from .network import Network


def costs(network: Network, target: Union[str, Target]) -> dict[str, Any]:
    """Return the costs of a Report, and its charts of cycles and of the arena; none that are
    unknown on the device.
    """
    found: dict[str, Any] = {}
    with suppress(Error):
        summary = describe(network, target)
        names = ("weight_bytes", "activation_bytes", "macs")
        known = {name: summary.facts[name] for name in names}
        found["costs"] = {name: value for name, value in known.items() if isinstance(value, int)}
        found["memory"] = summary.memory
    with suppress(Error):
        found["cycles"] = estimate(network, target).charts()[0]
    return found


def file_name(given: Any) -> str:
    """Return the name of a file or folder that a caller gives; "" for what is in memory."""
    return Path(given).name if isinstance(given, (str, Path)) else ""
