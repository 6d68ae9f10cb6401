"""Which feature tensors share one fraction, and which fractions the hardware fixes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Optional

from ..errors import ModelError
from .layers import Layer
from .shifts import WIDEST
from .tables import FRACS, fraction

#: Types whose tensors all have one fraction (of Pooling: MAX; of Eltwise: the inputs).
_PASSING = ("ReLU", "ReLU6", "Slice", "Concat", "ShuffleChannel", "LogSoftmax")

#: Of layers that read a fixed fraction and make another one, with 8 bits and with 16.
_MADE = {"Sigmoid": (7, 15), "TanH": (7, 15)}

#: A number of fraction bits that nothing reaches.
_FAR = 2000


@dataclass
class Group:
    """Tensors that share a fraction. deciding: those whose values it is chosen for.

    least, most: what a sum of them, whose own fraction is fixed, can be shifted from.
    """

    tensors: list[str]
    deciding: list[str] = field(default_factory=list)
    least: int = -_FAR
    most: int = _FAR
    fixed: Optional[int] = None
    frac: Optional[int] = None


def groups(layer_list: Sequence[Layer], bitwidth: int) -> dict[str, Group]:
    """Tensor -> its group. Raises ModelError where the hardware asks for two fractions at once.

    What only a ReLU reads decides nothing: what the ReLU cuts off need not be represented.
    """
    found: dict[str, Group] = {}
    for layer in layer_list:
        for name in layer.tops:
            found[name] = Group([name])
        for names in _tied(layer):
            _join(found, names)
    for layer in layer_list:
        if layer.type in FRACS:
            read = fraction(layer.type, bitwidth)
            made = _MADE.get(layer.type, (read, read))[bitwidth == 16]
            _fix(found[layer.bottoms[0]], read, layer)
            _fix(found[layer.tops[0]], made, layer)
    for layer in reversed(layer_list):
        if layer.type in ("Eltwise", "Bias"):
            _bound(found[layer.bottoms[0]], found[layer.tops[0]], WIDEST[bitwidth], layer)
    for name, group in found.items():
        readers = [layer for layer in layer_list if name in layer.bottoms]
        if not readers or not all(_cuts(layer) for layer in readers):
            group.deciding.append(name)
    return found


def _tied(layer: Layer) -> Iterable[Sequence[str]]:
    if layer.type in _PASSING or (layer.type == "Pooling" and layer.attributes()["pool"] == "MAX"):
        yield [*layer.bottoms, *layer.tops]
    elif layer.type == "Eltwise":
        yield layer.bottoms


def _join(found: dict[str, Group], names: Sequence[str]) -> None:
    tensors = list(dict.fromkeys(each for name in names for each in found[name].tensors))
    group = Group(tensors)
    found.update(dict.fromkeys(tensors, group))


def _fix(group: Group, frac: int, layer: Layer) -> None:
    if group.fixed not in (None, frac):
        raise ModelError(
            f"layer {layer.name!r} ({layer.type}): it needs {frac} fraction bits for "
            f"{', '.join(group.tensors)}, another layer needs {group.fixed}"
        )
    group.fixed = group.frac = frac


def _bound(group: Group, total: Group, widest: int, layer: Layer) -> None:
    """A sum is shifted to the right, by so many bits at most."""
    least, most = (total.least, total.most) if total.fixed is None else (total.fixed, total.fixed)
    group.least, group.most = max(group.least, least), min(group.most, most + widest)
    if group.fixed is not None and not group.least <= group.fixed <= group.most:
        raise ModelError(
            f"layer {layer.name!r} ({layer.type}): another layer needs {total.fixed} fraction "
            f"bits for its sum, and what it reads has {group.fixed}"
        )


def _cuts(layer: Layer) -> bool:
    return layer.type == "ReLU6" or (
        layer.type == "ReLU" and not layer.attributes()["negative_slope"]
    )
