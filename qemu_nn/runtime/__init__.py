"""Graphs made to run: planned once, then executed as one C call."""
