"""The verbs that measure and compare: bench, variants."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Optional

import click

from ..analysis.table import Table
from ..analysis.variants import builds_text
from ..api import golden as pipeline
from ..api.data import coded
from ..api.network import Network
from ..bench.contest import contest
from ..bench.networks import NETWORKS
from ..bench.npu_networks import NPU_NETWORKS
from ..bench.report import Report, check_picture, draw, host
from ..bench.rows import time_rows
from ..bench.s8_networks import S8_NETWORKS
from ..bench.variants import function_variants, network_variants
from ..errors import Error
from ..io.arguments import have
from ..io.arrays import read_state
from ..io.version import __version__
from ..kernels import table as kernels
from ..kernels.devices import profile_for
from .data_options import reading, reading_of
from .inputs import inputs_of
from .options import PATH, cluster, device, form, inputs, say, state, variant

_COUNT = click.IntRange(1)
_NETWORKS = {**NETWORKS, **S8_NETWORKS, **NPU_NETWORKS}


@click.command()
@click.argument("networks", nargs=-1, metavar="[MODEL|NETWORK]...")
@click.option("--rows", is_flag=True, help="Time every row of the kernel table.")
@click.option(
    "--cpu",
    type=click.Choice(["none", *kernels.FEATURES]),
    help="Newest instruction set to use, as in QEMU_NN_CPU.",
)
@click.option(
    "--batch",
    "batches",
    type=_COUNT,
    multiple=True,
    help="Samples in a batch; give it again for more.  [default: 1, 32]",
)
@click.option(
    "--threads",
    type=_COUNT,
    multiple=True,
    help="Threads to use; give it again for more.  [default: 1]",
)
@click.option("--turns", type=_COUNT, default=21, show_default=True, help="Measurements of each.")
@click.option("--plot", type=PATH, help="Picture to draw: .png, .svg or .pdf.")
@form("json")
@variant
@device
def bench(
    networks: tuple[str, ...],
    rows: bool,
    cpu: Optional[str],
    batches: tuple[int, ...],
    threads: tuple[int, ...],
    turns: int,
    plot: Optional[Path],
    form: Optional[str],
    variant: Optional[str],
    **names: str,
) -> None:
    """Time networks, and LiteRT and ONNX Runtime beside them.

    NETWORK is the name of a network that comes with the package; without any argument all of them
    are timed. --rows times the rows of the kernel table, and the networks that are named.
    """
    if plot:
        check_picture(plot)
    if cpu:
        os.environ[kernels.CAP] = cpu
    tables: dict[str, Table] = {}
    notes: tuple[str, ...] = ()
    if networks or not rows:
        graphs = [_network(name).graph for name in networks or _NETWORKS]
        sizes = (batches or (1, 32), threads or (1,), turns)
        tables["networks"], notes = contest(graphs, _axes(names), variant, *sizes)
    if rows:
        tables["kernels"] = time_rows(turns=turns)
    report = Report(host(__version__), tables, notes)
    if plot:
        draw(report, plot)
    say(getattr(report, form or "text")())


@click.command()
@click.argument("what", metavar="MODEL|NETWORK|KERNEL")
@inputs(" By default random.")
@reading
@state
@cluster
@form("json", "csv")
@device
def variants(
    what: str,
    inputs: tuple[str, ...],
    state: Optional[Path],
    client: Optional[str],
    workers: Optional[int],
    form: Optional[str],
    **how: Any,
) -> None:
    """Show where other cores, releases and roundings give other bits.

    KERNEL is a C function (arm_softmax_q7) or an op (softmax); it is compared on random calls.
    """
    if what in NPU_NETWORKS:
        raise Error(f"{what} is a network of the NPU, which has no cores, releases or roundings")
    if what in _NETWORKS or Path(what).exists() or Path(what).suffix:
        network = _network(what)
        graph = network.graph
        x = None
        if inputs:
            x = coded(network.host, inputs_of(graph, inputs), reading_of(network, how))
        wanted = profile_for(graph.ops, **_axes(how))
        table = network_variants(graph, wanted, x, read_state(state), client, workers)
    else:
        if inputs or state:
            raise Error(f"{what} is compared on random calls: --input and --state are for a MODEL")
        table = function_variants(what, _axes(how), client=client, workers=workers)
    say(getattr(table, form)() if form else builds_text(table))


def _axes(options: dict[str, Any]) -> dict[str, str]:
    """The options of a device as profile_for() calls them."""
    names = {key: options[key] for key in ("cmsis", "rounding", "kernels", "tflm")}
    return {"core": options["target"], **names}


def _network(name: str) -> Network:
    """A network that comes with the package, or one from a file."""
    if name in _NETWORKS:
        return Network(_NETWORKS[name]())
    if not Path(name).exists():
        raise Error(f"there is no file {name} and no network of this name; {have(_NETWORKS, name)}")
    return pipeline.load_quantized(name)
