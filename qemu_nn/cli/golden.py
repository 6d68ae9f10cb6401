"""The commands of outputs that firmware is tested against: golden, compare."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Optional

import click

from ..analysis.table import json_text
from ..api import golden as pipeline
from ..io import files
from ..io.arrays import read_state
from .data_options import data as data_option
from .data_options import dataset, reading
from .options import PATH, device, force, form, junit, progress, say, state, threads

DIFFERS = 1


@click.command()
@click.argument("model", type=PATH)
@data_option("Inputs")
@click.option("-o", "--output", type=PATH, required=True, help="Folder or .npz file to write.")
@click.option(
    "--format",
    type=click.Choice(pipeline.FORMATS),
    help="A folder, or one .npz file: by default the file for more than ten inputs.",
)
@reading
@state
@threads
@force
@form("json")
@device
def golden(
    model: Path,
    data: tuple[str, ...],
    output: Path,
    state: Optional[Path],
    threads: int,
    force: bool,
    format: Optional[str],
    form: Optional[str],
    **names: Any,
) -> None:
    """Write goldens: the output of each layer of MODEL.

    In a folder each golden is a .npy file, a .bin file and a C header, for every input and layer;
    it also holds the C code that checks them on a device. An archive has the arrays alone, in one
    file that compare and numpy.load read.
    """
    network = pipeline.load_quantized(model)
    samples = dataset(network, data, names)
    how: dict[str, Any] = {
        **names,
        "threads": threads,
        "state": read_state(state),
        "progress": progress,
        "force": force,
        "format": format,
    }
    written = pipeline.golden(network, samples, output, **how)
    if form is None:
        say(f"{len(written.names)} goldens of {written.inputs} inputs in {written.folder}")
        return
    facts = {"folder": str(written.folder), "inputs": written.inputs, "bytes": written.nbytes}
    say(json_text({"network": network.graph.name, **facts, "goldens": list(written.names)}))


@click.command()
@click.argument("golden", type=PATH)
@click.argument("dump", type=PATH)
@click.option(
    "--base",
    type=click.Choice(["10", "16"]),
    help="Base of numbers in texts; by default 16 of .hex files, 10 of .csv files, and of other "
    "texts the one that fits the whole text.",
)
@click.option(
    "--model",
    type=PATH,
    help="The network of the goldens: name the fault that explains a layer that differs.",
)
@form("json")
@junit
@click.pass_context
def compare(
    ctx: click.Context,
    /,
    golden: Path,
    dump: Path,
    base: Optional[str],
    model: Optional[Path],
    form: Optional[str],
    junit: Optional[Path],
) -> None:
    """Compare a device's outputs in DUMP with the goldens in GOLDEN.

    GOLDEN is a folder or an archive, DUMP a folder whose files have the names of the goldens, or
    the log of a self-test that prints its results (make DUMP=1). Exits with 1 if any differs.
    """
    comparison = pipeline.compare(golden, dump, None if base is None else int(base), model)
    if junit is not None:
        files.write_bytes(junit, comparison.junit(str(golden)).encode())
    say(comparison.json() if form else str(comparison))
    ctx.exit(0 if comparison.same else DIFFERS)
