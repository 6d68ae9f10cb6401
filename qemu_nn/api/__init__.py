"""Facades for users, and the only place that combines the stages."""
