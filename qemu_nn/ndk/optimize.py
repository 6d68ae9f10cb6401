"""Networks with fewer layers: scales and biases in the layers with weights next to them."""

from ..wuqi.optimize import add_pre_norm, merge_biases, merge_layers

__all__ = ["add_pre_norm", "merge_biases", "merge_layers"]
