"""The same network on every other device that can run it."""

from __future__ import annotations

import warnings
from contextlib import suppress

from ..errors import DeviceWarning, Error
from ..ir.graph import Graph
from ..targets import Profile, all_profiles
from .session import Session


def rivals(graph: Graph, wanted: Profile) -> dict[Profile, Session]:
    """A session for every profile but the wanted one that can run this network."""
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeviceWarning)
        for other in all_profiles():
            if other != wanted:
                with suppress(Error):
                    found[other] = Session(graph, other)
    return found
