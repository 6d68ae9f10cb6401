"""The conformance set: calls and small networks with the digests of what each profile computes."""
