"""Tries narrower ranges, format by format, on the exact integer network: what scores best stays."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Callable, Optional

from ..errors import Error, ModelError
from ..io import files
from ..io.typed_json import parse_json
from ..runtime.cluster import open_compute
from .assign import ROLES

#: A format that is tried: the layer, its role, and the fraction bits it starts from.
Variable = tuple[str, str, int]
#: Layer -> role -> fraction bits, as assign_formats() takes them.
Given = dict[str, dict[str, int]]

#: Number of decisions per variable.
_ROUNDS = 2

_STATE_LIMIT = 16 * files.MEGABYTE


@dataclass(frozen=True, order=True)
class Score:
    """Score of a network: accuracy first (0 without labels), then -error.

    closeness: minus the error of the scores against the float network's, relative to these and
    averaged over samples, so that each counts alike.
    """

    accuracy: float
    closeness: float


@dataclass(frozen=True)
class Search:
    """Options of the search.

    span: the most integer bits that a format loses. goal: the float network's accuracy; the search
    ends at most `tolerance` below it, or tries everything if it is None. threads: candidates that
    are computed at a time; client: of dask, to compute them there. resume: a file that keeps the
    decisions; key: what they are for.
    """

    span: int = 3
    tolerance: float = 0.0
    goal: Optional[float] = None
    threads: int = 1
    client: Any = None
    resume: Optional[Path] = None
    key: str = ""


def search(
    variables: Sequence[Variable],
    given: Mapping[str, Mapping[str, int]],
    score: Callable[[Given], Score],
    how: Search,
    progress: Callable[[Iterable[Variable]], Iterable[Variable]] = iter,
) -> Given:
    """Return `given` with the formats that score better than the policy's formats.

    score: the network's score with these formats; it raises Error where no device has them.
    Each variable is decided in order, with the others as they are; then all once more, because a
    narrow range may help only when its neighbours are narrow too.
    """
    chosen, done = _resume_search(how, {name: dict(roles) for name, roles in given.items()})
    best = score(chosen)
    turns = [*variables] * _ROUNDS
    with open_compute(partial(_score_formats, score), how.client, how.threads) as compute:
        for name, role, start in progress(turns[done:]):
            if how.goal is not None and best.accuracy >= how.goal - how.tolerance:
                break
            now = chosen.get(name, {}).get(role, start)
            others = [frac for frac in range(start, start + how.span + 1) if frac != now]
            trials = [_replace_formats(chosen, name, role, frac) for frac in others]
            for number, reached in sorted(compute(trials)):
                if reached is not None and reached > best:
                    best, chosen = reached, trials[number]
            done += 1
            _keep(how, chosen, done)
    return chosen


def _score_formats(score: Callable[[Given], Score], trial: Given) -> Optional[Score]:
    try:
        return score(trial)
    except Error:  # no device has these formats
        return None


def _replace_formats(given: Given, name: str, role: str, frac: int) -> Given:
    return {**given, name: {**given.get(name, {}), role: frac}}


def _keep(how: Search, chosen: Given, done: int) -> None:
    if how.resume is not None:
        document = {"key": how.key, "done": done, "formats": chosen}
        files.write_bytes(how.resume, json.dumps(document, indent=1).encode("ascii"))


def _resume_search(how: Search, given: Given) -> tuple[Given, int]:
    """Return the decisions of an interrupted search, and how many there are."""
    if how.resume is None or not how.resume.exists():
        return given, 0
    fields = parse_json(files.read_bytes(how.resume, _STATE_LIMIT), str(how.resume))
    if fields.text("key") != how.key:
        raise ModelError(
            f"{how.resume} belongs to a search with another network, data or options; remove it "
            "or name another file"
        )
    formats: Given = {
        name: {role: roles.integer(role) for role in ROLES if role in roles}
        for name, roles in fields.object("formats").children()
    }
    return formats, max(0, fields.integer("done"))
