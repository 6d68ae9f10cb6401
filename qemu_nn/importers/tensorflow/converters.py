"""Conversion of a frozen graph's nodes to operators: supported types, and runs of nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from ...errors import ModelError
from ..tensor import Tensor, Value
from .activation import ACTIVATIONS
from .arithmetic import ARITHMETIC
from .building import Converter, SizeBudget, TensorflowBuilder, TensorflowCall
from .folding import FOLDS, SHAPES, fold
from .reading import TensorflowNode, get_producer
from .rows import ROWS, Rows
from .shaping import SHAPING
from .windows import WINDOWS

CONVERTERS: dict[str, Converter] = {**WINDOWS, **ARITHMETIC, **ACTIVATIONS, **SHAPING, **ROWS}
_KINDS: Mapping[str, tuple[type, ...]] = {
    **{"x": (Tensor,), "c": (np.ndarray,), "v": (Tensor, np.ndarray)},
    **{"r": (Rows,), "t": (Tensor, Rows), "a": (Tensor, Rows, np.ndarray)},
}


def build(
    order: Iterable[TensorflowNode],
    starts: Sequence[Tensor],
    constants: Mapping[str, np.ndarray],
    nodes: Iterable[str],
) -> TensorflowBuilder:
    """Return the operators of nodes in order; the first ones read the starts and constants."""
    builder, budget = TensorflowBuilder(starts, constants, nodes), SizeBudget()
    for node in order:
        if node.name in builder.values:
            continue
        values: list[Value] = []
        for name in node.inputs:
            if name not in builder.values:
                raise ModelError(
                    f"{node} reads {name!r}, which is not an output of {get_producer(name)!r}"
                )
            values.append(builder.values[name])
        known = all(isinstance(value, np.ndarray) for value in values)
        if node.op in SHAPES or (node.op in FOLDS and known):
            builder.values[node.name] = fold(node, budget, values)
            continue
        try:
            _convert(TensorflowCall(node, builder), values)
        except ModelError as error:
            raise ModelError(f"{node}: {error}") from None
    return builder


def _convert(call: TensorflowCall, values: list[Value]) -> None:
    """Add the operators of a node; raise ModelError if its inputs have the wrong kind."""
    reads, converter = CONVERTERS[call.node.op]
    wanted = "v" * max(len(values), 1) if reads == "+" else reads
    if len(values) != len(wanted):
        raise ModelError(f"it reads {len(values)} tensors; it needs {len(wanted)}")
    for name, value, kind in zip(call.node.inputs, values, wanted):
        if not isinstance(value, _KINDS[kind]):
            have = {
                "c": "computed, but it must be a constant",
                "r": "no list of time steps, but it must be one",
            }
            other = "a constant or a list, but it must be a computed tensor"
            raise ModelError(f"its input {name!r} is {have.get(kind, other)}")
    converter(call, *values)
