"""The layers of a network that was built."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .layers import Layer


@dataclass(frozen=True, eq=False)
class QuantLayer:
    """One layer of a network that was built, and the parameters that it computes with.

    Attributes
    ----------
    layer : Layer
        The layer.
    weight, bias : ndarray or None
        Integers, with the fractions below, or floats; None where the layer has none.
    frac_weight, frac_bias : int or ndarray of int, or None
        Fraction bits, one or one for each output channel; None for floats.
    built : numpy_net.Built or None
        The arguments of build_numpy_layers(), whose result it is a part of.
    """

    layer: Layer
    weight: Any = None
    bias: Any = None
    frac_weight: Any = None
    frac_bias: Any = None
    built: Any = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """The name of the layer."""
        return self.layer.name

    @property
    def type(self) -> str:
        """The type of the layer."""
        return self.layer.type


def quant_layer(layer: Layer, params: Mapping[str, Any], integer_weights: bool) -> QuantLayer:
    """Join a layer with its parameters.

    Parameters
    ----------
    layer : Layer
        The layer.
    params : mapping of str to object
        The parameters of the network.
    integer_weights : bool
        Take the chip's integers; else the floats.

    Returns
    -------
    QuantLayer
        The layer with its parameters.
    """
    kind = "quant_" if integer_weights else ""
    fracs = [f"{layer.name}_frac_{role}" for role in ("weight", "bias") if integer_weights]
    keys = [f"{layer.name}_{kind}weight", f"{layer.name}_{kind}bias", *fracs]
    return QuantLayer(layer, *map(params.get, keys))
