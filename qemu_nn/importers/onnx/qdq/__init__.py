"""Quantized ONNX files: pairs of QuantizeLinear and DequantizeLinear, and operators on integers."""

from .network import convert as convert
from .network import is_quantized as is_quantized
