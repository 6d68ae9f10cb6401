"""The command that writes a network as a page for browsers: page."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Union

import click

from ..analysis.table import json_text
from ..api import golden as pipeline
from ..api import page as pages
from ..api.chain_json import described_by
from ..api.network import Network
from ..errors import Error
from .data_options import data as data_option
from .data_options import dataset, reading
from .options import PATH, device, form, say


@click.command()
@click.argument("model", type=PATH)
@click.option("-o", "--output", type=PATH, required=True, help="HTML file to write.")
@data_option("Samples that the page offers, the first 20 at most", required=False)
@reading
@click.option("--beside", multiple=True, metavar="TARGET", help="A further device to compare with.")
@form("json")
@device
def page(
    model: Path,
    output: Path,
    data: tuple[str, ...],
    beside: tuple[str, ...],
    form: Any,
    target: Any,
    **names: Any,
) -> None:
    """Write MODEL as a page that runs it in a browser.

    MODEL may be a chain.json: the page shows the scores of its last network over a WAV file.
    """
    front_end, samples = names["front_end"], None
    network: Union[Network, Path] = model
    if described_by(model) is None:
        network = pipeline.load_quantized(model)
        samples = dataset(network, data, names) if data else None
    elif data:
        raise Error(f"{model} is a chain of networks: its page takes no --data; leave it out")
    pages.page(network, output, target=[target, *beside], data=samples, front_end=front_end)
    size = output.stat().st_size
    if form:
        say(json_text({"page": str(output), "bytes": size}))
    else:
        say(f"{output}: {size:,} bytes; open it in a browser")
