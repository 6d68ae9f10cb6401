"""Advice on known pitfalls of fixed-point networks, recognized in the figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .layer_figures import LayerFigures, WeightFigures

#: Thresholds of advice: percent of lost elements, share of values within an eighth of the largest,
#: number of used bits, and share of lost bias values (one in this many).
_LOST, _CROWDED, _FEW_BITS, _BIAS = 1.0, 0.999, 3, 10

#: Below this many dB of a layer alone, advice is given for any lost element.
_POOR = 15

#: Least number of values of a channel that is called dead.
_ENOUGH = 100

#: Operators whose format does not depend on their own values.
_TIED = ("Relu", "Clip", "Pool", "Softmax", "Sigmoid", "Tanh")


def advise(
    layers: Sequence[LayerFigures], arrays: Sequence[WeightFigures], affine: bool = False
) -> tuple[str, ...]:
    """Return one sentence for each problem of a layer: the problem, the figure that shows it, and a
    remedy.

    affine: formats are scales and zero points, not fraction bits.
    """
    advice = [line for layer in layers for line in _advise_layer(layer, affine)]
    return (*advice, *(line for array in arrays for line in _advise_array(array, affine)))


def _advise_layer(layer: LayerFigures, affine: bool) -> Iterator[str]:
    name, output = (
        layer.name,
        _format_argument(layer.name, "output", "(LOW, HIGH)" if affine else "N"),
    )
    if layer.wraps and layer.sums is not None:
        fewer = f"fewer fraction bits, {_format_argument(name, 'weights')}"
        yield (
            f"{name}: its accumulator wraps: sums of {layer.sums[0]:,} .. {layer.sums[1]:,} do not "
            f"fit into 32 bits: give its weights {'coarser scales' if affine else fewer}"
        )
    if layer.lost_share >= _LOST or (layer.lost and layer.single.sqnr < _POOR):
        wider = "a wider range" if affine else "fewer fraction bits"
        yield (
            f"{name}: {layer.lost_share:.2g} % of its values saturate in {layer.format}: "
            f"give it {wider}, {output}, or calibrate with more data"
        )
    if layer.low == layer.high:
        yield f"{name}: all of its values are {layer.low:g}: the data do not reach it"
    elif (
        layer.operator.endswith("Relu")
        and layer.dead
        and layer.elements >= _ENOUGH * layer.channels
    ):
        yield (
            f"{name}: {layer.dead} of {layer.channels} channels are 0 for all data (dead ReLUs): "
            "the network does not need them; if they are many, check that the data are scaled as "
            "in training"
        )
    if _has_outliers(layer):
        yield (
            f"{name}: a few outliers set its range {layer.low:.4g} .. {layer.high:.4g}, but "
            f"{100 * layer.crowded:.2f} % of its values use only an eighth of it: try "
            'method="mse", method=99.9 or method="search"'
        )
    if layer.operator == "Softmax" and layer.input_frac:
        yield (
            f"{name}: it raises 2 to the integers that it reads and ignores their "
            f"{layer.input_frac} fraction bits: the order of the classes is right, the "
            "probabilities are not; compute these on the host from the scores (softmax=False)"
        )


def _format_argument(layer: str, role: str, value: str = "N") -> str:
    """Return the argument of quantize() that gives an array a format."""
    return f'formats={{"{layer}": {{"{role}": {value}}}}}'


def _has_outliers(layer: LayerFigures) -> bool:
    """True if nearly all values are small compared with the largest, and the format covers the
    largest.
    """
    largest = max(-layer.low, layer.high)
    wide = layer.bars.limits[1] >= largest / 2
    return layer.operator not in _TIED and wide and layer.crowded >= _CROWDED


def _advise_array(array: WeightFigures, affine: bool) -> Iterator[str]:
    name = f"{array.layer}: its {array.role}"
    if affine:
        if 100 * array.saturated >= _LOST * array.elements and array.saturated:
            yield (
                f"{name} saturate: {array.saturated} of {array.elements} in {array.format} "
                f'({array.low:.4g} .. {array.high:.4g}): try weight_method="minmax"'
            )
        return
    if array.role == "bias" and array.lost and _BIAS * array.lost >= array.elements:
        yield (
            f"{name} loses {array.lost} of {array.elements} values, which become 0 in "
            f"{array.format} though the output would show them: give it more fraction bits, "
            f"{_format_argument(array.layer, 'bias')}, and the weights, too, where bias_shift is 0"
        )
    elif array.role == "weights" and array.elements and 1 < array.bits <= _FEW_BITS:
        yield (
            f"{name} use only {array.bits} bits of {array.format}: give them more fraction bits, "
            f"{_format_argument(array.layer, 'weights')}"
        )
    if 100 * array.saturated >= _LOST * array.elements and array.saturated:
        yield (
            f"{name} saturate: {array.saturated} of {array.elements} in {array.format} "
            f"({array.low:.4g} .. {array.high:.4g}): give them fewer fraction bits, "
            f"{_format_argument(array.layer, array.role)}"
        )
