"""Times, measured: python -m benchmarks."""
