"""Format groups: feature tensors that share one fraction, and fractions fixed by the hardware."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Optional

from ..errors import ModelError
from .layers import Layer
from .shifts import WIDEST
from .tables import FRACS, get_input_fraction

#: Types whose tensors all share one fraction (as do those of a MAX Pooling, and the inputs of an
#: Eltwise).
_PASSING = ("ReLU", "ReLU6", "Slice", "Concat", "ShuffleChannel", "LogSoftmax")

#: Types whose output has a fixed fraction different from the input's -> that of 8 bits, and of 16.
_OUTPUT_FRACS = {"Sigmoid": (7, 15), "TanH": (7, 15)}

#: Number of fraction bits that is never reached.
_FAR = 2000


@dataclass
class FormatGroup:
    """Tensors that share a fraction.

    deciding: those whose values determine it. least, most: fractions from which a sum of them can
    be shifted to its own fixed fraction.
    """

    tensors: list[str]
    deciding: list[str] = field(default_factory=list)
    least: int = -_FAR
    most: int = _FAR
    fixed: Optional[int] = None
    frac: Optional[int] = None


def find_format_groups(layer_list: Sequence[Layer], bitwidth: int) -> dict[str, FormatGroup]:
    """Return tensor -> its group. Raises ModelError if the hardware requires two fractions at once.

    A tensor that only a ReLU reads determines nothing: values that the ReLU cuts off may saturate.
    """
    group_of: dict[str, FormatGroup] = {}
    for layer in layer_list:
        for name in layer.tops:
            group_of[name] = FormatGroup([name])
        for names in _sharing(layer):
            _join(group_of, names)
    for layer in layer_list:
        if layer.type in FRACS:
            read = get_input_fraction(layer.type, bitwidth)
            written = _OUTPUT_FRACS.get(layer.type, (read, read))[bitwidth == 16]
            _fix(group_of[layer.bottoms[0]], read, layer)
            _fix(group_of[layer.tops[0]], written, layer)
    for layer in reversed(layer_list):
        if layer.type in ("Eltwise", "Bias"):
            _check_bound(
                group_of[layer.bottoms[0]], group_of[layer.tops[0]], WIDEST[bitwidth], layer
            )
    for name, group in group_of.items():
        readers = [layer for layer in layer_list if name in layer.bottoms]
        if not readers or not all(_cuts(layer) for layer in readers):
            group.deciding.append(name)
    return group_of


def _sharing(layer: Layer) -> Iterable[Sequence[str]]:
    if layer.type in _PASSING or (layer.type == "Pooling" and layer.attributes()["pool"] == "MAX"):
        yield [*layer.bottoms, *layer.tops]
    elif layer.type == "Eltwise":
        yield layer.bottoms


def _join(group_of: dict[str, FormatGroup], names: Sequence[str]) -> None:
    tensors = list(dict.fromkeys(tensor for name in names for tensor in group_of[name].tensors))
    group = FormatGroup(tensors)
    group_of.update(dict.fromkeys(tensors, group))


def _fix(group: FormatGroup, frac: int, layer: Layer) -> None:
    if group.fixed not in (None, frac):
        raise ModelError(
            f"layer {layer.name!r} ({layer.type}): it needs {frac} fraction bits for "
            f"{', '.join(group.tensors)}, but another layer needs {group.fixed}"
        )
    group.fixed = group.frac = frac


def _check_bound(group: FormatGroup, total: FormatGroup, widest: int, layer: Layer) -> None:
    """Check that a sum shifts right by at most this many bits."""
    least, most = (total.least, total.most) if total.fixed is None else (total.fixed, total.fixed)
    group.least, group.most = max(group.least, least), min(group.most, most + widest)
    if group.fixed is not None and not group.least <= group.fixed <= group.most:
        raise ModelError(
            f"layer {layer.name!r} ({layer.type}): another layer needs {total.fixed} fraction "
            f"bits for its output, but its input has {group.fixed}"
        )


def _cuts(layer: Layer) -> bool:
    return layer.type == "ReLU6" or (
        layer.type == "ReLU" and not layer.attributes()["negative_slope"]
    )
