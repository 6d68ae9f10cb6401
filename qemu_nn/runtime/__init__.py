"""Execution of graphs: planned once, then run as one C call."""
