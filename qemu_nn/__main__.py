"""`python -m qemu_nn` is `qemu-nn`."""

import sys


def start() -> None:
    """Run the command line; an interrupt while it is being loaded ends it without a traceback."""
    try:
        from .cli.main import main
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(130)
    main(prog_name="qemu-nn")


if __name__ == "__main__":
    start()
