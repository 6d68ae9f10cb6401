"""The inputs of a network from the user's files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..api.data import source_of_file
from ..api.network import FloatNetwork, Network
from ..errors import Error


def inputs_of(network: object, given: Sequence[str]) -> Any:
    """Return what --data names, as data of the API: a path, or of several inputs arrays by their
    names.

    given: paths, or NAME=PATH.
    """
    names, known = ["input"], "the network"
    if isinstance(network, Network):
        names, known = [tensor.name for tensor in network.graph.inputs], network.graph.name
    elif isinstance(network, FloatNetwork):
        names = list(network.graph.starts)
    pairs = [_split(names, text) for text in given]
    if not all(file for _, file in pairs):
        raise Error("--data must be a path, not ''")
    if any(file == "-" for _, file in pairs):
        raise Error("--data is -, but standard input is not read: name a file")
    named = [name for name, _ in pairs if name]
    if len(set(named)) < len(named):
        raise Error(f"--data names {max(named, key=named.count)!r} twice: give each input once")
    if not named and len(given) == 1 and (len(names) == 1 or Path(given[0]).suffix == ".npz"):
        return Path(given[0])
    if not named and len(given) == len(names):
        pairs = list(zip(names, given))
    if {name for name, _ in pairs} != set(names):
        raise Error(
            f"{known} has the inputs {', '.join(map(repr, names))}: give one .npz file with "
            "all of them, or --data NAME=FILE for each"
        )
    if len(names) == 1:
        return Path(pairs[0][1])
    return {name: source_of_file(Path(path)) for name, path in pairs}


def _split(names: Sequence[str], text: str) -> tuple[str, str]:
    """Return the input that a file is for, by name or x0, x1, ..., and the file; "" where none
    is.
    """
    for number, name in enumerate(names):
        for key in (name, f"x{number}"):
            if text.startswith(f"{key}=") and not Path(text).exists():
                return name, text[len(key) + 1 :]
    other, _, file = text.partition("=")
    if Path(file).is_file() and not Path(text).exists():
        raise Error(f"there is no input {other!r}; have: {', '.join(map(repr, names))}")
    return "", text
