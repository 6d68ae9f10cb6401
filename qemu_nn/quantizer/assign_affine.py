"""Scales and zero points of all tensors and weights of a network, by TensorFlow Lite's scheme."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Optional, Union

import numpy as np

from ..errors import Error
from ..io.arguments import have
from ..ir.float_graph import FloatGraph, FloatNode
from ..ir.formats import Format, affine_format, quantize_symmetric
from ..ir.statistics import Statistics
from ..operators import Conv, ConvTranspose, Dense
from .affine_rules import find_fixed_formats, get_affine_rule, infer_types
from .fusion import find_clamps
from .grid import Grid
from .ranges import Ranges
from .rules import FormatGroup, find_format_groups

#: Node name -> role ("output") -> (low, high): ranges that the user has chosen.
GivenRanges = Mapping[str, Mapping[str, tuple[float, float]]]
#: Node name -> role ("output" or "weights") -> how many half octaves narrower than the policy.
Narrowed = Mapping[str, Mapping[str, int]]

#: Operators with weights.
Weighted = Union[Conv, ConvTranspose, Dense]

#: The largest integer of a weight. Limits of sums: in 32 bits, and in 64 bits, which functions
#: rescale in 48.
_MOST, _SUM, _WIDE_SUM = 127, 2**31 - 1, 2**47
#: The largest integer of a weight of 4 bits.
_MOST_NARROW = 7
#: Type of activations -> the largest magnitude that weights meet.
_INPUT = {"int8": 255, "int16": 32768}
#: Weights of a smaller magnitude become zeros.
_SMALLEST = 1e-30
#: The least factor from products to outputs; functions read smaller ones as 0.
_LEAST_FACTOR = 2.0**-32
#: Most doublings of scales for a bias to fit: more would overflow float32.
_OCTAVES = 128


@dataclass(frozen=True)
class AffineFormats:
    """Affine formats of a network.

    tensors: format of each. weights: node -> scales that broadcast to them, float32 values. notes:
    a sentence for each layer with coarser weights than its method's. narrow: layers with 4-bit
    weights.
    """

    tensors: Mapping[str, Format]
    weights: Mapping[str, np.ndarray]
    notes: tuple[str, ...] = ()
    narrow: frozenset[str] = frozenset()

    def most(self, name: str) -> int:
        """Return the largest integer of a layer's weights."""
        return _MOST_NARROW if name in self.narrow else _MOST

    def grid(self, node: FloatNode) -> Grid:
        """Return the steps and limits of a layer's weights and bias."""
        operator = node.operator
        assert isinstance(operator, (Conv, Dense))
        scales = self.weights[node.name].ravel().astype(np.float64)
        source = self.tensors[node.inputs[0]]
        rows = np.broadcast_to(scales, len(operator.weights))
        groups = operator.groups if isinstance(operator, Conv) else 1
        bias = (_SUM if source.dtype == "int8" else _WIDE_SUM) // 2
        most = self.most(node.name)
        return Grid(rows.reshape(groups, -1, 1), (-most, most), rows * source.scale, (-bias, bias))


def assign_affine_formats(
    graph: FloatGraph,
    statistics: Mapping[str, Statistics],
    activations: Ranges,
    weights: Ranges,
    given: Optional[GivenRanges] = None,
    narrowed: Optional[Narrowed] = None,
    per_row: Collection[str] = (),
    narrow: Collection[str] = (),
) -> AffineFormats:
    """Return formats by the methods, such that the sums of every layer fit.

    The input has the type of the activations, as have the tensors after it, up to a Rescale to a
    different type. statistics: of every tensor of the graph. per_row: fully connected layers with a
    weight scale for each row; convolutions always have one for each output channel. narrow: layers
    with 4-bit weights, by their own names or those of activations in their calls. Raises Error for
    ranges that no format covers.
    """
    given, narrowed = given or {}, narrowed or {}
    group_of = find_format_groups(graph, get_affine_rule)
    dtypes = infer_types(graph, activations.dtype)
    fixed = find_fixed_formats(graph, activations.dtype)
    _check_given(graph, given, group_of)
    tensors: dict[str, Format] = {}
    for group in {id(group): group for group in group_of.values()}.values():
        chosen = fixed[group.tensors[0]]
        if chosen is None:
            how = replace(activations, dtype=dtypes[group.tensors[0]])
            ends = _find_range(group, statistics, how, given, narrowed)
            chosen = affine_format(*ends, how.dtype)
        tensors.update(dict.fromkeys(group.tensors, chosen))
    scales: dict[str, np.ndarray] = {}
    notes = []
    clamped = find_clamps(graph)
    small = frozenset(n for n, clamp in clamped.items() if {n, clamp.tensor} & {*narrow})
    for node in graph.nodes:
        operator = node.operator
        if isinstance(operator, (Conv, ConvTranspose, Dense)):
            most = _MOST_NARROW if node.name in small else _MOST
            step = narrowed.get(node.name, {}).get("weights", 0)
            whole = isinstance(operator, Dense) and node.name not in per_row
            wanted = _choose_weight_scales(operator, weights, whole, most) * 2 ** (-step / 2)
            source, output = tensors[node.inputs[0]], tensors[clamped[node.name].tensor]
            scales[node.name] = _prevent_overflow(operator, wanted, (source, output), most)
            if not np.array_equal(scales[node.name], wanted.astype(np.float32)):
                notes.append(f"{node.name}: its weights are coarser, so that its sums fit")
    return AffineFormats(tensors, scales, tuple(notes), small)


