"""Random calls, and calls that stand for every op: for tests, benchmarks and `variants`."""
