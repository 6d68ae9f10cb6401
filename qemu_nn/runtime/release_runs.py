"""Runs of neighboring states of CMSIS-NN that do the same with a network."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Callable, Optional, TypeVar

from ..errors import DeviceWarning, Error
from ..functions.base import check_release
from ..ir.builds import build_calls
from ..ir.graph import Graph
from ..kernels.table import apply_rules, list_rows
from ..releases import ALL, Release
from ..targets import Profile, roundings

Result = TypeVar("Result", bound=Hashable)


@dataclass(frozen=True)
class StateRun:
    """Neighboring states, the oldest first, and the profile of the newest of them."""

    states: tuple[Release, ...]
    profile: Profile

    def __str__(self) -> str:
        first, last = self.states[0].name, self.states[-1].name
        return first if first == last else f"{first} to {last}"


def remove_name(sentence: str, profile: Profile) -> str:
    """Return a sentence on a release without its name, to compare it with those on others."""
    return sentence.replace(f"CMSIS {profile.cmsis}: ", "").replace(f"CMSIS {profile.cmsis}", "it")


def profile_of_state(state: Release, wanted: Profile) -> Optional[Profile]:
    """Return the wanted profile with another state; None if the state has no such API or core."""
    have = roundings(state.name)
    rounding = wanted.rounding
    if rounding not in have:
        rounding = {"single": "double", "truncate": "nearest"}.get(rounding, rounding)
    if rounding not in have or (wanted.path == "mve" and not state.has_helium):
        return None
    return replace(wanted, cmsis=state.name, rounding=rounding)


def find_runs(
    graph: Graph, wanted: Profile, result_of: Callable[[Profile], Result]
) -> list[tuple[StateRun, Result]]:
    """Return the runs of states with the same result, the oldest first.

    result_of() is called once for states that compute all calls in the same way.
    """
    if wanted.espressif:
        raise Error(
            f"{wanted.path} runs kernels that have no states of CMSIS-NN; choose a "
            "Cortex-M, or leave out --releases"
        )
    known: dict[Hashable, Result] = {}
    found: list[tuple[Release, Profile, Result]] = []
    for state in ALL:
        profile = profile_of_state(state, wanted)
        if profile is None:
            continue
        key = (profile.rounding, *_calls(graph, profile))
        if key not in known:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeviceWarning)
                known[key] = result_of(profile)
        found.append((state, profile, known[key]))
    return list(_group_runs(found))


def _group_runs(
    found: Iterable[tuple[Release, Profile, Result]],
) -> Iterator[tuple[StateRun, Result]]:
    for result, group in groupby(found, lambda each: each[2]):
        members = list(group)
        states = tuple(state for state, _, _ in members)
        yield StateRun(states, members[-1][1]), result


def _calls(graph: Graph, profile: Profile) -> Iterator[Hashable]:
    """Yield what decides the bits of each call: release, path and fields, or why there are none."""
    try:
        graph = build_calls(graph, profile)
    except Error as error:
        yield str(error)
        return
    for node in graph.nodes:
        op = list_rows(node.function.op, node.function.type)[0].op
        try:
            check_release(node.function, profile, in_network=True)
            call = apply_rules(op, profile, node.function.struct_values(node.params))
            yield call.release, call.path, tuple(sorted((call.fields or {}).items()))
        except Error as error:
            yield str(error)
