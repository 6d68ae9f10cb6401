"""The command datasheet: the data sheet of a network on a device."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Optional

import click

from ..api import datasheet as sheets
from ..api.golden import load_quantized
from ..io import files
from .data_options import data as data_option
from .data_options import dataset, reading
from .options import PATH, check_page, device, form, progress, say, threads


@click.command()
@click.argument("model", type=PATH)
@data_option("Test data", required=False)
@click.option("-o", "--output", type=PATH, help="HTML page to write.")
@click.option("--board", help="Board, as for info --cycles; by default the one with the chip.")
@click.option("--clock", type=float, help="MHz, where it is not the board's.")
@click.option("--optimization", default="-O3", show_default=True, help="-O2, -O3, -Os or -Ofast.")
@click.option("--float-abi", default="hard", show_default=True, help="hard or soft.")
@click.option(
    "--measured", type=PATH, help="What `make report-m4` of an export printed: code and stack."
)
@reading
@threads
@form("json", "csv")
@device
def datasheet(
    model: Path, data: tuple[str, ...], output: Optional[Path], form: Optional[str], **how: Any
) -> None:
    """Write the data sheet of MODEL on a device, for a design review.

    One page: accuracy on the device's bits, flash and RAM against the chip's, cycles and time, and
    all of these layer by layer. --target names a chip (stm32f746) or a core.
    """
    check_page(output)
    network = load_quantized(model)
    samples = dataset(network, data, how)
    sheet = sheets.datasheet(network, samples, progress=progress, **how)
    if output is not None:
        files.write_text(output, sheet.html())
    say(getattr(sheet, form or "text")())
