"""The verb analyze: what quantization cost, and where."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Optional

import click
from tqdm import tqdm

from ..api import analyze as inspection
from ..errors import Error
from ..io import files
from ..io.arrays import read_array
from .options import PATH, cluster, device, form, say, threads


@click.command()
@click.argument("model", type=PATH)
@click.option(
    "-d",
    "--data",
    type=PATH,
    required=True,
    help="Real inputs: an .npy or .npz file, or a folder; several inputs: an .npz with all.",
)
@click.option("--labels", type=PATH, help="Correct classes [N], if the data do not hold them.")
@click.option("--html", type=PATH, help="HTML page to write.")
@click.option(
    "--layout", type=click.Choice(["NHWC", "NCHW"]), help="Layout of the images in the data."
)
@threads
@cluster
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
    """Report what quantization cost MODEL, layer by layer.

    A file that quantize wrote is compared with its float network. Another affine network, such as
    a .tflite file, is compared with the real numbers that its integers stand for; its data may be
    integers, too. Every layer is compared as part of the network and alone.
    """
    if html is not None and not html.parent.is_dir():
        raise Error(f"there is no folder {html.parent} for {html.name}: create it first")
    report = inspection.analyze(
        model,
        data,
        None if labels is None else read_array(labels, "y"),
        progress=lambda turns: tqdm(turns, disable=None, leave=False),
        **how,
    )
    if html is not None:
        files.write_bytes(html, report.html().encode("utf-8"))
    say(getattr(report, form or "text")())
