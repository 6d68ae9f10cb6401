"""Common parts of training on PyTorch, for CMSIS-NN and the NPU."""
