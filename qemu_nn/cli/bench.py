"""The commands that measure and compare: bench, variants."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Callable, Optional, Union

import click

from ..analysis.table import Table
from ..analysis.variants import format_builds
from ..api import golden as pipeline
from ..api.data import coded
from ..api.kernel_ranking import ranked, ranks_text
from ..api.network import Network
from ..api.variants import compare_function_variants
from ..api.variants import variants as compare_builds
from ..bench.against import (
    BenchRun,
    compare,
    explain_unlike,
    list_known,
    list_slower,
    parse_run,
    read_run,
)
from ..bench.contest import run_contest
from ..bench.networks import NETWORKS
from ..bench.release_variants import compare_release_variants
from ..bench.report import BenchReport, check_picture, describe_host, draw
from ..bench.rows import time_rows
from ..bench.s8_networks import S8_NETWORKS
from ..bench.wuqi_networks import NPU_NETWORKS
from ..errors import Error
from ..io.arguments import have
from ..io.arrays import read_state
from ..io.files import check_place, write_bytes
from ..io.typed_json import parse_json
from ..io.version import __version__
from ..ir.graph import Graph
from ..kernels import table as kernels
from ..targets import Target
from ..testing.cases import CASES, Case
from .data_options import data, dataset, reading
from .options import PATH, cluster, device, form, original, say, state, variant

_COUNT = click.IntRange(1)
_NETWORKS = {**NETWORKS, **S8_NETWORKS, **NPU_NETWORKS}

#: The exit code where something became slower.
SLOWER = 1


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
@click.option("--save", type=PATH, help="File for all figures, and those of plain rows, as JSON.")
@click.option(
    "--against",
    type=PATH,
    metavar="FILE",
    help="Say what is slower than in a file of --save; exit code 1 if anything is.",
)
@form("json")
@variant
@device
@click.pass_context
def bench(
    ctx: click.Context,
    /,
    networks: tuple[str, ...],
    rows: bool,
    cpu: Optional[str],
    batches: tuple[int, ...],
    threads: tuple[int, ...],
    turns: int,
    plot: Optional[Path],
    save: Optional[Path],
    against: Optional[Path],
    form: Optional[str],
    variant: Optional[str],
    target: Target,
) -> None:
    """Time networks, and LiteRT and ONNX Runtime next to them.

    NETWORK is the name of a network that comes with the package; without any argument all of them
    are timed. --rows times the rows of the kernel table, and the networks that are named. --against
    times what its file has, or the networks that are named.
    """
    if plot:
        check_picture(plot)
    if save:
        check_place(save)
    if cpu:
        os.environ[kernels.CAP] = cpu
    named = [_network(name).graph for name in networks]
    before = read_run(against) if against else None
    note = explain_unlike(before, describe_host(__version__)) if before else None
    if before:
        wanted = _again(before, named, rows, batches, threads)
    else:
        graphs = named or ([] if rows else [_network(name).graph for name in _NETWORKS])
        wanted = _Wanted(graphs, batches or (1, 32), threads or (1,), rows)
    report = _measured(wanted, target, variant, turns, plain=bool(save or against))
    if plot:
        draw(report, plot)
    if save:
        write_bytes(save, report.json().encode())
    if before:
        again = partial(_measured, target=target, variant=variant, turns=turns, plain=True)
        ctx.exit(_compared(before, report, wanted, again, note, form))
    say(getattr(report, form or "text")())


@dataclass(frozen=True)
class _Wanted:
    """Benchmarks to run: networks with sizes of batches and threads; rows."""

    graphs: list[Graph]
    batches: tuple[int, ...]
    threads: tuple[int, ...]
    rows: bool


def _again(
    before: BenchRun,
    graphs: list[Graph],
    rows: bool,
    batches: tuple[int, ...],
    threads: tuple[int, ...],
) -> _Wanted:
    """Return what the options name, or else what the file of --against has of ours."""
    sizes = list_known(before, [graph.name for graph in graphs], rows, batches, threads)
    if not graphs:
        rows = before.rows
        graphs = [_network(name).graph for name in sizes if name in _NETWORKS]
    if not graphs and not rows:
        raise Error(f"{before.where} has no figures of these options: name its networks")
    timed = [size for graph in graphs for size in sizes[graph.name]]
    batches, threads = (tuple(sorted(set(counts))) for counts in zip(*timed or [(1, 1)]))
    return _Wanted(graphs, batches, threads, rows)


def _measured(
    wanted: _Wanted,
    target: Target,
    variant: Optional[str],
    turns: int,
    plain: bool,
    cases: Iterable[Case] = CASES,
) -> BenchReport:
    tables: dict[str, Table] = {}
    notes: tuple[str, ...] = ()
    if wanted.graphs:
        sizes = (wanted.batches, wanted.threads, turns, plain)
        tables["networks"], notes = run_contest(wanted.graphs, target, variant, *sizes)
    if wanted.rows:
        tables["kernels"] = time_rows(cases, turns=turns)
    return BenchReport(describe_host(__version__), tables, notes)


def _run(report: BenchReport) -> BenchRun:
    return parse_run(parse_json(report.json().encode(), "this run"))


def _compared(
    before: BenchRun,
    report: BenchReport,
    wanted: _Wanted,
    again: Callable[..., BenchReport],
    note: Optional[str],
    form: Optional[str],
) -> int:
    """Print what became slower, and was so when measured once more; the exit code."""
    table = compare(before, _run(report))
    if not table.rows:
        raise Error(f"{before.where} has no figures of this package for the networks measured now")
    found = list_slower(table)
    if found.rows:
        what = {str(row[0]) for row in found.rows}
        cases = [case for case in CASES if any(f", {case}" in name for name in what)]
        slow = [g for g in wanted.graphs if any(w.startswith(f"{g.name}, ") for w in what)]
        rest = replace(wanted, graphs=slow, rows=bool(wanted.rows and cases))
        found = list_slower(compare(before, _run(again(rest, cases=cases))))
        found = Table(found.columns, tuple(row for row in found.rows if row[0] in what))
    if form:
        say(getattr(found, form)())
    else:
        lines = [note, f"{len(found.rows)} of {len(table.rows)} figures are slower than before"]
        say("\n\n".join([*filter(None, lines), *([found.text()] if found.rows else [])]))
    return SLOWER if found.rows else 0


@click.command()
@click.argument("what", metavar="MODEL|NETWORK|KERNEL")
@data("Inputs, by default random", required=False)
@reading
@state
@click.option(
    "--cycles", is_flag=True, help="Rank the functions that give the same bits by their cycles."
)
@click.option(
    "--releases",
    is_flag=True,
    help="Compare all known states of CMSIS-NN on the target's core instead, by layer of MODEL.",
)
@original
@cluster
@form("json", "csv")
@device
def variants(
    what: str,
    data: tuple[str, ...],
    state: Optional[Path],
    cycles: bool,
    releases: bool,
    client: Union[str, int, None],
    original: Optional[Path],
    form: Optional[str],
    target: Target,
    **how: Any,
) -> None:
    """Show where other cores, releases and roundings give other bits.

    KERNEL is a C function (arm_softmax_q7) or an op (softmax); it is compared on random calls.
    With --cycles: for each layer of MODEL all functions of the target that give its bits, by
    estimated cycles.
    """
    if cycles:
        if data or state or dataset(None, (), dict(how)).draw_count(0):
            raise Error(
                "--cycles compares functions on random inputs: leave --data and --state out"
            )
        ranks = ranked(_network(what), target)
        say(getattr(ranks, form)() if form else ranks_text(ranks))
        return
    if what in NPU_NETWORKS:
        raise Error(
            f"{what} is a network of the NPU, which has no cores, releases or roundings: leave "
            "them out"
        )
    if what in _NETWORKS or Path(what).exists() or Path(what).suffix:
        network = _network(what, original)
        samples = dataset(network, data, how)
        start = read_state(state)
        if releases:
            x = coded(network.host, samples) if data else None
            wanted = network.profile(target)
            table = compare_release_variants(network.graph, wanted, x, start)
            say(getattr(table, form or "text")())
            return
        table = compare_builds(network, samples, target=target, state=start, client=client)
    else:
        if releases:
            raise Error(f"{what} is a function, but --releases compares a MODEL: give one")
        if data or state or dataset(None, (), dict(how)).draw_count(0):
            raise Error(
                f"{what} is compared on random calls, but --data and --state need a MODEL: "
                "leave them out"
            )
        table = compare_function_variants(what, target, client=client)
    say(getattr(table, form)() if form else format_builds(table))


def _network(name: str, original: Optional[Path] = None) -> Network:
    """Return a network that comes with the package, or one from a file."""
    if name in _NETWORKS:
        return Network(_NETWORKS[name]())
    if not Path(name).exists():
        raise Error(f"there is no file {name} and no network of this name; {have(_NETWORKS, name)}")
    return pipeline.load_quantized(name, original)
