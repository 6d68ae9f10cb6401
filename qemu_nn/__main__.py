"""`python -m qemu_nn` is `qemu-nn`."""

import sys


def start() -> None:
    """Run the command line; an interrupt while it is being loaded ends it without a traceback, and
    so does a missing C core."""
    try:
        from .cli.main import main

        main(prog_name="qemu-nn")
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(130)
    except ModuleNotFoundError as fault:
        from .io.csrc_files import without_core

        told = without_core(fault)
        if told is fault:
            raise
        print(f"Error: {told}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    start()
