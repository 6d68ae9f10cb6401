"""Bit-exact emulation of fixed-point neural networks as Cortex-M devices run them."""
