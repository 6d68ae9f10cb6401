"""Choice of a network's fractions, layer by layer, and rounding of its weights and biases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Optional

import numpy as np

from ..errors import Error
from ..ir.statistics import Statistics
from . import weights
from .format_groups import FormatGroup, find_format_groups
from .layers import WEIGHTED, Layer
from .numpy_net import NumpyLayers, build_numpy_layers, run_layers
from .overrides import Overrides
from .preferences import Preferences
from .shapes import infer_feature_shapes
from .shifts import WIDEST, Fractions, assign_fractions

#: The layer types that can read an unsigned input.
_UNSIGNED = ("Convolution", "InnerProduct", "BatchNorm", "Scale", "Bias")

ROLES = ("weight", "bias")


@dataclass
class ModelQuantizer:
    """Quantizer of one network; `params` has the decisions, `log` the reasons.

    steps: number of batches of `source`. If `aggressive`, they are observed once for all tensors.
    Otherwise they are observed again for each format group, with decided weights and features on
    their grids.
    """

    layers: Sequence[Layer]
    params: dict[str, Any]
    bits: int
    source: Iterator[np.ndarray]
    overrides: Overrides
    preferences: Preferences
    order: str
    compensate: bool
    aggressive: bool
    steps: int
    log: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.shapes = infer_feature_shapes(self.layers)
        self.groups = find_format_groups(self.layers, self.bits)
        for group in self.groups.values():
            self.overrides.feature(group)  # raises for a fraction that the hardware lacks
        self.seen: dict[str, Statistics] = {}

    def run(self, first: Sequence[np.ndarray]) -> None:
        """Assign all fractions; first: batches observed before those of the source."""
        self._count(list(self.shapes), self._float(), first)
        if self.aggressive:
            self._count(list(self.shapes), self._float(), self._next())
        for layer in self.layers:
            if layer.type == "Input":
                self._input(layer)
            elif layer.type in (*WEIGHTED, "Bias"):
                self._assign_weighted(layer)
            else:
                self._other(layer)
            for name in layer.tops:
                self._is_decided(name)

    # Contents of the tensors

    def _float(self) -> NumpyLayers:
        return build_numpy_layers(self.layers, self.params, quant=False)

    def _next(self) -> Iterator[np.ndarray]:
        return (batch for _, batch in zip(range(self.steps), self.source))

    def _count(self, names: Sequence[str], net: NumpyLayers, source: Any) -> None:
        for x in source:
            values = run_layers(x, self.layers, names, numpy_layers=net)
            for name in names:
                if name not in self.seen:
                    group = self.groups[name]
                    decides = name in group.deciding and not self._get_given(group)
                    self.seen[name] = Statistics(self.preferences.bins_of(name) if decides else 0)
                try:
                    self.seen[name].add(values[name])
                except Error as error:
                    raise Error(f"tensor {name!r}: {error}") from None

    def _statistics(self, group: FormatGroup) -> dict[str, Statistics]:
        """Return the statistics of the tensors that decide a group's fraction."""
        if not self.aggressive and group.fixed is None:
            known = dict(self.params)
            for layer in self.layers:
                if layer.type in (*WEIGHTED, "Bias"):
                    known.update(self._on_grid(layer))
            net = build_numpy_layers(self.layers, known, True, self.bits, quant_feature_only=True)
            fresh = {name: self.seen.pop(name) for name in group.deciding}
            self._count(group.deciding, net, self._next())
            for name, statistics in fresh.items():  # the generator has ended
                self.seen.setdefault(name, statistics)
        return {name: self.seen[name] for name in group.deciding}

    def _on_grid(self, layer: Layer) -> dict[str, np.ndarray]:
        """Return weights and bias with the chip's values, once decided."""
        on_grid = {}
        for role in ROLES:
            name = f"{layer.name}_{role}"
            integers = self.params.get(f"{layer.name}_quant_{role}")
            if integers is not None:
                frac = np.asarray(self.params[f"{layer.name}_frac_{role}"])
                shape = (-1, *[1] * (integers.ndim - 1))
                on_grid[name] = np.ldexp(integers.astype(np.float64), -frac.reshape(shape))
        return on_grid

    # Features

    def _choose_fraction(self, group: FormatGroup) -> int:
        """Return the fraction of a group: given, fixed, or the finest that covers its deciding
        tensors.
        """
        given = self.overrides.feature(group)
        if given is not None:
            return given
        if group.fixed is not None:
            return group.fixed
        asked = {
            name: self.preferences.feature(name, statistics, self._is_signed(name))
            for name, statistics in self._statistics(group).items()
        }
        for name, frac in asked.items():
            low, high = self.seen[name].low, self.seen[name].high
            method = self.preferences.method(name)
            self.log.append(f"{name}: {low:.6g} .. {high:.6g}, {method} asks for {frac}")
        return min(max(min(asked.values()), group.least), group.most)

    def _get_given(self, group: FormatGroup) -> bool:
        return group.fixed is not None or self.overrides.feature(group) is not None

    def _is_signed(self, name: str) -> bool:
        return bool(self.params.get(f"{name}_signed", True))

    def _set(self, group: FormatGroup, frac: int) -> None:
        group.frac = frac
        self.params.update({f"{name}_frac": frac for name in group.tensors})

    def _is_decided(self, name: str) -> None:
        self.params[f"{name}_frac"] = self.groups[name].frac
        self.params.setdefault(f"{name}_signed", True)
        self.log.append(f"{name}: {self.groups[name].frac} fraction bits")

    def _input(self, layer: Layer) -> None:
        """Add the input: unsigned if no value is negative and its readers allow it."""
        name = layer.tops[0]
        readers = [layer for layer in self.layers if name in layer.bottoms]
        able = self.bits == 8 and all(reader.type in _UNSIGNED for reader in readers)
        wanted = self.overrides.is_signed(name)
        if wanted is None:
            wanted = not (able and self.seen[name].low >= 0)
        if not wanted and not able:
            raise Error(
                f"usr_param_dict: {name!r} is unsigned, but only an 8-bit input can be, and "
                f"only if {', '.join(_UNSIGNED)} alone read it"
            )
        self.params[f"{name}_signed"] = wanted
        self._set(self.groups[name], self._choose_fraction(self.groups[name]))

    def _other(self, layer: Layer) -> None:
        """Add a layer without weights, with a sum or product that the hardware can shift."""
        for name in layer.tops:
            group = self.groups[name]
            if group.frac is not None:
                continue
            frac, widest = self._choose_fraction(group), WIDEST[self.bits]
            if layer.type in ("Eltwise", "ScaleByTensor") and not self._get_given(group):
                tensors = layer.bottoms[:1] if layer.type == "Eltwise" else layer.bottoms
                total = sum(int(self.groups[tensor].frac or 0) for tensor in tensors)
                frac = max(min(frac, total), total - widest)
            self._set(group, frac)

    # Weights

    def _assign_weighted(self, layer: Layer) -> None:
        """Assign the fractions of the output, weights and bias of a layer."""
        group = self.groups[layer.tops[0]]
        source = int(self.groups[layer.bottoms[0]].frac or 0)
        channels = self.shapes[layer.tops[0]][0]
        real = {
            role: weights.get_float_parameter(layer, role, channels, self.params)
            for role in ("weight", "bias")
        }
        wanted: dict[str, Optional[np.ndarray]] = {"weight": None, "bias": None}
        given = dict(wanted)
        for role, values in real.items():
            if values is not None:
                wanted[role] = self.preferences.channels(f"{layer.name}_{role}", values)
                given[role] = self.overrides.parameter(layer, role, channels)
                now = wanted[role] if given[role] is None else given[role]
                self._put(layer, role, values, now)  # used by the statistics of its output
        known = group.frac
        if known is None and self._get_given(group):
            known = self._choose_fraction(group)
        if real["weight"] is None:  # weights of 1
            given["weight"] = np.zeros(channels, np.int64)
        out = self._choose_fraction(group) if known is None else None
        chosen = assign_fractions(
            self.order,
            Fractions(out, _plus(wanted["weight"], source), wanted["bias"]),
            Fractions(known, _plus(given["weight"], source), given["bias"]),
            WIDEST[self.bits],
        )
        assert chosen.out is not None
        assert chosen.products is not None
        self._set(group, chosen.out)
        if real["weight"] is not None:
            self._put(layer, "weight", real["weight"], chosen.products - source)
        if real["bias"] is not None:
            self._bias(layer, real["bias"], chosen, given["bias"] is not None)
        for role in ROLES:
            if real[role] is not None:
                name, has = f"{layer.name}_{role}", self.params[f"{layer.name}_frac_{role}"]
                method = "the user" if given[role] is not None else self.preferences.method(name)
                asks = wanted[role] if given[role] is None else given[role]
                self.log.append(
                    f"{name}: {method} asks for {_list(asks)}; the shifts allow {_list(has)}"
                )

    def _bias(self, layer: Layer, bias: np.ndarray, now: Fractions, fixed: bool) -> None:
        """Round a bias plus half a step of the output, more coarsely where it saturates."""
        assert now.bias is not None
        assert now.products is not None
        frac = now.bias
        if self.compensate:
            bias = bias + np.ldexp(0.5, -int(now.out or 0))
            if not fixed:
                most = 2 ** (self.bits - 1) - 1
                over = np.abs(np.floor(np.ldexp(bias, frac) + 0.5)) > most
                frac = np.maximum(frac - over, now.products - WIDEST[self.bits])
        self._put(layer, "bias", bias, frac)

    def _put(self, layer: Layer, role: str, values: Any, fracs: Any) -> None:
        self.params[f"{layer.name}_quant_{role}"] = weights.round_parameter(
            values, fracs, self.bits
        )
        self.params[f"{layer.name}_frac_{role}"] = fracs


def _plus(fracs: Optional[np.ndarray], more: int) -> Optional[np.ndarray]:
    return None if fracs is None else fracs + more


def _list(fracs: Any) -> str:
    """Return fractions for the log: a single number if all are equal."""
    values = np.unique(fracs)
    return str(int(values[0])) if len(values) == 1 else str(np.asarray(fracs).tolist())
