"""The command that trains quantized networks."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Optional

import click

from ..analysis.table import json_text
from ..api import fine_tune as training
from ..api.data import Dataset
from ..api.network import load_quantized
from ..api.tflite_file import as_tflite, check_ending
from ..errors import Error, sentence
from ..io import files
from .data_options import data as data_option
from .data_options import dataset, reading
from .options import PATH, device, form, progress, say


@click.command(name="fine-tune")
@click.argument("model", type=PATH)
@data_option("Training data")
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
@reading
@form("json")
@device
def fine_tune(
    model: Path,
    data: tuple[str, ...],
    output: Path,
    validation: Optional[Path],
    validation_labels: Optional[Path],
    form: Optional[str],
    **how: Any,
) -> None:
    """Train the quantized network MODEL further, on PyTorch.

    MODEL is a .qnz file of quantize. Each step computes the bits of its device. Without labels it
    learns to give the scores of its float network. Writes the best network of all epochs.
    """
    check_ending(output)
    files.check_place(output)
    network = load_quantized(model)
    if output.suffix == ".tflite":  # refused before it is trained, not after
        as_tflite(network.graph, output, network.preprocessing)
    samples = dataset(network, data, how)
    held = None
    if validation is not None:
        same = {"layout": samples.layout, "front_end": samples.front_end}
        held = Dataset(validation, validation_labels, preprocessing=samples.preprocessing, **same)
    elif validation_labels is not None:
        raise Error("--validation-labels needs --validation: add it")
    how.update(seed=samples.seed, validation=held, progress=progress)
    tuned = training.fine_tune(network, samples, **how)
    tuned.save(output)
    if form is None:
        say(sentence(tuned.notes[-1]))
    else:
        facts = {"network": tuned.graph.name, "file": str(output), "notes": list(tuned.notes)}
        say(json_text(facts))
