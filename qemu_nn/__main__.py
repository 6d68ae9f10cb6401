"""`python -m qemu_nn` is `qemu-nn`."""

import signal
import sys
from typing import NoReturn

#: Exit code of a command that a signal ends: this and the number of the signal.
_SIGNALLED = 128


def start() -> None:
    """Run the command line; an interrupt while it is being loaded ends it without a traceback, and
    so does a missing C core. A command that is terminated removes its temporary files."""
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _terminate)
    try:
        from .cli.main import main

        main(prog_name="qemu-nn")
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(130)
    except ModuleNotFoundError as fault:
        from .io.csrc_files import make_missing_core_error

        told = make_missing_core_error(fault)
        if told is fault:
            raise
        print(f"Error: {told}", file=sys.stderr)
        sys.exit(2)


def _terminate(number: int, _frame: object) -> NoReturn:
    signal.signal(number, signal.SIG_DFL)
    sys.exit(_SIGNALLED + number)


if __name__ == "__main__":
    start()
