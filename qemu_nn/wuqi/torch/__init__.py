"""Fixed-point training on PyTorch, which is imported on first use."""
