"""Rows of this host as test parameters, and caps that make hosts alike."""

import pytest

from qemu_nn.functions import FUNCTIONS
from qemu_nn.kernels import table as kernels


def row_param(*values, row, id):
    """pytest.param(*values, row), with the reason if this host lacks what the row needs."""
    missing = row.cpu & ~kernels.cpu_features()
    names = ", ".join(name for name, bit in kernels.FEATURES.items() if bit & missing)
    skip = pytest.mark.skipif(bool(missing), reason=f"{row} needs {names}")
    return pytest.param(*values, row, id=id, marks=skip)


needs_x86 = pytest.mark.skipif(
    all(row.variant != "avx2" for row in kernels.ROWS), reason="needs the rows of x86-64"
)


def may_ask(row):
    """True if this host can run the checks of a row, even if it cannot run the row.

    The checks are compiled for the row's vectors; those of rows on tiles need AVX-512.
    """
    tiles, vectors = (kernels.FEATURES[name] for name in ("amx", "avx512vnni"))
    needed = row.cpu & ~tiles | (vectors if row.cpu & tiles else 0)
    return not needed & ~kernels.HOST


#: Such rows of tiles.
asks_tiles = pytest.mark.skipif(
    not all(may_ask(row) for row in kernels.ROWS if row.variant == "amx"),
    reason="rows on AMX answer in AVX-512's instructions",
)


def cap_at(monkeypatch, newest):
    """Let every host that has an instruction set plan alike: none of newer ones runs."""
    if not kernels.cpu_features() & kernels.FEATURES[newest]:
        pytest.skip(f"needs {newest}")
    monkeypatch.setenv(kernels.CAP, newest)


def leaves_calls(row):
    """True if the row refuses some legal calls: rows on tiles need several pixels."""
    return row.variant in ("amx", "i8mm")


def fast_variants(name):
    """Return the variants of this host's fast rows of a C function that take all legal calls."""
    function = FUNCTIONS[name]
    rows = kernels.list_rows(function.op, function.type)
    return [r.variant for r in rows if r.kind == "fast" and r.runs_here() and not leaves_calls(r)]
