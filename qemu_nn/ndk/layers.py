"""Networks as the NPU's kit has them: lists of Layer objects, and what their tensors are called."""

from ..wuqi.check import check_layers
from ..wuqi.layers import (
    Layer,
    find,
    get_layer_name_list,
    get_net_input_output,
    get_network_output,
    get_tensor_name_list,
    has_bias,
)

__all__ = [
    "Layer",
    "check_layers",
    "find",
    "get_layer_name_list",
    "get_net_input_output",
    "get_network_output",
    "get_tensor_name_list",
    "has_bias",
]
