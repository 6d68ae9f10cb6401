"""Parts of exports whose network is a file that TensorFlow Lite Micro or a driver runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..ir.graph import Graph
from ..ir.tensors import Tensor
from ..runtime.plan import Plan
from .golden import About, GoldenSet

#: Operator -> method of the resolver, if the rule of find_method() does not give it.
_METHODS = {
    **{"BATCH_MATMUL": "AddBatchMatMul", "CUMSUM": "AddCumSum", "PADV2": "AddPadV2"},
    **{"ethos-u": "AddEthosU", "TFLite_Detection_PostProcess": "AddDetectionPostprocess"},
    "UNIDIRECTIONAL_SEQUENCE_LSTM": "AddUnidirectionalSequenceLSTM",
}

#: Factor of the interpreter's structures: these compilers do not shorten enumerations.
_TAIL = 1.5


@dataclass(frozen=True)
class Common:
    """Parts of every export. steps: time steps of each golden input, 1 without states."""

    plan: Plan
    about: About
    goldens: GoldenSet
    steps: int
    name: str


@dataclass(frozen=True)
class Watched:
    """A result that is reported: number of its operator and of the output, and its layer.

    stem: its name in goldens and C.
    """

    operator: int
    output: int
    layer: str
    stem: str
    nbytes: int


def find_method(operator: str) -> str:
    """Return the method of MicroMutableOpResolver that adds an operator.

    Examples
    --------
    >>> find_method("CONV_2D"), find_method("SignalFramer")
    ('AddConv2D', 'AddFramer')
    """
    if operator in _METHODS:
        return _METHODS[operator]
    if not operator.isupper():
        return f"Add{operator.removeprefix('Signal')}"
    return "Add" + "".join(word.capitalize() for word in operator.split("_")).replace("2d", "2D")


def count_arena(head: int, tail: int) -> int:
    """Return bytes of an arena for tensors and the interpreter's structures."""
    return -(-(head + int(_TAIL * tail)) // 1024) * 1024


def list_samples(graph: Graph, goldens: GoldenSet, steps: int) -> list[list[Mapping[str, Any]]]:
    """Return the folder of goldens, and names and bytes of its ends, of each step of each input."""
    outputs = [graph.tensors[name] for name in graph.outputs]

    def find(prefix: str, tensors: Sequence[Tensor]) -> list[tuple[str, int]]:
        return [(f"{prefix}/{goldens.stems[t.name]}", t.nbytes) for t in tensors]

    return [
        [
            {"group": p, "inputs": find(p, graph.inputs), "outputs": find(p, outputs)}
            for p in ([f"x{i}/t{t}" for t in range(steps)] if graph.states else [f"x{i}"])
        ]
        for i in range(goldens.inputs)
    ]


def format_arrays(title: str, arrays: Mapping[str, bytes], section: str = "") -> bytes:
    """Return C that defines arrays of bytes at multiples of 16.

    section: the macro that may name their section in memory.
    """
    lines = [f"/* {title}. */"]
    placed = "ALIGNED"
    if section:
        lines += [f"#ifdef {section}", f"#define PLACED __attribute__((section({section})))"]
        lines += ["#else", "#define PLACED", "#endif"]
        placed = "PLACED ALIGNED"
    lines += ["#define ALIGNED __attribute__((aligned(16)))"]
    for name, data in arrays.items():
        rows = (", ".join(map(str, data[i : i + 20])) for i in range(0, len(data), 20))
        head = f"const unsigned char {name}[] {placed} = {{"
        lines += ["", head, *(f"    {row}," for row in rows), "};"]
    return "\n".join([*lines, ""]).encode("ascii")
