"""Times whole networks and every row of the kernel table: python -m benchmarks [options].

The same as `qemu-nn bench`, for a checkout that is not installed.
"""

from __future__ import annotations

import sys

from qemu_nn.cli.main import main

if __name__ == "__main__":
    main(["bench", *sys.argv[1:]], prog_name="python -m benchmarks")
