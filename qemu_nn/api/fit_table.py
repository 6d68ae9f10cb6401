"""One network on several chips: memory, time and verdicts next to each other."""

from __future__ import annotations

from collections.abc import Sequence

from ..analysis.table import Cell, Table, verdict
from ..chips import Chip
from ..errors import Error
from ..targets import Target
from .estimate import estimate
from .network import Network

_COLUMNS = ("chip", "core", "flash_needed", "flash_left", "ram_needed", "ram_left", "fits")
_TFLM = ("arena", "fits_tflm")


def split_chips(text: str) -> list[str]:
    """Return the chips of a list with commas; neighbours with `=` are the figures of one chip."""
    found: list[str] = []
    for part in text.split(","):
        own = "=" in part and not part.strip().startswith("flash=")
        if own and found and "=" in found[-1]:
            found[-1] += f",{part}"
        else:
            found.append(part)
    return [each.strip() for each in found]


def fit_table(network: Network, chips: Sequence[str], stack: int, target: Target) -> Table:
    """Return a row for each chip: bytes, milliseconds of an inference, and whether it fits.

    target: the build of each chip; its device is not used. Milliseconds are None for cores and
    releases without instruction counts, and for a chip without a clock.
    """
    fits = {chip: network.fit(target.on(chip), stack=stack) for chip in chips}
    tflm = network.tflm_figures is not None
    columns = (*_COLUMNS, *(_TFLM if tflm else ()), "milliseconds")
    rows: list[tuple[Cell, ...]] = []
    for name, fit in fits.items():
        memory = {row["memory"]: row for row in fit.table().records()}
        flash, ram = memory["flash"], memory["RAM"]
        own = (fit.tflm.arena, verdict(bool(fit.fits_tflm))) if fit.tflm else ()
        cells = (flash["needed"], flash["left"], ram["needed"], ram["left"], verdict(fit.fits))
        time = _milliseconds(network, target.on(name), fit.chip)
        rows.append((name, fit.chip.core, *cells, *own, time))
    return Table(columns, tuple(rows))


def _milliseconds(network: Network, target: Target, chip: Chip) -> Cell:
    """Return the usual time of an inference at the highest clock of a chip."""
    if not chip.clock:
        return None
    try:
        found = estimate(network, target)
    except Error:  # there are no counts
        return None
    return float(f"{found.cycles[1] / chip.clock / 1000:.3g}")
