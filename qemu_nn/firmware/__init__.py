"""Files for firmware: C headers, goldens and self-tests."""
