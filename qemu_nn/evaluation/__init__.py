"""Batches of samples, the scorers that run networks on them, and statistics of layers."""
