"""Known pitfalls of fixed-point networks, recognized in the figures and told in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Optional

from .layer_figures import LayerFigures, WeightFigures

#: What is worth a word: the share of saturated elements (percent), of values in the innermost
#: eighth of the range; so few bits in use; one channel in so many dead.
_SATURATING, _CROWDED, _FEW_BITS, _DEAD = 1.0, 0.999, 3, 4


def advise(
    layers: Sequence[LayerFigures], weights: Sequence[WeightFigures], softmax_frac: Optional[int]
) -> tuple[str, ...]:
    """Sentences, each about one layer. softmax_frac: fraction bits of what a softmax reads."""
    found = [line for layer in layers for line in _of_layer(layer)]
    found += [line for array in weights for line in _of_array(array)]
    if softmax_frac:
        found.append(
            f"softmax reads integers with {softmax_frac} fraction bits as powers of two: its order "
            "is right, its probabilities are not; compute them on the host, or take the scores"
        )
    return tuple(found)


def _of_layer(layer: LayerFigures) -> Iterator[str]:
    name = layer.name
    if layer.wraps and layer.sums is not None:
        yield (
            f"{name}: its accumulator wraps ({layer.sums[0]:,} .. {layer.sums[1]:,} leaves 32 "
            f"bits): give its weights fewer fraction bits, --format {name}.weights=N"
        )
    if layer.saturated_share >= _SATURATING:
        yield (
            f"{name}: {layer.saturated_share:.1f} % of its outputs saturate in {layer.format}: "
            f"give it fewer fraction bits, --format {name}.output=N, or calibrate with more data"
        )
    if layer.low == layer.high:
        yield f"{name}: it is {layer.low:g} everywhere: the data do not reach it"
    elif _DEAD * layer.dead >= layer.channels and "relu" in layer.function:
        yield (
            f"{name}: {layer.dead} of its {layer.channels} channels are zero on all data: a dead "
            "ReLU, or data that are not those it was trained with (scaled otherwise?)"
        )
    if _outliers(layer):
        yield (
            f"{name}: a few outliers set its range {layer.low:.4g} .. {layer.high:.4g}, nearly all "
            "values use an eighth of it: try --method mse, 99.9 or search"
        )


def _outliers(layer: LayerFigures) -> bool:
    """Are nearly all values in the innermost eighth of the range?"""
    bars = layer.bars
    step = (bars.high - bars.low) / len(bars.real)
    inner = max(abs(bars.low), bars.high) / 8
    share = sum(
        value
        for index, value in enumerate(bars.real)
        if -inner <= bars.low + (index + 0.5) * step <= inner
    )
    return layer.low < layer.high and _CROWDED <= share < 1


def _of_array(array: WeightFigures) -> Iterator[str]:
    name = f"{array.layer}: its {array.role}"
    if array.role == "bias" and array.lost and 2 * array.lost >= array.elements:
        yield (
            f"{name} is lost by its shift: {array.lost} of {array.elements} values are zero in "
            f"{array.format}: its input or weights have too few fraction bits"
        )
    elif array.role == "weights" and array.elements and 1 < array.bits <= _FEW_BITS:
        yield (
            f"{name} use {array.bits} bits alone in {array.format}: give them more fraction bits, "
            f"--format {array.layer}.weights=N"
        )
    if 100 * array.saturated >= _SATURATING * array.elements and array.saturated:
        yield (
            f"{name} saturate: {array.saturated} of {array.elements} in {array.format} "
            f"({array.low:.4g} .. {array.high:.4g})"
        )
