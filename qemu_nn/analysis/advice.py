"""Known pitfalls of fixed-point networks, recognized in the figures of layers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Optional

import numpy as np

from .faults import Fault, Remedy
from .layer_figures import COARSE, FURTHER, LayerFigures, WeightFigures

#: Thresholds of advice: percent of lost elements, share of values within an eighth of the largest,
#: number of used bits, and share of lost bias values (one in this many).
_LOST, _CROWDED, _FEW_BITS, _BIAS = 1.0, 0.999, 3, 10

#: Below this many dB of a layer alone, advice is given for any lost element.
_POOR = 15

#: Least number of samples that show a dead channel; least share of all weights that it wastes.
_ENOUGH, _WASTE = 100, 0.25

#: Least share of channels that vanish; most channels that a sentence names.
_VANISHED, _LISTED = 0.125, 4

#: Operators whose format does not depend on their own values.
_TIED = ("Relu", "Clip", "Pool", "Softmax", "Sigmoid", "Tanh")


def find_layer_faults(
    layers: Sequence[LayerFigures],
    arrays: Sequence[WeightFigures],
    affine: bool,
    samples: int,
    bits: int = 8,
) -> list[Fault]:
    """Return the faults of layers and of their weights, from the first layer to the last.

    A fault names the layer that makes an error, not a later one that inherits it.

    affine: formats are scales and zero points, not fraction bits. samples: of the data. bits: of
    most activations.
    """
    found = [fault for layer in layers for fault in _find_own_faults(layer, affine)]
    spread = _find_outlier_channels(layers, arrays, affine, bits)
    found += spread.values()
    found += _find_unequal_terms(layers, affine)
    inherited = [layer for layer in layers if _saturates(layer) and not _is_own(layer)]
    if inherited and not found:
        found.append(_blame(layers, inherited))
    found += [
        fault
        for layer in layers
        for fault in _find_poor_ranges(layer, affine)
        if layer.name not in spread
    ]
    if not spread:
        found += [fault for array in arrays for fault in _find_array_faults(array, affine)]
    found += _find_dead_channels(layers, arrays, samples)
    if not any(fault.remedies for fault in found):
        found += _find_vanished_channels(layers, affine, bits)
    places = {layer.name: place for place, layer in enumerate(layers)}
    return sorted(found, key=lambda each: places.get(each.layer, len(places)))


def _saturates(layer: LayerFigures) -> bool:
    return bool(layer.lost_share >= _LOST or (layer.lost and layer.single.sqnr < _POOR))


def _is_own(layer: LayerFigures) -> bool:
    """True if a good part of the lost values are outside the format in the float network, too."""
    return 4 * 100 * layer.beyond >= layer.lost_share


def _find_own_faults(layer: LayerFigures, affine: bool) -> Iterator[Fault]:
    name = layer.name
    if layer.wraps and layer.sums is not None:
        fewer = f"fewer fraction bits, {_format_argument(name, 'weights')}"
        yield Fault(
            name,
            f"{name}: its accumulator wraps: sums of {layer.sums[0]:,} .. {layer.sums[1]:,} do not "
            f"fit into 32 bits: give its weights {'coarser scales' if affine else fewer}",
        )
    if _saturates(layer) and _is_own(layer):
        ends = _choose_range(layer, affine)
        wider = "a wider range" if affine else "fewer fraction bits"
        how = {"options": {"formats": {name: {"output": ends}}}}
        yield Fault(
            name,
            f"{name}: {layer.lost_share:.2g} % of its values saturate in {layer.format}",
            (
                Remedy(f"give it {wider}, {_format_argument(name, 'output', str(ends))}", how),
                Remedy("calibrate with more data"),
            ),
        )
    if layer.low == layer.high:
        yield Fault(name, f"{name}: all of its values are {layer.low:g}: the data do not reach it")
    if layer.operator == "Softmax" and layer.input_frac:
        yield Fault(
            name,
            f"{name}: it raises 2 to the integers that it reads and ignores their "
            f"{layer.input_frac} fraction bits: the order of the classes is right, the "
            "probabilities are not; compute these on the host from the scores (softmax=False)",
        )


def _choose_range(layer: LayerFigures, affine: bool) -> Any:
    """Return the format that holds all values of a layer, as quantize() takes it."""
    if affine:
        return (float(f"{layer.low:.4g}"), float(f"{layer.high:.4g}"))
    codes = (layer.bars.limits[1] - layer.bars.limits[0]) / layer.step + 1
    return round(math.log2(codes)) - 1 - math.ceil(math.log2(_reach(layer)))


def _blame(layers: Sequence[LayerFigures], inherited: Sequence[LayerFigures]) -> Fault:
    """Return the fault of the layer whose error makes later layers saturate."""
    before = layers[: layers.index(inherited[0]) + 1]
    maker = min(before, key=lambda layer: layer.single.sqnr)
    last = inherited[0]
    also = (
        ""
        if maker is last
        else f", and {last.lost_share:.2g} % of the values of {last.name} "
        "saturate for it, which would fit without"
    )
    return Fault(
        maker.name,
        f"{maker.name}: it makes the error, {maker.single.sqnr:.1f} dB alone{also}",
        (
            _take_steps("take other formats", "formats", "equalize", "correct"),
            Remedy("take bits=16", {"bits": 16}, costly=True),
        ),
    )


def _take_steps(words: str, *steps: str) -> Remedy:
    named = ", ".join(f'"{step}"' for step in steps)
    return Remedy(f'{words}, effort={{"steps": [{named}]}}', {"effort": {"steps": [*steps]}})


def _find_outlier_channels(
    layers: Sequence[LayerFigures], arrays: Sequence[WeightFigures], affine: bool, bits: int
) -> dict[str, Fault]:
    """Return layer -> its fault, where few channels set the format of all."""
    weights = {array.layer: array for array in arrays if array.role == "weights"}
    found: dict[str, Fault] = {}
    for layer in layers:
        if layer.operator in _TIED:
            continue
        told = [_describe_spread("outputs", layer.by_channel.reach, layer.outliers)]
        if rows := weights.get(layer.name):
            told.append(_describe_spread("weights", rows.channels, rows.outliers))
        words = [each for each in told if each is not None]
        if words:
            gone = layer.by_channel.vanished
            lost = f"; {len(gone)} of its channels become 0 on the device" if gone else ""
            text = f"{layer.name}: {' and '.join(words)}, so that the others have few codes{lost}"
            remedies = _list_channel_remedies(affine, bits)
            found[layer.name] = Fault(layer.name, text, remedies, certain=False)
    return found


def _list_channel_remedies(affine: bool, bits: int) -> tuple[Remedy, ...]:
    """Return the remedies of channels of unequal range."""
    remedies = [
        _take_steps("scale the channels alike", "equalize"),
        _take_steps("split the outlier channels", "split"),
    ]
    if not affine:
        words = 'take a scale for each channel, scheme="affine"'
        remedies.append(Remedy(words, {"scheme": "affine"}, costly=True))
    if bits == 8:
        remedies.append(Remedy("take bits=16", {"bits": 16}, costly=True))
    return tuple(remedies)


def _describe_spread(what: str, reach: Sequence[float], outliers: Sequence[int]) -> Optional[str]:
    """Return words for channels that reach much further than the others; None if there are none."""
    if not outliers:
        return None
    usual = float(np.median([value for value in reach if value > 0]))
    ranked = sorted(outliers, key=lambda channel: -reach[channel])
    names = ", ".join(map(str, ranked[:_LISTED])) + (", ..." if len(ranked) > _LISTED else "")
    which = f"channel {names}" if len(ranked) == 1 else f"channels {names}"
    word = "reaches" if len(ranked) == 1 else "reach"
    return f"{which} of its {what} {word} {max(reach):.4g}, the others mostly {usual:.3g}"


def _find_unequal_terms(layers: Sequence[LayerFigures], affine: bool) -> Iterator[Fault]:
    """Yield the faults of sums whose terms share a format that is too coarse for one of them."""
    known = {layer.name: layer for layer in layers}
    for layer in layers if not affine else ():
        terms = [known[name] for name in layer.inputs if name in known]
        if not layer.operator.startswith("Elementwise") or len(terms) < 2:
            continue
        small, large = sorted(terms, key=_reach)[:: len(terms) - 1]
        codes = 2 * _reach(small) / small.step
        if (
            small.format == large.format
            and codes < COARSE
            and _reach(small) * FURTHER < _reach(large)
        ):
            yield Fault(
                layer.name,
                f"{layer.name}: its terms {small.name} (to {_reach(small):.3g}) and {large.name} "
                f"(to {_reach(large):.3g}) share the format {small.format}, in which the smaller "
                f"has {codes:.0f} codes",
                (
                    Remedy(
                        'take a scale for each term, scheme="affine", whose sums rescale them',
                        {"scheme": "affine"},
                    ),
                    Remedy("take bits=16", {"bits": 16}, costly=True),
                ),
            )


def _reach(layer: LayerFigures) -> float:
    return max(-layer.low, layer.high)


def _find_dead_channels(
    layers: Sequence[LayerFigures], arrays: Sequence[WeightFigures], samples: int
) -> Iterator[Fault]:
    """Yield layers whose channels that are always 0 waste a good part of all weights."""
    weights = {array.layer: array.elements for array in arrays if array.role == "weights"}
    total = sum(weights.values())
    for layer in layers:
        maker = layer.name if layer.name in weights else "".join(layer.inputs[:1])
        waste = layer.dead * weights.get(maker, 0) / max(layer.channels, 1)
        if layer.low < layer.high and samples >= _ENOUGH and waste >= _WASTE * total:
            yield Fault(
                layer.name,
                f"{layer.name}: {layer.dead} of {layer.channels} channels are 0 for all data, and "
                f"take {100 * waste / total:.0f} % of all weights: leave them out, unless other "
                "data need them",
            )


def _find_vanished_channels(
    layers: Sequence[LayerFigures], affine: bool, bits: int
) -> Iterator[Fault]:
    """Yield the first layer with many channels that are 0 on the device alone."""
    for layer in layers:
        gone = layer.by_channel.vanished
        if layer.operator not in _TIED and len(gone) > _VANISHED * layer.channels:
            names = ", ".join(map(str, gone[:_LISTED])) + (", ..." if len(gone) > _LISTED else "")
            yield Fault(
                layer.name,
                f"{layer.name}: {len(gone)} of {layer.channels} channels ({names}) are 0 on the "
                "device, and not in the float network",
                _list_channel_remedies(affine, bits),
                certain=False,
            )
            return


def _format_argument(layer: str, role: str, value: str = "N") -> str:
    """Return the argument of quantize() that gives an array a format."""
    return f'formats={{"{layer}": {{"{role}": {value}}}}}'


def _find_poor_ranges(layer: LayerFigures, affine: bool) -> Iterator[Fault]:
    if _has_outliers(layer):
        yield Fault(
            layer.name,
            f"{layer.name}: a few outliers set its range {layer.low:.4g} .. {layer.high:.4g}, but "
            f"{100 * layer.crowded:.2f} % of its values use only an eighth of it",
            tuple(Remedy(f"try method={method!r}", {"method": method}) for method in ("mse", 99.9)),
        )


def _has_outliers(layer: LayerFigures) -> bool:
    """True if nearly all values are small compared with the largest, and the format covers the
    largest.
    """
    largest = max(-layer.low, layer.high)
    wide = layer.bars.limits[1] >= largest / 2
    return layer.operator not in _TIED and wide and layer.crowded >= _CROWDED


def _find_array_faults(array: WeightFigures, affine: bool) -> Iterator[Fault]:
    name = f"{array.layer}: its {array.role}"
    if affine:
        if 100 * array.saturated >= _LOST * array.elements and array.saturated:
            yield Fault(
                array.layer,
                f"{name} saturate: {array.saturated} of {array.elements} in {array.format} "
                f'({array.low:.4g} .. {array.high:.4g}): try weight_method="minmax"',
            )
        return
    if array.role == "bias" and array.lost and _BIAS * array.lost >= array.elements:
        yield Fault(
            array.layer,
            f"{name} loses {array.lost} of {array.elements} values, which become 0 in "
            f"{array.format} though the output would show them: give it more fraction bits, "
            f"{_format_argument(array.layer, 'bias')}, and the weights, too, where bias_shift is 0",
        )
    elif array.role == "weights" and array.elements and 1 < array.bits <= _FEW_BITS:
        yield Fault(
            array.layer,
            f"{name} use only {array.bits} bits of {array.format}: give them more fraction bits, "
            f"{_format_argument(array.layer, 'weights')}",
        )
    if 100 * array.saturated >= _LOST * array.elements and array.saturated:
        yield Fault(
            array.layer,
            f"{name} saturate: {array.saturated} of {array.elements} in {array.format} "
            f"({array.low:.4g} .. {array.high:.4g}): give them fewer fraction bits, "
            f"{_format_argument(array.layer, array.role)}",
        )
