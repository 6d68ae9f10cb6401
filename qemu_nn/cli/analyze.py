"""The verb analyze: what quantization cost, and where."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Optional

import click
from tqdm import tqdm

from ..api import analyze as inspection
from ..api import golden as pipeline
from ..errors import Error
from ..io import files
from ..io.arrays import read_array
from .options import PATH, device, form, say


@click.command()
@click.argument("model", type=PATH)
@click.option("-d", "--data", type=PATH, required=True, help="Real inputs: .npy, .npz, folder.")
@click.option("--labels", type=PATH, help="Right classes [N], if not in the data.")
@click.option("--html", type=PATH, help="Page to write.")
@click.option("--layout", type=click.Choice(["NHWC", "NCHW"]), help="Of the images in the data.")
@click.option("--threads", type=click.IntRange(1), default=1, show_default=True)
@form("json", "csv")
@device
def analyze(
    model: Path,
    data: Path,
    labels: Optional[Path],
    html: Optional[Path],
    form: Optional[str],
    **how: Any,
) -> None:
    """Say what quantization cost MODEL, and where.

    MODEL is what quantize wrote, which knows its float reference; or affine, such as a .tflite
    file, which is compared with what its integers stand for, and takes inputs of its own integers
    too. Every layer is compared as part of the network and alone.
    """
    if html is not None and not html.parent.is_dir():
        raise Error(f"there is no folder {html.parent} for {html.name}: make it first")
    network = pipeline.load_quantized(model)
    report = inspection.analyze(
        network,
        data,
        None if labels is None else read_array(labels, "y"),
        progress=lambda turns: tqdm(turns, disable=None, leave=False),
        **how,
    )
    if html is not None:
        files.write_bytes(html, report.html().encode("utf-8"))
    say(getattr(report, form or "text")())
