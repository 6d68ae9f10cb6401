"""The command that trains quantized networks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..api import fine_tune as training
from ..api.network import load_quantized
from ..api.tflite_file import as_tflite, check_ending
from ..errors import sentence
from ..io import files
from .data_options import data as data_option
from .options import PATH, device, progress, say


@click.command(name="fine-tune")
@click.argument("model", type=PATH)
@data_option("Training data")
@click.option("--labels", type=PATH, help="Their classes, if data hold none.")
@click.option(
    "--validation", type=PATH, help="Data that judge each epoch; default: every fifth sample."
)
@click.option("--validation-labels", type=PATH, help="Their classes, if they hold none.")
@click.option(
    "-o", "--output", type=PATH, required=True, help=".qnz file to write, or .tflite file."
)
@click.option(
    "--epochs",
    type=click.IntRange(1),
    default=10,
    show_default=True,
    help="How often all samples are seen.",
)
@click.option(
    "--batch", type=click.IntRange(1), default=32, show_default=True, help="Samples of a step."
)
@click.option(
    "--learning-rate",
    type=click.FloatRange(0, min_open=True),
    default=0.0003,
    show_default=True,
    help="Of Adam, in the first step; it falls to 0.",
)
@click.option(
    "--learn-formats/--fixed-formats",
    default=True,
    show_default=True,
    help="Train the steps of weights and tensors, too.",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Which order.")
@click.option("--layout", type=click.Choice(["NHWC", "NCHW"]), help="Layout of images in the data.")
@click.option("--front-end", type=PATH, help="chain.json that makes features of WAV files.")
@device
def fine_tune(model: Path, data: Path, output: Path, **how: Any) -> None:
    """Train the quantized network MODEL further, on PyTorch.

    MODEL is a .qnz file of quantize. Each step computes the bits of its device. Without labels it
    learns to give the scores of its float network. Writes the best network of all epochs.
    """
    check_ending(output)
    files.check_place(output)
    network = load_quantized(model)
    if output.suffix == ".tflite":  # refused before it is trained, not after
        as_tflite(network.graph, output, network.preprocessing)
    tuned = training.fine_tune(network, data, progress=progress, **how)
    tuned.save(output)
    say(sentence(tuned.notes[-1]))
