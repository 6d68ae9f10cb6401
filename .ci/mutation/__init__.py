"""Mutation testing of the C rows: see .ci/mutate."""
