"""Evaluation of float networks in numpy, the reference of quantization."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Callable, Optional, Union

import numpy as np

from ..errors import Error
from ..io.arguments import as_array, as_flag
from ..ir.float_graph import FloatGraph
from .inputs import Inputs, name_arrays
from .ordered import order_sums


def evaluate(graph: FloatGraph, x: Inputs, trace: bool = False) -> dict[str, np.ndarray]:
    """Return tensor name -> float array [N, *shape], for the outputs, or for every tensor if
    traced.

    x: [N, *graph.shape], or such arrays of all inputs; float64 is computed in float64, all further
    types in float32. Raises Error for a different shape, for different counts, and for NaN.
    """
    given, trace = name_arrays(graph.name, list(graph.starts), x, as_array), as_flag(trace, "trace")
    real = {name: _as_floats(graph, name, array) for name, array in given.items()}
    counts = {name: len(array) for name, array in real.items()}
    if len({*counts.values()}) > 1:
        raise Error(f"the inputs of {graph.name} have different numbers of samples: {counts}")
    if trace:
        return dict(iterate_tensors(graph, real))
    found = {name: value for name, value in iterate_tensors(graph, real) if name in graph.outputs}
    return {name: found[name] for name in graph.outputs}


def _as_floats(graph: FloatGraph, name: str, x: np.ndarray) -> np.ndarray:
    """Return the values of an input as floats."""
    shape = graph.starts[name]
    if x.shape[1:] != shape or x.ndim == 0:
        raise Error(
            f"the input {name!r} has the shape {list(x.shape)}, but {graph.name} takes [N, "
            f"{', '.join(map(str, shape))}]"
        )
    if x.dtype.kind not in "fiub":
        raise Error(f"the input {name!r} is {x.dtype}, but {graph.name} takes floats")
    x = x.astype(np.float64 if x.dtype == np.float64 else np.float32, copy=False)
    if np.isnan(x).any():
        raise Error(f"the input {name!r} of {graph.name} contains NaN: remove or replace it")
    return x


def fix_sum_order(graph: FloatGraph) -> FloatGraph:
    """Return the network with sums in a fixed order, independent of threads and of
    further samples.
    """
    nodes = (replace(node, operator=order_sums(node.operator)) for node in graph.nodes)
    return graph.with_nodes(nodes)


def iterate_tensors(
    graph: FloatGraph,
    x: Union[np.ndarray, Mapping[str, np.ndarray]],
    held: Optional[Callable[[str, np.ndarray], np.ndarray]] = None,
) -> Iterator[tuple[str, np.ndarray]]:
    """Yield name and values of every tensor in turn, inputs first; each is freed after its last
    use.

    x: a mapping if there are several inputs. held: rounds a tensor's values to its format.
    """
    uses = Counter(name for node in graph.nodes for name in node.inputs)
    given = x if isinstance(x, Mapping) else {graph.input: x}
    values = {n: given[n] if held is None else held(n, given[n]) for n in graph.starts}
    yield from list(values.items())
    with np.errstate(all="ignore"):
        for node in graph.nodes:
            result = node.operator.evaluate(*(values[name] for name in node.inputs))
            for name in node.inputs:
                uses[name] -= 1
                if not uses[name]:
                    values.pop(name, None)
            if held is not None:
                result = held(node.name, result)
            values[node.name] = result
            yield node.name, result