def _find_range(
    group: FormatGroup,
    statistics: Mapping[str, Statistics],
    activations: Ranges,
    given: GivenRanges,
    narrowed: Narrowed,
) -> tuple[float, float]:
    """Return the range that the format of a group must cover."""
    asked = [given[name]["output"] for name in group.tensors if "output" in given.get(name, {})]
    if asked:
        return asked[0]
    steps = max(narrowed.get(name, {}).get("output", 0) for name in group.tensors)
    ends = [activations.choose_activation_range(statistics[name]) for name in group.exposed]
    low, high = min(low for low, _ in ends), max(high for _, high in ends)
    return low * 2 ** (-steps / 2), high * 2 ** (-steps / 2)


def _has_row_scales(array: np.ndarray) -> np.ndarray:
    return np.asarray(array, np.float64).reshape(len(array), -1)


def _choose_weight_scales(operator: Weighted, chosen: Ranges, whole: bool, most: int) -> np.ndarray:
    """Return one scale, or one for each output channel; channels of zeros get the largest."""
    rows = _has_row_scales(operator.weights)
    parts: Iterable[np.ndarray] = [rows] if whole else rows
    largest = np.array([chosen.choose_weight_range(part, most) for part in parts])
    largest[largest < _SMALLEST] = max(largest.max(), _SMALLEST)
    scales = largest / most
    return scales.reshape(-1, *[1] * (operator.weights.ndim - 1))


def _prevent_overflow(
    operator: Weighted, scales: np.ndarray, formats: tuple[Format, Format], most: int
) -> np.ndarray:
    """Return scales, as float32, that keep the sums of all inputs in range.

    formats: of inputs and outputs. 16-bit convolutions sum up products in 32 bits and add the bias
    in 64; all further functions use 64 bits throughout. A bias with much finer steps than the
    output's would fit into 64 bits, but become 0.
    """
    source, output = formats
    scales = scales.astype(np.float32)
    bias = np.zeros(1) if operator.bias is None else np.abs(operator.bias).astype(np.float64)
    wide = source.dtype == "int16"
    for _ in range(_OCTAVES):
        integers = np.abs(quantize_symmetric(operator.weights, scales, most))
        products = _INPUT[source.dtype] * _has_row_scales(integers).sum(1)
        steps = scales.ravel().astype(np.float64) * source.scale
        fits = products + bias / steps < (_WIDE_SUM if wide else _SUM)
        if wide and isinstance(operator, Conv) and not operator.depthwise:
            fits &= products < _SUM
        fits &= (steps / output.scale >= _LEAST_FACTOR) | (bias < output.scale / 2)
        fits = fits if scales.size > 1 else fits.all(keepdims=True)
        if fits.all():
            return scales
        scales = scales * np.where(fits, 1, 2).reshape(scales.shape).astype(np.float32)
    raise Error("its biases are too large for its inputs and weights: no scale represents both")


def _check_given(
    graph: FloatGraph, given: GivenRanges, group_of: Mapping[str, FormatGroup]
) -> None:
    """Raise Error for ranges that name unknown layers or roles, or contradict each other."""
    seen: dict[int, tuple[str, tuple[float, float]]] = {}
    for name, roles in given.items():
        if name not in graph.shapes:
            raise Error(f"{graph.name} has no layer {name!r}; {have(graph.shapes, name)}")
        for role, ends in roles.items():
            if role != "output":
                raise Error(f"{name}: only its 'output' takes a range, not its {role}")
            _check_range(name, ends)
            if group_of[name].fixed:
                raise Error(f"{name}: the device fixes its format; leave it out of formats")
            other, same = seen.setdefault(id(group_of[name]), (name, ends))
            if same != ends:
                raise Error(
                    f"{name} and {other} share one format, because nothing between them rescales; "
                    f"give both {ends} or both {same}"
                )


def _check_range(name: str, ends: Any) -> None:
    pair = isinstance(ends, (tuple, list)) and len(ends) == 2
    if not pair or not all(isinstance(e, (int, float)) and math.isfinite(e) for e in ends):
        raise Error(f"{name}: the range of its output is {ends!r}, but must be (low, high)")
    low, high = ends
    if not low <= 0 <= high or low == high:
        raise Error(
            f"{name}: the range {low:g} .. {high:g} of its output must contain 0 and another value"
        )
