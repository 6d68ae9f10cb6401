"""The kernel table in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..kernels.table import Row
from ..targets import Profile, all_profiles, roundings
from .table import Table, verdict

_COLUMNS = ("op", "type", "variant", "kind", "profiles", "cpu", "runs_here")


def make_kernel_table(rows: Iterable[Row]) -> Table:
    """Return a line for each row, in the order of the list: best first."""
    return Table(
        _COLUMNS,
        tuple(
            (
                row.op.name,
                row.op.type,
                row.variant,
                row.kind,
                describe_profiles(row),
                " ".join(row.features) or "any",
                verdict(row.runs_here()),
            )
            for row in rows
        ),
    )


def describe_profiles(row: Row) -> str:
    """Return the claimed profiles of a row in words; see spell_profiles()."""
    return spell_profiles([profile for profile in all_profiles() if row.claims(profile)])


def spell_profiles(profiles: Sequence[Profile]) -> str:
    """Return profiles in words: "all", or releases with core paths: "5.6.0: dsp; 5.9.0: mve, dsp".

    The roundings follow a path that has only some of them: "dsp (truncate)".
    """
    if list(profiles) == all_profiles():
        return "all"
    releases: dict[str, dict[str, list[str]]] = {}
    for profile in profiles:
        paths = releases.setdefault(profile.cmsis, {})
        paths.setdefault(profile.path, []).append(profile.rounding)
    whole = {cmsis: [p for p in all_profiles() if p.cmsis == cmsis] for cmsis in releases}
    return "; ".join(
        cmsis
        if set(whole[cmsis]) <= set(profiles)
        else f"{cmsis}: {', '.join(_describe_path(*item, cmsis) for item in paths.items())}"
        for cmsis, paths in releases.items()
    )


def _describe_path(path: str, claimed: list[str], cmsis: str) -> str:
    return path if len(claimed) == len(roundings(cmsis)[:2]) else f"{path} ({', '.join(claimed)})"
