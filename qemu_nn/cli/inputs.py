"""The inputs of a network from the user's files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..api.arrange import Arrange
from ..errors import Error
from ..io.arrays import read_array, read_npz
from ..ir.graph import Graph, Tensor
from ..runtime.inputs import Inputs
from ..runtime.sanity import Gauge, tell
from .options import say


def read_inputs(graph: Graph, given: Sequence[str]) -> Inputs:
    """The inputs of files, as the network takes them: integers, or real numbers quantized here.

    given: paths, or NAME=PATH. Real numbers come in the shape and layout of the float network, too,
    as calibration data do.
    """
    arrays = read_named(graph, given)
    taken = {tensor.name: _taken(graph, tensor, arrays[tensor.name]) for tensor in graph.inputs}
    return taken if len(taken) > 1 else taken[graph.input.name]


def read_named(graph: Graph, given: Sequence[str]) -> dict[str, np.ndarray]:
    """Input -> what the file holds of it."""
    names = [tensor.name for tensor in graph.inputs]
    pairs = [_split(names, text) for text in given]
    named = [name for name, _ in pairs if name]
    if len(set(named)) < len(named):
        raise Error(f"--input names {max(named, key=named.count)!r} twice")
    if not named and len(given) == 1 and (len(names) == 1 or Path(given[0]).suffix == ".npz"):
        return _together(names, given[0])
    if not named and len(given) == len(names):
        pairs = list(zip(names, given))
    if {name for name, _ in pairs} == set(names):
        return {name: read_array(path, "x") for name, path in pairs}
    raise Error(
        f"{graph.name} has the inputs {_quoted(names)}: give one .npz file with all of them, or "
        "--input NAME=FILE for each"
    )


def _split(names: Sequence[str], text: str) -> tuple[str, str]:
    """The input that a file is for, by name or x0, x1, ..., and the file; "" where none is."""
    for number, name in enumerate(names):
        for key in (name, f"x{number}"):
            if text.startswith(f"{key}=") and not Path(text).exists():
                return name, text[len(key) + 1 :]
    return "", text


def _together(names: Sequence[str], path: str) -> dict[str, np.ndarray]:
    """All inputs of one file."""
    if len(names) == 1:
        return {names[0]: read_array(path, "x")}
    arrays = read_npz(path)
    for keys in (names, [f"x{number}" for number in range(len(names))]):
        if set(keys) <= set(arrays):
            return {name: arrays[key] for name, key in zip(names, keys)}
    have = ", ".join(arrays) or "no arrays"
    raise Error(f"the data hold {have}; name the inputs {_quoted(names)}, or x0, x1, ... in order")


def _taken(graph: Graph, tensor: Tensor, x: np.ndarray) -> np.ndarray:
    """One input as the network takes it."""
    which = "inputs" if len(graph.inputs) == 1 else f"inputs {tensor.name!r}"
    if x.dtype.kind == "f" and tensor.spelled is not None:
        say(f"{x.dtype} {which} quantized as {tensor.spelled}", err=True)
        real = x if graph.states else _arranged(x, tensor.shape)
        codes, gauge = tensor.format.quantize(real), Gauge(tensor)
        gauge.add(codes, real)
        tell(gauge)
        return codes
    if x.dtype == np.float64 and tensor.dtype == "float32":
        x = x.astype(np.float32)
    lead = 2 if graph.states else 1
    if x.shape[lead:] == (1, *tensor.shape):  # a batch of 1 for each sample
        x = x.reshape(*x.shape[:lead], *tensor.shape)
    return x


def _arranged(x: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Real samples [N, ...], channels last if they are images; each may be a batch of 1."""
    layout = "NHWC" if len(shape) == 3 else None
    if x.shape[1:] == (1, *shape):
        x = x.reshape(-1, *shape)
    arrange = Arrange(shape, layout, layout if x.shape[1:] == shape else None, None)
    return arrange(x, "sample {} of the data".format)


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))
