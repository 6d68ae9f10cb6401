"""From float to fixed point, and what that costs: the kit's tools for quantization."""

from ..wuqi.quantize import analyze_tensor_distribution, compare_float_and_quant, quantize_model
from ..wuqi.training import quantize_model_with_training

__all__ = [
    "analyze_tensor_distribution",
    "compare_float_and_quant",
    "quantize_model",
    "quantize_model_with_training",
]
