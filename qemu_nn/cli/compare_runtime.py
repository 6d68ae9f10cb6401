"""The command compare-runtime: the same file on the device and in another runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Optional

import click

from ..api.compare_runtime import compare_runtime as compared
from ..api.network import load_quantized
from ..api.other_runtimes import RUNTIMES
from ..io import files
from .data_options import data as data_option
from .data_options import dataset, reading
from .options import PATH, check_page, device, form, progress, say

DIFFERS = 1


@click.command("compare-runtime")
@click.argument("model", type=PATH)
@data_option("Inputs")
@click.option(
    "--runtime",
    type=click.Choice(list(RUNTIMES)),
    help="LiteRT's own kernels, LiteRT with XNNPACK (outputs only), TensorFlow Lite Micro's wheel "
    "or ONNX Runtime; by default the first that is installed and runs MODEL.",
)
@click.option("-o", "--output", type=PATH, help="HTML page to write: shares and maps of where.")
@form("json", "csv")
@reading
@device
@click.pass_context
def compare_runtime(
    ctx: click.Context,
    /,
    model: Path,
    data: tuple[str, ...],
    runtime: Optional[str],
    output: Optional[Path],
    form: Optional[str],
    **names: Any,
) -> None:
    """Compare MODEL on the device with another runtime, layer by layer.

    MODEL is a .tflite or quantized .onnx file; both compute it from the same integers. Exits with 1
    if any element differs.
    """
    check_page(output)
    samples = dataset(load_quantized(model), data, names)
    found = compared(model, samples, runtime, progress=progress, **names)
    if output is not None:
        files.write_bytes(output, found.html().encode())
    say(getattr(found, form or "text")())
    ctx.exit(0 if found.same else DIFFERS)
