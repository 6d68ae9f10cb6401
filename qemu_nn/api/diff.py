"""Says what two networks differ in."""

from __future__ import annotations

from pathlib import Path
from typing import Union

from ..analysis.diff import Change, Diff, iterate_changes
from ..errors import Error
from ..io.stages import announce
from .network import FloatNetwork, Network, known

AnyNetwork = Union[Network, FloatNetwork, str, Path]


def diff(first: AnyNetwork, second: AnyNetwork) -> Diff:
    """Say what two networks differ in: layers, formats, parameters, weights.

    Layers are paired by name, the others in order by what they compute. What the networks are
    called, and what they were quantized from, is no difference.

    Parameters
    ----------
    first, second : Network, FloatNetwork, str or Path
        Two quantized or two float networks, or their files, of any format.

    Returns
    -------
    Diff
        Every change (`same` if there is none); it has text(), csv() and json().

    Raises
    ------
    ModelError
        A file cannot be read.
    Error
        One network is quantized, and the other is not.

    Examples
    --------
    >>> print(diff("before.qnz", "after.qnz").text())
    """
    one, other = known(first), known(second)
    names = [
        given if isinstance(given, (str, Path)) else network.graph.name
        for given, network in ((first, one), (second, other))
    ]
    found: list[Change] = []
    if isinstance(one, Network) and isinstance(other, Network):
        prepared = [str(n.preprocessing or "none") for n in (one, other)]
        if prepared[0] != prepared[1]:
            found.append(Change("", "preprocessing", prepared[0], prepared[1]))
    elif isinstance(one, Network) or isinstance(other, Network):
        kinds = ["quantized" if isinstance(n, Network) else "float" for n in (one, other)]
        raise Error(
            f"{names[0]} is a {kinds[0]} network and {names[1]} a {kinds[1]} one: give two of "
            "one kind"
        )
    announce("compares layers")
    found += iterate_changes(one.graph, other.graph)
    return Diff(str(names[0]), str(names[1]), len(one.graph.nodes), tuple(found))
