"""Version of qemu_nn, recorded in the files that it writes."""

__version__ = "0.2.0"
