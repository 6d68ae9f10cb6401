"""Chooses the power-of-two formats of a float network: from data, by a policy, until all fits."""
