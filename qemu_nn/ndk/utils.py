"""Feature tensors as C headers, in the orders that the chip reads."""

from ..wuqi.utils import save_quantized_feature_to_header

__all__ = ["save_quantized_feature_to_header"]
