"""The layers of a network that was built."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .layers import Layer


@dataclass(frozen=True, eq=False)
class QuantLayer:
    """One layer of a network that was built, and the parameters that it computes with.

    weight, bias: integers with the fractions frac_weight and frac_bias, or real numbers without;
    None where the layer has none.
    """

    layer: Layer
    weight: Any = None
    bias: Any = None
    frac_weight: Any = None
    frac_bias: Any = None

    @property
    def name(self) -> str:
        """The name of the layer."""
        return self.layer.name

    @property
    def type(self) -> str:
        """The type of the layer."""
        return self.layer.type


def quant_layer(layer: Layer, params: Mapping[str, Any], integer_weights: bool) -> QuantLayer:
    """A layer with its parameters: the chip's integers, or the real numbers."""
    kind = "quant_" if integer_weights else ""
    fracs = [f"{layer.name}_frac_{role}" for role in ("weight", "bias") if integer_weights]
    keys = [f"{layer.name}_{kind}weight", f"{layer.name}_{kind}bias", *fracs]
    return QuantLayer(layer, *map(params.get, keys))
