"""The verb report: the data sheet of a network on a device."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Optional

import click
from tqdm import tqdm

from ..api.datasheet import datasheet
from ..api.golden import load_quantized
from ..errors import Error
from ..io import files
from .data_options import prepared, reading
from .options import PATH, device, form, say, threads


@click.command()
@click.argument("model", type=PATH)
@click.option("-d", "--data", type=PATH, help="Test data, as for evaluate.")
@click.option("--labels", type=PATH, help="What is right, if the data do not hold it.")
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
def report(
    model: Path, data: Optional[Path], output: Optional[Path], form: Optional[str], **how: Any
) -> None:
    """Write the data sheet of MODEL on a device, for a design review.

    One page: accuracy on the device's bits, flash and RAM against the chip's, cycles and time, and
    all of these layer by layer. --target names a chip (stm32f746) or a core.
    """
    if output is not None and not output.parent.is_dir():
        raise Error(f"there is no folder {output.parent} for {output.name}: create it first")
    network = load_quantized(model)
    how = prepared(network, how)
    sheet = datasheet(
        network, data, progress=lambda turns: tqdm(turns, disable=None, leave=False), **how
    )
    if output is not None:
        files.write_bytes(output, sheet.html().encode("utf-8"))
    say(getattr(sheet, form or "text")())
