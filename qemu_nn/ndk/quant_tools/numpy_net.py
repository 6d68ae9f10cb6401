"""Run networks, in floats or as the NPU does, and read weights as floats."""

from ...wuqi.numpy_net import NumpyLayers, build_numpy_layers, get_layer_weight_bias, run_layers

__all__ = ["NumpyLayers", "build_numpy_layers", "get_layer_weight_bias", "run_layers"]
