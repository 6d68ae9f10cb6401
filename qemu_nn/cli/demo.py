"""The verb of a first look: demo."""

from __future__ import annotations

from pathlib import Path

import click

from ..analysis.accuracy import accuracy_text
from ..analysis.summary import facts_text
from ..analysis.table import Cell
from ..api import golden as pipeline
from ..runtime import batch
from .options import PATH, say


@click.command()
@click.option(
    "-o",
    "--output",
    type=PATH,
    default=Path("qemu_nn_demo_goldens"),
    show_default=True,
    help="Folder to write.",
)
def demo(output: Path) -> None:
    """Run the example network and write its goldens."""
    network, x, y = pipeline.example()
    say(f"{pipeline.describe(network).text()}\n")
    session = network.session()
    written = pipeline.golden(network, x[:3], output)
    facts: dict[str, Cell] = {
        "accuracy": accuracy_text(network.graph, session.run(x), y),
        "inferences per second": round(batch.inferences_per_second(session, x)),
        "goldens": f"{len(written.names)} arrays of {written.inputs} inputs in {output}",
    }
    say(facts_text(facts))
