"""The command analyze: quantization errors by layer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Optional

import click

from ..api import analyze as inspection
from ..api import golden as pipeline
from ..api import model_explorer as overlay
from ..io import files
from .data_options import data as data_option
from .data_options import dataset, reading
from .options import (
    PATH,
    check_page,
    cluster,
    device,
    form,
    original,
    parquet,
    progress,
    show,
    threads,
)
from .spelling import spelled


@click.command()
@click.argument("model", type=PATH)
@data_option("Test data")
@click.option("--html", type=PATH, help="HTML page to write.")
@click.option(
    "--model-explorer",
    type=PATH,
    metavar="FOLDER",
    help="Folder for node data of Google's Model Explorer: a file for each figure.",
)
@click.option(
    "--sensitivity", is_flag=True, help="Also measure what each layer and channel alone costs."
)
@reading
@original
@threads
@cluster
@parquet
@form("json", "csv")
@device
def analyze(
    model: Path,
    data: tuple[str, ...],
    html: Optional[Path],
    model_explorer: Optional[Path],
    parquet: Optional[Path],
    form: Optional[str],
    original: Optional[Path],
    **how: Any,
) -> None:
    """Report what quantization cost MODEL, layer by layer.

    A file that quantize wrote is compared with its float network. Another affine network, such as
    a .tflite file, is compared with the floats that its integers stand for; its data may be
    integers, too. Every layer is compared as part of the network and alone.
    """
    check_page(html)
    network = pipeline.load_quantized(model, original)
    report = inspection.analyze(
        network,
        dataset(network, data, how),
        progress=progress,
        **how,
    )
    advice = tuple(spelled(line, click.get_current_context().find_root()) for line in report.advice)
    report = replace(report, files={**report.files, "network": model.name}, advice=advice)
    if model_explorer is not None:
        overlay.write_node_data(model_explorer, network, report, how["target"])
    if html is not None:
        files.write_text(html, report.html())
    show(report, form, parquet)
