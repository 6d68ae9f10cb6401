"""The command demo: a first run, and files to try the other commands on."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Optional

import click
import numpy as np

from ..analysis.accuracy import count_right, describe_accuracy
from ..analysis.summary import format_facts
from ..analysis.table import Cell, json_text
from ..api import golden as pipeline
from ..runtime import batch
from .options import PATH, form, say

#: Networks of the example: float, 8 bits with scales, 8 bits with powers of two.
_MODELS = ("digits.onnx", "digits.tflite", "digits.qnz")

#: Fraction bits of the stored images, and the number of images for calibration.
_FRACTION_BITS, _CALIBRATION = 7, 120


@click.command()
@click.option(
    "-o",
    "--output",
    type=PATH,
    default=Path("qemu_nn_demo_goldens"),
    show_default=True,
    help="Folder to write.",
)
@click.option(
    "--files",
    "folder",
    type=PATH,
    help="Folder to copy the example's networks and data to: digits.onnx, digits.tflite, "
    "digits.qnz, calib.npz and test.npz.",
)
@form("json")
def demo(output: Path, folder: Optional[Path], form: Optional[str]) -> None:
    """Run the example network and write its goldens."""
    network, x, y = pipeline.example()
    if form is None:
        say(f"{pipeline.describe(network).text()}\n")
    session = network.session()
    written = pipeline.golden(network, x[:3], output)
    results = session.run(x)
    right, total = count_right(network.graph, results, y)
    speed = round(batch.measure_inferences_per_second(session, x))
    if folder is not None:
        _copy_files(folder, x, y)
    if form is not None:
        facts = {"accuracy": right / total, "inferences_per_second": speed}
        folders = {"goldens": str(output), "files": None if folder is None else str(folder)}
        say(json_text({"network": network.graph.name, **facts, **folders}))
        return
    told: dict[str, Cell] = {
        "accuracy": describe_accuracy(network.graph, results, y),
        "inferences per second": speed,
        "goldens": f"{len(written.names)} arrays of {written.inputs} inputs in {output}",
    }
    if folder is not None:
        told["files"] = f"{', '.join(_MODELS)}, calib.npz and test.npz in {folder}"
    say(format_facts(told))


def _copy_files(folder: Path, x: np.ndarray, y: np.ndarray) -> None:
    """Write the example's networks, and its images as floats from 0 to 1, to a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in _MODELS:
        source = files("qemu_nn") / "demo" / name
        (folder / name).write_bytes(source.read_bytes())
    images = x / np.float32(1 << _FRACTION_BITS)
    np.savez(folder / "calib.npz", x=images[:_CALIBRATION], y=y[:_CALIBRATION])
    np.savez(folder / "test.npz", x=images[_CALIBRATION:], y=y[_CALIBRATION:])
