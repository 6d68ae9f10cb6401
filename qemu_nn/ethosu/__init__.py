"""Arm's Ethos-U: containers of its command streams, their registers, and programs as data."""
