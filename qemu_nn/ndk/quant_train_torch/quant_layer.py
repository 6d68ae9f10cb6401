"""A network of the NPU's kit as a PyTorch module that can be trained in fixed point."""

from ...wuqi.torch.quant_layer import QuantizedNet

__all__ = ["QuantizedNet"]
