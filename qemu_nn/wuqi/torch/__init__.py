"""Fixed-point training on PyTorch, which is imported only once this is used."""
