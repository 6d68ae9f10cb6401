"""The command validate: comparison of a device with the emulator."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Optional

import click

from ..api.golden import load_quantized
from ..api.validate import board_core
from ..api.validate import validate as validated
from ..errors import Error
from ..io import files
from ..targets import Target
from .data_options import data as data_option
from .data_options import dataset, reading
from .options import PATH, check_page, form, progress, say

#: The exit code where a device differs.
DIFFERS = 1

_DEVICE = ("target", "cmsis", "rounding", "kernels", "tflm")


@click.command()
@click.argument("model", type=PATH)
@click.option(
    "--on",
    "place",
    default="qemu:m4",
    show_default=True,
    metavar="WHERE",
    help="qemu:BOARD (m0, m3, m4, m7, m33, m55), serial:PORT@BAUD, tcp:HOST:PORT or "
    "command:PROGRAM.",
)
@data_option("Inputs, by default random, --limit of them", required=False)
@reading
@click.option(
    "--layers/--outputs",
    default=True,
    show_default=True,
    help="Compare every layer, or the outputs alone.",
)
@click.option(
    "--timeout",
    type=float,
    help="Seconds that the device may take for an answer.  [default: 10; 600 of QEMU]",
)
@click.option(
    "--make",
    multiple=True,
    metavar="NAME=VALUE",
    help="Of qemu:BOARD: a variable for make, such as CFLAGS=-Os; give it again for more.",
)
@click.option("--html", type=PATH, help="HTML page to write.")
@form("json", "csv")
@click.option("--target", help="Core or chip; by default the board's, or what the device says.")
@click.option("--cmsis", help="CMSIS release; by default as for export, or what the device says.")
@click.option("--rounding", help="Rounding; by default as Arm ships it, or what the device says.")
@click.option("--kernels", help="Kernels of TensorFlow Lite Micro, as for export.")
@click.option("--tflm", metavar="YYYY-MM", help="Month of TensorFlow Lite Micro, as for export.")
@click.pass_context
def validate(
    ctx: click.Context,
    /,
    model: Path,
    place: str,
    data: tuple[str, ...],
    html: Optional[Path],
    form: Optional[str],
    **how: Any,
) -> None:
    """Compare a device that runs MODEL with the emulator.

    Sends inputs to the device, receives what every layer computes, and says same, or the first
    layer and element that differ with the likely cause. qemu:BOARD exports MODEL and runs it on an
    emulated board; other devices run an export with link/ in their firmware. Exits with 1 if
    anything differs, with 2 if there is no device.
    """
    check_page(html)
    network, target = load_quantized(model), _target(place, how)
    how = {name: value for name, value in how.items() if name not in _DEVICE}
    samples = dataset(network, data, how)
    found = validated(network, samples, place, target=target, progress=progress, **how)
    if html is not None:
        files.write_text(html, found.html())
    say(getattr(found, form or "text")())
    ctx.exit(0 if found.same else DIFFERS)


def _target(place: str, options: dict[str, Any]) -> Optional[Target]:
    """Return the device that options name; None without any."""
    given = {name: options[name] for name in _DEVICE if options[name] is not None}
    if not given:
        return None
    device = given.pop("target", None)
    if device is None:
        if not place.startswith("qemu:"):
            raise Error(f"--{next(iter(given))} needs --target: add it")
        device = board_core(place)
    return Target(device, **given)
