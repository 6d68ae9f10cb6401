"""The command run: outputs of a network on data."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Optional

import click
import numpy as np

from ..analysis.accuracy import count_right, describe_accuracy
from ..analysis.outputs import SAMPLES, output_values, outputs_csv, show_outputs
from ..analysis.table import Table, json_text
from ..api import golden as pipeline
from ..api import run as running
from ..api.chain_json import described_by
from ..api.data import coded_batches
from ..api.network import Network
from ..errors import Error
from ..io.arrays import read_state, write_npz
from .chain import run_chain, say_largest
from .data_options import data as data_option
from .data_options import dataset, reading
from .options import PATH, cluster, device, progress, say, state, threads, variant
from .options import form as form_option
from .scores import real_scores, say_best, say_rest


@click.command()
@click.argument("model", type=PATH)
@data_option("Inputs; of a chain also a .wav file")
@click.option(
    "-o",
    "--output",
    type=PATH,
    help="What to write: a .npz file, a .npy file of the only output, or a folder of .npy files.",
)
@click.option(
    "--trace", is_flag=True, help="Write the output of every layer, not only of the last."
)
@real_scores
@form_option("json", "csv")
@reading
@state
@threads
@cluster
@variant
@device
def run(
    model: Path,
    data: tuple[str, ...],
    output: Optional[Path],
    real: bool,
    top: Optional[int],
    state: Optional[Path],
    form: Optional[str],
    **how: Any,
) -> None:
    """Run MODEL on inputs, and print its outputs or write them.

    Without --output, the best classes of each sample are printed, or the first values; --csv prints
    all values. Inputs of any size are read, and outputs written, batch after batch. MODEL may also
    be a chain.json, which puts networks in a row; it takes a WAV file, too.
    """
    if output is not None:
        running.check_output(output)
    scores = bool(real or top or how["classes"])
    if how["trace"] and scores:
        raise Error("--trace and --real are given, but only outputs have floats: leave one out")
    if described_by(model) is not None:
        others = {"state": state, "real": scores, **how}
        found, results = run_chain(model, data, others)
        if output is not None:
            write_npz(output, results)
        if form is not None:
            _say_form(form, model.stem, results, output, None, {})
            return
        _say_arrays(results)
        say_largest(found, results)
        return
    network = pipeline.load_quantized(model)
    samples = dataset(network, data, how)
    right = None
    if samples.labels is not None:
        right = coded_batches(network.host, samples).labels()
    how.update(state=read_state(state), real=scores, progress=progress)
    results = running.run(network, samples, output, **how)
    if form is not None:
        right_share = None if right is None else _accuracy(network, results, right)
        layouts = network.host.output_layouts() if scores else {}
        _say_form(form, network.graph.name, results, output, right_share, layouts)
        return
    if scores:
        say_best(network.graph, results, top, samples.classes)
    if output is None and not scores and not how["trace"]:
        _say_outputs(network, results)
    _say_arrays(results)
    if right is not None:
        last = _last(network, results)
        say(f"\naccuracy: {describe_accuracy(network.graph, last, right)}")


def _last(network: Network, results: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the last output, by its name in the network."""
    name = network.graph.outputs[-1]
    return {name: results[name] if name in results else list(results.values())[-1]}  # real scores


def _accuracy(
    network: Network, results: dict[str, np.ndarray], labels: np.ndarray
) -> Optional[float]:
    right, total = count_right(network.graph, _last(network, results), labels)
    return right / total if total else None


def _say_form(
    form: str,
    network: str,
    results: dict[str, np.ndarray],
    output: Optional[Path],
    accuracy: Optional[float],
    layouts: Mapping[str, Optional[str]],
) -> None:
    """Print all values as CSV or JSON; JSON names the file that has them instead, if any."""
    if form == "csv":
        say(outputs_csv(results))
        return
    file = None if output is None else str(output)
    arrays = output_values(results, output is None, layouts)
    document = {"network": network, "file": file, "outputs": arrays, "accuracy": accuracy}
    say(json_text(document))


def _say_outputs(network: Network, results: dict[str, np.ndarray]) -> None:
    """List what the outputs of the first samples stand for."""
    first = {name: array[:SAMPLES] for name, array in results.items()}
    scores, graph = network.host.scores(first), network.graph
    say(f"{show_outputs(scores, graph.input.shape, graph.classes).text()}\n")
    say_rest(len(next(iter(results.values()))))


def _say_arrays(arrays: dict[str, np.ndarray]) -> None:
    rows = tuple((name, str(a.dtype), "x".join(map(str, a.shape))) for name, a in arrays.items())
    say(Table(("array", "dtype", "shape"), rows).text())
