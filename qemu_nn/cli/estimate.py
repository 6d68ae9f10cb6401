"""`qemu-nn info --cycles`: how long a network takes on a device."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Callable, Optional

import click

from ..analysis.estimate import Estimate
from ..api.network import Network
from ..errors import Error
from ..targets import Target
from .options import is_given

_OPTIONS = ("board", "clock", "optimization", "float_abi")


def cycles(verb: Callable[..., None]) -> Callable[..., None]:
    """Return the options that ask for instructions, cycles and milliseconds."""
    for name, kind, default, text in (
        ("--float-abi", str, "hard", "hard or soft."),
        ("--optimization", str, "-O3", "-O2, -O3, -Os or -Ofast."),
        ("--clock", float, None, "MHz, where it is not the board's."),
        ("--board", str, None, "a board, whose core is then the target, such as nucleo-l4r5zi."),
    ):
        verb = click.option(
            name, type=kind, default=default, show_default=True, help=f"With --cycles: {text}"
        )(verb)
    return click.option(
        "--cycles", is_flag=True, help="Estimate instructions, cycles and time of each layer."
    )(verb)


def asked(ctx: click.Context, names: dict[str, Any]) -> Optional[dict[str, Any]]:
    """Return the options of cycles(), taken out of all; None where no estimate is wanted."""
    wanted, how = names.pop("cycles"), {name: names.pop(name) for name in _OPTIONS}
    named = [name for name in how if is_given(ctx, name)]
    if named and not wanted:
        raise Error(f"--{named[0].replace('_', '-')} needs --cycles: add it")
    return how if wanted else None


def estimated(
    ctx: click.Context, network: Network, how: dict[str, Any], target: Target
) -> Estimate:
    """Return how long a network takes; how: the options of cycles()."""
    from ..api.estimate import estimate
    from ..cycles.boards import get_board

    if how["board"] and not (is_given(ctx, "target") or is_given(ctx, "fit")):
        target = replace(target, device=get_board(how["board"]).core)
    return estimate(network, target, **how)
