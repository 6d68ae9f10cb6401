"""Runs networks, float or as the chip does, and reads weights as real numbers."""

from ...wuqi.numpy_net import NumpyLayers, build_numpy_layers, get_layer_weight_bias, run_layers

__all__ = ["NumpyLayers", "build_numpy_layers", "get_layer_weight_bias", "run_layers"]
