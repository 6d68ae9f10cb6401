"""Why a step runs on the row it runs on, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional

from ..kernels.table import CAP, FEATURES, HOST, Row, cpu_features
from ..targets import Profile


def reason(
    row: Row,
    chosen: Row,
    rows: Sequence[Row],
    profile: Profile,
    params: Any,
    variant: Optional[str],
) -> str:
    """Why `row` runs of all `rows` of its op, which stand best first.

    chosen: the planner's choice before it knew the memory. variant: what the user asked for.
    """
    if row != chosen:
        what = "scratch" if row.kind == "model" else "destroyed input"
        return f"the device's {what} is looked at, which {chosen.variant} does not leave"
    if row.variant == variant:
        return "asked for"
    claiming = [each for each in rows if each.claims(profile) and each.kind != "model"]
    if len(claiming) == 1:
        return "the only one"
    better = claiming[: claiming.index(row)]
    passed = "; ".join(f"{each.variant} {_unfit(each, params)}" for each in better)
    return f"the fastest here: {passed}" if passed else "the fastest"


def lacking(calls: Sequence[tuple[Row, Any]], network: str, profile: Profile, variant: str) -> str:
    """Why no call of a network runs on a row of this name, and which names would.

    calls: each row that computes a call of the network, and its parameters.
    """
    have = sorted({row.variant for row, params in calls if row.serves(profile, params)})
    named = [row for row, _ in calls if row.variant == variant and row.claims(profile)]
    absent = [row for row in named if not row.runs_here()]
    if absent:
        needs = " and ".join(absent[0].features)
        why = f"the variant {variant!r} needs {needs}, which this host or {CAP} lacks"
    elif named:
        why = f"the variant {variant!r} takes no layer of {network} in its shape"
    else:
        why = f"no layer of {network} has a variant {variant!r}"
    return f"{why}; have: {', '.join(have)}"


def _unfit(row: Row, params: Any) -> str:
    """Why a row is passed over."""
    missing = row.cpu & ~cpu_features()
    if not missing:
        return "does not take these parameters"
    names = ", ".join(name for name, bit in FEATURES.items() if bit & missing)
    capped = not missing & ~HOST
    return f"is capped by {CAP}" if capped else f"needs {names}"
