"""Benchmarks: networks of published geometry, kernel rows, and peer runtimes."""
