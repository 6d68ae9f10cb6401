"""Chooses the number formats of a float network, from data and by a policy."""
