"""Elements of lists of built layers."""

from ...wuqi.quant_layers import QuantLayer, quant_layer

__all__ = ["QuantLayer", "quant_layer"]
