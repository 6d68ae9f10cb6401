"""The conformance set: calls and small networks with the digests of each profile's results."""
