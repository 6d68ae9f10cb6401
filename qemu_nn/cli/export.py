"""The verb that writes networks for the device: export."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Any, Optional

import click

from ..api import export as delivery
from ..api import golden as pipeline
from .inputs import read_inputs
from .options import PATH, device, force, inputs, say


@click.command()
@click.argument("model", type=PATH)
@click.option("-o", "--output", type=PATH, required=True, help="Folder to write.")
@inputs(" For the self-test; by default random.")
@click.option(
    "--layers", type=click.Choice(["one"]), help="one: also write everything as one header."
)
@force
@device
def export(
    model: Path,
    output: Path,
    inputs: tuple[str, ...],
    layers: Optional[str],
    force: bool,
    **names: str,
) -> None:
    """Write MODEL as C that calls CMSIS-NN, with a self-test.

    `make` in the folder builds the self-test for this PC, `make m4` for an emulated Cortex-M4.
    """
    network = pipeline.load_quantized(model)
    x = read_inputs(network.graph, inputs) if inputs else None
    how: dict[str, Any] = {**names, "one_header": layers == "one", "force": force}
    written = delivery.export(network, output, x=x, **how)
    say(
        f"{network.graph.name} in {output}: {written.ram} bytes of RAM, "
        f"{written.flash} of weights and biases; make -C {quote(str(output))} runs its self-test"
    )
