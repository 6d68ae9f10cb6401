"""`python -m qemu_nn` is `qemu-nn`."""

from .cli import main

if __name__ == "__main__":
    main(prog_name="qemu-nn")
