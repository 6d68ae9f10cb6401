"""The version of qemu_nn, which the files that it writes name."""

__version__ = "0.2.0"
